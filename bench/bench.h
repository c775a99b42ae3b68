// What the benchmarks share: a clock, figures, and a directory of their own with the processes that
// run in it. Directory and processes are gone at exit. A benchmark that is killed takes its processes
// along; what is left of its directory is removed by bench/run.
#ifndef LH_BENCH_H
#define LH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BENCH_PATH_BYTES 256

// --- clock and arithmetic ---

int64_t bench_now_ns(void);
void bench_sleep_ms(int64_t ms);

// Few rounds and small sizes, where only the shape of what is printed matters (BENCH_TINY=1).
bool bench_is_tiny(void);

// Sorts. `part` is 0..1: 0.5 is the median, 1 the greatest. NaN without samples.
double bench_quantile(double *samples, size_t count, double part);

// --- figures ---

enum bench_sense {
    BENCH_NO_GOAL,
    BENCH_AT_MOST,
    BENCH_AT_LEAST,
};

// One line as bench/run expects it. `against` is what stands beside the value, 0 for nothing; a goal is
// about the ratio if there is an `against`, otherwise about the value.
void bench_figure(const char *name, double value, const char *unit, double against,
                  enum bench_sense sense, double goal);

// Appends "SERIES X Y" to FILE of the directory $BENCH_PLOTS, from which bench/plot draws. Does nothing
// without that variable.
void bench_point(const char *file, const char *series, double x, double y);

// --- trouble ---

// Says why on standard error and ends the benchmark.
_Noreturn void bench_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

// --- the directory and its processes ---

// Made at the first call, below $TMPDIR or /tmp.
const char *bench_directory(void);

// A program of the build: "leaseholdd".
void bench_find_program(const char *name, char ret_path[BENCH_PATH_BYTES]);

// Starts a program, by path or from PATH. Its output goes to `log` in the directory.
pid_t bench_start(const char *log, char *const argv[]);

// Starts a part of the benchmark itself as a process.
pid_t bench_fork(void (*run)(void *context), void *context);

// Ends a process by `signal` and waits for it.
void bench_end(pid_t pid, int signal);

// For a loop that waits until a process of bench_start serves: sleeps for a moment. If it has ended by
// itself, or `give_up_ns` has passed, that is the end: with `failure` and the end of its log.
void bench_wait_on(pid_t pid, int64_t give_up_ns, const char *failure);

// Runs a program to its end; returns its standard output, which the caller frees.
char *bench_output(char *const argv[]);

// Of a process, from /proc.
double bench_rss_bytes(pid_t pid);
double bench_cpu_seconds(pid_t pid);

// A port of 127.0.0.1 that nothing uses, for UDP and TCP.
uint16_t bench_free_port(void);

// A connected stream socket to a path, or to a port of 127.0.0.1; -1 if nobody listens.
int bench_connect_path(const char *path);
int bench_connect_port(uint16_t port);

#endif

// See bench.h.
#include "bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHILDREN_MAX 32
#define LOG_NAME_BYTES 32
#define LOG_END_BYTES 2000

struct child {
    pid_t pid;
    char log[LOG_NAME_BYTES];
};

static struct {
    pid_t owner; // who cleans up: not a fork of it
    char directory[BENCH_PATH_BYTES];
    struct child children[CHILDREN_MAX];
} state;

// --- clock and arithmetic ---

int64_t bench_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void bench_sleep_ms(int64_t ms)
{
    struct timespec span = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&span, NULL);
}

bool bench_is_tiny(void)
{
    const char *tiny = getenv("BENCH_TINY");
    return tiny != NULL && strcmp(tiny, "1") == 0;
}

static int compare(const void *a, const void *b)
{
    const double *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

double bench_quantile(double *samples, size_t count, double part)
{
    if (count == 0)
        return NAN;
    qsort(samples, count, sizeof *samples, compare);
    size_t at = (size_t)(part * (double)count);
    return samples[at < count ? at : count - 1];
}

// --- figures ---

static void print_number(const char *end, double value)
{
    if (value != 0 && fabs(value) < 10)
        printf("%.3f%s", value, end);
    else
        printf("%.1f%s", value, end);
}

void bench_figure(const char *name, double value, const char *unit, double against,
                  enum bench_sense sense, double goal)
{
    double judged = against != 0 ? value / against : value;
    printf("%s\t", name);
    print_number("\t", value);
    printf("%s\t", unit);
    if (against != 0) {
        print_number("\t", against);
        printf("%.2f\t", judged);
    } else {
        printf("-\t-\t");
    }
    if (sense == BENCH_NO_GOAL)
        printf("-\t-\n");
    else
        printf("%s %g%s\t%s\n", sense == BENCH_AT_MOST ? "<=" : ">=", goal, against != 0 ? "x" : "",
               (sense == BENCH_AT_MOST ? judged <= goal : judged >= goal) ? "yes" : "no");
    fflush(stdout);
}

void bench_point(const char *file, const char *series, double x, double y)
{
    char path[2 * BENCH_PATH_BYTES];
    const char *directory = getenv("BENCH_PLOTS");
    if (directory == NULL)
        return;
    snprintf(path, sizeof path, "%s/%s", directory, file);
    FILE *out = fopen(path, "ae");
    if (out == NULL)
        bench_die("cannot write %s: %s", path, strerror(errno));
    fprintf(out, "%s\t%.9g\t%.9g\n", series, x, y);
    fclose(out);
}

// --- trouble ---

void bench_die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "bench: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    exit(1);
}

// --- the directory and its processes ---

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

static void clean_up(void)
{
    if (getpid() != state.owner)
        return;
    for (int i = 0; i < CHILDREN_MAX; i++)
        if (state.children[i].pid > 0)
            bench_end(state.children[i].pid, SIGKILL);
    if (state.directory[0] != '\0')
        nftw(state.directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void own_up(void)
{
    if (state.owner != 0)
        return;
    state.owner = getpid();
    signal(SIGPIPE, SIG_IGN);
    atexit(clean_up);
}

const char *bench_directory(void)
{
    own_up();
    if (state.directory[0] == '\0') {
        const char *where = getenv("TMPDIR");
        snprintf(state.directory, sizeof state.directory, "%s/lh-bench-XXXXXX",
                 where != NULL && strlen(where) < 64 ? where : "/tmp");
        if (mkdtemp(state.directory) == NULL)
            bench_die("cannot make %s: %s", state.directory, strerror(errno));
    }
    return state.directory;
}

void bench_find_program(const char *name, char ret_path[BENCH_PATH_BYTES])
{
    const char *build = getenv("LEASEHOLD_BUILD");
    snprintf(ret_path, BENCH_PATH_BYTES, "%s/%s", build != NULL ? build : "build", name);
    if (access(ret_path, X_OK) != 0)
        bench_die("there is no %s: build it with `make build`", ret_path);
}

// Who has this pid; 0: a free place.
static struct child *find_child(pid_t pid)
{
    for (int i = 0; i < CHILDREN_MAX; i++)
        if (state.children[i].pid == pid)
            return &state.children[i];
    return NULL;
}

// Returns 0 in the new process, which dies with its parent. `log` is the file of its output, or "".
static pid_t start_process(const char *log)
{
    own_up();
    struct child *place = find_child(0);
    if (place == NULL)
        bench_die("more than %d processes", CHILDREN_MAX);
    pid_t parent = getpid();
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        bench_die("cannot start a process: %s", strerror(errno));
    if (pid > 0) {
        place->pid = pid;
        snprintf(place->log, sizeof place->log, "%s", log);
        return pid;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    return 0;
}

static _Noreturn void become(char *const argv[])
{
    execvp(argv[0], argv);
    fprintf(stderr, "cannot run %s: %s; `make bench` installs what it needs\n", argv[0],
            strerror(errno));
    _exit(127);
}

pid_t bench_start(const char *log, char *const argv[])
{
    char path[2 * BENCH_PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", bench_directory(), log);
    pid_t pid = start_process(log);
    if (pid > 0)
        return pid;
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0)
        _exit(1);
    setpgid(0, 0); // Ctrl-C is for the benchmark, which ends it
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    unsetenv("NOTIFY_SOCKET");
    become(argv);
}

pid_t bench_fork(void (*run)(void *context), void *context)
{
    pid_t pid = start_process("");
    if (pid == 0) {
        run(context);
        _exit(0);
    }
    return pid;
}

void bench_end(pid_t pid, int signal)
{
    struct child *child = find_child(pid);
    if (child == NULL)
        return;
    kill(pid, signal);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    child->pid = 0;
}

// What a process said last, since its log goes with the directory.
static void show_end(const char *log)
{
    char path[2 * BENCH_PATH_BYTES], text[LOG_END_BYTES];
    snprintf(path, sizeof path, "%s/%s", bench_directory(), log);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return;
    if (fseek(file, -LOG_END_BYTES, SEEK_END) != 0)
        rewind(file);
    size_t used = fread(text, 1, sizeof text, file);
    fclose(file);
    fprintf(stderr, "bench: %s ends with:\n%.*s\n", log, (int)used, text);
}

void bench_wait_on(pid_t pid, int64_t give_up_ns, const char *failure)
{
    siginfo_t ended = {.si_pid = 0};
    bool runs =
        waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == 0;
    if (!runs || bench_now_ns() > give_up_ns) {
        show_end(find_child(pid)->log);
        bench_die("%s", failure);
    }
    bench_sleep_ms(20);
}

char *bench_output(char *const argv[])
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        bench_die("cannot make a pipe: %s", strerror(errno));
    pid_t pid = start_process("");
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        become(argv);
    }
    close(ends[1]);
    size_t used = 0, size = 1 << 16;
    char *text = malloc(size + 1);
    for (ssize_t got; text != NULL && (got = read(ends[0], text + used, size - used)) > 0;) {
        used += (size_t)got;
        if (used == size)
            text = realloc(text, (size *= 2) + 1);
    }
    close(ends[0]);
    bench_end(pid, 0);
    if (text == NULL)
        bench_die("no memory for what %s says", argv[0]);
    text[used] = '\0';
    return text;
}

double bench_rss_bytes(pid_t pid)
{
    char path[64];
    unsigned long total = 0, resident = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL || fscanf(file, "%lu %lu", &total, &resident) != 2) // NOLINT(cert-err34-c)
        bench_die("cannot read %s", path);
    fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

double bench_cpu_seconds(pid_t pid)
{
    char path[64], line[1024] = "";
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    const char *at = NULL;
    if (file != NULL && fgets(line, sizeof line, file) != NULL)
        at = strrchr(line, ')');
    // NOLINTBEGIN(cert-err34-c): the kernel wrote it
    if (at == NULL ||
        sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
        bench_die("cannot read %s", path);
    // NOLINTEND(cert-err34-c)
    fclose(file);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static int bind_loopback(int type, uint16_t port, uint16_t *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(port),
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int file = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    if (file >= 0 && bind(file, (struct sockaddr *)&address, size) == 0 &&
        getsockname(file, (struct sockaddr *)&address, &size) == 0) {
        *ret_port = ntohs(address.sin_port);
        return file;
    }
    close(file);
    return -1;
}

uint16_t bench_free_port(void)
{
    for (int attempt = 0; attempt < 64; attempt++) {
        uint16_t port = 0;
        int stream = bind_loopback(SOCK_STREAM, 0, &port);
        int datagram = stream >= 0 ? bind_loopback(SOCK_DGRAM, port, &port) : -1;
        close(stream);
        close(datagram);
        if (datagram >= 0)
            return port;
    }
    bench_die("no free port on 127.0.0.1: %s", strerror(errno));
}

static int connected(int file, const struct sockaddr *address, socklen_t size)
{
    if (file >= 0 && connect(file, address, size) == 0)
        return file;
    close(file);
    return -1;
}

int bench_connect_path(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        bench_die("%s is too long for a socket: set TMPDIR", path);
    strcpy(address.sun_path, path);
    return connected(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0),
                     (const struct sockaddr *)&address, sizeof address);
}

int bench_connect_port(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(port),
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    int on = 1;
    int file = connected(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
                         (const struct sockaddr *)&address, sizeof address);
    if (file >= 0)
        setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return file;
}

// To be preloaded: CLOCK_BOOTTIME runs faster by $CLOCK_RATE_PPM from the first reading on, and an
// absolute timerfd wakes when that clock says so; CLOCK_REALTIME is ahead by as many seconds as the
// file $WALL_CLOCK_STEP says at the moment, and CLOCK_BOOTTIME by those in $BOOT_CLOCK_STEP.
// libfaketime 0.9 shows the wall clock for BOOTTIME.
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static int64_t begin_ns, rate_ppm;

static int64_t ns_of(const struct timespec *at)
{
    return (int64_t)at->tv_sec * 1000000000 + at->tv_nsec;
}

static struct timespec spec_of(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

__attribute__((constructor)) static void begin(void)
{
    struct timespec now;
    const char *rate = getenv("CLOCK_RATE_PPM");
    syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &now);
    begin_ns = ns_of(&now);
    rate_ppm = rate != NULL ? strtol(rate, NULL, 10) : 0;
}

static int64_t step_s(const char *variable)
{
    char text[24] = "";
    const char *path = getenv(variable);
    const int file = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return 0;
    const ssize_t size = read(file, text, sizeof text - 1);
    close(file);
    return size > 0 ? strtol(text, NULL, 10) : 0;
}

// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): glibc uses reserved names
int clock_gettime(clockid_t id, struct timespec *ret)
{
    const int result = (int)syscall(SYS_clock_gettime, id, ret);
    if (result == 0 && id == CLOCK_BOOTTIME) {
        const int64_t ran = ns_of(ret) - begin_ns;
        *ret = spec_of(begin_ns + ran + ran / 1000000 * rate_ppm);
        ret->tv_sec += step_s("BOOT_CLOCK_STEP");
    }
    if (result == 0 && id == CLOCK_REALTIME)
        ret->tv_sec += step_s("WALL_CLOCK_STEP");
    return result;
}

// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): glibc uses reserved names
int timerfd_settime(int fd, int flags, const struct itimerspec *at, struct itimerspec *ret_old)
{
    struct itimerspec real = *at;
    const int64_t ran = ns_of(&at->it_value) - begin_ns;
    if ((flags & TFD_TIMER_ABSTIME) != 0 && ran > 0)
        real.it_value = spec_of(begin_ns + ran / (1000000 + rate_ppm) * 1000000 + 1000000);
    return (int)syscall(SYS_timerfd_settime, fd, flags, &real, ret_old);
}

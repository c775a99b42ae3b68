// Reading CLOCK_BOOTTIME and the two facts that say whose readings may be compared: see
// clock.h.
#include "os/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "os/warn.h"

#define BOOT_ID_PATH "/proc/sys/kernel/random/boot_id"
#define OFFSETS_PATH "/proc/self/timens_offsets"

static int64_t read_ns(clockid_t clock)
{
    struct timespec read;
    if (clock_gettime(clock, &read) != 0) {
        lh_warn("leasehold: clock %d cannot be read: %s\n", (int)clock, strerror(errno));
        abort();
    }
    return (int64_t)read.tv_sec * LH_NS_PER_S + read.tv_nsec;
}

struct lh_instant lh_clock_follow(struct lh_instant previous, struct lh_instant current)
{
    if (__builtin_expect(lh_before(current, previous), 0)) {
        lh_warn(
            "leasehold: CLOCK_BOOTTIME went backwards, from %lld ns to %lld ns: no lease can be "
            "timed on this machine, so this process stops\n",
            (long long)previous.ns, (long long)current.ns);
        abort();
    }
    return current;
}

struct lh_instant lh_clock_now(void)
{
    static _Thread_local struct lh_instant last;
    last = lh_clock_follow(last, (struct lh_instant){read_ns(CLOCK_BOOTTIME)});
    return last;
}

int64_t lh_clock_realtime_ns(void)
{
    return read_ns(CLOCK_REALTIME);
}

static int hex_digit(char character)
{
    if (character >= '0' && character <= '9')
        return character - '0';
    if (character >= 'a' && character <= 'f')
        return character - 'a' + 10;
    return -1;
}

bool lh_kernel_boot_id_parse(const char *text, size_t size, uint8_t ret_id[LH_KERNEL_BOOT_ID_BYTES])
{
    static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    uint8_t id[LH_KERNEL_BOOT_ID_BYTES] = {0};
    size_t digits = 0;
    if (size == sizeof(shape) && text[size - 1] == '\n')
        size--;
    if (size != sizeof(shape) - 1)
        return false;
    for (size_t i = 0; i < size; i++) {
        if (shape[i] == '-') {
            if (text[i] != '-')
                return false;
            continue;
        }
        const int digit = hex_digit(text[i]);
        if (digit < 0)
            return false;
        id[digits / 2] = (uint8_t)(id[digits / 2] << 4 | digit);
        digits++;
    }
    memcpy(ret_id, id, sizeof(id));
    return true;
}

bool lh_kernel_boot_id(uint8_t ret_id[LH_KERNEL_BOOT_ID_BYTES], struct lh_error *error)
{
    char text[64];
    const int file = open(BOOT_ID_PATH, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return lh_error_set(error, "%s: %s: mount /proc", BOOT_ID_PATH, strerror(errno));
    const ssize_t size = read(file, text, sizeof(text));
    if (size < 0)
        lh_error_set(error, "%s: %s", BOOT_ID_PATH, strerror(errno));
    close(file);
    if (size < 0)
        return false;
    if (!lh_kernel_boot_id_parse(text, (size_t)size, ret_id))
        return lh_error_set(error, "%s: does not hold a boot id", BOOT_ID_PATH);
    return true;
}

// A decimal integer at the front of `text`, which ends in NUL, behind blanks; moves `text` past it.
static bool take_integer(const char **text, int64_t *ret_value)
{
    char *end = NULL;
    errno = 0;
    const long long value = strtoll(*text, &end, 10);
    if (errno != 0 || end == *text)
        return false;
    *text = end;
    *ret_value = value;
    return true;
}

// "boottime  SECONDS NANOSECONDS\n". The first kernels that had the file wrote the clock's number.
static bool is_boottime(const char *line)
{
    return strncmp(line, "boottime ", 9) == 0 || strncmp(line, "7 ", 2) == 0;
}

bool lh_boottime_offset_parse(const char *text, int64_t *ret_offset_ns)
{
    int64_t seconds = 0;
    int64_t nanoseconds = 0;
    int64_t offset = 0;
    while (text != NULL && !is_boottime(text)) {
        text = strchr(text, '\n');
        text = text == NULL ? NULL : text + 1;
    }
    if (text == NULL)
        return false;
    text = strchr(text, ' ');
    if (!take_integer(&text, &seconds) || !take_integer(&text, &nanoseconds) || *text != '\n' ||
        nanoseconds < 0 || nanoseconds >= LH_NS_PER_S ||
        __builtin_mul_overflow(seconds, LH_NS_PER_S, &offset) ||
        __builtin_add_overflow(offset, nanoseconds, &offset))
        return false;
    *ret_offset_ns = offset;
    return true;
}

// The file tells the offsets that children get. They are this process's own, too, unless somebody
// called unshare(2) in it.
static bool is_in_namespace_of_children(void)
{
    struct stat own, of_children;
    return stat("/proc/self/ns/time", &own) == 0 &&
           stat("/proc/self/ns/time_for_children", &of_children) == 0 &&
           own.st_dev == of_children.st_dev && own.st_ino == of_children.st_ino;
}

bool lh_boottime_offset(int64_t *ret_offset_ns, struct lh_error *error)
{
    char text[512];
    const int file = open(OFFSETS_PATH, O_RDONLY | O_CLOEXEC);
    // Linux before 5.6 has no such file. A missing /proc is told by lh_kernel_boot_id.
    if (file < 0 && errno == ENOENT) {
        *ret_offset_ns = 0;
        return true;
    }
    if (file < 0)
        return lh_error_set(error, "%s: %s", OFFSETS_PATH, strerror(errno));
    const ssize_t size = read(file, text, sizeof(text) - 1);
    if (size < 0)
        lh_error_set(error, "%s: %s", OFFSETS_PATH, strerror(errno));
    close(file);
    if (size < 0)
        return false;
    text[size] = '\0';
    if (!is_in_namespace_of_children())
        return lh_error_set(error, "%s: is not about this process: unshare the time in its parent",
                            OFFSETS_PATH);
    if (!lh_boottime_offset_parse(text, ret_offset_ns))
        return lh_error_set(error, "%s: does not hold the offset of boottime", OFFSETS_PATH);
    return true;
}

// Reading CLOCK_BOOTTIME and the two identities that say whose readings may be compared: see
// clock.h.
#include "os/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "os/warn.h"

#define BOOT_ID_PATH "/proc/sys/kernel/random/boot_id"
#define TIME_NAMESPACE_PATH "/proc/self/ns/time"
#define TIME_NAMESPACE_PREFIX "time:["

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

bool lh_time_namespace_parse(const char *text, size_t size, uint64_t *ret_inode)
{
    const size_t prefix = strlen(TIME_NAMESPACE_PREFIX);
    if (size < prefix + 2 || memcmp(text, TIME_NAMESPACE_PREFIX, prefix) != 0 ||
        text[size - 1] != ']')
        return false;
    uint64_t inode = 0;
    for (size_t i = prefix; i < size - 1; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        const uint64_t digit = (uint64_t)(text[i] - '0');
        if (inode > (UINT64_MAX - digit) / 10)
            return false;
        inode = inode * 10 + digit;
    }
    *ret_inode = inode;
    return true;
}

bool lh_time_namespace(uint64_t *ret_inode, struct lh_error *error)
{
    char text[64];
    const ssize_t size = readlink(TIME_NAMESPACE_PATH, text, sizeof(text));
    // Linux before 5.6 has no such link. A missing /proc is told by lh_kernel_boot_id.
    if (size < 0 && errno == ENOENT) {
        *ret_inode = 0;
        return true;
    }
    if (size < 0)
        return lh_error_set(error, "%s: %s", TIME_NAMESPACE_PATH, strerror(errno));
    if (!lh_time_namespace_parse(text, (size_t)size, ret_inode))
        return lh_error_set(error, "%s: '%.*s' is not a time namespace", TIME_NAMESPACE_PATH,
                            (int)size, text);
    return true;
}

// The one clock of authority: CLOCK_BOOTTIME, which counts suspend and is never set. It does not
// count a pause of the whole virtual machine; there only the fencing token helps.
//
// What must stay true: within a thread no reading is less than the one before it. A clock that went
// back would lengthen every lease held, so the process stops instead (docs/protocol.md, Clock).
#ifndef LH_OS_CLOCK_H
#define LH_OS_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "base/time.h"
#include "os/error.h"

// Reads the clock. Aborts with a message if it cannot be read or went backwards. Any thread.
struct lh_instant lh_clock_now(void);

// The rule behind lh_clock_now: returns `current` if it is not before `previous`, else aborts.
struct lh_instant lh_clock_follow(struct lh_instant previous, struct lh_instant current);

// CLOCK_REALTIME in nanoseconds since 1970. It may be set at any time: for log lines and for
// noticing that the machine was suspended or its memory restored, never for authority.
int64_t lh_clock_realtime_ns(void);

#define LH_KERNEL_BOOT_ID_BYTES 16

// The kernel's boot id: another one means that BOOTTIME began anew. Fails where /proc is not
// mounted.
bool lh_kernel_boot_id(uint8_t ret_id[LH_KERNEL_BOOT_ID_BYTES], struct lh_error *error);

// What this process's time namespace adds to every BOOTTIME reading: instants may be carried from
// one process to the next only if boot id and offset agree. Not the namespace's inode number, which
// the kernel gives to a later one with another offset. 0 on a kernel without time namespaces.
bool lh_boottime_offset(int64_t *ret_offset_ns, struct lh_error *error);

// Their parsers. A boot id need not end in NUL, and may end in a newline; offsets are a string.
bool lh_kernel_boot_id_parse(const char *text, size_t size,
                             uint8_t ret_id[LH_KERNEL_BOOT_ID_BYTES]);
bool lh_boottime_offset_parse(const char *text, int64_t *ret_offset_ns);

#endif

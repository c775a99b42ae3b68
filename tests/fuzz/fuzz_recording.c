// What `trace check` reads: files of any origin are a behaviour, or the first event that is not, or
// no recording with a reason. A zero byte ends one file and begins the next.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "check/recording_judge.h"

enum { FILES_MOST = 8, WHY_BYTES = 256 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static bool read_file(struct lh_recording *recording, uint32_t number, const uint8_t *bytes,
                      size_t size)
{
    char path[64];
    char why[WHY_BYTES] = "";
    const int file = memfd_create("recording", MFD_CLOEXEC);
    LH_ASSERT_EQ(write(file, bytes, size), size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    const bool good = lh_recording_read(recording, path, number, why, sizeof why);
    close(file);
    if (!good && why[0] == '\0')
        abort();
    return good;
}

static bool read_files(struct lh_recording *recording, const uint8_t *bytes, size_t size)
{
    uint32_t count = 0;
    for (const uint8_t *at = bytes, *end = bytes + size; at < end && count < FILES_MOST;) {
        const uint8_t *zero = memchr(at, 0, (size_t)(end - at));
        const uint8_t *stop = zero == NULL ? end : zero;
        if (!read_file(recording, count++, at, (size_t)(stop - at)))
            return false;
        at = zero == NULL ? end : zero + 1;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct lh_recording recording = {0};
    const struct lh_recorded *event = NULL;
    char why[WHY_BYTES] = "";
    if (read_files(&recording, bytes, size) && recording.count > 0 &&
        lh_recording_finish(&recording)) {
        const bool allowed = lh_recording_judge(&recording, &event, why);
        if (!allowed && (why[0] == '\0' || event < recording.events ||
                         event >= recording.events + recording.count))
            abort();
    }
    lh_recording_close(&recording);
    return 0;
}

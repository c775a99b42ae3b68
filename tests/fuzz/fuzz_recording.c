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

static bool read_files(struct lh_recording *recording, const uint8_t *bytes, size_t size)
{
    char names[FILES_MOST][64];
    const char *paths[FILES_MOST] = {NULL};
    int files[FILES_MOST];
    char why[WHY_BYTES] = "";
    uint32_t count = 0;
    for (const uint8_t *at = bytes, *end = bytes + size; at < end && count < FILES_MOST; count++) {
        const uint8_t *zero = memchr(at, 0, (size_t)(end - at));
        const size_t length = (size_t)((zero == NULL ? end : zero) - at);
        files[count] = memfd_create("recording", MFD_CLOEXEC);
        LH_ASSERT_EQ(write(files[count], at, length), length);
        snprintf(names[count], sizeof names[count], "/proc/self/fd/%d", files[count]);
        paths[count] = names[count];
        at = zero == NULL ? end : zero + 1;
    }
    const bool good = lh_recording_read(recording, paths, count, why, sizeof why);
    for (uint32_t i = 0; i < count; i++)
        close(files[i]);
    if (!good && why[0] == '\0')
        abort();
    return good;
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

// See holder.h.
#include "client/holder.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/text.h"
#include "client/authority.h"
#include "os/clock.h"

uint64_t lh_random_bits(void)
{
    uint64_t bits;
    while (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits)
        ;
    return bits;
}

bool lh_holding_valid(const struct lh_holding *holding)
{
    return lh_authority_at(holding->deadline, lh_clock_now());
}

void lh_holder_make(char ret_holder[LH_HOLDER_MAX_BYTES + 1])
{
    char host[65] = "localhost";
    const struct passwd *user = getpwuid(geteuid());
    gethostname(host, sizeof host - 1);
    if (user != NULL)
        snprintf(ret_holder, LH_HOLDER_MAX_BYTES + 1, "%.100s@%.64s:%016" PRIx64, user->pw_name,
                 host, lh_random_bits());
    else
        snprintf(ret_holder, LH_HOLDER_MAX_BYTES + 1, "%u@%.64s:%016" PRIx64, (unsigned)geteuid(),
                 host, lh_random_bits());
}

bool lh_name_check(const char *name, struct lh_error *error)
{
    size_t size = strlen(name);
    if (size == 0)
        return lh_error_set(error,
                            "the name is empty: name what the lease is for, such as 'backup'");
    if (size > LH_NAME_MAX_BYTES)
        return lh_error_set(error, "the name '%.32s...' has %zu bytes: at most %d are allowed",
                            name, size, LH_NAME_MAX_BYTES);
    if (!lh_utf8_name_valid(lh_slice_of_string(name)))
        return lh_error_set(
            error, "the name '%s' is not UTF-8 or has control characters: leave them out", name);
    if (name[0] == '@')
        return lh_error_set(error, "the name '%s' begins with '@': such names are the system's",
                            name);
    return true;
}

bool lh_holder_check(const char *holder, struct lh_error *error)
{
    if (lh_utf8_name_valid(lh_slice_of_string(holder)))
        return true;
    return lh_error_set(error,
                        "the holder '%.64s%s' of %zu bytes is refused: write 1 to %d bytes of "
                        "UTF-8 without control characters",
                        holder, strlen(holder) > 64 ? "..." : "", strlen(holder),
                        LH_HOLDER_MAX_BYTES);
}

// Who holds what: making a holder that nobody else has, what may be a name, and asking the clock
// whether a holder may act.
#ifndef LH_CLIENT_HOLDER_H
#define LH_CLIENT_HOLDER_H

#include "client/errand.h"
#include "os/error.h"

// Whether the holder may act now: reads the clock, each time.
bool lh_holding_valid(const struct lh_holding *holding);

// A holder nobody else has: user@host: and 64 random bits.
void lh_holder_make(char ret_holder[LH_HOLDER_MAX_BYTES + 1]);

// Whether `name` can be asked for: 1..255 bytes of UTF-8 without control characters, no leading
// '@'. On failure the error says which rule it breaks.
bool lh_name_check(const char *name, struct lh_error *error);

// Whether `holder` can be one: 1..255 bytes of UTF-8 without control characters.
bool lh_holder_check(const char *holder, struct lh_error *error);

// From the kernel; waits for it at most once, early after boot.
uint64_t lh_random_bits(void);

#endif

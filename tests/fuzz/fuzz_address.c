// Addresses of any origin: what is taken is printed so that it parses to the same again.
#include <stdlib.h>
#include <string.h>

#include "os/address.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct lh_address address, again;
    const char *reason = NULL;
    char text[LH_ADDRESS_TEXT_MAX];
    if (!lh_address_parse(lh_slice_of(bytes, size), 7741, &address, &reason)) {
        if (reason == NULL)
            abort();
        return 0;
    }
    lh_address_format(&address, text);
    if (!lh_address_parse(lh_slice_of_string(text), 1, &again, &reason) ||
        !lh_address_equal(&address, &again))
        abort();
    return 0;
}

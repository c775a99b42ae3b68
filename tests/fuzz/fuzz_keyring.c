// Keyring files of any origin: parsed or refused with a reason, and what was parsed comes back from
// its text.
#include <stdlib.h>
#include <string.h>

#include "os/keyring.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct lh_keyring keyring, again;
    struct lh_error error = {""};
    char text[LH_KEYRING_TEXT_MAX];
    if (!lh_keyring_parse(lh_slice_of(bytes, size), "keyring", &keyring, &error)) {
        if (error.text[0] == '\0')
            abort();
        return 0;
    }
    const size_t length = lh_keyring_format(&keyring, text);
    if (!lh_keyring_parse(lh_slice_of(text, length), "keyring", &again, &error) ||
        memcmp(&keyring, &again, sizeof(keyring)) != 0)
        abort();
    return 0;
}

// What the library returns, in words: see leasehold/base.h.
#include "leasehold/base.h"

const char *lh_return_text(enum lh_return value)
{
    switch (value) {
#define TEXT(name, number, text)                                                                   \
    case LH_##name: return text;
        LH_RETURNS(TEXT)
#undef TEXT
    }
    return "unknown";
}

const char *lh_library_version(void)
{
    return LH_VERSION;
}

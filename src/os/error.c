// Formatting of error texts: see error.h.
#include "os/error.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

bool lh_error_set_list(struct lh_error *error, const char *format, va_list arguments)
{
    // The text is built aside: an argument may be the old text of this very error.
    char text[sizeof(error->text)];
    // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): clang 14 does not see va_start
    const int length = vsnprintf(text, sizeof(text), format, arguments);
    if (length < 0)
        text[0] = '\0';
    if (length >= (int)sizeof(text))
        memcpy(text + sizeof(text) - 4, "...", 4);
    lh_make_printable(text);
    memcpy(error->text, text, strlen(text) + 1);
    return false;
}

bool lh_error_set(struct lh_error *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): clang 14 does not see va_start
    lh_error_set_list(error, format, arguments);
    va_end(arguments);
    return false;
}

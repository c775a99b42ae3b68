// See say.h.
#include "check/say.h"

#include <stdarg.h>

#include "base/text.h"

void lh_check_say(FILE *out, const char *format, ...)
{
    char text[4096 + 256]; // a path and what is wrong with it
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    lh_make_printable(text);
    fprintf(out, "%s\n", text);
}

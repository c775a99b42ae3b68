// What went wrong, as one line for a person: the cause, the value that was found, and the remedy.
//
// Functions that can fail return false and fill a caller's `struct lh_error`; on success they leave
// it alone. The text may quote bytes from outside (a configuration value, a file name), so what a
// terminal would obey is replaced before it is stored.
#ifndef LH_OS_ERROR_H
#define LH_OS_ERROR_H

#include <stdarg.h>
#include <stdbool.h>

struct lh_error {
    char text[512];
};

// Formats the text; control characters become '?', and a text that was cut ends in "...".
// Returns false, so that `return lh_error_set(...)` reports and fails in one line.
bool lh_error_set(struct lh_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool lh_error_set_list(struct lh_error *error, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

#endif

// What the commands of this layer say beside their results.
#ifndef LH_CHECK_SAY_H
#define LH_CHECK_SAY_H

#include <stdio.h>

// Prints one line, whatever bytes it quotes.
void lh_check_say(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

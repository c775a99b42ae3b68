// The assert hook of every program: print the broken expression with its operands and abort, so
// that a core file holds the state that broke it. It is a library of its own, so that a test can
// link everything else and define the hook itself.
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void lh_assert_failed(const char *file, int line, const char *expression, long long left,
                                long long right)
{
    fprintf(stderr, "%s:%d: assertion failed: %s (left %lld, right %lld)\n", file, line, expression,
            left, right);
    fflush(NULL);
    abort();
}

// Runs a command of the command line inside the test: what it writes to standard output is kept,
// what it writes to standard error is thrown away.
#ifndef LH_TESTS_UNIT_CAPTURED_H
#define LH_TESTS_UNIT_CAPTURED_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

// Returns the exit code; `output` is a string of at most `size` bytes with its 0.
static inline int captured(int (*command)(int, char **), int argc, char **argv, char *output,
                           size_t size)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stdout);
    const int out = dup(1);
    const int err = dup(2);
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(fileno(file), 1);
    dup2(null, 2);
    const int code = command(argc, argv);
    fflush(stdout);
    dup2(out, 1);
    dup2(err, 2);
    close(out);
    close(err);
    close(null);
    rewind(file);
    output[fread(output, 1, size - 1, file)] = '\0';
    fclose(file);
    return code;
}

#endif

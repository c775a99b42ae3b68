// Configurations of the closed network as tests write them: settings and weakened rules in one list.
#ifndef LH_TESTS_UNIT_CLOSED_CONFIG_H
#define LH_TESTS_UNIT_CLOSED_CONFIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "check/config.h"

// Each word is NAME=VALUE or the name of a rule to weaken; NULL ends them.
static inline struct lh_check_config closed(const char *first, ...)
{
    struct lh_check_config config;
    char error[LH_CHECK_ERROR_SIZE];
    va_list arguments;
    lh_check_config_default(&config, LH_CHECK_CLOSED);
    va_start(arguments, first);
    for (const char *at = first; at != NULL; at = va_arg(arguments, const char *)) {
        if (strchr(at, '=') != NULL)
            assert_true(lh_check_config_set(&config, at, error));
        else
            assert_true(lh_check_config_weaken(&config, at, error));
    }
    va_end(arguments);
    assert_true(lh_check_config_validate(&config, error));
    return config;
}

#endif

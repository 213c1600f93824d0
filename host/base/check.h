/* Assertions that stay in every build.
 *
 * PL_REQUIRE is for broken invariants of our own code, never for input from
 * the network, files or scripts: it ends the process. */
#pragma once

#include "base/base.h"

__attribute__((noreturn)) PL_COLD void pl_check_failed(const char *what, const char *file,
                                                       int line);

#define PL_REQUIRE(cond)                                                                           \
    do {                                                                                           \
        if (!(cond))                                                                               \
            pl_check_failed(#cond, __FILE__, __LINE__);                                            \
    } while (0)

#define PL_UNREACHABLE() pl_check_failed("unreachable", __FILE__, __LINE__)

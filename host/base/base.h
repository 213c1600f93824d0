/* Attributes and tiny helpers shared by every layer. No functions live here. */
#pragma once

#include <stddef.h>

#define PL_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* The struct that embeds `member` at address `ptr`. */
#define PL_CONTAINER_OF(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#define PL_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define PL_COLD              __attribute__((cold))
#define PL_MUST_USE          __attribute__((warn_unused_result))

#define PL_UNUSED(x) ((void)(x))

/* Calls a function that returns a code, and ignores the code on purpose. Say why beside it. */
#define PL_IGNORE(call)                                                                            \
    do {                                                                                           \
        int ignored_ = (call);                                                                     \
        (void)ignored_;                                                                            \
    } while (0)

/* Durations and instants are int64_t nanoseconds unless a name says otherwise. */
#define PL_US     INT64_C(1000)
#define PL_MS     INT64_C(1000000)
#define PL_SECOND INT64_C(1000000000)

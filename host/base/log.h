/* Structured log lines on stderr, text or JSON. Each line is written whole, by one call where
 * possible.
 *
 *     pl_log(PL_LOG_INFO, "watch ended", pl_str("kind", kind), pl_int("events", n));
 *
 * Any thread. If a line cannot be written (the disk is full, the reader is gone or does not read),
 * it is counted. The next line that can be written reports the count. Never call it while holding a
 * lock. Values of Secrets are removed before they reach this file. */
#pragma once

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

enum pl_log_level { PL_LOG_DEBUG, PL_LOG_INFO, PL_LOG_WARN, PL_LOG_ERROR, PL_LOG_OFF };

/* One key and its value, borrowed for the duration of the call. */
struct pl_field {
    const char *key;
    enum { PL_FIELD_STR, PL_FIELD_INT, PL_FIELD_NUM, PL_FIELD_BOOL, PL_FIELD_JSON } type;
    struct pl_slice str; /* PL_FIELD_STR; PL_FIELD_JSON: ready-made JSON */
    int64_t integer;     /* PL_FIELD_INT, PL_FIELD_BOOL */
    double number;       /* PL_FIELD_NUM */
};

static inline struct pl_field pl_str(const char *key, const char *value)
{
    return (struct pl_field){.key = key, .type = PL_FIELD_STR, .str = pl_slice_z(value)};
}

static inline struct pl_field pl_strn(const char *key, struct pl_slice value)
{
    return (struct pl_field){.key = key, .type = PL_FIELD_STR, .str = value};
}

static inline struct pl_field pl_json(const char *key, struct pl_slice json)
{
    return (struct pl_field){.key = key, .type = PL_FIELD_JSON, .str = json};
}

static inline struct pl_field pl_int(const char *key, int64_t value)
{
    return (struct pl_field){.key = key, .type = PL_FIELD_INT, .integer = value};
}

static inline struct pl_field pl_num(const char *key, double value)
{
    return (struct pl_field){.key = key, .type = PL_FIELD_NUM, .number = value};
}

static inline struct pl_field pl_bool(const char *key, bool value)
{
    return (struct pl_field){.key = key, .type = PL_FIELD_BOOL, .integer = value};
}

void pl_log_fields(enum pl_log_level level, const char *message, const struct pl_field *fields,
                   size_t count);

/* At least the message; fields are optional. */
#define pl_log(level, ...) PL_LOG_CALL(level, __VA_ARGS__, (struct pl_field){.key = NULL})
#define PL_LOG_CALL(level, message, ...)                                                           \
    pl_log_fields(level, message, (const struct pl_field[]){__VA_ARGS__},                          \
                  sizeof((const struct pl_field[]){__VA_ARGS__}) / sizeof(struct pl_field) - 1)

bool pl_log_enabled(enum pl_log_level level);

/* Lines below `level` are dropped. Call it before any other thread starts. */
void pl_log_configure(enum pl_log_level level, bool json, int fd);
/* "debug", "info", "warn", "error"; false for anything else. */
/* Changes the level later, from any thread. */
void pl_log_set_level(enum pl_log_level level);
enum pl_log_level pl_log_get_level(void);
/* Each line that is logged from now on is also given to `tap`, as it is written: on the thread that
 * logs, one line at a time. The tap must not log. NULL ends it: no thread is inside the tap when
 * this returns. */
typedef void (*pl_log_tap_fn)(void *arg, enum pl_log_level level, struct pl_slice line);
void pl_log_set_tap(pl_log_tap_fn tap, void *arg);
/* A literal. */
const char *pl_log_level_name(enum pl_log_level level);
bool pl_log_parse_level(const char *text, enum pl_log_level *level);

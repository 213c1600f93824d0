/* The state of something that fails and retries, and when to log it: when the trouble begins, when
 * its kind changes (each kind at most once a minute, since kinds may alternate), and when it ends.
 * I/O thread. */
#pragma once

#include "base/err.h"
#include "base/log.h"

#define PL_TROUBLE_KINDS 4

struct pl_trouble {
    struct pl_err err; /* the last failure; code 0: no trouble */
    int64_t since_ns;  /* of the first failure in a row */
    unsigned failures;
    bool told; /* private: a line was logged */
    struct {
        uint64_t kind;
        uint64_t words;
        int64_t at_ns;
    } said[PL_TROUBLE_KINDS]; /* private: the last logged lines */
    unsigned next_said;
};

/* Notes one more failure. True when a line was logged: `message` and the fields (at most 4). */
bool pl_trouble_note(struct pl_trouble *trouble, const struct pl_err *err, int64_t now_ns,
                     const char *message, const struct pl_field *fields, size_t count);
/* Counts one more failure that is reported elsewhere: no line now, and none at the end of a trouble
 * that was only counted. */
void pl_trouble_count(struct pl_trouble *trouble, const struct pl_err *err, int64_t now_ns);
/* It works again: logs one line with the number of failures and the time. */
void pl_trouble_end(struct pl_trouble *trouble, int64_t now_ns, const char *message,
                    const struct pl_field *fields, size_t count);

static inline bool pl_trouble_is_on(const struct pl_trouble *trouble)
{
    return trouble->err.code != 0;
}

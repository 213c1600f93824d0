/* What is wrong with something that keeps trying, and when that is worth a log line:
 * when it begins, when it becomes another one (each at most once a minute, for those that
 * alternate), and when it is over. I/O thread. */
#pragma once

#include "base/err.h"
#include "base/log.h"

#define PL_TROUBLE_KINDS 4

struct pl_trouble {
    struct pl_err err; /* the last failure; code 0: nothing is wrong */
    int64_t since_ns;  /* of the first failure in a row */
    unsigned failures;
    bool told; /* private: a line was logged */
    struct {
        uint64_t kind;
        uint64_t words;
        int64_t at_ns;
    } said[PL_TROUBLE_KINDS]; /* private: what was logged last */
    unsigned next_said;
};

/* One more failure. True when a line was logged: `message` and the fields (at most 4). */
bool pl_trouble_note(struct pl_trouble *trouble, const struct pl_err *err, int64_t now_ns,
                     const char *message, const struct pl_field *fields, size_t count);
/* One more failure, of which somebody else tells: no line now, and none at the end of a trouble
 * that was only counted. */
void pl_trouble_count(struct pl_trouble *trouble, const struct pl_err *err, int64_t now_ns);
/* It works again: one line that says how often and how long it did not. */
void pl_trouble_end(struct pl_trouble *trouble, int64_t now_ns, const char *message,
                    const struct pl_field *fields, size_t count);

static inline bool pl_trouble_is_on(const struct pl_trouble *trouble)
{
    return trouble->err.code != 0;
}

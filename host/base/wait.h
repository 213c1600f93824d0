/* The registry of everything that waits: nothing may wait in silence. Whoever waits
 * (a source for its first list, a queue for a delay, a lane for an answer) embeds a
 * struct pl_wait and says what for, since when and until when, or why there is no
 * end to it. status, why, /readyz?verbose and the dump read it. I/O thread only. */
#pragma once

#include "base/buf.h"
#include "base/clock.h"
#include "base/list.h"

#include <stdbool.h>
#include <stdint.h>

struct pl_waits {
    struct pl_list list;          /* struct pl_wait, the longest wait first */
    size_t count;                 /* their number */
    const struct pl_clock *clock; /* borrowed for life */
};

/* Zero-initialised when nothing is waited for. */
struct pl_wait {
    struct pl_link link;     /* private: in waits->list */
    struct pl_waits *waits;  /* NULL when nothing is waited for */
    const char *name;        /* what for: "first list", "backoff"; borrowed, as a rule a literal */
    const char *owner;       /* who: a source, key or controller; borrowed while it waits */
    int64_t since_ns;        /* monotonic */
    int64_t deadline_ns;     /* monotonic; valid when no_deadline is NULL */
    const char *no_deadline; /* why there is none; borrowed, as a rule a literal */
};

void pl_waits_init(struct pl_waits *waits, const struct pl_clock *clock);
/* Waits still inside are ended. */
void pl_waits_deinit(struct pl_waits *waits);

/* From now on, for at most timeout_ns. A wait that had begun begins anew. */
void pl_wait_begin(struct pl_waits *waits, struct pl_wait *wait, const char *name,
                   const char *owner, int64_t timeout_ns);
/* The same without an end, and why: "a watch ends when its server says so". */
void pl_wait_begin_open(struct pl_waits *waits, struct pl_wait *wait, const char *name,
                        const char *owner, const char *no_deadline);
/* Until timeout_ns from now; the start stays. Harmless when it does not wait. */
void pl_wait_extend(struct pl_wait *wait, int64_t timeout_ns);
/* Harmless when it does not wait. */
void pl_wait_end(struct pl_wait *wait);

static inline bool pl_wait_is_waiting(const struct pl_wait *wait)
{
    return wait->waits != NULL;
}

/* The deadline has passed and nobody has ended the wait: a mistake of the owner's. */
bool pl_wait_is_overdue(const struct pl_wait *wait);
/* How long it has been waiting; 0 when it is not. */
int64_t pl_wait_age_ns(const struct pl_wait *wait);
/* "first list of pods: for 12.3 s, at most 30 s" */
void pl_wait_describe(const struct pl_wait *wait, struct pl_buf *out);

/* Everything that waits, the longest first:
 *     for (const struct pl_wait *w = pl_waits_next(waits, NULL); w != NULL;
 *          w = pl_waits_next(waits, w)) ...
 * Nothing may begin or end meanwhile. */
const struct pl_wait *pl_waits_next(const struct pl_waits *waits, const struct pl_wait *after);

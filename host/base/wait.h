/* The registry of everything that waits: nothing may wait in silence. Code that waits (a source for
 * its first list, a queue for a delay, a lane for an answer) embeds a struct pl_wait. It states the
 * subject, the start and the deadline of the wait, or the reason for having no deadline. status,
 * why, /readyz?verbose and the dump read the registry. I/O thread only. */
#pragma once

#include "base/buf.h"
#include "base/clock.h"
#include "base/list.h"

#include <stdbool.h>
#include <stdint.h>

struct pl_waits {
    struct pl_list list;          /* struct pl_wait, the longest wait first */
    size_t count;                 /* number of waits */
    const struct pl_clock *clock; /* borrowed for life */
};

/* Zero-initialised while there is nothing to wait for. */
struct pl_wait {
    struct pl_link link;     /* private: in waits->list */
    struct pl_waits *waits;  /* NULL while there is nothing to wait for */
    const char *name;        /* subject: "first list", "backoff"; borrowed, usually a literal */
    const char *owner;       /* owner: a source, key or controller; borrowed during the wait */
    int64_t since_ns;        /* monotonic */
    int64_t deadline_ns;     /* monotonic; valid when no_deadline is NULL */
    const char *no_deadline; /* reason for having no deadline; borrowed, usually a literal */
};

void pl_waits_init(struct pl_waits *waits, const struct pl_clock *clock);
/* Ends the waits that are still registered. */
void pl_waits_deinit(struct pl_waits *waits);

/* Starts a wait of at most timeout_ns from now. A wait that had begun starts anew. */
void pl_wait_begin(struct pl_waits *waits, struct pl_wait *wait, const char *name,
                   const char *owner, int64_t timeout_ns);
/* The same without a deadline. no_deadline is the reason, such as "a watch ends when its server
 * says so". */
void pl_wait_begin_open(struct pl_waits *waits, struct pl_wait *wait, const char *name,
                        const char *owner, const char *no_deadline);
/* Moves the deadline to timeout_ns from now; the start stays. Does nothing if it does not wait. */
void pl_wait_extend(struct pl_wait *wait, int64_t timeout_ns);
/* Does nothing if it does not wait. */
void pl_wait_end(struct pl_wait *wait);

static inline bool pl_wait_is_waiting(const struct pl_wait *wait)
{
    return wait->waits != NULL;
}

/* True when the deadline has passed and nobody has ended the wait. That is a bug of the owner. */
bool pl_wait_is_overdue(const struct pl_wait *wait);
/* Time since the start; 0 if it does not wait. */
int64_t pl_wait_age_ns(const struct pl_wait *wait);
/* "first list of pods: for 12.3 s, at most 30 s" */
void pl_wait_describe(const struct pl_wait *wait, struct pl_buf *out);

/* Visits all waits, the longest first:
 *     for (const struct pl_wait *w = pl_waits_next(waits, NULL); w != NULL;
 *          w = pl_waits_next(waits, w)) ...
 * No wait may begin or end meanwhile. Each wait belongs to the code that embeds it. */
const struct pl_wait *pl_waits_next(const struct pl_waits *waits, const struct pl_wait *after);

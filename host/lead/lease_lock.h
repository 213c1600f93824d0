/* The lock that leader election needs: a record on a server with optimistic locking. lead/lease.h
 * implements it with a Lease; tests have their own. */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define PL_LEASE_HOLDER  320       /* hostname, "_", UUID, and room */
#define PL_LEASE_NO_TIME INT64_MIN /* the record has no such time */

struct pl_lease_record {
    char holder[PL_LEASE_HOLDER]; /* "": none; longer names are cut */
    int64_t duration_s;           /* whole seconds (rule 123); 0 when the record has none */
    int64_t acquire_us, renew_us; /* microseconds since 1970 by the holder's wall clock */
    int64_t transitions;
};

static inline bool pl_lease_record_equal(const struct pl_lease_record *a,
                                         const struct pl_lease_record *b)
{
    return a->duration_s == b->duration_s && a->acquire_us == b->acquire_us &&
           a->renew_us == b->renew_us && a->transitions == b->transitions &&
           strcmp(a->holder, b->holder) == 0;
}

enum pl_lease_verb { PL_LEASE_GET, PL_LEASE_CREATE, PL_LEASE_UPDATE };

/* err NULL: success, and record is the server's current one (borrowed for the call). Else record is
 * NULL; EAPI with 404 and 409 have their usual meaning. */
typedef void (*pl_lease_answer_fn)(void *arg, const struct pl_err *err,
                                   const struct pl_lease_record *record);

struct pl_lease_watch_ops {
    /* The stream is open: changes will be reported from now on, beginning with the current record.
     */
    void (*on_open)(void *arg);
    /* NULL: the object was deleted. Borrowed for the call. */
    void (*on_change)(void *arg, const struct pl_lease_record *record);
    /* Called exactly once, last; err NULL: it ended normally. */
    void (*on_end)(void *arg, const struct pl_err *err);
};

/* These functions never call back inside. */
struct pl_lease_lock_ops {
    /* One request at a time. UPDATE replaces the record in the object of the last successful GET,
     * CREATE or UPDATE, and fails with 409 when the server has another version of it. A lock limits
     * the time of each request so that several fit into the renew deadline. */
    void (*start)(void *self, enum pl_lease_verb verb, const struct pl_lease_record *record,
                  pl_lease_answer_fn on_answer, void *arg);
    /* Cancels the request under way: its answer still comes, usually ECANCELED. */
    void (*cancel)(void *self);
    /* One watch at a time. Both are NULL if watches are not supported. */
    void (*watch)(void *self, const struct pl_lease_watch_ops *ops, void *arg);
    /* Only on_end still comes, with ECANCELED. */
    void (*unwatch)(void *self);
};

struct pl_lease_lock {
    const struct pl_lease_lock_ops *ops;
    void *self;
};

/* What leader election needs of the object that is fought over: a record on a server with
 * optimistic locking. lead/lease.h is such a lock on a Lease; tests have their own. */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define PL_LEASE_HOLDER  320       /* hostname, "_", UUID, and room */
#define PL_LEASE_NO_TIME INT64_MIN /* the record does not say */

struct pl_lease_record {
    char holder[PL_LEASE_HOLDER]; /* "": nobody; of longer ones the beginning */
    int64_t duration_s;           /* whole seconds (rule 123); 0 when it does not say */
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

/* err NULL: success, and record is what the server has now (borrowed for the call). Else record is
 * NULL; EAPI with 404 and 409 have their usual meaning. */
typedef void (*pl_lease_answer_fn)(void *arg, const struct pl_err *err,
                                   const struct pl_lease_record *record);

struct pl_lease_watch_ops {
    /* The stream is open: changes will be told from now on, what there is first of all. */
    void (*on_open)(void *arg);
    /* NULL: the object was deleted. Borrowed for the call. */
    void (*on_change)(void *arg, const struct pl_lease_record *record);
    /* Exactly once, last; err NULL: it ended in the normal way. */
    void (*on_end)(void *arg, const struct pl_err *err);
};

/* Nothing is called back from inside these calls. */
struct pl_lease_lock_ops {
    /* One request at a time. UPDATE replaces the record in the object that the last successful GET,
     * CREATE or UPDATE gave, and fails with 409 when the server has another version of it. A lock
     * limits each request so that several fit into the renew deadline. */
    void (*start)(void *self, enum pl_lease_verb verb, const struct pl_lease_record *record,
                  pl_lease_answer_fn on_answer, void *arg);
    /* Gives up the request under way: its answer still comes, ECANCELED as a rule. */
    void (*cancel)(void *self);
    /* One watch at a time. Both NULL where there are no watches. */
    void (*watch)(void *self, const struct pl_lease_watch_ops *ops, void *arg);
    /* Nothing more comes but on_end, with ECANCELED. */
    void (*unwatch)(void *self);
};

struct pl_lease_lock {
    const struct pl_lease_lock_ops *ops;
    void *self;
};

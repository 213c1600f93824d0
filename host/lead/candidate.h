/* What one replica knows of the lock, and one try at a time to get or keep it (rules 115-119,
 * 123). When to try is election.h's. I/O thread. */
#pragma once

#include "base/clock.h"
#include "lead/lease_lock.h"

struct pl_candidate_result {
    const struct pl_err *err; /* of the request that failed last; NULL: none did */
    /* A try: our write was answered with success, and the answer names us. A release: the record
     * does not name us any more, or never did. false without err: somebody else has it. */
    bool done;
    /* With a try that is done: read from the boot clock before that write left, and for how long
     * others will respect it. */
    int64_t sent_ns, duration_ns;
};
typedef void (*pl_candidate_fn)(void *arg, const struct pl_candidate_result *result);

/* Private but for what functions give. */
struct pl_candidate {
    struct pl_lease_lock lock;    /* borrowed for life */
    const struct pl_clock *clock; /* borrowed for life */
    const char *identity;         /* borrowed for life */
    int64_t duration_s;           /* of our records */

    bool has_seen;
    struct pl_lease_record seen; /* valid with has_seen: the record as it was observed last */
    /* boot: when it was seen to become what it is; for our own writes when they were sent */
    int64_t seen_ns;
    bool is_told; /* it came from a watch: the object that an update replaces may be another */
    char reported[PL_LEASE_HOLDER]; /* the holder that pl_candidate_news gave last */

    bool busy, canceled;
    bool releasing;
    int conflicts;
    enum pl_lease_verb verb;     /* of the request under way */
    bool fast;                   /* an update without a GET before it */
    struct pl_lease_record mine; /* what it writes */
    int64_t sent_ns;
    bool doubtful; /* a write of ours may have been carried out without our knowing */
    /* Of our last renewals: no two of different instants may look alike. */
    bool has_written;
    int64_t written_us, written_ns;
    pl_candidate_fn on_done;
    void *arg;
};

/* duration_ns is cut to whole seconds. */
void pl_candidate_init(struct pl_candidate *c, const struct pl_lease_lock *lock,
                       const struct pl_clock *clock, const char *identity, int64_t duration_ns);

/* One at a time; on_done comes exactly once, later. */
void pl_candidate_try(struct pl_candidate *c, pl_candidate_fn on_done, void *arg);
/* Gives up what the record on the server says is ours. A conflict is tried again, a few times. */
void pl_candidate_release(struct pl_candidate *c, pl_candidate_fn on_done, void *arg);
/* No more requests for what is under way; its end still comes, as a rule ECANCELED, but also the
 * success that was on its way. Harmless when nothing is. */
void pl_candidate_cancel(struct pl_candidate *c);

/* The record as a watch told it; maybe older than what is known (a server that lags behind). */
void pl_candidate_see(struct pl_candidate *c, const struct pl_lease_record *record);

/* The record seen last names us. Not the same as leading. */
bool pl_candidate_is_holder(const struct pl_candidate *c);
/* "" when nobody is known. */
const char *pl_candidate_holder(const struct pl_candidate *c);
/* Somebody is named, and it is not us. */
bool pl_candidate_is_other(const struct pl_candidate *c);
/* For how much longer the record seen last has to be respected (rule 116); <= 0: no longer. */
int64_t pl_candidate_valid_for(const struct pl_candidate *c);
/* Rule 121: the record names us and was not seen to change for so long. */
bool pl_candidate_is_overdue(const struct pl_candidate *c, int64_t limit_ns);
/* The holder when it is not the one that was given last, else NULL. */
const char *pl_candidate_news(struct pl_candidate *c);

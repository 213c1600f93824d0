/* One replica's view of the lock, and single attempts to get or keep it (rules 115-119, 123).
 * election.h decides when to try. I/O thread. */
#pragma once

#include "base/clock.h"
#include "lead/lease_lock.h"

struct pl_candidate_result {
    const struct pl_err *err; /* of the request that failed last; NULL: none failed */
    /* An attempt: our write succeeded, and the answer names us. A release: the record does not name
     * us any more, or never did. false without err: another replica has it. */
    bool done;
    /* For a successful attempt: the boot clock's time before that write was sent, and how long
     * others will respect it. */
    int64_t sent_ns, duration_ns;
};
typedef void (*pl_candidate_fn)(void *arg, const struct pl_candidate_result *result);

/* Private, except through the functions. */
struct pl_candidate {
    struct pl_lease_lock lock;    /* borrowed for life */
    const struct pl_clock *clock; /* borrowed for life */
    const char *identity;         /* borrowed for life */
    int64_t duration_s;           /* of our records */

    bool has_seen;
    struct pl_lease_record seen;
    /* boot: when `seen` was seen to change; for our own writes, when they were sent */
    int64_t seen_ns;
    bool is_told; /* it came from a watch: an update may replace a different object */
    char reported[PL_LEASE_HOLDER]; /* the last holder that pl_candidate_news returned */

    bool busy, canceled;
    bool releasing;
    int conflicts;
    enum pl_lease_verb verb;     /* of the request under way */
    bool fast;                   /* an update without a preceding GET */
    struct pl_lease_record mine; /* what it writes */
    int64_t sent_ns;
    bool doubtful; /* one of our writes may have been carried out unnoticed */
    /* Of our last renewals: renewals at different instants must differ. */
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
/* Releases the lock if the server's record names us. Retries conflicts a few times. */
void pl_candidate_release(struct pl_candidate *c, pl_candidate_fn on_done, void *arg);
/* Cancels the request under way; on_done still comes, usually with ECANCELED, but possibly with a
 * success that was on its way. Does nothing when there is none. */
void pl_candidate_cancel(struct pl_candidate *c);

/* The record from a watch; it may be older than the known one (a server that lags behind). */
void pl_candidate_see(struct pl_candidate *c, const struct pl_lease_record *record);

/* The last seen record names us. This is not the same as leading. */
bool pl_candidate_is_holder(const struct pl_candidate *c);
/* "" when no holder is known. Borrowed until the next record is seen. */
const char *pl_candidate_holder(const struct pl_candidate *c);
/* The record names another holder. */
bool pl_candidate_is_other(const struct pl_candidate *c);
/* The remaining time for which the last seen record has to be respected (rule 116); <= 0: it has
 * expired. */
int64_t pl_candidate_valid_for(const struct pl_candidate *c);
/* Rule 121: the record names us and was not seen to change for this time. */
bool pl_candidate_is_overdue(const struct pl_candidate *c, int64_t limit_ns);
/* The holder if it differs from the last returned one, else NULL. Borrowed until the next call. */
const char *pl_candidate_news(struct pl_candidate *c);

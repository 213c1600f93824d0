/* A lock whose server is the test. A request waits until the test carries it out (or not) and
 * answers it (or not):
 *
 *     fake_lock_expect(&lock, PL_LEASE_GET);   ... one request of that verb is waiting
 *     fake_lock_answer(&lock);                 ... carried out, and its answer told
 *     fake_lock_fail(&lock, PL_EAPI, 500);     ... not carried out
 *     fake_lock_lose(&lock);                   ... carried out, the answer lost */
#pragma once

#include "base/timer.h"
#include "lead/lease_lock.h"
#include "support/test.h"

#include <stdio.h>

/* One record with optimistic locking. */
struct lease_server {
    bool exists;
    struct pl_lease_record record;
    int64_t version;
};

/* 0, or the HTTP status of the failure. `known`: the version that an update is built on; then the
 * one that the answer carries. */
static inline int lease_server_apply(struct lease_server *server, enum pl_lease_verb verb,
                                     const struct pl_lease_record *record, int64_t *known)
{
    if (verb == PL_LEASE_CREATE && server->exists)
        return 409;
    if (verb != PL_LEASE_CREATE && !server->exists)
        return 404;
    if (verb == PL_LEASE_UPDATE && *known != server->version)
        return 409;
    if (verb != PL_LEASE_GET) {
        server->exists = true;
        server->record = *record;
        server->version++;
    }
    *known = server->version;
    return 0;
}

static inline void lease_server_error(int status, bool create, struct pl_err *err)
{
    pl_err_set(err, PL_EAPI, "the server answered %d", status);
    err->status = status;
    const char *reason = status == 404             ? "NotFound"
                         : status == 409 && create ? "AlreadyExists"
                         : status == 409           ? "Conflict"
                         : status == 403           ? "Forbidden"
                                                   : "InternalError";
    snprintf(err->reason, sizeof err->reason, "%s", reason);
}

struct fake_lock {
    struct lease_server *server;
    struct pl_timers *timers;
    bool no_watch;
    int started; /* requests so far */
    /* The request that waits. */
    bool waiting;
    enum pl_lease_verb verb;
    struct pl_lease_record record;
    pl_lease_answer_fn on_answer;
    void *arg;
    struct pl_timer canceled;
    int64_t known; /* version of the last answer */
    /* The watch. */
    bool watching, open;
    int watches; /* so far */
    const struct pl_lease_watch_ops *watch_ops;
    void *watch_arg;
    struct pl_timer unwatched;
};

static inline void fake_lock_tell(struct fake_lock *lock, const struct pl_err *err,
                                  const struct pl_lease_record *record)
{
    REQUIRE(lock->waiting);
    lock->waiting = false;
    pl_timer_stop(lock->timers, &lock->canceled);
    lock->on_answer(lock->arg, err, record);
}

static inline void fake_lock_start(void *self, enum pl_lease_verb verb,
                                   const struct pl_lease_record *record, pl_lease_answer_fn done,
                                   void *arg)
{
    struct fake_lock *lock = self;
    REQUIRE(!lock->waiting);
    lock->waiting = true;
    lock->started++;
    lock->verb = verb;
    if (record != NULL)
        lock->record = *record;
    lock->on_answer = done;
    lock->arg = arg;
}

static inline void fake_lock_canceled(struct pl_timer *timer)
{
    struct fake_lock *lock = PL_CONTAINER_OF(timer, struct fake_lock, canceled);
    struct pl_err err;
    pl_err_set(&err, PL_ECANCELED, "canceled");
    fake_lock_tell(lock, &err, NULL);
}

static inline void fake_lock_cancel(void *self)
{
    struct fake_lock *lock = self;
    REQUIRE(lock->waiting);
    pl_timer_start(lock->timers, &lock->canceled, 0, fake_lock_canceled);
}

static inline void fake_lock_watch(void *self, const struct pl_lease_watch_ops *ops, void *arg)
{
    struct fake_lock *lock = self;
    REQUIRE(!lock->watching);
    lock->watching = true;
    lock->watches++;
    lock->watch_ops = ops;
    lock->watch_arg = arg;
}

static inline void fake_lock_end_watch(struct fake_lock *lock, int code, int status)
{
    struct pl_err err;
    REQUIRE(lock->watching);
    lock->watching = lock->open = false;
    pl_timer_stop(lock->timers, &lock->unwatched);
    pl_err_set(&err, code, "the watch failed");
    if (status != 0)
        lease_server_error(status, false, &err);
    lock->watch_ops->on_end(lock->watch_arg, code != 0 ? &err : NULL);
}

static inline void fake_lock_unwatched(struct pl_timer *timer)
{
    fake_lock_end_watch(PL_CONTAINER_OF(timer, struct fake_lock, unwatched), PL_ECANCELED, 0);
}

static inline void fake_lock_unwatch(void *self)
{
    struct fake_lock *lock = self;
    lock->open = false;
    pl_timer_start(lock->timers, &lock->unwatched, 0, fake_lock_unwatched);
}

static inline struct pl_lease_lock fake_lock(struct fake_lock *lock)
{
    static const struct pl_lease_lock_ops ops = {fake_lock_start, fake_lock_cancel, fake_lock_watch,
                                                 fake_lock_unwatch};
    static const struct pl_lease_lock_ops polling = {fake_lock_start, fake_lock_cancel, NULL, NULL};
    return (struct pl_lease_lock){lock->no_watch ? &polling : &ops, lock};
}

/* ---- the server's half ---- */

#define fake_lock_expect(lock, want)                                                               \
    do {                                                                                           \
        REQUIRE((lock)->waiting);                                                                  \
        CHECK_INT((lock)->verb, want);                                                             \
    } while (0)

static inline int fake_lock_apply(struct fake_lock *lock)
{
    return lease_server_apply(lock->server, lock->verb, &lock->record, &lock->known);
}

static inline void fake_lock_fail(struct fake_lock *lock, int code, int status)
{
    struct pl_err err;
    pl_err_set(&err, code, "no answer");
    if (status != 0)
        lease_server_error(status, lock->verb == PL_LEASE_CREATE, &err);
    fake_lock_tell(lock, &err, NULL);
}

static inline void fake_lock_answer(struct fake_lock *lock)
{
    REQUIRE(lock->waiting);
    struct pl_err err;
    int status = fake_lock_apply(lock);
    struct pl_lease_record copy = lock->server->record;
    if (status != 0)
        lease_server_error(status, lock->verb == PL_LEASE_CREATE, &err);
    fake_lock_tell(lock, status != 0 ? &err : NULL, status != 0 ? NULL : &copy);
}

static inline void fake_lock_lose(struct fake_lock *lock)
{
    REQUIRE(lock->waiting);
    int64_t known = lock->known;
    fake_lock_apply(lock);
    lock->known = known;
    fake_lock_fail(lock, PL_ETIMEOUT, 0);
}

/* The watch's stream opens and reports the current record. */
static inline void fake_lock_open(struct fake_lock *lock)
{
    REQUIRE(lock->watching && !lock->open);
    lock->open = true;
    lock->watch_ops->on_open(lock->watch_arg);
    if (lock->open && lock->server->exists)
        lock->watch_ops->on_change(lock->watch_arg, &lock->server->record);
}

/* Another client writes the record (NULL: deletes it); an open watch reports it. */
static inline void fake_lock_others_write(struct fake_lock *lock,
                                          const struct pl_lease_record *record)
{
    lock->server->exists = record != NULL;
    if (record != NULL)
        lock->server->record = *record;
    lock->server->version++;
    if (lock->open)
        lock->watch_ops->on_change(lock->watch_arg, record);
}

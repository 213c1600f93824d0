/* State that the reflectors of one cluster, and informers that search for their kind, share, so
 * that hundreds of watches do not reconnect at the same moment (F37). While the server does not
 * answer, a few of them try, after one common backoff, and the others wait for their result. When
 * it answers they follow at a limited rate, with jitter, lists more slowly than watches. I/O
 * thread. */
#pragma once

#include "base/err.h"
#include "base/list.h"
#include "base/rand.h"
#include "base/timer.h"

struct pl_reconnects;

/* timers and rand are borrowed for life. */
struct pl_reconnects *pl_reconnects_create(struct pl_timers *timers, struct pl_rand *rand);
/* No one may be waiting. Accepts NULL. */
void pl_reconnects_destroy(struct pl_reconnects *all);

enum pl_reconnect_kind {
    PL_RECONNECT_FIRST, /* waits only while the server is away */
    PL_RECONNECT_WATCH,
    PL_RECONNECT_LIST,
    PL_RECONNECT_KINDS,
};

/* A participant that wants to connect. Embedded in its owner; zero-initialised. */
struct pl_reconnect {
    struct pl_link link; /* private from here on */
    enum pl_reconnect_kind kind;
    bool trying; /* was allowed to try while the server was away, and has not reported a result */
    int64_t went_ns;
    void (*go)(struct pl_reconnect *one);
    struct pl_link member;
    uint64_t restores; /* number of restores that were known at its last list */
    void (*restored)(struct pl_reconnect *one);
};

/* True: go now. False: `go` is called once, later, when it is its turn. */
bool pl_reconnect_ask(struct pl_reconnects *all, struct pl_reconnect *one,
                      enum pl_reconnect_kind kind, void (*go)(struct pl_reconnect *one));
/* It no longer waits or tries: it is stopped, or its attempt ended in a way that says nothing about
 * the server. Does nothing otherwise. */
void pl_reconnect_forget(struct pl_reconnects *all, struct pl_reconnect *one);
/* Its attempt got no answer. True when the server is away: then asking for another turn replaces a
 * pause, and one log line is enough for all. False when others have received answers meanwhile:
 * then only this one has a problem. */
bool pl_reconnect_failed(struct pl_reconnects *all, struct pl_reconnect *one,
                         const struct pl_err *err);
/* The server has answered it, or sent it an event. */
void pl_reconnect_heard(struct pl_reconnects *all, struct pl_reconnect *one);

/* ---- data that was restored ---- */

/* A server whose data was restored from a backup assigns versions again, and soon passes those that
 * a source remembers: from then on the source alone cannot notice it. But all sources share one
 * etcd, so the finding of one source applies to all (F27). */

/* Until pl_reconnect_leave, restored (may be NULL) is called when another participant has found a
 * restore: the watch so far may have missed events. */
void pl_reconnect_join(struct pl_reconnects *all, struct pl_reconnect *one,
                       void (*restored)(struct pl_reconnect *one));
void pl_reconnect_leave(struct pl_reconnect *one);
/* It has found a restore. Does nothing when it is not current, since then it was told already. */
void pl_reconnect_found_restored(struct pl_reconnects *all, struct pl_reconnect *one);
/* It begins a list, whose version belongs to the current data. */
void pl_reconnect_lists(struct pl_reconnects *all, struct pl_reconnect *one);
/* False: it has to list before it continues watching. */
bool pl_reconnect_is_current(const struct pl_reconnects *all, const struct pl_reconnect *one);

bool pl_reconnects_is_away(const struct pl_reconnects *all);

/* The server refused to stream a list: no participant asks for one for some minutes (client-go
 * tries in each cycle, rule 79, and so would ask a server without the feature for ever). */
void pl_reconnects_refuse_streams(struct pl_reconnects *all);
bool pl_reconnects_may_stream(const struct pl_reconnects *all);
/* How long a refusal is remembered. */
#define PL_STREAM_REFUSED_NS (10 * 60 * PL_SECOND)

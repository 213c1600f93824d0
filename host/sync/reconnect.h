/* What the reflectors of one cluster share, and informers that look for their kind, so that
 * hundreds of watches do not come back at the same moment (F37). While the server does not answer,
 * few of them try, after one backoff that is everybody's, and the others wait for what those find;
 * once it answers they follow at a rate, with jitter, lists more slowly than watches. I/O thread.
 */
#pragma once

#include "base/err.h"
#include "base/list.h"
#include "base/rand.h"
#include "base/timer.h"

struct pl_reconnects;

/* timers and rand are borrowed for life. */
struct pl_reconnects *pl_reconnects_create(struct pl_timers *timers, struct pl_rand *rand);
/* Nobody may be waiting. Accepts NULL. */
void pl_reconnects_destroy(struct pl_reconnects *all);

enum pl_reconnect_kind {
    PL_RECONNECT_FIRST, /* waits only while the server is away */
    PL_RECONNECT_WATCH,
    PL_RECONNECT_LIST,
    PL_RECONNECT_KINDS,
};

/* One that wants to connect. Embedded in its owner; zero-initialised. */
struct pl_reconnect {
    struct pl_link link; /* private from here on */
    enum pl_reconnect_kind kind;
    bool trying; /* was let go while the server was away, and has not been heard of */
    int64_t went_ns;
    void (*go)(struct pl_reconnect *one);
    struct pl_link member;
    uint64_t restores; /* as many as were known when it listed last */
    void (*restored)(struct pl_reconnect *one);
};

/* True: go now. False: `go` is called later, once, when it is its turn. */
bool pl_reconnect_ask(struct pl_reconnects *all, struct pl_reconnect *one,
                      enum pl_reconnect_kind kind, void (*go)(struct pl_reconnect *one));
/* It neither waits nor tries any more: it is stopped, or its attempt ended in a way that says
 * nothing about the server. Harmless when it does not. */
void pl_reconnect_forget(struct pl_reconnects *all, struct pl_reconnect *one);
/* Its attempt got no answer. True when that is the server's trouble, so that asking for another
 * turn is the pause, and one line about it is enough for all; false when others have heard from it
 * meanwhile: the trouble is this one's. */
bool pl_reconnect_failed(struct pl_reconnects *all, struct pl_reconnect *one,
                         const struct pl_err *err);
/* The server answered it, or sent it something. */
void pl_reconnect_heard(struct pl_reconnects *all, struct pl_reconnect *one);

/* ---- data that was restored ---- */

/* A server whose data was restored from a backup gives out versions anew, and soon has passed those
 * that a source remembers: from then on the source alone can't tell. But one etcd is behind them
 * all, so what one source finds out holds for every one (F27). */

/* Until pl_reconnect_leave, restored is called (it may be NULL) when another one has found that
 * out: what was watched up to now may have missed something. */
void pl_reconnect_join(struct pl_reconnects *all, struct pl_reconnect *one,
                       void (*restored)(struct pl_reconnect *one));
void pl_reconnect_leave(struct pl_reconnect *one);
/* It found out. Harmless when it is not current, and so has been told already. */
void pl_reconnect_found_restored(struct pl_reconnects *all, struct pl_reconnect *one);
/* It begins a list, whose version is of the data that is there now. */
void pl_reconnect_lists(struct pl_reconnects *all, struct pl_reconnect *one);
/* False: it has to list before it watches on. */
bool pl_reconnect_is_current(const struct pl_reconnects *all, const struct pl_reconnect *one);

bool pl_reconnects_is_away(const struct pl_reconnects *all);

/* The server refused to stream a list: nobody asks for one for some minutes (client-go tries
 * in each cycle, rule 79; a server without the feature would be asked for ever). */
void pl_reconnects_refuse_streams(struct pl_reconnects *all);
bool pl_reconnects_may_stream(const struct pl_reconnects *all);
/* How long a refusal is remembered. */
#define PL_STREAM_REFUSED_NS (10 * 60 * PL_SECOND)

/* The API itself, without sockets: it takes a call and gives the answer to a small table of
 * functions. One thread. Time comes from the timers' clock. */
#pragma once

#include "apicall/commands.h"
#include "apicall/request.h"
#include "apicall/responder.h"
#include "apicall/services.h"
#include "base/err.h"
#include "base/timer.h"
#include "net/http.h"

struct pl_api;

struct pl_api_options {
    const char *token; /* required bearer token; NULL: none */
    const char *host;  /* the host on which the server listens, see caller.h; NULL: requests for any
                          host are accepted */
    size_t history;    /* events kept; 0: 100,000 */
    size_t history_bytes;            /* limit of their documents' text; 0: 256 MiB */
    size_t watch_bytes;              /* unread bytes of all watches together; 0: 64 MiB */
    int64_t bookmark_ns;             /* 0: one minute */
    uint64_t rand_seed;              /* 0: from the system */
    unsigned first_ip, first_port;   /* the first ones that Services get; 0: the lowest */
    uint64_t first_version;          /* 0: 1 */
    struct pl_transport transport;   /* the transport to webhooks; ops NULL: none */
    struct pl_api_services services; /* find NULL: none */
    struct pl_api_commands commands; /* in Pods; answer NULL: only annotations answer */
    bool bare;                       /* without default roles and bindings */
    bool no_shard_selector; /* ignore it, as without the feature gate ShardedListAndWatch */
    /* Nobody takes care of volumes: those in use are deleted at once, and unbound claims may grow.
     */
    bool unprotected;
    bool simulate; /* with actors, see actors.h */
    bool unshared; /* its documents share no values, see value/pool.h */
    bool empty;    /* without any object; pl_api_persist_in must follow */
};

/* timers are borrowed for life. options are copied. The caller owns the result. */
struct pl_api *pl_api_create(struct pl_timers *timers, const struct pl_api_options *options);
/* Restores the state from the folder (see disk.h), or starts a new folder, and stores every write
 * there from now on. Call it before the first request. Fails with err if the folder can't be used.
 */
PL_MUST_USE int pl_api_persist_in(struct pl_api *api, const char *folder, struct pl_err *err);
/* Ends all watches first. Accepts NULL. */
void pl_api_destroy(struct pl_api *api);
/* Answers before it returns, except for watches and requests that wait for webhooks; the call's
 * texts are copied for these. */
void pl_api_handle(struct pl_api *api, const struct pl_api_call *call,
                   struct pl_api_responder responder);
/* Stops calling webhooks. Call it before the transport of the calls is destroyed. */
void pl_api_hang_up(struct pl_api *api);
/* Frees documents that other threads gave back. Call it once per turn. */
void pl_api_collect(struct pl_api *api);
/* The monotonic instant of the work that the server does next by itself, such as a count of quotas;
 * INT64_MAX: none. */
int64_t pl_api_due(struct pl_api *api);
/* Garbage collection waits while it is held, as on a server whose controller manager is away. */
void pl_api_hold_garbage(struct pl_api *api, bool held);

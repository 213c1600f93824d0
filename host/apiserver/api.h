/* The API itself, without sockets: a call comes in, an answer goes out through a small
 * table of functions. One thread; time comes from the timers' clock. */
#pragma once

#include "apicall/request.h"
#include "apicall/responder.h"
#include "apicall/services.h"
#include "base/err.h"
#include "base/timer.h"
#include "net/http.h"

struct pl_api;

struct pl_api_options {
    const char *token;      /* bearer token to ask for; NULL: none */
    const char *host;       /* that it was told to listen on, see caller.h; NULL: any caller */
    size_t history;         /* events kept; 0: 100,000 */
    size_t history_bytes;   /* of their documents as text; 0: 256 MiB */
    size_t watch_bytes;     /* that all watches together may leave unread; 0: 64 MiB */
    int64_t bookmark_ns;    /* 0: one minute */
    uint64_t rand_seed;     /* 0: from the system */
    uint64_t first_version; /* 0: 1 */
    struct pl_transport transport;   /* to webhooks; ops NULL: they can't be called */
    struct pl_api_services services; /* find NULL: none is known */
    bool bare;                       /* without the roles and bindings that every cluster has */
    bool no_shard_selector; /* passed over, as without the feature gate ShardedListAndWatch */
    bool empty;             /* without anything; pl_api_keep_in must follow */
};

/* timers are borrowed for life. options are copied. */
struct pl_api *pl_api_create(struct pl_timers *timers, const struct pl_api_options *options);
/* Brings back what the folder has (see disk.h), or begins it, and keeps every write there from now
 * on; before the first call comes in. Fails with err when the folder can't be used. */
PL_MUST_USE int pl_api_keep_in(struct pl_api *api, const char *folder, struct pl_err *err);
/* Ends every watch first. Accepts NULL. */
void pl_api_destroy(struct pl_api *api);
/* Answers before it returns, except for watches and what waits for webhooks: the call's texts are
 * copied then. */
void pl_api_handle(struct pl_api *api, const struct pl_api_call *call,
                   struct pl_api_responder responder);
/* No webhook is called any more. Before what carries the calls goes. */
void pl_api_hang_up(struct pl_api *api);
/* Drops what other threads gave back; once a turn. */
void pl_api_collect(struct pl_api *api);

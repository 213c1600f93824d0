/* The embedded API server: enough of Kubernetes' API, in memory, to develop and
 * test controllers against. It hangs on a loop and belongs to its thread; in
 * `perilune dev` that is a thread of its own. Knows nothing of control or lane.
 *
 * For tests, besides the API:
 *   POST /debug/compact   forgets the history: watches and exact lists from an older
 *                         version get 410. Answers {"resourceVersion":"N"}.
 *   GET  /debug/requests  counts since start: {"list pods":3,"patch pods/status":1,...};
 *                         verbs are get list watch create update patch delete
 *                         deletecollection.
 *   GET  /debug/audit     the last 10,000 writes, oldest first:
 *                         [{"method","path","userAgent","fieldManager","code"},...]
 *   GET  /debug/lists     the same of the last 1,000 lists, and watches that begin with one;
 *                         their path has the query; code 0: it waited for a webhook. */
#pragma once

#include "apiserver/api.h"
#include "base/clock.h"
#include "base/err.h"
#include "net/loop.h"

#include <stdbool.h>
#include <stdint.h>

struct pl_apiserver;

struct pl_apiserver_options {
    /* To bind; NULL: 127.0.0.1. Requests whose Host or Origin is neither loopback nor this get
     * 403; where this is every address, any address and the machine's own name will do. */
    const char *host;
    int port;          /* 0: any free one */
    const char *token; /* bearer token that every request must carry; NULL: none is asked for */
    const char *cert_pem, *key_pem; /* both or neither: TLS, or plain http alone */
    /* A folder where everything is kept, and from which it comes back; NULL: memory only. With it,
     * versions go on from the last one that was written. */
    const char *data_dir;
    size_t history;      /* events kept for watches to resume from; 0: 100,000; older answer 410 */
    int64_t bookmark_ns; /* between bookmarks; 0: one minute */
    uint64_t rand_seed;  /* of uids and generated names; 0: from the system */
    /* resourceVersions go on from here. 0: from the clock, in microseconds, so that none comes
     * twice: a server that is started anew has lost its data, and who watched the one before it
     * gets 410 instead of events that it would take for the rest of what it knows. */
    uint64_t first_version;
    /* shardSelector is passed over, as kube-apiserver does without ShardedListAndWatch. */
    bool no_shard_selector;
    struct pl_api_services services; /* find NULL: none is known; called on the loop's thread */
};

/* NULL and err when the address can't be bound. Starts serving with the loop. */
struct pl_apiserver *pl_apiserver_create(struct pl_loop *loop,
                                         const struct pl_apiserver_options *options,
                                         struct pl_err *err);
/* Ends every watch and connection. Memory goes after the loop's next turns. */
void pl_apiserver_destroy(struct pl_apiserver *server);
int pl_apiserver_port(const struct pl_apiserver *server);
/* "localhost" or a loopback address: nobody else reaches what listens there. */
bool pl_apiserver_is_loopback(const char *host);

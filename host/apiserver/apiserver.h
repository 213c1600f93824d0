/* The embedded API server: enough of Kubernetes' API to develop and test controllers. Its objects
 * lie in memory and, if data_dir is set, in a folder. It runs on a loop and belongs to the loop's
 * thread; `perilune dev` gives it its own thread. It knows nothing of control or lane.
 *
 * For tests, besides the API:
 *   POST /debug/compact   forgets the history: watches and exact lists from an older version get
 *                         410. Answers {"resourceVersion":"N"}.
 *   GET  /debug/requests  counts since start: {"list pods":3,"patch pods/status":1,...}; verbs are
 *                         get list watch create update patch delete deletecollection.
 *   GET  /debug/audit     the last 10,000 writes, oldest first:
 *                         [{"method","path","userAgent","fieldManager","code"},...]
 *   GET  /debug/lists     the last 1,000 lists, and watches that begin with one, in the same form;
 *                         `path` includes the query; code 0: the request waited for a webhook. */
#pragma once

#include "apiserver/api.h"
#include "base/clock.h"
#include "base/err.h"
#include "net/loop.h"

#include <stdbool.h>
#include <stdint.h>

struct pl_apiserver;

struct pl_apiserver_options {
    /* Address to bind; NULL: 127.0.0.1. Requests whose Host or Origin is neither loopback nor this
     * address get 403. If it is every address (0.0.0.0, ::), any address and the machine's own name
     * are accepted. */
    const char *host;
    int port;                       /* 0: any free port */
    const char *token;              /* required bearer token; NULL: none */
    const char *cert_pem, *key_pem; /* both or neither: TLS and plain HTTP, or only plain HTTP */
    /* Folder that stores everything and from which the state is restored; NULL: memory only. With
     * it, versions continue from the last written one. */
    const char *data_dir;
    size_t history; /* events kept, from which watches can resume; 0: 100,000; older versions get
                       410 */
    int64_t bookmark_ns; /* time between bookmarks; 0: one minute */
    uint64_t rand_seed;  /* seed of uids and generated names; 0: from the system */
    /* First resourceVersion. 0: the clock in microseconds, so that no version is used twice. A
     * restarted server has lost its data; clients that watched its predecessor must get 410, not
     * events that seem to continue their old state. */
    uint64_t first_version;
    /* Ignore shardSelector, as kube-apiserver does without ShardedListAndWatch. */
    bool no_shard_selector;
    bool simulate;                   /* with stand-ins for controllers and kubelets, see actors.h */
    struct pl_api_services services; /* find NULL: none; called on the loop's thread */
};

/* NULL and err if the address can't be bound. Serves as soon as the loop runs. The caller owns the
 * server and ends it with pl_apiserver_destroy. */
struct pl_apiserver *pl_apiserver_create(struct pl_loop *loop,
                                         const struct pl_apiserver_options *options,
                                         struct pl_err *err);
/* Ends all watches and connections. The memory is freed in the loop's next turns. */
void pl_apiserver_destroy(struct pl_apiserver *server);
int pl_apiserver_port(const struct pl_apiserver *server);
/* True for "localhost" and loopback addresses: other machines can't reach them. */
bool pl_apiserver_is_loopback(const char *host);

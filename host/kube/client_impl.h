/* Private to kube: a client's internals, for operations and watches; and the attempt, one HTTP
 * request with credentials, which both use. */
#pragma once

#include "base/list.h"
#include "kube/client.h"
#include "kube/credentials.h"
#include "kube/request.h"

/* Tokens arrive at qps up to burst; a value below zero means that waiting requests have reserved
 * them. */
struct pl_bucket {
    double qps, burst, tokens; /* qps 0: no limit */
    int64_t filled_ns;
};

/* Asks the server for an answer while watches are silent (probe.c). */
struct pl_probe {
    struct pl_timer timer;
    struct pl_op *op; /* the request under way */
    int64_t asked_ns;
};

struct pl_client {
    struct pl_transport transport;
    struct pl_timers *timers;
    struct pl_rand *rand;
    struct pl_waits *waits; /* NULL: none */
    const struct pl_kubeconfig *config;
    struct pl_loop *loop; /* NULL: no exec plugins */
    struct pl_err *held;  /* owned; the error of pl_client_hold; NULL: requests are sent */
    bool awaited;         /* until it is configured or held, operations wait */
    struct pl_pool *pool;
    struct pl_decode_thread *decode_thread;
    char *user_agent, *host; /* owned; host is the label of metrics */
    int64_t request_timeout_ns;
    struct pl_credentials *credentials; /* owned */
    struct pl_bucket bucket;
    struct pl_probe probe;
    int64_t probe_ns;           /* 0: off */
    struct pl_metric *requests; /* NULL: not counted */
    struct { /* the series of the last request that was counted; NULL: none yet */
        struct pl_series *series;
        char method[16];
        int status;
    } counted;
    struct pl_list ops;     /* struct pl_op */
    struct pl_list watches; /* struct pl_watch */
    /* A bit for each lane: a request timed out there, so its connections may be dead. */
    unsigned distrusted_lanes;
};

static inline int64_t pl_client_now(const struct pl_client *client)
{
    return pl_clock_mono(client->timers->clock);
}

void pl_client_wait(struct pl_client *client, struct pl_wait *wait, const char *name,
                    const char *owner, int64_t timeout_ns);

/* Takes one token; returns the time to wait for it. */
int64_t pl_client_limit(struct pl_client *client);

/* A watch has opened or received bytes. */
void pl_probe_expect(struct pl_client *client);
/* No watch is left to check. */
void pl_probe_stop(struct pl_client *client);
/* In watch.c: the time of the last byte on the open watch that is silent for the longest time;
 * INT64_MAX when none is open. */
int64_t pl_watches_heard(const struct pl_client *client);
/* In watch.c: ends, with ETIMEOUT, watches without a byte since then. */
void pl_watches_give_up(struct pl_client *client, int64_t since_ns);

/* In op.c: operations that wait for the configuration go on. */
void pl_ops_go_on(struct pl_client *client);
/* In op.c and watch.c: ends it with ECANCELED, now. */
void pl_op_abort(struct pl_op *op);
void pl_watch_abort(struct pl_watch *watch);

/* ---- attempts ---- */

struct pl_attempt;

/* All pointers are borrowed until the attempt is done or cancelled. */
struct pl_attempt_spec {
    const struct pl_wire *wire;
    int64_t deadline_ns; /* monotonic; 0: none */
    int64_t silence_ns;
    size_t max_response;
    bool long_response;
    bool fresh_connection;
    bool upgrade;
    int lane;
    bool (*may_send)(void *arg);
    void *may_send_arg;
    const struct pl_fence *fence;
};

struct pl_attempt_ops {
    void (*on_response)(void *owner, const struct pl_http_response *response);
    int (*on_body)(void *owner, struct pl_slice piece);
    /* Called exactly once, last, never inside start. renewed: the answer was 401, and another
     * attempt would use other credentials. */
    void (*on_done)(void *owner, const struct pl_err *err, bool renewed);
};

/* The attempt lives until on_done is called or until it is cancelled. Never returns NULL. */
struct pl_attempt *pl_attempt_start(struct pl_client *client, const struct pl_attempt_spec *spec,
                                    const struct pl_attempt_ops *ops, void *owner);
/* For an attempt that was upgraded: see the transport's send. */
void pl_attempt_send(struct pl_attempt *attempt, struct pl_slice bytes);
/* The owner is not called again. It may be called inside the owner's callbacks (except on_done,
 * after which the attempt does not exist). Accepts NULL. */
void pl_attempt_cancel(struct pl_attempt *attempt);

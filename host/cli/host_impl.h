/* The internals of the host, only for host.c and host_connect.c. I/O thread. */
#pragma once

#include "admin/repl.h"
#include "cli/host.h"
#include "cli/trim_memory.h"
#include "cluster/remotes.h"
#include "cluster/tracer.h"
#include "control/manager.h"
#include "control/once.h"
#include "control/shard_key_count.h"
#include "kube/decode_thread.h"
#include "lane/barred.h"
#include "lane/memo.h"
#include "lua/watchdog.h"
#include "net/http_client.h"
#include "net/signals.h"
#include "reload/reload.h"
#include "reload/shadow.h"

#include <stdatomic.h>

struct host {
    const struct pl_options *options; /* borrowed */
    struct pl_kubeconfig config;
    struct pl_err config_err;   /* code 0: config is there */
    struct pl_loop *loop;       /* owned from here on, in order of creation */
    struct pl_signals *signals; /* NULL: not watched yet */
    struct pl_rand rand;
    struct pl_waits waits;
    struct pl_pool *pool;
    struct pl_decode_thread *decode_thread; /* NULL: not connected */
    struct pl_metrics *metrics;
    struct pl_view *view;
    struct pl_http_client *http;
    struct pl_client *client;
    struct pl_cluster *cluster;
    struct pl_remotes *remotes; /* the other clusters */
    struct pl_tracer *tracer;   /* NULL: no tracing */
    struct pl_lanes *lanes;
    struct pl_record *record; /* NULL: none */
    struct pl_taping *taping; /* the same */
    struct pl_memos *memos;   /* shared by all generations */
    struct pl_barred *barred; /* the same */
    struct pl_declarations declarations;
    struct pl_shards *shards; /* NULL: no shards */
    struct pl_leader *leader; /* NULL: no election */
    struct pl_manager *manager;
    struct pl_shard_key_count *key_count; /* NULL: without shards */
    struct pl_webhooks *webhooks;
    struct pl_webhook_names webhook_names;
    struct pl_err webhooks_err;   /* of the first switch; code 0: none */
    struct pl_once *once;         /* NULL: until a signal */
    struct pl_admin *admin;       /* NULL: without one */
    struct pl_page *page;         /* NULL: off */
    struct pl_tuner *tuner;       /* with the admin */
    struct pl_profiler *profiler; /* the same */
    struct pl_watchdog *dog;      /* of all scripts */
    struct pl_repls *repls;       /* as above */
    struct pl_reload *reload;
    struct pl_shadow *shadow;
    _Atomic int stuck; /* abandoned lanes */
    struct pl_idle collect;
    struct pl_task collect_again;
    struct pl_trim trim;
    bool stopping;
    int exit_code;
};

/* ---- host_connect.c ---- */

/* Creates the client, the cluster and the remotes; sends no request yet. */
PL_MUST_USE int pl_host_connect(struct host *host, struct pl_err *err);
/* Creates the tracer from OpenTelemetry's environment variables. */
PL_MUST_USE int pl_host_trace(struct host *host, struct pl_err *err);

/* A client on a scripted transport and virtual time, and a sink that records answers. */
#pragma once

#include "base/alloc.h"
#include "base/wait.h"
#include "kube/client.h"
#include "support/fake_transport.h"
#include "support/test.h"
#include "support/virtual_clock.h"
#include "object/meta.h"
#include "value/pool.h"
#include "value/write.h"

static const struct pl_resource pods = {
    .kind = {"", "v1", "Pod"}, .plural = "pods", .namespaced = true, .has_status = true};
static const struct pl_resource nodes = {.kind = {"", "v1", "Node"}, .plural = "nodes"};
static const struct pl_resource deployments = {
    .kind = {"apps", "v1", "Deployment"}, .plural = "deployments", .namespaced = true};

struct bench {
    struct virtual_clock clock;
    struct pl_timers timers;
    struct pl_waits waits;
    struct pl_rand rand;
    struct fake_transport net;
    struct pl_kubeconfig config;
    struct pl_pool *pool;
    struct pl_metrics *metrics;
    struct pl_client_options options;
    struct pl_client *client;
};

static inline void bench_prepare(struct bench *b)
{
    memset(b, 0, sizeof *b);
    virtual_clock_init(&b->clock, 1000 * PL_SECOND);
    pl_timers_init(&b->timers, &b->clock.clock);
    pl_waits_init(&b->waits, &b->clock.clock);
    pl_rand_seed(&b->rand, 7);
    fake_transport_init(&b->net, &b->timers);
    b->config.source = pl_strdup("test");
    b->config.server = pl_strdup("https://api:6443/prefix");
    b->pool = pl_pool_create();
    b->metrics = pl_metrics_create();
    b->options = (struct pl_client_options){
        .transport = fake_transport(&b->net),
        .timers = &b->timers,
        .rand = &b->rand,
        .waits = &b->waits,
        .metrics = b->metrics,
        .config = &b->config,
        .pool = b->pool,
        .user_agent = "perilune/test",
    };
}

static inline void bench_start(struct bench *b)
{
    struct pl_err err;
    b->client = pl_client_create(&b->options, &err);
    if (b->client == NULL)
        TEST_FAIL("no client: %s", err.message);
    REQUIRE(b->client != NULL);
}

static inline void bench_init(struct bench *b)
{
    bench_prepare(b);
    bench_start(b);
}

/* Time passes in steps, so that what timers start is seen in between. */
static inline void bench_run(struct bench *b, int64_t ns)
{
    int64_t end = b->clock.now_ns + ns, due;
    pl_timers_run(&b->timers);
    while (pl_timers_next(&b->timers, &due) && due <= end) {
        if (due > b->clock.now_ns)
            b->clock.now_ns = due;
        pl_timers_run(&b->timers);
    }
    b->clock.now_ns = end;
}

/* Nothing may be left: no wait, no open request. */
static inline void bench_deinit(struct bench *b)
{
    pl_client_destroy(b->client);
    bench_run(b, 0);
    CHECK_INT(b->waits.count, 0);
    CHECK_INT(b->net.open_count, 0);
    CHECK(!pl_timers_next(&b->timers, &(int64_t){0}));
    fake_transport_deinit(&b->net);
    pl_kubeconfig_deinit(&b->config);
    pl_metrics_destroy(b->metrics);
    pl_pool_collect(b->pool);
    struct pl_pool_stats stats;
    pl_pool_stats(b->pool, &stats);
    CHECK_INT(stats.documents, 0);
    pl_pool_destroy(b->pool);
    pl_waits_deinit(&b->waits);
    pl_timers_deinit(&b->timers);
}

/* What an operation answered. */
struct got {
    int count; /* answers */
    int status;
    struct pl_err err; /* code 0: success */
    char doc[2048];    /* JSON; "" without one */
    bool is_text;      /* then doc is that */
    size_t items;
    char keys[512]; /* "default/a default/b " */
    struct pl_docs kept;
    bool keep;
};

static inline void got_answer(void *arg, const struct pl_answer *answer)
{
    struct got *got = arg;
    struct pl_buf text = PL_BUF_INIT;
    got->count++;
    got->status = answer->status;
    pl_err_clear(&got->err);
    if (answer->err != NULL)
        got->err = *answer->err;
    if (answer->doc != NULL)
        pl_write(&text, pl_doc_root(answer->doc), PL_WRITE_COMPACT);
    got->is_text = answer->text.ptr != NULL;
    if (got->is_text)
        pl_buf_add_slice(&text, answer->text);
    snprintf(got->doc, sizeof got->doc, "%s", pl_buf_z(&text));
    got->items = answer->items != NULL ? answer->items->count : 0;
    pl_buf_clear(&text);
    for (size_t i = 0; i < got->items && text.len < 400; i++) {
        pl_meta_put_key(pl_doc_root(answer->items->items[i]), &text);
        pl_buf_add_char(&text, ' ');
    }
    snprintf(got->keys, sizeof got->keys, "%s", pl_buf_z(&text));
    pl_buf_deinit(&text);
    if (got->keep && answer->items != NULL) {
        got->kept = *answer->items;
        *answer->items = (struct pl_docs){0};
    }
}

static inline struct pl_call get_call(const char *name)
{
    return (struct pl_call){
        .verb = PL_VERB_GET,
        .resource = &pods,
        .ns = pl_slice_z("default"),
        .name = pl_slice_z(name),
        .grace_period = -1,
    };
}

static inline struct pl_call list_call(void)
{
    return (struct pl_call){.verb = PL_VERB_LIST, .resource = &pods, .grace_period = -1};
}

static inline void fake_reply_after(struct fake_request *request, int status, const char *seconds,
                                    const char *body)
{
    const struct pl_http_header headers[] = {{"content-type", "application/json"},
                                             {"retry-after", seconds}};
    fake_reply_with(request, status, headers, 2, pl_slice_z(body));
}

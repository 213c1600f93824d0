/* Pages of one list at a version that is not older than the watch. So later events come by the
 * watch, and listed objects that are older than the store's are late. When a page has expired the
 * list begins anew, and when the server does not filter any more, too; after other failures it
 * retries with growing pauses. */
#include "sync/topup.h"

#include "base/alloc.h"
#include "base/log.h"
#include "kube/status.h"

#define PAGE 500

struct pl_topup {
    struct pl_topup_options o;
    struct pl_buf shards, token;
    struct pl_op *list; /* under way, or NULL */
    struct pl_timer pause;
    struct pl_backoff backoff;
    bool anew;    /* a page or the version had expired: request without a version, in one piece */
    bool dropped; /* freed when its request has ended */
    bool said;
};

static void topup_ask(struct pl_topup *t);

static void topup_destroy(struct pl_topup *t)
{
    pl_timer_stop(t->o.listing.timers, &t->pause);
    pl_buf_deinit(&t->shards);
    pl_buf_deinit(&t->token);
    pl_free(t);
}

static void on_topup_pause_over(struct pl_timer *timer)
{
    topup_ask(PL_CONTAINER_OF(timer, struct pl_topup, pause));
}

static void topup_try_again(struct pl_topup *t, const struct pl_err *err)
{
    int64_t now = pl_clock_mono(t->o.listing.timers->clock);
    int64_t delay = pl_backoff_next(&t->backoff, now, t->o.listing.rand);
    int64_t at_least = err->retry_after_ms * PL_MS;
    bool is_old = pl_err_is_expired(err) || pl_err_is_too_large_rv(err);
    bool is_refused = t->shards.len > 0 && pl_err_is_no_shard_selector(err);
    pl_buf_clear(&t->token);
    t->anew = t->anew || is_old;
    if (is_refused) {
        pl_buf_clear(&t->shards);
        t->o.ops->refused(t->o.arg, err);
    } else if (!is_old && !t->said)
        pl_log(PL_LOG_WARN, "cannot list the objects of new shards",
               pl_str("source", t->o.listing.owner), pl_str("error", err->message));
    t->said = t->said || !(is_old || is_refused);
    pl_timer_start(t->o.listing.timers, &t->pause, delay > at_least ? delay : at_least,
                   on_topup_pause_over);
}

static struct pl_doc *each_item(void *arg, struct pl_doc *item)
{
    struct pl_topup *t = arg;
    if (!t->dropped)
        return t->o.ops->each(t->o.arg, item);
    pl_doc_unref(item);
    return NULL;
}

static void on_topup_list(void *arg, const struct pl_answer *answer)
{
    struct pl_topup *t = arg;
    t->list = NULL;
    if (t->dropped) {
        topup_destroy(t);
        return;
    }
    if (answer->err != NULL) {
        topup_try_again(t, answer->err);
        return;
    }
    struct pl_scratch scratch;
    struct pl_node meta = pl_node_getz(pl_doc_root(answer->doc), "metadata");
    pl_buf_clear(&t->token);
    pl_buf_add_slice(&t->token, pl_node_str(pl_node_getz(meta, "continue"), &scratch));
    if (answer->items != NULL)
        t->o.ops->page(t->o.arg, answer->items);
    if (t->dropped) {
        topup_destroy(t);
    } else if (t->token.len > 0) {
        topup_ask(t);
    } else {
        void (*done)(void *arg) = t->o.ops->done;
        void *owner = t->o.arg;
        topup_destroy(t);
        done(owner);
    }
}

static void topup_ask(struct pl_topup *t)
{
    struct pl_call call = {
        .verb = PL_VERB_LIST,
        .resource = t->o.listing.resource,
        .ns = pl_slice_z(t->o.listing.ns),
        .labels = pl_slice_z(t->o.listing.labels),
        .fields = pl_slice_z(t->o.listing.fields),
        .shards = pl_buf_slice(&t->shards),
        .continue_token = pl_buf_slice(&t->token),
        .metadata_only = t->o.listing.metadata_only,
        .keep_managed_fields = t->o.listing.keep_managed_fields,
        .grace_period = -1,
        .each_item = each_item,
        .each_item_arg = t,
    };
    if (!t->anew)
        call.limit = PAGE;
    if (t->token.len == 0 && !t->anew) {
        call.rv = t->o.ops->at_least(t->o.arg);
        if (call.rv.len > 0)
            call.rv_match = pl_slice_z("NotOlderThan");
    }
    if (t->o.listing.lists != NULL)
        pl_series_add(t->o.listing.lists, 1);
    t->list = pl_client_start(t->o.listing.client, &call, on_topup_list, t);
}

struct pl_topup *pl_topup_start(const struct pl_topup_options *options)
{
    struct pl_topup *t = PL_NEW(struct pl_topup);
    t->o = *options;
    pl_buf_add_slice(&t->shards, options->shards);
    t->o.shards = pl_slice(NULL, 0);
    pl_backoff_init(&t->backoff, pl_clock_mono(t->o.listing.timers->clock));
    topup_ask(t);
    return t;
}

void pl_topup_drop(struct pl_topup *t)
{
    if (t == NULL)
        return;
    t->dropped = true;
    if (t->list != NULL)
        pl_op_cancel(t->list);
    else
        topup_destroy(t);
}

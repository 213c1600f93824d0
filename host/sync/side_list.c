/* Pages of one list at a version that is not older than the watch. So later events come by the
 * watch, and listed objects that are older than the store's are late. When a page has expired the
 * list begins anew, and when the server does not filter any more, too; after other failures it
 * retries with growing pauses. */
#include "sync/side_list.h"

#include "base/alloc.h"
#include "base/log.h"
#include "kube/status.h"

#define PAGE 500

struct pl_side_list {
    struct pl_side_list_options o;
    struct pl_buf shards, token;
    struct pl_op *list; /* under way, or NULL */
    struct pl_timer pause;
    struct pl_backoff backoff;
    bool anew;    /* a page or the version had expired: request without a version, in one piece */
    bool dropped; /* freed when its request has ended */
    bool said;
};

static void side_list_ask(struct pl_side_list *t);

static void side_list_destroy(struct pl_side_list *t)
{
    pl_timer_stop(t->o.listing.timers, &t->pause);
    pl_buf_deinit(&t->shards);
    pl_buf_deinit(&t->token);
    pl_free(t);
}

static void on_topup_pause_over(struct pl_timer *timer)
{
    side_list_ask(PL_CONTAINER_OF(timer, struct pl_side_list, pause));
}

static void side_list_try_again(struct pl_side_list *t, const struct pl_err *err)
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
    struct pl_side_list *t = arg;
    if (!t->dropped)
        return t->o.ops->each(t->o.arg, item);
    pl_doc_unref(item);
    return NULL;
}

static void on_topup_list(void *arg, const struct pl_answer *answer)
{
    struct pl_side_list *t = arg;
    t->list = NULL;
    if (t->dropped) {
        side_list_destroy(t);
        return;
    }
    if (answer->err != NULL) {
        side_list_try_again(t, answer->err);
        return;
    }
    struct pl_scratch scratch;
    struct pl_node meta = pl_node_getz(pl_doc_root(answer->doc), "metadata");
    pl_buf_clear(&t->token);
    pl_buf_add_slice(&t->token, pl_node_str(pl_node_getz(meta, "continue"), &scratch));
    if (answer->items != NULL)
        t->o.ops->page(t->o.arg, answer->items);
    if (t->dropped) {
        side_list_destroy(t);
    } else if (t->token.len > 0) {
        side_list_ask(t);
    } else {
        void (*done)(void *arg) = t->o.ops->done;
        void *owner = t->o.arg;
        side_list_destroy(t);
        done(owner);
    }
}

static void side_list_ask(struct pl_side_list *t)
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

struct pl_side_list *pl_side_list_start(const struct pl_side_list_options *options)
{
    struct pl_side_list *t = PL_NEW(struct pl_side_list);
    t->o = *options;
    pl_buf_add_slice(&t->shards, options->shards);
    t->o.shards = pl_slice(NULL, 0);
    pl_backoff_init(&t->backoff, pl_clock_mono(t->o.listing.timers->clock));
    side_list_ask(t);
    return t;
}

void pl_side_list_drop(struct pl_side_list *t)
{
    if (t == NULL)
        return;
    t->dropped = true;
    if (t->list != NULL)
        pl_op_cancel(t->list);
    else
        side_list_destroy(t);
}

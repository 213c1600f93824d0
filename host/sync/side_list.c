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

static void side_list_ask(struct pl_side_list *side);

static void side_list_destroy(struct pl_side_list *side)
{
    pl_timer_stop(side->o.listing.timers, &side->pause);
    pl_buf_deinit(&side->shards);
    pl_buf_deinit(&side->token);
    pl_free(side);
}

static void on_side_list_pause_over(struct pl_timer *timer)
{
    side_list_ask(PL_CONTAINER_OF(timer, struct pl_side_list, pause));
}

static void side_list_try_again(struct pl_side_list *side, const struct pl_err *err)
{
    int64_t now = pl_clock_mono(side->o.listing.timers->clock);
    int64_t delay = pl_backoff_next(&side->backoff, now, side->o.listing.rand);
    int64_t at_least = err->retry_after_ms * PL_MS;
    bool is_old = pl_err_is_expired(err) || pl_err_is_too_large_rv(err);
    bool is_refused = side->shards.len > 0 && pl_err_is_no_shard_selector(err);
    pl_buf_clear(&side->token);
    side->anew = side->anew || is_old;
    if (is_refused) {
        pl_buf_clear(&side->shards);
        side->o.ops->refused(side->o.arg, err);
    } else if (!is_old && !side->said)
        pl_log(PL_LOG_WARN, "cannot list the objects of new shards",
               pl_str("source", side->o.listing.owner), pl_str("error", err->message));
    side->said = side->said || !(is_old || is_refused);
    pl_timer_start(side->o.listing.timers, &side->pause, delay > at_least ? delay : at_least,
                   on_side_list_pause_over);
}

static struct pl_doc *each_item(void *arg, struct pl_doc *item)
{
    struct pl_side_list *side = arg;
    if (!side->dropped)
        return side->o.ops->each(side->o.arg, item);
    pl_doc_unref(item);
    return NULL;
}

static void on_side_list_page(void *arg, const struct pl_answer *answer)
{
    struct pl_side_list *side = arg;
    side->list = NULL;
    if (side->dropped) {
        side_list_destroy(side);
        return;
    }
    if (answer->err != NULL) {
        side_list_try_again(side, answer->err);
        return;
    }
    struct pl_scratch scratch;
    struct pl_node meta = pl_node_getz(pl_doc_root(answer->doc), "metadata");
    pl_buf_clear(&side->token);
    pl_buf_add_slice(&side->token, pl_node_str(pl_node_getz(meta, "continue"), &scratch));
    if (answer->items != NULL)
        side->o.ops->page(side->o.arg, answer->items);
    if (side->dropped) {
        side_list_destroy(side);
    } else if (side->token.len > 0) {
        side_list_ask(side);
    } else {
        void (*done)(void *arg) = side->o.ops->done;
        void *owner = side->o.arg;
        side_list_destroy(side);
        done(owner);
    }
}

static void side_list_ask(struct pl_side_list *side)
{
    struct pl_call call = {
        .verb = PL_VERB_LIST,
        .resource = side->o.listing.resource,
        .ns = pl_slice_z(side->o.listing.ns),
        .labels = pl_slice_z(side->o.listing.labels),
        .fields = pl_slice_z(side->o.listing.fields),
        .shards = pl_buf_slice(&side->shards),
        .continue_token = pl_buf_slice(&side->token),
        .metadata_only = side->o.listing.metadata_only,
        .keep_managed_fields = side->o.listing.keep_managed_fields,
        .grace_period = -1,
        .each_item = each_item,
        .each_item_arg = side,
    };
    if (!side->anew)
        call.limit = PAGE;
    if (side->token.len == 0 && !side->anew) {
        call.rv = side->o.ops->at_least(side->o.arg);
        if (call.rv.len > 0)
            call.rv_match = pl_slice_z("NotOlderThan");
    }
    if (side->o.listing.lists != NULL)
        pl_series_add(side->o.listing.lists, 1);
    side->list = pl_client_start(side->o.listing.client, &call, on_side_list_page, side);
}

struct pl_side_list *pl_side_list_start(const struct pl_side_list_options *options)
{
    struct pl_side_list *side = PL_NEW(struct pl_side_list);
    side->o = *options;
    pl_buf_add_slice(&side->shards, options->shards);
    side->o.shards = pl_slice(NULL, 0);
    pl_backoff_init(&side->backoff, pl_clock_mono(side->o.listing.timers->clock));
    side_list_ask(side);
    return side;
}

void pl_side_list_drop(struct pl_side_list *side)
{
    if (side == NULL)
        return;
    side->dropped = true;
    if (side->list != NULL)
        pl_op_cancel(side->list);
    else
        side_list_destroy(side);
}

/* Lists, page by page (rules 50-53, 55-60). */
#include "sync/reflector_impl.h"

#include "base/text.h"

#define PAGE_MIN 20

static const char cannot_list[] = "cannot list source";
static const char not_stored[] = "cannot store what was listed";

static void on_list_page(void *arg, const struct pl_answer *answer);

/* A request for a page is under way. */
static void adopt(struct pl_reflector *r, struct pl_op *list)
{
    r->list = list;
    if (list != NULL && r->o.listing.lists != NULL)
        pl_series_add(r->o.listing.lists, 1);
}

void pl_reflector_send_list(struct pl_reflector *r, struct pl_call *call, pl_answer_fn done)
{
    call->verb = PL_VERB_LIST;
    call->resource = r->o.listing.resource;
    if (call->ns.len == 0)
        call->ns = pl_slice_z(r->o.listing.ns);
    call->labels = pl_slice_z(r->o.listing.labels);
    if (call->fields.len == 0)
        call->fields = pl_slice_z(r->o.listing.fields);
    call->grace_period = -1;
    call->cut_is_final = true;
    call->each_item = pl_reflector_share;
    call->each_item_arg = r;
    adopt(r, pl_client_start(r->o.listing.client, call, done, r));
}

static void send_page(struct pl_reflector *r)
{
    struct pl_slice rv = pl_buf_slice(&r->asked_rv);
    struct pl_call call = {
        .metadata_only = r->o.listing.metadata_only,
        .keep_managed_fields = r->o.listing.keep_managed_fields,
        .continue_token = pl_buf_slice(&r->token),
        .shards = pl_buf_slice(&r->shards),
        .large = true,
    };
    /* Later pages carry the version in their token (rule 55). */
    if (r->token.len == 0)
        call.rv = rv;
    if (r->small || (!r->whole && (r->token.len > 0 || pl_rv_is_zero(rv) || r->paginated)))
        call.limit = r->page_limit;
    if (r->token.len == 0 && call.limit > 0 && !pl_rv_is_zero(rv))
        call.rv_match = pl_slice_z("NotOlderThan");
    pl_reflector_send_list(r, &call, on_list_page);
}

void pl_reflector_drop_pages(struct pl_reflector *r)
{
    pl_timer_stop(r->o.listing.timers, &r->more);
    pl_err_clear(&r->refused);
    pl_docs_deinit(&r->items);
    r->items = (struct pl_docs){0};
    r->begun = r->untaken = false;
    pl_buf_clear(&r->token);
    pl_buf_clear(&r->page_rv);
    r->page = 0;
}

void pl_reflector_list(struct pl_reflector *r)
{
    pl_reflector_drop_pages(r);
    pl_reflector_begin_list(r);
    r->whole = r->retried = false;
    /* With version "0", a watch cache ignores the limit. */
    if (r->rv_unavailable || (r->small && r->rv.len == 0))
        pl_buf_clear(&r->asked_rv);
    else
        pl_buf_set(&r->asked_rv, r->rv.len > 0 ? pl_buf_slice(&r->rv) : pl_slice_z("0"));
    send_page(r);
    pl_reflector_set_state(r, PL_REFLECTOR_LISTING, 0);
}

void pl_reflector_list_on(struct pl_reflector *r)
{
    send_page(r);
    pl_reflector_set_state(r, PL_REFLECTOR_LISTING, 0);
}

/* Without a version, at once (rule 51). */
static void list_anew(struct pl_reflector *r)
{
    pl_reflector_drop_pages(r);
    pl_reflector_begin_list(r);
    r->rv_unavailable = r->retried = true;
    pl_buf_clear(&r->asked_rv);
    send_page(r);
}

/* ---- a connection that cuts long answers ---- */

static bool was_connected(const struct pl_err *err)
{
    return strcmp(err->reason, "ConnectTimeout") != 0;
}

static bool reflector_list_was_cut(const struct pl_err *err, int status)
{
    return (err->code == PL_ETIMEOUT && was_connected(err)) ||
           (err->code == PL_ENETWORK && status != 0);
}

/* Requests the same page with fewer objects; for a list without pages, its first page. */
static void ask_for_less(struct pl_reflector *r, const struct pl_err *err)
{
    bool paged = r->small || (!r->whole && (r->token.len > 0 || r->paginated ||
                                            pl_rv_is_zero(pl_buf_slice(&r->asked_rv))));
    bool first = !r->small;
    r->small = true;
    if (paged && r->page_limit > PAGE_MIN)
        r->page_limit = r->page_limit / 2 > PAGE_MIN ? r->page_limit / 2 : PAGE_MIN;
    if (first)
        pl_log(PL_LOG_INFO, "a list was cut off: requesting it in smaller pages",
               pl_str("source", r->o.listing.owner), pl_str("error", err->message),
               pl_int("objects", r->page_limit));
    pl_reflector_note(r, cannot_list, err);
    pl_reflector_pause(r, r->page > 0 ? NEXT_PAGE : NEXT_LIST, 0);
}

/* A whole list has succeeded. */
static void grow_pages(struct pl_reflector *r)
{
    r->page_limit = r->page_limit * 2 < PL_LIST_PAGE ? r->page_limit * 2 : PL_LIST_PAGE;
    r->small = r->small && r->page_limit < PL_LIST_PAGE;
}

static void list_failed(struct pl_reflector *r, const struct pl_err *err, int status)
{
    bool first_page = r->page == 0;
    if (!first_page && !r->whole && pl_err_is_expired(err)) {
        pl_reflector_drop_pages(r);
        pl_reflector_begin_list(r);
        r->whole = true;
        send_page(r);
        return;
    }
    if (first_page && !r->retried && r->asked_rv.len > 0 &&
        (pl_err_is_expired(err) || pl_err_is_too_large_rv(err))) {
        list_anew(r);
        return;
    }
    if (reflector_list_was_cut(err, status)) {
        ask_for_less(r, err);
        return;
    }
    pl_reflector_drop_pages(r);
    if (pl_reflector_is_no_shards(r, &r->shards, err)) {
        pl_reflector_pause(r, NEXT_SYNC, 0);
        return;
    }
    if (err->code == PL_ENETWORK || err->code == PL_ETIMEOUT) {
        pl_reflector_unanswered(r, NEXT_SYNC, cannot_list, err);
        return;
    }
    pl_reflector_note(r, cannot_list, err);
    if (pl_err_is_not_found(err))
        pl_reflector_gone(r, err);
    else
        pl_reflector_pause(r, NEXT_SYNC, err->retry_after_ms * PL_MS);
}

/* The request said: not older than our version. */
static bool is_older_than_asked(const struct pl_reflector *r, struct pl_slice rv)
{
    struct pl_slice asked = pl_buf_slice(&r->asked_rv);
    return !pl_rv_is_zero(asked) && pl_rv_is_valid(asked) && pl_rv_is_valid(rv) &&
           pl_rv_compare(rv, asked) < 0;
}

/* The request for the page after it must end first. */
static void reflector_list_refuse(struct pl_reflector *r, const char *why, const struct pl_err *err)
{
    if (r->list != NULL) {
        r->refused = *err;
        r->why_refused = why;
        pl_op_cancel(r->list);
        return;
    }
    pl_reflector_note(r, why, err);
    pl_reflector_drop_pages(r);
    pl_reflector_pause(r, NEXT_SYNC, 0);
}

static void finish_list(struct pl_reflector *r)
{
    struct pl_err err = {0};
    struct pl_slice rv = pl_buf_slice(&r->page_rv);
    if (is_older_than_asked(r, rv)) { /* F11, F27 */
        pl_err_set(&err, PL_EAPI, "resourceVersions went back: was the server restored?");
        pl_reflector_note(r, "source is listed again", &err);
        if (r->o.reconnects != NULL) {
            pl_reconnect_found_restored(r->o.reconnects, &r->turn);
            pl_reconnect_lists(r->o.reconnects, &r->turn);
        }
        list_anew(r);
        return;
    }
    pl_reflector_saw_list(r, &r->items, r->begun);
    int code = r->o.sink->replace(r->o.arg, &r->items, r->begun, rv, r->rv_unavailable, &err);
    if (r->stopped)
        return;
    if (code != 0) {
        reflector_list_refuse(r, not_stored, &err);
        return;
    }
    pl_buf_set(&r->rv, rv);
    r->rv_unavailable = r->doubtful = false;
    r->streams_cut = 0;
    grow_pages(r);
    pl_reflector_drop_pages(r);
    pl_reflector_watch(r);
}

static int check_list_page(const struct pl_reflector *r, const struct pl_answer *answer,
                           struct pl_err *err)
{
    struct pl_node root = pl_doc_root(answer->doc);
    struct pl_scratch scratch;
    struct pl_slice kind = pl_node_str(pl_node_getz(root, "kind"), &scratch);
    /* Also refuses a Table, which the server prints for people (rule 56). */
    if (!pl_text_ends(kind, "List"))
        return pl_err_set(err, PL_ESYNTAX, "the server answered a list of %s with a \"%.*s\"",
                          r->o.listing.owner, PL_FMT(kind));
    struct pl_slice token = pl_node_str(pl_node_dig(root, "metadata", "continue"), &scratch);
    if (token.len > 0 && pl_slice_eq(token, pl_buf_slice(&r->token)))
        return pl_err_set(err, PL_ESYNTAX, "the server repeats the continue token of its list");
    return 0;
}

static void take_items(struct pl_reflector *r, struct pl_docs *items)
{
    if (r->items.count == 0) {
        pl_docs_deinit(&r->items);
        r->items = *items;
        *items = (struct pl_docs){0};
        return;
    }
    for (size_t i = 0; i < items->count; i++)
        pl_docs_add(&r->items, items->items[i]);
    items->count = 0;
}

static void drop_first(struct pl_docs *docs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pl_doc_unref(docs->items[i]);
    docs->count -= count;
    memmove(docs->items, docs->items + count, docs->count * sizeof *docs->items);
}

bool pl_reflector_may_show(const struct pl_reflector *r)
{
    return r->o.sink->page != NULL && !r->untaken;
}

int pl_reflector_show(struct pl_reflector *r, size_t count, struct pl_err *err)
{
    struct pl_docs next = {.items = r->items.items, .count = count};
    bool taken = false;
    int code = r->o.sink->page(r->o.arg, &next, !r->begun, r->rv_unavailable, &taken, err);
    if (r->stopped || code != 0)
        return code;
    r->untaken = !taken;
    if (taken) {
        pl_reflector_saw_list(r, &next, r->begun);
        r->begun = true;
        drop_first(&r->items, count);
    }
    return 0;
}

/* False: the list does not continue. */
static bool reflector_list_show(struct pl_reflector *r, size_t count)
{
    struct pl_err err = {0};
    int code = pl_reflector_show(r, count, &err);
    if (code != 0 && !r->stopped)
        reflector_list_refuse(r, not_stored, &err);
    return code == 0 && !r->stopped;
}

static bool is_shown(const struct pl_reflector *r)
{
    return pl_reflector_may_show(r) && !is_older_than_asked(r, pl_buf_slice(&r->page_rv));
}

static void on_more(struct pl_timer *timer);

/* Objects that came together are delivered in pieces, so that other work has its turn. */
static void work_off(struct pl_reflector *r)
{
    if (!is_shown(r) || r->items.count <= PL_LIST_PAGE)
        finish_list(r);
    else if (reflector_list_show(r, PL_LIST_PAGE))
        pl_timer_start(r->o.listing.timers, &r->more, 0, on_more);
}

static void on_more(struct pl_timer *timer)
{
    struct pl_reflector *r = PL_CONTAINER_OF(timer, struct pl_reflector, more);
    if (r->token.len == 0) {
        work_off(r);
        return;
    }
    size_t some = r->items.count < PL_LIST_SOME ? r->items.count : PL_LIST_SOME;
    if (some > 0 && is_shown(r) && reflector_list_show(r, some) && r->items.count > 0)
        pl_timer_start(r->o.listing.timers, timer, 0, on_more);
}

/* Objects are delivered while the server makes the next page. */
static void ask_for_next_page(struct pl_reflector *r)
{
    if (pl_slice_eqz(pl_buf_slice(&r->asked_rv), "0"))
        r->paginated = true;
    r->page++;
    if (r->list == NULL)
        send_page(r);
    pl_timer_start(r->o.listing.timers, &r->more, 0, on_more);
}

static void on_list_page(void *arg, const struct pl_answer *answer)
{
    struct pl_reflector *r = arg;
    r->list = NULL;
    if (r->stopped) {
        pl_reflector_end_soon(r);
        return;
    }
    if (r->refused.code != 0) {
        reflector_list_refuse(r, r->why_refused, &r->refused);
        return;
    }
    if (answer->status != 0)
        pl_reflector_heard(r);
    struct pl_err err = {0};
    if (answer->err != NULL) {
        list_failed(r, answer->err, answer->status);
        return;
    }
    adopt(r, answer->next);
    if (check_list_page(r, answer, &err) != 0) {
        reflector_list_refuse(r, cannot_list, &err);
        return;
    }
    struct pl_node meta = pl_node_getz(pl_doc_root(answer->doc), "metadata");
    struct pl_scratch scratch;
    if (r->page == 0)
        pl_buf_set(&r->page_rv, pl_node_str(pl_node_getz(meta, "resourceVersion"), &scratch));
    if (answer->items != NULL)
        take_items(r, answer->items);
    pl_buf_set(&r->token, pl_node_str(pl_node_getz(meta, "continue"), &scratch));
    if (r->token.len == 0)
        work_off(r);
    else
        ask_for_next_page(r);
}

/* Read your writes: applies a write's answer to the store, and confirms it. */
#include "sync/informer_impl.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"
#include "kube/status.h"
#include "object/meta.h"

#include <string.h>

#define CONFIRM_WITHIN (10 * PL_SECOND)

static struct pl_feed *feed_of(const struct pl_informer *informer, struct pl_slice ns)
{
    for (size_t i = 0; i < informer->feed_count; i++) {
        const char *of = pl_feed_ns(informer->feeds[i]);
        if (of == NULL || pl_slice_eqz(ns, of))
            return informer->feeds[i];
    }
    return NULL;
}

/* The object of the answer; texts are owned. */
struct written {
    char *key, *uid, *rv;
    struct pl_feed *feed; /* NULL: not in this source's namespaces, or not listed yet */
};

static bool written_init(struct written *w, const struct pl_informer *informer,
                         struct pl_doc *object)
{
    struct pl_node root = pl_doc_root(object);
    struct pl_scratch scratch;
    struct pl_buf key = PL_BUF_INIT;
    *w = (struct written){0};
    if (pl_meta_key(root, &key, NULL) != 0) {
        pl_buf_deinit(&key);
        return false;
    }
    w->key = pl_buf_take(&key);
    w->uid = pl_text_copy(pl_meta_uid(root, &scratch));
    w->rv = pl_text_copy(pl_meta_rv(root, &scratch));
    w->feed = feed_of(informer, pl_meta_namespace(root, &scratch));
    if (w->feed != NULL && !pl_feed_has_listed(w->feed))
        w->feed = NULL;
    return true;
}

static void written_deinit(struct written *w)
{
    pl_free(w->key);
    pl_free(w->uid);
    pl_free(w->rv);
}

/* The watch, or a later write's answer, was faster than this answer. The version that a watch has
 * reached includes the answer and everything after it. */
static bool is_old_news(const struct pl_informer *informer, const struct written *w, bool deleted)
{
    struct pl_slice rv = pl_slice_z(w->rv);
    bool reached = w->feed != NULL && pl_rv_is_at_most(rv, pl_feed_rv(w->feed));
    struct pl_doc *stored = pl_store_get(informer->store, pl_slice_z(w->key));
    struct pl_scratch scratch;
    bool known = stored != NULL, same = false, newer = false;
    if (known) {
        same = pl_slice_eqz(pl_meta_uid(pl_doc_root(stored), &scratch), w->uid);
        newer = pl_rv_is_at_most(rv, pl_meta_rv(pl_doc_root(stored), &scratch));
        pl_doc_unref(stored);
    }
    if (deleted)
        return known ? !same : reached;
    const struct pl_own_write *noted = pl_own_writes_find(&informer->own, pl_slice_z(w->key));
    bool late = noted != NULL && (pl_rv_is_at_most(rv, pl_slice_z(noted->rv)) ||
                                  (noted->deleted && strcmp(noted->uid, w->uid) == 0));
    return reached || newer || late;
}

static void informer_write_note(struct pl_informer *informer, const struct written *w,
                                struct pl_doc *doc, bool deleted)
{
    struct pl_own_write write = {.key = w->key,
                                 .uid = w->uid,
                                 .rv = w->rv,
                                 .doc = doc,
                                 .deleted = deleted,
                                 .since_ns = pl_informer_now(informer)};
    pl_own_writes_note(&informer->own, &write);
    pl_informer_arm_confirm(informer);
}

void pl_informer_write_through(struct pl_informer *informer, struct pl_doc *object, bool deleted)
{
    pl_timers_require(pl_informer_timers(informer));
    struct written w;
    if (informer->stopping || !written_init(&w, informer, object))
        return;
    if (!is_old_news(informer, &w, deleted)) {
        bool wanted = !deleted && pl_informer_wants(informer, pl_doc_root(object));
        struct pl_doc *doc = wanted ? pl_informer_shape(informer, object) : NULL;
        informer_write_note(informer, &w, doc, deleted);
        if (w.feed != NULL && doc != NULL)
            pl_feed_put(w.feed, doc);
        else if (w.feed != NULL)
            pl_feed_remove(w.feed, pl_slice_z(w.key), object, false);
        pl_doc_unref(doc);
    }
    written_deinit(&w);
}

bool pl_informer_is_settled(const struct pl_informer *informer)
{
    if (pl_timer_is_active(&informer->more) || pl_backlog_outstanding(informer->backlog) > 0)
        return false;
    PL_LIST_FOR (link, &informer->own.by_age) {
        const struct pl_own_write *write = PL_CONTAINER_OF(link, struct pl_own_write, link);
        if (write->doc != NULL || write->deleted)
            return false;
    }
    return true;
}

/* ---- writes that the watch does not confirm ---- */

static void forget_asking(struct pl_informer *informer)
{
    pl_free(informer->asking_key);
    pl_free(informer->asking_rv);
    informer->asking_key = informer->asking_rv = NULL;
    informer->asking = NULL;
}

/* The server's answer wins, whatever its version. */
static void informer_write_settle(struct pl_informer *informer, const struct pl_answer *answer)
{
    struct pl_slice key = pl_slice_z(informer->asking_key), ns, name;
    pl_own_writes_forget(&informer->own, key);
    pl_key_split(key, &ns, &name);
    struct pl_feed *feed = feed_of(informer, ns);
    if (feed == NULL || !pl_feed_has_listed(feed))
        return;
    if (answer->err == NULL && pl_informer_wants(informer, pl_doc_root(answer->doc))) {
        struct pl_doc *doc = pl_informer_shape(informer, answer->doc);
        pl_feed_put(feed, doc);
        pl_doc_unref(doc);
        return;
    }
    struct pl_doc *stored = pl_store_get(informer->store, key);
    if (stored != NULL)
        pl_feed_remove(feed, key, stored, true);
    pl_doc_unref(stored);
}

static void on_informer_write_answer(void *arg, const struct pl_answer *answer)
{
    struct pl_informer *informer = arg;
    const struct pl_own_write *write =
        pl_own_writes_find(&informer->own, pl_slice_z(informer->asking_key));
    bool answered = answer->err == NULL || pl_err_is_not_found(answer->err);
    /* It may have been confirmed meanwhile, or written again. */
    bool still = !informer->stopping && write != NULL &&
                 pl_slice_eqz(pl_slice_z(write->rv), informer->asking_rv);
    if (still && answered)
        informer_write_settle(informer, answer);
    else if (still)
        pl_own_writes_postpone(&informer->own, write, pl_informer_now(informer));
    forget_asking(informer);
    if (informer->stopping)
        pl_informer_check(informer);
    else
        pl_informer_arm_confirm(informer);
}

static void informer_write_ask(struct pl_informer *informer, const struct pl_own_write *write)
{
    informer->asking_key = pl_strdup(write->key);
    informer->asking_rv = pl_strdup(write->rv);
    struct pl_read read = {.verb = PL_VERB_GET,
                           .kind = informer->kind,
                           .metadata_only = informer->options.metadata_only,
                           .keep_managed_fields = informer->options.managed_fields};
    pl_key_split(pl_slice_z(informer->asking_key), &read.ns, &read.name);
    pl_log(PL_LOG_DEBUG, "a write was not confirmed by the watch: asking the server",
           pl_str("source", informer->owner), pl_str("key", write->key));
    informer->asking = pl_read_start(informer->site, &read, on_informer_write_answer, informer);
}

/* True for an object that this source leaves out, if there was no event of it since: the watch will
 * not bring it either, so no question is needed. */
static bool is_of_no_interest(const struct pl_informer *informer, const struct pl_own_write *write)
{
    if (write->deleted || write->doc != NULL || write->suppressed)
        return false;
    struct pl_doc *stored = pl_store_get(informer->store, pl_slice_z(write->key));
    pl_doc_unref(stored);
    return stored == NULL;
}

static const struct pl_own_write *oldest_of_interest(struct pl_informer *informer)
{
    const struct pl_own_write *oldest;
    int64_t now = pl_informer_now(informer);
    while ((oldest = pl_own_writes_oldest(&informer->own)) != NULL &&
           now - oldest->since_ns >= CONFIRM_WITHIN && is_of_no_interest(informer, oldest))
        pl_own_writes_forget(&informer->own, pl_slice_z(oldest->key));
    return oldest;
}

static void on_confirm(struct pl_timer *timer)
{
    struct pl_informer *informer = PL_CONTAINER_OF(timer, struct pl_informer, confirm);
    const struct pl_own_write *oldest =
        informer->asking == NULL ? oldest_of_interest(informer) : NULL;
    if (oldest != NULL && informer->asking == NULL &&
        pl_informer_now(informer) - oldest->since_ns >= CONFIRM_WITHIN)
        informer_write_ask(informer, oldest);
    else
        pl_informer_arm_confirm(informer);
}

void pl_informer_arm_confirm(struct pl_informer *informer)
{
    const struct pl_own_write *oldest = pl_own_writes_oldest(&informer->own);
    struct pl_timers *timers = pl_informer_timers(informer);
    if (oldest == NULL || informer->asking != NULL) {
        pl_timer_stop(timers, &informer->confirm);
        return;
    }
    int64_t due = oldest->since_ns + CONFIRM_WITHIN;
    if (!pl_timer_is_active(&informer->confirm) || informer->confirm.due_ns != due)
        pl_timer_start(timers, &informer->confirm, due - pl_informer_now(informer), on_confirm);
}

void pl_informer_stop_confirm(struct pl_informer *informer)
{
    pl_timer_stop(pl_informer_timers(informer), &informer->confirm);
    if (informer->asking != NULL)
        pl_read_op_cancel(informer->asking);
}

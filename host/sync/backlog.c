/* Events of one informer that are in its store but not yet delivered to every follower. Scripts'
 * indexes are asked first, then followers are told in pieces, so that a burst does not delay other
 * work. The order of one key's events is kept. */
#include "sync/backlog.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/keyset.h"
#include "object/meta.h"

#include <stdlib.h>
#include <string.h>

/* Events that are delivered before other work has its turn: about 30 us, in which a lane does not
 * run out of runs. */
#define AT_ONCE 32
/* Objects that are taken from the store together, and delivered in the order of their keys. */
#define PIECE 1000

/* The waiting events of one key: at most a few, oldest first. */
struct entry {
    struct pl_keyed node;    /* in by_key */
    struct pl_link link;     /* in order */
    struct pl_event only;    /* room for a single event, the usual case */
    struct pl_event *events; /* `only`, or owned; their documents are counted */
    size_t count, cap;
    struct pl_link unasked; /* in unasked, until its newest object was asked about */
    bool initial;           /* counted in unindexed until its answers have arrived */
    size_t open;            /* outstanding answers of this round */
    uint64_t round;         /* of questions; answers of earlier rounds are ignored */
    char key[];
};

struct pl_backlog {
    struct pl_backlog_options o;
    struct pl_keyset by_key;
    struct pl_list order;
    struct pl_list unasked;
    struct pl_list followers;
    uint64_t last_round;
    struct pl_script_indexes *indexes;
    size_t unindexed;
    bool flushing;
};

static bool wants(void *arg, const char *key, uint64_t round);
static void on_answered(void *arg, const char *key, uint64_t round);

struct pl_backlog *pl_backlog_create(const struct pl_backlog_options *options)
{
    struct pl_backlog *backlog = PL_NEW(struct pl_backlog);
    backlog->o = *options;
    pl_keyset_init(&backlog->by_key, offsetof(struct entry, key));
    pl_list_init(&backlog->order);
    pl_list_init(&backlog->unasked);
    pl_list_init(&backlog->followers);
    struct pl_script_indexes_options indexes = {.store = options->store,
                                                .kind = options->kind,
                                                .wants = wants,
                                                .answered = on_answered,
                                                .arg = backlog};
    backlog->indexes = pl_script_indexes_create(&indexes);
    return backlog;
}

/* ---- entries ---- */

static void ref_event(struct pl_event *event)
{
    pl_doc_ref(event->object);
    pl_doc_ref(event->old);
}

static void unref_event(struct pl_event *event)
{
    pl_doc_unref(event->object);
    pl_doc_unref(event->old);
}

static void is_indexed_now(struct pl_backlog *backlog, struct entry *entry)
{
    if (entry->initial)
        backlog->unindexed--;
    entry->initial = false;
}

static void drop_entry(struct pl_backlog *backlog, struct entry *entry)
{
    pl_keyset_remove(&backlog->by_key, &entry->node);
    pl_link_unlink(&entry->link);
    pl_link_unlink(&entry->unasked);
    is_indexed_now(backlog, entry);
    for (size_t i = 0; i < entry->count; i++)
        unref_event(&entry->events[i]);
    if (entry->events != &entry->only)
        pl_free(entry->events);
    pl_free(entry);
}

static struct entry *find_hashed(const struct pl_backlog *backlog, struct pl_slice key,
                                 uint32_t hash)
{
    struct pl_keyed *node = pl_keyset_find(&backlog->by_key, key, hash);
    return node != NULL ? PL_CONTAINER_OF(node, struct entry, node) : NULL;
}

static struct entry *backlog_find(const struct pl_backlog *backlog, struct pl_slice key)
{
    return find_hashed(backlog, key, pl_keyset_hash(key));
}

static struct entry *backlog_find_or_make(struct pl_backlog *backlog, struct pl_slice key)
{
    uint32_t hash = pl_keyset_hash(key);
    struct entry *entry = find_hashed(backlog, key, hash);
    if (entry != NULL)
        return entry;
    entry = pl_calloc(1, sizeof *entry + key.len + 1);
    entry->events = &entry->only;
    entry->cap = 1;
    memcpy(entry->key, key.ptr, key.len);
    pl_keyset_insert(&backlog->by_key, &entry->node, key.len, hash);
    pl_list_push(&backlog->order, &entry->link);
    return entry;
}

static void backlog_append(struct entry *entry, const struct pl_event *event)
{
    if (entry->count == entry->cap) {
        bool first = entry->events == &entry->only;
        entry->cap *= 2;
        entry->events =
            pl_reallocarray(first ? NULL : entry->events, entry->cap, sizeof(struct pl_event));
        if (first)
            entry->events[0] = entry->only;
    }
    entry->events[entry->count] = *event;
    ref_event(&entry->events[entry->count++]);
}

/* A later state of the same object: no follower has seen the one between. */
static void fold_update(struct pl_event *last, const struct pl_event *event)
{
    pl_doc_ref(event->object);
    pl_doc_unref(last->object);
    last->object = event->object;
}

static void add_event(struct entry *entry, const struct pl_event *event)
{
    struct pl_event *last = entry->count > 0 ? &entry->events[entry->count - 1] : NULL;
    bool was_there =
        last != NULL && (last->type == PL_EVENT_CREATE || last->type == PL_EVENT_UPDATE);
    if (was_there && event->type == PL_EVENT_UPDATE) {
        fold_update(last, event);
        return;
    }
    /* The object was created and deleted before any follower was told. */
    if (was_there && event->type == PL_EVENT_DELETE && last->type == PL_EVENT_CREATE &&
        entry->count > 1) {
        unref_event(last);
        entry->count--;
        return;
    }
    backlog_append(entry, event);
}

/* The object to index; NULL when it is gone. */
static struct pl_doc *newest(const struct entry *entry)
{
    const struct pl_event *last = &entry->events[entry->count - 1];
    return last->type == PL_EVENT_DELETE ? NULL : last->object;
}

static void must_ask(struct pl_backlog *backlog, struct entry *entry)
{
    if (!pl_link_is_linked(&entry->unasked))
        pl_list_push(&backlog->unasked, &entry->unasked);
}

void pl_backlog_push(struct pl_backlog *backlog, struct pl_slice key, const struct pl_event *event)
{
    bool any_index = pl_script_indexes_any(backlog->indexes);
    if (!any_index && pl_list_empty(&backlog->followers))
        return; /* later followers get it from the store */
    struct entry *entry = backlog_find_or_make(backlog, key);
    add_event(entry, event);
    if (!any_index)
        return;
    must_ask(backlog, entry);
    if (event->initial && !entry->initial) {
        entry->initial = true;
        backlog->unindexed++;
    }
}

/* ---- indexes ---- */

/* An answer about an older object does not count: the question is asked again. */
static bool wants(void *arg, const char *key, uint64_t round)
{
    struct pl_backlog *backlog = arg;
    struct entry *entry = backlog_find(backlog, pl_slice_z(key));
    return entry != NULL && entry->round == round && !pl_link_is_linked(&entry->unasked);
}

static void on_answered(void *arg, const char *key, uint64_t round)
{
    struct pl_backlog *backlog = arg;
    if (round != 0 && wants(backlog, key, round)) {
        struct entry *entry = backlog_find(backlog, pl_slice_z(key));
        if (--entry->open == 0)
            is_indexed_now(backlog, entry);
    }
    pl_backlog_flush(backlog);
    backlog->o.changed(backlog->o.arg);
}

static void backlog_ask(struct pl_backlog *backlog, struct entry *entry)
{
    entry->round = ++backlog->last_round;
    entry->open = 0;
    if (newest(entry) != NULL)
        entry->open = pl_script_indexes_ask(backlog->indexes, entry->key,
                                            &entry->events[entry->count - 1], entry->round);
    if (entry->open == 0)
        is_indexed_now(backlog, entry);
}

static void ask_for_indexes(struct pl_backlog *backlog)
{
    struct pl_link *link;
    while (pl_script_indexes_asked(backlog->indexes) < PL_QUESTIONS_MAX &&
           (link = pl_list_pop(&backlog->unasked)) != NULL)
        backlog_ask(backlog, PL_CONTAINER_OF(link, struct entry, unasked));
}

int pl_backlog_add_index(struct pl_backlog *backlog, const char *stored, const char *name,
                         pl_ask_fn ask_fn, void *self, struct pl_err *err)
{
    int failed = pl_script_indexes_add(backlog->indexes, stored, name, ask_fn, self, err);
    if (failed)
        return failed;
    PL_LIST_FOR (link, &backlog->order)
        must_ask(backlog, PL_CONTAINER_OF(link, struct entry, link));
    pl_backlog_flush(backlog);
    return 0;
}

void pl_backlog_drop_index(struct pl_backlog *backlog, const char *stored, void *self)
{
    pl_script_indexes_drop(backlog->indexes, stored, self);
    pl_backlog_flush(backlog);
}

void pl_backlog_stop(struct pl_backlog *backlog)
{
    pl_script_indexes_stop(backlog->indexes);
}

/* ---- followers ---- */

static bool is_full(struct pl_follower *follower)
{
    return follower->is_full != NULL && follower->is_full(follower);
}

static bool anybody_is_full(struct pl_backlog *backlog)
{
    PL_LIST_FOR (link, &backlog->followers)
        if (is_full(PL_CONTAINER_OF(link, struct pl_follower, link)))
            return true;
    return false;
}

static void backlog_deliver(struct pl_backlog *backlog, const struct pl_event *event)
{
    PL_LIST_FOR (link, &backlog->followers) {
        struct pl_follower *follower = PL_CONTAINER_OF(link, struct pl_follower, link);
        follower->on_event(follower, event);
    }
}

static void forget_earlier(struct pl_follower *follower)
{
    pl_docs_deinit(&follower->piece);
    follower->piece = (struct pl_docs){0};
    follower->behind = false;
}

struct named {
    char *key; /* owned */
    struct pl_doc *doc;
};

static int is_after(const void *a, const void *b)
{
    return strcmp(((const struct named *)b)->key, ((const struct named *)a)->key);
}

/* The last key first, since objects are taken from the end. */
static void sort_by_key(struct pl_docs *docs)
{
    struct named *all = pl_calloc(docs->count, sizeof *all);
    for (size_t i = 0; i < docs->count; i++) {
        struct pl_buf key = PL_BUF_INIT;
        pl_meta_put_key(pl_doc_root(docs->items[i]), &key);
        all[i] = (struct named){.key = pl_buf_take(&key), .doc = docs->items[i]};
    }
    qsort(all, docs->count, sizeof *all, is_after);
    for (size_t i = 0; i < docs->count; i++) {
        docs->items[i] = all[i].doc;
        pl_free(all[i].key);
    }
    pl_free(all);
}

/* A reference to the next object that was there before the follower; NULL: there are no more. For a
 * moderate number, the order is always the same. */
static struct pl_doc *take_earlier(struct pl_backlog *backlog, struct pl_follower *follower)
{
    struct pl_docs *piece = &follower->piece;
    bool more = true;
    while (piece->count == 0 && more) {
        more = pl_store_walk(backlog->o.store, &follower->walk, PIECE, piece);
        sort_by_key(piece);
    }
    return piece->count > 0 ? piece->items[--piece->count] : NULL;
}

/* True when the object came after the follower, so that it is delivered with later events. */
static bool is_new(const struct pl_backlog *backlog, struct pl_doc *doc)
{
    struct pl_buf key = PL_BUF_INIT;
    const struct entry *entry = NULL;
    if (backlog->by_key.count > 0 && pl_meta_key(pl_doc_root(doc), &key, NULL) == 0)
        entry = backlog_find(backlog, pl_buf_slice(&key));
    pl_buf_deinit(&key);
    return entry != NULL && entry->events[0].type == PL_EVENT_CREATE;
}

/* Delivers objects that were there before the follower. */
static void deliver_earlier(struct pl_backlog *backlog, struct pl_follower *follower, size_t *room)
{
    while (follower->behind && *room > 0 && !is_full(follower)) {
        struct pl_doc *doc = take_earlier(backlog, follower);
        if (doc == NULL) {
            forget_earlier(follower);
            if (follower->caught_up != NULL)
                follower->caught_up(follower);
            return;
        }
        (*room)--;
        struct pl_event event = {.type = PL_EVENT_CREATE, .object = doc, .initial = true};
        if (!is_new(backlog, doc))
            follower->on_event(follower, &event);
        pl_doc_unref(doc);
    }
}

static bool is_indexed(const struct pl_backlog *backlog, const struct entry *entry)
{
    return !pl_script_indexes_any(backlog->indexes) ||
           (!pl_link_is_linked(&entry->unasked) && entry->open == 0);
}

void pl_backlog_flush(struct pl_backlog *backlog)
{
    if (backlog->flushing)
        return;
    backlog->flushing = true;
    ask_for_indexes(backlog);
    size_t room = AT_ONCE;
    PL_LIST_FOR (link, &backlog->followers)
        deliver_earlier(backlog, PL_CONTAINER_OF(link, struct pl_follower, link), &room);
    struct pl_link *first;
    while (room > 0 && (first = pl_list_first(&backlog->order)) != NULL &&
           !anybody_is_full(backlog)) {
        struct entry *entry = PL_CONTAINER_OF(first, struct entry, link);
        if (!is_indexed(backlog, entry))
            break;
        struct pl_event event = entry->events[0];
        memmove(entry->events, entry->events + 1, --entry->count * sizeof event);
        if (entry->count == 0)
            drop_entry(backlog, entry);
        backlog_deliver(backlog, &event);
        unref_event(&event);
        room--;
    }
    ask_for_indexes(backlog);
    backlog->flushing = false;
    if (room == 0)
        backlog->o.more(backlog->o.arg);
}

void pl_backlog_follow(struct pl_backlog *backlog, struct pl_follower *follower)
{
    PL_REQUIRE(!pl_link_is_linked(&follower->link));
    pl_list_push(&backlog->followers, &follower->link);
    follower->behind = pl_store_count(backlog->o.store) > 0;
    follower->walk = (struct pl_store_walk){0};
    pl_backlog_flush(backlog);
}

void pl_backlog_hand_over(struct pl_follower *from, struct pl_follower *to)
{
    PL_REQUIRE(pl_link_is_linked(&from->link) && !pl_link_is_linked(&to->link));
    pl_link_insert(&to->link, &from->link, from->link.next);
    pl_link_unlink(&from->link);
    to->behind = from->behind;
    to->walk = from->walk;
    to->piece = from->piece;
    from->piece = (struct pl_docs){0};
    forget_earlier(from);
}

void pl_backlog_unfollow(struct pl_follower *follower)
{
    pl_link_unlink(&follower->link);
    forget_earlier(follower);
}

/* ---- the rest ---- */

void pl_backlog_destroy(struct pl_backlog *backlog)
{
    if (backlog == NULL)
        return;
    PL_REQUIRE(pl_list_empty(&backlog->followers));
    PL_LIST_FOR (link, &backlog->order)
        drop_entry(backlog, PL_CONTAINER_OF(link, struct entry, link));
    pl_keyset_deinit(&backlog->by_key);
    pl_script_indexes_destroy(backlog->indexes);
    pl_free(backlog);
}

bool pl_backlog_is_indexed(const struct pl_backlog *backlog, struct pl_slice key)
{
    const struct entry *entry = backlog_find(backlog, key);
    return entry == NULL || is_indexed(backlog, entry);
}

size_t pl_backlog_unindexed(const struct pl_backlog *backlog)
{
    return backlog->unindexed;
}

size_t pl_backlog_outstanding(const struct pl_backlog *backlog)
{
    return pl_script_indexes_outstanding(backlog->indexes);
}

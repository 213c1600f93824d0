/* Chooses the cache that answers a read: the controller's own widest one that covers the namespace,
 * else another controller's; else the server is asked. Then it takes the objects of the index with
 * the fewest, and tests each. It runs on the lane's thread and only reads the store: it never waits
 * for the I/O thread. */
#include "lane/cache.h"

#include "base/alloc.h"
#include "base/log.h"
#include "write/capture.h"
#include "sync/label_index.h"
#include "lane/index_request.h"
#include "object/label.h"
#include "object/meta.h"
#include "object/selector.h"
#include "store/text_sort.h"

#include <stdio.h>

/* ---- choosing ---- */

bool pl_cache_is_ready(struct pl_cache *cache)
{
    return atomic_load_explicit(&cache->ready, memory_order_acquire);
}

static const struct pl_source_options *options_of(struct pl_cache *cache)
{
    return pl_cache_is_ready(cache) ? &cache->options : &cache->spec->options;
}

bool pl_cache_is_selective(const struct pl_cache *cache)
{
    return cache->spec->options.labels != NULL || cache->spec->options.fields != NULL ||
           cache->share == PL_SHARE_BY_UID || pl_share_moves(cache->share);
}

bool pl_cache_is_elsewhere(const struct pl_cache *cache, struct pl_slice ns)
{
    return cache->share == PL_SHARE_BY_NAMESPACE && ns.len > 0 &&
           !pl_shards_hold_namespace(cache->lanes->shards, ns);
}

static bool cache_covers(const struct pl_source_options *options, struct pl_slice ns)
{
    if (options->namespaces == NULL || ns.ptr == NULL)
        return true;
    for (char **one = options->namespaces; *one != NULL; one++) {
        if (pl_slice_eqz(ns, *one))
            return true;
    }
    return false;
}

static int width(const struct pl_source_options *options)
{
    return 1 + (options->namespaces == NULL) * 8 + (options->labels == NULL) * 4 +
           (options->fields == NULL) * 2 + (options->metadata_only ? 0 : 1);
}

struct best {
    struct pl_cache *cache;
    struct pl_cache *limited; /* the namespace is declared, but not one of the host's */
    int width;
    bool declared, usable;
};

static bool cache_is_of(const char *cluster, struct pl_slice wanted)
{
    return cluster == NULL ? wanted.ptr == NULL : pl_slice_eqz(wanted, cluster);
}

static void consider(struct pl_known_controller *known, const struct pl_wanted *wanted,
                     struct best *best)
{
    for (size_t i = 0; i < known->cache_count; i++) {
        struct pl_cache *cache = &known->caches[i];
        const struct pl_source_options *options = options_of(cache);
        if (!pl_kind_eq(&cache->spec->kind, &wanted->kind) ||
            !cache_is_of(cache->spec->cluster_name, wanted->cluster))
            continue;
        best->declared = true;
        if (options->metadata_only && !wanted->metadata_only)
            continue;
        best->usable = true;
        if (!cache_covers(options, wanted->ns)) {
            if (cache_covers(&cache->spec->options, wanted->ns))
                best->limited = cache;
        } else if (width(options) > best->width) {
            best->width = width(options);
            best->cache = cache;
        }
    }
}

enum pl_choice pl_cache_choose(struct pl_lanes *lanes, int controller,
                               const struct pl_wanted *wanted, struct pl_cache **cache)
{
    struct best own = {.cache = NULL}, others = {.cache = NULL};
    if (controller >= 0)
        consider(&lanes->controllers[controller], wanted, &own);
    if (own.cache != NULL) {
        *cache = own.cache;
        return PL_CHOICE_CACHE;
    }
    *cache = own.limited;
    if (own.usable)
        return PL_CHOICE_OUTSIDE;
    if (own.declared)
        return PL_CHOICE_LIVE;
    for (size_t i = 0; i < lanes->controller_count; i++)
        consider(&lanes->controllers[i], wanted, &others);
    *cache = others.cache;
    if (others.cache != NULL)
        return PL_CHOICE_CACHE;
    return others.declared ? PL_CHOICE_LIVE : PL_CHOICE_UNDECLARED;
}

void pl_cache_hint(struct pl_lanes *lanes, struct pl_slice kind)
{
    pthread_mutex_lock(&lanes->hint_lock);
    bool first = pl_map_put(&lanes->hinted, kind, lanes) == NULL;
    pthread_mutex_unlock(&lanes->hint_lock);
    if (first)
        pl_log(PL_LOG_INFO,
               "reads of a kind that no controller declares go to the server each time; "
               ":Reads(kind) would cache it",
               pl_strn("kind", kind));
}

/* ---- listing ---- */

void pl_found_deinit(struct pl_found *found)
{
    pl_docs_deinit(&found->docs);
    pl_buf_deinit(&found->continue_token);
    pl_buf_deinit(&found->rv);
}

#define MOST_LABELS 4 /* labels of a selector that are looked up in indices */

/* The index entries that contain the wanted objects: their namespace and labels, as far as indices
 * exist. */
struct places {
    struct pl_index_value values[1 + MOST_LABELS];
    size_t count;
    char names[MOST_LABELS][sizeof PL_INDEX_LABEL + PL_LABEL_KEY_MAX];
};

/* labels: NULL: without. */
static void init_places(struct places *places, struct pl_slice ns, const struct pl_selector *labels)
{
    size_t at = 0;
    struct pl_slice key, value;
    places->count = 0;
    if (ns.ptr != NULL)
        places->values[places->count++] = (struct pl_index_value){PL_INDEX_NAMESPACE, ns};
    for (size_t i = 0; labels != NULL && i < MOST_LABELS; i++) {
        if (!pl_selector_single(labels, &at, &key, &value))
            break;
        snprintf(places->names[i], sizeof places->names[i], PL_INDEX_LABEL "%.*s", PL_FMT(key));
        places->values[places->count++] = (struct pl_index_value){places->names[i], value};
    }
}

/* Returns the number of objects looked at. */
static size_t collect_by_places(struct pl_cache *cache, struct pl_slice ns,
                                const struct pl_selector *selector, uint64_t labels,
                                struct pl_docs *out)
{
    struct places places;
    size_t seen;
    init_places(&places, ns, selector);
    if (pl_store_by_fewest(cache->store, places.values, places.count, labels, out, &seen) != 0) {
        seen = pl_store_count(cache->store);
        pl_store_list(cache->store, labels, out);
    }
    return seen;
}

/* selector: of labels that wanted objects have; NULL: none, or a view may replace an object without
 * the labels by one with them. seen: number of objects looked at. */
static int cache_collect(struct pl_cache *cache, const struct pl_filter *filter,
                         const struct pl_selector *selector, struct pl_docs *out, size_t *seen,
                         struct pl_err *err)
{
    uint64_t labels = selector != NULL ? pl_selector_bloom(selector) : 0;
    *seen = 0;
    struct pl_store *store = cache->store;
    if (filter->index_name.ptr != NULL) {
        int failed =
            filter->index_stored == NULL
                ? PL_ENOTFOUND
                : pl_store_by_index(store, filter->index_stored, filter->index_value, labels, out);
        char kind[PL_KIND_TEXT];
        if (failed == PL_EAGAIN)
            return pl_err_set(err, PL_EAGAIN, "the index \"%s\" is being built",
                              filter->index_name.ptr);
        return failed ? pl_err_set(err, PL_EINVAL,
                                   "there is no index \"%s\" of %s; declare it with perilune.index",
                                   filter->index_name.ptr, pl_kind_text(&cache->spec->kind, kind))
                      : 0;
    }
    if (filter->owner_uid.ptr != NULL)
        return pl_store_by_index(store, PL_INDEX_CONTROLLER_UID, filter->owner_uid, labels, out);
    *seen = collect_by_places(cache, filter->ns, selector, labels, out);
    return 0;
}

struct tests {
    struct pl_selector *labels;
    struct pl_hint *hints; /* of labels */
    struct pl_fields *fields;
    struct pl_slice ns, owner_uid;
};

static bool passes(const struct tests *tests, struct pl_node object)
{
    struct pl_scratch scratch;
    struct pl_owner owner;
    if (tests->ns.ptr != NULL && !pl_slice_eq(pl_meta_namespace(object, &scratch), tests->ns))
        return false;
    if (tests->owner_uid.ptr != NULL &&
        !(pl_meta_controller(object, &owner) && pl_slice_eq(owner.uid, tests->owner_uid)))
        return false;
    if (tests->labels != NULL && !pl_selector_scans(tests->labels, object, tests->hints))
        return false;
    return tests->fields == NULL || pl_fields_match(tests->fields, object);
}

static void keep_passing(struct pl_docs *docs, const struct tests *tests)
{
    size_t kept = 0;
    for (size_t i = 0; i < docs->count; i++) {
        struct pl_doc *doc = pl_docs_at(docs, i);
        if (passes(tests, pl_doc_root(doc)))
            docs->items[kept++] = doc;
        else
            pl_doc_unref(doc);
    }
    docs->count = kept;
}

void pl_docs_keep_owned(struct pl_docs *docs, struct pl_slice owner_uid)
{
    keep_passing(docs, &(struct tests){.owner_uid = owner_uid});
}

static void deinit_tests(struct tests *tests)
{
    pl_free(tests->hints);
    if (tests->labels != NULL)
        pl_selector_destroy(tests->labels);
    if (tests->fields != NULL)
        pl_fields_destroy(tests->fields);
}

/* Must be deinitialised whatever it returns. */
static int init_tests(struct tests *tests, const struct pl_filter *filter, struct pl_err *err)
{
    /* Without a view and another index, the owner index has already selected by owner. */
    bool by_owner = filter->index_name.ptr == NULL && filter->view == NULL;
    *tests = (struct tests){.ns = filter->ns};
    if (!by_owner)
        tests->owner_uid = filter->owner_uid;
    if (filter->labels.ptr != NULL &&
        (tests->labels = pl_selector_parse(filter->labels, err)) == NULL)
        return PL_EINVAL;
    if (tests->labels != NULL)
        tests->hints = pl_calloc(pl_selector_hints(tests->labels), sizeof *tests->hints);
    if (filter->fields.ptr != NULL &&
        (tests->fields = pl_fields_parse(filter->fields, err)) == NULL)
        return PL_EINVAL;
    return 0;
}

/* keys: buffer for the entries' texts. */
static void sort_docs(struct pl_docs *docs, struct pl_buf *keys, struct pl_text_item *entries)
{
    for (size_t i = 0; i < docs->count; i++) {
        pl_meta_put_key(pl_doc_root(pl_docs_at(docs, i)), keys);
        pl_buf_add_char(keys, '\0');
    }
    const char *text = keys->ptr;
    for (size_t i = 0; i < docs->count; i++, text += strlen(text) + 1)
        entries[i] = (struct pl_text_item){.text = text, .item = docs->items[i]};
    pl_text_sort(entries, docs->count);
}

/* Orders by key, starting after the continue token, at most limit. */
static void arrange(const struct pl_filter *filter, struct pl_found *found)
{
    struct pl_docs *docs = &found->docs;
    struct pl_text_item *entries = pl_calloc(docs->count + 1, sizeof *entries);
    struct pl_buf keys = PL_BUF_INIT;
    sort_docs(docs, &keys, entries);
    size_t first = 0, count = docs->count;
    if (filter->continue_token.ptr != NULL) {
        while (first < count && strcmp(entries[first].text, filter->continue_token.ptr) <= 0)
            first++;
    }
    size_t end = filter->limit > 0 && count - first > (size_t)filter->limit
                     ? first + (size_t)filter->limit
                     : count;
    if (end < count) {
        pl_buf_add_z(&found->continue_token, entries[end - 1].text);
        found->remaining = count - end;
    }
    docs->count = 0;
    for (size_t i = 0; i < count; i++) {
        if (i >= first && i < end)
            docs->items[docs->count++] = entries[i].item;
        else
            pl_doc_unref(entries[i].item);
    }
    pl_buf_deinit(&keys);
    pl_free(entries);
}

/* For lists that are sorted only here, so that scripts must not depend on their order. */
static void list_otherwise(struct pl_listing *listing, const struct pl_filter *filter,
                           struct pl_docs *docs)
{
    if (filter->limit > 0 || filter->continue_token.ptr != NULL || docs->count < 2)
        return;
    listing->had_many = true;
    for (size_t i = 0; listing->reversed && i < docs->count / 2; i++) {
        struct pl_doc *doc = docs->items[i];
        docs->items[i] = docs->items[docs->count - 1 - i];
        docs->items[docs->count - 1 - i] = doc;
    }
}

int pl_cache_list(struct pl_lane *lane, struct pl_cache *cache, const struct pl_filter *filter,
                  struct pl_found *found, struct pl_err *err)
{
    struct tests tests;
    size_t seen = 0;
    *found = (struct pl_found){.remaining = 0};
    pl_store_rv(cache->store, &found->rv);
    int failed = init_tests(&tests, filter, err);
    const struct pl_selector *selector = filter->view == NULL ? tests.labels : NULL;
    if (failed == 0)
        failed = cache_collect(cache, filter, selector, &found->docs, &seen, err);
    if (failed == 0 && filter->view != NULL)
        pl_capture_amend(filter->view, &cache->spec->kind, filter->index_name.ptr != NULL,
                         &found->docs);
    if (failed == 0) {
        keep_passing(&found->docs, &tests);
        if (selector != NULL)
            pl_index_request_consider(lane, cache, selector, seen, found->docs.count);
        arrange(filter, found);
        if (lane->lanes->options.listing != NULL)
            list_otherwise(lane->lanes->options.listing, filter, &found->docs);
    }
    deinit_tests(&tests);
    return failed;
}

/* The caches' knowledge of a write's object, before and after the write. */
#include "write/gate_op.h"

#include "event/handler.h"
#include "event/source.h"
#include "value/build.h"
#include "object/diff.h"
#include "object/meta.h"

/* ---- before ---- */

struct lookup {
    const struct pl_gate_op *op;
    struct pl_doc *doc; /* counted; the newest found */
    bool covered;
};

static void gate_cache_look(void *arg, struct pl_informer *informer)
{
    struct lookup *lookup = arg;
    const struct pl_source_options *options = pl_informer_options(informer);
    if (options->metadata_only || !pl_informer_has_synced(informer))
        return;
    if (options->labels == NULL && options->fields == NULL &&
        pl_informer_covers(informer, lookup->op->w.ns))
        lookup->covered = true;
    if (lookup->doc == NULL)
        lookup->doc = pl_store_get(pl_informer_store(informer), pl_slice_z(lookup->op->key));
}

static struct lookup look_up(struct pl_gate_op *op)
{
    struct lookup lookup = {.op = op};
    if (op->w.name.len > 0)
        pl_informers_each(op->gate->informers, &op->w.kind, gate_cache_look, &lookup);
    return lookup;
}

struct pl_doc *pl_gate_cached(struct pl_gate_op *op)
{
    return look_up(op).doc;
}

bool pl_gate_is_covered(struct pl_gate_op *op)
{
    struct lookup lookup = look_up(op);
    pl_doc_unref(lookup.doc);
    return lookup.covered;
}

/* ---- would it change anything? ---- */

static bool wakes_for(const struct pl_source_spec *source, const struct pl_controller_spec *spec,
                      struct pl_doc *cached)
{
    if (source->role != PL_SOURCE_OWNS)
        return true;
    struct pl_handler handler = {.by = PL_MAP_OWNER, .every_owner = source->match_every_owner};
    for (size_t i = 0; i < spec->source_count; i++)
        if (spec->sources[i].role == PL_SOURCE_FOR)
            handler.owner = spec->sources[i].kind;
    struct pl_event event = {.type = PL_EVENT_UPDATE, .object = cached, .old = cached};
    struct pl_requests requests = {0};
    pl_handler_requests(&handler, &event, &requests);
    bool wakes = requests.count > 0;
    pl_requests_deinit(&requests);
    return wakes;
}

/* The object from the calling controller's own source, if every change of it queues a key of that
 * controller; a reference, or NULL. Otherwise another client's recent change could be taken for
 * "nothing to do" and never be looked at again. */
static struct pl_doc *cached_and_waking(const struct pl_gate_op *op)
{
    if (op->w.controller == NULL)
        return NULL;
    const struct pl_controller_spec *spec = op->w.controller->spec;
    for (size_t i = 0; i < spec->source_count; i++) {
        const struct pl_source_spec *source = &spec->sources[i];
        struct pl_informer *informer = op->w.controller->informer(op->w.controller, i);
        if (source->role == PL_SOURCE_READS || source->predicate != NULL ||
            source->cluster != op->gate->cluster || source->options.metadata_only ||
            informer == NULL || !pl_kind_eq(&source->kind, &op->w.kind) ||
            !pl_informer_has_synced(informer))
            continue;
        struct pl_doc *doc = pl_store_get(pl_informer_store(informer), pl_slice_z(op->key));
        if (doc != NULL && wakes_for(source, spec, doc))
            return doc;
        pl_doc_unref(doc);
    }
    return NULL;
}

/* A script that patches what it has read in another version, perhaps from the server, knows more
 * than the cache, or less: the result is in doubt. */
static bool patch_is_noop(const struct pl_gate_op *op, struct pl_node cached)
{
    struct pl_scratch a, b;
    const struct pl_doc *read = op->w.base;
    if (read != NULL && !pl_slice_eq(pl_meta_rv(pl_doc_root(read), &a), pl_meta_rv(cached, &b)))
        return false;
    return pl_noop_merge_patch(pl_doc_root(op->w.body), cached, op->resource,
                               pl_gate_op_is_status(op));
}

static bool update_is_noop(const struct pl_gate_op *op, struct pl_node cached)
{
    struct pl_node body = pl_doc_root(op->w.body);
    struct pl_scratch a, b;
    struct pl_slice rv = pl_meta_rv(body, &a);
    if (rv.len == 0 || !pl_slice_eq(rv, pl_meta_rv(cached, &b)))
        return false;
    struct pl_slice uid = pl_meta_uid(body, &a);
    if (uid.len > 0 && !pl_slice_eq(uid, pl_meta_uid(cached, &b)))
        return false;
    return pl_noop_update(body, cached, op->resource, pl_gate_op_is_status(op));
}

void pl_gate_applied_name(const struct pl_gate_op *op, struct pl_buf *out)
{
    char kind[PL_KIND_TEXT];
    pl_buf_add_f(out, "%s %s %.*s %.*s %d", pl_kind_text(&op->w.kind, kind), op->key,
                 PL_FMT(op->w.subresource), PL_FMT(op->w.field_manager), op->w.force);
}

static bool apply_is_noop(const struct pl_gate_op *op, struct pl_node cached)
{
    struct pl_buf name = PL_BUF_INIT;
    pl_gate_applied_name(op, &name);
    bool same = pl_applied_is_last(op->gate->applied, pl_buf_slice(&name), pl_doc_root(op->w.body));
    pl_buf_deinit(&name);
    return same && pl_subset(pl_doc_root(op->w.body), cached);
}

struct pl_doc *pl_gate_unchanged(struct pl_gate_op *op)
{
    const struct pl_write *w = &op->w;
    if (w->live || w->force_write || w->name.len == 0 || !pl_gate_op_is_object(op))
        return NULL;
    struct pl_doc *cached = NULL;
    bool same = false;
    if (w->verb == PL_VERB_UPDATE) {
        cached = pl_gate_cached(op);
        same = cached != NULL && update_is_noop(op, pl_doc_root(cached));
    } else if (w->verb == PL_VERB_PATCH && w->patch_type == PL_PATCH_MERGE) {
        cached = cached_and_waking(op);
        same = cached != NULL && patch_is_noop(op, pl_doc_root(cached));
    } else if (pl_gate_op_is_apply(op)) {
        cached = cached_and_waking(op);
        same = cached != NULL && apply_is_noop(op, pl_doc_root(cached));
    }
    if (same)
        return cached;
    pl_doc_unref(cached);
    return NULL;
}

/* ---- after ---- */

struct through {
    const struct pl_gate_op *op;
    struct pl_doc *object;
    struct pl_slice uid;
    bool known, managed_fields;
};

static void write_through(void *arg, struct pl_informer *informer)
{
    struct through *through = arg;
    pl_informer_write_through(informer, through->object, false);
}

static void gate_cache_each(struct pl_gate_op *op,
                            void (*visit)(void *arg, struct pl_informer *informer),
                            struct through *through)
{
    pl_informers_each(op->gate->informers, &op->w.kind, visit, through);
}

static void remove_gone(void *arg, struct pl_informer *informer)
{
    struct through *through = arg;
    struct pl_doc *doc = pl_store_get(pl_informer_store(informer), pl_slice_z(through->op->key));
    struct pl_scratch scratch;
    if (doc != NULL && (through->uid.len == 0 ||
                        pl_slice_eq(through->uid, pl_meta_uid(pl_doc_root(doc), &scratch))))
        pl_informer_write_through(informer, doc, true);
    pl_doc_unref(doc);
}

void pl_gate_through_gone(struct pl_gate_op *op, struct pl_slice uid)
{
    struct through through = {.op = op, .uid = uid};
    if (op->w.name.len > 0)
        gate_cache_each(op, remove_gone, &through);
}

static void gone_with(void *arg, struct pl_informer *informer)
{
    struct through *through = arg;
    pl_informer_write_through(informer, through->object, true);
}

/* A delete is answered with the object if it still exists, else with the object or with a Status
 * that may have its uid. */
static void through_delete(struct pl_gate_op *op, struct pl_doc *answer)
{
    struct pl_node root = pl_doc_root(answer);
    struct through through = {.op = op, .object = answer};
    struct pl_scratch scratch;
    if (pl_node_str_eq(pl_node_getz(root, "kind"), pl_slice_z("Status"))) {
        struct pl_slice uid = pl_node_str(pl_node_dig(root, "details", "uid"), &scratch);
        pl_gate_through_gone(op, uid.len > 0 ? uid : op->w.uid);
    } else {
        bool left = pl_meta_is_deleting(root) && pl_meta_is_held(root);
        gate_cache_each(op, left ? write_through : gone_with, &through);
    }
}

static void through_collection(struct pl_gate_op *op, struct pl_doc *answer)
{
    for (struct pl_iter it = pl_iter(pl_node_getz(pl_doc_root(answer), "items"));
         pl_iter_next(&it);) {
        struct pl_doc *object = pl_doc_from_node(it.value, NULL);
        struct through through = {.op = op, .object = object};
        bool left = pl_meta_is_deleting(it.value) && pl_meta_is_held(it.value);
        gate_cache_each(op, left ? write_through : gone_with, &through);
        pl_doc_unref(object);
    }
}

void pl_gate_through(struct pl_gate_op *op, struct pl_doc *answer)
{
    struct through through = {.op = op, .object = answer};
    struct pl_node root = pl_doc_root(answer);
    struct pl_scratch scratch;
    if (op->w.verb == PL_VERB_DELETE_COLLECTION)
        through_collection(op, answer);
    else if (op->w.verb == PL_VERB_DELETE && op->stage == PL_GATE_SENDING)
        through_delete(op, answer);
    else if (pl_meta_uid(root, &scratch).len > 0)
        gate_cache_each(
            op, pl_meta_is_deleting(root) && !pl_meta_is_held(root) ? gone_with : write_through,
            &through);
}

static void gate_cache_is_known(void *arg, struct pl_informer *informer)
{
    struct through *through = arg;
    struct pl_doc *doc = pl_store_get(pl_informer_store(informer), pl_slice_z(through->op->key));
    through->known = through->known || doc != NULL;
    pl_doc_unref(doc);
}

bool pl_gate_is_known(struct pl_gate_op *op)
{
    struct through through = {.op = op};
    gate_cache_each(op, gate_cache_is_known, &through);
    return through.known;
}

static void wants_managed_fields(void *arg, struct pl_informer *informer)
{
    struct through *through = arg;
    if (pl_informer_options(informer)->managed_fields)
        through->managed_fields = true;
}

bool pl_gate_wants_managed_fields(struct pl_gate_op *op)
{
    struct through through = {.op = op};
    gate_cache_each(op, wants_managed_fields, &through);
    return through.managed_fields;
}

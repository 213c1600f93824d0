/* Writes and shadows: a shadow's write is answered here and never sent; a write that the running
 * scripts send is recorded as well. */
#include "write/gate_op.h"

#include "format/units.h"
#include "write/capture.h"
#include "value/build.h"
#include "object/diff.h"
#include "object/meta.h"
#include "object/patch.h"
#include "object/path.h"

#include <stdio.h>
#include <string.h>

#define PATHS_MAX    64
#define APPLIES_LESS "it no longer applies fields that are applied now"
#define APPLIES_MORE "it also applies fields that are not applied now"

bool pl_gate_shadow_sees(struct pl_gate_op *op, struct pl_doc **doc)
{
    const struct pl_write *w = &op->w;
    *doc = NULL;
    if (w->name.len == 0 || !pl_gate_op_is_object(op))
        return true;
    if (w->capture != NULL && pl_capture_sees(w->capture, &w->kind, pl_slice_z(op->key), doc))
        return true;
    *doc = pl_gate_cached(op);
    return *doc != NULL || pl_gate_is_covered(op);
}

bool pl_gate_shadow_must_look(struct pl_gate_op *op)
{
    return op->w.name.len > 0 && pl_gate_op_is_object(op) &&
           op->w.verb != PL_VERB_DELETE_COLLECTION;
}

/* ---- effects ---- */

static void gate_hold_add_name(const struct pl_gate_op *op, struct pl_buf *out)
{
    const struct pl_write *w = &op->w;
    char kind[PL_KIND_TEXT];
    struct pl_scratch scratch;
    pl_buf_add_f(out, "%s ", pl_kind_text(&w->kind, kind));
    if (w->verb == PL_VERB_DELETE_COLLECTION) {
        pl_buf_add_f(out, "%.*s%s* labels=%.*s fields=%.*s", PL_FMT(w->ns),
                     w->ns.len > 0 ? "/" : "", PL_FMT(w->labels), PL_FMT(w->fields));
    } else if (w->name.len == 0) {
        struct pl_slice prefix =
            pl_node_str(pl_node_dig(pl_doc_root(w->body), "metadata", "generateName"), &scratch);
        pl_buf_add_f(out, "%.*s%s%.*s*", PL_FMT(w->ns), w->ns.len > 0 ? "/" : "", PL_FMT(prefix));
    } else {
        pl_buf_add_z(out, op->key);
    }
    if (w->subresource.len > 0)
        pl_buf_add_f(out, " %.*s", PL_FMT(w->subresource));
}

/* The comparable form of an object, or of its status if only that is written. */
static struct pl_doc *bare(const struct pl_gate_op *op, struct pl_node object)
{
    static const char *const keys[] = {"status"};
    struct pl_node status = pl_node_getz(object, keys[0]);
    if (!pl_gate_op_is_status(op) || pl_node_type(object) != PL_OBJECT)
        return pl_intent_bare(object);
    struct pl_build *b = pl_build_create(NULL);
    pl_build_object(b);
    pl_build_end(b);
    struct pl_doc *empty = pl_build_close(b);
    struct pl_doc *doc = pl_doc_with(pl_doc_root(empty), keys, 1, status);
    if (doc == NULL)
        return empty;
    pl_doc_unref(empty);
    return doc;
}

/* Another set of fields is a change even where the merged object is the same. */
static const char *note_of(enum pl_applied_fields fields, bool same)
{
    if (fields == PL_FIELDS_FEWER)
        return APPLIES_LESS;
    return fields == PL_FIELDS_MORE && same ? APPLIES_MORE : NULL;
}

/* existing and after are borrowed. False: it changes nothing. */
static bool add_effect(struct pl_gate_op *op, struct pl_node existing, struct pl_doc *after,
                       enum pl_applied_fields fields)
{
    bool apply = pl_gate_op_is_apply(op);
    struct pl_doc *before_bare = bare(op, existing);
    struct pl_doc *after_bare = bare(op, pl_doc_root(after));
    bool same =
        before_bare != NULL && pl_node_equal(pl_doc_root(before_bare), pl_doc_root(after_bare));
    const char *note = note_of(fields, same);
    same = same && note == NULL;
    if (same || op->w.capture == NULL) {
        pl_doc_unref(before_bare);
        pl_doc_unref(after_bare);
        return !same;
    }
    struct pl_buf name = PL_BUF_INIT;
    gate_hold_add_name(op, &name);
    struct pl_effect effect = {
        .name = (char *)pl_buf_z(&name),
        .verb = apply ? "apply" : pl_verb_name(op->w.verb),
        .is_write = true,
        .is_secret = pl_kind_is_secret(&op->w.kind),
        .before = before_bare,
        .after = after_bare,
        .sent = bare(op, pl_doc_root(op->w.body)),
        .note = note,
    };
    pl_capture_add(op->w.capture, &effect);
    pl_buf_deinit(&name);
    return true;
}

static enum pl_applied_fields fields_of(struct pl_gate_op *op)
{
    if (!pl_gate_op_is_apply(op))
        return PL_FIELDS_SAME;
    struct pl_buf name = PL_BUF_INIT;
    pl_gate_applied_name(op, &name);
    enum pl_applied_fields fields =
        pl_applied_compare(op->gate->applied, pl_buf_slice(&name), pl_doc_root(op->w.body),
                           pl_schema_builtin(&op->w.kind));
    pl_buf_deinit(&name);
    return fields;
}

static int gate_hold_merge(struct pl_gate_op *op, struct pl_node existing, struct pl_doc **after,
                           struct pl_err *err)
{
    char made_up[40], now[40];
    pl_time_text(pl_clock_wall(pl_site_timers(op->gate->site)->clock), 0, now);
    snprintf(made_up, sizeof made_up, PL_MADE_UP "%llu", (unsigned long long)++op->gate->made_up);
    struct pl_intent intent = {
        .verb = op->w.verb,
        .patch_type = op->w.patch_type,
        .kind = &op->w.kind,
        .is_status = pl_gate_op_is_status(op),
        .has_status = op->resource->has_status,
        .body = pl_doc_root(op->w.body),
        .existing = existing,
        .made_up = made_up,
        .now = now,
    };
    return pl_intent_merge(&intent, after, err);
}

/* ---- held ---- */

/* A new version of the object, so that a script that compares versions sees a change. */
static struct pl_doc *renewed(struct pl_gate_op *op, struct pl_doc *doc)
{
    static const char *const keys[] = {"metadata", "resourceVersion"};
    char version[40];
    struct pl_build *b = pl_build_create(NULL);
    snprintf(version, sizeof version, PL_MADE_UP "%llu", (unsigned long long)++op->gate->made_up);
    pl_build_strz(b, version);
    struct pl_doc *value = pl_build_close(b);
    struct pl_doc *result = pl_doc_with(pl_doc_root(doc), keys, 2, pl_doc_root(value));
    pl_doc_unref(value);
    pl_doc_unref(doc);
    return result;
}

static void gate_hold_show(struct pl_gate_op *op, struct pl_doc *after)
{
    struct pl_scratch scratch;
    struct pl_buf key = PL_BUF_INIT;
    if (op->w.capture == NULL)
        return;
    if (op->w.name.len > 0)
        pl_buf_add_z(&key, op->key);
    else
        pl_key_add(&key, op->w.ns, pl_meta_name(pl_doc_root(after), &scratch));
    pl_capture_show(op->w.capture, &op->w.kind, pl_buf_slice(&key), after, false);
    pl_buf_deinit(&key);
}

static void hold_object(struct pl_gate_op *op)
{
    struct pl_node existing = pl_doc_root(op->existing);
    struct pl_doc *after = NULL;
    if (gate_hold_merge(op, existing, &after, &op->err) != 0) {
        op->failed = true;
        return;
    }
    if (op->w.verb == PL_VERB_DELETE && op->existing == NULL) {
        op->gone = true;
        return;
    }
    if (!add_effect(op, existing, after, fields_of(op))) {
        pl_doc_unref(after);
        op->result = pl_doc_ref(op->existing);
        op->skipped = true;
        return;
    }
    if (after != NULL && op->existing != NULL && op->w.verb != PL_VERB_DELETE)
        after = renewed(op, after);
    gate_hold_show(op, after);
    op->result = after != NULL ? after : pl_doc_ref(op->existing);
}

void pl_gate_hold(struct pl_gate_op *op)
{
    if (pl_gate_op_is_object(op) && op->w.verb != PL_VERB_DELETE_COLLECTION) {
        hold_object(op);
        return;
    }
    /* Its result is unknown here: a Scale is answered with the request. */
    add_effect(op, PL_NODE_MISSING, NULL, PL_FIELDS_SAME);
    op->result = pl_doc_ref(op->w.body);
}

/* ---- sent ---- */

/* True when the cache has another client's change since the run looked. The status does not count:
 * others change it too, and scripts seldom read it from an answer. */
static bool has_moved_on(struct pl_gate_op *op, const struct pl_doc *cached)
{
    struct pl_scratch s[2];
    struct pl_doc *known = pl_capture_newest(op->w.capture, &op->w.kind, pl_slice_z(op->key));
    struct pl_node a = pl_doc_root(known), b = pl_doc_root(cached);
    bool moved = false;
    if (known != NULL && cached != NULL &&
        !pl_slice_eq(pl_meta_rv(a, &s[0]), pl_meta_rv(b, &s[1]))) {
        struct pl_doc *was = pl_intent_bare(a), *is = pl_intent_bare(b);
        struct pl_paths paths = {0};
        pl_diff(pl_doc_root(was), pl_doc_root(is), PATHS_MAX, &paths);
        for (size_t i = 0; i < paths.count; i++)
            moved = moved || strncmp(paths.items[i], "status", 6) != 0;
        pl_paths_deinit(&paths);
        pl_doc_unref(was);
        pl_doc_unref(is);
    }
    pl_doc_unref(known);
    return moved;
}

void pl_gate_watch(struct pl_gate_op *op)
{
    struct pl_doc *before = NULL, *after = NULL;
    if (!pl_gate_op_is_object(op) || op->w.verb == PL_VERB_DELETE_COLLECTION) {
        add_effect(op, PL_NODE_MISSING, NULL, PL_FIELDS_SAME);
        return;
    }
    bool known = pl_gate_is_covered(op);
    before = pl_gate_cached(op);
    if (before == NULL && !known)
        before = pl_doc_ref(op->existing);
    known = known || before != NULL;
    if (op->w.name.len > 0 && has_moved_on(op, before))
        pl_capture_disturb(op->w.capture);
    if (known && op->w.name.len > 0)
        pl_capture_show(op->w.capture, &op->w.kind, pl_slice_z(op->key), before, true);
    /* A write that the server will refuse is an effect all the same: the candidate may avoid it. */
    struct pl_err why;
    pl_err_clear(&why);
    bool merged = gate_hold_merge(op, pl_doc_root(before), &after, &why) == 0;
    if (merged || !known)
        add_effect(op, pl_doc_root(before), after, PL_FIELDS_SAME);
    if (merged && before != NULL && after != NULL) {
        op->watched[0] = bare(op, pl_doc_root(before));
        op->watched[1] = bare(op, pl_doc_root(after));
    }
    pl_doc_unref(before);
    pl_doc_unref(after);
}

static bool is_same_at(const struct pl_path *path, const struct pl_doc *a, const struct pl_doc *b)
{
    struct pl_node value = pl_path_find(path, pl_doc_root(a));
    return !pl_node_is_missing(value) && pl_node_equal(value, pl_path_find(path, pl_doc_root(b)));
}

/* Detects fields that the write did not change but that differ in the answer. */
void pl_gate_watched(struct pl_gate_op *op, struct pl_doc *answer)
{
    struct pl_paths paths = {0};
    if (answer != NULL && op->w.name.len > 0 && pl_gate_op_is_object(op) &&
        (op->w.verb == PL_VERB_CREATE || op->w.verb == PL_VERB_UPDATE ||
         op->w.verb == PL_VERB_PATCH))
        pl_capture_answered(op->w.capture, &op->w.kind, pl_slice_z(op->key), answer);
    if (op->watched[0] == NULL || answer == NULL || pl_gate_op_is_status(op))
        return;
    struct pl_doc *stored = bare(op, pl_doc_root(answer));
    pl_diff(pl_doc_root(op->watched[1]), pl_doc_root(stored), PATHS_MAX, &paths);
    for (size_t i = 0; i < paths.count; i++) {
        struct pl_path *path = pl_path_parse(pl_slice_z(paths.items[i]), NULL);
        bool left = path != NULL && strncmp(paths.items[i], "status", 6) != 0 &&
                    is_same_at(path, op->watched[0], op->watched[1]);
        if (left && !pl_node_is_missing(pl_path_find(path, pl_doc_root(stored))))
            pl_capture_disturb(op->w.capture);
        pl_path_destroy(path);
    }
    pl_paths_deinit(&paths);
    pl_doc_unref(stored);
}

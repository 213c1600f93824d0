/* Computes a write's result: the server's work, as far as it can be done here. */
#include "write/capture.h"

#include "base/buf.h"
#include "value/build.h"
#include "object/meta.h"
#include "object/patch.h"

#include <stdio.h>

static int capture_merge_refuse(struct pl_err *err, int status, const char *reason,
                                const char *message)
{
    pl_err_set(err, PL_EAPI, "%s (shadow: nothing was sent)", message);
    if (err != NULL) {
        err->status = status;
        snprintf(err->reason, sizeof err->reason, "%s", reason);
    }
    return PL_EAPI;
}

static struct pl_doc *text_doc(const char *text, struct pl_slice more)
{
    struct pl_build *b = pl_build_create(NULL);
    struct pl_buf all = PL_BUF_INIT;
    pl_buf_add_slice(&all, more);
    pl_buf_add_z(&all, text);
    pl_build_str(b, pl_buf_slice(&all));
    struct pl_doc *doc = pl_build_close(b);
    pl_buf_deinit(&all);
    return doc;
}

/* Takes doc; PL_MISSING removes. */
static struct pl_doc *with(struct pl_doc *doc, const char *a, const char *b, struct pl_node value)
{
    const char *keys[] = {a, b};
    struct pl_doc *result = pl_doc_with(pl_doc_root(doc), keys, b != NULL ? 2 : 1, value);
    if (result == NULL)
        return doc;
    pl_doc_unref(doc);
    return result;
}

static struct pl_doc *with_text(struct pl_doc *doc, const char *field, const char *text)
{
    struct pl_doc *value = text_doc(text, pl_slice("", 0));
    doc = with(doc, "metadata", field, pl_doc_root(value));
    pl_doc_unref(value);
    return doc;
}

/* ---- verbs ---- */

static struct pl_doc *born(const struct pl_intent *intent)
{
    struct pl_doc *doc = pl_doc_from_node(intent->body, NULL);
    struct pl_scratch scratch;
    struct pl_node prefix = pl_node_dig(intent->body, "metadata", "generateName");
    if (pl_meta_name(intent->body, &scratch).len == 0 && pl_node_type(prefix) == PL_STRING) {
        struct pl_doc *name = text_doc(intent->made_up, pl_node_str(prefix, &scratch));
        doc = with(doc, "metadata", "name", pl_doc_root(name));
        pl_doc_unref(name);
    }
    if (intent->has_status)
        doc = with(doc, "status", NULL, PL_NODE_MISSING);
    doc = with_text(doc, "uid", intent->made_up);
    doc = with_text(doc, "resourceVersion", intent->made_up);
    return with_text(doc, "creationTimestamp", intent->now);
}

/* Limits a changed object to the members that this request may change: only its status, or
 * everything else. Takes changed. */
static struct pl_doc *confined(const struct pl_intent *intent, struct pl_doc *changed)
{
    struct pl_node existing = intent->existing;
    if (intent->is_status) {
        struct pl_doc *doc = with(pl_doc_from_node(existing, NULL), "status", NULL,
                                  pl_node_getz(pl_doc_root(changed), "status"));
        pl_doc_unref(changed);
        return doc;
    }
    static const char kept[][28] = {"uid", "creationTimestamp", "generation", "deletionTimestamp",
                                    "deletionGracePeriodSeconds"};
    for (size_t i = 0; i < PL_ARRAY_LEN(kept); i++) {
        struct pl_node value = pl_node_dig(existing, "metadata", kept[i]);
        if (!pl_node_equal(value, pl_node_dig(pl_doc_root(changed), "metadata", kept[i])))
            changed = with(changed, "metadata", kept[i], value);
    }
    if (intent->has_status)
        changed = with(changed, "status", NULL, pl_node_getz(existing, "status"));
    return changed;
}

/* Takes doc; returns NULL when neither finalizers nor a grace period keep it. */
static struct pl_doc *unless_gone(struct pl_doc *doc)
{
    if (!pl_meta_is_deleting(pl_doc_root(doc)) || pl_meta_is_held(pl_doc_root(doc)))
        return doc;
    pl_doc_unref(doc);
    return NULL;
}

static struct pl_doc *deleted(const struct pl_intent *intent)
{
    if (pl_node_is_missing(intent->existing))
        return NULL;
    struct pl_doc *doc = pl_doc_from_node(intent->existing, NULL);
    if (pl_meta_is_deleting(intent->existing))
        return doc;
    return unless_gone(with_text(doc, "deletionTimestamp", intent->now));
}

static struct pl_doc *patched(const struct pl_intent *intent, struct pl_err *err)
{
    switch (intent->patch_type) {
    case PL_PATCH_JSON:
        return pl_patch_json(intent->existing, intent->body, err);
    case PL_PATCH_STRATEGIC:
    case PL_PATCH_APPLY: /* for applies the server merges lists by the same keys, with few
                            exceptions */
        return pl_patch_strategic(intent->existing, intent->body, pl_schema_builtin(intent->kind),
                                  err);
    default:
        return pl_patch_merge(intent->existing, intent->body, err);
    }
}

int pl_intent_merge(const struct pl_intent *intent, struct pl_doc **after, struct pl_err *err)
{
    bool exists = !pl_node_is_missing(intent->existing);
    bool creates = intent->verb == PL_VERB_CREATE ||
                   (intent->verb == PL_VERB_PATCH && intent->patch_type == PL_PATCH_APPLY &&
                    !exists && !intent->is_status);
    *after = NULL;
    if (intent->verb == PL_VERB_CREATE && exists)
        return capture_merge_refuse(err, 409, "AlreadyExists", "the object exists already");
    if (intent->verb == PL_VERB_DELETE) {
        *after = deleted(intent);
        return 0;
    }
    if (creates) {
        *after = born(intent);
        return 0;
    }
    if (!exists)
        return capture_merge_refuse(err, 404, "NotFound", "the object was not found");
    struct pl_err why;
    pl_err_clear(&why);
    struct pl_doc *changed = intent->verb == PL_VERB_UPDATE ? pl_doc_from_node(intent->body, NULL)
                                                            : patched(intent, &why);
    if (changed == NULL)
        return capture_merge_refuse(err, 422, "Invalid", why.message);
    *after = unless_gone(confined(intent, changed));
    return 0;
}

/* ---- comparable forms ---- */

/* An owner whose uid was made up here cannot be compared by uid. */
static void add_owners(struct pl_build *b, struct pl_node owners)
{
    pl_build_array(b);
    for (struct pl_iter it = pl_iter(owners); pl_iter_next(&it);) {
        pl_build_object(b);
        for (struct pl_iter member = pl_iter(it.value); pl_iter_next(&member);) {
            if (pl_slice_eqz(member.key, "uid"))
                continue;
            pl_build_key(b, member.key);
            pl_build_node(b, member.value);
        }
        pl_build_end(b);
    }
    pl_build_end(b);
}

static void add_metadata(struct pl_build *b, struct pl_node metadata)
{
    pl_build_object(b);
    for (struct pl_iter it = pl_iter(metadata); pl_iter_next(&it);) {
        if (pl_meta_is_server_owned(it.key))
            continue;
        pl_build_key(b, it.key);
        if (pl_slice_eqz(it.key, "ownerReferences") && pl_node_type(it.value) == PL_ARRAY)
            add_owners(b, it.value);
        else if (pl_slice_eqz(it.key, "deletionTimestamp"))
            pl_build_strz(b, "set");
        else
            pl_build_node(b, it.value);
    }
    pl_build_end(b);
}

struct pl_doc *pl_intent_bare(struct pl_node object)
{
    if (pl_node_type(object) != PL_OBJECT) /* a JSON patch */
        return pl_doc_from_node(object, NULL);
    struct pl_build *b = pl_build_create(NULL);
    pl_build_object(b);
    for (struct pl_iter it = pl_iter(object); pl_iter_next(&it);) {
        bool metadata = pl_slice_eqz(it.key, "metadata") && pl_node_type(it.value) == PL_OBJECT;
        if (pl_slice_eqz(it.key, "apiVersion") || pl_slice_eqz(it.key, "kind"))
            continue; /* list items lack them, and the effect's name contains them */
        pl_build_key(b, it.key);
        if (metadata)
            add_metadata(b, it.value);
        else
            pl_build_node(b, it.value);
    }
    pl_build_end(b);
    return pl_build_close(b);
}

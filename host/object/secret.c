/* A Secret is recognised by its apiVersion and kind. */
#include "object/secret.h"

#include "base/base64.h"
#include "base/buf.h"
#include "object/meta.h"
#include "value/scan.h"

/* Registers a text, and what it contains as base64; does nothing for other values. */
static void note_text(struct pl_secrets *secrets, struct pl_node value)
{
    struct pl_scratch scratch;
    if (pl_node_type(value) != PL_STRING)
        return;
    struct pl_slice text = pl_node_str(value, &scratch);
    struct pl_buf decoded = PL_BUF_INIT;
    pl_secrets_add(secrets, text);
    if (pl_base64_decode(text, &decoded))
        pl_secrets_add(secrets, pl_buf_slice(&decoded));
    pl_buf_deinit(&decoded);
}

void pl_secret_note_values(struct pl_secrets *secrets, struct pl_node node)
{
    note_text(secrets, node);
    if (pl_node_type(node) != PL_OBJECT)
        return;
    for (struct pl_iter it = pl_iter(node); pl_iter_next(&it);)
        note_text(secrets, it.value);
}

/* ---- documents ---- */

static void note_members(struct pl_secrets *secrets, struct pl_node object)
{
    pl_secret_note_values(secrets, pl_node_getz(object, "data"));
    pl_secret_note_values(secrets, pl_node_getz(object, "stringData"));
}

void pl_secret_note_applied(struct pl_secrets *secrets, struct pl_slice text)
{
    struct pl_doc *doc = pl_scan_text(text, &(struct pl_scan_options){0}, NULL);
    if (doc != NULL)
        note_members(secrets, pl_doc_root(doc));
    pl_doc_unref(doc);
}

void pl_secret_note_annotations(struct pl_secrets *secrets, struct pl_node annotations)
{
    struct pl_scratch scratch;
    struct pl_node applied = pl_node_getz(annotations, PL_META_APPLIED);
    if (pl_node_type(applied) == PL_STRING)
        pl_secret_note_applied(secrets, pl_node_str(applied, &scratch));
}

static void note_whole(struct pl_secrets *secrets, struct pl_node object)
{
    note_members(secrets, object);
    pl_secret_note_annotations(secrets, pl_node_dig(object, "metadata", "annotations"));
}

static bool has_kind(struct pl_node object, const char *kind)
{
    return pl_node_str_eq(pl_node_getz(object, "kind"), pl_slice_z(kind));
}

bool pl_secret_is_one(struct pl_node object)
{
    return pl_node_type(object) == PL_OBJECT && has_kind(object, "Secret") &&
           pl_node_str_eq(pl_node_getz(object, "apiVersion"), pl_slice_z("v1"));
}

static void note_object(struct pl_secrets *secrets, struct pl_node object)
{
    if (pl_secret_is_one(object))
        note_whole(secrets, object);
}

/* Items of a SecretList have no kind of their own. */
static void note_items(struct pl_secrets *secrets, struct pl_node items, bool are_secrets)
{
    if (pl_node_type(items) != PL_ARRAY)
        return;
    for (struct pl_iter it = pl_iter(items); pl_iter_next(&it);) {
        if (are_secrets)
            note_whole(secrets, it.value);
        else
            note_object(secrets, it.value);
    }
}

void pl_secret_note_answer(struct pl_secrets *secrets, struct pl_node root)
{
    if (pl_node_type(root) == PL_ARRAY)
        note_items(secrets, root, false);
    if (pl_node_type(root) != PL_OBJECT)
        return;
    note_object(secrets, root);
    if (has_kind(root, "SecretList") || has_kind(root, "List"))
        note_items(secrets, pl_node_getz(root, "items"), has_kind(root, "SecretList"));
}

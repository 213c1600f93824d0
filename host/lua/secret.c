/* A level of a Secret knows by the flags of its object that it is one, so other objects cost one
 * test of a flag. In other documents, a Secret is recognised by its apiVersion and kind. */
#include "lua/secret.h"

#include "base/base64.h"
#include "lua/lazy.h"
#include "object/hide.h"
#include "value/scan.h"

/* Registers a text, and what it contains as base64; does nothing for other values. */
static void note_text(struct pl_state *s, struct pl_node value)
{
    struct pl_scratch scratch;
    if (pl_node_type(value) != PL_STRING)
        return;
    struct pl_slice text = pl_node_str(value, &scratch);
    struct pl_buf decoded = PL_BUF_INIT;
    pl_secrets_add(&s->secrets, text);
    if (pl_base64_decode(text, &decoded))
        pl_secrets_add(&s->secrets, pl_buf_slice(&decoded));
    pl_buf_deinit(&decoded);
}

void pl_secret_note_values(struct pl_state *s, struct pl_node node)
{
    note_text(s, node);
    if (pl_node_type(node) != PL_OBJECT)
        return;
    for (struct pl_iter it = pl_iter(node); pl_iter_next(&it);)
        note_text(s, it.value);
}

/* ---- documents ---- */

static void note_members(struct pl_state *s, struct pl_node object)
{
    pl_secret_note_values(s, pl_node_getz(object, "data"));
    pl_secret_note_values(s, pl_node_getz(object, "stringData"));
}

void pl_secret_note_applied(struct pl_state *s, struct pl_slice text)
{
    struct pl_doc *doc = pl_scan_text(text, &(struct pl_scan_options){0}, NULL);
    if (doc != NULL)
        note_members(s, pl_doc_root(doc));
    pl_doc_unref(doc);
}

static void note_annotations(struct pl_state *s, struct pl_node annotations)
{
    struct pl_scratch scratch;
    struct pl_node applied = pl_node_getz(annotations, PL_HIDE_APPLIED);
    if (pl_node_type(applied) == PL_STRING)
        pl_secret_note_applied(s, pl_node_str(applied, &scratch));
}

static void note_whole(struct pl_state *s, struct pl_node object)
{
    note_members(s, object);
    note_annotations(s, pl_node_dig(object, "metadata", "annotations"));
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

static void note_object(struct pl_state *s, struct pl_node object)
{
    if (pl_secret_is_one(object))
        note_whole(s, object);
}

/* Items of a SecretList have no kind of their own. */
static void note_items(struct pl_state *s, struct pl_node items, bool are_secrets)
{
    if (pl_node_type(items) != PL_ARRAY)
        return;
    for (struct pl_iter it = pl_iter(items); pl_iter_next(&it);) {
        if (are_secrets)
            note_whole(s, it.value);
        else
            note_object(s, it.value);
    }
}

void pl_secret_note_answer(struct pl_state *s, struct pl_node root)
{
    if (pl_node_type(root) == PL_ARRAY)
        note_items(s, root, false);
    if (pl_node_type(root) != PL_OBJECT)
        return;
    note_object(s, root);
    if (has_kind(root, "SecretList") || has_kind(root, "List"))
        note_items(s, pl_node_getz(root, "items"), has_kind(root, "SecretList"));
}

/* ---- levels ---- */

/* Members that are not entries of the table yet. */
static void note_untaken(struct pl_state *s, const struct pl_level *level, bool is_root)
{
    for (struct pl_iter it = pl_iter(level->node); pl_iter_next(&it);) {
        if (pl_level_has_taken(level, it.index))
            continue;
        if (!is_root)
            note_text(s, it.value);
        else if (pl_secret_is_key(it.key))
            pl_secret_note_values(s, it.value);
    }
}

void pl_secret_note_level(lua_State *L, struct pl_state *s, int index, const struct pl_level *level)
{
    if (!(level->flags & PL_OBJECT_SECRET))
        return;
    struct pl_node node = level->node;
    bool is_root = pl_node_is_same(node, pl_doc_root(node.doc));
    if (is_root || pl_lazy_is_secret(L, s, index))
        note_untaken(s, level, is_root);
    note_annotations(s, node);
    note_annotations(s,
                     pl_node_getz(is_root ? pl_node_getz(node, "metadata") : node, "annotations"));
}

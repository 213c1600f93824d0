/* Values of expressions as parts of documents. Numbers are written as kube-apiserver writes them in
 * JSON. A part of a document that the value shares is copied. The depth of values is limited by
 * that of expressions and documents, so functions recurse. */
#include "cel/value.h"

#include "base/base64.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>

#define EXACT_INTEGER (INT64_C(1) << 53) /* larger ones are texts in JSON patches */

struct writer {
    struct pl_arena *arena;
    enum pl_cel_document form;
    struct pl_cel *error; /* the first one */
};

static struct pl_tree *document_of(struct writer *w, struct pl_cel value);

static struct pl_tree *cannot(struct writer *w, struct pl_cel value)
{
    struct pl_buf type = PL_BUF_INIT;
    if (value.kind == PL_CEL_LIST)
        pl_buf_add_z(&type, "list(dyn)");
    else if (value.kind == PL_CEL_MAP || value.kind == PL_CEL_OBJECT)
        pl_buf_add_z(&type, "map(dyn, dyn)");
    else
        pl_buf_add_z(&type, pl_cel_kind_name(value.kind));
    if (!pl_cel_is_error(*w->error))
        *w->error = pl_cel_fail(w->arena, "type conversion error from '%s' to '*structpb.Value'",
                                pl_buf_z(&type));
    pl_buf_deinit(&type);
    return pl_tree_literal(w->arena, "null");
}

static struct pl_tree *number(struct writer *w, struct pl_slice text)
{
    struct pl_tree *tree = pl_tree_int(w->arena, 0);
    tree->text = text;
    return tree;
}

static struct pl_tree *integer(struct writer *w, int64_t value)
{
    bool exact = value <= EXACT_INTEGER && value >= -EXACT_INTEGER;
    return exact || w->form == PL_CEL_AS_OBJECT
               ? pl_tree_int(w->arena, value)
               : pl_tree_str(w->arena, pl_arena_f(w->arena, "%" PRId64, value));
}

static struct pl_tree *floating(struct writer *w, double value)
{
    if (isnan(value) || isinf(value))
        return cannot(w, pl_cel_double(value));
    if (value == trunc(value) && fabs(value) < (double)EXACT_INTEGER)
        return pl_tree_int(w->arena, (int64_t)value);
    char text[32];
    pl_text_of_double(value, text);
    return number(w, pl_arena_copy(w->arena, pl_slice_z(text)));
}

static struct pl_tree *bytes(struct writer *w, struct pl_slice raw)
{
    struct pl_buf out = PL_BUF_INIT;
    pl_base64_encode(raw, &out);
    struct pl_tree *tree = pl_tree_str(w->arena, pl_buf_slice(&out));
    pl_buf_deinit(&out);
    return tree;
}

static struct pl_tree *list(struct writer *w, const struct pl_cel_list *values)
{
    struct pl_tree *tree = pl_tree_array(w->arena);
    for (size_t i = 0; i < values->count; i++)
        pl_tree_push(w->arena, tree, document_of(w, values->items[i]));
    return tree;
}

static struct pl_tree *write_members(struct writer *w, struct pl_cel value)
{
    struct pl_tree *tree = pl_tree_object(w->arena);
    for (size_t i = 0; i < value.map->count; i++) {
        const struct pl_cel_entry *entry = &value.map->entries[i];
        if (entry->key.kind != PL_CEL_STRING)
            return cannot(w, value);
        pl_tree_set(w->arena, tree, entry->key.s, document_of(w, entry->value));
    }
    return tree;
}

static struct pl_tree *document_of(struct writer *w, struct pl_cel value)
{
    bool has_parts =
        value.kind == PL_CEL_LIST || value.kind == PL_CEL_MAP || value.kind == PL_CEL_OBJECT;
    if (has_parts && value.is_tree)
        return w->form == PL_CEL_AS_JSON && value.type != NULL ? cannot(w, value)
                                                               : pl_tree_copy(w->arena, value.tree);
    switch (value.kind) {
    case PL_CEL_NULL:
        return pl_tree_literal(w->arena, "null");
    case PL_CEL_BOOL:
        return pl_tree_bool(w->arena, value.b);
    case PL_CEL_INT:
        return integer(w, value.i);
    case PL_CEL_UINT:
        return value.u <= INT64_MAX ? integer(w, (int64_t)value.u) : cannot(w, value);
    case PL_CEL_DOUBLE:
        return floating(w, value.d);
    case PL_CEL_STRING:
        return pl_tree_str(w->arena, value.s);
    case PL_CEL_BYTES:
        return bytes(w, value.s);
    case PL_CEL_LIST:
        return list(w, value.list);
    case PL_CEL_MAP:
    case PL_CEL_OBJECT:
        return write_members(w, value);
    default:
        return cannot(w, value);
    }
}

struct pl_tree *pl_cel_to_tree(struct pl_arena *arena, struct pl_cel value,
                               enum pl_cel_document form, struct pl_cel *error)
{
    struct writer w = {.arena = arena, .form = form, .error = error};
    *error = pl_cel_null();
    struct pl_tree *tree = document_of(&w, value);
    return pl_cel_is_error(*error) ? NULL : tree;
}

/* ---- the names of types ---- */

static void add_misnamed(struct pl_arena *arena, struct pl_cel value, struct pl_slice path,
                         struct pl_buf *why)
{
    if (value.is_tree)
        return;
    if (value.kind == PL_CEL_LIST)
        for (size_t i = 0; i < value.list->count; i++)
            add_misnamed(arena, value.list->items[i], path, why);
    if (value.kind != PL_CEL_MAP && value.kind != PL_CEL_OBJECT)
        return;
    const struct pl_cel_type *type = value.kind == PL_CEL_OBJECT ? value.map->type : NULL;
    if (type != NULL && !pl_slice_eqz(path, type->name))
        pl_buf_add_f(why,
                     "%sunexpected type name \"%s\", expected \"%.*s\", which matches field name "
                     "path from root Object type",
                     why->len > 0 ? "\n" : "", type->name, PL_FMT(path));
    for (size_t i = 0; i < value.map->count; i++) {
        const struct pl_cel_entry *entry = &value.map->entries[i];
        struct pl_slice inner =
            type == NULL ? path
                         : pl_arena_f(arena, "%.*s.%.*s", PL_FMT(path), PL_FMT(entry->key.s));
        add_misnamed(arena, entry->value, inner, why);
    }
}

bool pl_cel_names_fit(struct pl_arena *arena, struct pl_cel object, struct pl_buf *why)
{
    if (object.kind != PL_CEL_OBJECT || object.is_tree || object.map->type == NULL)
        return true;
    size_t before = why->len;
    add_misnamed(arena, object, pl_slice_z(object.map->type->name), why);
    return why->len == before;
}

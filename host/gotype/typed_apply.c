/* The messages of server-side apply about an object that does not fit its kind. kube-apiserver
 * reads applied objects by their schema and not into Go's types, so the messages differ from the
 * decoder's. Only the first mistake in the document's order is reported. Checked against
 * kube-apiserver 1.37. */
#include "gotype/typed.h"

#include "object/go_map.h"
#include "base/buf.h"
#include "base/map.h"
#include "gotype/packed.h"
#include "gotype/typed_scalar.h"

#include <string.h>

static const char *typed_apply_check_object(struct pl_arena *arena, const struct pl_tree *object,
                                            struct pl_message type, struct pl_slice path);

/* The value as Go's source would have it. */
static void add_syntax(struct pl_buf *out, const struct pl_tree *value)
{
    bool map = value->type == PL_OBJECT;
    if (value->type != PL_OBJECT && value->type != PL_ARRAY) {
        pl_tree_write(out, value);
        return;
    }
    pl_buf_add_z(out, map ? "map[string]interface {}{" : "[]interface {}{");
    PL_TREE_FOR(item, value)
    {
        if (item != value->first)
            pl_buf_add_z(out, ", ");
        if (map)
            pl_buf_add_f(out, "\"%.*s\":", PL_FMT(item->key));
        add_syntax(out, item->value);
    }
    pl_buf_add_char(out, '}');
}

const char *pl_typed_apply_wrong(struct pl_arena *arena, struct pl_slice path, const char *wants,
                                 const struct pl_tree *value)
{
    if (strcmp(wants, "number") == 0)
        return pl_arena_f(arena, "%.*s: expected numeric (int or float), got %s", PL_FMT(path),
                          pl_typed_json_name(value))
            .ptr;
    struct pl_buf buf = PL_BUF_INIT;
    bool syntax = strcmp(wants, "string") == 0;
    if (syntax)
        add_syntax(&buf, value);
    else
        pl_go_map_write(&buf, value);
    struct pl_slice out =
        pl_arena_f(arena, "%.*s: expected %s, got &%s%s}", PL_FMT(path), wants,
                   syntax ? "value.valueUnstructured{Value:" : "{", pl_buf_z(&buf));
    pl_buf_deinit(&buf);
    return out.ptr;
}

static const char *check_scalar(struct pl_arena *arena, const struct pl_message_field *field,
                                const struct pl_tree *value, struct pl_slice path)
{
    switch (field->form) {
    case PL_FORM_STRING:
    case PL_FORM_BYTES:
    case PL_FORM_TIME:
    case PL_FORM_MICROTIME:
    case PL_FORM_DURATION:
        return value->type == PL_STRING ? NULL : pl_typed_apply_wrong(arena, path, "string", value);
    case PL_FORM_BOOL:
        return value->type == PL_BOOL ? NULL : pl_typed_apply_wrong(arena, path, "boolean", value);
    case PL_FORM_INT32:
    case PL_FORM_INT64:
    case PL_FORM_DOUBLE:
        return value->type == PL_NUMBER ? NULL : pl_typed_apply_wrong(arena, path, "number", value);
    default:
        return NULL;
    }
}

static const char *check_one(struct pl_arena *arena, const struct pl_message_field *field,
                             const struct pl_tree *value, struct pl_slice path)
{
    if (value->type == PL_NULL)
        return NULL;
    if (field->form != PL_FORM_MESSAGE)
        return check_scalar(arena, field, value, path);
    if (value->type != PL_OBJECT)
        return pl_typed_apply_wrong(arena, path, "map", value);
    return typed_apply_check_object(arena, value, field->message, path);
}

/* The element's part of a path: [name="c"], or [0] in a list without keys. */
static struct pl_slice element(struct pl_arena *arena, const struct pl_message_field *field,
                               const struct pl_tree *value, struct pl_slice path, size_t index)
{
    if (!(field->flags & PL_PACKED_MAP))
        return pl_arena_f(arena, "%.*s[%zu]", PL_FMT(path), index);
    struct pl_buf keys = PL_BUF_INIT;
    struct pl_message_field of_key;
    for (const char *at = field->list_keys; *at != '\0';) {
        size_t len = strcspn(at, ",");
        const struct pl_tree *key = pl_tree_get(value, pl_slice(at, len));
        if (key == NULL && pl_message_get(field->message, pl_slice(at, len), &of_key) &&
            *of_key.json_default != '\0')
            key = pl_tree_literal(arena, of_key.json_default);
        if (key != NULL) {
            pl_buf_add_f(&keys, "%s%.*s=", keys.len > 0 ? "," : "", (int)len, at);
            pl_tree_write(&keys, key);
        }
        at += len + (at[len] == ',');
    }
    struct pl_slice out = pl_arena_f(arena, "%.*s[%s]", PL_FMT(path), pl_buf_z(&keys));
    pl_buf_deinit(&keys);
    return out;
}

/* The identity of an element: its keys, or its value in a set. Empty: elements of this list have
 * none. */
static struct pl_slice same_as(struct pl_arena *arena, const struct pl_message_field *field,
                               const struct pl_tree *value)
{
    struct pl_slice none = pl_slice("", 0);
    if (field->flags & PL_PACKED_MAP) {
        struct pl_slice shown = element(arena, field, value, none, 0);
        return shown.len > 2 ? shown : none;
    }
    if (!(field->flags & PL_PACKED_SET) || !pl_tree_is(value, PL_STRING))
        return none;
    struct pl_buf text = PL_BUF_INIT;
    pl_tree_write(&text, value);
    struct pl_slice out = pl_arena_f(arena, "[=%s]", pl_buf_z(&text));
    pl_buf_deinit(&text);
    return out;
}

static const char *check_twice(struct pl_arena *arena, const struct pl_message_field *field,
                               const struct pl_tree *list, struct pl_slice path)
{
    struct pl_map seen = PL_MAP_INIT;
    const char *mistake = NULL;
    PL_TREE_FOR(item, list)
    {
        struct pl_slice key = same_as(arena, field, item->value);
        if (key.len > 0 && pl_map_has(&seen, key)) {
            mistake =
                pl_arena_f(arena, "%.*s: duplicate entries for key %.*s", PL_FMT(path), PL_FMT(key))
                    .ptr;
            break;
        }
        if (key.len > 0)
            pl_map_put(&seen, key, item->value);
    }
    pl_map_deinit(&seen);
    return mistake;
}

static const char *check_many(struct pl_arena *arena, const struct pl_message_field *field,
                              const struct pl_tree *value, struct pl_slice path)
{
    bool list = field->many == PL_MANY_LIST;
    if (value->type == PL_NULL)
        return NULL;
    if (value->type != (list ? PL_ARRAY : PL_OBJECT))
        return pl_typed_apply_wrong(arena, path, list ? "list" : "map", value);
    size_t i = 0;
    PL_TREE_FOR(item, value)
    {
        struct pl_slice inner =
            list ? element(arena, field, item->value, path, i++)
                 : pl_arena_f(arena, "%.*s.%.*s", PL_FMT(path), PL_FMT(item->key));
        const char *mistake = check_one(arena, field, item->value, inner);
        if (mistake != NULL)
            return mistake;
    }
    return list ? check_twice(arena, field, value, path) : NULL;
}

static const char *typed_apply_check_object(struct pl_arena *arena, const struct pl_tree *object,
                                            struct pl_message type, struct pl_slice path)
{
    PL_TREE_FOR(item, object)
    {
        struct pl_message_field field;
        struct pl_slice inner = pl_arena_f(arena, "%.*s.%.*s", PL_FMT(path), PL_FMT(item->key));
        bool envelope = pl_slice_eqz(item->key, "apiVersion") || pl_slice_eqz(item->key, "kind");
        const char *mistake = NULL;
        if (pl_message_get(type, item->key, &field))
            mistake = field.many == PL_MANY_ONE ? check_one(arena, &field, item->value, inner)
                                                : check_many(arena, &field, item->value, inner);
        else if (!envelope || !pl_message_has_kind(type))
            mistake = pl_arena_f(arena, "%.*s: field not declared in schema", PL_FMT(inner)).ptr;
        if (mistake != NULL)
            return mistake;
    }
    return NULL;
}

const char *pl_typed_apply_error(struct pl_arena *arena, const struct pl_tree *object,
                                 struct pl_message type)
{
    return typed_apply_check_object(arena, object, type, pl_slice("", 0));
}

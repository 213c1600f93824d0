/* Reads an object as Go's JSON decoder does. Fields are matched by their exact names. A value of a
 * wrong type does not stop the reading; the first of them is reported at the end. A malformed text
 * (a time, a quantity, base64) is reported at once. Members that a strict decoder would refuse are
 * collected. The object is cleaned in place. Messages and their order were checked against
 * kube-apiserver 1.37. */
#include "gotype/typed.h"

#include "base/map.h"
#include "gotype/packed.h"
#include "gotype/typed_scalar.h"

#include <string.h>

/* The place of a value, for messages: Go's have no indices, strict ones have them. */
struct place {
    struct pl_slice go, strict;
    const char *owner; /* name in Go of the type that has the field */
};

struct reading {
    struct pl_typed *t;
    struct pl_slice first; /* message about the first value of a wrong type */
    bool is_over;
    bool is_lax; /* Go's type reads itself, and does not report unknown fields */
};

static void read_object(struct reading *r, struct pl_tree *object, struct pl_message type,
                        const struct place *at);

static struct pl_arena *arena_of(const struct reading *r)
{
    return r->t->arena;
}

static void tell_strict(struct reading *r, const char *what, struct pl_slice path)
{
    if (r->t->strict == NULL)
        r->t->strict = pl_tree_array(arena_of(r));
    struct pl_slice text = pl_arena_f(arena_of(r), "%s field \"%.*s\"", what, PL_FMT(path));
    PL_TREE_FOR(item, r->t->strict)
    if (pl_slice_eq(item->value->text, text))
        return;
    pl_tree_push(arena_of(r), r->t->strict, pl_tree_str(arena_of(r), text));
}

/* "string" for "v1.Protocol": what the type is made of. */
static struct pl_slice go_kind_of(struct pl_slice type)
{
    const char *dot = pl_slice_chr(type, '.');
    return dot == NULL ? type : pl_slice_z("string");
}

/* The words of the converter, which a strategic patch passes. */
static struct pl_slice converter_text(struct reading *r, const struct pl_tree *value,
                                      const struct pl_message_field *field, bool is_inside,
                                      struct pl_slice wants)
{
    static const char *const names[] = {[PL_OBJECT] = "map",
                                        [PL_ARRAY] = "slice",
                                        [PL_STRING] = "string",
                                        [PL_BOOL] = "bool",
                                        [PL_NUMBER] = "int64"};
    struct pl_slice kind = go_kind_of(wants);
    const char *is = names[value->type];
    if (value->type == PL_NUMBER &&
        (pl_slice_chr(value->text, '.') != NULL || pl_slice_chr(value->text, 'e') != NULL))
        is = "float64";
    if (field->many != PL_MANY_ONE && !is_inside)
        return pl_arena_f(arena_of(r), "cannot restore %s from %s",
                          field->many == PL_MANY_MAP ? "map" : "slice", is);
    if (field->form == PL_FORM_MESSAGE)
        return pl_arena_f(arena_of(r), "cannot restore struct from: %s", is);
    if (field->form >= PL_FORM_TIME)
        return pl_arena_f(arena_of(r), "json: cannot unmarshal %s into Go value of type %.*s",
                          pl_typed_json_name(value), PL_FMT(wants));
    if (value->type == PL_NUMBER && !pl_slice_eqz(kind, "bool"))
        return pl_arena_f(arena_of(r), "cannot convert %s to %.*s", is, PL_FMT(wants));
    return pl_arena_f(arena_of(r), "unrecognized type: %.*s", PL_FMT(kind));
}

/* The message shows a number if an integer was expected. */
static void tell_type(struct reading *r, const struct pl_message_field *field, bool is_inside,
                      const struct pl_tree *value, const struct place *at, struct pl_slice wants)
{
    bool number = value->type == PL_NUMBER &&
                  (memcmp(wants.ptr, "int", 3) == 0 || memcmp(wants.ptr, "uin", 3) == 0);
    if (r->first.len > 0)
        return;
    if (r->t->of_map)
        r->first = converter_text(r, value, field, is_inside, wants);
    else
        r->first = pl_arena_f(arena_of(r),
                              "json: cannot unmarshal %s%s%.*s into Go struct field %s.%.*s of "
                              "type %.*s",
                              pl_typed_json_name(value), number ? " " : "",
                              number ? (int)value->text.len : 0, value->text.ptr, at->owner,
                              PL_FMT(at->go), PL_FMT(wants));
}

static void read_schema_or(struct reading *r, const struct pl_message_field *field,
                           struct pl_tree *value, const struct place *at)
{
    struct pl_message schema = pl_message_find(
        pl_slice_z("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"));
    bool was_lax = r->is_lax;
    size_t i = 0;
    r->is_lax = true;
    if (value->type == PL_OBJECT)
        read_object(r, value, schema, at);
    if (value->type == PL_ARRAY && field->form == PL_FORM_SCHEMA_OR_ARRAY)
        PL_TREE_FOR(item, value)
        {
            struct place inner = *at;
            inner.strict = pl_arena_f(arena_of(r), "%.*s[%zu]", PL_FMT(at->strict), i++);
            if (item->value->type == PL_OBJECT)
                read_object(r, item->value, schema, &inner);
        }
    r->is_lax = was_lax;
}

/* Reads a single value, not a list or map. */
static void read_one(struct reading *r, const struct pl_message_field *field, struct pl_tree *value,
                     const struct place *at)
{
    struct pl_slice wants, error = {NULL, 0};
    if (field->form == PL_FORM_MESSAGE) {
        if (value->type == PL_OBJECT)
            read_object(r, value, field->message, at);
        else if (value->type != PL_NULL)
            tell_type(r, field, true, value, at, pl_typed_go_name(arena_of(r), field));
        return;
    }
    if (field->form >= PL_FORM_SCHEMA_OR_ARRAY)
        read_schema_or(r, field, value, at);
    else if (value->type != PL_NULL &&
             !pl_typed_scalar(arena_of(r), field, value, &wants, &error)) {
        if (error.len == 0) {
            tell_type(r, field, true, value, at, wants);
            return;
        }
        r->t->error = error;
        r->is_over = true;
    }
}

/* Go reads null in a list or map as the empty value of the element's type. */
static void replace_null(struct reading *r, const struct pl_message_field *field,
                         struct pl_tree_item *item)
{
    struct pl_arena *arena = arena_of(r);
    if (item->value->type != PL_NULL)
        return;
    if (field->form == PL_FORM_MESSAGE)
        item->value = pl_tree_object(arena);
    else if (field->form == PL_FORM_STRING || field->form == PL_FORM_BYTES)
        item->value = pl_tree_strz(arena, "");
    else if (field->form == PL_FORM_QUANTITY)
        item->value = pl_tree_strz(arena, "0");
    else if (field->form == PL_FORM_INT32 || field->form == PL_FORM_INT64)
        item->value = pl_tree_int(arena, 0);
}

static struct pl_slice collection_name(struct reading *r, const struct pl_message_field *field)
{
    struct pl_slice of = pl_typed_go_name(arena_of(r), field);
    if (field->many == PL_MANY_LIST)
        return pl_arena_f(arena_of(r), "[]%.*s", PL_FMT(of));
    if (*field->go != '\0' && field->form != PL_FORM_STRINGS)
        return pl_slice_z(field->go);
    return pl_arena_f(arena_of(r), "map[string]%.*s",
                      PL_FMT(*field->go != '\0' ? pl_slice_z(field->go) : of));
}

static void read_list(struct reading *r, const struct pl_message_field *field,
                      struct pl_tree *value, const struct place *at)
{
    size_t i = 0;
    PL_TREE_FOR(item, value)
    {
        struct place inner = *at;
        inner.strict = pl_arena_f(arena_of(r), "%.*s[%zu]", PL_FMT(at->strict), i++);
        replace_null(r, field, item);
        read_one(r, field, item->value, &inner);
        if (r->is_over)
            return;
    }
}

#define FEW 16 /* members, which are compared each with each */

/* Members of an object that have the same name. The last one counts; the others are dropped. */
struct repeats {
    bool may_be; /* else there are none, and the maps are empty */
    struct pl_map last, seen;
};

static bool may_repeat(const struct pl_tree *object)
{
    if (object->count > FEW)
        return true;
    for (const struct pl_tree_item *item = object->first; item != NULL; item = item->next)
        for (const struct pl_tree_item *other = item->next; other != NULL; other = other->next)
            if (pl_slice_eq(item->key, other->key))
                return true;
    return false;
}

static struct repeats repeats_of(struct pl_tree *object)
{
    struct repeats repeats = {may_repeat(object), PL_MAP_INIT, PL_MAP_INIT};
    for (struct pl_tree_item *item = object->first; repeats.may_be && item != NULL;
         item = item->next)
        pl_map_put(&repeats.last, item->key, item);
    return repeats;
}

static void repeats_deinit(struct repeats *repeats)
{
    pl_map_deinit(&repeats->seen);
    pl_map_deinit(&repeats->last);
}

/* To be asked once for each member, in order. */
static bool has_come_before(struct repeats *repeats, struct pl_tree_item *item)
{
    if (!repeats->may_be)
        return false;
    bool has = pl_map_has(&repeats->seen, item->key);
    pl_map_put(&repeats->seen, item->key, item);
    return has;
}

static bool has_successor(const struct repeats *repeats, const struct pl_tree_item *item)
{
    return repeats->may_be && pl_map_get(&repeats->last, item->key) != item;
}

static void read_map(struct reading *r, const struct pl_message_field *field, struct pl_tree *value,
                     const struct place *at)
{
    struct repeats repeats = repeats_of(value);
    PL_TREE_FOR(item, value)
    {
        struct place inner = *at;
        inner.strict = pl_arena_path(arena_of(r), at->strict, item->key);
        if (has_come_before(&repeats, item))
            tell_strict(r, "duplicate", inner.strict);
        replace_null(r, field, item);
        if (!r->is_over)
            read_one(r, field, item->value, &inner);
        if (has_successor(&repeats, item))
            pl_tree_unlink(value, item);
    }
    repeats_deinit(&repeats);
}

static void read_field(struct reading *r, const struct pl_message_field *field,
                       struct pl_tree *value, const struct place *at)
{
    enum pl_type wants = field->many == PL_MANY_LIST ? PL_ARRAY : PL_OBJECT;
    if (value->type == PL_NULL)
        return;
    if (field->many == PL_MANY_ONE)
        read_one(r, field, value, at);
    else if (value->type != wants)
        tell_type(r, field, false, value, at, collection_name(r, field));
    else if (field->many == PL_MANY_LIST)
        read_list(r, field, value, at);
    else
        read_map(r, field, value, at);
}

static bool get_field(struct pl_message type, struct pl_slice name, struct pl_message_field *field)
{
    if (pl_message_get(type, name, field))
        return true;
    bool envelope = pl_slice_eqz(name, "apiVersion") || pl_slice_eqz(name, "kind");
    *field = (struct pl_message_field){.name = "", .form = PL_FORM_STRING, .go = ""};
    return pl_message_has_kind(type) && envelope;
}

/* Replaces the type by the inline one in it that has the field. */
static bool enter_inline(struct pl_message *type, struct pl_slice name)
{
    struct pl_message_field one, found;
    for (size_t i = 0; i < pl_message_count(*type); i++) {
        pl_message_at(*type, i, &one);
        if (!(one.flags & PL_PACKED_INLINE) || !pl_message_get(one.message, name, &found))
            continue;
        *type = one.message;
        return true;
    }
    return false;
}

/* The path of the object in Go's messages, with the names of the inline types around the field. */
static struct pl_slice go_path_to(struct reading *r, struct pl_slice path, struct pl_message type,
                                  const struct pl_message_field *field, struct pl_slice name)
{
    while (type.at != field->within.at && enter_inline(&type, name))
        path = pl_arena_path(arena_of(r), path, pl_slice_z(pl_message_go(type)));
    return path;
}

static void read_member(struct reading *r, struct pl_tree *object, struct pl_tree_item *item,
                        struct pl_message type, const struct place *at, bool is_last)
{
    struct pl_message_field field;
    struct place inner = {.strict = pl_arena_path(arena_of(r), at->strict, item->key),
                          .owner = pl_message_go(type)};
    if (!get_field(type, item->key, &field)) {
        if (!r->is_lax)
            tell_strict(r, "unknown", inner.strict);
        pl_tree_unlink(object, item);
        return;
    }
    inner.go =
        pl_arena_path(arena_of(r), go_path_to(r, at->go, type, &field, item->key), item->key);
    read_field(r, &field, item->value, &inner);
    if ((item->value->type == PL_NULL && !r->t->keeps_nulls) || !is_last)
        pl_tree_unlink(object, item);
}

static void read_object(struct reading *r, struct pl_tree *object, struct pl_message type,
                        const struct place *at)
{
    struct repeats repeats = repeats_of(object);
    struct pl_message_field field;
    PL_TREE_FOR(item, object)
    {
        if (r->is_over)
            break;
        if (has_come_before(&repeats, item) && get_field(type, item->key, &field))
            tell_strict(r, "duplicate", pl_arena_path(arena_of(r), at->strict, item->key));
        read_member(r, object, item, type, at, !has_successor(&repeats, item));
    }
    repeats_deinit(&repeats);
}

int pl_typed_read(struct pl_typed *t, struct pl_tree *object, struct pl_message type)
{
    struct reading r = {.t = t};
    struct place root = {.owner = pl_message_go(type)};
    read_object(&r, object, type, &root);
    if (t->error.len == 0)
        t->error = r.first;
    return t->error.len == 0 ? 0 : -1;
}

/* Writes an object as Go marshals it after it was stored. Empty values with omitempty are dropped.
 * Fields that are always written are added with the empty value of their type, at the end, in the
 * order of Go's fields. An empty list or map counts as absent: objects are stored in protobuf,
 * which cannot tell the two apart. */
#include "gotype/typed.h"

#include "gotype/packed.h"

/* Which lists and maps that are always written become null. */
enum nulls { NO_NULLS, NULLS_FOR_ABSENT, NULLS_FOR_EMPTY };

static bool is_zero_number(const struct pl_tree *value)
{
    int64_t integer;
    return value->type == PL_NUMBER && pl_tree_integer(value, &integer) && integer == 0;
}

/* True for a value that Go leaves out, in a field that is not a pointer. */
static bool typed_fill_is_empty(const struct pl_message_field *field, const struct pl_tree *value)
{
    if (field->many != PL_MANY_ONE || field->form == PL_FORM_STRINGS)
        return value->count == 0;
    switch (field->form) {
    case PL_FORM_STRING:
    case PL_FORM_BYTES:
        return value->type == PL_STRING && value->text.len == 0;
    case PL_FORM_BOOL:
        return value->type == PL_BOOL && !value->boolean;
    case PL_FORM_INT32:
    case PL_FORM_INT64:
    case PL_FORM_DOUBLE:
        return is_zero_number(value);
    default:
        return false;
    }
}

/* The empty value of a field that is always written; NULL for other fields. */
static struct pl_tree *zero(struct pl_arena *arena, const struct pl_message_field *field)
{
    bool is_struct = field->form == PL_FORM_MESSAGE && field->many == PL_MANY_ONE &&
                     !(field->flags & PL_PACKED_POINTER);
    if (field->flags & PL_PACKED_OMITZERO)
        return NULL;
    if (is_struct)
        return pl_tree_object(arena);
    bool scalar_struct = field->form == PL_FORM_TIME || field->form == PL_FORM_MICROTIME ||
                         field->form == PL_FORM_QUANTITY || field->form == PL_FORM_INT_OR_STRING ||
                         field->form == PL_FORM_RAW || field->form == PL_FORM_DURATION;
    bool always =
        !(field->flags & PL_PACKED_OMITEMPTY) ||
        (scalar_struct && field->many == PL_MANY_ONE && !(field->flags & PL_PACKED_POINTER));
    if (!always)
        return NULL;
    if (field->many != PL_MANY_ONE || field->flags & PL_PACKED_POINTER)
        return pl_tree_literal(arena, "null");
    switch (field->form) {
    case PL_FORM_STRING:
        return pl_tree_strz(arena, "");
    case PL_FORM_BOOL:
        return pl_tree_bool(arena, false);
    case PL_FORM_INT32:
    case PL_FORM_INT64:
    case PL_FORM_DOUBLE:
    case PL_FORM_INT_OR_STRING:
        return pl_tree_int(arena, 0);
    case PL_FORM_QUANTITY:
        return pl_tree_strz(arena, "0");
    case PL_FORM_DURATION:
        return pl_tree_strz(arena, "0s");
    default:
        return pl_tree_literal(arena, "null");
    }
}

static void fill_message(struct pl_arena *arena, struct pl_tree *object, struct pl_message type,
                         enum nulls nulls);

static void fill_value(struct pl_arena *arena, const struct pl_message_field *field,
                       struct pl_tree *value, enum nulls nulls)
{
    if (field->form != PL_FORM_MESSAGE)
        return;
    if (field->many == PL_MANY_ONE) {
        fill_message(arena, value, field->message, nulls);
        return;
    }
    PL_TREE_FOR(item, value)
    fill_message(arena, item->value, field->message, nulls);
}

static void fill_field(struct pl_arena *arena, struct pl_tree *object,
                       const struct pl_message_field *field, enum nulls nulls)
{
    struct pl_slice name = pl_slice_z(field->name);
    struct pl_tree *value = pl_tree_get(object, name);
    bool is_pointer = field->flags & PL_PACKED_POINTER;
    bool drops = value != NULL &&
                 (value->type == PL_NULL || (!is_pointer && typed_fill_is_empty(field, value)));
    bool stays = !(field->flags & PL_PACKED_OMITEMPTY) && drops && value->type != PL_NULL;
    if (stays && (field->many == PL_MANY_ONE || nulls != NULLS_FOR_EMPTY))
        return;
    if (drops) {
        struct pl_tree *empty = zero(arena, field);
        if (empty != NULL && empty->type == PL_NULL && nulls == NO_NULLS)
            empty = NULL;
        if (empty != NULL)
            pl_tree_set(arena, object, name, empty);
        else
            pl_tree_remove(object, name);
        value = pl_tree_get(object, name);
    } else if (value == NULL && (value = zero(arena, field)) != NULL &&
               (nulls != NO_NULLS || value->type != PL_NULL)) {
        pl_tree_set(arena, object, name, value);
    }
    if (value != NULL && value->type != PL_NULL)
        fill_value(arena, field, value, nulls);
}

static void fill_message(struct pl_arena *arena, struct pl_tree *object, struct pl_message type,
                         enum nulls nulls)
{
    if (!pl_tree_is(object, PL_OBJECT))
        return;
    for (size_t i = 0; i < pl_message_count(type); i++) {
        struct pl_message_field field;
        pl_message_at(type, i, &field);
        if (field.flags & PL_PACKED_INLINE)
            fill_message(arena, object, field.message, nulls);
        else
            fill_field(arena, object, &field, nulls);
    }
}

void pl_typed_fill(struct pl_arena *arena, struct pl_tree *object, struct pl_message type)
{
    fill_message(arena, object, type, NO_NULLS);
}

void pl_typed_fill_nulls(struct pl_arena *arena, struct pl_tree *object, struct pl_message type)
{
    fill_message(arena, object, type, NULLS_FOR_EMPTY);
}

void pl_typed_fill_absent(struct pl_arena *arena, struct pl_tree *object, struct pl_message type)
{
    fill_message(arena, object, type, NULLS_FOR_ABSENT);
}

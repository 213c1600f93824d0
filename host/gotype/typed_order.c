/* Orders the fields of an object as Go writes them: by its types, and maps by key. The order is
 * visible where a message quotes an object (a refused patch). Fields that the type does not have
 * come last, in their old order. Values never change. */
#include "gotype/packed.h"
#include "gotype/typed.h"

static void order_object(struct pl_arena *arena, struct pl_tree *object, struct pl_message type);

static void move(struct pl_arena *arena, struct pl_tree *from, struct pl_tree *to, const char *name)
{
    struct pl_tree *value = pl_tree_getz(from, name);
    if (value == NULL)
        return;
    pl_tree_setz(arena, to, name, value);
    pl_tree_removez(from, name);
}

static void order_value(struct pl_arena *arena, const struct pl_message_field *field,
                        struct pl_tree *value)
{
    if (field->many == PL_MANY_MAP)
        pl_tree_sort(value);
    else if (field->form == PL_FORM_MESSAGE && field->many == PL_MANY_ONE)
        order_object(arena, value, field->message);
    else if (field->form == PL_FORM_MESSAGE)
        PL_TREE_FOR(item, value)
    order_object(arena, item->value, field->message);
}

static void take_fields(struct pl_arena *arena, struct pl_tree *from, struct pl_tree *to,
                        struct pl_message type)
{
    for (size_t i = 0; i < pl_message_count(type); i++) {
        struct pl_message_field field;
        pl_message_at(type, i, &field);
        if (field.flags & PL_PACKED_INLINE) {
            take_fields(arena, from, to, field.message);
            continue;
        }
        struct pl_tree *value = pl_tree_getz(from, field.name);
        if (value != NULL)
            order_value(arena, &field, value);
        move(arena, from, to, field.name);
    }
}

static void order_object(struct pl_arena *arena, struct pl_tree *object, struct pl_message type)
{
    if (!pl_tree_is(object, PL_OBJECT) || pl_message_is_none(type))
        return;
    struct pl_tree *ordered = pl_tree_object(arena);
    if (pl_message_has_kind(type)) {
        move(arena, object, ordered, "kind");
        move(arena, object, ordered, "apiVersion");
    }
    take_fields(arena, object, ordered, type);
    PL_TREE_FOR(item, object)
    pl_tree_set(arena, ordered, item->key, item->value);
    *object = *ordered;
}

void pl_typed_order(struct pl_arena *arena, struct pl_tree *object, struct pl_message type)
{
    order_object(arena, object, type);
}

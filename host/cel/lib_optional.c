/* Optional values (version 2 of CEL's library). eval.c implements `or`, `orValue` and the access to
 * members, because they do not evaluate all their parts. */
#include "cel/function.h"

static struct pl_cel of(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    return pl_cel_some(eval->arena, args[0]);
}

static struct pl_cel none(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(eval);
    PL_UNUSED(args);
    PL_UNUSED(n);
    return pl_cel_none();
}

static bool is_zero(struct pl_cel value)
{
    switch (value.kind) {
    case PL_CEL_NULL:
        return true;
    case PL_CEL_BOOL:
        return !value.b;
    case PL_CEL_INT:
    case PL_CEL_UINT:
        return value.u == 0;
    case PL_CEL_DOUBLE:
        return value.d == 0;
    case PL_CEL_DURATION:
        return value.t.seconds == 0 && value.t.ns == 0;
    case PL_CEL_STRING:
    case PL_CEL_BYTES:
    case PL_CEL_LIST:
    case PL_CEL_MAP:
    case PL_CEL_OBJECT:
        return pl_cel_size(value) == 0;
    case PL_CEL_OPTIONAL:
        return value.value == NULL;
    default:
        return false;
    }
}

static struct pl_cel of_non_zero(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    return is_zero(args[0]) ? pl_cel_none() : pl_cel_some(eval->arena, args[0]);
}

static struct pl_cel lib_optional_has_value(struct pl_cel_eval *eval, const struct pl_cel *args,
                                            size_t n)
{
    PL_UNUSED(eval);
    PL_UNUSED(n);
    return pl_cel_bool(args[0].value != NULL);
}

static struct pl_cel value(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    return args[0].value != NULL ? *args[0].value
                                 : pl_cel_fail(eval->arena, "optional.none() dereference");
}

/* ---- lists ---- */

static struct pl_cel element(struct pl_cel_eval *eval, const struct pl_cel_list *list, size_t at)
{
    if (list->count == 0)
        return pl_cel_none();
    return pl_cel_is_error(list->items[at]) ? list->items[at]
                                            : pl_cel_some(eval->arena, list->items[at]);
}

static struct pl_cel first(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    return element(eval, pl_cel_list_of(eval, args[0]), 0);
}

static struct pl_cel last(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    const struct pl_cel_list *list = pl_cel_list_of(eval, args[0]);
    PL_UNUSED(n);
    return element(eval, list, list->count - 1);
}

/* The values of a list's optionals that have one. Long lists cost more than in a cluster. */
static struct pl_cel unwrap(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    const struct pl_cel_list *list = pl_cel_list_of(eval, args[0]);
    struct pl_cel *items;
    PL_UNUSED(n);
    if (!pl_cel_charge(eval, list->count / 8))
        return pl_cel_over_limit();
    struct pl_cel made = pl_cel_new_list(eval->arena, list->count, &items);
    struct pl_cel_list *out = pl_arena_alloc(eval->arena, sizeof *out);
    *out = (struct pl_cel_list){.items = items};
    made.list = out;
    for (size_t i = 0; i < list->count; i++) {
        struct pl_cel one = list->items[i];
        if (one.kind != PL_CEL_OPTIONAL)
            return pl_cel_is_error(one) ? one : pl_cel_no_overload();
        if (one.value != NULL)
            items[out->count++] = *one.value;
    }
    return made;
}

#define ONE PL_CEL_COST_ONE, PL_CEL_SIZE_NONE

const struct pl_cel_function pl_cel_optional_functions[] = {
    PL_CEL_ROW("optional.of", "A:OA", false, ONE, of),
    PL_CEL_ROW("optional.none", ":OD", false, ONE, none),
    PL_CEL_ROW("optional.ofNonZeroValue", "A:OA", false, ONE, of_non_zero),
    PL_CEL_ROW("hasValue", "OA:b", true, ONE, lib_optional_has_value),
    PL_CEL_ROW("value", "OA:A", true, ONE, value),
    PL_CEL_ROW("or", "OAOA:OA", true, ONE, NULL),
    PL_CEL_ROW("orValue", "OAA:A", true, ONE, NULL),
    PL_CEL_ROW("first", "LA:OA", true, ONE, first),
    PL_CEL_ROW("last", "LA:OA", true, ONE, last),
    PL_CEL_ROW("optional.unwrap", "LOA:LA", false, ONE, unwrap),
    PL_CEL_ROW("unwrapOpt", "LOA:LA", true, ONE, unwrap),
    {0},
};

/* Optional values. eval.c implements `or`, `orValue` and the access to members, because they do not
 * evaluate all their parts. */
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

#define ONE PL_CEL_COST_ONE, PL_CEL_SIZE_NONE

const struct pl_cel_function pl_cel_optional_functions[] = {
    {"optional.of", "A:OA", false, ONE, of},
    {"optional.none", ":OD", false, ONE, none},
    {"optional.ofNonZeroValue", "A:OA", false, ONE, of_non_zero},
    {"hasValue", "OA:b", true, ONE, lib_optional_has_value},
    {"value", "OA:A", true, ONE, value},
    {"or", "OAOA:OA", true, ONE, NULL},
    {"orValue", "OAA:A", true, ONE, NULL},
    {0},
};

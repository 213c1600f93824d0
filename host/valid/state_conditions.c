/* Conditions of statuses in the form that all newer kinds share. */
#include "valid/kinds.h"

#include "object/tree.h"

#include <string.h>

static void check_reason(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *value, const char *arg)
{
    static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    struct pl_slice text = pl_tree_text(value);
    size_t i = 0;
    PL_UNUSED(arg);
    if (text.len == 0) {
        pl_bad_required(f, at, "");
        return;
    }
    while (i < text.len && (strchr(first, text.ptr[i]) != NULL ||
                            (i > 0 && strchr("0123456789_", text.ptr[i]) != NULL) ||
                            (i > 0 && i + 1 < text.len && strchr(",:", text.ptr[i]) != NULL)))
        i++;
    if (i < text.len)
        pl_bad_value(f, at, value,
                     "a condition reason must start with alphabetic character, optionally followed "
                     "by a string of alphanumeric characters or '_,:', and must end with an "
                     "alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  "
                     "or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is "
                     "'[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')");
}

void pl_valid_conditions(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *list)
{
    static const struct pl_rule rules[] = {
        {"type", pl_need, "is required"},
        {"status", pl_needs_one, "False,True,Unknown"},
        {"lastTransitionTime", pl_need, NULL},
        {"reason", check_reason, NULL},
        {NULL, NULL, NULL},
    };
    size_t i = 0;
    PL_EACH(item, list)
    {
        const struct pl_spot *here = PL_INDEX(at, i++);
        const struct pl_tree *type = pl_tree_getz(item->value, "type");
        int64_t seen = 0;
        pl_hold(f, here, item->value, rules);
        if (!pl_is_empty(type))
            pl_qualified(f, PL_MEMBER(here, "type"), type, NULL);
        if (pl_tree_integer(pl_tree_getz(item->value, "observedGeneration"), &seen) && seen < 0)
            pl_bad_value(f, PL_MEMBER(here, "observedGeneration"),
                         pl_tree_getz(item->value, "observedGeneration"),
                         "must be greater than or equal to zero");
    }
    pl_unique(f, at, list, "type");
}

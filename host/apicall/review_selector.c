/* Requirements are refused where their members contradict each other. Operators that are unknown
 * here, and texts that are no selectors, are only told in the answer, as kube-apiserver does. */
#include "apicall/review_selector.h"

#include "object/selector.h"
#include "valid/check.h"

#define ATTRIBUTES PL_MEMBER(PL_MEMBER(NULL, "spec"), "resourceAttributes")

/* ---- refusals ---- */

static void check_field_requirement(struct pl_api_faults *f, const struct pl_spot *at,
                                    const struct pl_tree *one)
{
    if (pl_tree_text_at(one, "key").len == 0)
        pl_bad_required(f, PL_MEMBER(at, "key"), "must be specified");
    pl_operator_values(f, at, one);
}

static void check_form(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *selector)
{
    const struct pl_tree *raw = pl_tree_getz(selector, "rawSelector");
    bool has_list = !pl_is_empty(pl_tree_getz(selector, "requirements"));
    bool has_raw = pl_tree_text(raw).len > 0;
    if (has_list && has_raw)
        pl_bad_value(f, PL_MEMBER(at, "rawSelector"), raw,
                     "may not specified at the same time as requirements");
    if (!has_list && !has_raw)
        pl_bad_required(
            f, PL_MEMBER(at, "requirements"),
            pl_arena_f(f->arena, "when %.*s is specified, requirements or rawSelector is required",
                       PL_FMT(pl_spot_text(f, at)))
                .ptr);
}

static void check_kind_of_selector(struct pl_api_faults *f, const struct pl_tree *about,
                                   const char *member, bool of_labels)
{
    const struct pl_tree *selector = pl_tree_getz(about, member);
    const struct pl_spot *at = PL_MEMBER(ATTRIBUTES, member);
    const struct pl_spot *list = PL_MEMBER(at, "requirements");
    size_t i = 0;
    if (!pl_tree_is(selector, PL_OBJECT))
        return;
    check_form(f, at, selector);
    PL_EACH(item, pl_tree_getz(selector, "requirements"))
    {
        const struct pl_spot *here = PL_INDEX(list, i++);
        if (of_labels)
            pl_requirement(f, here, item->value, PL_ANY_OPERATOR);
        else
            check_field_requirement(f, here, item->value);
    }
}

void pl_review_selectors_check(struct pl_api_faults *faults, const struct pl_tree *about)
{
    check_kind_of_selector(faults, about, "fieldSelector", false);
    check_kind_of_selector(faults, about, "labelSelector", true);
}

/* ---- what has no effect ---- */

/* Fields are compared with one value only. */
static bool is_known(const struct pl_tree *one, bool of_labels)
{
    struct pl_slice how = pl_tree_text_at(one, "operator");
    const struct pl_tree *values = pl_tree_getz(one, "values");
    if (of_labels)
        return pl_is_among(how, "In,NotIn,Exists,DoesNotExist");
    return pl_is_among(how, "In,NotIn") && values != NULL && values->count == 1;
}

static bool is_selector(struct pl_slice text, bool of_labels)
{
    struct pl_err err;
    struct pl_selector *labels = of_labels ? pl_selector_parse(text, &err) : NULL;
    struct pl_fields *fields = of_labels ? NULL : pl_fields_parse(text, &err);
    bool good = labels != NULL || fields != NULL;
    pl_selector_destroy(labels);
    pl_fields_destroy(fields);
    return good;
}

static bool is_ignored(const struct pl_tree *selector, bool of_labels)
{
    struct pl_slice raw = pl_tree_text_at(selector, "rawSelector");
    if (!pl_tree_is(selector, PL_OBJECT))
        return false;
    if (raw.len > 0)
        return !is_selector(raw, of_labels);
    PL_TREE_FOR(item, pl_tree_getz(selector, "requirements"))
    if (!is_known(item->value, of_labels))
        return true;
    return false;
}

struct pl_slice pl_review_selectors_ignored(struct pl_arena *arena, const struct pl_tree *about)
{
    bool fields = is_ignored(pl_tree_getz(about, "fieldSelector"), false);
    bool labels = is_ignored(pl_tree_getz(about, "labelSelector"), true);
    return pl_arena_f(
        arena, "%s%s%s",
        fields ? "spec.resourceAttributes.fieldSelector ignored due to parse error" : "",
        fields && labels ? "; " : "",
        labels ? "spec.resourceAttributes.labelSelector ignored due to parse error" : "");
}

/* Label selectors in documents: matchLabels and matchExpressions, or a map. */
#include "object/selector_make.h"

#include "base/alloc.h"
#include "object/label.h"

static int selector_node_add_map(struct pl_selector *selector, struct pl_node map,
                                 struct pl_err *err)
{
    struct pl_scratch scratch;
    if (pl_node_type(map) != PL_OBJECT)
        return pl_err_set(err, PL_EINVAL, "labels to match must be an object, not %s",
                          pl_type_name(pl_node_type(map)));
    struct pl_iter it = pl_iter(map);
    while (pl_iter_next(&it)) {
        if (pl_label_check_key(it.key, err) != 0)
            return PL_EINVAL;
        struct pl_slice value = pl_node_str(it.value, &scratch);
        if (value.ptr == NULL)
            return pl_err_set(err, PL_EINVAL, "label \"%.*s\" must be a string, not %s",
                              PL_FMT(it.key), pl_type_name(pl_node_type(it.value)));
        struct pl_requirement *item = pl_selector_add(selector, it.key, PL_OP_EQUALS);
        if (pl_requirement_add_value(item, value, err) != 0 ||
            pl_requirement_finish(item, err) != 0)
            return PL_EINVAL;
    }
    return 0;
}

static int expression_operator(struct pl_node node, enum pl_selector_op *op, struct pl_err *err)
{
    static const struct {
        const char *name;
        enum pl_selector_op op;
    } names[] = {{"In", PL_OP_IN},
                 {"NotIn", PL_OP_NOT_IN},
                 {"Exists", PL_OP_EXISTS},
                 {"DoesNotExist", PL_OP_NOT_EXISTS}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        *op = names[i].op;
        if (pl_node_str_eq(node, pl_slice_z(names[i].name)))
            return 0;
    }
    return pl_err_set(err, PL_EINVAL,
                      "the operator of a match expression is In, NotIn, Exists or DoesNotExist");
}

static int add_values(struct pl_requirement *item, struct pl_node values, struct pl_err *err)
{
    struct pl_scratch scratch;
    enum pl_type type = pl_node_type(values);
    if (type != PL_MISSING && type != PL_NULL && type != PL_ARRAY)
        return pl_err_set(err, PL_EINVAL, "values must be an array, not %s", pl_type_name(type));
    struct pl_iter it = pl_iter(values);
    while (pl_iter_next(&it)) {
        struct pl_slice value = pl_node_str(it.value, &scratch);
        if (value.ptr == NULL)
            return pl_err_set(err, PL_EINVAL, "values[%zu] must be a string, not %s", it.index,
                              pl_type_name(pl_node_type(it.value)));
        if (pl_requirement_add_value(item, value, err) != 0)
            return PL_EINVAL;
    }
    bool wanted = item->op == PL_OP_IN || item->op == PL_OP_NOT_IN;
    if (wanted != (item->count != 0))
        return pl_err_set(err, PL_EINVAL,
                          wanted ? "In and NotIn need values"
                                 : "Exists and DoesNotExist take no values");
    return pl_requirement_finish(item, err);
}

static int add_expression(struct pl_selector *selector, struct pl_node expression,
                          struct pl_err *err)
{
    struct pl_scratch scratch;
    enum pl_selector_op op;
    struct pl_slice key = pl_node_str(pl_node_getz(expression, "key"), &scratch);
    if (pl_label_check_key(key, err) != 0 ||
        expression_operator(pl_node_getz(expression, "operator"), &op, err) != 0)
        return PL_EINVAL;
    return add_values(pl_selector_add(selector, key, op), pl_node_getz(expression, "values"), err);
}

static int add_expressions(struct pl_selector *selector, struct pl_node list, struct pl_err *err)
{
    if (pl_node_type(list) != PL_ARRAY)
        return pl_err_set(err, PL_EINVAL, "matchExpressions must be an array, not %s",
                          pl_type_name(pl_node_type(list)));
    struct pl_iter it = pl_iter(list);
    while (pl_iter_next(&it)) {
        if (add_expression(selector, it.value, err) == 0)
            continue;
        pl_err_prefix(err, "matchExpressions[%zu]", it.index);
        return PL_EINVAL;
    }
    return 0;
}

static int add_selector(struct pl_selector *selector, struct pl_node node, struct pl_err *err)
{
    if (pl_node_type(node) != PL_OBJECT)
        return pl_err_set(err, PL_EINVAL, "a label selector must be an object, not %s",
                          pl_type_name(pl_node_type(node)));
    struct pl_iter it = pl_iter(node);
    while (pl_iter_next(&it)) {
        int rc = 0;
        bool null = pl_node_type(it.value) == PL_NULL;
        if (pl_slice_eqz(it.key, "matchLabels"))
            rc = null ? 0 : selector_node_add_map(selector, it.value, err);
        else if (pl_slice_eqz(it.key, "matchExpressions"))
            rc = null ? 0 : add_expressions(selector, it.value, err);
        else
            rc = pl_err_set(err, PL_EINVAL,
                            "a label selector has matchLabels and matchExpressions, not \"%.*s\"",
                            PL_FMT(it.key));
        if (rc != 0)
            return rc;
    }
    return 0;
}

struct pl_selector *pl_selector_from_node(struct pl_node node, struct pl_err *err)
{
    struct pl_selector *selector = PL_NEW(struct pl_selector);
    return pl_selector_made(selector, add_selector(selector, node, err));
}

struct pl_selector *pl_selector_from_map(struct pl_node node, struct pl_err *err)
{
    struct pl_selector *selector = PL_NEW(struct pl_selector);
    return pl_selector_made(selector, selector_node_add_map(selector, node, err));
}

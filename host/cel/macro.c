/* Macros: calls that become loops (all, exists, map, ...), has(), optMap and optFlatMap. They are
 * expanded while the text is parsed; what a loop does for each element is in loop.c. */
#include "cel/parse_impl.h"

struct macro {
    const char *name;
    enum pl_cel_loop what;
    size_t names;       /* number of variables */
    size_t least, most; /* numbers of arguments; one more than `least`: the first is a filter */
};

static const struct macro macros[] = {
    {"all", PL_CEL_ALL, 1, 2, 2},
    {"all", PL_CEL_ALL, 2, 3, 3},
    {"exists", PL_CEL_EXISTS, 1, 2, 2},
    {"exists", PL_CEL_EXISTS, 2, 3, 3},
    {"exists_one", PL_CEL_EXISTS_ONE, 1, 2, 2},
    {"existsOne", PL_CEL_EXISTS_ONE, 1, 2, 2},
    {"existsOne", PL_CEL_EXISTS_ONE, 2, 3, 3},
    {"map", PL_CEL_MAPPED, 1, 2, 3},
    {"filter", PL_CEL_FILTER, 1, 2, 2},
    {"sortBy", PL_CEL_SORT_BY, 1, 2, 2},
    {"transformList", PL_CEL_MAPPED, 2, 3, 4},
    {"transformMap", PL_CEL_TO_MAP, 2, 3, 4},
    {"transformMapEntry", PL_CEL_TO_ENTRIES, 2, 3, 4},
};

static const struct macro *find_macro(struct pl_slice name, size_t count)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(macros); i++)
        if (pl_slice_eqz(name, macros[i].name) && count >= macros[i].least &&
            count <= macros[i].most)
            return &macros[i];
    return NULL;
}

static struct pl_cel_expr *macro_loop(struct pl_cel_parser *p, const struct macro *macro,
                                      uint32_t at, struct pl_cel_expr *range,
                                      const struct pl_cel_items *args)
{
    for (size_t i = 0; i < macro->names; i++)
        if (args->ptr[i]->kind != PL_CEL_IDENT)
            return pl_cel_parse_fail(p, args->ptr[i]->at, "argument must be a simple name");
    struct pl_cel_expr *e = pl_cel_node(p, PL_CEL_LOOP, at);
    e->loop.what = macro->what;
    e->loop.range = range;
    e->loop.var = args->ptr[0]->ident.name;
    if (macro->names == 2)
        e->loop.var2 = args->ptr[1]->ident.name;
    bool has_filter = args->count > macro->least;
    e->loop.filter = has_filter ? args->ptr[macro->names] : NULL;
    e->loop.body = args->ptr[macro->names + has_filter];
    if (has_filter)
        e = pl_cel_node_above(p, e, e->loop.filter);
    return pl_cel_node_above(p, pl_cel_node_above(p, e, range),
                             args->ptr[macro->names + has_filter]);
}

static struct pl_cel_expr *macro_bind(struct pl_cel_parser *p, uint32_t at,
                                      struct pl_cel_expr *target, const struct pl_cel_items *args,
                                      bool is_flat)
{
    if (args->ptr[0]->kind != PL_CEL_IDENT)
        return pl_cel_parse_fail(p, args->ptr[0]->at, "argument must be a simple name");
    struct pl_cel_expr *e = pl_cel_node(p, PL_CEL_BIND, at);
    e->bind.target = target;
    e->bind.var = args->ptr[0]->ident.name;
    e->bind.body = args->ptr[1];
    e->bind.is_flat = is_flat;
    return pl_cel_node_above(p, pl_cel_node_above(p, e, target), args->ptr[1]);
}

static struct pl_cel_expr *macro_has(struct pl_cel_parser *p, uint32_t at,
                                     const struct pl_cel_items *args)
{
    struct pl_cel_expr *e = args->count == 1 ? args->ptr[0] : NULL;
    if (e == NULL || e->kind != PL_CEL_SELECT || e->select.is_test)
        return pl_cel_parse_fail(p, e != NULL ? e->at : at, "invalid argument to has() macro");
    struct pl_cel_expr *test = pl_cel_node(p, PL_CEL_SELECT, at);
    *test = *e;
    test->at = at; /* messages name the place of the macro */
    test->select.is_test = true;
    return test;
}

bool pl_cel_macro(struct pl_cel_parser *p, uint32_t at, struct pl_slice name,
                  struct pl_cel_expr *target, const struct pl_cel_items *args,
                  struct pl_cel_expr **out)
{
    const struct macro *macro = target != NULL ? find_macro(name, args->count) : NULL;
    bool is_flat = pl_slice_eqz(name, "optFlatMap");
    bool is_bind = is_flat || pl_slice_eqz(name, "optMap");
    if (target == NULL && pl_slice_eqz(name, "has"))
        *out = macro_has(p, at, args);
    else if (macro != NULL)
        *out = macro_loop(p, macro, at, target, args);
    else if (target != NULL && args->count == 2 && is_bind)
        *out = macro_bind(p, at, target, args, is_flat);
    else
        return false;
    return true;
}

/* Reads predicates from the tables that describe them. */
#include "lane/declare_impl.h"

#include "base/alloc.h"
#include "event/predicate.h"
#include "object/selector.h"

struct reading {
    lua_State *L;
    int leaves; /* index of the table leaf -> function */
    int count;  /* leaves so far */
    struct pl_err *err;
};

static struct pl_predicate *read_predicate(struct reading *r, int depth);

/* The function at the top, which is popped. */
static struct pl_predicate *read_leaf(struct reading *r)
{
    lua_rawseti(r->L, r->leaves, r->count);
    return pl_predicate_external(r->count++);
}

static struct pl_predicate *read_parts(struct reading *r, bool all, int depth)
{
    lua_State *L = r->L;
    pl_declare_get(L, "of");
    size_t count = lua_type(L, -1) == LUA_TTABLE ? lua_objlen(L, -1) : 0, made = 0;
    struct pl_predicate **parts = pl_calloc(count + 1, sizeof(struct pl_predicate *));
    for (; made < count; made++) {
        lua_rawgeti(L, -1, (int)made + 1);
        parts[made] = read_predicate(r, depth + 1);
        lua_pop(L, 1);
        if (parts[made] == NULL)
            break;
    }
    struct pl_predicate *result = NULL;
    if (made == count) {
        result =
            all ? pl_predicate_all(parts, count, r->err) : pl_predicate_any(parts, count, r->err);
    } else {
        for (size_t i = 0; i < made; i++)
            pl_predicate_destroy(parts[i]);
    }
    pl_free(parts);
    lua_pop(L, 1);
    return result;
}

static struct pl_predicate *read_none(struct reading *r, int depth)
{
    pl_declare_get(r->L, "of");
    struct pl_predicate *part = read_predicate(r, depth + 1);
    lua_pop(r->L, 1);
    return part ? pl_predicate_none(&part, 1, r->err) : NULL;
}

static struct pl_predicate *read_funcs(struct reading *r)
{
    static const char *const names[PL_EVENT_TYPES] = {
        [PL_EVENT_CREATE] = "create",
        [PL_EVENT_UPDATE] = "update",
        [PL_EVENT_DELETE] = "delete",
        [PL_EVENT_GENERIC] = "generic",
    };
    struct pl_predicate *parts[PL_EVENT_TYPES] = {NULL};
    for (size_t i = 0; i < PL_EVENT_TYPES; i++) {
        pl_declare_get(r->L, names[i]);
        if (lua_isfunction(r->L, -1))
            parts[i] = read_leaf(r);
        else
            lua_pop(r->L, 1);
    }
    return pl_predicate_funcs(parts, r->err);
}

static struct pl_predicate *read_fields_changed(struct reading *r)
{
    char **paths = pl_declare_texts(r->L, "paths");
    size_t count = 0;
    while (paths != NULL && paths[count] != NULL)
        count++;
    struct pl_predicate *result =
        pl_predicate_fields_changed((const char *const *)paths, count, r->err);
    for (size_t i = 0; i < count; i++)
        pl_free(paths[i]);
    pl_free(paths);
    return result;
}

static struct pl_predicate *read_selector(struct reading *r)
{
    struct pl_selector *selector =
        pl_selector_parse(pl_slice_z(pl_declare_text(r->L, "selector")), r->err);
    return selector ? pl_predicate_label_selector(selector) : NULL;
}

/* Reads the predicate at the top, which stays. NULL and err when it is invalid. */
static struct pl_predicate *read_predicate(struct reading *r, int depth)
{
    lua_State *L = r->L;
    if (lua_type(L, -1) != LUA_TTABLE || depth > PL_PREDICATE_DEPTH || !lua_checkstack(L, 8)) {
        pl_err_set(r->err, PL_EINVAL, "predicates are nested too deeply");
        return NULL;
    }
    struct pl_slice type = pl_slice_z(pl_declare_text(L, "type"));
    if (pl_slice_eqz(type, "generation_changed"))
        return pl_predicate_generation_changed();
    if (pl_slice_eqz(type, "resource_version_changed"))
        return pl_predicate_resource_version_changed();
    if (pl_slice_eqz(type, "label_changed"))
        return pl_predicate_label_changed();
    if (pl_slice_eqz(type, "annotation_changed"))
        return pl_predicate_annotation_changed();
    if (pl_slice_eqz(type, "finalizers_changed"))
        return pl_predicate_finalizers_changed();
    if (pl_slice_eqz(type, "label_selector"))
        return read_selector(r);
    if (pl_slice_eqz(type, "fields_changed"))
        return read_fields_changed(r);
    if (pl_slice_eqz(type, "all") || pl_slice_eqz(type, "any"))
        return read_parts(r, pl_slice_eqz(type, "all"), depth);
    if (pl_slice_eqz(type, "none"))
        return read_none(r, depth);
    if (pl_slice_eqz(type, "funcs"))
        return read_funcs(r);
    if (pl_slice_eqz(type, "script")) {
        pl_declare_get(L, "f");
        return read_leaf(r);
    }
    pl_err_set(r->err, PL_EINVAL, "%.*s is not a predicate", PL_FMT(type));
    return NULL;
}

struct pl_predicate *pl_declare_predicate(lua_State *L, int leaves, struct pl_err *err)
{
    struct reading reading = {.L = L, .leaves = leaves, .err = err};
    return read_predicate(&reading, 0);
}

/* Webhook handlers in a lane.
 *
 * A handler is called with tables over documents of its call (control/hook_call.h). Its changes are
 * turned into a document here, in its coroutine and so within its limits, before the run ends: the
 * I/O thread sees only documents. The JSONPatch is computed here too, since it takes time for large
 * objects. Functions of this file raise only for wrong arguments of Perilune's own Lua; errors in a
 * script's values are returned as a message. */
#include "lane/hook.h"

#include "base/alloc.h"
#include "control/hook_call.h"
#include "lane/declare_impl.h"
#include "lane/lane.h"
#include "lua/lazy.h"
#include "lua/lerr.h"
#include "lua/lval.h"
#include "lane/co.h"
#include "object/patch.h"
#include "object/patch_diff.h"

/* ---- declarations ---- */

static bool hook_flag(lua_State *L, const char *name)
{
    pl_declare_get(L, name);
    bool value = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return value;
}

static int whole(lua_State *L, const char *name)
{
    pl_declare_get(L, name);
    int value = (int)lua_tonumber(L, -1);
    lua_pop(L, 1);
    return value;
}

/* Pushes the member and returns its number of elements. */
static size_t open_array(lua_State *L, const char *name)
{
    pl_declare_get(L, name);
    return lua_type(L, -1) == LUA_TTABLE ? lua_objlen(L, -1) : 0;
}

static void copy_text(char *to, size_t size, const char *from)
{
    size_t len = from != NULL ? strlen(from) : 0;
    len = len < size ? len : size - 1;
    if (len > 0)
        memcpy(to, from, len);
    to[len] = '\0';
}

static void read_kinds(lua_State *L, struct pl_hook_spec *hook)
{
    hook->kind_count = open_array(L, "kinds");
    hook->kinds = pl_calloc(hook->kind_count + 1, sizeof *hook->kinds);
    for (size_t i = 0; i < hook->kind_count; i++) {
        struct pl_hook_kind *kind = &hook->kinds[i];
        lua_rawgeti(L, -1, (int)i + 1);
        copy_text(kind->kind.group, sizeof kind->kind.group, pl_declare_text(L, "group"));
        copy_text(kind->kind.version, sizeof kind->kind.version, pl_declare_text(L, "version"));
        copy_text(kind->kind.kind, sizeof kind->kind.kind, pl_declare_text(L, "kind"));
        kind->name = pl_strdup_or_null(pl_declare_text(L, "name"));
        kind->path = pl_strdup_or_null(pl_declare_text(L, "path"));
        kind->exact = hook_flag(L, "exact");
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static void read_conditions(lua_State *L, struct pl_hook_spec *hook)
{
    hook->condition_count = open_array(L, "match_conditions");
    hook->conditions = pl_calloc(hook->condition_count + 1, sizeof *hook->conditions);
    for (size_t i = 0; i < hook->condition_count; i++) {
        lua_rawgeti(L, -1, (int)i + 1);
        hook->conditions[i].name = pl_strdup_or_null(pl_declare_text(L, "name"));
        hook->conditions[i].expression = pl_strdup_or_null(pl_declare_text(L, "expression"));
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static enum pl_hook_sort sort_of(const char *text)
{
    enum pl_hook_sort sort = PL_HOOK_VALIDATE;
    while (sort != PL_HOOK_CONVERT && (text == NULL || strcmp(text, pl_hook_sort_name(sort)) != 0))
        sort++;
    return sort;
}

/* The number of parameters of the script's function, from 0 to PL_HOOK_PARAMETERS. Arguments beyond
 * them are not made. */
static int parameters_of(lua_State *L)
{
    pl_declare_get(L, "blame");
    if (!lua_isfunction(L, -1)) {
        lua_pop(L, 1);
        return PL_HOOK_PARAMETERS;
    }
    pl_ref_push(L, pl_state_of(L)->refs.getinfo);
    lua_insert(L, -2);
    lua_pushliteral(L, "u");
    lua_call(L, 2, 1);
    bool takes_all = hook_flag(L, "isvararg");
    int count = whole(L, "nparams");
    lua_pop(L, 1);
    return takes_all || count > PL_HOOK_PARAMETERS ? PL_HOOK_PARAMETERS : count;
}

void pl_hook_read_spec(lua_State *L, struct pl_controller_spec *spec)
{
    int parameters = parameters_of(L);
    pl_declare_get(L, "hook");
    if (lua_type(L, -1) == LUA_TTABLE) {
        struct pl_hook_spec *hook = spec->hook = PL_NEW(struct pl_hook_spec);
        hook->sort = sort_of(pl_declare_text(L, "sort"));
        read_kinds(L, hook);
        hook->operations = pl_declare_texts(L, "operations");
        hook->subresources = pl_declare_texts(L, "subresources");
        hook->object_selector = pl_strdup_or_null(pl_declare_text(L, "object_selector"));
        hook->namespace_selector = pl_strdup_or_null(pl_declare_text(L, "namespace_selector"));
        read_conditions(L, hook);
        hook->ignore = hook_flag(L, "ignore");
        hook->on_dry_run = hook_flag(L, "on_dry_run");
        hook->if_needed = hook_flag(L, "if_needed");
        hook->timeout_s = whole(L, "timeout");
        hook->parameters = parameters;
    }
    lua_pop(L, 1);
}

/* ---- arguments ---- */

static void hook_push_object(lua_State *L, struct pl_state *s, struct pl_doc *doc)
{
    struct pl_kind kind;
    if (doc == NULL) {
        lua_pushnil(L);
        return;
    }
    bool secret = pl_kind_of(pl_doc_root(doc), &kind, NULL) == 0 && pl_kind_is_secret(&kind);
    pl_lazy_push(L, s, doc, secret ? PL_OBJECT_SECRET : 0);
}

int pl_hook_push_arguments(lua_State *L, struct pl_state *s, const struct pl_exec *exec)
{
    struct pl_hook_call *call = exec->hook;
    if (call->sort == PL_HOOK_CONVERT) {
        const char *slash = strrchr(call->desired, '/');
        lua_pushstring(L, slash != NULL ? slash + 1 : call->desired);
        return 1;
    }
    if (PL_TAPE_WANTS(exec->lane, begin)) /* other scripts may be called with what is recorded */
        call->parameters = PL_HOOK_PARAMETERS;
    pl_hook_call_open(call);
    hook_push_object(L, s, call->object);
    hook_push_object(L, s, call->old);
    if (call->request == NULL)
        lua_pushnil(L);
    else
        pl_lazy_push(L, s, call->request, 0);
    lua_pushstring(L, call->name);
    return PL_HOOK_PARAMETERS + 1;
}

/* ---- answers ---- */

static struct pl_hook_call *hook_check_call(lua_State *L, struct pl_state *s)
{
    struct pl_hook_call *call = s->task != NULL ? s->task->exec->hook : NULL;
    if (call == NULL)
        pl_lerr_raise(L, s, "no webhook is being answered");
    return call;
}

/* Returns nothing, or a message. */
static int hook_reply(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    struct pl_hook_call *call = hook_check_call(L, s);
    struct pl_err err;
    pl_err_clear(&err);
    lua_settop(L, 2);
    struct pl_doc *said = pl_lval_doc(L, s, 2, &err);
    if (said == NULL) {
        lua_pushstring(L, err.message);
        return 1;
    }
    pl_doc_unref(call->answer.said);
    call->answer.said = said;
    if (lua_isnil(L, 1) || call->object == NULL)
        return 0;
    struct pl_doc *after = pl_lval_doc(L, s, 1, &err);
    if (after == NULL) {
        lua_pushfstring(L, "the object: %s", err.message);
        return 1;
    }
    pl_doc_unref(call->answer.patch);
    call->answer.patch = pl_patch_diff(pl_doc_root(call->object), pl_doc_root(after));
    pl_doc_unref(after);
    return 0;
}

static struct pl_node next_object(const struct pl_hook_call *call)
{
    return pl_node_at(pl_hook_call_objects(call), call->answer.count);
}

/* The next object of the review that does not have the wanted version, or nil. */
static int next(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    struct pl_hook_call *call = hook_check_call(L, s);
    struct pl_node node;
    while (!pl_node_is_missing(node = next_object(call))) {
        struct pl_box *box = pl_box_push(L, s);
        box->doc = pl_doc_from_node(node, NULL);
        if (!pl_node_str_eq(pl_node_getz(node, "apiVersion"), pl_slice_z(call->desired))) {
            hook_push_object(L, s, box->doc);
            return 1;
        }
        pl_hook_call_add(call, pl_doc_ref(box->doc));
        lua_pop(L, 1);
    }
    return 0;
}

static bool is_free(struct pl_slice name)
{
    return pl_slice_eqz(name, "labels") || pl_slice_eqz(name, "annotations");
}

/* The first member of one's metadata that differs in the other. */
static bool hook_differs(struct pl_node one, struct pl_node other, struct pl_slice *name)
{
    struct pl_iter it = pl_iter(one);
    while (pl_iter_next(&it)) {
        if (is_free(it.key) || pl_node_equal(it.value, pl_node_get(other, it.key)))
            continue;
        *name = it.key;
        return true;
    }
    return false;
}

static int check_converted(struct pl_node before, struct pl_node after, struct pl_err *err)
{
    struct pl_node a = pl_node_getz(before, "metadata"), b = pl_node_getz(after, "metadata");
    struct pl_slice name;
    if (pl_node_type(after) != PL_OBJECT)
        return pl_err_set(err, PL_EINVAL, "it must return the object, not %s",
                          pl_type_name(pl_node_type(after)));
    if (!pl_node_equal(pl_node_getz(before, "kind"), pl_node_getz(after, "kind")))
        return pl_err_set(err, PL_EINVAL, "it has changed kind, which a conversion must not do");
    if (pl_node_type(b) != PL_OBJECT)
        return pl_err_set(err, PL_EINVAL, "it has returned an object without metadata");
    if (hook_differs(a, b, &name) || hook_differs(b, a, &name))
        return pl_err_set(err, PL_EINVAL,
                          "it has changed metadata.%.*s: a conversion may change only labels and "
                          "annotations of the metadata",
                          PL_FMT(name));
    return 0;
}

static struct pl_doc *in_version(struct pl_doc *doc, const char *version)
{
    static const char *const path[] = {"apiVersion"};
    struct pl_build *b = pl_build_create(NULL);
    pl_build_strz(b, version);
    struct pl_doc *text = pl_build_close(b);
    struct pl_doc *with = pl_doc_with(pl_doc_root(doc), path, 1, pl_doc_root(text));
    pl_doc_unref(text);
    return with;
}

/* hook_converted(object): returns nothing, or a message. */
static int converted(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    struct pl_hook_call *call = hook_check_call(L, s);
    struct pl_err err;
    pl_err_clear(&err);
    lua_settop(L, 1);
    struct pl_doc *doc = pl_lval_doc(L, s, 1, &err);
    if (doc != NULL && check_converted(next_object(call), pl_doc_root(doc), &err) == 0)
        pl_hook_call_add(call, in_version(doc, call->desired));
    pl_doc_unref(doc);
    if (err.code == 0)
        return 0;
    lua_pushstring(L, err.message);
    return 1;
}

const luaL_Reg pl_bind_hooks[] = {
    {"hook_answer", hook_reply},
    {"hook_next", next},
    {"hook_converted", converted},
    {NULL, NULL},
};

/* host.memo: () -> the table of the running key. */
#include "bind/list.h"
#include "lane/co.h"
#include "lane/exec_memo.h"
#include "lane/lane.h"
#include "lua/lazy.h"
#include "lua/lerr.h"

/* memo(ns|nil, name) */
static int memo(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    if (s->task == NULL || s->phase != PL_PHASE_RUN)
        return pl_lerr_raise(L, s, "memo works inside a reconcile only");
    struct pl_exec *exec = s->task->exec;
    const char *ns = luaL_optstring(L, 1, ""), *name = luaL_checkstring(L, 2);
    if (pl_exec_for_cache(exec) == NULL)
        return pl_lerr_raise(L, s,
                             "memo needs a controller with For: it is dropped when the For object "
                             "is gone");
    if (strcmp(ns, exec->ns) != 0 || strcmp(name, exec->name) != 0)
        return pl_lerr_raise(L, s, "memo takes the request of this run (%s)", exec->key);
    if (exec->memo != 0) {
        pl_ref_push(L, exec->memo);
        return 1;
    }
    struct pl_box *box = pl_box_push(L, s);
    box->doc = pl_exec_remembered(exec);
    if (box->doc != NULL) {
        bool eager = s->eager;
        s->eager = true; /* plain tables: nothing of them is written back from a document */
        pl_lazy_push(L, s, box->doc, 0);
        s->eager = eager;
    } else {
        lua_newtable(L);
    }
    lua_pushvalue(L, -1);
    exec->memo = luaL_ref(L, LUA_REGISTRYINDEX);
    return 1;
}

const luaL_Reg pl_bind_memos[] = {
    {"memo", memo},
    {NULL, NULL},
};

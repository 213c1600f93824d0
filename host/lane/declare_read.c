/* Shared by the readers of declarations: reads members of a table without metamethods, so that no
 * script runs meanwhile, and frees the result. */
#include "lane/declare_impl.h"

#include "base/alloc.h"

void pl_declare_get(lua_State *L, const char *name)
{
    lua_pushstring(L, name);
    lua_rawget(L, -2);
}

const char *pl_declare_text(lua_State *L, const char *name)
{
    pl_declare_get(L, name);
    const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    lua_pop(L, 1); /* the table keeps it alive */
    return text;
}

char **pl_declare_texts(lua_State *L, const char *name)
{
    pl_declare_get(L, name);
    if (lua_type(L, -1) != LUA_TTABLE) {
        lua_pop(L, 1);
        return NULL;
    }
    int count = (int)lua_objlen(L, -1), kept = 0;
    char **texts = pl_calloc((size_t)count + 1, sizeof *texts);
    for (int i = 1; i <= count; i++) {
        lua_rawgeti(L, -1, i);
        if (lua_type(L, -1) == LUA_TSTRING)
            texts[kept++] = pl_strdup(lua_tostring(L, -1));
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return texts;
}

void pl_declarations_deinit(struct pl_declarations *declarations)
{
    for (size_t i = 0; i < declarations->controller_count && declarations->controllers; i++)
        pl_controller_spec_deinit(&declarations->controllers[i]);
    for (size_t i = 0; i < declarations->index_count && declarations->indexes; i++) {
        pl_free(declarations->indexes[i].name);
        pl_free(declarations->indexes[i].path);
        pl_free(declarations->indexes[i].declared_at);
    }
    for (size_t i = 0; i < declarations->cluster_count && declarations->clusters; i++)
        pl_remote_spec_deinit(&declarations->clusters[i]);
    pl_free(declarations->clusters);
    pl_free(declarations->description);
    pl_free(declarations->controllers);
    pl_free(declarations->indexes);
    *declarations = (struct pl_declarations){.controllers = NULL};
}

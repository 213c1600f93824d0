#include "lua/peek.h"

#include "lua/lazy.h"

struct pl_peeked pl_peek(lua_State *L, struct pl_state *s, int index)
{
    const struct pl_level *level = pl_lazy_level(L, s, index);
    if (level != NULL && level->taken == 0)
        return (struct pl_peeked){.node = level->node};
    return (struct pl_peeked){.node = PL_NODE_MISSING, .index = index, .level = level};
}

struct pl_peeked pl_peek_member(lua_State *L, struct pl_state *s, struct pl_peeked from,
                                const char *name)
{
    if (from.index == 0)
        return (struct pl_peeked){.node = pl_node_getz(from.node, name)};
    if (lua_type(L, from.index) != LUA_TTABLE)
        return (struct pl_peeked){.node = PL_NODE_MISSING};
    if (from.level != NULL) {
        size_t place;
        struct pl_node node = pl_node_find(from.level->node, pl_slice_z(name), &place);
        if (pl_node_is_missing(node) || !pl_level_has_taken(from.level, place))
            return (struct pl_peeked){.node = node};
    }
    lua_pushstring(L, name);
    lua_rawget(L, from.index);
    return pl_peek(L, s, lua_gettop(L));
}

bool pl_peek_is_nothing(lua_State *L, struct pl_peeked value)
{
    return value.index == 0 ? pl_node_is_missing(value.node) : lua_isnil(L, value.index);
}

struct pl_slice pl_peek_text(lua_State *L, struct pl_peeked value, struct pl_scratch *scratch)
{
    if (value.index == 0)
        return pl_node_str(value.node, scratch);
    return lua_type(L, value.index) == LUA_TSTRING ? pl_lua_slice(L, value.index)
                                                   : pl_slice(NULL, 0);
}

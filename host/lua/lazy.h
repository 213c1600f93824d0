/* Objects as tables that fill on first touch.
 *
 * A level of an object begins as an empty table with hidden entries, which lead to its place in
 * the document, and a metatable shared by all. Reading a member makes that one an ordinary entry:
 * maps as levels in turn, arrays at once, so that # holds. Maps of a few scalars are made at once,
 * too, which takes less, but for a Secret's, whose values are noted as they are read. Assigning a
 * new member, iterating and whatever else looks at the whole level fills it: the rest is added, and
 * what was hidden goes with the metatable. What was never touched is written back from the
 * document's own bytes.
 */
#pragma once

#include "lua/select.h"
#include "lua/shelf.h"
#include "lua/state.h"
#include "value/doc.h"

enum {
    PL_OBJECT_ROOT = 1,    /* remember what was read: pl_lazy_base finds it */
    PL_OBJECT_PARTIAL = 2, /* from `select` or a metadata-only source */
    PL_OBJECT_SECRET = 4,  /* values under data and stringData are not for logs */
};

/* A userdata that holds a document. */
struct pl_box {
    struct pl_doc *doc; /* counted */
    unsigned flags;
    size_t bytes; /* counted in the state's `pinned` */
};

void pl_lazy_open(struct pl_state *s);

/* Pushes an empty box, to be given a document that something which may raise must not leak. */
struct pl_box *pl_box_push(lua_State *L, struct pl_state *s);
/* Pushes the document's value; takes a reference of its own. */
void pl_lazy_push(lua_State *L, struct pl_state *s, struct pl_doc *doc, unsigned flags);
/* Only these parts of an object; parts NULL: all of it. Of several documents with the same parts
 * all are held when the first is pushed. */
void pl_lazy_push_parts(lua_State *L, struct pl_state *s, struct pl_doc *doc, unsigned flags,
                        struct pl_part *parts);
/* The level that the value at index is, if it is not filled; NULL for any other value. Borrowed
 * from it. */
struct pl_level *pl_lazy_level(lua_State *L, struct pl_state *s, int index);
/* Is the value at index a level that nobody touched? The node is borrowed from it. */
bool pl_lazy_node(lua_State *L, struct pl_state *s, int index, struct pl_node *node);
/* Fills the level at index; nothing for any other value. */
void pl_lazy_fill(lua_State *L, struct pl_state *s, int index);
/* The document that an object was read from, borrowed from it, and the object's flags; doc is NULL
 * for any other value. */
struct pl_base {
    struct pl_doc *doc;
    unsigned flags;
};
struct pl_base pl_lazy_base(lua_State *L, struct pl_state *s, int index);
/* The object at `to` counts as read from what the one at `from` was read from. */
void pl_lazy_copy_base(lua_State *L, struct pl_state *s, int from, int to);
/* Are the values of the table at index a Secret's? */
bool pl_lazy_is_secret(lua_State *L, struct pl_state *s, int index);

/* Marks the table at the top as an array. */
void pl_array_mark(lua_State *L, struct pl_state *s);
bool pl_array_is_marked(lua_State *L, struct pl_state *s, int index);

/* Replaces pairs, next and getmetatable of the globals by ones that know unfilled tables; the
 * prelude does the same for others. */
void pl_lazy_install(struct pl_state *s);

/* Objects as tables that fill on first touch.
 *
 * A level of an object begins as an empty table with hidden entries, which lead to its place in the
 * document, and a metatable that all share. Reading a member makes it an ordinary entry: a map
 * becomes a level in turn, an array is made at once, so that # is right. Maps of a few scalars are
 * also made at once, which takes less memory, except those of a Secret, whose values are registered
 * as they are read. Assigning a new member, iterating, and other uses of the whole level fill it:
 * the other members are added, and the hidden entries and the metatable are removed. Untouched
 * levels are written back from the document's own bytes. */
#pragma once

#include "lua/select.h"
#include "lua/shelf.h"
#include "lua/state.h"
#include "value/doc.h"

enum {
    PL_OBJECT_ROOT = 1,     /* remember the document: pl_lazy_base finds it */
    PL_OBJECT_PARTIAL = 2,  /* from `select` or a metadata-only source */
    PL_OBJECT_SECRET = 4,   /* values under data and stringData must not be logged */
    PL_OBJECT_SELECTED = 8, /* partial, from `select`: its metadata may lack members, too */
};

/* A userdata that holds a document. */
struct pl_box {
    struct pl_doc *doc; /* counted */
    unsigned flags;
    size_t bytes; /* counted in the state's `pinned` */
};

void pl_lazy_open(struct pl_state *s);

/* Pushes an empty box, which Lua's collector frees with its document. So a document that is put
 * into it does not leak if later code raises an error. */
struct pl_box *pl_box_push(lua_State *L, struct pl_state *s);
/* Pushes the document's value; takes a new reference. */
void pl_lazy_push(lua_State *L, struct pl_state *s, struct pl_doc *doc, unsigned flags);
/* Pushes only these parts of an object; parts NULL: all of it. If several documents are pushed with
 * the same parts, the caller holds all of them from the first push on. */
void pl_lazy_push_parts(lua_State *L, struct pl_state *s, struct pl_doc *doc, unsigned flags,
                        struct pl_part *parts);
/* The unfilled level of the value at index; NULL for any other value. The value owns it. */
struct pl_level *pl_lazy_level(lua_State *L, struct pl_state *s, int index);
/* True when the value at index is an untouched level. The node is borrowed from it. */
bool pl_lazy_node(lua_State *L, struct pl_state *s, int index, struct pl_node *node);
/* Fills the level at index; does nothing for any other value. */
void pl_lazy_fill(lua_State *L, struct pl_state *s, int index);
/* The document from which an object was read, borrowed from it, and the object's flags; doc is NULL
 * for any other value. */
struct pl_base {
    struct pl_doc *doc;
    unsigned flags;
};
struct pl_base pl_lazy_base(lua_State *L, struct pl_state *s, int index);
/* Marks the object at `to` as read from the document of the one at `from`. */
void pl_lazy_copy_base(lua_State *L, struct pl_state *s, int from, int to);
/* True when the values of the table at index belong to a Secret. */
bool pl_lazy_is_secret(lua_State *L, struct pl_state *s, int index);
/* Before a text is made of the unfilled level of the table at index: registers the values of a
 * Secret that no read has registered, and what they contain as base64. */
void pl_lazy_note_secrets(lua_State *L, struct pl_state *s, int index,
                          const struct pl_level *level);

/* Marks the table at the top as an array. */
void pl_array_mark(lua_State *L, struct pl_state *s);
bool pl_array_is_marked(lua_State *L, struct pl_state *s, int index);

/* Replaces pairs, next and getmetatable of the globals by versions that support unfilled tables;
 * the prelude does the same for other functions. */
void pl_lazy_install(struct pl_state *s);

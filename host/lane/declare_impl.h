/* What the files that read declarations share. Private to declare*.c; a lane's thread. */
#pragma once

#include "lane/declare.h"

/* ---- declare.c: reading the table at the top, without metamethods ---- */

/* Pushes a member. */
void pl_declare_get(lua_State *L, const char *name);
/* Borrowed from the table; NULL for what is no text. */
const char *pl_declare_text(lua_State *L, const char *name);
/* Owned, NULL-terminated; NULL for what is no array. */
char **pl_declare_texts(lua_State *L, const char *name);

/* ---- declare_predicate.c ---- */

/* The predicate at the top, which stays; the script's functions in it go into the table at
 * `leaves`, by the numbers that the core calls them by. NULL and err for what is none. */
struct pl_predicate *pl_declare_predicate(lua_State *L, int leaves, struct pl_err *err);

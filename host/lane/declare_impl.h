/* Shared by the files that read declarations. Private to declare*.c; a lane's thread. */
#pragma once

#include "lane/declare.h"

/* ---- declare.c: reading the table at the top, without metamethods ---- */

/* Pushes a member. */
void pl_declare_get(lua_State *L, const char *name);
/* Borrowed from the table; NULL when it is not a text. */
const char *pl_declare_text(lua_State *L, const char *name);
/* Owned, NULL-terminated; NULL when it is not an array. */
char **pl_declare_texts(lua_State *L, const char *name);

/* ---- declare_predicate.c ---- */

/* Reads the predicate at the top, which stays. The script's functions in it go into the table at
 * `leaves`, under the core's numbers. NULL and err when it is invalid. The caller owns the
 * predicate. */
struct pl_predicate *pl_declare_predicate(lua_State *L, int leaves, struct pl_err *err);

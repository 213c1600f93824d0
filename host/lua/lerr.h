/* The core's errors as Lua values, and the positions of scripts in them. */
#pragma once

#include "base/err.h"
#include "lua/state.h"
#include "value/doc.h"

/* The call that failed, for the fields of the error; any member may be NULL. */
struct pl_about {
    const char *verb, *kind;
    const char *called; /* the client's function, if it has another name than the verb */
    struct pl_slice subresource;
    struct pl_slice key;
    struct pl_doc *status; /* the server's Status, for causes */
    bool was_read;         /* the call was about an object that the script had read */
};

/* Pushes the error for scripts: a table {type=, code=, reason=, message=, ...} with host.error_mt.
 * For errors of the script (EINVAL, ESYNTAX, ELIMIT) it is a text with the position of the script's
 * frame that called into Perilune. */
void pl_lerr_push(lua_State *L, struct pl_state *s, const struct pl_err *err,
                  const struct pl_about *about);
/* Raises a message with the position of the script's frame. */
int pl_lerr_raise(lua_State *L, struct pl_state *s, const char *fmt, ...) PL_PRINTF(3, 4);

/* For functions that call scripts: raises when they are nested too deeply (lua/nesting.h). frame:
 * __builtin_frame_address(0). */
void pl_lerr_check_nesting(lua_State *L, struct pl_state *s, const void *frame);

/* The innermost frame of a script, at or above `level`: its chunk's name without "@" and its line.
 * If a tail call has left none, the beginning of the function that the host has called. False when
 * there is neither. */
bool pl_lerr_where(lua_State *L, struct pl_state *s, int level, lua_Debug *ar);
/* The beginning of the script's function that the host has called: a tail call leaves no frame of
 * it. */
bool pl_lerr_where_called(lua_State *L, struct pl_state *s, lua_Debug *ar);
/* The message, which is freed, after the place of the function at the top, which is popped. Of
 * another value: the message as it is. The caller owns the result. */
char *pl_lerr_placed(lua_State *L, char *message);
/* "file.lua" of such a frame; borrowed from ar. */
const char *pl_lerr_chunk(const lua_Debug *ar);

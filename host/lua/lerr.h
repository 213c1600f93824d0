/* Errors: what the core says as Lua values, and what scripts raise as text for people. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "lua/state.h"
#include "value/doc.h"

/* What was being done when an error came, for its fields; any may be NULL. */
struct pl_about {
    const char *verb, *kind;
    struct pl_slice key;
    struct pl_doc *status; /* the server's Status, for causes */
    bool was_read;         /* it was about an object that the script had read */
};

/* Pushes the error as scripts see it: a table {type=, code=, reason=, message=, ...} with
 * host.error_mt; for mistakes of the script (EINVAL, ESYNTAX, ELIMIT) a text with the position
 * of the script's frame that called into Perilune. */
void pl_lerr_push(lua_State *L, struct pl_state *s, const struct pl_err *err,
                  const struct pl_about *about);
/* Raises a message with the position of the script's frame. */
int pl_lerr_raise(lua_State *L, struct pl_state *s, const char *fmt, ...) PL_PRINTF(3, 4);

/* For functions that call scripts, and before others do: raises when they are nested too deeply
 * (lua/nesting.h). frame: __builtin_frame_address(0). */
void pl_lerr_check_nesting(lua_State *L, struct pl_state *s, const void *frame);

/* The innermost frame of a script, at or above `level`: its chunk's name without "@" and its
 * line; where a tail call has left none, where the function begins that the host has called. False
 * when there is neither. */
bool pl_lerr_where(lua_State *L, struct pl_state *s, int level, lua_Debug *ar);
/* Where the script's function begins that the host has called: a tail call leaves no frame of it.
 */
bool pl_lerr_where_called(lua_State *L, struct pl_state *s, lua_Debug *ar);
/* "file.lua" of such a frame: borrowed from ar. */
const char *pl_lerr_chunk(const lua_Debug *ar);

enum pl_fault_type {
    PL_FAULT_SCRIPT,
    PL_FAULT_TERMINAL,
    PL_FAULT_CONFLICT,
    PL_FAULT_GONE, /* what the script had read is not there any more */
    PL_FAULT_TIMEOUT,
    PL_FAULT_CANCELED,
};

/* An uncaught error in words. */
struct pl_fault {
    enum pl_fault_type type;
    bool by_script;  /* the script's own mistake: not what the core gave it to raise */
    char *message;   /* owned: one line, or what the script said */
    char *traceback; /* owned: file:line, the source line, frames; NULL: none is worth showing */
};
void pl_fault_deinit(struct pl_fault *fault);

/* Describes the error value at the top of a dead coroutine, or the limit that has stopped it, and
 * moves it to the top of s->L, on which no script runs. __tostring may run: call it inside the
 * slice. */
void pl_fault_take(lua_State *co, struct pl_state *s, struct pl_fault *fault);
/* A protected call with a traceback: like lua_pcall, with fault filled on failure and
 * nothing left on the stack. */
int pl_lerr_pcall(lua_State *L, struct pl_state *s, int args, int results, struct pl_fault *fault);
/* Notes the stack of a script's coroutine that died, for whom its error reaches. */
void pl_lerr_note(lua_State *L, struct pl_state *s, lua_State *co);
/* Notes the running stack for the error value at the top, which is to be raised again after the
 * stack is gone. */
void pl_lerr_note_here(lua_State *L, struct pl_state *s);
void pl_lerr_open(struct pl_state *s);

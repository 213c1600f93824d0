/* Errors: the core's errors as Lua values, and scripts' errors as text for people. */
#pragma once

#include "base/buf.h"
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
/* "file.lua" of such a frame; borrowed from ar. */
const char *pl_lerr_chunk(const lua_Debug *ar);

enum pl_fault_type {
    PL_FAULT_SCRIPT,
    PL_FAULT_TERMINAL,
    PL_FAULT_CONFLICT,
    PL_FAULT_GONE, /* an object that the script had read does not exist any more */
    PL_FAULT_TIMEOUT,
    PL_FAULT_CANCELED,
};

/* An uncaught error as text. */
struct pl_fault {
    enum pl_fault_type type;
    bool by_script;  /* an error of the script itself, not one that the core gave it */
    char *message;   /* owned: one line, or the script's text */
    char *traceback; /* owned: file:line, the source line, frames; NULL: none worth showing */
};
void pl_fault_deinit(struct pl_fault *fault);

/* Describes the error value at the top of a dead coroutine, or the limit that has stopped it, and
 * moves it to the top of s->L, on which no script runs. __tostring may run, so call it inside the
 * slice. */
void pl_fault_take(lua_State *co, struct pl_state *s, struct pl_fault *fault);
/* A protected call with a traceback: like lua_pcall, but it fills fault on failure and leaves
 * nothing on the stack. */
int pl_lerr_pcall(lua_State *L, struct pl_state *s, int args, int results, struct pl_fault *fault);
/* Notes the stack of a script's coroutine that died, for the error's receivers. */
void pl_lerr_note(lua_State *L, struct pl_state *s, lua_State *co);
/* Notes the running stack for the error value at the top, which will be raised again after the
 * stack is gone. */
void pl_lerr_note_here(lua_State *L, struct pl_state *s);
void pl_lerr_open(struct pl_state *s);

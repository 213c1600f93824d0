/* Errors that a script did not catch, as text for people. */
#pragma once

#include "lua/state.h"

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
int pl_fault_pcall(lua_State *L, struct pl_state *s, int args, int results, struct pl_fault *fault);
/* Notes the stack of a script's coroutine that died, for the error's receivers. */
void pl_fault_note(lua_State *L, struct pl_state *s, lua_State *co);
/* Notes the running stack for the error value at the top, which will be raised again after the
 * stack is gone. */
void pl_fault_note_here(lua_State *L, struct pl_state *s);
void pl_fault_open(struct pl_state *s);

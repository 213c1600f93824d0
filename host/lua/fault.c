/* Scripts' errors as text for people: a line with its position, and a traceback without Perilune's
 * own frames. Messages have a limit, and secrets are hidden in them. __tostring of an error value
 * may run a script, so describing an error happens inside a slice.
 *
 * An error that passes through a coroutine, or is raised again, loses its stack; so the stack is
 * noted for the value before (the table `traced`). */
#include "lua/fault.h"

#include "base/alloc.h"
#include "base/text.h"
#include "lua/lerr.h"
#include "lua/script.h"

#include <stdio.h>
#include <stdlib.h>

#define MESSAGE_LIMIT   4096
#define TRACEBACK_LIMIT 16384
#define PLACE_LIMIT     512

void pl_fault_deinit(struct pl_fault *fault)
{
    pl_free(fault->message);
    pl_free(fault->traceback);
    *fault = (struct pl_fault){.message = NULL};
}

/* ---- error values ---- */

/* A field of the error table at the top, as text; NULL when it is not a string. */
static const char *error_field(lua_State *L, const char *name)
{
    lua_pushstring(L, name);
    lua_rawget(L, -2);
    const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    lua_pop(L, 1); /* the table keeps the text alive */
    return text;
}

static bool is_error_table(lua_State *L, struct pl_state *s)
{
    if (lua_type(L, -1) != LUA_TTABLE || !lua_getmetatable(L, -1))
        return false;
    pl_ref_push(L, s->refs.error_meta);
    bool same = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
    return same;
}

static bool says_gone(lua_State *L)
{
    lua_pushliteral(L, "gone");
    lua_rawget(L, -2);
    bool gone = lua_type(L, -1) == LUA_TBOOLEAN && lua_toboolean(L, -1);
    lua_pop(L, 1);
    return gone;
}

static enum pl_fault_type classify(lua_State *L, struct pl_state *s)
{
    if (!is_error_table(L, s))
        return PL_FAULT_SCRIPT;
    const char *type = error_field(L, "type"), *reason = error_field(L, "reason");
    if (type == NULL)
        return PL_FAULT_SCRIPT;
    if (strcmp(type, "terminal") == 0)
        return PL_FAULT_TERMINAL;
    if (strcmp(type, "timeout") == 0)
        return PL_FAULT_TIMEOUT;
    if (strcmp(type, "canceled") == 0)
        return PL_FAULT_CANCELED;
    if (strcmp(type, "api") == 0 && says_gone(L))
        return PL_FAULT_GONE;
    bool conflict = strcmp(type, "api") == 0 && reason != NULL && strcmp(reason, "Conflict") == 0;
    return conflict ? PL_FAULT_CONFLICT : PL_FAULT_SCRIPT;
}

/* LuaJIT's message when a big block was refused: then the limit is the reason. */
static bool is_refusal(lua_State *L, const struct pl_state *s)
{
    return s->limits.excess == PL_EXCESS_MEMORY && lua_type(L, -1) == LUA_TSTRING &&
           strcmp(lua_tostring(L, -1), "not enough memory") == 0;
}

/* Replaces the error value at the top by text. */
static void to_text(lua_State *L, const struct pl_state *s)
{
    if (is_refusal(L, s)) {
        pl_limits_push_message(&s->limits, L);
        lua_replace(L, -2);
        return;
    }
    if (lua_type(L, -1) == LUA_TSTRING || lua_type(L, -1) == LUA_TNUMBER) {
        lua_tostring(L, -1);
        return;
    }
    const char *type = luaL_typename(L, -1);
    if (luaL_getmetafield(L, -1, "__tostring")) {
        lua_pushvalue(L, -2);
        if (lua_pcall(L, 1, 1, 0) == 0 && lua_type(L, -1) == LUA_TSTRING) {
            lua_replace(L, -2);
            return;
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    lua_pushfstring(L, "(error object is a %s value)", type);
}

/* ---- frames and lines ---- */

/* Frames that mean nothing to the author of a script. */
static bool is_host_frame(struct pl_slice line)
{
    static const char hidden[][32] = {"[builtin#", "\tperilune:", "<perilune:", "[C]: at 0x",
                                      "[C]: in function 'error'",
                                      "[C]: in function 'host_call'", /* of the prelude */
                                      /* of xpcall, and of a message handler */
                                      "[C]: in function 'protect'", "[C]: in function '__"};
    for (size_t i = 0; i < PL_ARRAY_LEN(hidden); i++) {
        if (pl_text_find(line, hidden[i]) != NULL)
            return true;
    }
    return false;
}

static void add_frames(struct pl_buf *out, const char *trace)
{
    while (*trace != '\0' && out->len < TRACEBACK_LIMIT) {
        size_t len = strcspn(trace, "\n");
        struct pl_slice line = pl_slice(trace, len);
        if (*trace == '\t' && !is_host_frame(line)) {
            pl_buf_add_char(out, '\n');
            pl_buf_add_slice(out, line);
        }
        trace += len + (trace[len] == '\n');
    }
}

/* "path:12: ..." or "\tpath:12: in function" */
static bool parse_position(const char *text, struct pl_slice *path, int *line)
{
    text += *text == '\t';
    const char *colon = text, *stop = text + strcspn(text, "\n");
    while ((colon = strchr(colon, ':')) != NULL && colon < stop) {
        char *end;
        long number = strtol(colon + 1, &end, 10);
        if (pl_is_digit(colon[1]) && *end == ':') {
            *path = pl_slice(text, (size_t)(colon - text));
            *line = (int)number;
            return true;
        }
        colon++;
    }
    return false;
}

static const char *first_script_frame(const char *trace)
{
    for (const char *line = strchr(trace, '\n'); line != NULL; line = strchr(line + 1, '\n')) {
        struct pl_slice path;
        int number;
        size_t len = strcspn(line + 1, "\n");
        if (!is_host_frame(pl_slice(line + 1, len)) && parse_position(line + 1, &path, &number))
            return line + 1;
    }
    return NULL;
}

/* True when it is a position in a script; also gives its line. */
static bool find_source(struct pl_state *s, const char *text, struct pl_slice *path, int *line,
                        struct pl_slice *source)
{
    return parse_position(text, path, line) && pl_script_line(s, *path, *line, source);
}

/* Adds file:line and the line itself of the error's origin. at: that of the call that made an error
 * object, in the form of a message, or "". */
static void add_source_line(struct pl_buf *out, struct pl_state *s, const char *message,
                            const char *trace, const char *at)
{
    struct pl_slice path, source;
    int line;
    const char *frame = first_script_frame(trace);
    lua_Debug ar;
    if (!find_source(s, message, &path, &line, &source) &&
        (frame == NULL || !find_source(s, frame, &path, &line, &source))) {
        if (frame != NULL)
            return;
        if (!find_source(s, at, &path, &line, &source)) {
            if (!pl_lerr_where_called(s->L, s, &ar))
                return;
            path = pl_slice_z(pl_lerr_chunk(&ar));
            line = ar.currentline;
            if (!pl_script_line(s, path, line, &source))
                return;
        }
    }
    pl_buf_add_f(out, "%.*s:%d:", PL_FMT(path), line);
    pl_buf_add_f(out, "\n    %.*s", PL_FMT(source));
}

/* A noted stack with this prefix has all frames up to the coroutine's first. */
#define WHOLE '='

static char *describe_stack(struct pl_state *s, const char *message, const char *inner,
                            const char *trace, const char *at)
{
    struct pl_buf out = PL_BUF_INIT;
    bool whole = *inner == WHOLE;
    inner += whole;
    add_source_line(&out, s, message, *inner ? inner : trace, at);
    size_t before = out.len;
    pl_buf_add_z(&out, out.len ? "\nstack traceback:" : "stack traceback:");
    size_t empty = out.len;
    add_frames(&out, inner);
    if (!whole)
        add_frames(&out, trace);
    if (out.len == empty) { /* of a check after the script's function had returned */
        out.len = before;
        out.ptr[before] = '\0';
    }
    return pl_buf_take(&out);
}

/* ---- stacks that an error came through ---- */

/* Pushes the stack of a coroutine that the value at the top came through, or "". */
static void push_noted(lua_State *L, struct pl_state *s)
{
    pl_ref_push(L, s->refs.traced);
    lua_pushvalue(L, -2);
    lua_rawget(L, -2);
    if (lua_type(L, -1) != LUA_TSTRING) {
        lua_pop(L, 1);
        lua_pushliteral(L, "");
    }
    lua_remove(L, -2);
}

static void forget_noted(lua_State *L, struct pl_state *s);

static bool can_be_noted(lua_State *L)
{
    return !lua_isnil(L, -1) &&
           (lua_type(L, -1) != LUA_TNUMBER || lua_tonumber(L, -1) == lua_tonumber(L, -1));
}

/* -- value, inner, stack; joins the two and notes them for the value; pops all */
static void note_joined(lua_State *L, struct pl_state *s, bool whole)
{
    lua_pushfstring(L, "%s%s\n%s", whole ? "=" : "", lua_tostring(L, -2), lua_tostring(L, -1));
    if (*lua_tostring(L, -3) == '\0')
        forget_noted(L, s); /* of caught errors */
    pl_ref_push(L, s->refs.traced);
    lua_pushvalue(L, -5);
    lua_pushvalue(L, -3);
    lua_rawset(L, -3);
    lua_pop(L, 5);
}

void pl_fault_note(lua_State *L, struct pl_state *s, lua_State *co)
{
    /* -- ..., error value */
    if (!can_be_noted(L))
        return;
    luaL_checkstack(L, 10, NULL);
    lua_pushvalue(L, -1);
    push_noted(L, s); /* -- value, value, inner */
    if (lua_objlen(L, -1) >
        TRACEBACK_LIMIT) { /* deeply nested coroutines: nobody reads a longer traceback */
        lua_pop(L, 2);
        return;
    }
    if (*lua_tostring(L, -1) == WHOLE) {
        lua_pushstring(L, lua_tostring(L, -1) + 1);
        lua_remove(L, -2);
        lua_pushliteral(L, "");
    } else {
        luaL_traceback(L, co, NULL, 0);
    }
    note_joined(L, s, false);
}

void pl_fault_note_here(lua_State *L, struct pl_state *s)
{
    if (!can_be_noted(L))
        return;
    luaL_checkstack(L, 10, NULL);
    lua_pushvalue(L, -1);
    push_noted(L, s);
    if (*lua_tostring(L, -1) == WHOLE) { /* noted deeper in the same stack */
        lua_pop(L, 2);
        return;
    }
    luaL_traceback(L, L, NULL, 1);
    note_joined(L, s, true);
}

/* Strings are never collected from a weak table: it lives for one run only. */
static void forget_noted(lua_State *L, struct pl_state *s)
{
    pl_ref_push(L, s->refs.traced);
    lua_pushnil(L);
    while (lua_next(L, -2) != 0) {
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        lua_pushnil(L);
        lua_rawset(L, -4);
    }
    lua_pop(L, 1);
}

/* ---- the description ---- */

static char *cut_message(struct pl_slice text)
{
    if (text.len <= MESSAGE_LIMIT)
        return pl_text_copy(text);
    return pl_format("%.*s... (%zu bytes)", MESSAGE_LIMIT, text.ptr, text.len);
}

/* Without secrets, and truncated. */
static char *clean_message(struct pl_state *s, struct pl_slice text)
{
    char *masked = pl_secrets_mask(&s->secrets, text);
    if (masked != NULL) {
        char *cut = cut_message(pl_slice_z(masked));
        pl_free(masked);
        return cut;
    }
    return cut_message(text);
}

/* Puts a position in front of the text at the top if it has none in a script: it was raised in a
 * tail call, which has left no frame of the script. */
static void find_place(lua_State *L, struct pl_state *s, const char *inner, const char *trace)
{
    struct pl_slice path, source;
    int line;
    lua_Debug ar;
    const char *text = lua_tostring(L, -1);
    if (first_script_frame(inner) != NULL || first_script_frame(trace) != NULL ||
        find_source(s, text, &path, &line, &source) || !pl_lerr_where_called(L, s, &ar))
        return;
    if (strncmp(text, PL_OWN_CHUNK + 1, strlen(PL_OWN_CHUNK) - 1) == 0 &&
        parse_position(text, &path, &line)) {
        text = strchr(path.ptr + path.len + 1, ':') + 1;
        text += *text == ' ';
    }
    lua_pushfstring(L, "%s:%d: %s", pl_lerr_chunk(&ar), ar.currentline, text);
    lua_replace(L, -2);
}

/* Where the error object at the top was made, as "file:line:"; "" when it does not say. */
static void made_at(lua_State *L, struct pl_state *s, char out[PLACE_LIMIT])
{
    const char *at = is_error_table(L, s) ? error_field(L, "at") : NULL;
    out[0] = '\0';
    if (at != NULL && strlen(at) + 2 <= PLACE_LIMIT)
        snprintf(out, PLACE_LIMIT, "%s:", at);
}

/* -- error value, traceback; pops both */
static void fault_describe(lua_State *L, struct pl_state *s, struct pl_fault *fault)
{
    char at[PLACE_LIMIT];
    lua_insert(L, -2); /* -- trace, value */
    fault->type = classify(L, s);
    fault->by_script = !is_error_table(L, s);
    made_at(L, s, at);
    push_noted(L, s);
    lua_insert(L, -2); /* -- trace, inner, value */
    to_text(L, s);
    if (fault->by_script && s->limits.excess == PL_EXCESS_NONE)
        find_place(L, s, lua_tostring(L, -2), lua_tostring(L, -3));
    fault->message = clean_message(s, pl_lua_slice(L, -1));
    bool worth = fault->type == PL_FAULT_SCRIPT || fault->type == PL_FAULT_TIMEOUT ||
                 fault->type == PL_FAULT_TERMINAL;
    fault->traceback =
        worth ? describe_stack(s, fault->message, lua_tostring(L, -2), lua_tostring(L, -3), at)
              : NULL;
    lua_pop(L, 3);
    forget_noted(L, s);
}

void pl_fault_take(lua_State *co, struct pl_state *s, struct pl_fault *fault)
{
    lua_State *L = s->L; /* a stack overflow may have left co without a slot to spare */
    *fault = (struct pl_fault){.message = NULL};
    lua_checkstack(L, 16);
    if (pl_limits_has_stopped(&s->limits))
        pl_limits_push_message(&s->limits, L);
    else
        lua_xmove(co, L, 1);
    lua_settop(co, 0); /* a free slot for the traceback function */
    lua_pushvalue(L, -1);
    luaL_traceback(L, co, NULL, 0);
    fault_describe(L, s, fault);
}

/* value -> {value, traceback}, so that the stack is read before it is gone. */
static int on_error(lua_State *L)
{
    lua_settop(L, 1);
    lua_createtable(L, 2, 0);
    lua_pushvalue(L, 1);
    lua_rawseti(L, -2, 1);
    luaL_traceback(L, L, NULL, 1);
    lua_rawseti(L, -2, 2);
    return 1;
}

int pl_fault_pcall(lua_State *L, struct pl_state *s, int args, int results, struct pl_fault *fault)
{
    int handler = lua_gettop(L) - args;
    pl_ref_push(L, s->refs.traceback);
    lua_insert(L, handler);
    *fault = (struct pl_fault){.message = NULL};
    int failed = lua_pcall(L, args, results, handler);
    lua_remove(L, handler);
    if (failed == 0)
        return 0;
    if (lua_type(L, -1) == LUA_TTABLE && failed == LUA_ERRRUN) {
        lua_rawgeti(L, -1, 1);
        lua_rawgeti(L, -2, 2);
        lua_remove(L, -3);
    } else {
        lua_pushliteral(L, ""); /* an error in the handler: text without a traceback */
    }
    fault_describe(L, s, fault);
    return PL_ESCRIPT;
}

void pl_fault_open(struct pl_state *s)
{
    lua_pushcfunction(s->L, on_error);
    s->refs.traceback = luaL_ref(s->L, LUA_REGISTRYINDEX);
    lua_newtable(s->L);
    s->refs.error_meta = luaL_ref(s->L, LUA_REGISTRYINDEX);
}

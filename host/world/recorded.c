/* Copies of requests and runs: a specification may read them after the world's own objects are
 * gone. Each is kept until it is read, at most 100,000 of each, so that a long world uses bounded
 * memory. This file does not filter; Lua does. */
#include "world/recorded.h"

#include "base/alloc.h"
#include "base/text.h"
#include "control/reconciler.h"

#include <lauxlib.h>
#include <lua.h>

#define MOST 100000

struct pl_seen {
    char *host, *method, *verb, *path, *query, *body, *answer; /* owned */
    size_t body_len, answer_len;
    int status;
    bool lost;
    int64_t at_ns;
};

struct pl_run_seen {
    char *host, *controller, *key, *message; /* owned; message NULL: none */
    enum pl_outcome outcome;
    int64_t after_ns, at_ns;
};

void pl_recorded_add_seen(struct pl_recorded *recorded, const struct pl_wire_seen *seen,
                          int64_t at_ns)
{
    if (recorded->seen_count == MOST)
        return;
    if (recorded->seen_count == recorded->seen_cap) {
        recorded->seen_cap = recorded->seen_cap > 0 ? 2 * recorded->seen_cap : 64;
        recorded->seen =
            pl_reallocarray(recorded->seen, recorded->seen_cap, sizeof *recorded->seen);
    }
    recorded->seen[recorded->seen_count++] = (struct pl_seen){
        .host = pl_strdup(seen->host),
        .method = pl_strdup(seen->method),
        .verb = pl_strdup(seen->verb),
        .path = pl_text_copy(seen->path),
        .query = pl_text_copy(seen->query),
        .body = pl_text_copy(seen->body),
        .answer = pl_text_copy(seen->answer),
        .body_len = seen->body.len,
        .answer_len = seen->answer.len,
        .status = seen->status,
        .lost = seen->lost,
        .at_ns = at_ns,
    };
}

void pl_recorded_add_run(struct pl_recorded *recorded, const char *host, const struct pl_ran *ran,
                         int64_t at_ns)
{
    const struct pl_controller *controller = ran->run->controller;
    if (recorded->run_count == MOST)
        return;
    if (recorded->run_count == recorded->run_cap) {
        recorded->run_cap = recorded->run_cap > 0 ? 2 * recorded->run_cap : 64;
        recorded->runs = pl_reallocarray(recorded->runs, recorded->run_cap, sizeof *recorded->runs);
    }
    recorded->runs[recorded->run_count++] = (struct pl_run_seen){
        .host = pl_strdup(host),
        .controller = pl_strdup(controller != NULL ? pl_controller_spec(controller)->name : ""),
        .key = pl_text_copy(ran->run->key),
        .message = pl_strdup_or_null(ran->outcome->message),
        .outcome = ran->outcome->outcome,
        .after_ns = ran->outcome->after_ns,
        .at_ns = at_ns,
    };
}

static void forget_seen(struct pl_recorded *recorded)
{
    for (size_t i = 0; i < recorded->seen_count; i++) {
        struct pl_seen *seen = &recorded->seen[i];
        pl_free(seen->host);
        pl_free(seen->method);
        pl_free(seen->verb);
        pl_free(seen->path);
        pl_free(seen->query);
        pl_free(seen->body);
        pl_free(seen->answer);
    }
    recorded->seen_count = 0;
}

static void forget_runs(struct pl_recorded *recorded)
{
    for (size_t i = 0; i < recorded->run_count; i++) {
        struct pl_run_seen *run = &recorded->runs[i];
        pl_free(run->host);
        pl_free(run->controller);
        pl_free(run->key);
        pl_free(run->message);
    }
    recorded->run_count = 0;
}

static void set_bytes(lua_State *L, const char *name, const char *text, size_t len)
{
    lua_pushlstring(L, text, len);
    lua_setfield(L, -2, name);
}

static void recorded_set_text(lua_State *L, const char *name, const char *text)
{
    if (text != NULL)
        set_bytes(L, name, text, strlen(text));
}

static void set_seconds(lua_State *L, const char *name, int64_t ns)
{
    lua_pushnumber(L, (lua_Number)ns / 1e9);
    lua_setfield(L, -2, name);
}

static void push_seen(lua_State *L, const struct pl_seen *seen)
{
    lua_createtable(L, 0, 10);
    recorded_set_text(L, "host", seen->host);
    recorded_set_text(L, "method", seen->method);
    recorded_set_text(L, "verb", seen->verb);
    recorded_set_text(L, "path", seen->path);
    recorded_set_text(L, "query", seen->query);
    set_bytes(L, "body", seen->body, seen->body_len);
    set_bytes(L, "answer", seen->answer, seen->answer_len);
    lua_pushinteger(L, seen->status);
    lua_setfield(L, -2, "status");
    lua_pushboolean(L, seen->lost);
    lua_setfield(L, -2, "lost");
    set_seconds(L, "at", seen->at_ns);
}

void pl_recorded_push_seen(struct pl_recorded *recorded, lua_State *L)
{
    lua_createtable(L, (int)recorded->seen_count, 0);
    for (size_t i = 0; i < recorded->seen_count; i++) {
        push_seen(L, &recorded->seen[i]);
        lua_rawseti(L, -2, (int)i + 1);
    }
    forget_seen(recorded);
}

void pl_recorded_push_runs(struct pl_recorded *recorded, lua_State *L)
{
    lua_createtable(L, (int)recorded->run_count, 0);
    for (size_t i = 0; i < recorded->run_count; i++) {
        const struct pl_run_seen *run = &recorded->runs[i];
        lua_createtable(L, 0, 7);
        recorded_set_text(L, "host", run->host);
        recorded_set_text(L, "controller", run->controller);
        recorded_set_text(L, "key", run->key);
        recorded_set_text(L, "message", run->message);
        recorded_set_text(L, "outcome", pl_outcome_name(run->outcome));
        if (run->outcome == PL_OUTCOME_REQUEUE_AFTER)
            set_seconds(L, "after", run->after_ns);
        set_seconds(L, "at", run->at_ns);
        lua_rawseti(L, -2, (int)i + 1);
    }
    forget_runs(recorded);
}

void pl_recorded_deinit(struct pl_recorded *recorded)
{
    forget_seen(recorded);
    forget_runs(recorded);
    pl_free(recorded->seen);
    pl_free(recorded->runs);
    *recorded = (struct pl_recorded){.seen = NULL};
}

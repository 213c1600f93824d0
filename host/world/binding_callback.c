/* What a world tells and asks its spec: requests and runs are recorded; external servers, commands
 * in Pods and stored objects are passed to Lua functions. Such a function may raise an
 * error. No error of Lua may pass through the functions of the world, so the first one is kept, and
 * the spec's current call of the world raises it when it ends. */
#include "world/binding_impl.h"

#include "base/alloc.h"

#include <lauxlib.h>
#include <string.h>

void pl_binding_renew(lua_State *L)
{
    lua_pushnil(L);
    lua_setfield(L, LUA_REGISTRYINDEX, PL_SPEC_LIMIT);
}

/* Pushes the function; false: the spec has set none. */
static bool push_callback(struct bound_world *bound, enum callback which)
{
    if (bound->callbacks[which] == LUA_NOREF || bound->world == NULL)
        return false;
    pl_binding_renew(bound->L);
    lua_rawgeti(bound->L, LUA_REGISTRYINDEX, bound->callbacks[which]);
    return true;
}

/* Calls the function that push_callback has pushed; as pl_binding_call. */
static bool run_callback(struct bound_world *bound, int arguments, int results)
{
    bound->calling++;
    bool ok = pl_binding_call(bound, arguments, results);
    bound->calling--;
    return ok;
}

/* The message of the error on top of the stack; it replaces the error there. Calls no function of
 * the script. */
static const char *callback_message_of(lua_State *L)
{
    if (lua_istable(L, -1)) {
        lua_pushliteral(L, "message");
        lua_rawget(L, -2);
        lua_replace(L, -2);
    }
    const char *text = lua_tostring(L, -1);
    return text != NULL ? text : "an error that is not text";
}

bool pl_binding_call(struct bound_world *bound, int arguments, int results)
{
    if (lua_pcall(bound->L, arguments, results, 0) == 0)
        return true;
    if (bound->failure == NULL)
        bound->failure = pl_strdup(callback_message_of(bound->L));
    lua_pop(bound->L, 1);
    return false;
}

void pl_binding_set_text(lua_State *L, const char *name, const char *text)
{
    lua_pushstring(L, text);
    lua_setfield(L, -2, name);
}

static void set_slice(lua_State *L, const char *name, struct pl_slice text)
{
    lua_pushlstring(L, text.ptr != NULL ? text.ptr : "", text.len);
    lua_setfield(L, -2, name);
}

static bool on_stored(void *arg)
{
    struct bound_world *bound = arg;
    return !push_callback(bound, ON_STORED) || run_callback(bound, 0, 0);
}

static void push_request(lua_State *L, const struct pl_external_request *request)
{
    lua_createtable(L, 0, 4);
    pl_binding_set_text(L, "method", request->method);
    pl_binding_set_text(L, "url", request->url);
    set_slice(L, "body", request->body);
    lua_createtable(L, 0, (int)request->header_count);
    for (size_t i = 0; i < request->header_count; i++)
        pl_binding_set_text(L, request->headers[i].name, request->headers[i].value);
    lua_setfield(L, -2, "headers");
}

/* -- headers; reads and pops them. */
static void read_headers(lua_State *L, struct pl_external_answer *out)
{
    if (lua_type(L, -1) != LUA_TTABLE) {
        lua_pop(L, 1);
        return;
    }
    lua_pushnil(L);
    while (lua_next(L, -2) != 0) {
        if (lua_type(L, -2) == LUA_TSTRING && lua_tostring(L, -1) != NULL) {
            out->headers =
                pl_reallocarray(out->headers, out->header_count + 1, sizeof *out->headers);
            out->headers[out->header_count++] = (struct pl_http_header){
                pl_strdup(lua_tostring(L, -2)), pl_strdup(lua_tostring(L, -1))};
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static void read_answer(lua_State *L, struct pl_external_answer *out)
{
    size_t len = 0;
    lua_getfield(L, -1, "status");
    lua_getfield(L, -2, "body");
    out->status = (int)lua_tointeger(L, -2);
    const char *body = lua_tolstring(L, -1, &len);
    out->body = pl_memdup0(body != NULL ? body : "", len);
    out->body_len = len;
    lua_pop(L, 2);
    lua_getfield(L, -1, "message");
    if (lua_type(L, -1) == LUA_TSTRING)
        out->message = pl_strdup(lua_tostring(L, -1));
    lua_pop(L, 1);
    lua_getfield(L, -1, "headers");
    read_headers(L, out);
    lua_pop(L, 1);
}

static void on_http(void *arg, const struct pl_external_request *request,
                    struct pl_external_answer *out)
{
    struct bound_world *bound = arg;
    if (!push_callback(bound, ON_HTTP))
        return;
    push_request(bound->L, request);
    if (!run_callback(bound, 1, 1))
        return;
    if (lua_type(bound->L, -1) == LUA_TTABLE)
        read_answer(bound->L, out);
    else
        lua_pop(bound->L, 1);
}

/* A command in a Pod; without `out`: whether there is an answer. */
static bool on_exec(void *arg, const struct pl_api_command *command, struct pl_buf *out)
{
    struct bound_world *bound = arg;
    lua_State *L = bound->L;
    if (!push_callback(bound, ON_EXEC))
        return false;
    lua_createtable(L, 0, 4);
    set_slice(L, "namespace", command->ns);
    set_slice(L, "pod", command->pod);
    if (out != NULL) {
        set_slice(L, "query", command->query);
        set_slice(L, "stdin", command->input);
    }
    if (!run_callback(bound, 1, 1))
        return out == NULL; /* the command fails with the test */
    size_t len = 0;
    const char *text = lua_tolstring(L, -1, &len);
    bool known = lua_toboolean(L, -1);
    if (out != NULL && text != NULL)
        pl_buf_add(out, text, len);
    lua_pop(L, 1);
    return known;
}

static void on_request_seen(void *arg, const struct pl_wire_seen *seen)
{
    struct bound_world *bound = arg;
    bool reads = strcmp(seen->method, "GET") == 0;
    struct pl_wire_seen kept = *seen;
    if (bound->world == NULL || (reads && strcmp(seen->host, "user") == 0))
        return; /* reads of a user are not recorded */
    if (reads)
        kept.answer = pl_slice("", 0);
    pl_recorded_add_seen(&bound->recorded, &kept, pl_world_now(bound->world));
}

static void on_run(void *arg, const char *host, const struct pl_ran *ran)
{
    struct bound_world *bound = arg;
    if (bound->world != NULL)
        pl_recorded_add_run(&bound->recorded, host, ran, pl_world_now(bound->world));
}

void pl_binding_listen(struct bound_world *bound, struct pl_world_options *options)
{
    options->seen = on_request_seen;
    options->stored = on_stored;
    options->ran = on_run;
    options->arg = bound;
    options->outside = (struct pl_external_options){on_http, bound};
    options->commands = (struct pl_api_commands){on_exec, bound};
}

/* host: sleeping, joining, enqueueing, and external HTTP servers. */
#include "base/alloc.h"
#include "base/hash.h"
#include "base/text.h"
#include "bind/list.h"
#include "lane/lane.h"
#include "lua/lerr.h"
#include "lua/member.h"
#include "lane/co.h"
#include "object/meta.h"
#include "net/http_server.h"

#define HTTP_TIMEOUT_MS   30000
#define HTTP_MAX_RESPONSE ((size_t)10 << 20)
#define HEADERS_MAX       100
#define PLACE_LEVELS      16

static int push_nothing(lua_State *L, struct pl_state *s, struct pl_lop *op)
{
    PL_UNUSED(L);
    PL_UNUSED(s);
    PL_UNUSED(op);
    return 0;
}

static int64_t to_ns(double seconds)
{
    return pl_clamp(seconds * (double)PL_SECOND, 0, (int64_t)1e9 * PL_SECOND);
}

/* The same for the same lines of all calls that are under way. Only for worlds: 0 elsewhere. */
static uint64_t place_of(lua_State *L, const struct pl_state *s)
{
    uint64_t place = 0;
    lua_Debug ar;
    if (s->lane->lanes->options.stepped == NULL)
        return 0;
    for (int level = 1; level <= PLACE_LEVELS && lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "Sl", &ar);
        place = pl_hash(ar.source, strlen(ar.source), place);
        place = pl_hash(&ar.currentline, sizeof ar.currentline, place);
    }
    return place;
}

static int sleep_for(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    double seconds = luaL_checknumber(L, 1);
    pl_co_check_wait(L, s);
    struct pl_exec *exec = s->task->exec;
    if (exec->stopping && exec->woken && !exec->canceled) {
        /* The task was asked to stop and woken for that, but it sleeps again. */
        exec->canceled = true;
        pl_err_set(pl_exec_why(exec), PL_ECANCELED, "the task was asked to stop and slept again");
    }
    struct pl_lop *op = pl_lop_create(PL_LOP_SLEEP);
    if (exec->stopping) {
        exec->woken = true;
        seconds = 0;
    }
    op->verb = "sleep";
    op->delay_ns = to_ns(seconds);
    op->in.place = place_of(L, s);
    op->push = push_nothing;
    return pl_co_wait(L, s, op);
}

/* name, ns|nil, name of the object: the receiver, and the key. The operation does not wait yet. */
static struct pl_lop *enqueue_op(lua_State *L, struct pl_state *s, const char *verb)
{
    luaL_checkstring(L, 1);
    luaL_checkstring(L, 3);
    struct pl_slice ns = pl_argument_text(L, 2);
    pl_co_check_wait(L, s);
    struct pl_lop *op = pl_lop_create(PL_LOP_ENQUEUE);
    struct pl_buf key = PL_BUF_INIT;
    pl_key_add(&key, ns, pl_lua_slice(L, 3));
    op->verb = verb;
    op->in.enqueue.controller = pl_lop_text(op, pl_lua_slice(L, 1));
    op->in.enqueue.key = pl_lop_text(op, pl_buf_slice(&key));
    op->push = push_nothing;
    pl_buf_deinit(&key);
    return op;
}

/* enqueue(controller, ns|nil, name, seconds, priority) */
static int task_enqueue(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    double seconds = luaL_optnumber(L, 4, 0);
    int priority = (int)luaL_optinteger(L, 5, 0);
    struct pl_lop *op = enqueue_op(L, s, "enqueue");
    op->in.enqueue.priority = priority;
    op->delay_ns = to_ns(seconds);
    return pl_co_wait(L, s, op);
}

/* send(channel, ns|nil, name) */
static int send_into(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    struct pl_lop *op = enqueue_op(L, s, "send");
    op->in.enqueue.is_channel = true;
    return pl_co_wait(L, s, op);
}

/* select_kinds(controller, source, kinds, unknown): sets the kinds that a family follows */
static int select_kinds(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    luaL_checkstring(L, 1);
    lua_Integer source = luaL_checkinteger(L, 2);
    luaL_checkstring(L, 3);
    luaL_checkstring(L, 4);
    pl_co_check_wait(L, s);
    struct pl_lop *op = pl_lop_create(PL_LOP_SELECT);
    op->verb = "select";
    op->in.select.controller = pl_lop_text(op, pl_lua_slice(L, 1));
    op->in.select.source = source > 0 ? (size_t)source : 0;
    op->in.select.kinds = pl_lop_text(op, pl_lua_slice(L, 3));
    op->in.select.unknown = pl_lop_text(op, pl_lua_slice(L, 4));
    op->push = push_nothing;
    return pl_co_wait(L, s, op);
}

/* ---- http ---- */

static const struct pl_member http_members[] = {
    {"url", LUA_TSTRING},  {"method", LUA_TSTRING},  {"headers", LUA_TTABLE},
    {"body", LUA_TSTRING}, {"timeout", LUA_TNUMBER}, {"max_response", LUA_TNUMBER},
    {"tls", LUA_TTABLE},   {"", LUA_TNIL},
};
static const struct pl_member tls_members[] = {
    {"ca", LUA_TSTRING},          {"cert", LUA_TSTRING},      {"key", LUA_TSTRING},
    {"server_name", LUA_TSTRING}, {"insecure", LUA_TBOOLEAN}, {"", LUA_TNIL},
};

/* True for a token as HTTP requires it in methods and header names. */
static bool task_is_token(struct pl_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c <= ' ' || c >= 127 || strchr("()<>@,;:\\\"/[]?={}", c) != NULL)
            return false;
    }
    return text.len > 0;
}

static bool is_header(struct pl_slice name, struct pl_slice value)
{
    return task_is_token(name) && pl_slice_chr(value, '\n') == NULL &&
           pl_slice_chr(value, '\r') == NULL && pl_slice_chr(value, '\0') == NULL;
}

/* Raises for headers that would break out of their line. Counts them. */
static size_t check_headers(lua_State *L, struct pl_state *s)
{
    size_t count = 0;
    pl_member_push(L, 1, "headers");
    if (lua_type(L, -1) == LUA_TTABLE) {
        lua_pushnil(L);
        while (lua_next(L, -2) != 0) {
            bool fits = lua_type(L, -2) == LUA_TSTRING && lua_type(L, -1) == LUA_TSTRING &&
                        is_header(pl_lua_slice(L, -2), pl_lua_slice(L, -1));
            if (!fits || ++count > HEADERS_MAX)
                pl_lerr_raise(L, s,
                              "http.request: headers are at most %d names and values, texts "
                              "without line breaks",
                              HEADERS_MAX);
            lua_pop(L, 1);
        }
    }
    lua_pop(L, 1);
    return count;
}

static void copy_headers(lua_State *L, struct pl_lop *op, size_t count)
{
    if (count == 0)
        return;
    struct pl_buf *blob = &op->in.http.blob;
    pl_member_push(L, 1, "headers");
    lua_pushnil(L);
    while (lua_next(L, -2) != 0) {
        pl_buf_add(blob, lua_tostring(L, -2), lua_objlen(L, -2) + 1);
        pl_buf_add(blob, lua_tostring(L, -1), lua_objlen(L, -1) + 1);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    op->in.http.headers = pl_calloc(count, sizeof *op->in.http.headers);
    const char *at = blob->ptr;
    for (size_t i = 0; i < count; i++) {
        op->in.http.headers[i].name = at;
        at += strlen(at) + 1;
        op->in.http.headers[i].value = at;
        at += strlen(at) + 1;
    }
    op->in.http.header_count = count;
}

/* -- headers: adds one. Values of the same name are joined (RFC 9110, 5.3). */
static void add_header(lua_State *L, const char *name, const char *value)
{
    lua_getfield(L, -1, name);
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        lua_pushstring(L, value);
    } else {
        lua_pushliteral(L, ", ");
        lua_pushstring(L, value);
        lua_concat(L, 3);
    }
    lua_setfield(L, -2, name);
}

static int push_response(lua_State *L, struct pl_state *s, struct pl_lop *op)
{
    PL_UNUSED(s);
    lua_createtable(L, 0, 3);
    lua_pushinteger(L, op->out.status);
    lua_setfield(L, -2, "status");
    pl_lua_push(L, pl_buf_slice(&op->out.body));
    lua_setfield(L, -2, "body");
    lua_newtable(L);
    for (size_t at = 0; at < op->out.blob.len;) {
        const char *name = op->out.blob.ptr + at, *value = name + strlen(name) + 1;
        add_header(L, name, value);
        at = (size_t)(value + strlen(value) + 1 - op->out.blob.ptr);
    }
    lua_setfield(L, -2, "headers");
    return 1;
}

/* Index 2: the table `tls`, or nil. */
static void set_tls(lua_State *L, struct pl_lop *op)
{
    op->in.http.ca = pl_lop_text(op, pl_member_text(L, 2, "ca"));
    op->in.http.cert = pl_lop_text(op, pl_member_text(L, 2, "cert"));
    op->in.http.key = pl_lop_text(op, pl_member_text(L, 2, "key"));
    op->in.http.server_name = pl_lop_text(op, pl_member_text(L, 2, "server_name"));
    op->in.http.insecure = pl_member_flag(L, 2, "insecure");
}

/* The URL for errors: without a password and the query. */
static struct pl_slice shown_url(struct pl_lop *op, struct pl_slice url)
{
    struct pl_buf shown = PL_BUF_INIT;
    pl_url_add_public(&shown, url);
    struct pl_slice text = pl_lop_text(op, pl_buf_slice(&shown));
    pl_buf_deinit(&shown);
    return text;
}

static bool has_scheme(struct pl_slice url)
{
    return (url.len > 7 && pl_text_begins(url, "http://")) ||
           (url.len > 8 && pl_text_begins(url, "https://"));
}

static int http(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    luaL_checkstack(L, 20, NULL);
    pl_co_check_wait(L, s);
    pl_member_check(L, s, 1, http_members);
    pl_member_push(L, 1, "tls");
    pl_member_check(L, s, 2, tls_members);
    struct pl_slice url = pl_member_text(L, 1, "url"), method = pl_member_text(L, 1, "method");
    if (!has_scheme(url) || pl_slice_chr(url, '\0') != NULL)
        return pl_lerr_raise(L, s, "http.request: url must begin with http:// or https://");
    if (method.ptr != NULL && !task_is_token(method))
        return pl_lerr_raise(L, s, "http.request: method must be one word");
    size_t headers = check_headers(L, s);
    double max = pl_member_number(L, 1, "max_response", (double)HTTP_MAX_RESPONSE);
    double timeout = pl_member_number(L, 1, "timeout", HTTP_TIMEOUT_MS / 1000.0);
    struct pl_lop *op = pl_lop_create(PL_LOP_HTTP);
    op->verb = "request";
    op->in.http.url = pl_lop_text(op, url);
    op->key = shown_url(op, url);
    op->in.http.method = pl_lop_text(op, method.ptr ? method : pl_slice_z("GET"));
    op->in.http.body = pl_lop_text(op, pl_member_text(L, 1, "body"));
    op->in.http.timeout_ms = to_ns(timeout) / PL_MS;
    op->in.http.max_response = (size_t)pl_clamp(max, 1, 1000000000);
    copy_headers(L, op, headers);
    set_tls(L, op);
    op->push = push_response;
    return pl_co_wait(L, s, op);
}

const luaL_Reg pl_bind_tasks[] = {
    {"sleep", sleep_for}, {"join", pl_co_join}, {"enqueue", task_enqueue},
    {"send", send_into},  {"http", http},       {"select_kinds", select_kinds},
    {NULL, NULL},
};

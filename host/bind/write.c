/* host.write: one request to the write gate. */
#include "bind/list.h"
#include "bind/written_secrets.h"
#include "lua/lazy.h"
#include "lua/lerr.h"
#include "lua/lval.h"
#include "lua/member.h"
#include "lua/peek.h"
#include "lane/co.h"
#include "object/meta.h"
#include "object/secret.h"

/* ---- the request's table: always at index 1 ---- */

static const struct pl_member members[] = {
    {"verb", LUA_TSTRING},
    {"called", LUA_TSTRING},
    {"patch_type", LUA_TSTRING},
    {"kind", LUA_TSTRING},
    {"namespace", LUA_TSTRING},
    {"name", LUA_TSTRING},
    {"subresource", LUA_TSTRING},
    {"field_manager", LUA_TSTRING},
    {"field_validation", LUA_TSTRING},
    {"propagation", LUA_TSTRING},
    {"labels", LUA_TSTRING},
    {"fields", LUA_TSTRING},
    {"uid", LUA_TSTRING},
    {"grace_period", LUA_TNUMBER},
    {"resource_version", LUA_TSTRING},
    {"raw_path", LUA_TSTRING},
    {"headers", LUA_TSTRING},
    {"cluster", LUA_TSTRING},
    {"stdin", LUA_TSTRING},
    {"most", LUA_TNUMBER},
    {"timeout", LUA_TNUMBER},
    {"", LUA_TNIL},
};

static struct pl_slice write_text(lua_State *L, const char *name)
{
    return pl_member_text(L, 1, name);
}

static bool write_flag(lua_State *L, const char *name)
{
    return pl_member_flag(L, 1, name);
}

struct verb {
    const char *name;
    enum pl_verb verb;
    enum pl_patch_type patch_type;
};

static const struct verb verbs[] = {
    {"create", PL_VERB_CREATE, PL_PATCH_MERGE},
    {"update", PL_VERB_UPDATE, PL_PATCH_MERGE},
    {"patch", PL_VERB_PATCH, PL_PATCH_MERGE},
    {"apply", PL_VERB_PATCH, PL_PATCH_APPLY},
    {"delete", PL_VERB_DELETE, PL_PATCH_MERGE},
    {"deletecollection", PL_VERB_DELETE_COLLECTION, PL_PATCH_MERGE},
    {"get", PL_VERB_GET, PL_PATCH_MERGE},
};

static const struct verb *check_verb(lua_State *L)
{
    struct pl_slice name = write_text(L, "verb");
    for (size_t i = 0; i < PL_ARRAY_LEN(verbs); i++) {
        if (pl_slice_eqz(name, verbs[i].name))
            return &verbs[i];
    }
    luaL_error(L, "no such verb");
    return NULL;
}

static enum pl_patch_type patch_type(lua_State *L, const struct verb *verb)
{
    struct pl_slice name = write_text(L, "patch_type");
    if (verb->patch_type == PL_PATCH_APPLY)
        return PL_PATCH_APPLY;
    if (pl_slice_eqz(name, "json"))
        return PL_PATCH_JSON;
    return pl_slice_eqz(name, "strategic") ? PL_PATCH_STRATEGIC : PL_PATCH_MERGE;
}

/* The table's member as a document in a box on the stack; NULL when it has none. */
static struct pl_doc *check_doc(lua_State *L, struct pl_state *s, const char *verb,
                                const char *name)
{
    pl_member_push(L, 1, name);
    if (lua_isnil(L, -1))
        return NULL;
    struct pl_box *box = pl_box_push(L, s);
    struct pl_err err;
    pl_err_clear(&err);
    box->doc = pl_lval_doc(L, s, lua_gettop(L) - 1, &err);
    if (box->doc == NULL)
        pl_lerr_raise(L, s, "%s: %s", verb, err.message);
    return box->doc;
}

/* ---- results ---- */

/* The number of objects in a deletecollection's answer; -1 when it has none. */
static int64_t write_count_of(struct pl_doc *answer)
{
    struct pl_node items = pl_node_getz(pl_doc_root(answer), "items");
    return pl_node_type(items) == PL_ARRAY ? (int64_t)pl_node_len(items) : -1;
}

static void push_info(lua_State *L, struct pl_lop *op)
{
    lua_createtable(L, 0, 3);
    lua_pushboolean(L, op->out.skipped);
    lua_setfield(L, -2, "skipped");
    lua_pushboolean(L, op->out.gone);
    lua_setfield(L, -2, "gone");
    int64_t count = write_count_of(op->out.doc);
    if (op->type == PL_LOP_WRITE && op->in.write.verb == PL_VERB_DELETE_COLLECTION && count >= 0) {
        lua_pushnumber(L, (lua_Number)count);
        lua_setfield(L, -2, "count");
    }
}

/* object | nil, {skipped=, gone=, count=} */
static int push_written(lua_State *L, struct pl_state *s, struct pl_lop *op)
{
    if (op->out.doc != NULL)
        pl_lazy_push(L, s, op->out.doc, op->push_flags);
    else
        lua_pushnil(L);
    push_info(L, op);
    return 2;
}

/* object | text | nil, info */
static int push_read(lua_State *L, struct pl_state *s, struct pl_lop *op)
{
    if (!op->out.is_text)
        return push_written(L, s, op);
    pl_lua_push(L, pl_buf_slice(&op->out.body));
    push_info(L, op);
    return 2;
}

/* object | text | nil, info; of a raw request, whose answer may contain Secrets. A text has none:
 * the API server gives objects as JSON only. */
static int push_raw(lua_State *L, struct pl_state *s, struct pl_lop *op)
{
    if (op->out.doc != NULL && !op->out.is_text) {
        struct pl_node root = pl_doc_root(op->out.doc);
        pl_secret_note_answer(&s->secrets, root);
        if (pl_secret_is_one(root))
            op->push_flags |= PL_OBJECT_SECRET;
    }
    return push_read(L, s, op);
}

/* {stdout=, stderr=, code=}, or nil, info */
static int push_exec(lua_State *L, struct pl_state *s, struct pl_lop *op)
{
    PL_UNUSED(s);
    if (!op->out.flag) {
        lua_pushnil(L);
        push_info(L, op);
        return 2;
    }
    lua_createtable(L, 0, 3);
    pl_lua_push(L, pl_buf_slice(&op->out.body));
    lua_setfield(L, -2, "stdout");
    pl_lua_push(L, pl_buf_slice(&op->out.blob));
    lua_setfield(L, -2, "stderr");
    lua_pushinteger(L, op->out.status);
    lua_setfield(L, -2, "code");
    return 1;
}

/* ---- requests ---- */

static unsigned write_flags_of(const struct pl_kind *kind, struct pl_slice subresource)
{
    bool secret = pl_kind_is_secret(kind);
    /* The answer of another subresource has another kind. */
    bool whole = subresource.ptr == NULL || pl_slice_eqz(subresource, "status");
    return (whole ? (unsigned)PL_OBJECT_ROOT : 0) | (secret ? (unsigned)PL_OBJECT_SECRET : 0);
}

static struct pl_lop *new_op(lua_State *L, enum pl_lop_type type, const struct verb *verb,
                             const struct pl_kind *kind)
{
    struct pl_lop *op = pl_lop_create(type);
    struct pl_slice raw_path = write_text(L, "raw_path");
    op->verb = verb->name;
    op->called = pl_lop_text(op, write_text(L, "called")).ptr;
    op->kind = raw_path.ptr != NULL ? "raw" : pl_lop_text(op, write_text(L, "kind")).ptr;
    if (raw_path.ptr != NULL)
        op->key = pl_lop_text(op, raw_path);
    else
        pl_lop_set_key(op, write_text(L, "namespace"), write_text(L, "name"));
    op->cluster = pl_lop_text(op, write_text(L, "cluster"));
    op->push_flags = write_flags_of(kind, write_text(L, "subresource"));
    op->push = raw_path.ptr != NULL ? push_raw : push_written;
    return op;
}

/* "get" of a subresource or a path: a live read. */
static int read_other(lua_State *L, struct pl_state *s, const struct verb *verb,
                      const struct pl_kind *kind)
{
    struct pl_lop *op = new_op(L, PL_LOP_READ, verb, kind);
    op->in.read = (struct pl_read){
        .verb = PL_VERB_GET,
        .kind = *kind,
        .ns = pl_lop_text(op, write_text(L, "namespace")),
        .name = pl_lop_text(op, write_text(L, "name")),
        .subresource = pl_lop_text(op, write_text(L, "subresource")),
        .query = pl_lop_text(op, write_text(L, "query")),
        .raw_path = pl_lop_text(op, write_text(L, "raw_path")),
        .headers = pl_lop_text(op, write_text(L, "headers")),
        .takes_text = true,
    };
    if (op->push != push_raw)
        op->push = push_read;
    return pl_co_wait(L, s, op);
}

/* True when "name\0value\0..." is complete. */
static bool are_headers(struct pl_slice headers)
{
    size_t ends = 0;
    for (size_t i = 0; i < headers.len; i++)
        ends += headers.ptr[i] == '\0';
    return ends % 2 == 0 && (headers.len == 0 || headers.ptr[headers.len - 1] == '\0');
}

static int64_t grace_period(lua_State *L)
{
    return pl_clamp(pl_member_number(L, 1, "grace_period", -1), -1, INT32_MAX);
}

/* False for an object that the script has made of the one that was read: under another name, or for
 * another cluster. Its metadata has no uid, or another one. */
static bool is_the_read_one(lua_State *L, struct pl_state *s, int index, const struct pl_doc *read)
{
    struct pl_scratch room[2];
    struct pl_peeked metadata = pl_peek_member(L, s, pl_peek(L, s, index), "metadata");
    struct pl_slice uid = pl_peek_text(L, pl_peek_member(L, s, metadata, "uid"), &room[0]);
    return pl_slice_eq(uid, pl_meta_uid(pl_doc_root(read), &room[1]));
}

static void set_target(lua_State *L, struct pl_state *s, struct pl_lop *op)
{
    int top = lua_gettop(L);
    pl_member_push(L, 1, "object");
    struct pl_base base = pl_lazy_base(L, s, top + 1);
    if (base.doc != NULL) {
        op->in.write.partial = (base.flags & PL_OBJECT_PARTIAL) != 0;
        if (is_the_read_one(L, s, top + 1, base.doc))
            op->in.write.base = pl_doc_ref(base.doc);
    }
    lua_settop(L, top);
}

static void set_options(lua_State *L, struct pl_lop *op)
{
    struct pl_write *write = &op->in.write;
    write->adopt = write_flag(L, "adopt");
    write->force_write = write_flag(L, "force_write");
    write->live = write_flag(L, "live");
    write->dry_run = write_flag(L, "dry_run");
    write->force = write_flag(L, "force");
    write->field_manager = pl_lop_text(op, write_text(L, "field_manager"));
    write->field_validation = pl_lop_text(op, write_text(L, "field_validation"));
    write->propagation = pl_lop_text(op, write_text(L, "propagation"));
    write->labels = pl_lop_text(op, write_text(L, "labels"));
    write->fields = pl_lop_text(op, write_text(L, "fields"));
    write->uid = pl_lop_text(op, write_text(L, "uid"));
    write->rv = pl_lop_text(op, write_text(L, "resource_version"));
    write->headers = pl_lop_text(op, write_text(L, "headers"));
    write->grace_period = grace_period(L);
}

#define EXEC_MOST    ((int64_t)64 << 20)
#define EXEC_SECONDS 86400

/* A command, whose PodExecOptions are the body. */
static void set_exec(lua_State *L, struct pl_lop *op)
{
    struct pl_write *write = &op->in.write;
    write->exec = true;
    write->input = pl_lop_text(op, write_text(L, "stdin"));
    write->most = (size_t)pl_clamp(pl_member_number(L, 1, "most", 0), 0, EXEC_MOST);
    double seconds = pl_member_number(L, 1, "timeout", 0);
    write->timeout_ns = pl_clamp(seconds * 1000, 0, (int64_t)EXEC_SECONDS * 1000) * PL_MS;
    op->push = push_exec;
}

static struct pl_write write_of(lua_State *L, struct pl_lop *op, const struct verb *verb,
                                const struct pl_kind *kind)
{
    return (struct pl_write){
        .verb = verb->verb,
        .patch_type = patch_type(L, verb),
        .kind = *kind,
        .ns = pl_lop_text(op, write_text(L, "namespace")),
        .name = pl_lop_text(op, write_text(L, "name")),
        .subresource = pl_lop_text(op, write_text(L, "subresource")),
        .raw_path = pl_lop_text(op, write_text(L, "raw_path")),
    };
}

static int write_object(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    luaL_checkstack(L, 20, NULL);
    pl_co_check_wait(L, s);
    pl_member_check(L, s, 1, members);
    const struct verb *verb = check_verb(L);
    struct pl_kind kind = {.kind = ""};
    struct pl_err err;
    pl_err_clear(&err);
    struct pl_slice raw_path = write_text(L, "raw_path");
    bool raw = raw_path.ptr != NULL;
    if (!raw && pl_kind_parse(write_text(L, "kind"), &kind, &err) != 0)
        return pl_lerr_raise(L, s, "%s: %s", verb->name, err.message);
    if (!are_headers(write_text(L, "headers")))
        return pl_lerr_raise(L, s, "%s: the headers are malformed", verb->name);
    if (verb->verb == PL_VERB_GET)
        return read_other(L, s, verb, &kind);
    struct pl_doc *body = check_doc(L, s, verb->name, "body");
    struct pl_doc *owner = check_doc(L, s, verb->name, "owner");
    if (raw)
        pl_note_raw_body(s, raw_path, body);
    else
        pl_note_written_secrets(s, &kind, body);
    /* The following code does not raise: the operation owns its memory. */
    struct pl_lop *op = new_op(L, PL_LOP_WRITE, verb, &kind);
    op->in.write = write_of(L, op, verb, &kind);
    op->in.write.body = pl_doc_ref(body);
    op->in.write.owner = pl_doc_ref(owner);
    set_target(L, s, op);
    set_options(L, op);
    if (write_flag(L, "exec") && body != NULL)
        set_exec(L, op);
    return pl_co_wait(L, s, op);
}

const luaL_Reg pl_bind_writes[] = {
    {"write", write_object},
    {NULL, NULL},
};

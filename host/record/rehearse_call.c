/* What the calls of the other scripts answer. A call that the recorded run made, too, has the
 * recorded answer: the same scripts run as they ran then. An object to which the scripts have
 * written something else is read as they would find it. Other reads are answered from the objects
 * that the record has shown before; one that it lacks counts as absent, and is counted as unknown.
 * Writes become effects of a capture (rehearse_write.c). */
#include "record/rehearse_impl.h"

#include "base/text.h"
#include "bind/bind.h"
#include "lua/lazy.h"
#include "lua/lerr.h"
#include "lua/lval.h"
#include "object/kind.h"
#include "object/meta.h"
#include "record/tape.h"
#include "record/value.h"

#include <string.h>

static int push_results(struct record_rehearsal *rehearsal, lua_State *L, struct pl_state *s,
                        struct pl_slice result)
{
    struct pl_bytes from = pl_bytes_of(result);
    int count = (int)pl_bytes_int(&from);
    for (int i = 0; i < count && !from.bad; i++)
        pl_value_push(L, s, &from, rehearsal->veil);
    return count;
}

/* Uses the call. The scripts' clock goes on to what the recorded run had read before it. */
static void use_call(struct record_rehearsal *rehearsal, size_t index)
{
    struct pl_record_run *run = rehearsal->run;
    struct pl_record_call *call = &run->calls[index];
    call->used = true;
    rehearsal->wall_ns = call->wall_ns;
    for (size_t i = rehearsal->next_time; i < run->time_count; i++)
        if (run->times[i].task == call->task && run->times[i].after <= index)
            run->times[i].used = true;
}

/* The first equal call of the recorded run that was not used yet (which is used now), or else the
 * last used one. NULL if there is none. */
static const struct pl_record_call *find_call(struct record_rehearsal *rehearsal,
                                              struct pl_slice call, bool *is_new)
{
    const struct pl_record_call *found = NULL;
    *is_new = false;
    for (size_t i = 0; i < rehearsal->run->count && !*is_new; i++) {
        struct pl_record_call *one = &rehearsal->run->calls[i];
        if (one->result.ptr == NULL || !pl_veil_same(rehearsal->veil, one->call, call))
            continue;
        *is_new = !one->used;
        if (*is_new)
            use_call(rehearsal, i);
        found = one;
    }
    return found;
}

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

/* A read without an answer, or a call that cannot have one. */
static int answer_unknown(struct record_rehearsal *rehearsal, lua_State *L, struct pl_state *s,
                          const char *name)
{
    static const char *const reads[] = {"get", "key_changed", "shards", "owns_shard", NULL};
    static const char *const lists[] = {"list", "batch", "http", NULL};
    struct pl_err err;
    if (is_one_of(name, lists)) {
        rehearsal->out->unknown++;
        pl_err_clear(&err);
        pl_err_set(&err, PL_EIO, "the record has no answer to this %s", name);
        lua_pushboolean(L, true);
        pl_lerr_push(L, s, &err, NULL);
        return 2;
    }
    if (is_one_of(name, reads))
        rehearsal->out->unknown++;
    if (strcmp(name, "memo") == 0) {
        lua_newtable(L);
        return 1;
    }
    lua_pushboolean(L, false);
    lua_pushnil(L);
    return 2;
}

/* A write that the recorded run did not make, or of an object that is not as it was then. */
static int answer_other_write(struct record_rehearsal *rehearsal, lua_State *L, struct pl_state *s,
                              struct pl_node request)
{
    struct pl_err err;
    bool skipped;
    pl_err_clear(&err);
    struct pl_box *object = pl_box_push(L, s);
    bool failed = pl_rehearse_write(rehearsal, PL_REHEARSED_OTHER, request, &object->doc, &skipped,
                                    &err) != 0;
    lua_pushboolean(L, failed);
    if (failed) {
        pl_lerr_push(L, s, &err, NULL);
        return 2;
    }
    if (object->doc != NULL)
        pl_lazy_push(L, s, object->doc, PL_OBJECT_ROOT);
    else
        lua_pushnil(L);
    lua_createtable(L, 0, 1);
    lua_pushboolean(L, skipped);
    lua_setfield(L, -2, "skipped");
    return 3;
}

/* found: the same call of the recorded run; NULL: it made none. */
static int answer_write(struct record_rehearsal *rehearsal, lua_State *L, struct pl_state *s,
                        const struct pl_record_call *found)
{
    struct pl_err err;
    pl_err_clear(&err);
    struct pl_box *request = pl_box_push(L, s), *object = pl_box_push(L, s);
    bool skipped;
    request->doc = pl_lval_doc(L, s, 1, &err);
    if (request->doc == NULL)
        return pl_lerr_raise(L, s, "%s", err.message);
    struct pl_node root = pl_doc_root(request->doc);
    if (found == NULL || pl_rehearse_writes_apart(rehearsal, root))
        return answer_other_write(rehearsal, L, s, root);
    if (pl_rehearse_has_written(found->result))
        PL_IGNORE(
            pl_rehearse_write(rehearsal, PL_REHEARSED_SAME, root, &object->doc, &skipped, &err));
    return push_results(rehearsal, L, s, found->result);
}

/* The object as the scripts would find it, if they wrote to it or the record has shown it; else
 * what the record says of such a read. A call that the recorded run made at this point comes first.
 */
static int answer_get(struct record_rehearsal *rehearsal, lua_State *L, struct pl_state *s,
                      const struct pl_record_call *found, bool is_new)
{
    struct pl_kind kind = {.kind = ""};
    struct pl_err err;
    struct pl_buf key = PL_BUF_INIT;
    struct pl_doc *doc = NULL;
    pl_err_clear(&err);
    if (lua_type(L, 1) != LUA_TSTRING || lua_type(L, 3) != LUA_TSTRING ||
        pl_kind_parse(pl_lua_slice(L, 1), &kind, &err) != 0)
        return found != NULL ? push_results(rehearsal, L, s, found->result)
                             : answer_unknown(rehearsal, L, s, "get");
    pl_key_add(&key, lua_isstring(L, 2) ? pl_lua_slice(L, 2) : pl_slice("", 0), pl_lua_slice(L, 3));
    bool apart = pl_rehearse_is_apart(rehearsal, &kind, pl_buf_slice(&key));
    bool seen = pl_capture_sees(rehearsal->candidate, &kind, pl_buf_slice(&key), &doc);
    if (!seen && found == NULL)
        doc = pl_rehearse_found(rehearsal, &kind, pl_buf_slice(&key));
    pl_buf_deinit(&key);
    if (found != NULL && !apart && (is_new || !seen)) {
        pl_doc_unref(doc);
        return push_results(rehearsal, L, s, found->result);
    }
    if (doc == NULL && !seen)
        return answer_unknown(rehearsal, L, s, "get");
    lua_pushboolean(L, false);
    if (doc != NULL)
        pl_lazy_push(L, s, doc, PL_OBJECT_ROOT);
    else
        lua_pushnil(L);
    pl_doc_unref(doc);
    return 2;
}

/* The answer of a webhook's handler. Pseudonyms stay as they are. */
static int note_answer(struct record_rehearsal *rehearsal, lua_State *L, struct pl_state *s,
                       const char *name)
{
    struct pl_buf text = PL_BUF_INIT;
    pl_entry_put_call(&text, L, s, name, NULL);
    pl_rehearse_answer(rehearsal->candidate, pl_buf_slice(&text));
    pl_buf_deinit(&text);
    return 0;
}

static bool is_write(lua_State *L, const char *name)
{
    if (strcmp(name, "write") != 0 || lua_type(L, 1) != LUA_TTABLE)
        return false;
    lua_getfield(L, 1, "verb");
    bool reads = lua_type(L, -1) == LUA_TSTRING && strcmp(lua_tostring(L, -1), "get") == 0;
    lua_getfield(L, 1, "raw_path");
    bool raw = !lua_isnil(L, -1);
    lua_pop(L, 2);
    return !reads && !raw;
}

/* A variable of the environment: as it was recorded, or if it was not read then, as it is now. */
static int answer_getenv(struct record_rehearsal *rehearsal, lua_State *L, struct pl_state *s,
                         lua_CFunction function)
{
    struct pl_buf call = PL_BUF_INIT;
    pl_entry_put_call(&call, L, s, "getenv", rehearsal->veil);
    const struct pl_slice *entry = pl_map_get(&rehearsal->environment, pl_buf_slice(&call));
    pl_buf_deinit(&call);
    return entry != NULL ? push_results(rehearsal, L, s, pl_slice(entry->ptr + 1, entry->len - 1))
                         : function(L);
}

int pl_rehearse_call(struct pl_tape *base, lua_State *L, const char *name, lua_CFunction function)
{
    struct record_rehearsal *rehearsal = PL_CONTAINER_OF(base, struct record_rehearsal, base);
    struct pl_state *s = pl_state_of(L);
    if (pl_entry_is_digest(name) && (rehearsal->veil == NULL || rehearsal->breakpoint.open))
        return function(L);
    if (rehearsal->breakpoint.open)
        return pl_lerr_raise(
            L, s, "%s: a replay cannot call it here; only the script's own values can be read",
            name);
    luaL_checkstack(L, 40, "a call");
    if (strcmp(name, "getenv") == 0)
        return answer_getenv(rehearsal, L, s, function);
    if (rehearsal->run == NULL || strcmp(name, "join") == 0)
        return function(L);
    if (pl_text_begins(pl_slice_z(name), "hook_") && strcmp(name, "hook_next") != 0)
        return note_answer(rehearsal, L, s, name);
    struct pl_buf text = PL_BUF_INIT;
    bool is_new;
    pl_entry_put_call(&text, L, s, name, rehearsal->veil);
    const struct pl_record_call *found = find_call(rehearsal, pl_buf_slice(&text), &is_new);
    pl_buf_deinit(&text);
    if (is_write(L, name))
        return answer_write(rehearsal, L, s, is_new ? found : NULL);
    if (strcmp(name, "get") == 0)
        return answer_get(rehearsal, L, s, found, is_new);
    if (found != NULL)
        return push_results(rehearsal, L, s, found->result);
    if (pl_bind_is_local(name))
        return function(L);
    return answer_unknown(rehearsal, L, s, name);
}

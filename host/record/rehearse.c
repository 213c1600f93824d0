/* A read is answered from the run's own recorded calls first, then from the objects that the record
 * has shown before. If both lack the object, it counts as absent and the read is counted as
 * unknown. Writes become effects of a capture (rehearse_write.c). */
#include "record/rehearse_impl.h"

#include "base/alloc.h"
#include "base/text.h"
#include "bind/bind.h"
#include "lane/co.h"
#include "lua/lazy.h"
#include "lua/lerr.h"
#include "lua/lval.h"
#include "lua/origin.h"
#include "object/kind.h"
#include "object/meta.h"
#include "record/exec.h"
#include "record/tape.h"
#include "record/value.h"
#include "write/compare.h"

#include <string.h>

#define MONO_NS   (1000 * PL_SECOND)
#define CPU_LIMIT (10 * PL_SECOND)
#define TURNS     10000 /* of one run */

/* ---- the recorded run ---- */

/* The request of a recorded write: its only argument. Returns a reference; NULL for other calls. */
static struct pl_doc *rehearse_request_of(struct pl_slice call)
{
    struct pl_bytes from = pl_bytes_of(call);
    struct pl_slice name = pl_bytes_text(&from);
    uint64_t count = pl_bytes_int(&from);
    if (!pl_slice_eqz(name, "write") || count != 1 || pl_bytes_char(&from) != 'j')
        return NULL;
    struct pl_slice json = pl_bytes_text(&from);
    return from.bad ? NULL : pl_rehearse_scan(json);
}

/* True if the recorded write changed something. Its results are: failed?, object, {"skipped": ...}.
 */
static bool has_written(struct pl_slice result)
{
    struct pl_bytes from = pl_bytes_of(result);
    if (result.ptr == NULL || pl_bytes_int(&from) < 2 || pl_bytes_char(&from) != 'f')
        return false;
    return pl_text_find(result, "\"skipped\":true") == NULL;
}

static void note_recorded(struct record_rehearsal *rehearsal)
{
    const struct pl_record_run *run = rehearsal->run;
    for (size_t i = 0; i < run->count; i++) {
        struct pl_err err;
        bool skipped;
        if (pl_rehearse_answer(rehearsal->recorded, run->calls[i].call))
            continue;
        struct pl_doc *request = rehearse_request_of(run->calls[i].call), *object = NULL;
        pl_err_clear(&err);
        if (request != NULL && has_written(run->calls[i].result))
            PL_IGNORE(pl_rehearse_write(rehearsal, rehearsal->recorded, pl_doc_root(request),
                                        &object, &skipped, &err));
        pl_doc_unref(object);
        pl_doc_unref(request);
    }
}

/* Scripts compute with the pseudonyms that they read. */
static void note_pseudonyms(struct record_rehearsal *rehearsal)
{
    const struct pl_record_run *run = rehearsal->run;
    for (size_t i = 0; rehearsal->veil != NULL && i < run->count && !rehearsal->out->veiled; i++)
        rehearsal->out->veiled = pl_veil_marks(run->calls[i].result);
}

/* ---- calls of the other scripts ---- */

static int push_results(struct record_rehearsal *rehearsal, lua_State *L, struct pl_state *s,
                        struct pl_slice result)
{
    struct pl_bytes from = pl_bytes_of(result);
    int count = (int)pl_bytes_int(&from);
    for (int i = 0; i < count && !from.bad; i++)
        pl_value_push(L, s, &from, rehearsal->veil);
    return count;
}

/* The first equal call of the recorded run that was not used yet, else the last used one. NULL if
 * there is none. */
static struct pl_record_call *find_call(const struct record_rehearsal *rehearsal,
                                        struct pl_slice call)
{
    struct pl_record_call *found = NULL;
    for (size_t i = 0; rehearsal->run != NULL && i < rehearsal->run->count; i++) {
        struct pl_record_call *one = &rehearsal->run->calls[i];
        if (one->result.ptr == NULL || !pl_slice_eq(one->call, call))
            continue;
        found = one;
        if (!one->used)
            break;
    }
    if (found != NULL)
        found->used = true;
    return found;
}

static int answer_write(struct record_rehearsal *rehearsal, lua_State *L, struct pl_state *s)
{
    struct pl_err err;
    bool skipped;
    pl_err_clear(&err);
    struct pl_box *request = pl_box_push(L, s), *object = pl_box_push(L, s);
    request->doc = pl_lval_doc(L, s, 1, &err);
    if (request->doc == NULL)
        return pl_lerr_raise(L, s, "%s", err.message);
    bool failed = pl_rehearse_write(rehearsal, rehearsal->candidate, pl_doc_root(request->doc),
                                    &object->doc, &skipped, &err) != 0;
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

/* False if neither the run nor the record knows it. */
static bool push_object(struct record_rehearsal *rehearsal, lua_State *L, struct pl_state *s,
                        bool own)
{
    struct pl_kind kind = {.kind = ""};
    struct pl_err err;
    struct pl_buf key = PL_BUF_INIT;
    struct pl_doc *doc = NULL;
    pl_err_clear(&err);
    if (lua_type(L, 1) != LUA_TSTRING || lua_type(L, 3) != LUA_TSTRING ||
        pl_kind_parse(pl_lua_slice(L, 1), &kind, &err) != 0)
        return false;
    pl_key_add(&key, lua_isstring(L, 2) ? pl_lua_slice(L, 2) : pl_slice("", 0), pl_lua_slice(L, 3));
    bool seen = pl_capture_sees(rehearsal->candidate, &kind, pl_buf_slice(&key), &doc);
    if (!seen && !own)
        doc = pl_doc_ref(pl_known_get(&rehearsal->known, pl_lua_slice(L, 1), pl_buf_slice(&key)));
    pl_buf_deinit(&key);
    if (doc == NULL && !seen)
        return false;
    lua_pushboolean(L, false);
    if (doc != NULL)
        pl_lazy_push(L, s, doc, PL_OBJECT_ROOT);
    else
        lua_pushnil(L);
    pl_doc_unref(doc);
    return true;
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

static int rehearse_call(struct pl_tape *base, lua_State *L, const char *name,
                         lua_CFunction function)
{
    static const char *const own[] = {"random",    "x509_key",  "x509_public", "x509_request",
                                      "x509_sign", "x509_read", "x509_verify", "x509_is_pair",
                                      "read_file", "zone_file", NULL};
    struct record_rehearsal *rehearsal = PL_CONTAINER_OF(base, struct record_rehearsal, base);
    struct pl_state *s = pl_state_of(L);
    if (rehearsal->breakpoint.open)
        return pl_lerr_raise(
            L, s, "%s: a replay cannot call it here; only the script's own values can be read",
            name);
    if (rehearsal->run == NULL || strcmp(name, "join") == 0)
        return function(L);
    luaL_checkstack(L, 40, "a call");
    if (is_write(L, name))
        return answer_write(rehearsal, L, s);
    if (strcmp(name, "get") == 0 && push_object(rehearsal, L, s, true))
        return 2;
    struct pl_buf text = PL_BUF_INIT;
    if (pl_text_begins(pl_slice_z(name), "hook_") && strcmp(name, "hook_next") != 0) {
        pl_entry_put_call(&text, L, s, name, NULL); /* pseudonyms stay as they are */
        pl_rehearse_answer(rehearsal->candidate, pl_buf_slice(&text));
        pl_buf_deinit(&text);
        return 0;
    }
    pl_entry_put_call(&text, L, s, name, rehearsal->veil);
    const struct pl_record_call *found = find_call(rehearsal, pl_buf_slice(&text));
    pl_buf_deinit(&text);
    if (found != NULL)
        return push_results(rehearsal, L, s, found->result);
    if (is_one_of(name, own))
        return function(L);
    if (strcmp(name, "get") == 0 && push_object(rehearsal, L, s, false))
        return 2;
    return answer_unknown(rehearsal, L, s, name);
}

static int64_t rehearsal_mono(void *arg)
{
    PL_UNUSED(arg);
    return MONO_NS;
}

static int64_t rehearsal_wall(void *arg)
{
    return ((const struct record_rehearsal *)arg)->wall_ns;
}

/* ---- the tape ---- */

static const struct pl_tape_ops ops = {.call = rehearse_call};

static struct pl_tape *open_tape(void *arg, struct pl_lanes *lanes, int lane)
{
    struct record_rehearsal *rehearsal = arg;
    PL_UNUSED(lanes);
    PL_UNUSED(lane);
    return &rehearsal->base;
}

/* ---- one run ---- */

static void rehearse_tell(struct record_rehearsal *rehearsal, struct pl_node difference,
                          const char *error)
{
    const struct pl_record_run *run = rehearsal->run;
    char *controller = pl_memdup0(run->controller.ptr, run->controller.len);
    char *key = pl_memdup0(run->texts[0].ptr, run->texts[0].len);
    rehearsal->differs = true;
    rehearsal->o->differs(rehearsal->o->arg, controller, key, run->wall_ns, difference, error);
    pl_free(controller);
    pl_free(key);
}

static void differs(void *arg, const struct pl_effect *running, const struct pl_effect *candidate)
{
    struct pl_build *b = pl_build_create(NULL);
    static const struct pl_secrets none;
    pl_difference_build(b, running, candidate, &none);
    struct pl_doc *doc = pl_build_close(b);
    rehearse_tell(arg, pl_doc_root(doc), NULL);
    pl_doc_unref(doc);
}

static void agrees(void *arg, const struct pl_effect *running, const struct pl_effect *candidate)
{
    PL_UNUSED(arg);
    PL_UNUSED(running);
    PL_UNUSED(candidate);
}

static void run_exec(struct record_rehearsal *rehearsal, struct pl_exec *exec)
{
    struct pl_lane *lane = rehearsal->lanes->lanes[0];
    struct pl_bytes arguments = pl_bytes_of(rehearsal->run->arguments);
    if (rehearsal->run->arguments.ptr != NULL)
        pl_record_begin_review(lane, exec, &arguments, rehearsal->veil);
    else
        pl_exec_begin(lane, exec);
    for (int i = 0; i < TURNS && !exec->ended && !pl_list_empty(&lane->ready); i++) {
        pl_co_run_ready(lane);
        pl_record_take_messages(rehearsal->lanes);
    }
}

static bool has_failed(const struct pl_exec *exec)
{
    enum pl_outcome outcome = exec->result.outcome;
    return outcome == PL_OUTCOME_ERROR || outcome == PL_OUTCOME_TERMINAL;
}

static void compare_run(struct record_rehearsal *rehearsal, int controller)
{
    const struct pl_record_run *run = rehearsal->run;
    struct pl_exec *exec = pl_record_exec(rehearsal->lanes->lanes[0], controller, run->texts);
    exec->attempt = run->attempt;
    exec->causes_dropped = run->causes_dropped;
    rehearsal->recorded = pl_capture_create();
    rehearsal->candidate = pl_capture_create();
    rehearsal->differs = false;
    note_recorded(rehearsal);
    note_pseudonyms(rehearsal);
    run_exec(rehearsal, exec);
    if (exec->ended && has_failed(exec) && exec->result.by_script && !run->failed)
        rehearse_tell(rehearsal, PL_NODE_MISSING, exec->result.message);
    pl_compare(rehearsal->recorded, rehearsal->candidate, differs, agrees, rehearsal);
    rehearsal->out->runs++;
    rehearsal->out->different += rehearsal->differs;
    pl_capture_unref(rehearsal->recorded);
    pl_capture_unref(rehearsal->candidate);
    if (exec->ended)
        pl_exec_unref(exec);
}

static bool is_wanted(const struct pl_rehearse_options *o, const struct pl_declarations *declared,
                      const struct pl_record_run *run)
{
    return run->ended && (o->key == NULL || pl_slice_eqz(run->texts[0], o->key)) &&
           pl_record_is_meant(declared, run->controller, o->controller) &&
           (o->until_ns == 0 || run->wall_ns <= o->until_ns);
}

static void rehearse_one(struct record_rehearsal *rehearsal, struct pl_record_run *run)
{
    int controller = pl_record_controller(rehearsal->lanes, run->controller);
    if (rehearsal->breakpoint.quit || !is_wanted(rehearsal->o, rehearsal->declared, run))
        return;
    if (controller < 0) {
        rehearsal->out->missing++;
        return;
    }
    rehearsal->run = run;
    rehearsal->wall_ns = run->wall_ns;
    compare_run(rehearsal, controller);
    rehearsal->run = NULL;
}

/* ---- all of them ---- */

static void learn_entry(struct pl_known *known, struct pl_slice entry)
{
    struct pl_bytes from = pl_bytes_of(pl_slice(entry.ptr + 1, entry.len - 1));
    if (*entry.ptr != PL_ENTRY_RETURN && *entry.ptr != PL_ENTRY_WOKEN)
        return;
    if (*entry.ptr == PL_ENTRY_WOKEN) {
        pl_bytes_int(&from);
        pl_bytes_int(&from);
    }
    for (uint64_t count = pl_bytes_int(&from); count > 0 && !from.bad; count--)
        pl_known_learn(known, &from);
}

static void rehearse_all(struct record_rehearsal *rehearsal, const struct pl_reader *reader,
                         const struct pl_record_runs *runs)
{
    size_t next = 0;
    rehearsal->lanes->io_box = pl_mailbox_create();
    for (size_t i = 0; i < reader->entry_count; i++) {
        if (next < runs->count && runs->items[next]->begins == i)
            rehearse_one(rehearsal, runs->items[next++]);
        learn_entry(&rehearsal->known, reader->entries[i].text);
    }
    struct pl_lane *lane = rehearsal->lanes->lanes[0];
    while (pl_list_pop(&lane->ready) != NULL)
        continue;
    lane->io.ended = true; /* unfinished runs are freed with it */
}

int pl_rehearse_run(const struct pl_reader *reader, const struct pl_rehearse_options *options,
                    struct pl_rehearsed_record *out, struct pl_err *err)
{
    static const unsigned char key[PL_VEIL_KEY];
    struct record_rehearsal rehearsal = {.o = options, .out = out};
    pl_breakpoint_init(&rehearsal.breakpoint, &options->breakpoint);
    *out = (struct pl_rehearsed_record){.runs = 0};
    rehearsal.base =
        (struct pl_tape){.ops = &ops,
                         .clock = {rehearsal_mono, rehearsal_mono, rehearsal_wall, &rehearsal},
                         .seed = 1};
    rehearsal.veil = reader->secrets ? NULL : pl_veil_create(key);
    const struct pl_taping taping = {open_tape, &rehearsal};
    struct pl_loop *loop = pl_loop_create_stepped(&rehearsal.base.clock);
    const struct pl_lanes_options with = {.hooks = &pl_bind_state_hooks,
                                          .count = 1,
                                          .cpu_limit_ns = CPU_LIMIT,
                                          .version = "replay",
                                          .stepped = loop,
                                          .clock = &rehearsal.base.clock,
                                          .taping = &taping,
                                          .lines = pl_breakpoint_watch(&rehearsal.breakpoint)};
    struct pl_declarations declared = {.controllers = NULL};
    struct pl_record_runs runs;
    pl_record_runs_find(&runs, reader);
    rehearsal.wall_ns = runs.count > 0 ? runs.items[0]->wall_ns : 0; /* the time of loading */
    rehearsal.declared = &declared;
    rehearsal.lanes = rehearsal.breakpoint.lanes = pl_lanes_create(&with);
    int rc = pl_lanes_load(rehearsal.lanes, options->paths, options->path_count, &declared, err);
    if (rc == 0)
        rehearse_all(&rehearsal, reader, &runs);
    out->stops = rehearsal.breakpoint.stops;
    pl_declarations_deinit(&declared);
    pl_lanes_destroy(rehearsal.lanes);
    pl_loop_destroy(loop);
    pl_record_runs_deinit(&runs);
    pl_known_deinit(&rehearsal.known);
    pl_veil_destroy(rehearsal.veil);
    return rc;
}

/* Records a lane: the input of each run and each question, each call of a function of the host with
 * its results, each time that a script read, and the outcomes. An entry is complete before the next
 * one begins. A function that raised an error has a call entry without a result. */
#include "record/tape.h"

#include "base/alloc.h"
#include "base/rand.h"
#include "lane/co.h"
#include "lua/lazy.h"
#include "record/record.h"
#include "record/scripts.h"
#include "record/taping.h"
#include "record/value.h"
#include "record/veil_place.h"

#include <string.h>

#define SEED_BITS   51 /* bits that a double holds exactly */
#define VALUE_SLOTS 10 /* of a Lua stack, for pl_value_put */

struct tape {
    struct pl_tape base;
    struct pl_record *record; /* borrowed */
    struct pl_veil *veil;     /* owned; NULL: values are shown */
    struct pl_lanes *lanes;   /* back-pointer */
    uint64_t stream, runs;
    struct pl_buf entry; /* the entry being made */
};

static struct tape *tape_of(struct pl_tape *tape)
{
    return PL_CONTAINER_OF(tape, struct tape, base);
}

static void begin_entry(struct tape *tape, enum pl_entry what)
{
    pl_buf_clear(&tape->entry);
    pl_buf_add_char(&tape->entry, (char)what);
}

static void put_int(struct tape *tape, uint64_t value)
{
    pl_bytes_put_int(&tape->entry, value);
}

static void put_text(struct tape *tape, struct pl_slice text)
{
    pl_value_put_text(&tape->entry, text, tape->veil);
}

static void put_values(struct tape *tape, lua_State *L, struct pl_state *s, int count)
{
    int top = lua_gettop(L);
    put_int(tape, (uint64_t)count);
    for (int i = top - count + 1; i <= top; i++)
        pl_value_put(&tape->entry, L, s, i, tape->veil);
}

static void end_entry(struct tape *tape)
{
    pl_record_add(tape->record, tape->stream, pl_buf_slice(&tape->entry));
}

static uint64_t wall_now(void)
{
    return (uint64_t)pl_clock_wall(pl_clock_system());
}

/* ---- runs ---- */

static void begin(struct pl_tape *base, struct pl_exec *exec, lua_State *L, int count)
{
    struct tape *tape = tape_of(base);
    int64_t left = exec->deadline_ns - pl_clock_mono(pl_clock_system());
    exec->on_tape = ++tape->runs;
    begin_entry(tape, exec->hook != NULL ? PL_ENTRY_REVIEW : PL_ENTRY_BEGIN);
    put_int(tape, exec->on_tape);
    put_text(tape, pl_slice_z(exec->lane->lanes->controllers[exec->controller].name));
    put_text(tape, pl_slice_z(exec->key));
    put_text(tape, pl_slice_z(exec->ns));
    put_text(tape, pl_slice_z(exec->name));
    put_text(tape, exec->unread);
    put_int(tape, (uint64_t)exec->attempt);
    put_int(tape, exec->causes_dropped);
    put_int(tape, wall_now());
    put_int(tape, exec->deadline_ns != 0 ? (uint64_t)(left > 1 ? left : 1) : 0);
    if (exec->hook != NULL && lua_checkstack(L, VALUE_SLOTS))
        put_values(tape, L, exec->lane->s, count);
    end_entry(tape);
}

static void cancel(struct pl_tape *base, struct pl_exec *exec, const struct pl_err *why)
{
    struct tape *tape = tape_of(base);
    if (exec->on_tape == 0)
        return;
    begin_entry(tape, PL_ENTRY_CANCEL);
    put_int(tape, exec->on_tape);
    put_int(tape, why != NULL ? (uint64_t)-why->code : 0);
    put_text(tape, pl_slice_z(why != NULL ? why->message : ""));
    end_entry(tape);
}

static void woken(struct pl_tape *base, struct pl_co *task, lua_State *L, int count)
{
    struct tape *tape = tape_of(base);
    if (task->exec->on_tape == 0)
        return;
    begin_entry(tape, PL_ENTRY_WOKEN);
    put_int(tape, task->exec->on_tape);
    put_int(tape, (uint64_t)task->number);
    put_values(tape, L, task->exec->lane->s, count);
    end_entry(tape);
}

static void resume(struct pl_tape *base, struct pl_co *task)
{
    struct tape *tape = tape_of(base);
    if (task->exec->on_tape == 0)
        return;
    begin_entry(tape, PL_ENTRY_RESUME);
    put_int(tape, task->exec->on_tape);
    put_int(tape, (uint64_t)task->number);
    put_int(tape, wall_now());
    end_entry(tape);
}

static void ended(struct pl_tape *base, struct pl_exec *exec)
{
    struct tape *tape = tape_of(base);
    const struct pl_outcome_of_run *result = &exec->result;
    if (exec->on_tape == 0)
        return;
    begin_entry(tape, PL_ENTRY_ENDED);
    put_int(tape, exec->on_tape);
    put_int(tape, (uint64_t)result->outcome);
    put_int(tape, (uint64_t)result->after_ns);
    put_text(tape, pl_slice_z(result->message != NULL ? result->message : ""));
    end_entry(tape);
}

/* ---- questions ---- */

static void put_object(struct tape *tape, struct pl_state *s, struct pl_doc *object, bool secret)
{
    if (object != NULL)
        pl_lazy_push(s->L, s, object, PL_OBJECT_ROOT | (secret ? PL_OBJECT_SECRET : 0u));
    else
        lua_pushnil(s->L);
    pl_value_put(&tape->entry, s->L, s, -1, tape->veil);
    lua_pop(s->L, 1);
}

static void tape_ask(struct pl_tape *base, struct pl_ask *ask)
{
    struct tape *tape = tape_of(base);
    const struct pl_event *event = &ask->event;
    int controller = ask->external.controller;
    bool secret = strcmp(ask->kind, "v1/Secret") == 0;
    begin_entry(tape, PL_ENTRY_ASK);
    put_text(tape, pl_slice_z(controller >= 0 ? tape->lanes->controllers[controller].name : ""));
    put_int(tape, (uint64_t)ask->external.source);
    put_text(tape, pl_slice_z(ask->kind));
    put_int(tape, (ask->ask_predicates ? 1u : 0u) | (ask->ask_map ? 2u : 0u) |
                      (ask->ask_indexes ? 4u : 0u));
    put_int(tape, wall_now());
    put_int(tape, (uint64_t)event->type);
    put_int(tape, (event->stale ? 1u : 0u) | (event->initial ? 2u : 0u));
    put_int(tape, (uint64_t)event->again);
    put_object(tape, ask->lane->s, event->object, secret);
    put_object(tape, ask->lane->s, event->old, secret);
    end_entry(tape);
}

void pl_entry_put_answers(struct pl_buf *out, const struct pl_ask *ask, struct pl_veil *veil)
{
    const struct pl_leaf_verdict *verdicts = (const void *)ask->verdicts.ptr;
    size_t count = ask->verdicts.len / sizeof *verdicts;
    pl_bytes_put_int(out, count);
    for (size_t i = 0; i < count; i++) {
        pl_bytes_put_int(out, (uint64_t)verdicts[i].leaf);
        pl_bytes_put_int(out, verdicts[i].pass);
    }
    pl_bytes_put_int(out, ask->map_message != NULL);
    pl_value_put_text(out, pl_buf_slice(&ask->requests), veil);
    pl_value_put_text(out, pl_buf_slice(&ask->values), veil);
}

static void answered(struct pl_tape *base, struct pl_ask *ask)
{
    struct tape *tape = tape_of(base);
    begin_entry(tape, PL_ENTRY_ANSWERED);
    put_int(tape, ask->again);
    pl_entry_put_answers(&tape->entry, ask, tape->veil);
    end_entry(tape);
}

/* ---- calls ---- */

void pl_entry_put_call(struct pl_buf *out, lua_State *L, struct pl_state *s, const char *name,
                       struct pl_veil *veil)
{
    int count = lua_gettop(L);
    pl_bytes_put_text(out, pl_slice_z(name));
    pl_bytes_put_int(out, (uint64_t)count);
    for (int i = 1; i <= count; i++)
        pl_value_put(out, L, s, i, veil);
}

bool pl_entry_is_digest(const char *name)
{
    return strcmp(name, "sha256") == 0 || strcmp(name, "digest") == 0 || strcmp(name, "hmac") == 0;
}

/* Hides a variable of the environment if it is a secret. -- its name, its value */
static void hide_variable(struct tape *tape, lua_State *L)
{
    if (tape->veil != NULL && lua_type(L, 1) == LUA_TSTRING && lua_type(L, -1) == LUA_TSTRING &&
        pl_place_is_secret_variable(pl_lua_slice(L, 1), pl_lua_slice(L, -1)))
        pl_veil_hide(tape->veil, pl_lua_slice(L, -1));
}

static int tape_call(struct pl_tape *base, lua_State *L, const char *name, lua_CFunction function)
{
    struct tape *tape = tape_of(base);
    struct pl_state *s = pl_state_of(L);
    bool digest = pl_entry_is_digest(name);
    if (strcmp(name, "join") == 0 || (digest && tape->veil == NULL))
        return function(L); /* a join happens on the lane alone */
    luaL_checkstack(L, 30, "a recorded call");
    begin_entry(tape, PL_ENTRY_CALL);
    pl_entry_put_call(&tape->entry, L, s, name, tape->veil);
    if (digest && !pl_veil_marks(pl_buf_slice(&tape->entry)))
        return function(L);
    end_entry(tape);
    int count = function(L);
    if (strcmp(name, "getenv") == 0)
        hide_variable(tape, L);
    begin_entry(tape, count < 0 ? PL_ENTRY_WAIT : PL_ENTRY_RETURN);
    if (count >= 0)
        put_values(tape, L, s, count);
    end_entry(tape);
    return count;
}

/* ---- time ---- */

static void note_time(struct tape *tape, enum pl_entry what, int64_t ns)
{
    if (tape->base.s == NULL || !pl_tape_runs(tape->base.s))
        return;
    begin_entry(tape, what);
    put_int(tape, (uint64_t)ns);
    end_entry(tape);
}

static int64_t mono(void *arg)
{
    int64_t ns = pl_clock_mono(pl_clock_system());
    note_time(arg, PL_ENTRY_MONO, ns);
    return ns;
}

static int64_t tape_wall(void *arg)
{
    int64_t ns = pl_clock_wall(pl_clock_system());
    note_time(arg, PL_ENTRY_WALL, ns);
    return ns;
}

/* ---- life ---- */

static void loaded(struct pl_tape *base)
{
    struct tape *tape = tape_of(base);
    struct pl_buf text = PL_BUF_INIT;
    begin_entry(tape, PL_ENTRY_LOADED);
    end_entry(tape);
    pl_scripts_write(tape->lanes, &text);
    pl_record_scripts(tape->record, tape->lanes->options.generation, pl_buf_slice(&text));
    pl_buf_deinit(&text);
}

static void close_tape(struct pl_tape *base)
{
    struct tape *tape = tape_of(base);
    pl_veil_destroy(tape->veil);
    pl_buf_deinit(&tape->entry);
    pl_free(tape);
}

static const struct pl_tape_ops ops = {.loaded = loaded,
                                       .begin = begin,
                                       .cancel = cancel,
                                       .woken = woken,
                                       .resume = resume,
                                       .ended = ended,
                                       .ask = tape_ask,
                                       .answered = answered,
                                       .call = tape_call,
                                       .close = close_tape};

static struct pl_tape *open_tape(void *record, struct pl_lanes *lanes, int lane)
{
    struct tape *tape = PL_NEW(struct tape);
    const unsigned char *key = pl_record_key(record);
    struct pl_buf text = PL_BUF_INIT;
    tape->base.ops = &ops;
    tape->base.clock = (struct pl_clock){mono, mono, tape_wall, tape};
    while (tape->base.seed == 0) {
        if (pl_rand_bytes(&tape->base.seed, sizeof tape->base.seed) != 0)
            tape->base.seed = wall_now();
        tape->base.seed &= ((uint64_t)1 << SEED_BITS) - 1;
    }
    tape->record = record;
    tape->veil = key != NULL ? pl_veil_create(key) : NULL;
    tape->lanes = lanes;
    pl_buf_add_f(&text, "{\"generation\":%llu,\"lane\":%d,\"seed\":%llu}",
                 (unsigned long long)lanes->options.generation, lane,
                 (unsigned long long)tape->base.seed);
    tape->stream = pl_record_stream(record, pl_buf_slice(&text));
    pl_buf_deinit(&text);
    begin_entry(tape, PL_ENTRY_LOADS);
    end_entry(tape);
    return &tape->base;
}

struct pl_taping *pl_record_taping(struct pl_record *record)
{
    if (record == NULL)
        return NULL;
    struct pl_taping *taping = PL_NEW(struct pl_taping);
    *taping = (struct pl_taping){open_tape, record};
    return taping;
}

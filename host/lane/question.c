/* Predicates, map and index functions of scripts: the I/O thread asks about events, a lane answers.
 */
#include "lane/lane.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "event/predicate.h"
#include "lua/lazy.h"
#include "lua/lerr.h"
#include "object/meta.h"

#define REQUESTS_LIMIT 100000 /* limit of requests of one map call */

/* ---- the I/O thread ---- */

static void free_ask(struct pl_ask *ask)
{
    pl_doc_unref(ask->event.object);
    pl_doc_unref(ask->event.old);
    pl_buf_deinit(&ask->verdicts);
    pl_buf_deinit(&ask->requests);
    pl_buf_deinit(&ask->values);
    pl_free(ask->map_message);
    pl_free(ask->map_traceback);
    pl_free(ask->kind);
    pl_free(ask);
}

static void send_asks(struct pl_lane *lane)
{
    while (lane->io.asks_out < PL_ASKS_OUT && !pl_list_empty(&lane->io.asks_waiting)) {
        struct pl_ask *ask =
            PL_CONTAINER_OF(pl_list_pop(&lane->io.asks_waiting), struct pl_ask, link);
        pl_list_push(&lane->io.asks, &ask->link);
        lane->io.asks_out++;
        ask->lane = lane;
        ask->msg.kind = PL_LANE_ASK;
        pl_mailbox_send(lane->box, &ask->msg);
    }
}

/* Answers as if the function had raised: the event passes, the object is mapped again later and
 * left out of indexes. The answer comes a little later, without the lane. */
static void refuse_ask(struct pl_lane *lane, struct pl_ask *ask)
{
    if (ask->ask_map)
        ask->map_message = pl_strdup("not called: the script could not be interrupted at this "
                                     "object the last time, and its code is still the same");
    pl_list_push(&lane->io.asks, &ask->link);
    lane->io.asks_out++;
    ask->lane = lane;
    ask->msg.kind = PL_IO_ASK_DONE;
    pl_mailbox_send(lane->lanes->io_box, &ask->msg);
}

void pl_ask_io(struct pl_lane *lane, struct pl_question *question)
{
    struct pl_ask *ask = PL_NEW(struct pl_ask);
    ask->question = question;
    ask->external = *(const struct pl_external *)question->external;
    ask->event = question->event;
    pl_doc_ref(ask->event.object);
    pl_doc_ref(ask->event.old);
    ask->ask_predicates = question->ask_predicates;
    ask->ask_map = question->ask_map;
    ask->ask_indexes = question->ask_indexes;
    ask->kind = pl_strdup(question->kind);
    ask->predicate = question->source != NULL ? question->source->predicate : NULL;
    if (ask->external.controller < 0)
        pl_lanes_hold_caches(lane->lanes);
    if (pl_lanes_is_ask_barred(lane->lanes, ask)) {
        refuse_ask(lane, ask);
        return;
    }
    pl_ask_send_io(lane, ask);
}

void pl_ask_send_io(struct pl_lane *lane, struct pl_ask *ask)
{
    pl_buf_clear(&ask->verdicts);
    pl_buf_clear(&ask->requests);
    pl_buf_clear(&ask->values);
    ask->again = false;
    pl_list_push(&lane->io.asks_waiting, &ask->link);
    send_asks(lane);
}

/* Calls back with each pair of NUL-terminated texts. */
static void each_pair(const struct pl_buf *pairs, struct pl_question *question,
                      void (*use)(struct pl_question *q, const char *a, const char *b))
{
    for (size_t at = 0; at < pairs->len;) {
        const char *a = pairs->ptr + at, *b = a + strlen(a) + 1;
        use(question, a, b);
        at = (size_t)(b + strlen(b) + 1 - pairs->ptr);
    }
}

static void use_request(struct pl_question *question, const char *ns, const char *name)
{
    pl_question_request(question, pl_slice_z(ns), pl_slice_z(name));
}

static void use_value(struct pl_question *question, const char *index, const char *value)
{
    pl_question_value(question, index, pl_slice_z(value));
}

/* The question may hold the last reference to an informer. */
static void end_question(struct pl_ask *ask, struct pl_question *question)
{
    struct pl_lanes *lanes = ask->lane->lanes;
    bool of_indexes = ask->external.controller < 0;
    pl_question_done(question);
    if (of_indexes)
        pl_lanes_let_go_caches(lanes);
}

static void give_answers(struct pl_ask *ask)
{
    struct pl_question *question = ask->question;
    const struct pl_leaf_verdict *verdicts = (const void *)ask->verdicts.ptr;
    for (size_t i = 0; i < ask->verdicts.len / sizeof *verdicts; i++)
        pl_question_verdict(question, verdicts[i].leaf, verdicts[i].pass);
    each_pair(&ask->requests, question, use_request);
    each_pair(&ask->values, question, use_value);
    if (ask->map_message != NULL)
        pl_question_map_failed(question, ask->map_message, ask->map_traceback);
    end_question(ask, question);
}

void pl_ask_done_io(struct pl_ask *ask)
{
    struct pl_lane *lane = ask->lane;
    if (ask->question != NULL) {
        pl_link_unlink(&ask->link);
        lane->io.asks_out--;
    }
    if (ask->question != NULL && ask->again) {
        pl_ask_again_io(lane->lanes, ask);
        send_asks(lane);
        return;
    }
    if (ask->question != NULL)
        give_answers(ask);
    free_ask(ask);
    send_asks(lane);
}

void pl_ask_abandon_io(struct pl_lane *lane)
{
    struct pl_lane *fresh = lane->lanes->lanes[lane->number];
    PL_LIST_FOR (link, &lane->io.asks) {
        struct pl_ask *ask = PL_CONTAINER_OF(link, struct pl_ask, link);
        struct pl_question *question = ask->question;
        pl_link_unlink(&ask->link);
        ask->question = NULL; /* the lane may still be using the rest */
        if (ask->ask_map)
            pl_question_map_failed(question, "the script could not be interrupted", NULL);
        end_question(ask, question);
    }
    pl_list_splice(&fresh->io.asks_waiting, &lane->io.asks_waiting);
    send_asks(fresh);
}

void pl_ask_drop(struct pl_ask *ask)
{
    free_ask(ask);
}

/* ---- the lane ---- */

static const char event_names[][12] = {
    [PL_EVENT_CREATE] = "ADDED",
    [PL_EVENT_UPDATE] = "MODIFIED",
    [PL_EVENT_DELETE] = "DELETED",
    [PL_EVENT_GENERIC] = "GENERIC",
};

static unsigned question_flags_of(const struct pl_ask *ask)
{
    unsigned flags = PL_OBJECT_ROOT;
    if (strcmp(ask->kind, "v1/Secret") == 0)
        flags |= PL_OBJECT_SECRET;
    return flags;
}

static void push_event(lua_State *L, struct pl_state *s, const struct pl_ask *ask)
{
    lua_createtable(L, 0, 4);
    lua_pushstring(L, event_names[ask->event.type]);
    lua_setfield(L, -2, "type");
    if (ask->event.object != NULL) {
        pl_lazy_push(L, s, ask->event.object, question_flags_of(ask));
        lua_setfield(L, -2, "object");
    }
    if (ask->event.old != NULL) {
        pl_lazy_push(L, s, ask->event.old, question_flags_of(ask));
        lua_setfield(L, -2, "old");
    }
    if (ask->event.stale) {
        lua_pushboolean(L, true);
        lua_setfield(L, -2, "stale");
    }
}

/* Sets the function at the top, which stays, for messages without a line. */
static void blame(struct pl_state *s)
{
    lua_pushvalue(s->L, -1);
    lua_rawseti(s->L, LUA_REGISTRYINDEX, s->refs.blamed);
}

static int question_call(struct pl_lane *lane, struct pl_ask *ask, int args, int results,
                         struct pl_fault *fault)
{
    ask->lacks = NULL;
    ask->lacks_index = NULL;
    return pl_state_call(lane->s, PL_PHASE_MAP, lane->lanes->options.cpu_limit_ns, args, results,
                         fault);
}

/* True when it raised because it could not wait; then the whole question comes again. */
static bool comes_again(struct pl_ask *ask, struct pl_fault *fault)
{
    if (ask->lacks == NULL || ask->is_last)
        return false;
    ask->again = true;
    pl_fault_deinit(fault);
    return true;
}

/* An error of a script that every event causes is logged once a minute. */
static bool is_repeated(struct pl_lane *lane, const char *message)
{
    int64_t now = pl_clock_mono(pl_lanes_clock(lane->lanes));
    if (lane->fault_hash == pl_hash(message, strlen(message), 0) &&
        now - lane->fault_ns < 60 * PL_SECOND) {
        lane->fault_repeats++;
        return true;
    }
    lane->fault_hash = pl_hash(message, strlen(message), 0);
    lane->fault_ns = now;
    return false;
}

static void tell_fault(const struct pl_lane *lane, const struct pl_ask *ask, const char *controller,
                       const struct pl_fault *fault)
{
    const struct pl_fault_watch *watch = lane->lanes->options.faults;
    struct pl_buf key = PL_BUF_INIT;
    if (watch != NULL && pl_meta_key(pl_doc_root(ask->event.object), &key, NULL) == 0)
        watch->at(watch->arg, &(struct pl_ask_fault){
                                  .controller = controller,
                                  .kind = ask->kind,
                                  .key = pl_buf_slice(&key),
                                  .message = fault->message,
                                  .traceback = fault->traceback != NULL ? fault->traceback : "",
                              });
    pl_buf_deinit(&key);
}

/* index: its name; "" for none. */
static void log_fault(struct pl_lane *lane, const struct pl_ask *ask, const char *what,
                      const char *index, struct pl_fault *fault)
{
    const char *name = ask->external.controller >= 0
                           ? lane->lanes->controllers[ask->external.controller].name
                           : "";
    tell_fault(lane, ask, name, fault);
    if (is_repeated(lane, fault->message)) {
        pl_fault_deinit(fault);
        return;
    }
    pl_log(PL_LOG_ERROR, what, index[0] ? pl_str("index", index) : pl_str("controller", name),
           pl_str("kind", ask->kind), pl_str("error", fault->message),
           pl_int("repeated", (int64_t)lane->fault_repeats),
           pl_str("traceback", fault->traceback ? fault->traceback : ""));
    lane->fault_repeats = 0;
    pl_fault_deinit(fault);
}

struct asking {
    struct pl_lane *lane;
    struct pl_ask *ask;
};

static enum pl_verdict ask_leaf(void *arg, int leaf, const struct pl_event *event)
{
    PL_UNUSED(event);
    struct asking *asking = arg;
    struct pl_lane *lane = asking->lane;
    struct pl_ask *ask = asking->ask;
    struct pl_state *s = lane->s;
    struct pl_leaf_verdict verdict = {.leaf = leaf, .pass = true};
    pl_declare_push_leaf(s->L, s, ask->external.controller, ask->external.source, leaf);
    blame(s);
    push_event(s->L, s, ask);
    struct pl_fault fault;
    if (question_call(lane, ask, 1, 1, &fault) != 0) {
        if (!comes_again(ask, &fault))
            log_fault(lane, ask, "a predicate raised; the event passes", "", &fault);
    } else {
        verdict.pass = lua_toboolean(s->L, -1);
        lua_pop(s->L, 1);
    }
    pl_buf_add(&ask->verdicts, &verdict, sizeof verdict);
    return verdict.pass ? PL_VERDICT_PASS : PL_VERDICT_DROP;
}

static void add_pair(struct pl_buf *out, const char *a, const char *b)
{
    pl_buf_add(out, a, strlen(a) + 1);
    pl_buf_add(out, b, strlen(b) + 1);
}

/* The array {ns|false, name, ...} at the top. */
static void read_requests(lua_State *L, struct pl_ask *ask)
{
    int count = lua_type(L, -1) == LUA_TTABLE ? (int)lua_objlen(L, -1) : 0;
    for (int i = 1; i + 1 <= count && i < 2 * REQUESTS_LIMIT; i += 2) {
        lua_rawgeti(L, -1, i);
        lua_rawgeti(L, -2, i + 1);
        const char *ns = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
        const char *name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
        if (name != NULL)
            add_pair(&ask->requests, ns, name);
        lua_pop(L, 2);
    }
}

static void map_object(struct pl_lane *lane, struct pl_ask *ask, struct pl_doc *object)
{
    struct pl_state *s = lane->s;
    if (object == NULL || ask->map_message != NULL || ask->again)
        return;
    pl_declare_push_blamed(s->L, s, ask->external.controller, ask->external.source);
    blame(s);
    lua_pop(s->L, 1);
    pl_declare_push_map(s->L, s, ask->external.controller, ask->external.source);
    pl_lazy_push(s->L, s, object, question_flags_of(ask));
    push_event(s->L, s, ask);
    struct pl_fault fault;
    if (question_call(lane, ask, 2, 1, &fault) != 0) {
        if (comes_again(ask, &fault))
            return;
        ask->map_message = fault.message;
        ask->map_traceback = fault.traceback;
        return;
    }
    read_requests(s->L, ask);
    lua_pop(s->L, 1);
}

/* The For kind's resource of the asked controller; NULL: it has none, or its cache has not synced.
 */
static const struct pl_resource *for_resource(const struct pl_lane *lane, const struct pl_ask *ask)
{
    const struct pl_cache *cache = pl_lanes_for_cache(lane->lanes, ask->external.controller);
    bool ready = cache != NULL && atomic_load_explicit(&cache->ready, memory_order_acquire);
    return ready ? cache->resource : NULL;
}

static char *blame_map(struct pl_state *s, const struct pl_ask *ask, const char *why)
{
    pl_declare_push_blamed(s->L, s, ask->external.controller, ask->external.source);
    return pl_lerr_placed(s->L, pl_format("map of %s: %s", ask->kind, why));
}

/* A key whose scope is not that of the For kind fails the map, as any other mistake in its result.
 * A replay has no caches: this is not part of the answer that a tape compares. */
static void check_scopes(struct pl_lane *lane, struct pl_ask *ask)
{
    const struct pl_resource *resource = for_resource(lane, ask);
    struct pl_err err;
    pl_err_clear(&err);
    for (size_t at = 0; resource != NULL && at < ask->requests.len && ask->map_message == NULL;) {
        struct pl_slice ns = pl_slice_z(ask->requests.ptr + at);
        struct pl_slice name = pl_slice_z(ns.ptr + ns.len + 1);
        at += ns.len + name.len + 2;
        if (pl_resource_check_scope(resource, ns, name, &err) != 0)
            ask->map_message = blame_map(lane->s, ask, err.message);
    }
}

/* ---- index functions ---- */

/* Adds the value at the top; returns what is wrong with it, or NULL. */
static const char *question_add_value(lua_State *L, struct pl_ask *ask, const char *index)
{
    if (lua_type(L, -1) == LUA_TBOOLEAN) {
        add_pair(&ask->values, index, lua_toboolean(L, -1) ? "true" : "false");
        return NULL;
    }
    if (!lua_isstring(L, -1))
        return "a value that is not a string, number or boolean";
    size_t len;
    lua_pushvalue(L, -1); /* lua_tolstring changes numbers in place */
    const char *text = lua_tolstring(L, -1, &len);
    bool whole = strlen(text) == len;
    if (whole)
        add_pair(&ask->values, index, text);
    lua_pop(L, 1);
    return whole ? NULL : "a string with a NUL byte";
}

/* Those of a table may have holes: {object.spec.a, object.spec.b}. */
static const char *add_elements(lua_State *L, struct pl_state *s, struct pl_ask *ask,
                                const char *index)
{
    const char *wrong = NULL;
    size_t count = 0;
    pl_lazy_fill(L, s, -1);
    lua_pushnil(L);
    while (wrong == NULL && lua_next(L, -2) != 0) {
        if (lua_type(L, -2) != LUA_TNUMBER)
            wrong = "a table with names, not an array";
        else if (++count > PL_VALUES_MAX)
            wrong = "more than 1024 values";
        else
            wrong = question_add_value(L, ask, index);
        lua_pop(L, 1);
    }
    return wrong;
}

/* Adds what an index function returned: the two results at the top. */
static const char *add_values(lua_State *L, struct pl_state *s, struct pl_ask *ask,
                              const char *index)
{
    if (!lua_isnil(L, -1))
        return "a second result; several values are an array";
    lua_pop(L, 1);
    if (lua_isnil(L, -1))
        return NULL;
    return lua_istable(L, -1) ? add_elements(L, s, ask, index) : question_add_value(L, ask, index);
}

/* -- indexes, name */
static void answer_index(struct pl_lane *lane, struct pl_ask *ask, const char *name)
{
    struct pl_state *s = lane->s;
    lua_State *L = s->L;
    struct pl_fault fault = {.type = PL_FAULT_SCRIPT};
    size_t before = ask->values.len;
    int top = lua_gettop(L);
    lua_getfield(L, -2, name);
    blame(s);
    pl_lazy_push(L, s, ask->event.object, question_flags_of(ask));
    if (question_call(lane, ask, 1, 2, &fault) != 0) {
        if (!comes_again(ask, &fault))
            log_fault(lane, ask, "an index function raised; the object is left out", name, &fault);
        return;
    }
    const char *wrong = add_values(L, s, ask, name);
    lua_settop(L, top);
    if (wrong == NULL)
        return;
    ask->values.len = before;
    lua_getfield(L, -2, name);
    fault.message =
        pl_lerr_placed(L, pl_format("index \"%s\": the function returned %s", name, wrong));
    log_fault(lane, ask, "an index function returned a wrong value; the object is left out", name,
              &fault);
}

static void answer_indexes(struct pl_lane *lane, struct pl_ask *ask)
{
    lua_State *L = lane->s->L;
    pl_declare_push_indexes(L, lane->s, ask->kind);
    lua_pushnil(L);
    while (lua_type(L, -2) == LUA_TTABLE && !ask->again && lua_next(L, -2) != 0) {
        lua_pop(L, 1); /* the function */
        answer_index(lane, ask, lua_tostring(L, -1));
    }
    lua_settop(L, 0);
}

void pl_ask_answer(struct pl_lane *lane, struct pl_ask *ask)
{
    lua_settop(lane->s->L, 0);
    atomic_store(&lane->answering, ask);
    lane->s->asking = ask->external.controller;
    lane->s->script =
        ask->external.controller >= 0 ? pl_declare_where(lane->s, ask->external.controller) : "?";
    if (PL_TAPE_WANTS(lane, ask))
        lane->tape->ops->ask(lane->tape, ask);
    if (ask->ask_predicates && ask->predicate != NULL) {
        struct asking asking = {lane, ask};
        pl_predicate_test(ask->predicate, &ask->event, ask_leaf, &asking);
    }
    if (ask->ask_map) {
        map_object(lane, ask, ask->event.old);
        map_object(lane, ask, ask->event.object);
    }
    if (ask->ask_indexes && ask->event.object != NULL)
        answer_indexes(lane, ask);
    if (PL_TAPE_WANTS(lane, answered))
        lane->tape->ops->answered(lane->tape, ask);
    if (ask->ask_map && !ask->again)
        check_scopes(lane, ask);
    lane->s->asking = -1;
    atomic_store(&lane->answering, NULL);
    lane->worked = true;
    pl_lane_send_io(lane, &ask->msg, PL_IO_ASK_DONE);
}

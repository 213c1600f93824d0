/* Each call of the scripts must be the next entry of the record, with the same arguments, and gets
 * the recorded results. Each read of a clock gets the recorded time. The first difference is kept,
 * with the script's line, and ends the script. */
#include "record/player.h"

#include "base/alloc.h"
#include "format/units.h"
#include "object/meta.h"
#include "record/value.h"

#include <string.h>

static struct pl_player *player_of(struct pl_tape *tape)
{
    return PL_CONTAINER_OF(tape, struct pl_player, base);
}

/* ---- entries ---- */

struct pl_slice pl_player_peek(const struct pl_player *player)
{
    if (player->at >= player->stream->count)
        return pl_slice("", 0);
    return player->stream->items[player->at];
}

static bool player_next_is(const struct pl_player *player, enum pl_entry what)
{
    struct pl_slice entry = pl_player_peek(player);
    return entry.len > 0 && *entry.ptr == (char)what;
}

struct pl_bytes pl_player_take(struct pl_player *player)
{
    struct pl_slice entry = pl_player_peek(player);
    player->at++;
    return pl_bytes_of(pl_slice(entry.ptr + 1, entry.len - 1));
}

/* "get("v1/ConfigMap", ...)", from the bytes after the entry's letter. */
static void print_call(struct pl_slice call, struct pl_buf *out)
{
    struct pl_bytes from = pl_bytes_of(call);
    struct pl_slice name = pl_bytes_text(&from);
    uint64_t count = pl_bytes_int(&from);
    pl_buf_add_slice(out, name);
    pl_buf_add_char(out, '(');
    for (uint64_t i = 0; i < count && !from.bad; i++) {
        struct pl_buf value = PL_BUF_INIT;
        pl_value_print(&from, &value);
        pl_buf_add_f(out, "%s%.*s", i > 0 ? ", " : "", (int)value.len, pl_buf_z(&value));
        pl_buf_deinit(&value);
    }
    pl_buf_add_char(out, ')');
}

static void print_entry(struct pl_slice entry, struct pl_buf *out)
{
    switch (entry.len > 0 ? *entry.ptr : '\0') {
    case PL_ENTRY_CALL:
        pl_buf_add_z(out, "called ");
        print_call(pl_slice(entry.ptr + 1, entry.len - 1), out);
        return;
    case PL_ENTRY_WALL:
    case PL_ENTRY_MONO:
        pl_buf_add_z(out, "asked for the time");
        return;
    case PL_ENTRY_ENDED:
        pl_buf_add_z(out, "ended");
        return;
    case PL_ENTRY_ANSWERED:
        pl_buf_add_z(out, "answered");
        return;
    case PL_ENTRY_LOADED:
        pl_buf_add_z(out, "were loaded");
        return;
    default:
        pl_buf_add_z(out, "waited or ended");
    }
}

bool pl_player_see_time(struct pl_player *player, int64_t wall_ns)
{
    if (player->o->until_ns > 0 && wall_ns > player->o->until_ns) {
        player->over = true;
        return false;
    }
    player->wall_ns = wall_ns;
    if (player->out->first_ns == 0 || wall_ns < player->out->first_ns)
        player->out->first_ns = wall_ns;
    if (wall_ns > player->out->last_ns)
        player->out->last_ns = wall_ns;
    return true;
}

/* ---- differences ---- */

static void put_time(int64_t wall_ns, struct pl_buf *out)
{
    char text[40];
    pl_time_text(wall_ns, 3, text);
    pl_buf_add_z(out, text);
}

/* " website: the event of v1/Secret default/blog", " the indexes of v1/Secret default/blog" */
static void put_question(const struct pl_player *player, const struct pl_ask *ask,
                         struct pl_buf *out)
{
    int controller = ask->external.controller;
    if (controller >= 0)
        pl_buf_add_f(out, " %s: the event of %s ", player->lanes->controllers[controller].name,
                     ask->kind);
    else
        pl_buf_add_f(out, " the indexes of %s ", ask->kind);
    pl_meta_put_key(pl_doc_root(ask->event.object), out);
}

void pl_player_put_run(const struct pl_player *player, const struct pl_exec *exec,
                       struct pl_buf *out)
{
    put_time(player->wall_ns, out);
    if (exec != NULL)
        pl_buf_add_f(out, " %s %s", player->lanes->controllers[exec->controller].name, exec->key);
    else if (player->asked != NULL)
        put_question(player, player->asked, out);
    else
        pl_buf_add_z(out, " loading");
}

static bool has_met_pseudonyms(const struct pl_player *player)
{
    size_t most = player->at < player->stream->count ? player->at : player->stream->count;
    for (size_t i = 0; player->veil != NULL && i < most; i++)
        if (pl_veil_marks(player->stream->items[i]))
            return true;
    return false;
}

void pl_player_differ(struct pl_player *player, const struct pl_exec *exec, const char *place,
                      struct pl_slice now)
{
    struct pl_buf text = PL_BUF_INIT;
    if (player->out->difference != NULL)
        return;
    pl_player_put_run(player, exec, &text);
    pl_buf_add_f(&text, "%s%s\n  now   %.*s\n  then  ", place != NULL ? ": " : "",
                 place != NULL ? place : "", PL_FMT(now));
    print_entry(pl_player_peek(player), &text);
    if (!player->stream->whole)
        pl_buf_add_z(
            &text, "\n  (the record begins after the scripts did: what they had kept in variables "
                   "is not known)");
    if (has_met_pseudonyms(player))
        pl_buf_add_z(
            &text, "\n  (values of Secrets are pseudonyms in the record: what the scripts compute "
                   "from a part or another form of a value is not what it was)");
    player->out->difference = pl_buf_take(&text);
}

bool pl_player_is_done(const struct pl_player *player)
{
    return player->out->difference != NULL || player->over || player->breakpoint.quit;
}

static int stop_script(lua_State *L, struct pl_state *s)
{
    return pl_lerr_raise(L, s, "the replay ends here");
}

static void differ_here(struct pl_player *player, lua_State *L, struct pl_state *s,
                        struct pl_slice now)
{
    lua_Debug ar;
    char *place = NULL;
    if (pl_lerr_where(L, s, 0, &ar))
        place = pl_format("%s:%d", pl_lerr_chunk(&ar), ar.currentline);
    pl_player_differ(player, s->task != NULL ? s->task->exec : NULL, place, now);
    pl_free(place);
}

/* ---- calls ---- */

static void say_call(struct pl_player *player, const struct pl_state *s, struct pl_slice call)
{
    if (s->task == NULL || s->task->exec != player->told)
        return;
    struct pl_buf text = PL_BUF_INIT;
    pl_buf_add_z(&text, "  ");
    print_call(call, &text);
    player->o->say(player->o->arg, pl_buf_z(&text));
    pl_buf_deinit(&text);
}

bool pl_player_is_same(struct pl_player *player, struct pl_slice then, struct pl_slice now)
{
    return pl_veil_same(player->veil, then, now);
}

/* True if the call is the recorded one. */
static bool check_call(struct pl_player *player, lua_State *L, struct pl_state *s, const char *name)
{
    struct pl_buf call = PL_BUF_INIT, text = PL_BUF_INIT;
    pl_entry_put_call(&call, L, s, name, player->veil);
    struct pl_slice entry = pl_player_peek(player);
    bool same =
        player_next_is(player, PL_ENTRY_CALL) &&
        pl_player_is_same(player, pl_slice(entry.ptr + 1, entry.len - 1), pl_buf_slice(&call));
    if (same) {
        say_call(player, s, pl_buf_slice(&call));
    } else {
        pl_buf_add_z(&text, "calls ");
        print_call(pl_buf_slice(&call), &text);
        differ_here(player, L, s, pl_buf_slice(&text));
    }
    pl_buf_deinit(&call);
    pl_buf_deinit(&text);
    return same;
}

static int push_nothing(lua_State *L, struct pl_state *s, struct pl_lop *op)
{
    PL_UNUSED(L);
    PL_UNUSED(s);
    PL_UNUSED(op);
    return 0;
}

static int wait(lua_State *L, struct pl_state *s)
{
    pl_co_check_wait(L, s);
    struct pl_lop *op = pl_lop_create(PL_LOP_SLEEP);
    op->verb = "replay";
    op->push = push_nothing;
    return pl_co_wait(L, s, op);
}

static int play_return(struct pl_player *player, lua_State *L, struct pl_state *s)
{
    struct pl_bytes from = pl_player_take(player);
    int count = (int)pl_bytes_int(&from);
    for (int i = 0; i < count && !from.bad; i++)
        pl_value_push(L, s, &from, player->veil);
    return count;
}

static bool next_calls(const struct pl_player *player, const char *name)
{
    struct pl_slice entry = pl_player_peek(player);
    if (!player_next_is(player, PL_ENTRY_CALL))
        return false;
    struct pl_bytes from = pl_bytes_of(pl_slice(entry.ptr + 1, entry.len - 1));
    return pl_slice_eqz(pl_bytes_text(&from), name);
}

/* True for calls that are not in the record: digests of what had no pseudonyms, and in a record of
 * an older version, variables of the environment. */
static bool is_unrecorded(const struct pl_player *player, lua_State *L, struct pl_state *s,
                          const char *name)
{
    struct pl_buf call = PL_BUF_INIT;
    bool digest = pl_entry_is_digest(name);
    if (!digest && strcmp(name, "getenv") != 0)
        return false;
    if (player->breakpoint.open)
        return digest;
    if (!next_calls(player, name))
        return true;
    if (!digest || player->veil == NULL)
        return digest;
    luaL_checkstack(L, 40, "a recorded call");
    pl_entry_put_call(&call, L, s, name, player->veil);
    bool marked = pl_veil_marks(pl_buf_slice(&call));
    pl_buf_deinit(&call);
    return !marked;
}

static int player_call(struct pl_tape *base, lua_State *L, const char *name, lua_CFunction function)
{
    struct pl_player *player = player_of(base);
    struct pl_state *s = pl_state_of(L);
    bool loads = s->phase == PL_PHASE_LOAD;
    if (is_unrecorded(player, L, s, name))
        return function(L);
    if (player->breakpoint.open)
        return pl_lerr_raise(
            L, s, "%s: a replay cannot call it here; only the script's own values can be read",
            name);
    if (strcmp(name, "join") == 0 || (loads && !player->stream->whole))
        return function(L);
    luaL_checkstack(L, 40, "a recorded call");
    player->over = player->over || player->at >= player->stream->count;
    if (pl_player_is_done(player) || !check_call(player, L, s, name))
        return stop_script(L, s);
    player->at++;
    player->out->calls++;
    if (player_next_is(player, PL_ENTRY_RETURN))
        return play_return(player, L, s);
    if (player_next_is(player, PL_ENTRY_WAIT)) {
        player->at++;
        return wait(L, s);
    }
    player->over = player->at >= player->stream->count;
    if (player->asked != NULL && player->comes_again)
        player->asked->lacks = &player->lacks;
    return pl_lerr_raise(L, s, "%s raised an error, as it did when this was recorded", name);
}

/* ---- time ---- */

static int64_t time_of(struct pl_player *player, enum pl_entry what, int64_t otherwise)
{
    const struct pl_state *s = player->base.s;
    if (s == NULL || !pl_tape_runs(s) || pl_player_is_done(player) || player->breakpoint.open ||
        (s->phase == PL_PHASE_LOAD && !player->stream->whole))
        return otherwise;
    if (!player_next_is(player, what)) {
        player->over = player->at >= player->stream->count;
        if (!player->over)
            pl_player_differ(player, s->task != NULL ? s->task->exec : NULL, s->script,
                             pl_slice_z("asks for the time"));
        return otherwise;
    }
    struct pl_bytes from = pl_player_take(player);
    return (int64_t)pl_bytes_int(&from);
}

static int64_t mono(void *arg)
{
    return time_of(arg, PL_ENTRY_MONO, PL_PLAYER_MONO_NS);
}

static int64_t player_wall(void *arg)
{
    struct pl_player *player = arg;
    return time_of(player, PL_ENTRY_WALL, player->wall_ns);
}

int64_t pl_player_mono(void *arg)
{
    PL_UNUSED(arg);
    return PL_PLAYER_MONO_NS;
}

int64_t pl_player_wall(void *arg)
{
    return ((const struct pl_player *)arg)->wall_ns;
}

/* ---- the tape ---- */

static void loaded(struct pl_tape *base)
{
    struct pl_player *player = player_of(base);
    if (!player->stream->whole || pl_player_is_done(player))
        return;
    if (player_next_is(player, PL_ENTRY_LOADED))
        player->at++;
    else if (player->at < player->stream->count)
        pl_player_differ(player, NULL, NULL, pl_slice_z("are loaded"));
}

static const struct pl_tape_ops ops = {.loaded = loaded, .call = player_call};

struct pl_tape *pl_player_open_tape(void *arg, struct pl_lanes *lanes, int lane)
{
    struct pl_player *player = arg;
    PL_UNUSED(lanes);
    PL_UNUSED(lane);
    return &player->base;
}

void pl_player_init(struct pl_player *player, const struct pl_reader_stream *stream,
                    const struct pl_replay_options *options, bool secrets, struct pl_replayed *out)
{
    static const unsigned char key[PL_VEIL_KEY]; /* it is not used for output */
    *player =
        (struct pl_player){.o = options, .stream = stream, .out = out, .at = stream->whole ? 1 : 0};
    player->base = (struct pl_tape){
        .ops = &ops, .clock = {mono, mono, player_wall, player}, .seed = stream->seed};
    player->veil = secrets ? NULL : pl_veil_create(key);
}

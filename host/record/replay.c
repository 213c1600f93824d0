/* The driver takes one entry after the other. It begins, wakes and resumes runs as in the record,
 * and the functions of the host take the entries in between (player.c). The first difference ends
 * the replay.
 *
 * If the oldest minutes of a record are gone, runs that began in them are skipped, and the scripts'
 * variables of that time are not known. A difference may then have this cause, and its message says
 * so. */
#include "record/replay.h"

#include "base/alloc.h"
#include "base/text.h"
#include "bind/bind.h"
#include "record/ask.h"
#include "record/exec.h"
#include "record/player.h"
#include "record/scripts.h"
#include "record/value.h"

#include <string.h>

#define CPU_LIMIT (60 * PL_SECOND)

void pl_replayed_deinit(struct pl_replayed *replayed)
{
    pl_free(replayed->difference);
    replayed->difference = NULL;
}

/* ---- runs ---- */

static struct pl_slice number_key(const uint64_t *number)
{
    return pl_slice((const char *)number, sizeof *number);
}

static struct pl_exec *exec_of(const struct pl_player *player, uint64_t number)
{
    return pl_map_get(&player->execs, number_key(&number));
}

static struct pl_co *task_of(const struct pl_exec *exec, uint64_t number)
{
    PL_LIST_FOR (link, &exec->tasks) {
        struct pl_co *task = PL_CONTAINER_OF(link, struct pl_co, link);
        if ((uint64_t)task->number == number)
            return task;
    }
    return NULL;
}

static bool is_told(const struct pl_player *player, struct pl_slice controller, const char *key)
{
    const struct pl_replay_options *o = player->o;
    return o->say != NULL && o->key != NULL && strcmp(o->key, key) == 0 &&
           pl_record_is_meant(player->declared, controller, o->controller);
}

static bool stops_in(void *arg, const struct pl_exec *exec)
{
    const struct pl_player *player = arg;
    if (player->o->key == NULL || exec == NULL)
        return player->o->key == NULL;
    return is_told(player, pl_slice_z(player->lanes->controllers[exec->controller].name),
                   exec->key);
}

static void say_begin(const struct pl_player *player, const struct pl_exec *exec)
{
    struct pl_buf text = PL_BUF_INIT;
    pl_player_put_run(player, exec, &text);
    pl_buf_add_f(&text, " begins, attempt %d", exec->attempt);
    player->o->say(player->o->arg, pl_buf_z(&text));
    pl_buf_deinit(&text);
}

/* Reads what PL_ENTRY_BEGIN and PL_ENTRY_REVIEW begin with. NULL: there is no such run, or it is
 * after the end of the replay. */
static struct pl_exec *read_run(struct pl_player *player, struct pl_bytes *from)
{
    uint64_t number = pl_bytes_int(from);
    struct pl_slice name = pl_bytes_text(from), texts[4];
    for (int i = 0; i < 4; i++)
        texts[i] = pl_bytes_text(from);
    int controller = pl_record_controller(player->lanes, name);
    if (from->bad || controller < 0) {
        pl_player_differ(player, NULL, NULL, pl_slice_z("there is no such controller"));
        return NULL;
    }
    struct pl_exec *exec = pl_record_exec(player->lanes->lanes[0], controller, texts);
    exec->attempt = (int)pl_bytes_int(from);
    exec->causes_dropped = (size_t)pl_bytes_int(from);
    bool in_time = pl_player_see_time(player, (int64_t)pl_bytes_int(from));
    int64_t left = (int64_t)pl_bytes_int(from);
    exec->deadline_ns = left > 0 ? PL_PLAYER_MONO_NS + left : 0;
    exec->on_tape = number;
    if (!in_time) {
        pl_exec_unref(exec);
        return NULL;
    }
    pl_map_put(&player->execs, number_key(&number), exec);
    player->out->runs++;
    if (is_told(player, name, exec->key)) {
        player->told = exec;
        player->out->told++;
        say_begin(player, exec);
    }
    return exec;
}

static void play_begin(struct pl_player *player, struct pl_bytes from)
{
    struct pl_exec *exec = read_run(player, &from);
    if (exec != NULL)
        pl_exec_begin(player->lanes->lanes[0], exec);
}

/* The handler gets the recorded arguments. Its answer is the argument of a recorded call. */
static void play_review(struct pl_player *player, struct pl_bytes from)
{
    struct pl_exec *exec = read_run(player, &from);
    if (exec != NULL)
        pl_record_begin_review(player->lanes->lanes[0], exec, &from, player->veil);
}

static void play_resume(struct pl_player *player, struct pl_bytes from)
{
    struct pl_exec *exec = exec_of(player, pl_bytes_int(&from));
    uint64_t number = pl_bytes_int(&from);
    player->skips = exec == NULL;
    if (!pl_player_see_time(player, (int64_t)pl_bytes_int(&from)) || exec == NULL)
        return;
    struct pl_co *task = task_of(exec, number);
    if (task == NULL || !pl_link_is_linked(&task->ready)) {
        pl_player_differ(player, exec, NULL, pl_slice_z("has ended or waits for something else"));
        return;
    }
    pl_link_unlink(&task->ready);
    pl_co_resume(player->lanes->lanes[0], task);
    pl_record_take_messages(player->lanes);
}

static void play_woken(struct pl_player *player, struct pl_bytes from)
{
    struct pl_lane *lane = player->lanes->lanes[0];
    lua_State *L = lane->s->L;
    struct pl_exec *exec = exec_of(player, pl_bytes_int(&from));
    uint64_t number = pl_bytes_int(&from);
    int count = (int)pl_bytes_int(&from);
    if (exec == NULL)
        return;
    struct pl_co *task = task_of(exec, number);
    if (task == NULL || task->op == NULL || !task->submitted) {
        pl_player_differ(player, exec, NULL, pl_slice_z("does not wait"));
        return;
    }
    int before = lua_gettop(L);
    for (int i = 0; i < count && !from.bad; i++)
        pl_value_push(L, lane->s, &from, player->veil);
    pl_co_wake(lane, task, L, lua_gettop(L) - before);
}

static void play_cancel(struct pl_player *player, struct pl_bytes from)
{
    struct pl_exec *exec = exec_of(player, pl_bytes_int(&from));
    int code = (int)pl_bytes_int(&from);
    struct pl_slice message = pl_bytes_text(&from);
    if (exec == NULL)
        return;
    struct pl_cancel *cancel = PL_NEW(struct pl_cancel);
    cancel->exec = pl_exec_ref(exec);
    pl_err_clear(&cancel->why);
    if (code != 0) {
        pl_err_set(&cancel->why, -code, "%.*s", PL_FMT(message));
        pl_exec_cancel(exec->lane, cancel);
    } else {
        pl_exec_ask_end(exec->lane, cancel);
    }
    pl_record_take_messages(player->lanes);
}

static bool is_hex(char c)
{
    return pl_is_digit(c) || (c >= 'a' && c <= 'f');
}

/* Compares texts but ignores addresses, which differ in each process: "table: 0x7f12". */
static bool same_message(struct pl_slice then, struct pl_slice now)
{
    size_t i = 0, j = 0;
    while (i < then.len && j < now.len) {
        if (then.ptr[i] != now.ptr[j])
            return false;
        bool address = i > 0 && then.ptr[i - 1] == '0' && then.ptr[i] == 'x';
        i++, j++;
        while (address && i < then.len && is_hex(then.ptr[i]))
            i++;
        while (address && j < now.len && is_hex(now.ptr[j]))
            j++;
    }
    return i == then.len && j == now.len;
}

static void compare_ends(struct pl_player *player, const struct pl_exec *exec, struct pl_bytes from)
{
    const struct pl_outcome_of_run *result = &exec->result;
    uint64_t outcome = pl_bytes_int(&from), after = pl_bytes_int(&from);
    struct pl_slice then = pl_bytes_text(&from);
    struct pl_buf now = PL_BUF_INIT, text = PL_BUF_INIT;
    struct pl_slice message = pl_slice_z(result->message != NULL ? result->message : "");
    pl_veil_text(player->veil, message, &now);
    if ((uint64_t)result->outcome != outcome || (uint64_t)result->after_ns != after ||
        !(same_message(then, pl_buf_slice(&now)) ||
          pl_player_is_same(player, then, pl_buf_slice(&now)))) {
        player->at--; /* the entry that the difference shows */
        pl_buf_add_f(&text, "ends differently: \"%s\", and then with \"%.*s\"", pl_buf_z(&now),
                     PL_FMT(then));
        pl_player_differ(player, exec, NULL, pl_buf_slice(&text));
    }
    pl_buf_deinit(&now);
    pl_buf_deinit(&text);
}

static bool names_a_limit(struct pl_bytes from)
{
    pl_bytes_int(&from);
    pl_bytes_int(&from);
    struct pl_slice message = pl_bytes_text(&from);
    return pl_text_find(message, " limit exceeded") != NULL;
}

static void play_end(struct pl_player *player, struct pl_bytes from)
{
    uint64_t number = pl_bytes_int(&from);
    struct pl_exec *exec = exec_of(player, number);
    player->skips = exec == NULL;
    if (exec == NULL) {
        player->out->skipped++;
        return;
    }
    if (names_a_limit(from))
        player->out->limited++;
    else if (!exec->ended)
        pl_player_differ(player, exec, NULL, pl_slice_z("goes on"));
    else
        compare_ends(player, exec, from);
    if (player->told == exec)
        player->told = NULL;
    pl_map_remove(&player->execs, number_key(&number));
    if (exec->ended)
        pl_exec_unref(exec);
}

/* The script should have taken the entry behind a control entry. */
static void play_rest(struct pl_player *player)
{
    if (!player->skips)
        pl_player_differ(player, NULL, NULL, pl_slice_z("waits or has ended"));
    else
        player->at++;
}

static void play_entry(struct pl_player *player)
{
    switch (*pl_player_peek(player).ptr) {
    case PL_ENTRY_BEGIN:
        play_begin(player, pl_player_take(player));
        return;
    case PL_ENTRY_REVIEW:
        play_review(player, pl_player_take(player));
        return;
    case PL_ENTRY_ASK:
        pl_player_ask(player, pl_player_take(player));
        return;
    case PL_ENTRY_RESUME:
        play_resume(player, pl_player_take(player));
        return;
    case PL_ENTRY_WOKEN:
        play_woken(player, pl_player_take(player));
        return;
    case PL_ENTRY_CANCEL:
        play_cancel(player, pl_player_take(player));
        return;
    case PL_ENTRY_ENDED:
        play_end(player, pl_player_take(player));
        return;
    default:
        play_rest(player);
    }
}

/* ---- a lane ---- */

/* Runs that have ended before their end in the record. */
static void drop_ended(struct pl_player *player)
{
    size_t at = 0;
    struct pl_slice key;
    void *exec;
    while (pl_map_next(&player->execs, &at, &key, &exec))
        if (((struct pl_exec *)exec)->ended)
            pl_exec_unref(exec);
}

static void play_entries(struct pl_player *player)
{
    struct pl_lane *lane = player->lanes->lanes[0];
    player->lanes->io_box = pl_mailbox_create();
    player->skips = !player->stream->whole;
    while (!pl_player_is_done(player) && player->at < player->stream->count)
        play_entry(player);
    pl_record_take_messages(player->lanes);
    /* coroutines whose next step is not on the record do not continue */
    while (pl_list_pop(&lane->ready) != NULL)
        continue;
    drop_ended(player);
    lane->io.ended = true; /* runs that have not ended are freed with the lane */
}

static int play_stream(const struct pl_reader *reader, const struct pl_reader_stream *stream,
                       const struct pl_scripts *scripts, const struct pl_replay_options *options,
                       struct pl_replayed *out, struct pl_err *err)
{
    struct pl_player player;
    pl_player_init(&player, stream, options, reader->secrets, out);
    pl_breakpoint_init(&player.breakpoint, &options->breakpoint);
    player.breakpoint.is_wanted = stops_in;
    player.breakpoint.arg = &player;
    const struct pl_clock clock = {pl_player_mono, pl_player_mono, pl_player_wall, &player};
    const struct pl_taping taping = {pl_player_open_tape, &player};
    struct pl_loop *loop = pl_loop_create_stepped(&clock);
    const struct pl_lanes_options with = {.hooks = &pl_bind_state_hooks,
                                          .count = 1,
                                          .cpu_limit_ns = CPU_LIMIT,
                                          .config = scripts->config,
                                          .version = scripts->version,
                                          .generation = scripts->generation,
                                          .stepped = loop,
                                          .clock = &clock,
                                          .taping = &taping,
                                          .lines = pl_breakpoint_watch(&player.breakpoint),
                                          .origin = scripts->origin};
    struct pl_declarations declared = {.controllers = NULL};
    player.lanes = player.breakpoint.lanes = pl_lanes_create(&with);
    player.declared = &declared;
    int rc = pl_lanes_load(player.lanes, (const char *const *)scripts->paths, scripts->path_count,
                           &declared, err);
    if (rc == 0 && !pl_player_is_done(&player))
        play_entries(&player);
    out->quit = player.breakpoint.quit;
    out->stops += player.breakpoint.stops;
    pl_declarations_deinit(&declared);
    pl_lanes_destroy(player.lanes);
    pl_loop_destroy(loop);
    pl_map_deinit(&player.execs);
    pl_veil_destroy(player.veil);
    return pl_player_is_done(&player) ? 0 : rc; /* the replay itself ended the scripts */
}

static int play_one(const struct pl_reader *reader, const struct pl_reader_stream *stream,
                    const struct pl_replay_options *options, struct pl_replayed *out,
                    struct pl_err *err)
{
    const struct pl_reader_scripts *text = pl_reader_scripts_of(reader, stream->generation);
    struct pl_scripts scripts;
    if (text == NULL) /* the scripts were never loaded */
        return 0;
    int rc = pl_scripts_read(&scripts, pl_slice(text->json, text->len), err);
    if (rc == 0)
        rc = play_stream(reader, stream, &scripts, options, out, err);
    pl_scripts_deinit(&scripts);
    return rc;
}

int pl_replay_run(const struct pl_reader *reader, const struct pl_replay_options *options,
                  struct pl_replayed *replayed, struct pl_err *err)
{
    int rc = 0;
    *replayed = (struct pl_replayed){.runs = 0};
    for (size_t i = 0;
         i < reader->stream_count && rc == 0 && replayed->difference == NULL && !replayed->quit;
         i++) {
        if (reader->streams[i].count > 0)
            rc = play_one(reader, &reader->streams[i], options, replayed, err);
    }
    return rc;
}

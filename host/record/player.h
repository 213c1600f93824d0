/* The tape of a replaying lane: functions of the host return the entries of a record instead of
 * doing their work. Private to host/record: replay.c drives it. The replay's thread. */
#pragma once

#include "base/map.h"
#include "lane/co.h"
#include "record/breakpoint_impl.h"
#include "record/reader.h"
#include "record/replay.h"
#include "record/tape.h"
#include "record/veil.h"

#define PL_PLAYER_MONO_NS (1000 * PL_SECOND) /* the fixed value of the monotonic clock */

struct pl_player {
    struct pl_tape base;
    const struct pl_replay_options *o;
    const struct pl_reader_stream *stream;
    size_t at; /* the next entry */
    struct pl_lanes *lanes;
    struct pl_veil *veil; /* owned; NULL: values are shown */
    int64_t wall_ns;
    struct pl_map execs;   /* number -> struct pl_exec, borrowed */
    struct pl_exec *told;  /* its calls are printed */
    struct pl_ask *asked;  /* the current question (ask.c), or NULL */
    bool comes_again;      /* the current question will be asked again */
    struct pl_cache lacks; /* stands for a cache that had not synced, which is the reason */
    bool skips;            /* the current entries belong to an unknown run */
    bool over;             /* the record ends in the middle of a run */
    const struct pl_declarations *declared; /* the scripts' declarations; borrowed */
    struct pl_breakpoint breakpoint;
    struct pl_replayed *out;
};

void pl_player_init(struct pl_player *player, const struct pl_reader_stream *stream,
                    const struct pl_replay_options *options, bool secrets, struct pl_replayed *out);
/* For the lane's options: arg is the player, and the tape is part of it. */
struct pl_tape *pl_player_open_tape(void *arg, struct pl_lanes *lanes, int lane);
/* The clock of the host's own code: arg is the player. */
int64_t pl_player_mono(void *arg);
int64_t pl_player_wall(void *arg);

/* The next entry; empty at the end. Borrowed from the reader. */
struct pl_slice pl_player_peek(const struct pl_player *player);
/* The rest of the next entry. Moves to the entry after it. */
struct pl_bytes pl_player_take(struct pl_player *player);
/* What the wall clock said at an entry. False: it is after the end of the replay. */
bool pl_player_see_time(struct pl_player *player, int64_t wall_ns);
/* True if a difference was found or the record has ended. */
bool pl_player_is_done(const struct pl_player *player);
/* Records a difference. now: what happens now; the next entry is what happened then. Only the first
 * difference counts. exec, place: NULL if not known. */
void pl_player_differ(struct pl_player *player, const struct pl_exec *exec, const char *place,
                      struct pl_slice now);
/* Compares texts. Pseudonyms may differ, but each must stand for exactly one of the record's. */
bool pl_player_is_same(struct pl_player *player, struct pl_slice then, struct pl_slice now);
/* Appends the time and the run; exec NULL: the question, or none. */
void pl_player_put_run(const struct pl_player *player, const struct pl_exec *exec,
                       struct pl_buf *out);

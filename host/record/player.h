/* The tape of one lane whose scripts run again: functions of the host take the entries of a record
 * in place of what they would do. Private to host/record: replay.c drives it. */
#pragma once

#include "base/map.h"
#include "lane/co.h"
#include "record/desk_impl.h"
#include "record/reader.h"
#include "record/replay.h"
#include "record/tape.h"
#include "record/veil.h"

#define PL_PLAYER_MONO_NS (1000 * PL_SECOND) /* what the monotonic clock stands at */

struct pl_player {
    struct pl_tape base;
    const struct pl_replay_options *o;
    const struct pl_reader_stream *stream;
    size_t at; /* the next entry */
    struct pl_lanes *lanes;
    struct pl_veil *veil; /* owned; NULL: values are shown */
    int64_t wall_ns;
    struct pl_map execs;                    /* number -> struct pl_exec, borrowed */
    struct pl_exec *told;                   /* its calls are said */
    bool skips;                             /* entries of a run that is not known */
    bool over;                              /* the record ends in the middle of a run */
    const struct pl_declarations *declared; /* of the scripts; borrowed */
    struct pl_desk desk;
    struct pl_replayed *out;
};

void pl_player_init(struct pl_player *player, const struct pl_reader_stream *stream,
                    const struct pl_replay_options *options, bool secrets, struct pl_replayed *out);
/* For the lane's options: arg is the player. */
struct pl_tape *pl_player_open_tape(void *arg, struct pl_lanes *lanes, int lane);
/* What time it is to the host's own code: arg is the player. */
int64_t pl_player_mono(void *arg);
int64_t pl_player_wall(void *arg);

/* The next entry; empty: there is none. */
struct pl_slice pl_player_peek(const struct pl_player *player);
bool pl_player_next_is(const struct pl_player *player, enum pl_entry what);
/* The rest of the next entry, which is passed. */
struct pl_bytes pl_player_take(struct pl_player *player);
/* It went another way, or the record is over. */
bool pl_player_is_done(const struct pl_player *player);
/* now: what happens; the record's own is the next entry. Only the first counts. exec, place: NULL:
 * not known. */
void pl_player_differ(struct pl_player *player, const struct pl_exec *exec, const char *place,
                      struct pl_slice now);
/* But for pseudonyms, of which each has to stand for one of the record's. */
bool pl_player_is_same(struct pl_player *player, struct pl_slice then, struct pl_slice now);
/* Appends when, and which run; exec NULL: none. */
void pl_player_put_run(const struct pl_player *player, const struct pl_exec *exec,
                       struct pl_buf *out);

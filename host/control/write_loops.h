/* Detects endless work: keys that are queued only by the writes of their own runs, again and again,
 * and fields that their runs and another writer change in turns. It watches a limited number of
 * keys, those that currently write; a key that writes nothing costs nothing. Pure: time is passed
 * in. */
#pragma once

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PL_LOOP_RUNS  20 /* in a row, each queued only by the writes of the one before */
#define PL_LOOP_TURNS 10 /* changes of one field: ours, theirs, ours, ... */

struct pl_write_loops;

/* The caller owns the result. */
struct pl_write_loops *pl_write_loops_create(void);
/* Accepts NULL. */
void pl_write_loops_destroy(struct pl_write_loops *loops);

/* A run of key has written an object. mark: a hash of its kind and new version; not 0. */
void pl_write_loops_wrote(struct pl_write_loops *loops, struct pl_slice key, uint64_t mark,
                          int64_t now_ns);
/* An event of an object with this mark has queued key. paths: its changes, NULL-terminated; NULL:
 * unknown. kind and object identify the object. */
void pl_write_loops_heard(struct pl_write_loops *loops, struct pl_slice key, uint64_t mark,
                          char *const *paths, const char *kind, const char *object, int64_t now_ns);

struct pl_loop {
    bool is_fight;      /* else the key queues itself */
    int times;          /* number of runs in a row, or turns */
    const char *fields; /* of a fight a single path; else the paths that the writes changed, joined
                           by ", "; "": unknown */
    const char *kind;   /* of a fight: the object's kind, "apps/v1/Deployment" */
    const char *object; /* of a fight: the object's key */
};
/* A run of key has begun. True when there is a finding to report, once until the key was quiet for
 * ten minutes; found is borrowed until the next call. only_events: all causes of the run are
 * events. */
bool pl_write_loops_begun(struct pl_write_loops *loops, struct pl_slice key, bool only_events,
                          int64_t now_ns, struct pl_loop *found);
/* Visits findings that were reported and continue. */
void pl_write_loops_each(const struct pl_write_loops *loops, int64_t now_ns,
                         void (*visit)(void *arg, const char *key, const struct pl_loop *loop),
                         void *arg);

/* Work that makes itself: keys that are woken by nothing but what their own runs wrote, again and
 * again, and fields that their runs and somebody else change in turns. Of a limited number of keys,
 * those that write now; a key that writes nothing costs nothing. Pure: time is passed in. */
#pragma once

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PL_LOOP_RUNS  20 /* in a row, each woken by the last one's writes alone */
#define PL_LOOP_TURNS 10 /* of one field: ours, theirs, ours, ... */

struct pl_loops;

struct pl_loops *pl_loops_create(void);
/* Accepts NULL. */
void pl_loops_destroy(struct pl_loops *loops);

/* A run of key wrote an object, which had this mark then: its kind and version, hashed; not 0. */
void pl_loops_wrote(struct pl_loops *loops, struct pl_slice key, uint64_t mark, int64_t now_ns);
/* An event of an object with this mark has queued key. paths: what it changed, NULL-terminated;
 * NULL: not known. kind and object say whose they are. */
void pl_loops_heard(struct pl_loops *loops, struct pl_slice key, uint64_t mark, char *const *paths,
                    const char *kind, const char *object, int64_t now_ns);

struct pl_loop {
    bool is_fight; /* else the key wakes itself */
    int times;     /* runs in a row, or turns */
    const char
        *fields; /* of a fight one; else what the writes changed, joined by ", "; "": unknown */
    const char *kind;   /* "apps/v1/Deployment" of the object, */
    const char *object; /* and its key; of a fight alone */
};
/* A run of key has begun. True when something is to be told, once until it was quiet for ten
 * minutes; what is in found is borrowed until the next call. only_events: nothing else has queued
 * the key. */
bool pl_loops_begun(struct pl_loops *loops, struct pl_slice key, bool only_events, int64_t now_ns,
                    struct pl_loop *found);
/* Visits what was told and goes on. */
void pl_loops_each(const struct pl_loops *loops, int64_t now_ns,
                   void (*visit)(void *arg, const char *key, const struct pl_loop *loop),
                   void *arg);

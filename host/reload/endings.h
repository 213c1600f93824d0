/* Generations of scripts that end: each closes on its own threads and is freed when that is done.
 * I/O thread. */
#pragma once

#include "bind/generation.h"

struct pl_view;

struct pl_endings {
    struct pl_view *view; /* borrowed: shows their lanes no longer */
    int64_t grace_ns;     /* for runs that are under way */
    struct pl_generation **items;
    size_t count;
};

/* Takes the generation; accepts NULL. */
void pl_endings_add(struct pl_endings *endings, struct pl_generation *generation);
/* May another one begin? A few end at a time: one that has to make room gets no grace. */
bool pl_endings_make_room(struct pl_endings *endings);
void pl_endings_forget(struct pl_endings *endings, const struct pl_controller *controller);
/* Destroys what has not ended by itself. */
void pl_endings_deinit(struct pl_endings *endings);

/* Generations of scripts that are ending: each closes on its own threads and is then freed. I/O
 * thread. */
#pragma once

#include "bind/generation.h"

struct pl_view;

struct pl_endings {
    struct pl_view *view; /* borrowed: stops showing their lanes */
    int64_t grace_ns;     /* grace period of their runs */
    struct pl_generation **items;
    size_t count;
};

/* Takes the generation; accepts NULL. */
void pl_endings_add(struct pl_endings *endings, struct pl_generation *generation);
/* Whether another generation may be loaded. Only a few may be ending at a time: the oldest of too
 * many loses its grace period. */
bool pl_endings_make_room(struct pl_endings *endings);
void pl_endings_forget(struct pl_endings *endings, const struct pl_controller *controller);
/* Destroys the generations that have not ended. */
void pl_endings_deinit(struct pl_endings *endings);

/* A question under way, with the answers it has got so far: the asker's side of struct
 * pl_question. I/O thread. */
#pragma once

#include "base/buf.h"
#include "control/handler.h"
#include "control/predicate.h"
#include "control/reconciler.h"
#include "store/store.h"

/* At most so many answers are outstanding for one asker. */
#define PL_QUESTIONS_MAX 1024

struct pl_asked_values {
    char *index; /* owned */
    struct pl_values values;
};

struct pl_asked {
    struct pl_question q; /* given to ask; its event's documents are counted */
    struct pl_leaf_verdict {
        int leaf;
        bool pass;
    } * verdicts; /* owned */
    size_t verdict_count;
    struct pl_requests requests;
    struct pl_asked_values *values; /* owned */
    size_t value_count;
    char *map_failure; /* owned; NULL: the map function did not raise */
    char *traceback;   /* owned; NULL: none */
    void (*done)(struct pl_asked *asked);
};

/* Zeroes it, and takes references of the event's documents. */
void pl_asked_init(struct pl_asked *asked, const struct pl_event *event,
                   void (*done)(struct pl_asked *asked));
/* Forgets the answers, to ask again. */
void pl_asked_reset(struct pl_asked *asked);
void pl_asked_deinit(struct pl_asked *asked);
/* A pl_leaf_fn with the asked as its arg: a leaf without a verdict passes. */
enum pl_verdict pl_asked_verdict(void *asked, int leaf, const struct pl_event *event);

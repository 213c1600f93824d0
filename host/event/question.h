/* Questions about events, for predicates, map and index functions of scripts: the question for the
 * answerer, and the asker's side with the answers so far. I/O thread. */
#pragma once

#include "base/buf.h"
#include "base/list.h"
#include "event/handler.h"
#include "event/predicate.h"
#include "event/source.h"
#include "store/store.h"

/* One event of one source. The asker owns it. It is answered exactly once, later (never inside
 * ask). pl_question_* functions fill the arrays of answers. */
struct pl_question {
    struct pl_link link;                 /* for queues of the answerer */
    const struct pl_source_spec *source; /* NULL: only indexes are asked */
    void *external;                      /* source->external, or the index owner's handle */
    struct pl_event event;               /* counted documents */
    bool
        ask_predicates; /* evaluate the external leaves of source->predicate: pl_question_verdict */
    bool ask_map;       /* map old (if any) and new: pl_question_request */
    bool ask_indexes;   /* pl_question_value for each external index of the kind */
    const char *kind;   /* text of the source's kind */
    void *self_data;    /* for the answerer */
};

/* The answerer's side. A leaf without a verdict passes, so that a script error loses no event. */
void pl_question_verdict(struct pl_question *question, int leaf, bool pass);
void pl_question_request(struct pl_question *question, struct pl_slice ns, struct pl_slice name);
void pl_question_value(struct pl_question *question, const char *index, struct pl_slice value);
/* The map function raised an error: it is logged, counted and asked again with backoff. */
void pl_question_map_failed(struct pl_question *question, const char *message,
                            const char *traceback);
/* Returns it to the asker. */
void pl_question_done(struct pl_question *question);

/* ---- the asker ---- */

/* Limit of outstanding answers for one asker. */
#define PL_QUESTIONS_MAX 1024

struct pl_asked_values {
    char *index; /* owned */
    struct pl_values values;
};

struct pl_asked {
    struct pl_question q; /* given to ask; its event's documents are counted */
    struct pl_asked_leaf {
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

/* Zeroes it, and takes references to the event's documents. */
void pl_asked_init(struct pl_asked *asked, const struct pl_event *event,
                   void (*done)(struct pl_asked *asked));
/* Drops the answers, to ask again. */
void pl_asked_reset(struct pl_asked *asked);
void pl_asked_deinit(struct pl_asked *asked);
/* A pl_leaf_fn with the asked as its arg. A leaf without a verdict passes. */
enum pl_verdict pl_asked_verdict(void *asked, int leaf, const struct pl_event *event);

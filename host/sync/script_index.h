/* Indexes of one cache whose values scripts compute: which script is asked about an object, and how
 * a late index is built over the stored objects, which delays only look-ups in it.
 *
 * Two generations of scripts may have the same index, by its stored name. Then the younger
 * generation is asked, and the older one again if the younger one goes. I/O thread. */
#pragma once

#include "event/question.h"
#include "store/store.h"

struct pl_script_indexes;

typedef void (*pl_ask_fn)(void *self, struct pl_question *question);

struct pl_script_indexes_options {
    struct pl_store *store; /* borrowed for life */
    const char *kind;       /* borrowed for life; of questions */
    /* An answer to the question of this round about key has arrived. Returns whether its values are
     * still wanted; then they are stored. */
    bool (*wants)(void *arg, const char *key, uint64_t round);
    /* Called after that in any case. */
    void (*answered)(void *arg, const char *key, uint64_t round);
    void *arg;
};

/* The caller owns the result. The options are copied. */
struct pl_script_indexes *pl_script_indexes_create(const struct pl_script_indexes_options *options);
/* No answer may be outstanding. */
void pl_script_indexes_destroy(struct pl_script_indexes *indexes);

/* stored: its name in the store; name: in answers. EEXIST when another index has the name. */
PL_MUST_USE int pl_script_indexes_add(struct pl_script_indexes *indexes, const char *stored,
                                      const char *name, pl_ask_fn ask, void *self,
                                      struct pl_err *err);
/* Undoes one add. The index is removed with its last add. */
void pl_script_indexes_drop(struct pl_script_indexes *indexes, const char *stored, void *self);

bool pl_script_indexes_any(const struct pl_script_indexes *indexes);
/* Asks all scripts that have to be asked about the event's object. Returns the number of answers,
 * which never come inside this call. */
size_t pl_script_indexes_ask(struct pl_script_indexes *indexes, const char *key,
                             const struct pl_event *event, uint64_t round);
/* The number of all questions, and of those about single events. */
size_t pl_script_indexes_outstanding(const struct pl_script_indexes *indexes);
size_t pl_script_indexes_asked(const struct pl_script_indexes *indexes);
/* Stops building indexes. */
void pl_script_indexes_stop(struct pl_script_indexes *indexes);

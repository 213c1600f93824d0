/* Indexes of one cache whose values scripts compute: who is asked about an object, and how one that
 * comes late is built over what is there, without holding up anything but look-ups in it.
 *
 * Two generations of scripts may have the same index, by its stored name: then the younger one is
 * asked, and the older one again should the younger one go. I/O thread. */
#pragma once

#include "event/question.h"
#include "store/store.h"

struct pl_script_indexes;

typedef void (*pl_ask_fn)(void *self, struct pl_question *question);

struct pl_script_indexes_options {
    struct pl_store *store; /* borrowed for life */
    const char *kind;       /* borrowed for life; of questions */
    /* An answer to the question of this round about key is here. Is it still wanted? Then its
     * values are stored. */
    bool (*wants)(void *arg, const char *key, uint64_t round);
    /* In any case, after that. */
    void (*answered)(void *arg, const char *key, uint64_t round);
    void *arg;
};

struct pl_script_indexes *pl_script_indexes_create(const struct pl_script_indexes_options *options);
/* Nothing may be outstanding. */
void pl_script_indexes_destroy(struct pl_script_indexes *indexes);

/* stored: its name in the store; name: in answers. EEXIST when something else has the name. */
PL_MUST_USE int pl_script_indexes_add(struct pl_script_indexes *indexes, const char *stored,
                                      const char *name, pl_ask_fn ask, void *self,
                                      struct pl_err *err);
/* Undoes one add. The index goes with the last of those who brought it. */
void pl_script_indexes_drop(struct pl_script_indexes *indexes, const char *stored, void *self);

bool pl_script_indexes_any(const struct pl_script_indexes *indexes);
/* Asks everybody who is to be asked about the event's object; returns how many answers will come,
 * never from inside this call. */
size_t pl_script_indexes_ask(struct pl_script_indexes *indexes, const char *key,
                             const struct pl_event *event, uint64_t round);
/* Questions of both kinds, and those about single events alone. */
size_t pl_script_indexes_outstanding(const struct pl_script_indexes *indexes);
size_t pl_script_indexes_asked(const struct pl_script_indexes *indexes);
/* Nothing is built any more. */
void pl_script_indexes_stop(struct pl_script_indexes *indexes);

/* The entries of a stream of a record, made by a tape (lane/tape.h). An entry is made on its lane's
 * thread. */
#pragma once

#include "lane/tape.h"

/* The first byte of an entry. Numbers are encoded as in record/bytes.h, values as in
 * record/value.h. */
enum pl_entry {
    PL_ENTRY_LOADS = 'L', /* the first entry of a stream */
    PL_ENTRY_LOADED = 'l',
    PL_ENTRY_BEGIN = 'B',  /* run, controller, key, ns, name, texts of its context, attempt, causes
                              dropped, wall clock, nanoseconds until its deadline (0: none) */
    PL_ENTRY_REVIEW = 'H', /* a webhook's run: as PL_ENTRY_BEGIN, then count, arguments */
    PL_ENTRY_RESUME = 'T', /* run, task, wall clock */
    PL_ENTRY_WOKEN = 'R',  /* run, task, count, values */
    PL_ENTRY_CANCEL = 'X', /* run, code, message; code 0: the run is asked to end by itself */
    PL_ENTRY_ENDED = 'D',  /* run, outcome, nanoseconds until it runs again, message */
    PL_ENTRY_CALL = 'c',   /* function, count, arguments */
    PL_ENTRY_RETURN = 'r', /* count, results */
    PL_ENTRY_WAIT = 'w',
    PL_ENTRY_ASK = 'q',      /* controller (empty: indexes), source, kind, 1 predicates | 2 map |
                                4 indexes, wall clock, type of the event, 1 missed | 2 initial, again,
                                the object, the old one */
    PL_ENTRY_ANSWERED = 'a', /* will it be asked again, the answers */
    PL_ENTRY_WALL = 'k',     /* the wall clock that a script has read */
    PL_ENTRY_MONO = 'm',
};

struct pl_veil;
struct pl_buf;

/* Appends the part of a call that is compared: function, count, arguments. */
void pl_entry_put_call(struct pl_buf *out, lua_State *L, struct pl_state *s, const char *name,
                       struct pl_veil *veil);
/* Appends the answers to a question: verdicts of predicates, requests of a map function (and
 * whether it failed), values of indexes. */
void pl_entry_put_answers(struct pl_buf *out, const struct pl_ask *ask, struct pl_veil *veil);
/* True for functions that compute a digest. Their calls are recorded only if the arguments hold
 * pseudonyms, with which a replay would compute something else. */
bool pl_entry_is_digest(const char *name);

/* The inside of a reflector, shared by reflector*.c and by nobody else. I/O thread. */
#pragma once

#include "base/backoff.h"
#include "control/reflector.h"
#include "kube/status.h"
#include "value/meta.h"

/* Why a watch that we cancelled had to end. */
enum ending { END_BY_SERVER, END_BY_ERROR_EVENT, END_BY_SILENCE, END_BY_DEADLINE, END_BY_OLD_RV };

struct pl_reflector {
    struct pl_reflector_options o; /* its texts are owned */
    enum pl_reflector_state state;
    bool stopped;
    void (*ended)(void *arg);
    void *ended_arg;
    struct pl_timer pause;
    bool pause_leads_to_watch;
    struct pl_backoff backoff;
    struct pl_trouble trouble;
    struct pl_wait wait;

    struct pl_buf rv;    /* of the last list, event or bookmark */
    bool rv_unavailable; /* the server could not list by it */
    bool doubtful;       /* does the server still know it? To be asked before a watch */
    bool paginated;      /* the server has no watch cache (53) */
    int expired_in_row;  /* watches that expired without any progress between */

    struct pl_op *list;   /* under way, or NULL */
    struct pl_docs items; /* of the pages so far */
    struct pl_buf asked_rv, page_rv, token;
    int page;
    bool whole;   /* asked for without a limit, as a page had expired (55) */
    bool retried; /* asked for without a version (51) */

    struct pl_watch *watch;  /* under way, or NULL */
    struct pl_timer guard;   /* opening, settling, silence */
    struct pl_timer at_most; /* our own end of a watch */
    int64_t opened_ns, heard_ns;
    bool synthetic; /* begun at "" or "0": what comes first is in no order (62) */
    bool progress;  /* rv moved */
    bool complained, silence_said;
    enum ending ending;
    struct pl_err event_err;
};

static inline int64_t pl_reflector_now(const struct pl_reflector *r)
{
    return pl_clock_mono(r->o.timers->clock);
}

static inline bool pl_rv_is_zero(struct pl_slice rv)
{
    return rv.len == 0 || pl_slice_eqz(rv, "0");
}

static inline void pl_buf_set(struct pl_buf *buf, struct pl_slice text)
{
    pl_buf_clear(buf);
    pl_buf_add_slice(buf, text);
}

/* ---- reflector.c ---- */

/* timeout_ns: until something else happens; 0: not ours to say. */
void pl_reflector_set_state(struct pl_reflector *r, enum pl_reflector_state state,
                            int64_t timeout_ns);
void pl_reflector_note(struct pl_reflector *r, const char *message, const struct pl_err *err);
/* The trouble is over. */
void pl_reflector_works(struct pl_reflector *r);
/* Whatever was under way has ended: nobody points at us any more. */
void pl_reflector_end_soon(struct pl_reflector *r);
/* One backoff for both loops (83-85). */
void pl_reflector_pause(struct pl_reflector *r, bool watch, int64_t at_least_ns);

/* ---- reflector_list.c ---- */

void pl_reflector_list(struct pl_reflector *r);
void pl_reflector_send_list(struct pl_reflector *r, struct pl_call *call, pl_answer_fn done);
void pl_reflector_drop_pages(struct pl_reflector *r);

/* ---- reflector_watch.c ---- */

void pl_reflector_watch(struct pl_reflector *r);
void pl_reflector_watch_failed(struct pl_reflector *r, const struct pl_err *err);
/* The server lost history that we have seen. */
void pl_reflector_went_back(struct pl_reflector *r);

/* ---- reflector_version.c ---- */

/* Before a watch from a version that is doubtful. */
void pl_reflector_ask_version(struct pl_reflector *r);

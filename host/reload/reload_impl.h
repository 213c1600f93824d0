/* The inside of a reload, shared by reload.c (an attempt's way and its end, life), reload_disk.c
 * (the scripts' files) and reload_switch.c (which generation runs, and the way back). */
#pragma once

#include "reload/endings.h"
#include "reload/guard.h"
#include "reload/look.h"
#include "reload/reload.h"
#include "reload/reload_state.h"
#include "net/work.h"

struct pl_reload {
    struct pl_reload_options o;
    struct pl_reload_state state;
    struct pl_files *files;  /* NULL: --no-reload */
    bool said_unwatched;     /* that a file cannot be watched */
    struct pl_work *looking; /* the disk is compared; NULL: it is not */
    struct pl_wait disk;     /* while it is */
    struct {
        struct pl_buf text;
        struct pl_err err;
        struct pl_origin *origin; /* counted; NULL unless err has a code */
    } config;                     /* --config, as the last look found it */
    struct pl_generation *current;
    struct pl_generation *good; /* the one before, while the guard is on; NULL: none */
    struct pl_generation *next; /* is loading or preparing; NULL: none */
    struct pl_err wrong;        /* with it, or what was to be it; code 0: nothing yet */
    struct pl_origin *refused;  /* counted: what was tried last and does not run; NULL: none */
    struct pl_endings endings;
    uint64_t numbers; /* given out */
    bool stopped;
    const char *why;
    int64_t began_ns, since_ns, refused_ns;
    char *refusal;                                      /* owned */
    struct pl_origin *rolled_back[PL_LOOK_ROLLED_BACK]; /* counted: are not tried again */
    size_t rolled_back_count;
    struct pl_guard guard;
    char *failure; /* owned: the guard's first */
    struct pl_timer guard_end, step;
    struct pl_list waits, guarded_waits;
    struct pl_series *results[4], *seconds;
    void (*before_switch)(void *arg);
    void *before_switch_arg;
    void (*hear)(void *arg, const struct pl_reload_news *news); /* NULL: nobody listens */
    void *hear_arg;
};

/* ---- reload.c ---- */

struct pl_timers *pl_reload_timers(const struct pl_reload *reload);
int64_t pl_reload_wall(const struct pl_reload *reload);
bool pl_reload_is_stopping(const struct pl_reload *reload);
/* Something has happened: the state says what follows. */
void pl_reload_tell(struct pl_reload *reload, enum pl_reload_event event);
/* Each of struct pl_reload_wait; the list is empty then. */
void pl_reload_tell_waits(struct pl_list *waits, enum pl_reload_result result, const char *message);
/* An Event of the host's own pod; the log has it anyway. */
void pl_reload_say(struct pl_reload *reload, bool warning, const char *reason, const char *detail);
/* To whoever listens. */
void pl_reload_tell_news(struct pl_reload *reload, enum pl_reload_news_kind kind,
                         struct pl_slice text);
/* A reference is taken; NULL: nothing was refused. */
void pl_reload_set_refused(struct pl_reload *reload, struct pl_origin *origin);
void pl_reload_forget_refusal(struct pl_reload *reload);
/* A script has read another file. */
void pl_reload_on_read(void *reload);

/* ---- reload_disk.c: effects of the state, and what follows them ---- */

/* A reference; NULL of NULL. */
struct pl_origin *pl_reload_ref_origin(struct pl_origin *origin);
void pl_reload_on_event(void *reload, const char *path);
void pl_reload_look(void *reload);
void pl_reload_check(void *reload);

/* ---- reload_switch.c ---- */

/* This generation, from now on; changed: pl_generation_take_over's. */
void pl_reload_run(struct pl_reload *reload, struct pl_generation *generation,
                   struct pl_buf *changed);
/* pl_generation_options.ran: the guard's eyes. */
void pl_reload_on_ran(void *reload, struct pl_generation *generation, const struct pl_ran *ran);
/* The state's effect. */
void pl_reload_apply(void *reload);

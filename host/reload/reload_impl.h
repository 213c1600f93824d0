/* The internals of a reload, shared by reload.c (an attempt, its end, the life cycle),
 * reload_disk.c (the scripts' files) and reload_switch.c (the running generation, and the
 * rollback). I/O thread. */
#pragma once

#include "net/blocking_work.h"
#include "reload/disk_scan.h"
#include "reload/endings.h"
#include "reload/guard.h"
#include "reload/reload.h"
#include "reload/reload_state.h"

struct pl_reload {
    struct pl_reload_options o;
    struct pl_reload_state state;
    struct pl_files *files;           /* NULL: --no-reload */
    bool said_unwatched;              /* an unwatchable file was logged */
    struct pl_blocking_work *looking; /* the look under way; NULL: none */
    struct pl_wait disk;              /* the wait for it */
    struct {
        struct pl_buf text;
        struct pl_err err;
        struct pl_origin *origin; /* counted; NULL unless err has a code */
    } config;                     /* of --config, from the last look */
    struct pl_generation *current;
    struct pl_generation *good; /* the previous one, during the guard; NULL: none */
    struct pl_generation *next; /* loading or preparing; NULL: none */
    struct pl_err wrong;        /* its error; code 0: none so far */
    struct pl_origin *refused;  /* counted: the last attempt if it does not run; NULL: none */
    struct pl_endings endings;
    uint64_t numbers; /* last assigned number */
    bool stopped;
    const char *why;
    int64_t began_ns, since_ns, refused_ns;
    char *refusal;                                           /* owned */
    struct pl_origin *rolled_back[PL_DISK_SCAN_ROLLED_BACK]; /* counted: not retried */
    size_t rolled_back_count;
    struct pl_guard guard;
    char *failure; /* owned: the first failure during the guard */
    struct pl_timer guard_end, step;
    struct pl_list waits, guarded_waits;
    struct pl_series *results[4], *seconds;
    void (*before_switch)(void *arg);
    void *before_switch_arg;
    void (*hear)(void *arg, const struct pl_reload_news *news); /* NULL: none */
    void *hear_arg;
};

/* ---- reload.c ---- */

/* The loop's timers, borrowed. */
struct pl_timers *pl_reload_timers(const struct pl_reload *reload);
int64_t pl_reload_wall(const struct pl_reload *reload);
bool pl_reload_is_stopping(const struct pl_reload *reload);
/* An event has occurred: the state decides what follows. */
void pl_reload_tell(struct pl_reload *reload, enum pl_reload_event event);
/* Calls each struct pl_reload_wait; the list is empty afterwards. */
void pl_reload_tell_waits(struct pl_list *waits, enum pl_reload_result result, const char *message);
/* Creates an Event on the host's own pod; the log has it in any case. */
void pl_reload_say(struct pl_reload *reload, bool warning, const char *reason, const char *detail);
/* Calls the listener. */
void pl_reload_tell_news(struct pl_reload *reload, enum pl_reload_news_kind kind,
                         struct pl_slice text);
/* A reference is taken; NULL: none was refused. */
void pl_reload_set_refused(struct pl_reload *reload, struct pl_origin *origin);
void pl_reload_forget_refusal(struct pl_reload *reload);
/* A script has read another file. */
void pl_reload_on_read(void *reload);

/* ---- reload_disk.c: effects of the state, and what follows them ---- */

/* Returns a new reference; NULL for NULL. */
struct pl_origin *pl_reload_ref_origin(struct pl_origin *origin);
void pl_reload_on_event(void *reload, const char *path);
void pl_reload_look(void *reload);
void pl_reload_check(void *reload);

/* ---- reload_switch.c ---- */

/* Runs this generation from now on; changed: see pl_generation_take_over. */
void pl_reload_run(struct pl_reload *reload, struct pl_generation *generation,
                   struct pl_buf *changed);
/* pl_generation_options.ran: for the guard. */
void pl_reload_on_ran(void *reload, struct pl_generation *generation, const struct pl_ran *ran);
/* An effect of the state. */
void pl_reload_apply(void *reload);

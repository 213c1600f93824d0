/* The points at which something else could happen in a world: what a disturbance can be hung on.
 *
 * A world asks its chooser at each of them, on its one thread, before it goes on. Without a
 * chooser, and for an act of zeros, it goes on undisturbed. A point is named by who is at it and
 * what it does, never by a number of all points, so that a plan survives an edit of the script.
 * Whoever answers must answer by the point alone: a world that is asked the same is to go the same
 * way.
 *
 *   REQUEST   a request is about to leave the host; nothing of it has happened
 *   APPLIED   the server has done it; the host knows nothing of it yet
 *   ANSWERED  the host is about to be given the answer
 *   EVENT     an event of a watch is about to be given to the host
 *   WAIT      a run is about to wait for something that is no request of the API
 *   PICK      several things can be next: `count` of them, named by pl_world_candidate */
#pragma once

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pl_point_kind {
    PL_POINT_REQUEST,
    PL_POINT_APPLIED,
    PL_POINT_ANSWERED,
    PL_POINT_EVENT,
    PL_POINT_WAIT,
    PL_POINT_PICK,
};

/* Texts are borrowed for the call; "" where there is none, never NULL. */
struct pl_point {
    enum pl_point_kind kind;
    const char *host;        /* "main", or a replica's name */
    const char *controller;  /* "": what the host does for itself (lists, watches, the Lease) */
    const char *key;         /* "default/blog" */
    unsigned run;            /* the n-th run of that key since pl_world_mark, from 1; 0: no run */
    unsigned call;           /* the n-th point of its kind in that run, from 1 */
    const char *verb;        /* "create", "list", "watch"...; WAIT: "sleep", "http", "sync"...;
                                EVENT: "ADDED", "MODIFIED", "DELETED", "BOOKMARK" */
    const char *object;      /* "apps/v1/deployments default/blog", as paths of the API have it */
    const char *subresource; /* "status" */
    bool writes;             /* the verb changes something, and it is no dry run */
    bool versioned;          /* it carries a resourceVersion, so that a conflict is possible */
    int status;              /* APPLIED, ANSWERED: what the server said; else 0 */
    int count;               /* PICK: of candidates; else 0 */
};

enum pl_act {
    PL_ACT_GO,     /* undisturbed */
    PL_ACT_CRASH,  /* the host's process ends here */
    PL_ACT_REFUSE, /* REQUEST: not done, answered with status and reason; status 0: no connection */
    PL_ACT_LOSE,   /* REQUEST, APPLIED: done, and the connection ends without an answer */
    PL_ACT_LATER,  /* it happens delay_ns later; everything else goes on */
    PL_ACT_CUT,    /* EVENT: the watch ends here, and this event with it */
    PL_ACT_PICK,   /* PICK: take candidate `pick` (0 is the undisturbed one) */
};

struct pl_disturbance {
    enum pl_act act;
    int status;         /* REFUSE */
    const char *reason; /* REFUSE: of the Status; NULL: what belongs to the status */
    int64_t delay_ns;   /* LATER */
    int pick;           /* PICK */
};

struct pl_chooser {
    /* out is all zeros. */
    void (*at)(void *arg, const struct pl_point *point, struct pl_disturbance *out);
    void *arg;
};

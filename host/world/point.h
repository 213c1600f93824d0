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
 *   RAN       a run has ended; nothing can be disturbed here
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
    PL_POINT_RAN,
    PL_POINT_PICK,
};

/* Texts are borrowed for the call; "" where there is none, never NULL. */
struct pl_point {
    enum pl_point_kind kind;
    const char *host;        /* "main", or a replica's name */
    const char *controller;  /* "": what the host does for itself (lists, watches, the Lease) */
    const char *key;         /* "default/blog" */
    const char *run_id;      /* the same for all that one run asks */
    const char *line;        /* "main.lua:44": of the script that waits for it */
    const char *api_kind;    /* "apps/v1/Deployment", as the script has it */
    const char *name;        /* REQUEST: of what a create makes; "" where the server picks it */
    const char *version;     /* EVENT: of its object */
    const char *message;     /* RAN: the error; "" when it went well */
    bool by_script;          /* RAN: the error is the script's own mistake */
    struct pl_slice body;    /* REQUEST; APPLIED: the answer */
    uint64_t call_id;        /* the same at all points of one request of a host */
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
    PL_ACT_STALE,  /* REQUEST of a list: answered as it was at the version in `reason` */
};

struct pl_disturbance {
    enum pl_act act;
    int status;         /* REFUSE */
    const char *reason; /* REFUSE: of the Status; NULL: what belongs to the status. STALE: the
                         * version. Borrowed until the next point. */
    int64_t delay_ns;   /* LATER */
    int pick;           /* PICK */
};

struct pl_chooser {
    /* out is all zeros. */
    void (*at)(void *arg, const struct pl_point *point, struct pl_disturbance *out);
    /* May events of watches of "apps/v1/deployments" come now? NULL: they may. */
    bool (*is_held)(void *arg, const char *resource);
    void *arg;
};

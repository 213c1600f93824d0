/* The points where something else could happen in a world: disturbances are attached to them.
 *
 * A world asks its chooser at each point, on its only thread, before it continues. Without a
 * chooser, or with a zeroed act, it continues undisturbed. A point is identified by its actor and
 * its action, never by a global number, so that a plan survives an edit of the script. An answer
 * must depend only on the point, so that the same world behaves the same again.
 *
 *   REQUEST   a request is about to leave the host; nothing has been done yet
 *   APPLIED   the server, or an external one, has done it; the host does not know it yet
 *   ANSWERED  the host is about to get the answer
 *   EVENT     the host is about to get an event of a watch
 *   WAIT      a run is about to wait for something other than a request of the API
 *   RAN       a run has ended; nothing can be disturbed here
 *   FAULT     a predicate or an index function has raised; nothing can be disturbed here
 *   PICK      several things can be next: `count` of them, named by `candidates` */
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
    PL_POINT_FAULT,
    PL_POINT_PICK,
};

/* Texts are borrowed for the call; "" where there is none, never NULL. */
struct pl_point {
    enum pl_point_kind kind;
    const char *host;        /* "main", or a replica's name */
    const char *controller;  /* "": requests of the host itself (lists, watches, the Lease) */
    const char *key;         /* "default/blog" */
    const char *run_id;      /* the same for all requests of one run */
    const char *line;        /* "main.lua:44": the script's line that waits; RAN, FAULT: the
                                traceback of the error */
    const char *api_kind;    /* "apps/v1/Deployment", as in the script; "http": the method */
    const char *name;        /* REQUEST: of a created object; "" if the server chooses it */
    const char *version;     /* EVENT: of its object */
    const char *message;     /* RAN, FAULT: the error; "" for success */
    bool by_script;          /* RAN: the error is the script's own */
    bool delayed;            /* RAN: it asked to run again later */
    struct pl_slice body;    /* REQUEST; APPLIED: the answer */
    uint64_t call_id;        /* the same at all points of one request of a host */
    bool by_run;             /* REQUEST, APPLIED, ANSWERED: a run sent it, not the host itself */
    const char *verb;        /* "create", "list", "watch"...; "http": to an external server; WAIT:
                                "sleep", "sync"...; EVENT: "ADDED", "MODIFIED", "DELETED",
                                "BOOKMARK" */
    const char *object;      /* "apps/v1/deployments default/blog", as paths of the API have it;
                                "http": the URL, in which spaces and commas are escaped */
    const char *subresource; /* "status" */
    bool writes;             /* the verb changes something, and the request is not a dry run */
    bool versioned;          /* it carries a resourceVersion, so that a conflict is possible */
    int status;              /* APPLIED, ANSWERED: the server's status; else 0 */
    const char *const
        *candidates; /* PICK: "controller key", the undisturbed one first; else NULL */
    int count;       /* PICK: their number, at least 2; else 0 */
};

enum pl_act {
    PL_ACT_GO,     /* undisturbed */
    PL_ACT_CRASH,  /* the host's process ends here */
    PL_ACT_REFUSE, /* REQUEST: not done, answered with status and reason; status 0: no connection */
    PL_ACT_LOSE,   /* REQUEST, APPLIED: done, but the connection ends without an answer */
    PL_ACT_LATER,  /* it happens delay_ns later; everything else continues */
    PL_ACT_CUT,    /* EVENT: the watch ends here, and this event with it */
    PL_ACT_PICK,   /* PICK: take candidate `pick` (0 is the undisturbed one) */
    PL_ACT_STALE,  /* REQUEST of a list: answered with the state at the version in `reason` */
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
    /* out is zeroed. */
    void (*at)(void *arg, const struct pl_point *point, struct pl_disturbance *out);
    /* Whether events of watches of "apps/v1/deployments" may come now. NULL: yes. */
    bool (*is_held)(void *arg, const char *resource);
    void *arg;
};

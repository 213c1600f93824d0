/* Shared by the files of the webhook server. Private to host/webhook. I/O thread. */
#pragma once

#include "base/list.h"
#include "base/map.h"
#include "base/timer.h"
#include "control/hook_call.h"
#include "net/http_server.h"
#include "webhook/hooks.h"
#include "webhook/review.h"

/* One registration: its edition, and its requests under way. */
struct pl_hook_set {
    int refs;                   /* of the server while it is current, and of each request */
    struct pl_edition *edition; /* counted */
    uint64_t serial;            /* number of the switch that set it */
    int running;
    struct pl_list waiting; /* requests beyond max_concurrent, oldest first */
};

/* One webhook: a kind of a registration. Counters stay when its handler is replaced. */
struct pl_hook_route {
    char *key;                       /* owned: its path, of a conversion "/convert group/Kind" */
    char *path;                      /* owned: its name in metrics */
    struct pl_hook_set *set;         /* counted; NULL: no script handles it any more */
    const struct pl_hook_kind *kind; /* of the set's spec */
    struct pl_hook_route *next;      /* in order of declaration */
    struct {
        struct pl_series *in_flight, *latency, *denied; /* the registry's */
        struct pl_series *answered;                     /* with 200; NULL: none yet */
    } shown;
    uint64_t requests, denied, errors;
    int in_flight;
    bool failing;           /* its last run failed */
    uint64_t failing_since; /* the switch in which it failed */
    char *error;            /* owned: the last error that was logged in full */
    int64_t error_ns;       /* the time of that log line */
    int64_t repeated;       /* repetitions of that error since then */
};

struct pl_hooks {
    struct pl_hooks_options o;
    struct pl_timers *timers;
    struct pl_map routes; /* key -> struct pl_hook_route, owned */
    struct pl_hook_route *first;
    struct pl_server *server; /* NULL: not listening */
    uint64_t switches;
    struct pl_list requests;  /* requests that have a run or wait for one */
    struct pl_metric *totals; /* requests by path and code */
    struct pl_metric *in_flight, *latency, *denied;
    struct pl_timer drain;
    bool draining, drained, ending;
    void (*stopped)(void *arg);
    void *stopped_arg;
};

/* ---- hooks.c ---- */

void pl_hook_set_unref(struct pl_hook_set *set); /* accepts NULL */
/* A request has ended: checks whether a stop can finish. */
void pl_hooks_check_end(struct pl_hooks *hooks);
/* The route of a path, which belongs to the server; NULL: no handler has it. */
struct pl_hook_route *pl_hooks_find(const struct pl_hooks *hooks, struct pl_slice path);
/* The route that converts objects of the kind, as pl_hooks_find. */
struct pl_hook_route *pl_hooks_find_convert(const struct pl_hooks *hooks,
                                            const struct pl_kind *kind);
bool pl_hooks_converts(const struct pl_hooks *hooks);

/* ---- request.c ---- */

/* A whole request has arrived. */
void pl_hook_request(void *hooks, struct pl_exchange *exchange);

/* A transport without sockets: calls deliver a host's requests to an embedded API server, and its
 * answers back, each in a separate step on the host's stepped loop. Only explicit delays take time.
 * One thread. */
#pragma once

#include "apiserver/api.h"
#include "net/loop.h"
#include "world/point.h"
#include "world/point_details.h"

struct pl_wire;

/* One request that the server has answered, or that was refused before it reached the server.
 * Borrowed. */
struct pl_wire_seen {
    const char *host, *method, *verb;
    struct pl_slice path, query, body;
    int status;             /* 0: the connection ended */
    bool lost;              /* done, but the answer was lost */
    struct pl_slice answer; /* unless it is a stream */
};

struct pl_wire_options {
    struct pl_loop *loop; /* stepped; borrowed for life */
    struct pl_api *api;   /* borrowed for life */
    const char *host;     /* its name; borrowed for life */
    /* Borrowed for life; NULL: no disturbances. */
    const struct pl_chooser *chooser;
    /* The host has to end now; pending requests go no further. */
    void (*crash)(void *arg);
    void *crash_arg;
    void (*seen)(void *arg, const struct pl_wire_seen *seen);
    /* A user's rule for this request: 0: none; else like a disturbance of a REQUEST. */
    bool (*rule)(void *arg, const struct pl_point *point, struct pl_disturbance *out);
    /* The run that waits for a request; may be NULL. */
    pl_who_fn who;
    void *who_arg;
    /* Whether the events of this watch may come now. resource: "apps/v1/deployments". */
    bool (*is_held)(void *arg, const char *resource);
    void *arg;
};

/* The caller owns the wire. The options are copied. */
struct pl_wire *pl_wire_create(const struct pl_wire_options *options);
/* Ends all calls; each on_done is called before it returns. */
void pl_wire_destroy(struct pl_wire *wire);
/* The server's side of all calls ends; the host's side is told nothing and must not run any more.
 * Nothing is freed. */
void pl_wire_abandon(struct pl_wire *wire);
struct pl_transport pl_wire_transport(struct pl_wire *wire);
/* From now on nothing is sent or received: every request ends as refused. */
void pl_wire_cut(struct pl_wire *wire);
/* The result of is_held may have changed. */
void pl_wire_look(struct pl_wire *wire);
/* The number of unanswered requests, without watches. */
size_t pl_wire_open(const struct pl_wire *wire);
/* True when a watch has events that its host has not received and that are not held. */
bool pl_wire_is_behind(const struct pl_wire *wire);
/* Ends every open watch of the resource with the error that its version is too old. Its host does
 * not receive the events that were pending. */
void pl_wire_expire_watches(struct pl_wire *wire, const char *resource);

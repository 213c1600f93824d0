/* A transport without sockets: a host's requests are handed to an embedded API server by calls, and
 * its answers back, each in a step of its own on the host's stepped loop. Nothing takes time but
 * what is told to. One thread. */
#pragma once

#include "apiserver/api.h"
#include "net/loop.h"
#include "world/about.h"
#include "world/point.h"

struct pl_wire;

/* One request that the server has answered, or refused before it reached it. Borrowed. */
struct pl_wire_seen {
    const char *host, *method, *verb;
    struct pl_slice path, query, body;
    int status;             /* 0: the connection ended */
    bool lost;              /* done, though nobody was told */
    struct pl_slice answer; /* of what is no stream */
};

struct pl_wire_options {
    struct pl_loop *loop; /* stepped; borrowed for life */
    struct pl_api *api;   /* borrowed for life */
    const char *host;     /* its name; borrowed for life */
    /* Borrowed for life; NULL: undisturbed. */
    const struct pl_chooser *chooser;
    /* The host is to end now; what is asked goes no further. */
    void (*crash)(void *arg);
    void *crash_arg;
    void (*seen)(void *arg, const struct pl_wire_seen *seen);
    /* A user's rule for this request: 0: none; else as a disturbance of a REQUEST. */
    bool (*rule)(void *arg, const struct pl_point *point, struct pl_disturbance *out);
    /* Whose run waits for a request; NULL: nobody knows. */
    pl_who_fn who;
    void *who_arg;
    /* May the events of this watch come now? resource: "apps/v1/deployments". */
    bool (*is_held)(void *arg, const char *resource);
    void *arg;
};

struct pl_wire *pl_wire_create(const struct pl_wire_options *options);
/* What is under way ends; each on_done comes before it returns. */
void pl_wire_destroy(struct pl_wire *wire);
struct pl_transport pl_wire_transport(struct pl_wire *wire);
/* From now on nothing leaves and nothing comes: every request ends as refused. */
void pl_wire_cut(struct pl_wire *wire);
/* What is_held says may have changed. */
void pl_wire_look(struct pl_wire *wire);
/* Requests that are no watches and are not answered. */
size_t pl_wire_open(const struct pl_wire *wire);
/* Events that a watch has and its host has not, and that are not held. */
bool pl_wire_is_behind(const struct pl_wire *wire);
/* Every open watch of the resource ends with the error that its version is too old, in place of the
 * events that its host has not had. */
void pl_wire_expire_watches(struct pl_wire *wire, const char *resource);

/* The admin socket, over which commands such as `perilune status`, `why` and `reload` talk to a
 * running host. It is a Unix socket of mode 0600. A request is one line of JSON; an answer is one
 * or more lines:
 *
 *   {"v":1,"command":"why","kind":"v1/ConfigMap","key":"default/a"}
 *   {"v":1,"ok":true,"result":{...}}              or {"v":1,"ok":false,"error":"..."}
 *
 * with "more":true on every line except the last. An unknown version gives an error with the host's
 * version. Loop's thread. */
#pragma once

#include "control/manager.h"
#include "net/loop.h"
#include "value/build.h"

#define PL_ADMIN_VERSION 1

struct pl_admin;
struct pl_line_client;

struct pl_shard_key_count;
struct pl_admin_options {
    struct pl_loop *loop; /* borrowed for life, like the following fields */
    struct pl_cluster *cluster;
    struct pl_manager *manager;
    struct pl_shard_key_count *key_count; /* NULL: without shards */
    const char *server;                   /* the API server's URL, for status */
    const char *path; /* path of the socket; NULL: the default (admin/path.h); "0": none */
};

/* NULL and err when the socket cannot be created. The caller owns the result. */
struct pl_admin *pl_admin_create(const struct pl_admin_options *options, struct pl_err *err);
/* Cuts every client; unanswered calls stay valid until they are answered. Accepts NULL. */
void pl_admin_destroy(struct pl_admin *admin);

/* ---- requests inside the process ---- */

/* Receives the answer. Both functions are called on the loop's thread, inside pl_admin_run or
 * later, even if the admin is destroyed meanwhile. */
struct pl_admin_ear {
    /* A line as the socket sends it, without its end; ok: a result, and no error. */
    void (*line)(void *arg, struct pl_slice line, bool ok);
    void (*ended)(void *arg); /* once, after the last line */
    void *arg;
};
/* Runs a command like a line of the socket: request has "v" and "command". Takes the request. The
 * ear is copied. Not for commands that are tied to a connection. */
void pl_admin_run(struct pl_admin *admin, struct pl_doc *request, const struct pl_admin_ear *ear);

/* ---- further commands, and further members of status ---- */

/* One request. It is answered exactly once with reply or fail, now or later. */
struct pl_admin_call;

struct pl_admin_command {
    const char *name;
    void (*run)(void *arg, struct pl_admin_call *call);
};
/* Both are borrowed for life. */
void pl_admin_add(struct pl_admin *admin, const struct pl_admin_command *command, void *arg);
/* Adds the commands of every host: status, why, queue, pause, resume, keys, calls. */
void pl_admin_add_commands(struct pl_admin *admin);
/* Called while status is built, to add members to the object under construction. */
void pl_admin_add_status(struct pl_admin *admin, void (*add)(void *arg, struct pl_build *b),
                         void *arg);

/* The request, an object. */
struct pl_node pl_admin_request(const struct pl_admin_call *call);
/* A text member of the request, or NULL when it has none; it lives as long as the call. */
const char *pl_admin_text(struct pl_admin_call *call, const char *name);
/* The options of pl_admin_create. */
const struct pl_admin_options *pl_admin_host(const struct pl_admin_call *call);
/* Takes the document. */
void pl_admin_reply(struct pl_admin_call *call, struct pl_doc *result);
/* Sends a line of the answer that is not the last one. Takes the document. */
void pl_admin_more(struct pl_admin_call *call, struct pl_doc *result);
void pl_admin_fail(struct pl_admin_call *call, const char *fmt, ...) PL_PRINTF(2, 3);
/* Called when the client disconnects before the answer; the call still has to be answered, to no
 * effect. */
void pl_admin_on_gone(struct pl_admin_call *call, void (*gone)(void *arg), void *arg);

/* State that lives as long as the connection of its request; the owner embeds it. */
struct pl_admin_tie {
    struct pl_link link;           /* private, like the following fields */
    struct pl_line_client *client; /* NULL: not tied */
    void (*ended)(struct pl_admin_tie *tie);
};
/* Call it inside the command's run. The client may then be idle for idle_ns. ended is called once,
 * when its connection has ended. */
void pl_admin_tie(struct pl_admin_call *call, struct pl_admin_tie *tie, int64_t idle_ns,
                  void (*ended)(struct pl_admin_tie *tie));
/* ended is not called any more. Idempotent. */
void pl_admin_untie(struct pl_admin_tie *tie);
/* True when the call came over the connection of the tie. */
bool pl_admin_is_tied(const struct pl_admin_tie *tie, const struct pl_admin_call *call);

/* ---- for the commands' files ---- */

/* A member that is a time in seconds, to the millisecond. */
void pl_admin_build_seconds(struct pl_build *b, const char *key, int64_t ns);
/* Whether the text means this kind: "v1/ConfigMap", in any version of its group, or only the kind's
 * name, in any case. */
bool pl_admin_is_kind(const struct pl_kind *kind, const char *text);

/* The controller of that name. NULL and ENOTFOUND with the nearest name when there is none. */
struct pl_controller *pl_admin_find_controller(const struct pl_admin_call *call, const char *name,
                                               struct pl_err *err);

void pl_admin_status(void *arg, struct pl_admin_call *call);
void pl_admin_why(void *arg, struct pl_admin_call *call);
void pl_admin_queue(void *arg, struct pl_admin_call *call);
/* Adds "calls", also for status. */
void pl_admin_build_calls(const struct pl_admin_call *call, struct pl_build *b);
void pl_admin_calls(void *arg, struct pl_admin_call *call);
void pl_admin_keys(void *arg, struct pl_admin_call *call);
void pl_admin_pause(void *arg, struct pl_admin_call *call);
struct pl_reload;
/* The command "reload", and the scripts in status. */
struct pl_shadow;
void pl_admin_add_shadow(struct pl_admin *admin, struct pl_shadow *shadow);
void pl_admin_add_reload(struct pl_admin *admin, struct pl_reload *reload);
/* The command "tune". The tuner outlives the admin's calls; the caller destroys both. */
struct pl_tuner;
struct pl_tuner *pl_admin_add_tune(struct pl_admin *admin, struct pl_timers *timers);
void pl_tuner_destroy(struct pl_tuner *tuner);
#define PL_PROFILE_SECONDS_MAX 600
/* The command "profile", for the scripts that the watchdog watches. Ownership as with the tuner. */
struct pl_profiler;
struct pl_watchdog;
struct pl_profiler *pl_admin_add_profile(struct pl_admin *admin, struct pl_timers *timers,
                                         struct pl_watchdog *dog);
void pl_profiler_destroy(struct pl_profiler *profiler);
/* Members of status that other files add. */
void pl_admin_build_more(const struct pl_admin_call *call, struct pl_build *b);

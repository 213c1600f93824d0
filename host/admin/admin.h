/* The admin socket: what `perilune status`, `why`, `queue`, `pause`, `resume`, `reload` and `repl`
 * talk to. A Unix socket of mode 0600; a request is one line of JSON, the answer one or more:
 *
 *   {"v":1,"command":"why","kind":"v1/ConfigMap","key":"default/a"}
 *   {"v":1,"ok":true,"result":{...}}              or {"v":1,"ok":false,"error":"..."}
 *
 * with "more":true on every line but the last. A version the host does not know is an error that
 * names its own. Loop's thread. */
#pragma once

#include "control/manager.h"
#include "net/loop.h"
#include "value/build.h"

#define PL_ADMIN_VERSION 1

struct pl_admin;
struct pl_line_client;

struct pl_tally;
struct pl_admin_options {
    struct pl_loop *loop; /* borrowed for life, as is what follows */
    struct pl_cluster *cluster;
    struct pl_manager *manager;
    struct pl_tally *tally; /* NULL: without shards */
    const char *server;     /* the API server's URL, for status */
    const char *path;       /* of the socket; NULL: the default (admin/path.h); "0": none */
};

/* NULL and err when the socket can't be made. */
struct pl_admin *pl_admin_create(const struct pl_admin_options *options, struct pl_err *err);
/* Cuts every client; calls that are not answered yet stay valid until they are. Accepts NULL. */
void pl_admin_destroy(struct pl_admin *admin);

/* ---- asking from inside the process ---- */

/* Hears the answer. Both are called on the loop's thread, from inside pl_admin_run or later, also
 * when the admin is gone meanwhile. */
struct pl_admin_ear {
    void (*line)(void *arg, struct pl_slice line); /* as the socket sends it, without its end */
    void (*ended)(void *arg);                      /* once, after the last line */
    void *arg;
};
/* Runs a command as a line of the socket does: request has "v" and "command". Takes the request.
 * The ear is copied. Not for commands that are tied to a connection. */
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
/* Those that every host answers: status, why, queue, pause, resume, keys, calls. */
void pl_admin_add_commands(struct pl_admin *admin);
/* Called while status is built, to add members to the object that is being written. */
void pl_admin_add_status(struct pl_admin *admin, void (*add)(void *arg, struct pl_build *b),
                         void *arg);

/* The request, an object. */
struct pl_node pl_admin_request(const struct pl_admin_call *call);
/* A text member of the request, or NULL when it has none; lives as long as the call. */
const char *pl_admin_text(struct pl_admin_call *call, const char *name);
const struct pl_admin_options *pl_admin_host(const struct pl_admin_call *call);
/* Takes the document. */
void pl_admin_reply(struct pl_admin_call *call, struct pl_doc *result);
/* A line of the answer that is not the last one. Takes the document. */
void pl_admin_more(struct pl_admin_call *call, struct pl_doc *result);
void pl_admin_fail(struct pl_admin_call *call, const char *fmt, ...) PL_PRINTF(2, 3);
/* Called when the client goes before it is answered; the call still has to be answered, in vain. */
void pl_admin_on_gone(struct pl_admin_call *call, void (*gone)(void *arg), void *arg);

/* What lives as long as the connection that asked for it; the owner embeds it. */
struct pl_admin_tie {
    struct pl_link link;           /* private, as is the rest */
    struct pl_line_client *client; /* NULL: not tied */
    void (*ended)(struct pl_admin_tie *tie);
};
/* From inside the command's run. The client may be idle for idle_ns then. ended is called, once,
 * when its connection has ended. */
void pl_admin_tie(struct pl_admin_call *call, struct pl_admin_tie *tie, int64_t idle_ns,
                  void (*ended)(struct pl_admin_tie *tie));
/* ended is not called any more. Idempotent. */
void pl_admin_untie(struct pl_admin_tie *tie);
/* The call came over the connection that it is tied to. */
bool pl_admin_is_tied(const struct pl_admin_tie *tie, const struct pl_admin_call *call);

/* ---- for the commands' files ---- */

/* A member that is a time in seconds, to the millisecond. */
void pl_admin_build_seconds(struct pl_build *b, const char *key, int64_t ns);
/* Is that what somebody means by "v1/ConfigMap", in any version of its group, or by the kind's name
 * alone, in any case? */
bool pl_admin_is_kind(const struct pl_kind *kind, const char *text);

void pl_admin_status(void *arg, struct pl_admin_call *call);
void pl_admin_why(void *arg, struct pl_admin_call *call);
void pl_admin_queue(void *arg, struct pl_admin_call *call);
/* Adds "calls", for status, too. */
void pl_admin_build_calls(const struct pl_admin_call *call, struct pl_build *b);
void pl_admin_calls(void *arg, struct pl_admin_call *call);
void pl_admin_keys(void *arg, struct pl_admin_call *call);
void pl_admin_pause(void *arg, struct pl_admin_call *call);
struct pl_reload;
/* The command "reload", and what status says about the scripts. */
struct pl_shadow;
void pl_admin_add_shadow(struct pl_admin *admin, struct pl_shadow *shadow);
void pl_admin_add_reload(struct pl_admin *admin, struct pl_reload *reload);
/* The command "tune". The tuner outlives the admin's calls; both are to be destroyed. */
struct pl_tuner;
struct pl_tuner *pl_admin_add_tune(struct pl_admin *admin, struct pl_timers *timers);
void pl_tuner_destroy(struct pl_tuner *tuner);
/* The command "profile", of the scripts that the dog watches. As the tuner. */
struct pl_profiler;
struct pl_watchdog;
struct pl_profiler *pl_admin_add_profile(struct pl_admin *admin, struct pl_timers *timers,
                                         struct pl_watchdog *dog);
void pl_profiler_destroy(struct pl_profiler *profiler);
/* Members of status that others add. */
void pl_admin_build_more(const struct pl_admin_call *call, struct pl_build *b);

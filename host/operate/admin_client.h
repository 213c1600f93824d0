/* The client of the admin socket: asks a running host. Blocking; for commands. */
#pragma once

#include "base/buf.h"
#include "command/command.h"
#include "value/build.h"

struct pl_admin_client {
    int fd;
    struct pl_buf in;
};

/* Flags of every command that uses the socket. */
#define PL_ADMIN_FLAGS                                                                             \
    {.name = "admin-socket",                                                                       \
     .metavar = "PATH",                                                                            \
     .help = "the host's socket (default: the only one that exists)"},                             \
    {                                                                                              \
        .name = "pid", .type = PL_FLAG_INTEGER, .fallback = "0", .metavar = "PID",                 \
        .help = "process id of the host, if several run"                                           \
    }

/* Connects to the host that the flags name. */
PL_MUST_USE int pl_admin_connect(struct pl_admin_client *client, const struct pl_flags *flags,
                                 struct pl_err *err);
void pl_admin_disconnect(struct pl_admin_client *client);

/* The beginning of a request: {"v":1,"command":name; the caller adds members. */
struct pl_build *pl_admin_request_begin(const char *command);
/* Sends it; takes the builder. */
PL_MUST_USE int pl_admin_send(struct pl_admin_client *client, struct pl_build *request,
                              struct pl_err *err);
/* The next line of the answer: *result is counted; *more: another line follows. EAPI with the
 * host's message when it refused, ENETWORK when it disconnected. */
PL_MUST_USE int pl_admin_receive(struct pl_admin_client *client, struct pl_doc **result, bool *more,
                                 struct pl_err *err);
/* The whole answer, if it is one line; NULL and err otherwise. The caller owns a reference. Takes
 * the builder. */
struct pl_doc *pl_admin_ask(struct pl_admin_client *client, struct pl_build *request,
                            struct pl_err *err);

/* The same of the host that the flags name, over a connection of its own. */
struct pl_doc *pl_admin_ask_host(const struct pl_flags *flags, struct pl_build *request,
                                 struct pl_err *err);
/* Asks the host that the flags name one thing; appends its answer as JSON. */
PL_MUST_USE int pl_admin_ask_json(const struct pl_flags *flags, const char *command,
                                  struct pl_buf *answer, struct pl_err *err);

/* Prints "perilune NAME: message"; returns the exit code. */
PL_MUST_USE int pl_admin_failed(const struct pl_command *self, const struct pl_err *err);

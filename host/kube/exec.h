/* A command in a container over WebSocket: what goes to and comes from the API server once it has
 * switched protocols. Channels v5.channel.k8s.io, or v4 where the server chooses that. Knows no
 * socket and no request. Loop's thread. */
#pragma once

#include "base/buf.h"
#include "base/rand.h"
#include "net/http.h"

/* How the handshake's header names what is offered. */
#define PL_EXEC_PROTOCOLS "v5.channel.k8s.io, v4.channel.k8s.io"

struct pl_exec_result {
    struct pl_buf out, err; /* owned: stdout and stderr; whatever bytes they are */
    int code;               /* the command's exit code */
};

struct pl_exec_params {
    const char *key;       /* what the handshake was sent with; borrowed for the call */
    struct pl_slice input; /* stdin, sent at once; borrowed for the call. ptr NULL: none */
    size_t most;           /* bytes of stdout and stderr together */
    struct pl_rand *rand;  /* for masks; borrowed for life */
    void (*send)(void *arg, struct pl_slice bytes);
    void *arg;
};

struct pl_exec;

/* The server answered 101: NULL and err (ENETWORK "Protocol") when it switched to something else.
 */
struct pl_exec *pl_exec_create(const struct pl_exec_params *params,
                               const struct pl_http_response *response, struct pl_err *err);
/* Accepts NULL. */
void pl_exec_destroy(struct pl_exec *exec);
/* What the server says. Non-zero: what is wrong with it. ESYNTAX: it broke the protocol; ELIMIT:
 * more output than `most`; EAPI: the command did not run. */
PL_MUST_USE int pl_exec_feed(struct pl_exec *exec, struct pl_slice bytes, struct pl_err *err);
/* The command has ended, and its result is known; only the connection's end is missing. */
bool pl_exec_has_result(const struct pl_exec *exec);
/* The server has said that nothing more comes. */
bool pl_exec_is_closed(const struct pl_exec *exec);
/* The connection is over: the result, borrowed; NULL and err where the command's end was not told.
 */
const struct pl_exec_result *pl_exec_end(struct pl_exec *exec, struct pl_err *err);

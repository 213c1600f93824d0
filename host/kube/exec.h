/* A command in a container over WebSocket: the messages to and from the API server after the switch
 * of protocols. The protocol is v5.channel.k8s.io, or v4 if the server chooses it. It knows neither
 * sockets nor requests. Loop's thread. */
#pragma once

#include "base/buf.h"
#include "base/rand.h"
#include "net/http.h"

/* The offered protocols in the handshake's header. */
#define PL_EXEC_PROTOCOLS "v5.channel.k8s.io, v4.channel.k8s.io"

struct pl_exec_result {
    struct pl_buf out, err; /* owned: stdout and stderr as bytes */
    int code;               /* the command's exit code */
};

struct pl_exec_params {
    const char *key;       /* the key of the handshake; borrowed for the call */
    struct pl_slice input; /* stdin, sent at once; borrowed for the call. ptr NULL: none */
    size_t most;           /* limit of stdout and stderr together, in bytes */
    struct pl_rand *rand;  /* for masks; borrowed for life */
    void (*send)(void *arg, struct pl_slice bytes);
    void *arg;
};

struct pl_exec;

/* Begins after the server's 101. NULL and err (ENETWORK "Protocol") if it switched to something
 * else. The caller owns the result. */
struct pl_exec *pl_exec_create(const struct pl_exec_params *params,
                               const struct pl_http_response *response, struct pl_err *err);
/* Accepts NULL. */
void pl_exec_destroy(struct pl_exec *exec);
/* Takes bytes from the server. ESYNTAX: the server violated the protocol; ELIMIT: more output than
 * `most`; EAPI: the command did not run. */
PL_MUST_USE int pl_exec_feed(struct pl_exec *exec, struct pl_slice bytes, struct pl_err *err);
/* True if the command has ended and its result is known; the connection may still be open. */
bool pl_exec_has_result(const struct pl_exec *exec);
/* True if the server has announced the end of the connection. */
bool pl_exec_is_closed(const struct pl_exec *exec);
/* The connection has ended: the result, borrowed from the exec. NULL and err if the command's end
 * is not known. */
const struct pl_exec_result *pl_exec_end(struct pl_exec *exec, struct pl_err *err);

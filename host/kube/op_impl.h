/* The parts of an operation, only for op.c and op_exec.c. */
#pragma once

#include "kube/client_impl.h"
#include "kube/decode.h"
#include "kube/exec.h"
#include "net/websocket.h"

enum pl_op_state {
    OP_LIMITED,   /* waits for the client-side limit */
    OP_AWAITING,  /* waits until the client is configured */
    OP_SENT,      /* an attempt is under way */
    OP_DECODING,  /* its answer has arrived, but is not decoded yet */
    OP_HELD,      /* it has ended, but the page before it has not */
    OP_PAUSED,    /* waits until the next attempt */
    OP_FINISHING, /* err is to be reported */
};

/* The parameters of every attempt, and of every page of a list. */
struct pl_op_asked {
    enum pl_verb verb;
    int lane;
    bool cut_is_final; /* the caller handles a cut answer */
    bool large;
    bool (*may_send)(void *arg);
    void *may_send_arg;
    const struct pl_fence *fence;
    int64_t timeout_ns;
    bool exec;
    size_t most; /* of its output */
    struct pl_expected expected;
    struct pl_doc *(*each_item)(void *arg, struct pl_doc *item);
    void *each_item_arg;
    pl_answer_fn on_answer;
    void *arg;
};

struct pl_op {
    struct pl_link link;      /* in client->ops; first, for pl_client_destroy */
    struct pl_client *client; /* back-pointer */
    enum pl_op_state state;
    struct pl_op_asked asked;
    struct pl_wire wire;
    size_t server_len; /* of wire.url, which begins with it */
    const char *path;  /* in wire.url: shown as the owner of the wait */
    int64_t deadline_ns;
    struct pl_attempt *attempt; /* OP_SENT */
    struct pl_timer timer;      /* OP_AWAITING, OP_LIMITED, OP_PAUSED, OP_FINISHING */
    struct pl_wait wait;
    struct pl_decoding *decoding; /* of the attempt; NULL: none, or it was abandoned */
    struct pl_docs items;         /* of a list, so far */
    struct pl_buf warnings;       /* of the latest answer */
    struct pl_buf token;          /* token of the next page; empty: unknown */
    struct pl_op *front, *next;   /* the page before it, and the page after it, or NULL */
    int64_t retry_after_ms;       /* of the latest answer's header; -1: none */
    int retries;
    bool renewed;      /* the latest answer was 401, and the credentials have changed now */
    bool renewed_once; /* fresh credentials were used once after a 401 */
    bool fresh;        /* the next attempt must not reuse a connection */
    struct {           /* of a command */
        char key[PL_WS_KEY];
        struct pl_buf input; /* owned */
        bool has_input;
        struct pl_exec *run; /* owned; NULL: the server has not switched to WebSocket */
        char *path;          /* owned: shown in place of the URL, without the command */
    } exec;
    struct pl_err err;
};

/* Calls the owner at the next run of the timers, with op->err or an answer. */
void pl_op_finish_later(struct pl_op *op);

/* ---- op_exec.c ---- */

/* Adds the handshake of WebSocket to the request, and keeps the command's input. */
void pl_op_exec_prepare(struct pl_op *op, const struct pl_call *call);
void pl_op_exec_deinit(struct pl_op *op);
/* The server has switched to WebSocket. */
void pl_op_exec_begin(struct pl_op *op, const struct pl_http_response *response);
/* Bytes have come. Always 0: a failure ends the operation, later. */
int pl_op_exec_feed(struct pl_op *op, struct pl_slice piece);
/* The connection has ended; op->err: why, if it failed. */
void pl_op_exec_done(struct pl_op *op);

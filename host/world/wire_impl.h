/* The inside of a wire, shared by wire*.c, and by nobody else. */
#pragma once

#include "world/target.h"
#include "world/wire.h"

struct piece {
    struct pl_link link;
    size_t len;
    char text[];
};

struct wire_call {
    struct pl_link link; /* wire->calls */
    struct pl_wire *wire;
    const struct pl_http_ops *ops;
    void *arg;
    struct pl_http_request request; /* texts below */
    char *method, *url;
    char *query; /* owned: instead of the URL's; NULL: that */
    uint64_t id;
    struct pl_http_header *headers;
    struct pl_buf body;
    struct pl_target target;
    struct pl_task next;
    struct pl_timer later, deadline, silence;
    bool sent, canceled, host_done, server_done;
    bool lost;                 /* the answer goes nowhere */
    bool asked[PL_POINT_PICK]; /* the chooser, at that point of this call */
    /* what the server said */
    bool responded, is_stream, ended;
    int status;
    struct pl_http_header *answer_headers;
    size_t answer_header_count, received;
    struct pl_list pieces;
    size_t unread;
    void (*on_bytes)(void *arg, struct pl_slice bytes); /* of one that was upgraded */
    struct pl_buf said;                                 /* by the host, for on_bytes */
    void (*on_close)(void *arg);
    void *on_close_arg;
    void (*on_drained)(void *arg);
    struct pl_err err; /* why it ends; code 0: in order */
};

struct pl_wire {
    struct pl_wire_options o;
    struct pl_list calls;
    uint64_t started;
    void (*go_on)(struct pl_task *task); /* the next step of a call */
    bool cut, destroying;
};

static inline bool pl_wire_is_watch(const struct wire_call *call)
{
    return call->is_stream && call->on_bytes == NULL;
}

/* ---- wire_call.c ---- */

struct pl_timers *pl_wire_timers(const struct wire_call *call); /* borrowed */
void pl_wire_step_later(struct wire_call *call);
/* What the server has said and the host has not heard is forgotten. */
void pl_wire_drop_pieces(struct wire_call *call);
void pl_wire_free_when_over(struct wire_call *call);
/* The server need not say any more. */
void pl_wire_leave_server(struct wire_call *call);
/* Tells the host that the call is over; it may be freed. */
void pl_wire_finish(struct wire_call *call);
/* It ends a little later; the first reason counts. */
void pl_wire_end_with(struct wire_call *call, int code, const char *reason, const char *message);
void pl_wire_lose(struct wire_call *call); /* its connection */
/* Starts the time anew in which something has to be heard. */
void pl_wire_heard(struct wire_call *call);
void pl_wire_add_piece(struct wire_call *call, struct pl_slice text);
void pl_wire_tell_seen(struct wire_call *call, struct pl_slice answer);
/* The server's answer; self: the call. */
void pl_wire_reply(void *self, int status, const struct pl_http_header *headers, size_t count,
                   struct pl_slice body);
extern const struct pl_api_responder_ops pl_wire_responder;

/* ---- wire_points.c ---- */

/* Asks once at each point of a call. False: it does not go on now. */
bool pl_wire_passes(struct wire_call *call, enum pl_point_kind kind);

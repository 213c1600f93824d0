/* The internals of a wire, only for wire*.c. */
#pragma once

#include "world/target.h"
#include "world/wire.h"

struct wire_piece {
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
    char *query; /* owned: replaces the URL's; NULL: unchanged */
    uint64_t id;
    struct pl_http_header *headers;
    struct pl_buf body;
    struct pl_target target;
    struct pl_task next;
    struct pl_timer later, deadline, silence;
    bool sent, canceled, host_done, server_done;
    bool lost;                 /* the answer is dropped */
    bool lost_in_time;         /* and nobody notices it before the deadline */
    bool asked[PL_POINT_PICK]; /* the chooser was asked at that point of this call */
    bool by_run;               /* as in struct pl_point */
    /* the server's answer */
    bool responded, is_stream, ended;
    int status;
    struct pl_http_header *answer_headers;
    size_t answer_header_count, received;
    struct pl_list pieces;
    size_t unread;
    void (*on_bytes)(void *arg, struct pl_slice bytes); /* of an upgraded connection */
    struct pl_buf said;                                 /* bytes of the host for on_bytes */
    void (*on_close)(void *arg);
    void *on_close_arg;
    void (*on_drained)(void *arg);
    struct pl_err err; /* reason for the end; code 0: regular */
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
/* Drops the parts of the server's answer that the host has not received. */
void pl_wire_drop_pieces(struct wire_call *call);
void pl_wire_free_when_over(struct wire_call *call);
/* The server need not answer any more. */
void pl_wire_leave_server(struct wire_call *call);
/* Calls on_done of the host; may free the call. */
void pl_wire_finish(struct wire_call *call);
/* Ends the call a little later; the first reason counts. */
void pl_wire_end_with(struct wire_call *call, int code, const char *reason, const char *message);
void pl_wire_lose(struct wire_call *call); /* its connection */
/* Restarts the limit for receiving bytes. */
void pl_wire_heard(struct wire_call *call);
void pl_wire_add_piece(struct wire_call *call, struct pl_slice text);
void pl_wire_tell_seen(struct wire_call *call, struct pl_slice answer);
/* The server's answer; self: the call. */
void pl_wire_reply(void *self, int status, const struct pl_http_header *headers, size_t count,
                   struct pl_slice body);
extern const struct pl_api_responder_ops pl_wire_responder;

/* ---- wire_points.c ---- */

/* Asks once at each point of a call. False: the call does not continue now. */
bool pl_wire_passes(struct wire_call *call, enum pl_point_kind kind);

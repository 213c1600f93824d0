/* Private to net: one request of the client as libcurl sees it. Translates between struct
 * pl_http_request and an easy handle, and from curl's errors to ours. Of the loop it uses only the
 * clock and a timer for silence. Loop's thread. */
#pragma once

#include "base/secrets.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/timer.h"
#include "net/http.h"
#include "net/http_trust.h"

#include <curl/curl.h>

struct pl_http_pool;

struct pl_http_call {
    struct pl_link link;           /* in one of the client's lists */
    struct pl_http_client *client; /* back-pointer */
    struct pl_http_pool *pool;     /* borrowed while the handle is in its multi, else NULL */
    struct pl_http_turn *turn;     /* borrowed as the pool is */
    struct pl_timers *timers;      /* borrowed from the loop */
    const struct pl_http_ops *ops; /* borrowed until on_done */
    void *arg;
    int lane;

    CURL *easy;                                  /* owned; NULL when err was set at once */
    struct curl_slist *header_list, *connect_to; /* owned */
    char error[CURL_ERROR_SIZE];                 /* curl's message */
    struct pl_secrets secrets;                   /* secrets that the message may quote */
    char *method, *url;                          /* owned; the URL may end before its path */
    char *where;                                 /* owned; NULL: not computed yet */
    bool via_proxy;
    bool no_descriptors; /* creating a socket failed for lack of descriptors */

    struct pl_buf body; /* the body to send */
    size_t sent;        /* bytes of it that curl has taken piece by piece */
    bool whole;         /* curl has the whole body and sends it with the head */
    int64_t connection; /* curl's number of the connection; -1: unknown */
    int64_t stream;     /* the last HTTP/2 stream of this request */
    bool unseen;        /* the server refused that stream, or said that it had not processed it */
    bool (*may_send)(void *arg);
    void *may_send_arg;
    const struct pl_fence *fence; /* borrowed for as long as its connections live; NULL: none */

    struct pl_buf head;   /* "name\0value\0" of the response */
    size_t *head_offsets; /* owned; two for each header */
    size_t head_count, head_cap;
    int status;
    bool responded; /* on_response was called: further header lines are trailers */
    size_t received, max_response;

    struct pl_http_upgrade *upgrade; /* owned; NULL: a request like others */
    /* curl restarts its own connect time-out for each connection that a request waits for together
     * with others; this timer runs from the start. */
    struct pl_timer connecting;
    int64_t connect_ns;
    struct pl_timer silence;
    int64_t silence_ns, heard_ns;

    struct pl_err err; /* the first reason to end, unless curl gave it */
    /* Set by the client: moves a call whose err was set to the list of calls to end. */
    void (*ending)(struct pl_http_call *call);
    /* Set by the client: the server of this call's connection processes no stream after `last`. */
    void (*going_away)(struct pl_http_call *call, int64_t last);
};

/* Copies everything except ops, arg and tls. For a request that cannot be sent, err.code is set and
 * there is no easy handle. The caller owns the call. */
struct pl_http_call *pl_http_call_create(const struct pl_http_request *request,
                                         const struct pl_http_ops *ops, void *arg,
                                         struct pl_timers *timers);
/* The handle must have been removed from its multi. */
void pl_http_call_destroy(struct pl_http_call *call);
/* Starts the timers for connecting and for silence. */
void pl_http_call_begin(struct pl_http_call *call);
/* Stores the reason why the call ends (the first one counts) and tells the client. */
void pl_http_call_fail(struct pl_http_call *call, int code, const char *reason,
                       const char *message);
/* Fills call->err from curl's result unless it is set already. */
void pl_http_call_finish(struct pl_http_call *call, CURLcode result);

/* A part of the response has come: a line of its head (the empty one ends it), a piece of its body.
 * False: the call has failed. For responses that curl does not read (http_upgrade.c). */
bool pl_http_call_head(struct pl_http_call *call, struct pl_slice line);
bool pl_http_call_body(struct pl_http_call *call, struct pl_slice piece);
/* May bytes of it leave now? False: the call has failed. */
bool pl_http_call_may_send(struct pl_http_call *call);

/* Sets all options of the handle except the body (http_describe.c). False: the request cannot be
 * sent and the call has failed. */
bool pl_http_call_describe(struct pl_http_call *call, const struct pl_http_request *request);

/* "host:port" for messages; the URL in quotes if it is malformed. It belongs to the call. */
const char *pl_http_call_where(struct pl_http_call *call);

/* Translates curl's result to our codes and a message for people (http_error.c). */
void pl_http_error(struct pl_err *err, struct pl_http_call *call, CURLcode result);

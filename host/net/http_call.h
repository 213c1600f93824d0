/* Private to net: one request of the client as libcurl sees it. Translates between
 * struct pl_http_request and an easy handle, and from curl's errors to ours; knows
 * nothing of the loop but the clock and a timer for silence. */
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
    char error[CURL_ERROR_SIZE];                 /* curl's own words */
    struct pl_secrets secrets;                   /* that those may quote */
    char *method, *url;                          /* owned; the URL may end where its path begins */
    char *where;                                 /* owned; NULL: not asked for yet */
    bool via_proxy;
    bool no_descriptors; /* there was none for a socket */

    struct pl_buf body; /* what is sent */
    size_t sent;        /* how much of it curl has taken piece by piece */
    bool whole;         /* instead, curl has all of it and sends it with the head */
    int64_t connection; /* curl's number of it; -1: not known */
    int64_t stream;     /* of HTTP/2, as sent last */
    bool unseen;        /* the server said that it has not looked at that stream, or refused it */
    bool (*may_send)(void *arg);
    void *may_send_arg;
    const struct pl_fence *fence; /* borrowed for as long as its connections live; NULL: none */

    struct pl_buf head;   /* "name\0value\0" of the response */
    size_t *head_offsets; /* owned; two for each header */
    size_t head_count, head_cap;
    int status;
    bool responded; /* on_response was called: what looks like headers is a trailer */
    size_t received, max_response;

    /* curl restarts its own connect time-out for each connection that a request waits
     * for together with others; this one counts from the start. */
    struct pl_timer connecting;
    int64_t connect_ns;
    struct pl_timer silence;
    int64_t silence_ns, heard_ns;

    struct pl_err err; /* the first reason to end, if not curl's */
    /* Set by the client: moves a call whose err was set to where it is ended. */
    void (*ending)(struct pl_http_call *call);
    /* Set by the client: the server of this call's connection looks at no stream after `last`. */
    void (*going_away)(struct pl_http_call *call, int64_t last);
};

/* Takes copies of everything but ops, arg and tls. A request that can't be sent has
 * err.code set afterwards and no easy handle. */
struct pl_http_call *pl_http_call_create(const struct pl_http_request *request,
                                         const struct pl_http_ops *ops, void *arg,
                                         struct pl_timers *timers);
/* The handle must be out of its multi. */
void pl_http_call_destroy(struct pl_http_call *call);
/* Starts the guards against a connection that does not come and against silence. */
void pl_http_call_begin(struct pl_http_call *call);
/* Remembers why the call ends (the first reason counts) and tells the client. */
void pl_http_call_fail(struct pl_http_call *call, int code, const char *reason,
                       const char *message);
/* Fills call->err from curl's verdict unless it is set already. */
void pl_http_call_finish(struct pl_http_call *call, CURLcode result);

/* Tells the handle all of the request but its body (http_describe.c). False: it cannot be sent,
 * the call has failed. */
bool pl_http_call_describe(struct pl_http_call *call, const struct pl_http_request *request);

/* "host:port" for messages; "?" where the URL is malformed. */
const char *pl_http_call_where(struct pl_http_call *call);

/* curl's verdict in our codes and in words a person can use (http_error.c). */
void pl_http_error(struct pl_err *err, struct pl_http_call *call, CURLcode result);

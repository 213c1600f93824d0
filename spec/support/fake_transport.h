/* A scripted struct pl_transport on virtual time. Requests are recorded; the test is the server:
 *
 *     struct fake_transport net;
 *     fake_transport_init(&net, &timers);
 *     ... code under test gets fake_transport(&net) and starts requests ...
 *     struct fake_request *list = FAKE_EXPECT(&net, "GET", "/api/v1/pods?limit=500");
 *     fake_reply(list, 200, "{...}");
 *
 * As with the real client, no callback is called inside start or cancel: ends that are not caused
 * by a fake_ call (cancel, time-out, a refusal by may_send, a code from on_body) come at the next
 * pl_timers_run. timeout_ms and silence_ms run on the timers' clock. Requests stay readable until
 * fake_transport_deinit. */
#pragma once

#include "base/buf.h"
#include "base/list.h"
#include "base/timer.h"
#include "net/http.h"

struct fake_transport {
    struct pl_timers *timers;        /* borrowed for life */
    struct pl_list started;          /* not taken by the test yet, oldest first */
    struct pl_list taken;            /* all others, also completed ones */
    int start_count;                 /* how many requests were ever started */
    int open_count;                  /* how many of them have no on_done yet */
    struct pl_err refuse_everything; /* private: fake_transport_down */
};

struct fake_request {
    struct pl_link link; /* private */
    struct fake_transport *net;
    /* The request; owned copies. */
    char *method, *url;
    const char *path; /* inside url: what follows the host, with the query */
    struct pl_http_header *headers;
    size_t header_count;
    struct pl_buf body;
    struct pl_buf said;             /* over an upgraded connection */
    struct pl_http_request request; /* the request as it was given; its texts may be freed */
    /* Its state. */
    bool responded; /* on_response was called */
    bool canceled;  /* the code under test called cancel */
    bool done;      /* on_done was called */
    int done_code;  /* the code of on_done */
    /* Private. */
    const struct pl_http_ops *ops;
    void *arg;
    struct pl_timer ending, deadline, silence;
    struct pl_err err;
};

void fake_transport_init(struct fake_transport *net, struct pl_timers *timers);
/* Frees the requests. Open ones are forgotten: check open_count first. */
void fake_transport_deinit(struct fake_transport *net);
struct pl_transport fake_transport(struct fake_transport *net);

/* From now on every request fails, as without a server (code, e.g. PL_ENETWORK, and reason, e.g.
 * "ConnectionRefused"); code 0 ends that. */
void fake_transport_down(struct fake_transport *net, int code, const char *reason);

/* Takes the oldest request that was started and not taken; NULL when there is none. may_send is
 * asked now; a request that it refuses ends with EREFUSED and is not returned. */
struct fake_request *fake_next(struct fake_transport *net);
/* The same for the oldest with that method and a path that begins so ("" for any). If there is
 * none: NULL, and stderr has the waiting requests. */
struct fake_request *fake_take(struct fake_transport *net, const char *method,
                               const char *path_prefix);
/* fake_take that ends the test run when there is none; needs support/test.h. */
#define FAKE_EXPECT(net, method, path_prefix)                                                      \
    __extension__({                                                                                \
        struct fake_request *fake_expected = fake_take(net, method, path_prefix);                  \
        REQUIRE(fake_expected != NULL);                                                            \
        fake_expected;                                                                             \
    })

/* A header of the request by lower-case name, or NULL. */
const char *fake_header(const struct fake_request *request, const char *name);
/* The decoded value of a query parameter in a buffer of the test's; false when absent. */
bool fake_query(const struct fake_request *request, const char *name, struct pl_buf *value);

/* The functions of the server. All of these are ignored for a request that is done or canceled. */

/* The whole answer, with "content-type: application/json". */
void fake_reply(struct fake_request *request, int status, const char *body);
void fake_reply_with(struct fake_request *request, int status, const struct pl_http_header *headers,
                     size_t header_count, struct pl_slice body);
/* Piece by piece: status, then bytes, then the end. */
void fake_begin(struct fake_request *request, int status);
void fake_begin_with(struct fake_request *request, int status, const struct pl_http_header *headers,
                     size_t header_count);
/* Begins the answer with 200 if it has not begun. */
void fake_stream(struct fake_request *request, const char *piece);
void fake_stream_bytes(struct fake_request *request, struct pl_slice piece);
void fake_end(struct fake_request *request);
/* Fails, before or after a part of the answer; reason as in pl_err, NULL for none. */
void fake_fail(struct fake_request *request, int code, const char *reason);

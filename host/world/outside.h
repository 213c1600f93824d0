/* External servers for perilune.http in a world: the specification answers, without a network. One
 * thread. */
#pragma once

#include "net/http.h"
#include "net/loop.h"

struct pl_outside;

struct pl_outside_request {
    const char *method, *url;
    const struct pl_http_header *headers;
    size_t header_count;
    struct pl_slice body;
};

struct pl_outside_answer {
    int status;                     /* 0: no connection, see message */
    struct pl_http_header *headers; /* owned, like their texts */
    size_t header_count;
    char *body; /* owned */
    size_t body_len;
    char *message; /* owned: reason why there is no connection */
};

struct pl_outside_options {
    /* Fills a zeroed answer. NULL: every request fails. */
    void (*answer)(void *arg, const struct pl_outside_request *request,
                   struct pl_outside_answer *out);
    void *arg;
};

struct pl_outside *pl_outside_create(struct pl_loop *loop,
                                     const struct pl_outside_options *options);
/* Ends all requests; each on_done is called before it returns. */
void pl_outside_destroy(struct pl_outside *outside);
/* From now on every request fails. */
void pl_outside_cut(struct pl_outside *outside);
struct pl_transport pl_outside_transport(struct pl_outside *outside);

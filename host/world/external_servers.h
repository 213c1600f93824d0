/* External servers for perilune.http in a world: the specification answers, without a network. A
 * chooser may disturb a request before it reaches them, and before its answer comes. One thread. */
#pragma once

#include "lane/asker.h"
#include "net/http.h"
#include "net/loop.h"
#include "world/point.h"

struct pl_external_servers;

struct pl_external_request {
    const char *method, *url;
    const struct pl_http_header *headers;
    size_t header_count;
    struct pl_slice body;
};

struct pl_external_answer {
    int status;                     /* 0: no connection, see message */
    struct pl_http_header *headers; /* owned, like their texts */
    size_t header_count;
    char *body; /* owned */
    size_t body_len;
    char *message; /* owned: reason why there is no connection */
};

struct pl_external_options {
    /* Fills a zeroed answer. NULL: every request fails. */
    void (*answer)(void *arg, const struct pl_external_request *request,
                   struct pl_external_answer *out);
    void *arg;
};

/* The host that sends the requests. Its texts and functions live as long as the servers. */
struct pl_external_client {
    const char *host;
    const struct pl_chooser *chooser; /* NULL: no disturbances */
    /* The run that waits for the answer; may be NULL. */
    bool (*who)(void *arg, const char *method, const char *url, struct pl_asker *out);
    void (*crash)(void *arg); /* the host has to end now */
    void *arg;
};

/* The caller owns the result. The options are copied. */
struct pl_external_servers *pl_external_create(struct pl_loop *loop,
                                               const struct pl_external_options *options,
                                               const struct pl_external_client *client);
/* Ends all requests; each on_done is called before it returns. */
void pl_external_destroy(struct pl_external_servers *outside);
/* From now on every request fails. */
void pl_external_cut(struct pl_external_servers *outside);
struct pl_transport pl_external_transport(struct pl_external_servers *outside);

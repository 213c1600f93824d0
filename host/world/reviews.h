/* The transport of a world's server to the webhooks of its scripts, without sockets: a review is
 * delivered to a host in one step of the server's loop, and its answer to the server in another.
 * Any other address is unreachable. One thread. */
#pragma once

#include "net/loop.h"
#include "webhook/hooks.h"

#define PL_REVIEWS_URL "https://webhooks.invalid"

struct pl_reviews;

struct pl_reviews_options {
    struct pl_loop *loop; /* the server's, stepped; borrowed for life */
    /* The hooks that answer now; NULL: none, and the connection is refused. */
    struct pl_hooks *(*find)(void *arg);
    void *arg;
};

/* The caller owns the result. The options are copied. */
struct pl_reviews *pl_reviews_create(const struct pl_reviews_options *options);
/* After all hosts and the server. Accepts NULL. */
void pl_reviews_destroy(struct pl_reviews *reviews);
struct pl_transport pl_reviews_transport(struct pl_reviews *reviews);
/* The host ends now: its pending reviews end as lost connections. hooks may be NULL: all hosts end.
 */
void pl_reviews_leave(struct pl_reviews *reviews, const struct pl_hooks *hooks);

/* Authorization for /metrics with --metrics-secure: a client needs a token that the API server
 * knows (TokenReview) and the right to get the path /metrics (SubjectAccessReview), as in
 * controller-runtime. A positive answer is cached for a minute, a refusal for ten seconds. I/O
 * thread. */
#pragma once

#include "kube/client.h"
#include "net/http_server.h"

struct pl_metrics_guard;

/* timers: borrowed for life. */
struct pl_metrics_guard *pl_metrics_guard_create(struct pl_timers *timers);
/* All requests to the API server must have been answered: the client is destroyed. Accepts NULL. */
void pl_metrics_guard_destroy(struct pl_metrics_guard *guard);
/* Sets the API server; NULL: none, and all requests are answered with 503. Borrowed until the next
 * call. */
void pl_metrics_guard_use(struct pl_metrics_guard *guard, struct pl_client *client);

/* Calls show(arg, exchange), now or later, for an authorized client; answers all others itself. */
void pl_metrics_guard_check(struct pl_metrics_guard *guard, struct pl_exchange *exchange,
                            void (*show)(void *arg, struct pl_exchange *exchange), void *arg);

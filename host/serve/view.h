/* The observable state of a running host: /metrics, /healthz and /readyz, and the dump for SIGUSR1.
 * Created before any watch starts, destroyed last (rule 156). I/O thread. */
#pragma once

#include "base/wait.h"
#include "serve/bind_address.h"
#include "serve/health.h"
#include "control/manager.h"
#include "lane/lanes.h"

struct pl_view;

struct pl_view_options {
    struct pl_loop *loop; /* borrowed for life, like the following fields */
    struct pl_metrics *metrics;
    struct pl_waits *waits;
    struct pl_pool *pool;
    struct pl_bind_address metrics_address, health_address;
    bool metrics_secure;      /* as in endpoints.h */
    const char *metrics_cert; /* the same */
};

/* Listens. NULL and err when a requested address is not available. The caller owns the view. */
struct pl_view *pl_view_create(const struct pl_view_options *options, struct pl_err *err);
void pl_view_destroy(struct pl_view *view); /* accepts NULL */

/* For adding checks. Part of the view. */
struct pl_health *pl_view_health(struct pl_view *view);

/* Sets the API server that authorizes clients of /metrics; NULL: none. */
struct pl_client;
void pl_view_set_client(struct pl_view *view, struct pl_client *client);

/* From now on readiness depends on the manager's controllers; before, the host is starting. NULL:
 * there is no manager any more. */
void pl_view_set_manager(struct pl_view *view, struct pl_manager *manager);
/* Shows these lanes until they are removed; at most 8 sets. */
void pl_view_add_lanes(struct pl_view *view, struct pl_lanes *lanes);
void pl_view_remove_lanes(struct pl_view *view, const struct pl_lanes *lanes);
/* Writes the whole state to the log, one record a line; long lists are cut and counted. */
void pl_view_dump(struct pl_view *view);
/* Not ready from now on. */
void pl_view_set_stopping(struct pl_view *view);

/* A Unix socket that takes a line a request and answers with lines: what carries the admin
 * socket. Loop's thread. Limits: 1 MiB a line, 16 connections, 60 s between requests unless told
 * otherwise, 16 MiB that a client leaves unread; whoever goes over one is cut. */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "net/loop.h"

#include <stdbool.h>

struct pl_line_server;
struct pl_line_client; /* one connection */

struct pl_line_ops {
    /* A whole line, without its end. It is answered now or later: any number of pl_line_write,
     * then pl_line_end. The client's next line waits until then. */
    void (*on_line)(void *arg, struct pl_line_client *client, struct pl_slice line);
    /* The client went before pl_line_end; it is gone after the call. Never from inside a call to
     * pl_line_*, but for pl_line_server_destroy. */
    void (*on_gone)(void *arg, struct pl_line_client *client);
    /* The connection of a client has ended, after on_gone or between two requests; the same holds.
     * NULL: nobody wants to know. */
    void (*on_end)(void *arg, struct pl_line_client *client);
};

/* Binds path with mode 0600; a socket there that nobody listens on any more is replaced. EEXIST
 * when somebody does, EIO otherwise. path is copied; ops and arg are borrowed for life. */
struct pl_line_server *pl_line_server_create(struct pl_loop *loop, const char *path,
                                             const struct pl_line_ops *ops, void *arg,
                                             struct pl_err *err);
/* Whether somebody listens on the Unix socket at that path, now. Does not wait. */
bool pl_line_is_served(const char *path);
/* Stops listening, removes the socket, cuts everybody; memory goes with the loop's next turns.
 * Accepts NULL. */
void pl_line_server_destroy(struct pl_line_server *server);

/* The caller's own word for the request; NULL at each on_line. */
void pl_line_set_data(struct pl_line_client *client, void *data);
void *pl_line_data(const struct pl_line_client *client);
/* How long the client may take until its next request; 0: 60 s again. */
void pl_line_set_idle(struct pl_line_client *client, int64_t idle_ns);
/* One line of the answer; a line's end is added. */
void pl_line_write(struct pl_line_client *client, struct pl_slice line);
void pl_line_end(struct pl_line_client *client);

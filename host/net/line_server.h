/* A Unix socket where a request is one line and an answer is lines: it carries the admin socket.
 * Loop's thread. Limits: 1 MiB for a line, 16 connections, 60 s between requests by default, 16 MiB
 * unread by a client. A client that exceeds one is cut. */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "net/loop.h"

#include <stdbool.h>

struct pl_line_server;
struct pl_line_client; /* one connection */

struct pl_line_ops {
    /* A whole line, without its end. The answer comes now or later: any number of pl_line_write,
     * then pl_line_end. The client's next line waits until then. */
    void (*on_line)(void *arg, struct pl_line_client *client, struct pl_slice line);
    /* The client disconnected before pl_line_end; it is freed after the call. Never called inside a
     * pl_line_* call, except pl_line_server_destroy. */
    void (*on_gone)(void *arg, struct pl_line_client *client);
    /* The connection of a client has ended, after on_gone or between two requests. The rules of
     * on_gone apply. May be NULL. */
    void (*on_end)(void *arg, struct pl_line_client *client);
};

/* Binds path with mode 0600. A stale socket is replaced. EEXIST when a process listens on it, EIO
 * for other failures. path is copied; ops and arg are borrowed for life. */
struct pl_line_server *pl_line_server_create(struct pl_loop *loop, const char *path,
                                             const struct pl_line_ops *ops, void *arg,
                                             struct pl_err *err);
/* Whether a process listens on the Unix socket at that path now. Does not wait. */
bool pl_line_is_served(const char *path);
/* Stops listening, removes the socket, cuts all clients; the memory is freed in the loop's next
 * turns. Accepts NULL. */
void pl_line_server_destroy(struct pl_line_server *server);

/* A pointer of the caller for the request; NULL at each on_line. */
void pl_line_set_data(struct pl_line_client *client, void *data);
/* The pointer that was set last; it still belongs to the caller. */
void *pl_line_data(const struct pl_line_client *client);
/* The time that the client may take until its next request; 0: 60 s again. */
void pl_line_set_idle(struct pl_line_client *client, int64_t idle_ns);
/* One line of the answer, without its line break. */
void pl_line_write(struct pl_line_client *client, struct pl_slice line);
void pl_line_end(struct pl_line_client *client);

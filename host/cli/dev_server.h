/* The embedded API server on a thread of its own, for `perilune dev`. */
#pragma once

#include "apiserver/apiserver.h"

struct pl_dev_server;

/* Starts the thread and waits until the server listens. NULL and err otherwise. The
 * options' texts are borrowed for the server's life. */
struct pl_dev_server *pl_dev_server_start(const struct pl_apiserver_options *options,
                                          struct pl_err *err);
int pl_dev_server_port(const struct pl_dev_server *server);
/* Ends every connection and joins the thread. Accepts NULL. */
void pl_dev_server_stop(struct pl_dev_server *server);

/* The embedded API server on a separate thread and loop, so that host and server do not slow each
 * other. There are two messages: READY, after which the port or the error may be read, and STOP.
 * The thread is always joined. */
#include "cli/dev_server.h"

#include "base/alloc.h"
#include "cli/terminate.h"
#include "net/mailbox.h"

#include <pthread.h>

enum message { READY, STOP };

struct pl_dev_server {
    const struct pl_apiserver_options *options; /* borrowed */
    pthread_t thread;
    struct pl_mailbox *to_starter; /* owned by the starter: READY */
    struct pl_mailbox *to_thread;  /* owned by the thread: STOP */
    struct pl_msg ready, stop;
    struct pl_loop *loop;           /* the thread's */
    struct pl_apiserver *apiserver; /* the thread's; NULL when it failed */
    int port;                       /* written before READY */
    struct pl_err err;              /* written before READY */
};

static void on_messages(void *arg, struct pl_list *messages)
{
    struct pl_dev_server *server = arg;
    while (pl_list_pop(messages) != NULL)
        ; /* STOP is the only message */
    pl_apiserver_destroy(server->apiserver);
    pl_loop_stop(server->loop);
}

static void *dev_server_serve(void *arg)
{
    struct pl_dev_server *server = arg;
    server->loop = pl_loop_create(pl_clock_system());
    server->to_thread = pl_mailbox_create_for_loop(server->loop, on_messages, server);
    server->apiserver = pl_apiserver_create(server->loop, server->options, &server->err);
    bool serving = server->apiserver != NULL;
    if (serving)
        server->port = pl_apiserver_port(server->apiserver);
    pl_mailbox_send(server->to_starter, &server->ready);
    if (serving)
        pl_loop_run(server->loop);
    pl_mailbox_destroy(server->to_thread, NULL);
    pl_loop_destroy(server->loop);
    return NULL;
}

static void dev_server_release(struct pl_dev_server *server)
{
    pthread_join(server->thread, NULL);
    pl_mailbox_destroy(server->to_starter, NULL);
    pl_free(server);
}

struct pl_dev_server *pl_dev_server_start(const struct pl_apiserver_options *options,
                                          struct pl_err *err)
{
    struct pl_dev_server *server = PL_NEW(struct pl_dev_server);
    server->options = options;
    server->ready.kind = READY;
    server->stop.kind = STOP;
    server->to_starter = pl_mailbox_create();
    sigset_t before;
    pl_terminate_hold(&before); /* the thread never gets the signals */
    int failed = pthread_create(&server->thread, NULL, dev_server_serve, server);
    pl_terminate_release(&before);
    if (failed) {
        pl_err_set(err, PL_EIO, "the server's thread can't be started");
        pl_mailbox_destroy(server->to_starter, NULL);
        pl_free(server);
        return NULL;
    }
    struct pl_list messages;
    pl_list_init(&messages);
    pl_mailbox_wait(server->to_starter, &messages, -1);
    if (server->apiserver != NULL)
        return server;
    if (err != NULL)
        *err = server->err;
    dev_server_release(server);
    return NULL;
}

int pl_dev_server_port(const struct pl_dev_server *server)
{
    return server->port;
}

void pl_dev_server_stop(struct pl_dev_server *server)
{
    if (server == NULL)
        return;
    pl_mailbox_send(server->to_thread, &server->stop);
    dev_server_release(server);
}

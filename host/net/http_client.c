/* libcurl's multi interface on our loop. Each lane has a pool: one multi handle with its own
 * connections. curl asks for sockets to be watched and for one timer; libuv calls back; curl works
 * inside curl_multi_socket_action and calls the request's callbacks from there.
 *
 * curl does not allow adding or removing handles in its callbacks, so start and cancel only put the
 * call in a list, and a deferred task does the rest. For the same reason on_done is called outside
 * of curl (`inside` is 0), exactly once and never inside start.
 *
 * The fence is asked before any call of curl on a fenced pool: curl, TLS and HTTP/2 would first of
 * all send the bytes that they still hold. A connection on which a request timed out gets no
 * further requests: its pool is retired. */
#include "net/http_client.h"

#include "base/alloc.h"
#include "base/check.h"
#include "net/http_call.h"
#include "net/http_upgrade.h"

#include <uv.h>

#include <string.h>
#include <unistd.h>

#define POOLS       (PL_HTTP_LANE_FENCED + 1)
#define MAX_STREAMS 1000 /* limit on one HTTP/2 connection, if the server allows as many */

struct pl_http_pool {
    struct pl_http_client *client; /* back-pointer */
    CURLM *multi;                  /* owned */
    uv_timer_t timer;              /* for curl; uses real time, whatever the loop's clock is */
    struct pl_task due;            /* it has fired */
    struct pl_list watches;        /* struct watch */
    struct pl_list parked;         /* struct watch, of connections between requests */
    struct pl_link link;           /* in client->retired, once it gets no new requests */
    size_t calls;                  /* handles in the multi */
    const struct pl_fence *fence;  /* of all its requests; NULL: none */
    struct pl_http_turn turn;
};

/* A socket that curl wants watched. Between two requests curl does not want it, but watching it
 * anew for each request would cost seven system calls of libuv, so it is parked. */
struct watch {
    struct pl_link link;
    uv_poll_t poll;
    struct pl_http_pool *pool; /* back-pointer */
    curl_socket_t fd;
    int events;  /* events of libuv that are watched */
    bool parked; /* an event on a parked socket only ends the watching */
};

struct pl_http_client {
    struct pl_loop *loop;                 /* borrowed */
    struct pl_http_pool *pools[POOLS];    /* owned; created when needed */
    struct pl_list retired;               /* pools that are freed after their last call */
    struct pl_list queued, active, ended; /* struct pl_http_call */
    struct pl_task task;
    int inside; /* > 0 while curl or one of our callbacks runs */
};

static void finish_ended(struct pl_http_client *client);
static void on_http_client_task(struct pl_task *task);

static void schedule(struct pl_http_client *client)
{
    pl_loop_defer(client->loop, &client->task, on_http_client_task);
}

/* ---- pools ---- */

static void on_watch_closed_cb(uv_handle_t *handle)
{
    pl_free(PL_CONTAINER_OF(handle, struct watch, poll));
}

static void stop_watching(struct watch *watch)
{
    pl_link_unlink(&watch->link);
    uv_close((uv_handle_t *)&watch->poll, on_watch_closed_cb);
}

static void on_pool_closed_cb(uv_handle_t *handle)
{
    pl_free(PL_CONTAINER_OF(handle, struct pl_http_pool, timer));
}

static void destroy_pool(struct pl_http_pool *pool)
{
    PL_REQUIRE(pool->calls == 0);
    struct pl_link *link;
    pl_link_unlink(&pool->link);
    pl_loop_undefer(&pool->due);
    curl_multi_setopt(pool->multi, CURLMOPT_SOCKETFUNCTION, NULL);
    curl_multi_setopt(pool->multi, CURLMOPT_TIMERFUNCTION, NULL);
    while ((link = pl_list_first(&pool->watches)) != NULL)
        stop_watching(PL_CONTAINER_OF(link, struct watch, link));
    while ((link = pl_list_first(&pool->parked)) != NULL)
        stop_watching(PL_CONTAINER_OF(link, struct watch, link));
    curl_multi_cleanup(pool->multi);
    uv_close((uv_handle_t *)&pool->timer, on_pool_closed_cb);
}

static void destroy_idle_retired(struct pl_http_client *client)
{
    PL_LIST_FOR (link, &client->retired) {
        struct pl_http_pool *pool = PL_CONTAINER_OF(link, struct pl_http_pool, link);
        if (pool->calls == 0)
            destroy_pool(pool);
    }
}

static void collect_done(struct pl_http_pool *pool)
{
    int left;
    CURLMsg *msg;
    while ((msg = curl_multi_info_read(pool->multi, &left)) != NULL) {
        struct pl_http_call *call;
        curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, (char **)&call);
        if (call->upgrade != NULL && msg->data.result == CURLE_OK && call->err.code == 0) {
            pl_http_upgrade_open(call->upgrade, pool->client->loop);
            continue;
        }
        pl_http_call_finish(call, msg->data.result);
        pl_link_unlink(&call->link);
        pl_list_push(&pool->client->ended, &call->link);
    }
}

static void retire_pool(struct pl_http_client *client, int lane)
{
    if (client->pools[lane] == NULL)
        return;
    pl_list_push(&client->retired, &client->pools[lane]->link);
    client->pools[lane] = NULL;
}

/* True when the pool's fence was found closed: then no byte can leave through its connections any
 * more, and its requests end. Called before any call of curl, which would first of all send the
 * bytes that it, TLS or HTTP/2 had to keep. */
static bool cut_if_closed(struct pl_http_pool *pool)
{
    struct pl_http_client *client = pool->client;
    if (pl_fence_is_open(pool->fence))
        return false;
    pl_fence_shut(pool->fence);
    PL_LIST_FOR (link, &client->active) {
        struct pl_http_call *call = PL_CONTAINER_OF(link, struct pl_http_call, link);
        if (call->pool == pool)
            pl_http_call_fail(call, PL_EREFUSED, "", "sending is no longer allowed");
    }
    if (client->pools[PL_HTTP_LANE_FENCED] == pool)
        retire_pool(client, PL_HTTP_LANE_FENCED);
    return true;
}

static void act(struct pl_http_pool *pool, curl_socket_t fd, int events)
{
    struct pl_http_client *client = pool->client;
    int running;
    if (cut_if_closed(pool)) {
        finish_ended(client);
        return;
    }
    pool->turn = (struct pl_http_turn){0};
    client->inside++;
    curl_multi_socket_action(pool->multi, fd, events, &running);
    client->inside--;
    collect_done(pool);
    finish_ended(client);
}

static void on_poll_cb(uv_poll_t *poll, int status, int events)
{
    struct watch *watch = PL_CONTAINER_OF(poll, struct watch, poll);
    int flags = 0;
    if (watch->parked) {
        stop_watching(watch);
        return;
    }
    if (status < 0) { /* libuv has stopped watching */
        flags = CURL_CSELECT_ERR;
        watch->events = 0;
    }
    if (events & UV_READABLE)
        flags |= CURL_CSELECT_IN;
    if (events & UV_WRITABLE)
        flags |= CURL_CSELECT_OUT;
    act(watch->pool, watch->fd, flags);
}

static void on_http_client_due(struct pl_task *task)
{
    act(PL_CONTAINER_OF(task, struct pl_http_pool, due), CURL_SOCKET_TIMEOUT, 0);
}

/* While an answer arrives faster than it is read, curl asks for a timer of 0 ms again and again,
 * and libuv fires timers that were started in a timer's callback before it polls. */
static void on_timer_cb(uv_timer_t *timer)
{
    struct pl_http_pool *pool = PL_CONTAINER_OF(timer, struct pl_http_pool, timer);
    pl_loop_defer(pool->client->loop, &pool->due, on_http_client_due);
}

/* Only a socket whose request was answered is parked: curl calls on_socket_closing for it. Some
 * versions, 7.88 among them, do not call it for sockets that never got a connection. */
static void http_client_release(CURL *easy, struct watch *watch)
{
    struct pl_http_call *call = NULL;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&call);
    if (call == NULL || !call->responded || watch->events != UV_READABLE) {
        stop_watching(watch);
        return;
    }
    watch->parked = true;
    pl_link_unlink(&watch->link);
    pl_list_push(&watch->pool->parked, &watch->link);
}

static struct watch *find_parked(struct pl_http_pool *pool, curl_socket_t fd)
{
    PL_LIST_FOR (link, &pool->parked) {
        struct watch *watch = PL_CONTAINER_OF(link, struct watch, link);
        if (watch->fd == fd)
            return watch;
    }
    return NULL;
}

static struct watch *begin_watching(struct pl_http_pool *pool, curl_socket_t fd)
{
    struct watch *watch = find_parked(pool, fd);
    if (watch != NULL) {
        watch->parked = false;
        pl_link_unlink(&watch->link);
    } else {
        watch = PL_NEW(struct watch);
        watch->pool = pool;
        watch->fd = fd;
        PL_REQUIRE(uv_poll_init_socket(pl_loop_uv(pool->client->loop), &watch->poll, fd) == 0);
    }
    pl_list_push(&pool->watches, &watch->link);
    curl_multi_assign(pool->multi, fd, watch);
    return watch;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
    struct pl_http_pool *pool = arg;
    struct watch *watch = socket_arg;
    if (what == CURL_POLL_REMOVE) {
        if (watch != NULL) {
            curl_multi_assign(pool->multi, fd, NULL);
            http_client_release(easy, watch);
        }
        return 0;
    }
    if (watch == NULL)
        watch = begin_watching(pool, fd);
    int events = 0;
    if (what & CURL_POLL_IN)
        events |= UV_READABLE;
    if (what & CURL_POLL_OUT)
        events |= UV_WRITABLE;
    if (events != watch->events)
        uv_poll_start(&watch->poll, events, on_poll_cb);
    watch->events = events;
    return 0;
}

/* Called for a connection of any request, maybe long after that request. */
static int on_socket_closing(void *arg, curl_socket_t fd)
{
    struct pl_http_pool *pool = arg;
    struct watch *watch = find_parked(pool, fd);
    if (watch != NULL)
        stop_watching(watch);
    if (pool->fence != NULL)
        pl_fence_remove_socket(fd);
    return close(fd);
}

static int on_timeout_wish(CURLM *multi, long timeout_ms, void *arg)
{
    PL_UNUSED(multi);
    struct pl_http_pool *pool = arg;
    if (timeout_ms < 0) {
        uv_timer_stop(&pool->timer);
        return 0;
    }
    uv_update_time(pl_loop_uv(pool->client->loop));
    uv_timer_start(&pool->timer, on_timer_cb, (uint64_t)timeout_ms, 0);
    return 0;
}

static struct pl_http_pool *create_pool(struct pl_http_client *client)
{
    struct pl_http_pool *pool = PL_NEW(struct pl_http_pool);
    pool->client = client;
    pl_list_init(&pool->watches);
    pl_list_init(&pool->parked);
    uv_timer_init(pl_loop_uv(client->loop), &pool->timer);
    pool->multi = curl_multi_init();
    PL_REQUIRE(pool->multi != NULL);
    curl_multi_setopt(pool->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(pool->multi, CURLMOPT_SOCKETDATA, pool);
    curl_multi_setopt(pool->multi, CURLMOPT_TIMERFUNCTION, on_timeout_wish);
    curl_multi_setopt(pool->multi, CURLMOPT_TIMERDATA, pool);
    curl_multi_setopt(pool->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
    curl_multi_setopt(pool->multi, CURLMOPT_MAX_CONCURRENT_STREAMS, (long)MAX_STREAMS);
    return pool;
}

/* ---- calls ---- */

static void leave_multi(struct pl_http_call *call)
{
    struct pl_http_pool *pool = call->pool;
    if (pool == NULL)
        return;
    cut_if_closed(pool); /* removing a handle lets curl send, too */
    if (call->upgrade != NULL)
        pl_http_upgrade_close(call->upgrade);
    call->pool = NULL;
    call->turn = NULL;
    pool->calls--;
    pool->client->inside++;
    curl_multi_remove_handle(pool->multi, call->easy);
    pool->client->inside--;
}

/* No byte came in time on an established connection: it may be dead unnoticed, and curl would give
 * it to the next request. Requests under way stay there. */
static void judge_connection(struct pl_http_client *client, const struct pl_http_call *call)
{
    bool timed_out =
        call->err.code == PL_ETIMEOUT && strcmp(call->err.reason, "ConnectTimeout") != 0;
    if (timed_out && call->pool != NULL && call->pool == client->pools[call->lane])
        retire_pool(client, call->lane);
}

/* Called outside of curl's callbacks: takes ended calls out of curl and calls their owners. */
static void finish_ended(struct pl_http_client *client)
{
    if (client->inside > 0) {
        schedule(client);
        return;
    }
    struct pl_link *link;
    while ((link = pl_list_pop(&client->ended)) != NULL) {
        struct pl_http_call *call = PL_CONTAINER_OF(link, struct pl_http_call, link);
        judge_connection(client, call);
        leave_multi(call);
        client->inside++;
        call->ops->on_done(call->arg, call->err.code != 0 ? &call->err : NULL);
        client->inside--;
        pl_http_call_destroy(call);
    }
    destroy_idle_retired(client);
}

static void on_ending(struct pl_http_call *call)
{
    pl_link_unlink(&call->link);
    pl_list_push(&call->client->ended, &call->link);
    schedule(call->client);
}

/* Concerns all requests of the connection, whichever of them curl was working on. */
static void on_going_away(struct pl_http_call *call, int64_t last)
{
    PL_LIST_FOR (link, &call->client->active) {
        struct pl_http_call *other = PL_CONTAINER_OF(link, struct pl_http_call, link);
        if (other->pool == call->pool && other->connection == call->connection &&
            call->connection >= 0 && other->stream > last)
            other->unseen = true;
    }
}

static struct pl_http_pool *pool_of(struct pl_http_client *client, const struct pl_http_call *call)
{
    if (call->upgrade != NULL) { /* it ends with its one call */
        struct pl_http_pool *own = create_pool(client);
        pl_list_push(&client->retired, &own->link);
        return own;
    }
    if (client->pools[call->lane] == NULL)
        client->pools[call->lane] = create_pool(client);
    return client->pools[call->lane];
}

static void enter_multi(struct pl_http_client *client, struct pl_http_call *call)
{
    struct pl_http_pool *pool = pool_of(client, call);
    pl_list_push(&client->active, &call->link);
    pl_http_call_begin(call);
    PL_REQUIRE(pool->fence == NULL || pool->fence == call->fence);
    pool->fence = call->fence;
    curl_easy_setopt(call->easy, CURLOPT_CLOSESOCKETFUNCTION, on_socket_closing);
    curl_easy_setopt(call->easy, CURLOPT_CLOSESOCKETDATA, pool);
    curl_easy_setopt(call->easy, CURLOPT_SSL_CTX_DATA, &pool->turn);
    call->turn = &pool->turn;
    PL_REQUIRE(curl_multi_add_handle(pool->multi, call->easy) == CURLM_OK);
    call->pool = pool;
    call->pool->calls++;
}

static void on_http_client_task(struct pl_task *task)
{
    struct pl_http_client *client = PL_CONTAINER_OF(task, struct pl_http_client, task);
    bool kick[POOLS] = {false};
    struct pl_link *link;
    finish_ended(client);
    while ((link = pl_list_pop(&client->queued)) != NULL) {
        struct pl_http_call *call = PL_CONTAINER_OF(link, struct pl_http_call, link);
        enter_multi(client, call);
        kick[call->lane] = kick[call->lane] || call->upgrade == NULL; /* curl's timer is enough */
    }
    /* now, instead of by a timer of 0 ms in the next turn */
    for (int lane = 0; lane < POOLS; lane++) {
        if (kick[lane] && client->pools[lane] != NULL)
            act(client->pools[lane], CURL_SOCKET_TIMEOUT, 0);
    }
}

static struct pl_http_call *http_client_start(void *self, const struct pl_http_request *request,
                                              const struct pl_http_ops *ops, void *arg)
{
    struct pl_http_client *client = self;
    pl_loop_require(client->loop);
    struct pl_http_call *call =
        pl_http_call_create(request, ops, arg, pl_loop_timers(client->loop));
    call->client = client;
    call->ending = on_ending;
    call->going_away = on_going_away;
    pl_list_push(call->err.code != 0 ? &client->ended : &client->queued, &call->link);
    schedule(client);
    return call;
}

static void http_client_cancel(void *self, struct pl_http_call *call)
{
    struct pl_http_client *client = self;
    pl_loop_require(client->loop);
    call->err.code = 0; /* replaces another result that was not reported yet */
    pl_http_call_fail(call, PL_ECANCELED, "", "canceled");
}

static void http_client_send(void *self, struct pl_http_call *call, struct pl_slice bytes)
{
    struct pl_http_client *client = self;
    pl_loop_require(client->loop);
    pl_http_upgrade_send(call->upgrade, bytes);
}

/* Debian's libcurl depends on GnuTLS for protocols that are not used here (LDAP, RTMP). GnuTLS
 * would initialise itself when it is loaded, which takes 0.9 MiB and a millisecond. If a program
 * defines this function (GNUTLS_SKIP_GLOBAL_INIT in its header), it does not; a libcurl that uses
 * GnuTLS initialises it by itself. */
__attribute__((visibility("default"))) int _gnutls_global_init_skip(void);
int _gnutls_global_init_skip(void)
{
    return 1;
}

struct pl_http_client *pl_http_client_create(struct pl_loop *loop)
{
    PL_REQUIRE(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK); /* counted; any thread */
    struct pl_http_client *client = PL_NEW(struct pl_http_client);
    client->loop = loop;
    pl_list_init(&client->retired);
    pl_list_init(&client->queued);
    pl_list_init(&client->active);
    pl_list_init(&client->ended);
    return client;
}

void pl_http_client_forget_connections(struct pl_http_client *client)
{
    for (int lane = 0; lane < POOLS; lane++)
        retire_pool(client, lane);
    schedule(client);
}

static void cancel_all(struct pl_http_client *client, struct pl_list *list)
{
    struct pl_link *link;
    while ((link = pl_list_first(list)) != NULL)
        http_client_cancel(client, PL_CONTAINER_OF(link, struct pl_http_call, link));
}

void pl_http_client_destroy(struct pl_http_client *client)
{
    if (client == NULL)
        return;
    PL_REQUIRE(client->inside == 0);
    pl_http_client_forget_connections(client);
    /* A callback may start another call; that ends here too. */
    do {
        cancel_all(client, &client->queued);
        cancel_all(client, &client->active);
        finish_ended(client);
    } while (!pl_list_empty(&client->queued) || !pl_list_empty(&client->ended));
    destroy_idle_retired(client);
    pl_loop_undefer(&client->task);
    pl_free(client);
    curl_global_cleanup();
}

struct pl_transport pl_http_client_transport(struct pl_http_client *client)
{
    static const struct pl_transport_ops ops = {http_client_start, http_client_cancel,
                                                http_client_send};
    return (struct pl_transport){&ops, client};
}

const char *pl_http_client_version(void)
{
    return curl_version();
}

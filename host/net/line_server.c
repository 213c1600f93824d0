/* Lines over a Unix socket. A client has one request under way at a time; bytes that it sends
 * meanwhile wait in `in`, and a line must not be longer than the limit.
 *
 * A failing write, or a client that does not read, only marks the client as cut. A deferred task
 * ends it, so that the code that answers may go on using it. A hang-up, an overlong line or idling
 * ends it at once. on_gone is called if a request was under way, on_end always.
 *
 * Only the owner may use the socket (mode 0600). A socket that a killed host left behind is
 * replaced, but not one on which a process answers. */
#include "net/line_server.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/check.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#define BACKLOG     16
#define LINE_BYTES  ((size_t)1 << 20)
#define UNREAD_MAX  ((size_t)16 << 20)
#define CLIENTS_MAX 16
#define IDLE_NS     (60 * PL_SECOND)

struct pl_line_server {
    struct pl_loop *loop;
    const struct pl_line_ops *ops;
    void *arg;
    char *path; /* owned */
    uv_pipe_t listener;
    struct pl_list clients;
    size_t client_count;
    size_t open_handles; /* the listener's and the clients' */
    bool closing;
};

struct pl_line_client {
    uv_pipe_t pipe;
    struct pl_line_server *server; /* back-pointer */
    struct pl_link link;           /* in the server's clients */
    struct pl_buf in;              /* bytes that are no whole line yet, or have to wait */
    bool busy;                     /* its request is not answered yet */
    bool cut;                      /* a write failed or it reads too slowly: `task` ends it */
    void *data;                    /* the caller's */
    int64_t idle_ns;
    struct pl_timer idle;
    struct pl_task task; /* looks for the next line, or ends */
};

struct write_job {
    uv_write_t req;
    struct pl_line_client *client;
    char bytes[];
};

static struct pl_timers *line_server_timers_of(const struct pl_line_client *client)
{
    return pl_loop_timers(client->server->loop);
}

/* ---- the end ---- */

static void release_handle(struct pl_line_server *server)
{
    if (--server->open_handles > 0)
        return;
    pl_free(server->path);
    pl_free(server);
}

static void on_client_closed_cb(uv_handle_t *handle)
{
    struct pl_line_client *client = handle->data;
    struct pl_line_server *server = client->server;
    pl_buf_deinit(&client->in);
    pl_free(client);
    release_handle(server);
}

static void reap(struct pl_line_client *client)
{
    if (uv_is_closing((uv_handle_t *)&client->pipe))
        return;
    struct pl_line_server *server = client->server;
    pl_timer_stop(line_server_timers_of(client), &client->idle);
    pl_loop_undefer(&client->task);
    pl_link_unlink(&client->link);
    server->client_count--;
    if (client->busy)
        server->ops->on_gone(server->arg, client);
    if (server->ops->on_end != NULL)
        server->ops->on_end(server->arg, client);
    uv_close((uv_handle_t *)&client->pipe, on_client_closed_cb);
}

static void on_listener_closed_cb(uv_handle_t *handle)
{
    release_handle(handle->data);
}

void pl_line_server_destroy(struct pl_line_server *server)
{
    if (server == NULL || server->closing)
        return;
    server->closing = true;
    struct pl_link *link;
    while ((link = pl_list_first(&server->clients)) != NULL)
        reap(PL_CONTAINER_OF(link, struct pl_line_client, link));
    uv_close((uv_handle_t *)&server->listener, on_listener_closed_cb); /* removes the socket */
}

/* ---- requests ---- */

static void on_line_server_idle(struct pl_timer *timer)
{
    reap(PL_CONTAINER_OF(timer, struct pl_line_client, idle));
}

static void next_line(struct pl_line_client *client)
{
    const char *end =
        client->busy || client->in.len == 0 ? NULL : memchr(client->in.ptr, '\n', client->in.len);
    if (end == NULL)
        return;
    struct pl_line_server *server = client->server;
    size_t len = (size_t)(end - client->in.ptr);
    char *line = pl_malloc(len + 1);
    memcpy(line, client->in.ptr, len);
    pl_buf_drop_front(&client->in, len + 1);
    pl_timer_stop(line_server_timers_of(client), &client->idle);
    client->busy = true;
    client->data = NULL;
    server->ops->on_line(server->arg, client, pl_slice(line, len));
    pl_free(line);
}

static void on_line_server_task(struct pl_task *task)
{
    struct pl_line_client *client = PL_CONTAINER_OF(task, struct pl_line_client, task);
    if (client->cut)
        reap(client);
    else
        next_line(client);
}

static void schedule(struct pl_line_client *client)
{
    pl_loop_defer(client->server->loop, &client->task, on_line_server_task);
}

static void alloc_cb(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct pl_line_client *client = handle->data;
    PL_UNUSED(suggested);
    pl_buf_reserve(&client->in, 16384);
    *buf = uv_buf_init(client->in.ptr + client->in.len, 16384);
}

static void on_read_cb(uv_stream_t *stream, ssize_t got, const uv_buf_t *buf)
{
    struct pl_line_client *client = stream->data;
    PL_UNUSED(buf);
    if (got < 0) {
        reap(client);
        return;
    }
    client->in.len += (size_t)got;
    if (client->in.len > LINE_BYTES)
        reap(client);
    else
        next_line(client);
}

static void on_connection_cb(uv_stream_t *listener, int status)
{
    struct pl_line_server *server = listener->data;
    if (status != 0 || server->closing)
        return;
    struct pl_line_client *client = PL_NEW(struct pl_line_client);
    client->server = server;
    client->idle_ns = IDLE_NS;
    uv_pipe_init(pl_loop_uv(server->loop), &client->pipe, 0);
    client->pipe.data = client;
    server->open_handles++;
    server->client_count++;
    pl_list_push(&server->clients, &client->link);
    pl_timer_start(line_server_timers_of(client), &client->idle, IDLE_NS, on_line_server_idle);
    if (uv_accept(listener, (uv_stream_t *)&client->pipe) != 0 ||
        server->client_count > CLIENTS_MAX ||
        uv_read_start((uv_stream_t *)&client->pipe, alloc_cb, on_read_cb) != 0)
        reap(client);
}

/* ---- answers ---- */

void pl_line_set_data(struct pl_line_client *client, void *data)
{
    client->data = data;
}

void *pl_line_data(const struct pl_line_client *client)
{
    return client->data;
}

void pl_line_set_idle(struct pl_line_client *client, int64_t idle_ns)
{
    client->idle_ns = idle_ns > 0 ? idle_ns : IDLE_NS;
    if (!client->busy)
        pl_timer_start(line_server_timers_of(client), &client->idle, client->idle_ns,
                       on_line_server_idle);
}

static void line_server_cut(struct pl_line_client *client)
{
    client->cut = true;
    schedule(client);
}

static void on_written_cb(uv_write_t *req, int status)
{
    struct write_job *job = (struct write_job *)req;
    struct pl_line_client *client = job->client;
    pl_free(job);
    if (status < 0 && !uv_is_closing((uv_handle_t *)&client->pipe))
        line_server_cut(client);
}

void pl_line_write(struct pl_line_client *client, struct pl_slice line)
{
    if (client->cut)
        return;
    struct write_job *job = pl_malloc(sizeof *job + line.len + 1);
    job->client = client;
    memcpy(job->bytes, line.ptr, line.len);
    job->bytes[line.len] = '\n';
    uv_buf_t buf = uv_buf_init(job->bytes, (unsigned)line.len + 1);
    uv_stream_t *stream = (uv_stream_t *)&client->pipe;
    if (uv_write(&job->req, stream, &buf, 1, on_written_cb) != 0) {
        pl_free(job);
        line_server_cut(client);
    } else if (uv_stream_get_write_queue_size(stream) > UNREAD_MAX) {
        line_server_cut(client);
    }
}

void pl_line_end(struct pl_line_client *client)
{
    PL_REQUIRE(client->busy);
    client->busy = false;
    pl_timer_start(line_server_timers_of(client), &client->idle, client->idle_ns,
                   on_line_server_idle);
    schedule(client);
}

/* ---- listening ---- */

/* A host that was killed leaves its socket behind; one that lives answers. */
/* False when the path is too long for an address. */
static bool line_server_set_address(struct sockaddr_un *address, const char *path)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address->sun_path)
        return false;
    memcpy(address->sun_path, path, strlen(path) + 1);
    return true;
}

bool pl_line_is_served(const char *path)
{
    struct sockaddr_un address;
    if (!line_server_set_address(&address, path))
        return false;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool served = fd >= 0 && (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 ||
                              errno == EAGAIN); /* the queue of connections is full */
    if (fd >= 0)
        close(fd);
    return served;
}

/* libuv says "permission denied" of a folder that is not there. */
static int look_for_folder(const char *path, struct pl_err *err)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash != NULL ? pl_memdup0(path, (size_t)(slash - path) + 1) : pl_strdup(".");
    struct stat st;
    int rc =
        stat(folder, &st) == 0 ? 0 : pl_err_set(err, PL_EIO, "%s: %s", folder, strerror(errno));
    pl_free(folder);
    return rc;
}

static int make_way(const char *path, struct pl_err *err)
{
    struct sockaddr_un address;
    struct stat st;
    if (!line_server_set_address(&address, path))
        return pl_err_set(err, PL_EINVAL,
                          "the path is too long for a socket: it may have %zu bytes at most: %s",
                          sizeof address.sun_path - 1, path);
    if (lstat(path, &st) != 0)
        return look_for_folder(path, err);
    if (!S_ISSOCK(st.st_mode))
        return pl_err_set(err, PL_EEXIST, "%s exists and is not a socket", path);
    if (pl_line_is_served(path))
        return pl_err_set(err, PL_EEXIST, "another process listens on %s", path);
    if (unlink(path) != 0)
        return pl_err_set(err, PL_EIO, "%s: %s", path, strerror(errno));
    return 0;
}

static int start_listening(struct pl_line_server *server, struct pl_err *err)
{
    int rc = uv_pipe_bind(&server->listener, server->path);
    /* Nobody can connect between bind and listen, so the mode is set here. */
    if (rc == 0 && chmod(server->path, S_IRUSR | S_IWUSR) != 0)
        rc = uv_translate_sys_error(errno);
    if (rc == 0)
        rc = uv_listen((uv_stream_t *)&server->listener, BACKLOG, on_connection_cb);
    if (rc == 0)
        return 0;
    return pl_err_set(err, PL_EIO, "cannot listen on %s: %s", server->path, uv_strerror(rc));
}

struct pl_line_server *pl_line_server_create(struct pl_loop *loop, const char *path,
                                             const struct pl_line_ops *ops, void *arg,
                                             struct pl_err *err)
{
    if (make_way(path, err) != 0)
        return NULL;
    struct pl_line_server *server = PL_NEW(struct pl_line_server);
    server->loop = loop;
    server->ops = ops;
    server->arg = arg;
    server->path = pl_strdup(path);
    pl_list_init(&server->clients);
    uv_pipe_init(pl_loop_uv(loop), &server->listener, 0);
    server->listener.data = server;
    server->open_handles = 1;
    if (start_listening(server, err) == 0)
        return server;
    pl_line_server_destroy(server);
    return NULL;
}

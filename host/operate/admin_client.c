/* The client of the admin socket: finds the host, sends a line, reads lines. Blocking, since a
 * command does nothing else meanwhile. An answer has a limit, and a lost connection is an error. */
#include "operate/admin_client.h"

#include "admin/admin.h"
#include "admin/path.h"
#include "value/scan.h"
#include "value/write.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_MAX ((size_t)64 << 20)

static int connect_to(struct pl_admin_client *client, const char *path, struct pl_err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return pl_err_set(err, PL_EINVAL,
                          "the path is too long for a socket: it may have %zu bytes at most: %s",
                          sizeof address.sun_path - 1, path);
    memcpy(address.sun_path, path, strlen(path) + 1);
    client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (client->fd >= 0 &&
        connect(client->fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return 0;
    return pl_err_set(err, PL_ENETWORK, "no host listens at %s: %s", path, strerror(errno));
}

int pl_admin_connect(struct pl_admin_client *client, const struct pl_flags *flags,
                     struct pl_err *err)
{
    char found[PL_ADMIN_PATH];
    *client = (struct pl_admin_client){.fd = -1};
    const char *path = pl_flags_text(flags, "admin-socket");
    bool other = pl_flags_is_typed(flags, "pid") && !pl_flags_is_typed(flags, "admin-socket");
    if (path != NULL && !other)
        return connect_to(client, path, err);
    int rc = pl_admin_path_find((pid_t)pl_flags_integer(flags, "pid"), found, err);
    return rc == 0 ? connect_to(client, found, err) : rc;
}

void pl_admin_disconnect(struct pl_admin_client *client)
{
    if (client->fd >= 0)
        close(client->fd);
    pl_buf_deinit(&client->in);
}

struct pl_build *pl_admin_request_begin(const char *command)
{
    struct pl_build *b = pl_build_create(NULL);
    pl_build_object(b);
    pl_build_keyz(b, "v");
    pl_build_int(b, PL_ADMIN_VERSION);
    pl_build_keyz(b, "command");
    pl_build_strz(b, command);
    return b;
}

int pl_admin_send(struct pl_admin_client *client, struct pl_build *request, struct pl_err *err)
{
    struct pl_buf line = PL_BUF_INIT;
    pl_build_end(request);
    pl_build_write(&line, request, PL_WRITE_COMPACT);
    pl_buf_add_char(&line, '\n');
    size_t sent = 0;
    while (sent < line.len) {
        ssize_t n = send(client->fd, line.ptr + sent, line.len - sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        sent += (size_t)n;
    }
    int rc = sent == line.len
                 ? 0
                 : pl_err_set(err, PL_ENETWORK, "the host went away: %s", strerror(errno));
    pl_buf_deinit(&line);
    return rc;
}

/* Reads until there is a whole line; its length without the end. */
static int read_line(struct pl_admin_client *client, size_t *len, struct pl_err *err)
{
    size_t seen = 0;
    for (;;) {
        char *end = client->in.len > seen
                        ? memchr(client->in.ptr + seen, '\n', client->in.len - seen)
                        : NULL;
        if (end != NULL) {
            *len = (size_t)(end - client->in.ptr);
            return 0;
        }
        seen = client->in.len;
        if (seen > ANSWER_MAX)
            return pl_err_set(err, PL_ELIMIT, "the answer is larger than %zu bytes", ANSWER_MAX);
        pl_buf_reserve(&client->in, 65536);
        ssize_t n = recv(client->fd, client->in.ptr + seen, 65536, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return pl_err_set(err, PL_ENETWORK, "the host went away before it answered");
        client->in.len += (size_t)n;
    }
}

int pl_admin_receive(struct pl_admin_client *client, struct pl_doc **result, bool *more,
                     struct pl_err *err)
{
    size_t len = 0;
    struct pl_scratch scratch;
    const struct pl_scan_options options = {.max_bytes = ANSWER_MAX};
    *result = NULL;
    int rc = read_line(client, &len, err);
    if (rc != 0)
        return rc;
    struct pl_doc *line = pl_scan_text(pl_slice(client->in.ptr, len), &options, err);
    pl_buf_drop_front(&client->in, len + 1);
    if (line == NULL)
        return err->code;
    struct pl_node root = pl_doc_root(line);
    *more = pl_node_bool(pl_node_getz(root, "more"));
    if (pl_node_bool(pl_node_getz(root, "ok"))) {
        *result = pl_doc_from_node(pl_node_getz(root, "result"), NULL);
    } else {
        struct pl_slice message = pl_node_str(pl_node_getz(root, "error"), &scratch);
        rc = pl_err_set(err, PL_EAPI, "%.*s", PL_FMT(message));
    }
    pl_doc_unref(line);
    return rc;
}

struct pl_doc *pl_admin_ask(struct pl_admin_client *client, struct pl_build *request,
                            struct pl_err *err)
{
    struct pl_doc *result = NULL;
    bool more;
    if (pl_admin_send(client, request, err) != 0 ||
        pl_admin_receive(client, &result, &more, err) != 0)
        return NULL;
    return result;
}

int pl_admin_failed(const struct pl_command *self, const struct pl_err *err)
{
    fprintf(stderr, "perilune %s: %s\n", self->name, err->message);
    return PL_EXIT_FAILURE;
}

struct pl_doc *pl_admin_ask_host(const struct pl_flags *flags, struct pl_build *request,
                                 struct pl_err *err)
{
    struct pl_admin_client client = {.fd = -1};
    struct pl_doc *answer = NULL;
    if (pl_admin_connect(&client, flags, err) == 0)
        answer = pl_admin_ask(&client, request, err);
    else
        pl_build_destroy(request);
    pl_admin_disconnect(&client);
    return answer;
}

int pl_admin_ask_json(const struct pl_flags *flags, const char *command, struct pl_buf *answer,
                      struct pl_err *err)
{
    struct pl_doc *result = pl_admin_ask_host(flags, pl_admin_request_begin(command), err);
    if (result == NULL)
        return err->code;
    pl_write(answer, pl_doc_root(result), PL_WRITE_COMPACT);
    pl_doc_unref(result);
    return 0;
}

/* `perilune reload --shadow`: sends the request, shows each key that differs as text or as a line
 * of JSON, and then the summary. An interrupt asks the host for its findings so far and shows them;
 * a second one ends the command. */
#include "operate/shadow_command.h"

#include "operate/show.h"
#include "value/write.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile sig_atomic_t interrupted;

static void on_shadow_signal(int signum)
{
    interrupted = signum;
}

struct shown {
    const struct pl_flags *flags;
    bool json;
    int64_t different;
};

/* ---- text ---- */

static void shadow_print_difference(struct pl_node difference)
{
    struct pl_scratch scratch;
    struct pl_slice note = pl_show_text(difference, "note", &scratch);
    pl_show_difference(difference, "running");
    if (pl_node_bool(pl_node_getz(difference, "more")))
        printf("      and more\n");
    if (note.len > 0)
        printf("      %.*s\n", PL_FMT(note));
}

static void print_key(struct pl_node line)
{
    struct pl_scratch s[3];
    struct pl_slice error = pl_show_text(line, "error", &s[2]);
    printf("controller %.*s, key %.*s\n", PL_FMT(pl_show_text(line, "controller", &s[0])),
           PL_FMT(pl_show_text(line, "key", &s[1])));
    if (error.len > 0)
        printf("  ! the candidate fails: %.*s\n", PL_FMT(error));
    for (struct pl_iter it = pl_iter(pl_node_getz(line, "differences")); pl_iter_next(&it);)
        shadow_print_difference(it.value);
}

static void print_names(struct pl_node line, const char *list, const char *text)
{
    struct pl_scratch scratch;
    for (struct pl_iter it = pl_iter(pl_node_getz(line, list)); pl_iter_next(&it);)
        printf("%s %.*s\n", text, PL_FMT(pl_node_str(it.value, &scratch)));
}

static void print_summary(struct pl_node line)
{
    printf("%lld of %lld keys differ (%lld runs in %.1f s)\n",
           (long long)pl_show_int(line, "different"), (long long)pl_show_int(line, "keys"),
           (long long)pl_show_int(line, "runs"), pl_node_double(pl_node_getz(line, "seconds")));
    if (!pl_node_bool(pl_node_getz(line, "all_keys")))
        printf("not every key was reached\n");
    if (pl_show_int(line, "left_out") > 0)
        printf("%lld differences are left out: too many\n",
               (long long)pl_show_int(line, "left_out"));
    if (pl_show_int(line, "skipped") > 0)
        printf(
            "%lld runs of the running scripts were not compared: too many at once, or disturbed\n",
            (long long)pl_show_int(line, "skipped"));
}

static int shadow_show(struct shown *shown, struct pl_node line, struct pl_err *err)
{
    struct pl_scratch scratch;
    struct pl_slice type = pl_show_text(line, "type", &scratch);
    if (pl_slice_eqz(type, "end"))
        return 0;
    if (pl_slice_eqz(type, "summary"))
        shown->different = pl_show_int(line, "different") + pl_show_int(line, "left_out");
    if (shown->json) {
        struct pl_buf text = PL_BUF_INIT;
        pl_write(&text, line, PL_WRITE_COMPACT);
        puts(pl_buf_z(&text));
        pl_buf_deinit(&text);
    } else if (pl_slice_eqz(type, "begun")) {
        print_names(line, "added", "new controller");
        print_names(line, "removed", "the candidate has no controller");
    } else if (pl_slice_eqz(type, "key")) {
        print_key(line);
    } else {
        print_summary(line);
    }
    bool written = fflush(stdout) == 0 && ferror(stdout) == 0;
    return written ? 0 : pl_err_set(err, PL_EIO, "the answer could not be written");
}

/* ---- asking ---- */

static struct pl_build *shadow_request_of(const struct pl_flags *flags, struct pl_err *err)
{
    struct pl_build *request = pl_admin_request_begin("shadow");
    pl_build_keyz(request, "paths");
    pl_build_array(request);
    for (size_t i = 0; i < flags->path_count; i++) {
        char *path = realpath(flags->paths[i], NULL);
        if (path == NULL || !pl_is_utf8(pl_slice_z(path))) {
            pl_err_set(err, PL_EINVAL, "%s: %s", flags->paths[i],
                       path == NULL ? strerror(errno) : "the path is not UTF-8");
            free(path);
            pl_build_destroy(request);
            return NULL;
        }
        pl_build_strz(request, path);
        free(path);
    }
    pl_build_end(request);
    pl_build_keyz(request, "duration_ns");
    pl_build_int(request, pl_flags_duration(flags, "duration"));
    pl_build_keyz(request, "keys");
    pl_build_int(request, pl_flags_integer(flags, "keys"));
    return request;
}

/* Over a separate connection: the first one waits for the answer. */
static void ask_to_end(const struct pl_flags *flags)
{
    struct pl_admin_client client;
    struct pl_err err;
    pl_err_clear(&err);
    if (pl_admin_connect(&client, flags, &err) == 0)
        pl_doc_unref(pl_admin_ask(&client, pl_admin_request_begin("shadow_stop"), &err));
    pl_admin_disconnect(&client);
}

/* Waits for data; the first signal requests the end, a second one ends at once. */
static void await(struct pl_admin_client *client, const struct pl_flags *flags,
                  const sigset_t *unblocked)
{
    struct pollfd fd = {.fd = client->fd, .events = POLLIN};
    struct sigaction usual = {.sa_handler = SIG_DFL};
    if (client->in.len > 0 && memchr(client->in.ptr, '\n', client->in.len) != NULL)
        return;
    while (ppoll(&fd, 1, NULL, unblocked) < 0 && errno == EINTR) {
        if (!interrupted)
            continue;
        interrupted = 0;
        sigaction(SIGINT, &usual, NULL);
        sigaction(SIGTERM, &usual, NULL);
        ask_to_end(flags);
    }
}

static int converse(struct pl_admin_client *client, struct shown *shown, struct pl_err *err)
{
    sigset_t blocked, usual;
    struct sigaction action = {.sa_handler = on_shadow_signal};
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, &usual);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    bool more = true;
    int rc = 0;
    while (more && rc == 0) {
        struct pl_doc *line = NULL;
        await(client, shown->flags, &usual);
        rc = pl_admin_receive(client, &line, &more, err);
        if (rc == 0)
            rc = shadow_show(shown, pl_doc_root(line), err);
        pl_doc_unref(line);
    }
    sigprocmask(SIG_SETMASK, &usual, NULL);
    return rc;
}

int pl_shadow_command(const struct pl_command *self, const struct pl_flags *flags)
{
    struct pl_admin_client client;
    struct pl_err err;
    struct shown shown = {.flags = flags,
                          .json = strcmp(pl_flags_text(flags, "output"), "json") == 0};
    pl_err_clear(&err);
    if (flags->path_count == 0)
        return pl_command_misuse(self, "--shadow needs the PATH... of a candidate");
    struct pl_build *request = shadow_request_of(flags, &err);
    int rc = request == NULL ? err.code : 0;
    if (rc != 0)
        return pl_admin_failed(self, &err);
    rc = pl_admin_connect(&client, flags, &err);
    if (rc == 0)
        rc = pl_admin_send(&client, request, &err);
    else
        pl_build_destroy(request);
    if (rc == 0)
        rc = converse(&client, &shown, &err);
    pl_admin_disconnect(&client);
    if (rc != 0)
        return pl_admin_failed(self, &err);
    return shown.different > 0 && pl_flags_switch(flags, "exit-code") ? PL_EXIT_FAILURE
                                                                      : PL_EXIT_OK;
}

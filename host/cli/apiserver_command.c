/* perilune apiserver: the embedded API server alone. */
#include "base/log.h"
#include "cli/command.h"
#include "cli/dev_server.h"
#include "cli/leave.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct pl_flag table[] = {
    {.name = "listen",
     .metavar = "HOST:PORT",
     .fallback = "127.0.0.1:0",
     .help = "address to serve on; port 0 is any free one"},
    {.name = "kubeconfig-out", .metavar = "FILE", .help = "write a kubeconfig for kubectl here"},
    {.name = "first-version",
     .type = PL_FLAG_INTEGER,
     .fallback = "0",
     .metavar = "N",
     .help = "resourceVersions go on from N, as after a backup was restored; 0: from the clock"},
    {.name = "data-dir", .type = PL_FLAG_LATER, .metavar = "DIR"},
};

/* "127.0.0.1:0" into its parts. */
static bool split_address(const char *text, char *host, size_t size, int *port)
{
    const char *colon = strrchr(text, ':');
    char *end;
    if (colon == NULL || (size_t)(colon - text) >= size)
        return false;
    long number = strtol(colon + 1, &end, 10);
    if (end == colon + 1 || *end != '\0' || number < 0 || number > 65535)
        return false;
    memcpy(host, text, (size_t)(colon - text));
    host[colon - text] = '\0';
    *port = (int)number;
    return true;
}

static void stop_loop(void *arg, int signum)
{
    PL_UNUSED(signum);
    pl_loop_stop(arg);
}

static int serve(const struct pl_flags *flags, const struct pl_apiserver_options *options,
                 struct pl_err *err)
{
    static const int signals[] = {SIGINT, SIGTERM};
    pl_leave_on_signals(PL_EXIT_OK);
    struct pl_loop *loop = pl_loop_create(pl_clock_system());
    struct pl_apiserver *server = pl_apiserver_create(loop, options, err);
    int rc = server != NULL ? 0 : err->code;
    const char *out = pl_flags_text(flags, "kubeconfig-out");
    if (rc == 0 && out != NULL)
        rc = pl_dev_kubeconfig(out, options->host, pl_apiserver_port(server), err);
    if (rc == 0 && pl_loop_watch_signals(loop, signals, 2, stop_loop, loop) != 0)
        rc = pl_err_set(err, PL_EIO, "signals can't be watched");
    if (rc == 0) {
        printf("serving on http://%s:%d\n", options->host, pl_apiserver_port(server));
        pl_command_flush();
        pl_loop_run(loop);
    }
    pl_loop_unwatch_signals(loop);
    if (server != NULL)
        pl_apiserver_destroy(server);
    pl_loop_destroy(loop);
    return rc;
}

int pl_command_apiserver(const struct pl_command *self, int argc, char *const *argv)
{
    struct pl_flags flags;
    int exit_code = PL_EXIT_OK;
    if (pl_command_flags(self, &flags, table, PL_ARRAY_LEN(table), argc, argv, &exit_code)) {
        char host[256];
        struct pl_apiserver_options options = {
            .host = host, .first_version = (uint64_t)pl_flags_integer(&flags, "first-version")};
        struct pl_err err;
        pl_err_clear(&err);
        if (!split_address(pl_flags_text(&flags, "listen"), host, sizeof(host), &options.port)) {
            fprintf(stderr, "perilune apiserver: --listen takes HOST:PORT, not \"%s\"\n",
                    pl_flags_text(&flags, "listen"));
            exit_code = PL_EXIT_USAGE;
        } else {
            if (serve(&flags, &options, &err) != 0) {
                fprintf(stderr, "perilune apiserver: %s\n", err.message);
                exit_code = PL_EXIT_FAILURE;
            }
        }
    }
    pl_flags_deinit(&flags);
    return exit_code;
}

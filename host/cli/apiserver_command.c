/* perilune apiserver: runs the embedded API server without a host. */
#include "apiserver/apiserver.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/dev_access.h"
#include "cli/terminate.h"
#include "cli/services.h"
#include "net/signals.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct pl_flag table[] = {
    {.name = "listen",
     .metavar = "HOST:PORT",
     .fallback = "127.0.0.1:0",
     .help = "address to serve on; port 0 is any free one"},
    {.name = "kubeconfig-out",
     .metavar = "FILE",
     .help = "write a kubeconfig for kubectl to this file: address, token, certificate"},
    {.name = "insecure",
     .type = PL_FLAG_SWITCH,
     .fallback = "false",
     .help = "plain HTTP without credentials: anyone who can connect may do everything"},
    {.name = "first-version",
     .type = PL_FLAG_INTEGER,
     .fallback = "0",
     .metavar = "N",
     .help = "first resourceVersion, as after a backup was restored; 0: taken from the clock"},
    {.name = "shard-selector",
     .type = PL_FLAG_SWITCH,
     .fallback = "true",
     .help = "filter by shardSelector, as with the feature gate ShardedListAndWatch"},
    {.name = "service",
     .metavar = "NS/NAME[:PORT]=HOST:PORT",
     .repeatable = true,
     .help = "address of a Service that webhooks are registered with (default port 443)"},
    {.name = "data-dir",
     .metavar = "DIR",
     .help =
         "store everything in this folder and continue with its content (default: memory only)"},
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
    if (*text == '[' && colon[-1] == ']') /* "[::1]:0" */
        snprintf(host, size, "%.*s", (int)(colon - text) - 2, text + 1);
    else
        snprintf(host, size, "%.*s", (int)(colon - text), text);
    *port = (int)number;
    return true;
}

static void stop_loop(void *arg, int signum)
{
    PL_UNUSED(signum);
    pl_loop_stop(arg);
}

/* Without a path for the kubeconfig it is written to a temporary file and its path is printed:
 * there is no other access. */
static int tell_access(const struct pl_flags *flags, const char *host, int port,
                       const struct pl_dev_access *access, char **temporary, struct pl_err *err)
{
    const char *out = pl_flags_text(flags, "kubeconfig-out");
    if (out != NULL)
        return pl_dev_kubeconfig(out, host, port, access, err);
    if (access == NULL)
        return 0;
    *temporary = pl_dev_temporary_kubeconfig(err);
    if (*temporary == NULL)
        return err->code;
    printf("kubeconfig: %s\n", *temporary);
    return pl_dev_kubeconfig(*temporary, host, port, access, err);
}

/* Until a signal. access NULL: plain http without credentials. */
static int apiserver_run(const struct pl_flags *flags, const struct pl_apiserver_options *options,
                         const struct pl_dev_access *access, struct pl_err *err)
{
    static const int signals[] = {SIGINT, SIGTERM};
    struct pl_loop *loop = pl_loop_create(pl_clock_system());
    struct pl_apiserver *server = pl_apiserver_create(loop, options, err);
    int rc = server != NULL ? 0 : err->code;
    char *temporary = NULL;
    if (rc == 0)
        rc = tell_access(flags, options->host, pl_apiserver_port(server), access, &temporary, err);
    struct pl_signals *watched =
        rc == 0 ? pl_signals_watch(loop, signals, 2, stop_loop, loop) : NULL;
    if (rc == 0 && watched == NULL)
        rc = pl_err_set(err, PL_EIO, "signals can't be watched");
    if (rc == 0) {
        bool bracket = strchr(options->host, ':') != NULL;
        printf("serving on %s://%s%s%s:%d\n", access != NULL ? "https" : "http", bracket ? "[" : "",
               options->host, bracket ? "]" : "", pl_apiserver_port(server));
        pl_command_flush();
        pl_loop_run(loop);
    }
    pl_dev_temporary_remove(temporary);
    pl_signals_unwatch(watched);
    if (server != NULL)
        pl_apiserver_destroy(server);
    pl_loop_destroy(loop);
    return rc;
}

static void apiserver_warn(const char *host, bool insecure)
{
    if (!pl_apiserver_is_loopback(host))
        fprintf(stderr,
                "perilune apiserver: warning: %s is not a loopback address: other machines reach "
                "this server%s\n",
                host, insecure ? ", and may do everything on it without credentials" : "");
}

static int apiserver_serve(const struct pl_flags *flags, struct pl_apiserver_options *options,
                           struct pl_err *err)
{
    struct pl_dev_access access = {.token = ""};
    pl_terminate_on_signals(PL_EXIT_OK); /* keys take a while to make */
    bool insecure = pl_flags_switch(flags, "insecure");
    int rc = insecure ? 0 : pl_dev_access_make(&access, options->host, err);
    apiserver_warn(options->host, insecure);
    const char *out = pl_flags_text(flags, "kubeconfig-out");
    if (rc == 0 && !insecure && out != NULL)
        pl_dev_access_keep_token(&access, out);
    if (!insecure) {
        options->token = access.token;
        options->cert_pem = access.cert_pem;
        options->key_pem = access.key_pem;
    }
    if (rc == 0)
        rc = apiserver_run(flags, options, insecure ? NULL : &access, err);
    pl_dev_access_deinit(&access);
    return rc;
}

/* Reads services and address from the flags; false: they are invalid, and the error was printed. */
static bool read_places(const struct pl_flags *flags, struct pl_services *services, char *host,
                        size_t size, int *port)
{
    struct pl_err err;
    pl_err_clear(&err);
    int rc = pl_services_read(pl_flags_all(flags, "service"), services, &err);
    if (rc == 0 && !split_address(pl_flags_text(flags, "listen"), host, size, port))
        rc = pl_err_set(&err, PL_EINVAL, "--listen takes HOST:PORT, not \"%s\"",
                        pl_flags_text(flags, "listen"));
    if (rc != 0)
        fprintf(stderr, "perilune apiserver: %s\n", err.message);
    return rc == 0;
}

int pl_command_apiserver(const struct pl_command *self, int argc, char *const *argv)
{
    struct pl_flags flags;
    int exit_code = PL_EXIT_OK;
    if (pl_command_flags(self, &flags, table, PL_ARRAY_LEN(table), argc, argv, &exit_code)) {
        char host[256];
        struct pl_services services;
        struct pl_apiserver_options options = {
            .host = host,
            .no_shard_selector = !pl_flags_switch(&flags, "shard-selector"),
            .data_dir = pl_flags_text(&flags, "data-dir"),
            .services = {pl_services_find, &services},
            .first_version = (uint64_t)pl_flags_integer(&flags, "first-version")};
        struct pl_err err;
        pl_err_clear(&err);
        if (!read_places(&flags, &services, host, sizeof(host), &options.port)) {
            exit_code = PL_EXIT_USAGE;
        } else if (apiserver_serve(&flags, &options, &err) != 0) {
            fprintf(stderr, "perilune apiserver: %s\n", err.message);
            exit_code = PL_EXIT_FAILURE;
        }
        pl_services_deinit(&services);
    }
    pl_flags_deinit(&flags);
    return exit_code;
}

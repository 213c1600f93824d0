/* The embedded API server alone, for tests: prints the path of a kubeconfig and serves
 * until SIGTERM or SIGINT.
 *
 *     apiserver-main KUBECONFIG-PATH [--port N] [--token TEXT] [--history N] [--bookmark-ms N]
 */
#include "apiserver/apiserver.h"

#include "net/signals.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void on_signal(void *arg, int signum)
{
    PL_UNUSED(signum);
    pl_loop_stop(arg);
}

static int write_kubeconfig(const char *path, int port, const char *token)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        perror(path);
        return 1;
    }
    fprintf(file,
            "apiVersion: v1\nkind: Config\ncurrent-context: embedded\n"
            "contexts:\n- name: embedded\n  context: {cluster: embedded, user: embedded}\n"
            "clusters:\n- name: embedded\n  cluster: {server: 'http://127.0.0.1:%d'}\n"
            "users:\n- name: embedded\n  user: {%s%s}\n",
            port, token != NULL ? "token: " : "", token != NULL ? token : "");
    fclose(file);
    return 0;
}

int main(int argc, char **argv)
{
    static const int signums[] = {SIGTERM, SIGINT};
    struct pl_apiserver_options options = {0};
    struct pl_err err = {0};
    if (argc < 2) {
        fprintf(stderr, "apiserver-main KUBECONFIG-PATH [--port N] [--token TEXT] [--history N] "
                        "[--bookmark-ms N]\n");
        return 2;
    }
    for (int i = 2; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--port") == 0)
            options.port = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--token") == 0)
            options.token = argv[i + 1];
        else if (strcmp(argv[i], "--history") == 0)
            options.history = (size_t)atol(argv[i + 1]);
        else if (strcmp(argv[i], "--bookmark-ms") == 0)
            options.bookmark_ns = atol(argv[i + 1]) * PL_MS;
    }
    struct pl_loop *loop = pl_loop_create(pl_clock_system());
    struct pl_apiserver *server = pl_apiserver_create(loop, &options, &err);
    if (server == NULL) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    int code = write_kubeconfig(argv[1], pl_apiserver_port(server), options.token);
    struct pl_signals *signals =
        pl_signals_watch(loop, signums, PL_ARRAY_LEN(signums), on_signal, loop);
    if (code == 0) {
        printf("%s\n", argv[1]);
        fflush(stdout);
        pl_loop_run(loop);
    }
    pl_signals_unwatch(signals);
    pl_apiserver_destroy(server);
    for (int i = 0; i < 10; i++)
        pl_loop_turn(loop, 0);
    pl_loop_destroy(loop);
    return code;
}

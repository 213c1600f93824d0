/* An API server for measuring clients: see README.md, "The load server".
 *
 *     bench-load-server [--pods N] [--websites N] [--children N] [--cert FILE --key FILE]
 *
 * Prints its ports as a line of JSON when it is ready and serves until SIGTERM or SIGINT. */
#include "load.h"

#include "base/alloc.h"
#include "base/file.h"
#include "net/signals.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OBJECTS = 2000000 };

struct options {
    uint32_t pods, websites, children; /* children: pages a website */
    const char *cert, *key;
};

struct servers {
    struct pl_server *plain, *tls, *control;
};

static void on_signal(void *arg, int signum)
{
    PL_UNUSED(signum);
    pl_loop_stop(arg);
}

static bool take_number(const char *text, uint32_t *out)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    *out = (uint32_t)number;
    return *text != '\0' && *end == '\0' && number <= MOST_OBJECTS;
}

static bool parse(int argc, char **argv, struct options *options)
{
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        bool good = *value != '\0';
        if (strcmp(name, "--pods") == 0)
            good = good && take_number(value, &options->pods);
        else if (strcmp(name, "--websites") == 0)
            good = good && take_number(value, &options->websites);
        else if (strcmp(name, "--children") == 0)
            good = good && take_number(value, &options->children);
        else if (strcmp(name, "--cert") == 0)
            options->cert = value;
        else if (strcmp(name, "--key") == 0)
            options->key = value;
        else
            good = false;
        if (!good) {
            fprintf(stderr,
                    "load-server: %s %s is not understood\nusage: bench-load-server [--pods N] "
                    "[--websites N] [--children N] [--cert FILE --key FILE]\n",
                    name, value);
            return false;
        }
    }
    return (options->cert == NULL) == (options->key == NULL);
}

static struct pl_server *listen_on(struct load *load, const struct pl_server_ops *ops,
                                   const char *cert, const char *key)
{
    struct pl_err err = {0};
    struct pl_server_options options = {
        .host = "127.0.0.1",
        .cert_pem = cert,
        .key_pem = key,
        .idle_ms = 3600 * 1000, /* slow clients are measured, not disconnected */
        .max_unread = (size_t)4 << 30,
    };
    struct pl_server *server = pl_server_create(load->loop, &options, ops, load, &err);
    if (server == NULL)
        fprintf(stderr, "load-server: %s\n", err.message);
    return server;
}

static bool start(struct load *load, const struct options *options, struct servers *servers)
{
    servers->plain = listen_on(load, &load_api_ops, NULL, NULL);
    servers->control = listen_on(load, &load_control_ops, NULL, NULL);
    if (servers->plain == NULL || servers->control == NULL)
        return false;
    if (options->cert == NULL)
        return true;
    struct pl_buf cert = PL_BUF_INIT, key = PL_BUF_INIT;
    struct pl_err err = {0};
    if (pl_file_read(options->cert, 1 << 20, &cert, &err) == 0 &&
        pl_file_read(options->key, 1 << 20, &key, &err) == 0)
        servers->tls = listen_on(load, &load_api_ops, pl_buf_z(&cert), pl_buf_z(&key));
    else
        fprintf(stderr, "load-server: %s\n", err.message);
    pl_buf_deinit(&cert);
    pl_buf_deinit(&key);
    return servers->tls != NULL;
}

static void init(struct load *load, const struct options *options)
{
    load->rv = LOAD_FIRST_NUMBER;
    load->watch_list = true;
    load_kind_init(&load->kinds[LOAD_PODS], LOAD_PODS, options->pods, NULL);
    load_kind_init(&load->kinds[LOAD_WEBSITES], LOAD_WEBSITES, options->websites, NULL);
    load_kind_init(&load->kinds[LOAD_PAGES], LOAD_PAGES, options->websites * options->children,
                   &load->kinds[LOAD_WEBSITES]);
    for (int i = 0; i < LOAD_KINDS; i++)
        pl_list_init(&load->watches[i]);
    load->emitter = load_emitter_create(load);
}

static void deinit(struct load *load)
{
    load_emitter_destroy(load->emitter);
    for (int i = 0; i < LOAD_KINDS; i++)
        load_kind_deinit(&load->kinds[i]);
    load_record_clear(&load->record);
}

int main(int argc, char **argv)
{
    static const int signums[] = {SIGTERM, SIGINT};
    struct options options = {.pods = 1000, .websites = 1000, .children = 3};
    struct servers servers = {0};
    if (!parse(argc, argv, &options))
        return 2;
    struct load load = {.loop = pl_loop_create(pl_clock_system())};
    init(&load, &options);
    bool good = start(&load, &options, &servers);
    if (good) {
        struct pl_signals *watched =
            pl_signals_watch(load.loop, signums, PL_ARRAY_LEN(signums), on_signal, load.loop);
        printf("{\"plain\":%d,\"tls\":%d,\"control\":%d}\n", pl_server_port(servers.plain),
               servers.tls != NULL ? pl_server_port(servers.tls) : 0,
               pl_server_port(servers.control));
        fflush(stdout);
        pl_loop_run(load.loop);
        pl_signals_unwatch(watched);
    }
    load_emitter_stop(load.emitter);
    pl_server_destroy(servers.plain);
    pl_server_destroy(servers.tls);
    pl_server_destroy(servers.control);
    for (int i = 0; i < 10; i++)
        pl_loop_turn(load.loop, 0);
    deinit(&load);
    for (int i = 0; i < 10; i++)
        pl_loop_turn(load.loop, 0);
    pl_loop_destroy(load.loop);
    return good ? 0 : 1;
}

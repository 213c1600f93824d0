/* The admin socket's server: from a line to a command, and from its result to a line.
 *
 * Each call is answered exactly once, now or later, even if its client has disconnected: then the
 * answer is dropped. A call that outlives the admin stays valid until it is answered. Other files
 * register their commands by name and function; this file knows none. Texts of scripts may be
 * invalid UTF-8 and are cleaned first. */
#include "admin/admin.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/log.h"
#include "base/nearest.h"
#include "admin/path.h"
#include "base/text.h"
#include "net/line_server.h"
#include "value/scan.h"
#include "value/write.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define COMMANDS_MAX 24
#define HOOKS_MAX    8

struct pl_admin {
    struct pl_admin_options o;
    struct pl_line_server *server; /* NULL: no socket */
    struct {
        const struct pl_admin_command *command;
        void *arg;
    } commands[COMMANDS_MAX];
    size_t command_count;
    struct {
        void (*add)(void *arg, struct pl_build *b);
        void *arg;
    } hooks[HOOKS_MAX];
    size_t hook_count;
    struct pl_list calls; /* not answered yet */
    struct pl_list ties;  /* struct pl_admin_tie */
};

struct pl_admin_call {
    struct pl_link link;           /* in the admin's calls */
    struct pl_admin *admin;        /* NULL: it is gone */
    struct pl_line_client *client; /* NULL: it has disconnected, or an ear gets the answer */
    struct pl_admin_ear ear;       /* line NULL: none */
    struct pl_doc *request;        /* counted */
    char **texts;                  /* owned: what pl_admin_text gave out */
    size_t text_count;
    void (*gone)(void *arg);
    void *gone_arg;
};

/* ---- answers ---- */

static void write_line(struct pl_admin_call *call, struct pl_slice member, struct pl_node result,
                       bool more)
{
    if (call->client == NULL && call->ear.line == NULL)
        return;
    struct pl_buf line = PL_BUF_INIT;
    bool ok = !pl_slice_eqz(member, "error");
    pl_buf_add_f(&line, "{\"v\":%d,\"ok\":%s,", PL_ADMIN_VERSION, ok ? "true" : "false");
    if (more)
        pl_buf_add_z(&line, "\"more\":true,");
    pl_buf_add_f(&line, "\"%.*s\":", PL_FMT(member));
    pl_write(&line, result, PL_WRITE_COMPACT);
    pl_buf_add_char(&line, '}');
    if (call->client != NULL)
        pl_line_write(call->client, pl_buf_slice(&line));
    else
        call->ear.line(call->ear.arg, pl_buf_slice(&line), ok);
    pl_buf_deinit(&line);
}

static void admin_finish(struct pl_admin_call *call)
{
    if (call->client != NULL)
        pl_line_end(call->client);
    pl_link_unlink(&call->link);
    for (size_t i = 0; i < call->text_count; i++)
        pl_free(call->texts[i]);
    pl_free(call->texts);
    pl_doc_unref(call->request);
    if (call->ear.ended != NULL)
        call->ear.ended(call->ear.arg);
    pl_free(call);
}

void pl_admin_more(struct pl_admin_call *call, struct pl_doc *result)
{
    write_line(call, pl_slice_z("result"), pl_doc_root(result), true);
    pl_doc_unref(result);
}

void pl_admin_reply(struct pl_admin_call *call, struct pl_doc *result)
{
    write_line(call, pl_slice_z("result"), pl_doc_root(result), false);
    pl_doc_unref(result);
    admin_finish(call);
}

void pl_admin_build_seconds(struct pl_build *b, const char *key, int64_t ns)
{
    pl_build_keyz(b, key);
    pl_build_double(b, (double)(ns / PL_MS) / 1000.0);
}

bool pl_admin_is_kind(const struct pl_kind *kind, const char *text)
{
    struct pl_kind asked;
    struct pl_err err;
    if (strchr(text, '/') == NULL)
        return strcasecmp(kind->kind, text) == 0;
    return pl_kind_parse(pl_slice_z(text), &asked, &err) == 0 && pl_kind_eq_group(kind, &asked);
}

struct pl_controller *pl_admin_find_controller(const struct pl_admin_call *call, const char *name,
                                               struct pl_err *err)
{
    struct pl_manager *manager = call->admin->o.manager;
    struct pl_controller *found = pl_manager_find(manager, pl_slice_z(name));
    if (found != NULL)
        return found;
    size_t count = pl_manager_count(manager);
    const char **names = pl_calloc(count + 1, sizeof *names);
    for (size_t i = 0; i < count; i++)
        names[i] = pl_controller_spec(pl_manager_at(manager, i))->name;
    const char *nearest = pl_nearest(pl_slice_z(name), names, count);
    pl_free(names);
    pl_err_clear(err);
    pl_err_set(err, PL_ENOTFOUND, "there is no controller \"%s\"%s%s%s", name,
               nearest != NULL ? "; did you mean \"" : "", nearest != NULL ? nearest : "",
               nearest != NULL ? "\"?" : "");
    return NULL;
}

void pl_admin_fail(struct pl_admin_call *call, const char *fmt, ...)
{
    char text[PL_ERR_MESSAGE];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    struct pl_build *b = pl_build_create(NULL);
    pl_build_text(b, pl_slice_z(text));
    struct pl_doc *message = pl_build_close(b);
    write_line(call, pl_slice_z("error"), pl_doc_root(message), false);
    pl_doc_unref(message);
    admin_finish(call);
}

/* ---- requests ---- */

struct pl_node pl_admin_request(const struct pl_admin_call *call)
{
    return pl_doc_root(call->request);
}

const struct pl_admin_options *pl_admin_host(const struct pl_admin_call *call)
{
    return &call->admin->o;
}

const char *pl_admin_text(struct pl_admin_call *call, const char *name)
{
    struct pl_scratch scratch;
    struct pl_slice text = pl_node_str(pl_node_getz(pl_admin_request(call), name), &scratch);
    if (text.ptr == NULL)
        return NULL;
    call->texts = pl_reallocarray(call->texts, call->text_count + 1, sizeof(char *));
    return call->texts[call->text_count++] = pl_text_copy(text);
}

void pl_admin_on_gone(struct pl_admin_call *call, void (*gone)(void *arg), void *arg)
{
    call->gone = gone;
    call->gone_arg = arg;
}

void pl_admin_build_more(const struct pl_admin_call *call, struct pl_build *b)
{
    for (size_t i = 0; i < call->admin->hook_count; i++)
        call->admin->hooks[i].add(call->admin->hooks[i].arg, b);
}

static void dispatch(struct pl_admin_call *call)
{
    struct pl_admin *admin = call->admin;
    const char *names[COMMANDS_MAX];
    int64_t version = 0;
    const char *name = pl_admin_text(call, "command");
    if (!pl_node_int(pl_node_getz(pl_admin_request(call), "v"), &version) ||
        version != PL_ADMIN_VERSION) {
        pl_admin_fail(call, "this host speaks version %d of the protocol; send \"v\":%d",
                      PL_ADMIN_VERSION, PL_ADMIN_VERSION);
        return;
    }
    for (size_t i = 0; i < admin->command_count; i++) {
        names[i] = admin->commands[i].command->name;
        if (name != NULL && strcmp(names[i], name) == 0) {
            admin->commands[i].command->run(admin->commands[i].arg, call);
            return;
        }
    }
    const char *best =
        name != NULL ? pl_nearest(pl_slice_z(name), names, admin->command_count) : NULL;
    pl_admin_fail(call, "unknown command \"%s\"%s%s%s", name != NULL ? name : "",
                  best != NULL ? "; did you mean \"" : "", best != NULL ? best : "",
                  best != NULL ? "\"?" : "");
}

static void on_admin_line(void *arg, struct pl_line_client *client, struct pl_slice line)
{
    struct pl_admin *admin = arg;
    struct pl_err err;
    struct pl_admin_call *call = PL_NEW(struct pl_admin_call);
    call->admin = admin;
    call->client = client;
    pl_line_set_data(client, call);
    pl_list_push(&admin->calls, &call->link);
    call->request = pl_scan_text(line, NULL, &err);
    if (call->request == NULL)
        pl_admin_fail(call, "a request is one line of JSON: %s", err.message);
    else
        dispatch(call);
}

void pl_admin_run(struct pl_admin *admin, struct pl_doc *request, const struct pl_admin_ear *ear)
{
    pl_loop_require(admin->o.loop);
    struct pl_admin_call *call = PL_NEW(struct pl_admin_call);
    call->admin = admin;
    call->ear = *ear;
    call->request = request;
    pl_list_push(&admin->calls, &call->link);
    dispatch(call);
}

static void on_admin_gone(void *arg, struct pl_line_client *client)
{
    struct pl_admin_call *call = pl_line_data(client);
    PL_UNUSED(arg);
    call->client = NULL;
    if (call->gone != NULL)
        call->gone(call->gone_arg);
}

/* ---- state that ends with its connection ---- */

void pl_admin_tie(struct pl_admin_call *call, struct pl_admin_tie *tie, int64_t idle_ns,
                  void (*ended)(struct pl_admin_tie *tie))
{
    PL_REQUIRE(call->client != NULL);
    tie->client = call->client;
    tie->ended = ended;
    pl_list_push(&call->admin->ties, &tie->link);
    pl_line_set_idle(tie->client, idle_ns);
}

void pl_admin_untie(struct pl_admin_tie *tie)
{
    if (tie->client == NULL)
        return;
    pl_line_set_idle(tie->client, 0);
    pl_link_unlink(&tie->link);
    tie->client = NULL;
}

bool pl_admin_is_tied(const struct pl_admin_tie *tie, const struct pl_admin_call *call)
{
    return tie->client != NULL && tie->client == call->client;
}

static void on_admin_end(void *arg, struct pl_line_client *client)
{
    struct pl_admin *admin = arg;
    PL_LIST_FOR (link, &admin->ties) {
        struct pl_admin_tie *tie = PL_CONTAINER_OF(link, struct pl_admin_tie, link);
        if (tie->client != client)
            continue;
        pl_link_unlink(&tie->link);
        tie->client = NULL;
        tie->ended(tie);
    }
}

/* ---- life ---- */

void pl_admin_add(struct pl_admin *admin, const struct pl_admin_command *command, void *arg)
{
    if (admin->command_count == COMMANDS_MAX)
        return;
    admin->commands[admin->command_count].command = command;
    admin->commands[admin->command_count++].arg = arg;
}

void pl_admin_add_status(struct pl_admin *admin, void (*add)(void *arg, struct pl_build *b),
                         void *arg)
{
    if (admin->hook_count == HOOKS_MAX)
        return;
    admin->hooks[admin->hook_count].add = add;
    admin->hooks[admin->hook_count++].arg = arg;
}

static int admin_listen_at(struct pl_admin *admin, struct pl_err *err)
{
    static const struct pl_line_ops ops = {on_admin_line, on_admin_gone, on_admin_end};
    const struct pl_admin_options *o = &admin->o;
    char made[PL_ADMIN_PATH];
    const char *path = o->path != NULL ? o->path : made;
    if (o->path != NULL && strcmp(o->path, "0") == 0)
        return 0;
    if (o->path == NULL && pl_admin_path_make(made, err) != 0)
        return err->code;
    admin->server = pl_line_server_create(o->loop, path, &ops, admin, err);
    if (admin->server == NULL)
        return err->code;
    pl_log(PL_LOG_DEBUG, "admin socket", pl_str("path", path));
    return 0;
}

struct pl_admin *pl_admin_create(const struct pl_admin_options *options, struct pl_err *err)
{
    struct pl_admin *admin = PL_NEW(struct pl_admin);
    admin->o = *options;
    pl_list_init(&admin->calls);
    pl_list_init(&admin->ties);
    if (admin_listen_at(admin, err) == 0)
        return admin;
    pl_free(admin);
    return NULL;
}

void pl_admin_destroy(struct pl_admin *admin)
{
    struct pl_link *link;
    if (admin == NULL)
        return;
    pl_line_server_destroy(admin->server);
    /* Their owners still answer them, to no effect. */
    while ((link = pl_list_pop(&admin->calls)) != NULL)
        PL_CONTAINER_OF(link, struct pl_admin_call, link)->admin = NULL;
    pl_free(admin);
}

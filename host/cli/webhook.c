/* Webhooks on the command line: their flags, the options derived from them, their part of check and
 * status.
 *
 * The flags are read once, before the host is built; errors name the flag. This file serves and
 * registers nothing: host/webhook does, with the decisions of pl_webhook_choose. */
#include "cli/webhook.h"

#include "admin/admin.h"
#include "base/alloc.h"
#include "cli/services.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORT     9443
#define DRAIN_NS (3 * PL_SECOND)

/* ---- flags ---- */

/* A checked "NS/NAME"; both are owned by the caller. */
static void split_name(const char *text, char **ns, char **name)
{
    size_t len = strcspn(text, "/");
    *ns = pl_memdup0(text, len);
    *name = pl_strdup(text + len + 1);
}

static int read_service(const char *text, struct pl_webhook_options *out, struct pl_err *err)
{
    if (text == NULL)
        return 0;
    return pl_service_parse("webhook-service", text, strlen(text), &out->service_ns,
                            &out->service_name, &out->service_port, err);
}

static int read_url(const struct pl_flags *flags, struct pl_webhook_options *out,
                    struct pl_err *err)
{
    const char *text = pl_flags_text(flags, "webhook-url");
    if (text == NULL)
        return 0;
    size_t head = strlen("https://");
    bool good = strncmp(text, "https://", head) == 0 && text[head] != '\0' &&
                strpbrk(text + head, "/?#@ ") == NULL;
    out->url = text;
    if (good)
        return 0;
    pl_err_set(err, PL_EINVAL, "\"%.200s\": it must be https://HOST:PORT", text);
    return pl_flags_blame(flags, "webhook-url", err);
}

static int read_target(const struct pl_flags *flags, struct pl_webhook_options *out,
                       struct pl_err *err)
{
    const char *service = pl_flags_text(flags, "webhook-service");
    const char *url = pl_flags_text(flags, "webhook-url");
    out->secret = pl_flags_text(flags, "webhook-secret");
    out->registers = pl_flags_switch(flags, "webhook-register");
    out->self_signed = pl_flags_switch(flags, "webhook-self-signed");
    out->keep = pl_flags_switch(flags, "webhook-keep");
    if (service != NULL && url != NULL)
        return pl_err_set(err, PL_EINVAL, "--webhook-service and --webhook-url exclude each other");
    if (out->cert_dir == NULL && !out->self_signed)
        return pl_err_set(err, PL_EINVAL, "--no-webhook-self-signed needs --webhook-cert-dir");
    int rc = read_service(service, out, err);
    return rc != 0 ? rc : read_url(flags, out, err);
}

void pl_webhook_options_deinit(struct pl_webhook_options *options)
{
    pl_free(options->service_ns);
    pl_free(options->service_name);
}

int pl_webhook_read(const struct pl_flags *flags, struct pl_webhook_options *out,
                    struct pl_err *err)
{
    bool in_cluster = getenv("KUBERNETES_SERVICE_HOST") != NULL;
    bool drains = pl_flags_text(flags, "webhook-drain") != NULL;
    *out = (struct pl_webhook_options){
        .cert_dir = pl_flags_text(flags, "webhook-cert-dir"),
        .client_ca = pl_flags_text(flags, "webhook-client-ca"),
        .drain_ns = drains       ? pl_flags_duration(flags, "webhook-drain")
                    : in_cluster ? DRAIN_NS
                                 : 0,
    };
    int rc = pl_bind_address_choose(pl_flags_text(flags, "webhook-bind-address"), PORT, in_cluster,
                                    &out->address, err);
    return rc != 0 ? pl_flags_blame(flags, "webhook-bind-address", err)
                   : read_target(flags, out, err);
}

/* ---- derived options ---- */

/* Outside of a cluster, certificates are kept in memory only. */
static void choose_secret(const struct pl_webhook_options *flags,
                          const struct pl_webhook_place *place, struct pl_webhook_names *names)
{
    if (flags->secret != NULL) {
        split_name(flags->secret, &names->secret_ns, &names->secret_name);
    } else if (place->ns != NULL && *place->ns != '\0') {
        names->secret_ns = pl_strdup(place->ns);
        names->secret_name = pl_strdup("perilune-webhook");
    }
}

static int choose_name(const struct pl_webhook_place *place, struct pl_webhook_names *names,
                       struct pl_err *err)
{
    if (place->lease_name != NULL)
        names->config_name = pl_strdup(place->lease_name);
    else if (place->first_controller != NULL)
        names->config_name = pl_format("perilune-%s", place->first_controller);
    else if (place->own_server)
        names->config_name = pl_strdup("perilune-dev");
    else
        return pl_err_set(
            err, PL_EINVAL,
            "registering webhooks needs --leader-elect-resource-name when the scripts declare no "
            "controller: the configurations have the name of the Lease");
    return 0;
}

int pl_webhook_choose(const struct pl_webhook_options *flags, const struct pl_webhook_place *place,
                      struct pl_webhook_names *names, struct pl_webhooks_options *out,
                      struct pl_err *err)
{
    bool reached = flags->url != NULL || flags->service_name != NULL;
    bool registers = flags->registers && (reached || place->own_server) && !place->dry_run;
    out->off = flags->address.off;
    out->is_default = flags->address.is_default;
    out->any_port = flags->address.is_default && place->own_server;
    out->host = flags->address.host;
    out->port = flags->address.port;
    out->cert_dir = flags->cert_dir;
    out->client_ca = flags->client_ca;
    out->drain_ns = flags->drain_ns;
    out->port_told = place->port_told;
    if (!place->own_server && !place->dry_run)
        choose_secret(flags, place, names);
    int rc = registers && !out->off ? choose_name(place, names, err) : 0;
    out->tell_unregistered = flags->registers && !registers;
    out->secret_ns = names->secret_ns;
    out->secret_name = names->secret_name;
    out->config_name = names->config_name;
    if (registers) {
        out->url = flags->url;
        out->service_ns = flags->service_ns;
        out->service_name = flags->service_name;
        out->service_port = flags->service_port;
        out->own_url = !reached;
        out->remove = place->ns == NULL && !flags->keep && !place->own_server;
    }
    return rc;
}

void pl_webhook_names_deinit(struct pl_webhook_names *names)
{
    pl_free(names->secret_ns);
    pl_free(names->secret_name);
    pl_free(names->config_name);
}

/* ---- /readyz ---- */

static void webhook_check(void *arg, struct pl_health_page *page)
{
    const struct pl_webhooks *webhooks = arg;
    struct pl_buf why = PL_BUF_INIT;
    bool elsewhere = false;
    if (!pl_webhooks_is_used(webhooks))
        return;
    bool ready = pl_webhooks_is_ready(webhooks, &why);
    ready = ready && pl_hooks_have_synced(pl_webhooks_hooks(webhooks), &why, &elsewhere);
    if (!ready && elsewhere)
        pl_health_note(page, "webhook", pl_buf_z(&why)); /* restarting this host would not help */
    else
        pl_health_say(page, "webhook", ready ? NULL : pl_buf_z(&why));
    pl_buf_deinit(&why);
}

void pl_webhook_add_check(struct pl_health *health, struct pl_webhooks *webhooks)
{
    pl_health_add_group(health, PL_PROBE_READY, webhook_check, webhooks);
}

/* ---- status ---- */

static void build_hook(void *arg, const struct pl_hook_status *status)
{
    struct pl_build *b = arg;
    char kind[PL_KIND_TEXT];
    struct pl_buf text = PL_BUF_INIT;
    if (status->spec->sort == PL_HOOK_CONVERT)
        pl_buf_add_f(&text, "%s/%s", status->kind->kind.group, status->kind->kind.kind);
    else
        pl_buf_add_z(&text, pl_kind_text(&status->kind->kind, kind));
    pl_build_object(b);
    pl_build_put_strz(b, "name", status->kind->name);
    pl_build_put_strz(b, "sort", pl_hook_sort_name(status->spec->sort));
    pl_build_put_str(b, "kind", pl_buf_slice(&text));
    pl_build_put_strz(b, "path", status->kind->path);
    pl_build_put_text(b, "declared_at", pl_slice_z(status->declared_at));
    pl_build_put_int(b, "in_flight", status->in_flight);
    pl_build_put_int(b, "requests", (int64_t)status->requests);
    pl_build_put_int(b, "denied", (int64_t)status->denied);
    pl_build_put_int(b, "errors", (int64_t)status->errors);
    pl_build_end(b);
    pl_buf_deinit(&text);
}

static void webhook_build_status(void *arg, struct pl_build *b)
{
    struct pl_webhooks *webhooks = arg;
    struct pl_buf why = PL_BUF_INIT;
    int64_t expiry_s = pl_webhooks_expiry(webhooks);
    if (!pl_hooks_any(pl_webhooks_hooks(webhooks)))
        return;
    pl_build_keyz(b, "webhook_server");
    pl_build_object(b);
    pl_build_put_strz(b, "address", pl_webhooks_address(webhooks));
    if (expiry_s > 0)
        pl_build_put_int(b, "certificate_expiry", expiry_s);
    if (pl_webhooks_is_incomplete(webhooks, &why))
        pl_build_put_text(b, "not_registered", pl_buf_slice(&why));
    pl_buf_deinit(&why);
    pl_build_end(b);
    pl_build_keyz(b, "webhooks");
    pl_build_array(b);
    pl_hooks_each(pl_webhooks_hooks(webhooks), build_hook, b);
    pl_build_end(b);
}

void pl_admin_add_webhooks(struct pl_admin *admin, struct pl_webhooks *webhooks)
{
    pl_admin_add_status(admin, webhook_build_status, webhooks);
}

/* ---- check ---- */

static void print_texts(const char *what, char *const *texts)
{
    for (size_t i = 0; texts != NULL && texts[i] != NULL; i++)
        printf("%s%s", i == 0 ? what : ",", texts[i]);
}

void pl_webhook_print(const struct pl_controller_spec *spec)
{
    const struct pl_hook_spec *hook = spec->hook;
    for (size_t i = 0; i < hook->kind_count; i++) {
        const struct pl_hook_kind *kind = &hook->kinds[i];
        char text[PL_KIND_TEXT];
        printf("webhook %s (%s)\n", kind->name, spec->declared_at);
        if (hook->sort == PL_HOOK_CONVERT) {
            printf("  %-8s %s/%s at %s\n", "convert", kind->kind.group, kind->kind.kind,
                   kind->path);
            continue;
        }
        printf("  %-8s %s at %s\n", pl_hook_sort_name(hook->sort), pl_kind_text(&kind->kind, text),
               kind->path);
        printf("  %-8s", "on");
        print_texts(" ", hook->operations);
        print_texts(" subresources=", hook->subresources);
        printf(" failure_policy=%s timeout=%ds\n", hook->ignore ? "Ignore" : "Fail",
               hook->timeout_s);
    }
}

#include "cli/webhook.h"

#include "admin/admin.h"

#include <stdio.h>
#include <stdlib.h>

#define PORT     9443
#define DRAIN_NS (3 * PL_SECOND)

/* ---- flags ---- */

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
    if (rc != 0)
        pl_err_prefix(err, "--webhook-bind-address");
    return rc;
}

/* ---- /readyz ---- */

static void check(void *arg, struct pl_health_page *page)
{
    const struct pl_webhooks *webhooks = arg;
    struct pl_buf why = PL_BUF_INIT;
    if (!pl_webhooks_is_used(webhooks))
        return;
    bool ready = pl_webhooks_is_ready(webhooks, &why);
    pl_health_say(page, "webhook", ready ? NULL : pl_buf_z(&why));
    pl_buf_deinit(&why);
}

void pl_webhook_add_check(struct pl_health *health, struct pl_webhooks *webhooks)
{
    pl_health_add_group(health, PL_PROBE_READY, check, webhooks);
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

static void build_status(void *arg, struct pl_build *b)
{
    struct pl_webhooks *webhooks = arg;
    int64_t expiry_s = pl_webhooks_expiry(webhooks);
    if (!pl_hooks_any(pl_webhooks_hooks(webhooks)))
        return;
    pl_build_keyz(b, "webhook_server");
    pl_build_object(b);
    pl_build_put_strz(b, "address", pl_webhooks_address(webhooks));
    if (expiry_s > 0)
        pl_build_put_int(b, "certificate_expiry", expiry_s);
    pl_build_end(b);
    pl_build_keyz(b, "webhooks");
    pl_build_array(b);
    pl_hooks_each(pl_webhooks_hooks(webhooks), build_hook, b);
    pl_build_end(b);
}

void pl_admin_add_webhooks(struct pl_admin *admin, struct pl_webhooks *webhooks)
{
    pl_admin_add_status(admin, build_status, webhooks);
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

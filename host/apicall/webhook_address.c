/* Where a webhook can be reached: at a URL, or behind a Service.
 *
 * No pods run here. A Service has an address only if it was given when the server was started
 * (pl_api_services), or if its type is ExternalName, as with kube-apiserver. Everything else is
 * refused with a reason; nothing is guessed. The certificate must always be for NAME.NAMESPACE.svc.
 */
#include "apicall/webhook_address.h"

#include "base/alloc.h"
#include "base/text.h"

#include <string.h>

static int by_url(struct pl_slice url, struct pl_api_webhook_address *out, struct pl_err *err)
{
    if (url.len < 9 || !pl_text_begins(url, "https://"))
        return pl_err_set(err, PL_EINVAL, "the webhook's url must begin with https://");
    out->url = pl_text_copy(url);
    return 0;
}

/* "HOST:PORT" is appended. */
static int address_find(struct pl_api *api, const struct pl_api_service *service,
                        struct pl_buf *where, struct pl_err *err)
{
    const struct pl_api_services *services = &api->services;
    if (services->find != NULL && services->find(services->arg, service, where))
        return 0;
    struct pl_arena arena = {0};
    const struct pl_api_entry *entry =
        pl_api_table_find(pl_api_builtin_table(api->registry, "", "services"),
                          pl_arena_f(&arena, "%s/%s", service->ns, service->name));
    pl_arena_deinit(&arena);
    if (entry == NULL)
        return pl_err_set(err, PL_ENOTFOUND, "service \"%s\" not found", service->name);
    struct pl_node spec = pl_node_getz(pl_doc_root(entry->doc), "spec");
    struct pl_scratch scratch;
    struct pl_slice name = pl_node_str(pl_node_getz(spec, "externalName"), &scratch);
    if (!pl_node_str_eq(pl_node_getz(spec, "type"), pl_slice_z("ExternalName")) || name.len == 0)
        return pl_err_set(
            err, PL_EUNSUPPORTED,
            "the Service \"%s\" in namespace \"%s\" has no endpoints, as this server "
            "runs no pods: say where it is (perilune apiserver --service, perilune dev "
            "--webhook-service), make it an ExternalName, or give clientConfig a url",
            service->name, service->ns);
    pl_buf_add_f(where, "%.*s:%d", PL_FMT(name), service->port);
    return 0;
}

static int by_service(struct pl_api *api, const struct pl_tree *tree,
                      struct pl_api_webhook_address *out, struct pl_err *err)
{
    struct pl_slice ns = pl_tree_text_at(tree, "namespace"), name = pl_tree_text_at(tree, "name");
    struct pl_slice path = pl_tree_text_at(tree, "path");
    int64_t port = 443;
    struct pl_buf where = PL_BUF_INIT;
    char *ns_z = pl_text_copy(ns), *name_z = pl_text_copy(name);
    pl_tree_integer(pl_tree_getz(tree, "port"), &port);
    const struct pl_api_service service = {.ns = ns_z, .name = name_z, .port = (int)port};
    int rc = address_find(api, &service, &where, err);
    if (rc == 0) {
        bool slash = path.len == 0 || path.ptr[0] != '/';
        out->url = pl_format("https://%s%s%.*s", pl_buf_z(&where), slash ? "/" : "", PL_FMT(path));
        out->server_name = pl_format("%s.%s.svc", name_z, ns_z);
    }
    pl_buf_deinit(&where);
    pl_free(ns_z);
    pl_free(name_z);
    return rc;
}

int pl_api_webhook_address(struct pl_api *api, const struct pl_tree *client,
                           struct pl_api_webhook_address *out, struct pl_err *err)
{
    struct pl_slice url = pl_tree_text_at(client, "url");
    *out = (struct pl_api_webhook_address){.url = NULL};
    if (url.len > 0)
        return by_url(url, out, err);
    return by_service(api, pl_tree_getz(client, "service"), out, err);
}

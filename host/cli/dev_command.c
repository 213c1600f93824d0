/* perilune dev PATH...: runs the host on the embedded API server. */
#include "base/log.h"
#include "cli/apply.h"
#include "cli/dev_access.h"
#include "cli/dev_account.h"
#include "cli/dev_server.h"
#include "cli/host.h"
#include "cli/terminate.h"

#include <stdio.h>
#include <string.h>

struct dev {
    const struct pl_command *command;
    atomic_int webhook_port; /* port of the host's webhooks; 0: none yet */
    struct pl_options options;
    struct pl_dev_access access;
    struct pl_dev_account account; /* of --as-serviceaccount */
    char *kubeconfig;              /* owned; NULL: not there yet */
};

/* The manifests are applied by the administrator, and also decide which kinds the roles name. */
static int prepare_cluster(void *arg, struct pl_cluster *cluster, struct pl_loop *loop,
                           struct pl_err *err)
{
    struct dev *dev = arg;
    char *const *scripts = dev->options.own_manifests ? dev->options.flags.paths : NULL;
    int rc = pl_apply_paths(scripts, dev->options.manifests, cluster, loop, err);
    if (rc == 0 && pl_flags_switch(&dev->options.flags, "as-serviceaccount"))
        rc = pl_dev_account_use(&dev->account, dev->command, &dev->options,
                                pl_site_client(pl_cluster_site(cluster)), err);
    return rc;
}

/* The Service of --webhook-service is this process. Runs on the server's thread: the flags that it
 * reads do not change. */
static bool find_service(void *arg, const struct pl_api_service *service, struct pl_buf *where)
{
    struct dev *dev = arg;
    const struct pl_webhook_options *own = &dev->options.webhook;
    int port = atomic_load(&dev->webhook_port);
    if (own->service_name == NULL || strcmp(own->service_name, service->name) != 0 ||
        strcmp(own->service_ns, service->ns) != 0 || own->service_port != service->port)
        return false;
    pl_buf_add_f(where, "127.0.0.1:%d", port > 0 ? port : own->address.port);
    return true;
}

static int run_against(struct dev *dev, int port, struct pl_err *err)
{
    dev->kubeconfig = pl_dev_temporary_kubeconfig(err);
    if (dev->kubeconfig == NULL)
        return err->code;
    int rc = pl_dev_kubeconfig(dev->kubeconfig, "127.0.0.1", port, &dev->access, err);
    if (rc != 0)
        return rc;
    printf("kubeconfig: %s\n", dev->kubeconfig);
    pl_command_flush();
    dev->options.kubeconfig.files = dev->kubeconfig;
    dev->options.own_server = true;
    dev->options.webhook_port = &dev->webhook_port;
    const struct pl_host_hooks hooks = {prepare_cluster, dev};
    return pl_host_run(&dev->options, &hooks);
}

/* Starts a server that only readers of the kubeconfig can use. */
static int dev_serve(struct dev *dev, struct pl_err *err)
{
    int rc = pl_dev_access_make(&dev->access, "127.0.0.1", err);
    if (rc != 0)
        return rc;
    bool filters = pl_flags_switch(&dev->options.flags, "shard-selector");
    const struct pl_apiserver_options options = {
        .token = dev->access.token,
        .no_shard_selector = !filters,
        .simulate = pl_flags_switch(&dev->options.flags, "simulate"),
        .services = {find_service, dev},
        .cert_pem = dev->access.cert_pem,
        .key_pem = dev->access.key_pem};
    struct pl_dev_server *server = pl_dev_server_start(&options, err);
    rc = server != NULL ? run_against(dev, pl_dev_server_port(server), err) : err->code;
    pl_dev_server_stop(server);
    return rc;
}

int pl_command_dev(const struct pl_command *self, int argc, char *const *argv)
{
    struct dev dev = {.command = self};
    struct pl_err err;
    pl_err_clear(&err);
    int exit_code = PL_EXIT_OK;
    if (pl_options_read(&dev.options, self, argc, argv, &exit_code)) {
        pl_terminate_on_signals(PL_EXIT_OK);
        int rc = dev_serve(&dev, &err);
        if (rc < 0) /* not an exit code of the host, which has reported its own errors */
            fprintf(stderr, "perilune dev: %s\n", err.message);
        exit_code = rc < 0 ? PL_EXIT_FAILURE : rc;
    }
    pl_dev_temporary_remove(dev.kubeconfig);
    pl_dev_account_deinit(&dev.account);
    pl_dev_access_deinit(&dev.access);
    pl_options_deinit(&dev.options);
    return exit_code;
}

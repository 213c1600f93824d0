/* perilune dev PATH...: the host on the embedded API server. */
#include "base/log.h"
#include "cli/apply.h"
#include "cli/dev_server.h"
#include "cli/host.h"
#include "cli/leave.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct dev {
    struct pl_options options;
    char folder[64];
    char kubeconfig[96];
};

/* A folder of our own for the kubeconfig, gone at the end. */
static int make_kubeconfig(struct dev *dev, int port, struct pl_err *err)
{
    const char *tmp = getenv("TMPDIR");
    if (tmp == NULL || strlen(tmp) > 40)
        tmp = "/tmp";
    snprintf(dev->folder, sizeof(dev->folder), "%s/perilune-XXXXXX", tmp);
    if (pl_leave_make_folder(dev->folder, "kubeconfig") != 0)
        return pl_err_set(err, PL_EIO, "%s: %s", dev->folder, strerror(errno));
    snprintf(dev->kubeconfig, sizeof(dev->kubeconfig), "%s/kubeconfig", dev->folder);
    return pl_dev_kubeconfig(dev->kubeconfig, "127.0.0.1", port, err);
}

static int apply_manifests(void *arg, struct pl_cluster *cluster, struct pl_loop *loop,
                           struct pl_err *err)
{
    struct dev *dev = arg;
    return pl_apply_paths(dev->options.manifests, cluster, loop, err);
}

static int run_against(struct dev *dev, int port, struct pl_err *err)
{
    int rc = make_kubeconfig(dev, port, err);
    if (rc != 0)
        return rc;
    printf("kubeconfig: %s\n", dev->kubeconfig);
    pl_command_flush();
    dev->options.kubeconfig.files = dev->kubeconfig;
    const struct pl_host_hooks hooks = {apply_manifests, dev};
    return pl_host_run(&dev->options, &hooks);
}

int pl_command_dev(const struct pl_command *self, int argc, char *const *argv)
{
    struct dev dev = {.folder = ""};
    struct pl_err err;
    pl_err_clear(&err);
    int exit_code = PL_EXIT_OK;
    if (pl_options_read(&dev.options, self, argc, argv, &exit_code)) {
        struct pl_dev_server *server = NULL;
        const struct pl_apiserver_options options = {.port = 0};
        pl_leave_on_signals(PL_EXIT_OK);
        int rc = 0;
        if ((server = pl_dev_server_start(&options, &err)) == NULL)
            rc = err.code;
        if (rc == 0)
            rc = run_against(&dev, pl_dev_server_port(server), &err);
        if (rc < 0) /* not an exit code of the host, which has spoken for itself */
            fprintf(stderr, "perilune dev: %s\n", err.message);
        exit_code = rc < 0 ? PL_EXIT_FAILURE : rc;
        pl_dev_server_stop(server);
        pl_leave_remove_folder();
    }
    pl_options_deinit(&dev.options);
    return exit_code;
}

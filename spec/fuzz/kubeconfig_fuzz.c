/* Kubeconfigs: an accepted one has a server with a valid address, and the input for an exec plugin
 * is JSON. Errors give a reason. */
#include "base/alloc.h"
#include "base/check.h"
#include "kube/exec_plugin.h"
#include "kube/kubeconfig.h"
#include "kube/proxy.h"
#include "value/scan.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_exec(const struct pl_kubeconfig *config)
{
    struct pl_buf info = PL_BUF_INIT;
    if (config->exec == NULL)
        return;
    PL_REQUIRE(config->exec->command != NULL && config->exec->api_version != NULL);
    pl_exec_info(config, &info);
    struct pl_doc *doc = pl_scan_text(pl_buf_slice(&info),
                                      &(struct pl_scan_options){.keep_managed_fields = true}, NULL);
    PL_REQUIRE(doc != NULL);
    pl_doc_unref(doc);
    pl_buf_deinit(&info);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const environ_of[] = {"PATH=/bin", "HOME=/nonexistent",
                                             "HTTPS_PROXY=proxy:3128", NULL};
    static int fd = -1;
    char path[64];
    if (fd < 0)
        fd = memfd_create("kubeconfig", 0);
    PL_REQUIRE(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct pl_kubeconfig_options options = {
        .files = path, .environ = environ_of, .root = "/nonexistent"};
    struct pl_kubeconfig config;
    struct pl_server_name name;
    struct pl_err err;
    pl_err_clear(&err);
    int rc = pl_kubeconfig_load(&options, &config, &err);
    PL_REQUIRE(rc == err.code && (rc == 0) == (err.message[0] == '\0'));
    if (rc == 0) {
        PL_REQUIRE(pl_server_name_parse(config.server, &name));
        PL_REQUIRE((config.cert_pem == NULL) == (config.key_pem == NULL));
        check_exec(&config);
    }
    pl_kubeconfig_deinit(&config);
    pl_err_clear(&err);
    options.files = NULL;
    rc = pl_kubeconfig_parse(pl_slice((const char *)data, size), "given", &options, &config, &err);
    PL_REQUIRE(rc == err.code && (rc == 0) == (err.message[0] == '\0'));
    if (rc == 0) /* nothing of this machine */
        PL_REQUIRE(config.exec == NULL && config.ca_file == NULL && config.token_file == NULL &&
                   config.cert_file == NULL && config.key_file == NULL);
    pl_kubeconfig_deinit(&config);
    return 0;
}

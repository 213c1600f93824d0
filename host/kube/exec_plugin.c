/* The protocol of exec plugins in both directions: the plugin's input, and its answer. This file
 * runs no process (credentials.c does that).
 *
 * The answer is untrusted: its kind and version must be the requested ones, a certificate needs its
 * key, a time must be valid. Messages quote only its version, as it contains secrets; these are
 * wiped when it is freed. */
#include "kube/exec_plugin.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "base/text.h"
#include "format/units.h"
#include "value/build.h"
#include "value/scan.h"
#include "value/write.h"

#include <strings.h>

static void add_str(struct pl_build *b, const char *key, const char *text)
{
    if (text == NULL)
        return;
    pl_build_put_strz(b, key, text);
}

static void add_cluster_config(struct pl_build *b, const struct pl_exec_plugin *plugin)
{
    if (plugin->cluster_config == NULL)
        return;
    struct pl_doc *doc = pl_scan_text(pl_slice_z(plugin->cluster_config),
                                      &(struct pl_scan_options){.keep_managed_fields = true}, NULL);
    pl_build_keyz(b, "config");
    pl_build_node(b, pl_doc_root(doc));
    pl_doc_unref(doc);
}

static void add_cluster(struct pl_build *b, const struct pl_kubeconfig *config)
{
    pl_build_keyz(b, "cluster");
    pl_build_object(b);
    add_str(b, "server", config->server);
    add_str(b, "tls-server-name", config->server_name);
    if (config->insecure) {
        pl_build_put_bool(b, "insecure-skip-tls-verify", true);
    }
    if (config->ca_pem != NULL) {
        struct pl_buf ca = PL_BUF_INIT;
        pl_base64_encode(pl_slice_z(config->ca_pem), &ca);
        add_str(b, "certificate-authority-data", pl_buf_z(&ca));
        pl_buf_deinit(&ca);
    }
    add_str(b, "proxy-url", config->proxy);
    add_cluster_config(b, config->exec);
    pl_build_end(b);
}

void pl_exec_info(const struct pl_kubeconfig *config, struct pl_buf *out)
{
    struct pl_build *b = pl_build_create(NULL);
    pl_build_object(b);
    add_str(b, "kind", "ExecCredential");
    add_str(b, "apiVersion", config->exec->api_version);
    pl_build_keyz(b, "spec");
    pl_build_object(b);
    pl_build_put_bool(b, "interactive", false);
    if (config->exec->provide_cluster_info)
        add_cluster(b, config);
    pl_build_end(b);
    pl_build_end(b);
    pl_build_write(out, b, PL_WRITE_COMPACT);
}

/* ---- the answer ---- */

static char *copy_str(struct pl_node node)
{
    struct pl_scratch scratch;
    struct pl_slice text = pl_node_str(node, &scratch);
    return text.len > 0 ? pl_text_copy(text) : NULL;
}

static int check_kind(struct pl_node root, const char *api_version, struct pl_err *err)
{
    struct pl_scratch scratch;
    if (!pl_node_str_eq(pl_node_getz(root, "kind"), pl_slice_z("ExecCredential")))
        return pl_err_set(err, PL_EINVAL, "the plugin's answer is not an ExecCredential");
    if (pl_node_str_eq(pl_node_getz(root, "apiVersion"), pl_slice_z(api_version)))
        return 0;
    struct pl_slice got = pl_node_str(pl_node_getz(root, "apiVersion"), &scratch);
    return pl_err_set(err, PL_EINVAL, "the plugin answered in version \"%.*s\", not in %s",
                      (int)(got.len < 80 ? got.len : 80), got.ptr ? got.ptr : "", api_version);
}

static int read_status(struct pl_node status, struct pl_exec_answer *answer, struct pl_err *err)
{
    struct pl_scratch scratch;
    struct pl_slice expires = pl_node_str(pl_node_getz(status, "expirationTimestamp"), &scratch);
    answer->token = copy_str(pl_node_getz(status, "token"));
    answer->cert_pem = copy_str(pl_node_getz(status, "clientCertificateData"));
    answer->key_pem = copy_str(pl_node_getz(status, "clientKeyData"));
    if (expires.len > 0 && !pl_time_parse(expires, &answer->expires_ns))
        return pl_err_set(err, PL_EINVAL, "the plugin's expirationTimestamp is not a time");
    if ((answer->cert_pem == NULL) != (answer->key_pem == NULL))
        return pl_err_set(err, PL_EINVAL,
                          "the plugin gave only one of clientCertificateData and clientKeyData");
    if (answer->token == NULL && answer->cert_pem == NULL)
        return pl_err_set(err, PL_EINVAL, "the plugin gave neither a token nor a certificate");
    return 0;
}

int pl_exec_answer_parse(struct pl_slice output, const char *api_version,
                         struct pl_exec_answer *answer, struct pl_err *err)
{
    *answer = (struct pl_exec_answer){.expires_ns = INT64_MAX};
    struct pl_err cause;
    struct pl_doc *doc = pl_scan_text(output, &(struct pl_scan_options){0}, &cause);
    if (doc == NULL)
        return pl_err_set(err, PL_EINVAL, "the plugin's answer is not JSON: %s", cause.message);
    struct pl_node root = pl_doc_root(doc);
    int code = check_kind(root, api_version, err);
    if (code == 0)
        code = read_status(pl_node_getz(root, "status"), answer, err);
    pl_doc_unref(doc);
    return code;
}

/* ---- secrets ---- */

/* "AWS_SECRET_ACCESS_KEY", "--client-secret" */
static bool names_secret(const char *name, size_t len)
{
    static const char words[][12] = {"token", "secret", "passw", "key", "credential"};
    for (size_t i = 0; i < PL_ARRAY_LEN(words); i++)
        for (size_t at = 0; at + strlen(words[i]) <= len; at++)
            if (strncasecmp(name + at, words[i], strlen(words[i])) == 0)
                return true;
    return false;
}

/* Adds each line, since output is shown line by line. */
static void add_lines(struct pl_slice text, struct pl_secrets *secrets)
{
    while (text.len > 0) {
        const char *end = pl_slice_chr(text, '\n');
        size_t len = end != NULL ? (size_t)(end - text.ptr) : text.len;
        if (memmem(text.ptr, len, "-----", 5) == NULL) /* a line of PEM's frame */
            pl_secrets_add(secrets, pl_slice(text.ptr, len));
        text = pl_slice(text.ptr + len, text.len - len);
        if (text.len > 0)
            text = pl_slice(text.ptr + 1, text.len - 1);
    }
}

/* "NAME=value"; for an argument without "=" the value is the next argument. */
static void add_named(const char *text, const char *next, struct pl_secrets *secrets)
{
    const char *equals = strchr(text, '=');
    size_t len = equals != NULL ? (size_t)(equals - text) : strlen(text);
    const char *value = equals != NULL ? equals + 1 : *text == '-' ? next : NULL;
    if (value != NULL && names_secret(text, len))
        add_lines(pl_slice_z(value), secrets);
}

void pl_exec_add_secrets(const struct pl_exec_plugin *plugin, struct pl_slice output,
                         struct pl_secrets *secrets)
{
    struct pl_scratch scratch;
    for (size_t i = 0; plugin->env != NULL && plugin->env[i] != NULL; i++)
        add_named(plugin->env[i], NULL, secrets);
    for (size_t i = 0; plugin->args != NULL && plugin->args[i] != NULL; i++)
        add_named(plugin->args[i], plugin->args[i + 1], secrets);
    struct pl_doc *doc = pl_scan_text(output, &(struct pl_scan_options){0}, NULL);
    struct pl_node status = pl_node_getz(pl_doc_root(doc), "status");
    add_lines(pl_node_str(pl_node_getz(status, "token"), &scratch), secrets);
    add_lines(pl_node_str(pl_node_getz(status, "clientKeyData"), &scratch), secrets);
    pl_doc_unref(doc);
}

void pl_exec_answer_deinit(struct pl_exec_answer *answer)
{
    pl_text_wipe(answer->token);
    pl_text_wipe(answer->key_pem);
    pl_free(answer->cert_pem);
    *answer = (struct pl_exec_answer){0};
}

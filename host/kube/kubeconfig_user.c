/* The `user:` part of a kubeconfig: our credentials. */
#include "kube/kubeconfig_impl.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "base/file.h"
#include "base/text.h"

#include <stdio.h>

int pl_config_bad(const struct pl_config_entry *entry, const char *field, struct pl_err *err,
                  const char *message)
{
    return pl_err_set(err, PL_EINVAL, "%s: %s[\"%s\"].%s.%s: %s", entry->file, entry->list,
                      entry->name, entry->part, field, message);
}

static int bad_type(const struct pl_config_entry *entry, const char *field, const char *want,
                    struct pl_node got, struct pl_err *err)
{
    char message[80];
    snprintf(message, sizeof message, "must be %s, not %s", want, pl_type_name(pl_node_type(got)));
    return pl_config_bad(entry, field, err, message);
}

int pl_config_str(const struct pl_config_entry *entry, const char *field, char **out,
                  struct pl_err *err)
{
    struct pl_node node = pl_node_getz(entry->node, field);
    struct pl_scratch scratch;
    *out = NULL;
    if (pl_node_is_none(node))
        return 0;
    if (pl_node_type(node) != PL_STRING)
        return bad_type(entry, field, "a string", node, err);
    struct pl_slice text = pl_node_str(node, &scratch);
    if (pl_slice_chr(text, '\0') != NULL)
        return pl_config_bad(entry, field, err, "holds a NUL byte");
    if (text.len > 0)
        *out = pl_text_copy(text);
    return 0;
}

int pl_config_bool(const struct pl_config_entry *entry, const char *field, bool *out,
                   struct pl_err *err)
{
    struct pl_node node = pl_node_getz(entry->node, field);
    if (!pl_node_is_none(node) && pl_node_type(node) != PL_BOOL)
        return bad_type(entry, field, "true or false", node, err);
    *out = pl_node_bool(node);
    return 0;
}

/* A copy of an array of strings, NULL-terminated; NULL when absent. */
static int str_list(const struct pl_config_entry *entry, const char *field, char ***out,
                    struct pl_err *err)
{
    struct pl_node node = pl_node_getz(entry->node, field);
    *out = NULL;
    if (pl_node_is_none(node))
        return 0;
    if (pl_node_type(node) != PL_ARRAY)
        return bad_type(entry, field, "a list of strings", node, err);
    *out = pl_calloc(pl_node_len(node) + 1, sizeof **out);
    struct pl_iter it = pl_iter(node);
    while (pl_iter_next(&it)) {
        struct pl_scratch scratch;
        struct pl_slice text = pl_node_str(it.value, &scratch);
        if (text.ptr == NULL)
            return bad_type(entry, field, "a list of strings", it.value, err);
        (*out)[it.index] = pl_text_copy(text);
    }
    return 0;
}

void pl_strs_free(char **strs)
{
    for (size_t i = 0; strs != NULL && strs[i] != NULL; i++)
        pl_free(strs[i]);
    pl_free(strs);
}

const char *pl_env_get(const char *const *environ, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; environ != NULL && environ[i] != NULL; i++) {
        if (strncmp(environ[i], name, len) == 0 && environ[i][len] == '=')
            return environ[i][len + 1] != '\0' ? environ[i] + len + 1 : NULL;
    }
    return NULL;
}

/* Resolves a path relative to the entry's file. */
static char *beside(const struct pl_config_entry *entry, const char *path)
{
    const char *slash = strrchr(entry->file, '/');
    if (path[0] == '/' || slash == NULL)
        return pl_strdup(path);
    return pl_format("%.*s/%s", (int)(slash - entry->file), entry->file, path);
}

static int read_into(const struct pl_config_entry *entry, const char *field, const char *path,
                     char **out, struct pl_err *err)
{
    struct pl_buf content = PL_BUF_INIT;
    struct pl_err cause;
    if (pl_file_read(path, PL_KUBECONFIG_BYTES, &content, &cause) != 0) {
        pl_buf_deinit(&content);
        return pl_config_bad(entry, field, err, cause.message);
    }
    *out = pl_buf_take(&content);
    return 0;
}

int pl_config_pem(const struct pl_config_entry *entry, const char *field, char **pem, char **file,
                  struct pl_err *err)
{
    char data_field[64], *data = NULL, *path = NULL;
    snprintf(data_field, sizeof data_field, "%s-data", field);
    int code = pl_config_str(entry, data_field, &data, err);
    if (code == 0)
        code = pl_config_str(entry, field, &path, err);
    if (code == 0 && data != NULL) {
        struct pl_buf bytes = PL_BUF_INIT;
        if (pl_base64_decode(pl_slice_z(data), &bytes))
            *pem = pl_buf_take(&bytes);
        else
            code = pl_config_bad(entry, data_field, err, "is not base64");
        pl_buf_deinit(&bytes);
    } else if (code == 0 && path != NULL) {
        *file = beside(entry, path);
        code = read_into(entry, field, *file, pem, err);
    }
    if (code == 0 && *pem != NULL && strstr(*pem, "-----BEGIN") == NULL)
        code = pl_config_bad(entry, data != NULL ? data_field : field, err, "is not in PEM form");
    pl_free(data);
    pl_free(path);
    return code;
}

static int read_token(const struct pl_config_entry *entry, struct pl_kubeconfig *config,
                      struct pl_err *err)
{
    char *path = NULL, *content = NULL;
    int code = pl_config_str(entry, "token", &config->token, err);
    if (code == 0)
        code = pl_config_str(entry, "tokenFile", &path, err);
    if (code != 0 || path == NULL)
        return code;
    config->token_file = beside(entry, path);
    pl_free(path);
    code = read_into(entry, "tokenFile", config->token_file, &content, err);
    /* While the file is unreadable, an inline token is used. */
    if (code != 0 || content == NULL)
        return config->token != NULL ? 0 : code;
    content[strcspn(content, " \t\r\n")] = '\0';
    pl_free(config->token);
    config->token = content;
    return 0;
}

static int read_basic(const struct pl_config_entry *entry, struct pl_kubeconfig *config,
                      struct pl_err *err)
{
    int code = pl_config_str(entry, "username", &config->username, err);
    if (code == 0)
        code = pl_config_str(entry, "password", &config->password, err);
    if (code != 0)
        return code;
    if (config->username == NULL && config->password != NULL)
        return pl_config_bad(entry, "password", err, "is given without a username");
    if (config->username != NULL && strchr(config->username, ':') != NULL)
        return pl_config_bad(entry, "username", err, "may not hold a colon");
    return 0;
}

static int read_impersonation(const struct pl_config_entry *entry, struct pl_kubeconfig *config,
                              struct pl_err *err)
{
    int code = pl_config_str(entry, "as", &config->impersonate_user, err);
    if (code == 0)
        code = pl_config_str(entry, "as-uid", &config->impersonate_uid, err);
    if (code == 0)
        code = str_list(entry, "as-groups", &config->impersonate_groups, err);
    if (code != 0)
        return code;
    if (!pl_node_is_none(pl_node_getz(entry->node, "as-user-extra")))
        return pl_config_bad(entry, "as-user-extra", err, "is not supported");
    if (config->impersonate_user == NULL &&
        (config->impersonate_uid != NULL || config->impersonate_groups != NULL))
        return pl_config_bad(entry, "as", err, "must be given with as-uid and as-groups");
    return 0;
}

/* ---- exec plugins ---- */

static void add_env(char **env, size_t *count, const char *name, size_t name_len, char *text)
{
    for (size_t i = 0; i < *count; i++) {
        if (strncmp(env[i], name, name_len) == 0 && env[i][name_len] == '=') {
            pl_free(env[i]);
            env[i] = text;
            return;
        }
    }
    env[(*count)++] = text;
}

/* The host's environment, with what the entry sets on top. */
static int read_exec_env(const struct pl_config_entry *exec, const char *const *environ,
                         struct pl_exec_plugin *plugin, struct pl_err *err)
{
    struct pl_node list = pl_node_getz(exec->node, "env");
    size_t count = 0, max = pl_node_len(list) + 1;
    if (!pl_node_is_none(list) && pl_node_type(list) != PL_ARRAY)
        return bad_type(exec, "env", "a list of {name, value}", list, err);
    for (size_t i = 0; environ != NULL && environ[i] != NULL; i++)
        max++;
    plugin->env = pl_calloc(max, sizeof *plugin->env);
    for (size_t i = 0; environ != NULL && environ[i] != NULL; i++)
        plugin->env[count++] = pl_strdup(environ[i]);
    struct pl_iter it = pl_iter(list);
    while (pl_iter_next(&it)) {
        struct pl_scratch scratch[2];
        struct pl_slice name = pl_node_str(pl_node_getz(it.value, "name"), &scratch[0]);
        struct pl_slice value = pl_node_str(pl_node_getz(it.value, "value"), &scratch[1]);
        if (name.len == 0 || pl_slice_chr(name, '=') != NULL || value.ptr == NULL)
            return pl_config_bad(exec, "env", err, "must be a list of {name, value}");
        add_env(plugin->env, &count, name.ptr, name.len,
                pl_format("%.*s=%.*s", PL_FMT(name), PL_FMT(value)));
    }
    return 0;
}

static int check_exec(const struct pl_config_entry *exec, const struct pl_exec_plugin *plugin,
                      struct pl_err *err)
{
    static const char known[][40] = {"client.authentication.k8s.io/v1",
                                     "client.authentication.k8s.io/v1beta1"};
    if (plugin->command == NULL)
        return pl_config_bad(exec, "command", err, "is missing");
    if (plugin->api_version == NULL)
        return pl_config_bad(exec, "apiVersion", err, "is missing");
    for (size_t i = 0; i < PL_ARRAY_LEN(known); i++) {
        if (strcmp(plugin->api_version, known[i]) == 0)
            return 0;
    }
    char message[160];
    snprintf(message, sizeof message, "%.60s is not supported; use %s or %s", plugin->api_version,
             known[0], known[1]);
    return pl_config_bad(exec, "apiVersion", err, message);
}

static int read_exec(const struct pl_config_entry *user, const char *const *environ,
                     struct pl_kubeconfig *config, struct pl_err *err)
{
    struct pl_config_entry exec = *user;
    exec.node = pl_node_getz(user->node, "exec");
    exec.part = "user.exec";
    if (pl_node_is_none(exec.node))
        return 0;
    struct pl_exec_plugin *plugin = config->exec = PL_NEW(struct pl_exec_plugin);
    char *mode = NULL;
    int code = pl_config_str(&exec, "command", &plugin->command, err);
    if (code == 0)
        code = pl_config_str(&exec, "apiVersion", &plugin->api_version, err);
    if (code == 0)
        code = pl_config_str(&exec, "installHint", &plugin->install_hint, err);
    if (code == 0)
        code = pl_config_bool(&exec, "provideClusterInfo", &plugin->provide_cluster_info, err);
    if (code == 0)
        code = str_list(&exec, "args", &plugin->args, err);
    if (code == 0)
        code = pl_config_str(&exec, "interactiveMode", &mode, err);
    if (code == 0 && mode != NULL && strcmp(mode, "Always") == 0)
        code = pl_config_bad(&exec, "interactiveMode", err,
                             "Always: a host without a terminal cannot run this plugin");
    pl_free(mode);
    if (code == 0)
        code = check_exec(&exec, plugin, err);
    if (code == 0)
        code = read_exec_env(&exec, environ, plugin, err);
    if (code == 0 && plugin->command != NULL && plugin->command[0] != '/' &&
        strchr(plugin->command, '/') != NULL) {
        char *command = beside(&exec, plugin->command);
        pl_free(plugin->command);
        plugin->command = command;
    }
    return code;
}

int pl_config_user(const struct pl_config_entry *entry, const char *const *environ,
                   struct pl_kubeconfig *config, struct pl_err *err)
{
    if (!pl_node_is_none(pl_node_getz(entry->node, "auth-provider")))
        return pl_config_bad(entry, "auth-provider", err,
                             "was removed from Kubernetes clients; use an exec plugin");
    int code =
        pl_config_pem(entry, "client-certificate", &config->cert_pem, &config->cert_file, err);
    if (code == 0)
        code = pl_config_pem(entry, "client-key", &config->key_pem, &config->key_file, err);
    if (code == 0 && config->cert_pem != NULL && config->key_pem == NULL)
        code = pl_config_bad(entry, "client-key", err, "is missing beside client-certificate");
    if (code == 0 && config->key_pem != NULL && config->cert_pem == NULL)
        code = pl_config_bad(entry, "client-certificate", err, "is missing beside client-key");
    if (code == 0)
        code = read_token(entry, config, err);
    if (code == 0)
        code = read_basic(entry, config, err);
    if (code == 0)
        code = read_impersonation(entry, config, err);
    return code != 0 ? code : read_exec(entry, environ, config, err);
}

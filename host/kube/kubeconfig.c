/* Kubeconfig files, merged as kubectl merges them: of two entries with the same name, the first
 * file's counts. The sources in order: the flag, $KUBECONFIG, the pod's service account, the home
 * folder.
 *
 * Errors name the file, the entry and the valid form, and list the existing names. Reading is
 * synchronous and limited in size and number of files. It happens once at the start; credentials.c
 * handles later changes. */
#include "kube/kubeconfig.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "format/yaml.h"
#include "kube/kubeconfig_impl.h"
#include "kube/proxy.h"
#include "net/http_server.h"
#include "value/write.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define SERVICE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"
#define MAX_FILES       64

/* The files of one $KUBECONFIG, in order. Of entries with the same name the first file's counts, as
 * in kubectl. */
struct files {
    struct {
        char *path;
        struct pl_docs docs; /* none or one */
    } at[MAX_FILES];
    size_t count;
};

static void files_deinit(struct files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        pl_free(files->at[i].path);
        pl_docs_deinit(&files->at[i].docs);
    }
}

static struct pl_node root_of(const struct files *files, size_t i)
{
    const struct pl_docs *docs = &files->at[i].docs;
    return docs->count > 0 ? pl_doc_root(docs->items[0]) : PL_NODE_MISSING;
}

/* "a", or "a, b" for messages. */
static char *names_of(const struct files *files)
{
    struct pl_buf out = PL_BUF_INIT;
    for (size_t i = 0; i < files->count; i++)
        pl_buf_add_f(&out, "%s%s", i ? ", " : "", files->at[i].path);
    return pl_buf_take(&out);
}

static int files_add_text(struct files *files, const char *name, struct pl_slice text,
                          struct pl_err *err)
{
    struct pl_docs *docs = &files->at[files->count - 1].docs;
    int code = pl_yaml_decode(text, docs, err);
    if (code != 0) {
        if (err != NULL && err->line > 0)
            pl_err_prefix(err, "%s:%d", name, err->line);
        else
            pl_err_prefix(err, "%s", name);
    } else if (docs->count > 1 ||
               (docs->count == 1 && pl_node_type(pl_doc_root(docs->items[0])) != PL_OBJECT)) {
        code = pl_err_set(err, PL_EINVAL, "%s is not a kubeconfig", name);
    }
    return code;
}

/* Adds a file, whose documents follow. Returns its name. */
static const char *files_begin(struct files *files, struct pl_slice path)
{
    files->at[files->count].docs = (struct pl_docs){0};
    return files->at[files->count++].path = pl_text_copy(path);
}

static int files_add(struct files *files, struct pl_slice path, struct pl_err *err)
{
    if (files->count == MAX_FILES)
        return pl_err_set(err, PL_ELIMIT, "more than %d kubeconfig files", MAX_FILES);
    struct pl_buf text = PL_BUF_INIT;
    const char *name = files_begin(files, path);
    int code = pl_file_read(name, PL_KUBECONFIG_BYTES, &text, err);
    if (code != 0)
        pl_err_prefix(err, "kubeconfig");
    else
        code = files_add_text(files, name, pl_buf_slice(&text), err);
    pl_buf_deinit(&text);
    return code;
}

/* ---- entries ---- */

static void set_entry(struct pl_config_entry *entry, const struct files *files, size_t file,
                      struct pl_node item)
{
    entry->file = files->at[file].path;
    entry->node = pl_node_getz(item, entry->part);
}

/* Finds an entry by its name; entry->list, part and name are set. */
static bool kubeconfig_find_entry(const struct files *files, struct pl_config_entry *entry,
                                  const char *name)
{
    snprintf(entry->name, sizeof entry->name, "%s", name);
    for (size_t i = 0; i < files->count; i++) {
        struct pl_iter it = pl_iter(pl_node_getz(root_of(files, i), entry->list));
        while (pl_iter_next(&it)) {
            if (pl_node_str_eq(pl_node_getz(it.value, "name"), pl_slice_z(name))) {
                set_entry(entry, files, i, it.value);
                return true;
            }
        }
    }
    return false;
}

/* Appends the names of a list's entries: "a, b", or "none". */
static void kubeconfig_add_names(struct pl_buf *out, const struct files *files, const char *list)
{
    size_t count = 0;
    for (size_t i = 0; i < files->count; i++) {
        struct pl_iter it = pl_iter(pl_node_getz(root_of(files, i), list));
        while (pl_iter_next(&it)) {
            struct pl_scratch scratch;
            struct pl_slice name = pl_node_str(pl_node_getz(it.value, "name"), &scratch);
            if (name.len > 0)
                pl_buf_add_f(out, "%s%.*s", count++ ? ", " : "", PL_FMT(name));
        }
    }
    if (count == 0)
        pl_buf_add_z(out, "none");
}

static int no_such(const struct files *files, const char *list, struct pl_err *err,
                   const char *message)
{
    struct pl_buf known = PL_BUF_INIT;
    kubeconfig_add_names(&known, files, list);
    char *where = names_of(files);
    int code = pl_err_set(err, PL_EINVAL, "%s %s; there are: %s", message, where, pl_buf_z(&known));
    pl_free(where);
    pl_buf_deinit(&known);
    return code;
}

/* The requested context, else the first file's current-context. */
static int choose_context(const struct files *files, const char *wanted,
                          struct pl_kubeconfig *config, struct pl_err *err)
{
    for (size_t i = 0; i < files->count && wanted == NULL && config->context == NULL; i++) {
        struct pl_scratch scratch;
        struct pl_slice name =
            pl_node_str(pl_node_getz(root_of(files, i), "current-context"), &scratch);
        if (name.len > 0)
            config->context = pl_text_copy(name);
    }
    if (wanted != NULL)
        config->context = pl_strdup(wanted);
    if (config->context != NULL)
        return 0;
    return no_such(files, "contexts", err,
                   "choose a context with --context; there is no current context in");
}

static int read_cluster(const struct files *files, const char *name, struct pl_kubeconfig *config,
                        struct pl_err *err)
{
    struct pl_config_entry cluster = {.list = "clusters", .part = "cluster"};
    if (!kubeconfig_find_entry(files, &cluster, name)) {
        char message[600];
        snprintf(message, sizeof message, "context \"%.200s\": cluster \"%.200s\" is not in",
                 config->context, name);
        return no_such(files, "clusters", err, message);
    }
    int code = pl_config_str(&cluster, "server", &config->server, err);
    if (code == 0)
        code = pl_config_pem(&cluster, "certificate-authority", &config->ca_pem, &config->ca_file,
                             err);
    if (code == 0)
        code = pl_config_bool(&cluster, "insecure-skip-tls-verify", &config->insecure, err);
    if (code == 0 && config->insecure && config->ca_pem != NULL)
        code = pl_config_bad(&cluster, "insecure-skip-tls-verify", err,
                             "contradicts certificate-authority: remove one of them");
    if (code == 0)
        code = pl_config_str(&cluster, "tls-server-name", &config->server_name, err);
    if (code == 0)
        code = pl_config_str(&cluster, "proxy-url", &config->proxy, err);
    return code;
}

/* The cluster's extension for exec plugins. */
static char *plugin_config_of(const struct files *files, const char *cluster_name)
{
    struct pl_config_entry cluster = {.list = "clusters", .part = "cluster"};
    if (!kubeconfig_find_entry(files, &cluster, cluster_name))
        return NULL;
    struct pl_iter it = pl_iter(pl_node_getz(cluster.node, "extensions"));
    while (pl_iter_next(&it)) {
        if (!pl_node_str_eq(pl_node_getz(it.value, "name"),
                            pl_slice_z("client.authentication.k8s.io/exec")))
            continue;
        struct pl_buf out = PL_BUF_INIT;
        pl_write(&out, pl_node_getz(it.value, "extension"), PL_WRITE_COMPACT);
        return pl_buf_take(&out);
    }
    return NULL;
}

static int read_user(const struct files *files, const char *name,
                     const struct pl_kubeconfig_options *options, struct pl_kubeconfig *config,
                     struct pl_err *err)
{
    struct pl_config_entry user = {.list = "users", .part = "user"};
    if (name == NULL)
        return 0;
    if (kubeconfig_find_entry(files, &user, name))
        return pl_config_user(&user, options->environ, config, err);
    char message[600];
    snprintf(message, sizeof message, "context \"%.200s\": user \"%.200s\" is not in",
             config->context, name);
    return no_such(files, "users", err, message);
}

static int read_context(const struct files *files, const struct pl_kubeconfig_options *options,
                        struct pl_kubeconfig *config, struct pl_err *err)
{
    struct pl_config_entry context = {.list = "contexts", .part = "context"};
    char *cluster = NULL, *user = NULL;
    int code = choose_context(files, options->context, config, err);
    if (code != 0)
        return code;
    if (!kubeconfig_find_entry(files, &context, config->context)) {
        char message[300];
        snprintf(message, sizeof message, "context \"%.200s\" is not in", config->context);
        return no_such(files, "contexts", err, message);
    }
    code = pl_config_str(&context, "cluster", &cluster, err);
    if (code == 0)
        code = pl_config_str(&context, "user", &user, err);
    if (code == 0)
        code = pl_config_str(&context, "namespace", &config->ns, err);
    if (code == 0 && cluster == NULL)
        code = pl_config_bad(&context, "cluster", err, "is missing");
    if (code == 0)
        code = read_cluster(files, cluster, config, err);
    if (code == 0)
        code = read_user(files, user, options, config, err);
    if (code == 0 && config->exec != NULL)
        config->exec->cluster_config = plugin_config_of(files, cluster);
    pl_free(cluster);
    pl_free(user);
    return code;
}

static int load_files(struct files *files, const struct pl_kubeconfig_options *options,
                      struct pl_kubeconfig *config, struct pl_err *err)
{
    config->source = names_of(files);
    int code = read_context(files, options, config, err);
    files_deinit(files);
    return code;
}

/* ---- sources ---- */

/* A list of files, separated by colons; missing files are skipped. */
static int load_list(const char *list, const struct pl_kubeconfig_options *options,
                     struct pl_kubeconfig *config, struct pl_err *err)
{
    struct files *files = PL_NEW(struct files);
    int code = 0;
    for (const char *at = list; code == 0 && *at != '\0';) {
        size_t len = strcspn(at, ":");
        char *path = pl_memdup0(at, len);
        if (len > 0 && (access(path, F_OK) == 0 || errno != ENOENT))
            code = files_add(files, pl_slice(at, len), err);
        pl_free(path);
        at += len + (at[len] == ':');
    }
    if (code == 0 && files->count == 0)
        code = pl_err_set(err, PL_EINVAL, "no kubeconfig: %s does not exist", list);
    else if (code == 0)
        code = load_files(files, options, config, err);
    else
        files_deinit(files);
    pl_free(files);
    return code;
}

static int load_one(const char *path, const struct pl_kubeconfig_options *options,
                    struct pl_kubeconfig *config, struct pl_err *err)
{
    struct files *files = PL_NEW(struct files);
    int code = files_add(files, pl_slice_z(path), err);
    if (code == 0)
        code = load_files(files, options, config, err);
    else
        files_deinit(files);
    pl_free(files);
    return code;
}

/* The pod's service account. PL_ENOTFOUND when its token is not there (not mounted). */
static int load_in_cluster(const struct pl_kubeconfig_options *options,
                           struct pl_kubeconfig *config, struct pl_err *err)
{
    const char *root = options->root != NULL ? options->root : "";
    const char *host = pl_env_get(options->environ, "KUBERNETES_SERVICE_HOST");
    const char *port = pl_env_get(options->environ, "KUBERNETES_SERVICE_PORT");
    struct pl_buf token = PL_BUF_INIT, ca = PL_BUF_INIT, ns = PL_BUF_INIT;
    char *token_file = pl_format("%s" SERVICE_ACCOUNT "/token", root);
    char *ca_file = pl_format("%s" SERVICE_ACCOUNT "/ca.crt", root);
    char *ns_file = pl_format("%s" SERVICE_ACCOUNT "/namespace", root);
    int code = pl_file_read(token_file, PL_KUBECONFIG_BYTES, &token, err);
    if (code == 0)
        code = pl_file_read(ca_file, PL_KUBECONFIG_BYTES, &ca, err);
    if (code == 0) {
        bool bare_ipv6 = strchr(host, ':') != NULL && host[0] != '[';
        config->source = pl_strdup("in-cluster");
        config->server = pl_format(bare_ipv6 ? "https://[%s]:%s" : "https://%s:%s", host, port);
        config->ca_pem = pl_buf_take(&ca);
        config->ca_file = pl_strdup(ca_file);
        config->token = pl_buf_take(&token);
        config->token[strcspn(config->token, " \t\r\n")] = '\0';
        config->token_file = pl_strdup(token_file);
        if (pl_file_read(ns_file, 1024, &ns, NULL) == 0 && ns.len > 0) {
            config->ns = pl_buf_take(&ns);
            config->ns[strcspn(config->ns, "\r\n ")] = '\0';
        }
    } else {
        pl_err_prefix(err, "in-cluster credentials (KUBERNETES_SERVICE_HOST is set)");
        code = access(token_file, F_OK) != 0 ? PL_ENOTFOUND : code;
    }
    pl_buf_deinit(&token);
    pl_buf_deinit(&ca);
    pl_buf_deinit(&ns);
    pl_free(token_file);
    pl_free(ca_file);
    pl_free(ns_file);
    return code;
}

/* Neither flag nor $KUBECONFIG: the pod, then the home folder. */
static int load_default(const struct pl_kubeconfig_options *options, struct pl_kubeconfig *config,
                        struct pl_err *err)
{
    const char *home = pl_env_get(options->environ, "HOME");
    /* A pod's service account has no contexts to choose from. */
    bool in_pod = pl_env_get(options->environ, "KUBERNETES_SERVICE_HOST") != NULL &&
                  pl_env_get(options->environ, "KUBERNETES_SERVICE_PORT") != NULL &&
                  options->context == NULL;
    int code = in_pod ? load_in_cluster(options, config, err) : PL_ENOTFOUND;
    if (code != PL_ENOTFOUND)
        return code;
    char *path = pl_format("%s/.kube/config", home != NULL ? home : "");
    if (home != NULL && access(path, F_OK) == 0) {
        code = load_one(path, options, config, err);
    } else if (options->server != NULL && options->context == NULL) {
        config->source = pl_strdup("--server");
        code = 0;
    } else if (!in_pod) {
        code =
            pl_err_set(err, PL_EINVAL,
                       "no API server is known: --kubeconfig and KUBECONFIG are not given, this "
                       "is not a pod (KUBERNETES_SERVICE_HOST is not set), and %s does not exist",
                       home != NULL ? path : "~/.kube/config (HOME is not set)");
    }
    pl_free(path);
    return code;
}

static int load_source(const struct pl_kubeconfig_options *options, struct pl_kubeconfig *config,
                       struct pl_err *err)
{
    if (options->files != NULL) {
        bool is_list = strchr(options->files, ':') != NULL && access(options->files, F_OK) != 0;
        return is_list ? load_list(options->files, options, config, err)
                       : load_one(options->files, options, config, err);
    }
    const char *list = pl_env_get(options->environ, "KUBECONFIG");
    if (list == NULL)
        return load_default(options, config, err);
    int code = load_list(list, options, config, err);
    if (code != 0 && config->source == NULL)
        pl_err_prefix(err, "KUBECONFIG");
    return code;
}

/* ---- the whole ---- */

/* Like kubectl it accepts "host:port": https if there are options for TLS, else http. */
/* EINVAL that quotes the URL without its secrets. */
static int bad_url(struct pl_err *err, const char *from, const char *before, const char *url,
                   const char *behind)
{
    struct pl_buf seen = PL_BUF_INIT;
    pl_url_add_public(&seen, pl_slice_z(url));
    pl_err_set(err, PL_EINVAL, "%s: %s\"%s\" %s", from, before, pl_buf_z(&seen), behind);
    pl_buf_deinit(&seen);
    return PL_EINVAL;
}

static int settle_server(const struct pl_kubeconfig_options *options, struct pl_kubeconfig *config,
                         struct pl_err *err)
{
    const char *from = options->server != NULL ? "--server" : config->source;
    struct pl_server_name name;
    if (options->server != NULL) {
        pl_free(config->server);
        config->server = pl_strdup(options->server);
    }
    if (config->server == NULL || config->server[0] == '\0')
        return pl_err_set(err, PL_EINVAL, "%s: the cluster of context \"%s\" has no server", from,
                          config->context);
    if (strstr(config->server, "://") == NULL) {
        bool tls = config->ca_pem != NULL || config->cert_pem != NULL || config->insecure;
        char *server = pl_format("%s://%s", tls ? "https" : "http", config->server);
        pl_free(config->server);
        config->server = server;
    }
    size_t len = strlen(config->server);
    while (len > 0 && config->server[len - 1] == '/')
        config->server[--len] = '\0';
    bool printable = true;
    for (size_t i = 0; i < len; i++)
        printable = printable && config->server[i] > ' ' && config->server[i] < 0x7f;
    if (!printable || !pl_server_name_parse(config->server, &name) ||
        strpbrk(config->server, "?#") != NULL)
        return bad_url(err, from, "the server ", config->server,
                       "is not https://HOST[:PORT][/PATH]");
    return 0;
}

static int settle_proxy(const struct pl_kubeconfig_options *options, struct pl_kubeconfig *config,
                        struct pl_err *err)
{
    static const char schemes[][12] = {"http://", "https://", "socks5://", "socks5h://"};
    const char *from = "proxy-url";
    if (config->proxy == NULL) {
        config->proxy = pl_proxy_for(config->server, options->environ);
        from = "HTTPS_PROXY/HTTP_PROXY";
    }
    if (config->proxy == NULL)
        return 0;
    for (size_t i = 0; i < PL_ARRAY_LEN(schemes); i++) {
        if (strncmp(config->proxy, schemes[i], strlen(schemes[i])) == 0)
            return 0;
    }
    return bad_url(err, from, "", config->proxy,
                   "is not a proxy (http://, https:// or socks5:// HOST:PORT)");
}

int pl_kubeconfig_load(const struct pl_kubeconfig_options *options, struct pl_kubeconfig *config,
                       struct pl_err *err)
{
    *config = (struct pl_kubeconfig){0};
    int code = load_source(options, config, err);
    if (code == 0)
        code = settle_server(options, config, err);
    return code != 0 ? code : settle_proxy(options, config, err);
}

/* Names of members that make the host read a file or run a program. */
static const char *outside_of(struct pl_node entry)
{
    static const char names[][24] = {
        "certificate-authority", "client-certificate", "client-key", "tokenFile", "exec",
        "auth-provider"};
    for (size_t i = 0; i < PL_ARRAY_LEN(names); i++) {
        enum pl_type type = pl_node_type(pl_node_getz(entry, names[i]));
        if (type != PL_MISSING && type != PL_NULL)
            return names[i];
    }
    return NULL;
}

static int check_inside(struct pl_node root, const char *source, struct pl_err *err)
{
    static const char lists[][2][12] = {{"clusters", "cluster"}, {"users", "user"}};
    for (size_t i = 0; i < PL_ARRAY_LEN(lists); i++)
        for (struct pl_iter it = pl_iter(pl_node_getz(root, lists[i][0])); pl_iter_next(&it);) {
            const char *name = outside_of(pl_node_getz(it.value, lists[i][1]));
            if (name != NULL)
                return pl_err_set(
                    err, PL_EINVAL,
                    "%s: %s: a kubeconfig that does not come from a file of this machine may not "
                    "name its files or programs; use %s-data or a token",
                    source, name, name);
        }
    return 0;
}

int pl_kubeconfig_parse(struct pl_slice text, const char *source,
                        const struct pl_kubeconfig_options *options, struct pl_kubeconfig *config,
                        struct pl_err *err)
{
    *config = (struct pl_kubeconfig){0};
    struct files *files = PL_NEW(struct files);
    const char *name = files_begin(files, pl_slice_z(source));
    int code = files_add_text(files, name, text, err);
    if (code == 0)
        code = check_inside(root_of(files, 0), source, err);
    if (code == 0)
        code = load_files(files, options, config, err);
    else
        files_deinit(files);
    pl_free(files);
    if (code == 0)
        code = settle_server(options, config, err);
    return code != 0 ? code : settle_proxy(options, config, err);
}

static void exec_destroy(struct pl_exec_plugin *plugin)
{
    if (plugin == NULL)
        return;
    pl_free(plugin->command);
    pl_strs_free(plugin->args);
    pl_strs_free(plugin->env);
    pl_free(plugin->api_version);
    pl_free(plugin->install_hint);
    pl_free(plugin->cluster_config);
    pl_free(plugin);
}

void pl_kubeconfig_deinit(struct pl_kubeconfig *config)
{
    char *const texts[] = {
        config->source,   config->context,          config->server,
        config->ns,       config->ca_pem,           config->cert_pem,
        config->key_pem,  config->ca_file,          config->cert_file,
        config->key_file, config->server_name,      config->proxy,
        config->token,    config->token_file,       config->username,
        config->password, config->impersonate_user, config->impersonate_uid,
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(texts); i++)
        pl_free(texts[i]);
    pl_strs_free(config->impersonate_groups);
    exec_destroy(config->exec);
    *config = (struct pl_kubeconfig){0};
}

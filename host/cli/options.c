/* All flags of run, dev and check as one table, and the checked options. A flag is added only here:
 * --help, the environment's names and --config follow from its row. Conditions on several flags are
 * checked below the table. */
#include "cli/options.h"
#include "reload/config.h"
#include "serve/version.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/text.h"
#include "bind/bind.h"
#include "format/units.h"
#include "kube/proxy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The commands of a flag. `check` needs only a Lua state, since checked scripts run on no cluster.
 */
#define DEV     "dev" /* the command that has its own API server */
#define HOST    "run|dev"
#define CLUSTER "run|rbac|manifests|check|uninstall"
#define RBAC    "rbac"
#define ROLES   "rbac|manifests"
#define SHIP    "manifests"
#define LEAD    "run|dev|rbac" /* commands whose work depends on leader election */

#define MEMORY_LEAST (1 << 20)
#define MEMORY_MOST  ((int64_t)1 << 50) /* of one Lua state; several of them fit into 64 bits */
#define LANES_MAX    1024               /* each is a thread with a Lua state */

static const struct pl_flag table[] = {
    {.name = "kubeconfig",
     .with = "cluster",
     .of = CLUSTER,
     .metavar = "FILE",
     .help = "kubeconfig file (default: $KUBECONFIG, then in-cluster, then ~/.kube/config)"},
    {.name = "context",
     .with = "cluster",
     .of = CLUSTER,
     .metavar = "NAME",
     .help = "context of the kubeconfig"},
    {.name = "server",
     .with = "cluster",
     .of = CLUSTER,
     .metavar = "URL",
     .help = "address of the API server"},
    {.name = "namespace",
     .of = LEAD "|manifests|uninstall",
     .letter = 'n',
     .names = PL_NAMES_NAMESPACE,
     .metavar = "NS",
     .help = "watch only this namespace; for manifests: the namespace in which the host will run",
     .repeatable = true},
    {.name = "filename",
     .of = DEV,
     .letter = 'f',
     .metavar = "PATH",
     .repeatable = true,
     .help = "apply this YAML file or folder first"},
    {.name = "manifests",
     .of = DEV,
     .type = PL_FLAG_SWITCH,
     .fallback = "true",
     .help = "apply the folder manifests/ beside the scripts first"},
    {.name = "shard-selector",
     .of = DEV,
     .type = PL_FLAG_SWITCH,
     .fallback = "true",
     .help = "let the embedded API server filter lists and watches by shardSelector"},
    {.name = "simulate",
     .of = DEV,
     .type = PL_FLAG_SWITCH,
     .help = "act for the controllers and kubelets of a cluster: workloads become ready, Jobs "
             "complete, Pods run, claims are bound, disruption budgets are counted"},
    {.name = "as-serviceaccount",
     .of = DEV,
     .type = PL_FLAG_SWITCH,
     .help = "run the scripts as a service account that has the roles of `perilune rbac`"},
    {.name = "lanes",
     .of = HOST "|manifests",
     .type = PL_FLAG_INTEGER,
     .fallback = "1",
     .metavar = "N",
     .least = 1,
     .most = LANES_MAX,
     .help = "number of Lua threads"},
    {.name = "lua-memory",
     .type = PL_FLAG_SIZE,
     .fallback = "512MiB",
     .metavar = "SIZE",
     .least = MEMORY_LEAST,
     .most = MEMORY_MOST,
     .help = "memory limit of each Lua state"},
    {.name = "reconcile-cpu-limit",
     .of = HOST,
     .type = PL_FLAG_DURATION,
     .fallback = "10s",
     .metavar = "DURATION",
     .help = "longest time that a run may compute without waiting; after it the run fails"},
    {.name = "record",
     .of = HOST,
     .metavar = "FILE[,max=SIZE]",
     .help = "record what the scripts read, write and are told, for perilune replay (default max: "
             "64MiB)"},
    {.name = "record-secrets",
     .with = "record",
     .of = HOST,
     .type = PL_FLAG_SWITCH,
     .help = "with --record: record the values of Secrets instead of pseudonyms"},
    {.name = "jit",
     .type = PL_FLAG_SWITCH,
     .help = "compile scripts with LuaJIT's compiler; an endless loop then costs a Lua thread"},
    {.name = "unsafe-stdlib",
     .type = PL_FLAG_SWITCH,
     .help = "let scripts use io, os, debug and ffi"},
    {.name = "graceful-shutdown-timeout",
     .of = HOST,
     .type = PL_FLAG_DURATION,
     .fallback = "25s",
     .metavar = "DURATION",
     .help = "how long running reconciles may take to finish after SIGTERM"},
    {.name = "request-timeout",
     .of = HOST,
     .type = PL_FLAG_DURATION,
     .fallback = "30s",
     .metavar = "DURATION",
     .help = "time limit of each request, except watches"},
    {.name = "kube-api-qps",
     .of = HOST,
     .type = PL_FLAG_NUMBER,
     .fallback = "0",
     .metavar = "N",
     .help = "client-side limit of requests per second; 0 turns it off"},
    {.name = "kube-api-burst",
     .with = "kube-api-qps",
     .of = HOST,
     .type = PL_FLAG_INTEGER,
     .fallback = "0",
     .metavar = "N",
     .most = INT32_MAX,
     .help = "how many requests may be sent at once under that limit"},
    {.name = "watch-list",
     .of = HOST,
     .type = PL_FLAG_SWITCH,
     .help = "take the first list from the watch itself, where the server supports it"},
    {.name = "log-format",
     .type = PL_FLAG_CHOICE,
     .choices = "text|json",
     .help = "format of the log on stderr (default: text on a terminal, else json)"},
    {.name = "log-level",
     .type = PL_FLAG_CHOICE,
     .choices = "debug|info|warn|error",
     .fallback = "info",
     .help = "lowest level that is logged"},
    {.name = "config",
     .not_in_file = true,
     .metavar = "FILE",
     .help = "YAML file for scripts (perilune.config); its mapping flags can set any other flag"},
    {.name = "reload",
     .of = HOST,
     .type = PL_FLAG_SWITCH,
     .fallback = "true",
     .help = "watch the scripts and reload them when they change"},
    {.name = "reload-guard",
     .of = HOST,
     .type = PL_FLAG_SWITCH,
     .fallback = "true",
     .help = "return to the old scripts when the new ones fail at once"},
    {.name = "metrics-bind-address",
     .of = HOST,
     .metavar = "ADDRESS",
     .help = "address of /metrics; 0 turns it off (default 127.0.0.1:8080, in a cluster :8080)"},
    {.name = "metrics-secure",
     .of = HOST "|rbac|" SHIP,
     .type = PL_FLAG_SWITCH,
     .help = "serve /metrics over TLS, and only to clients that the API server authorizes"},
    {.name = "metrics-cert-dir",
     .with = "metrics-secure",
     .of = HOST,
     .metavar = "DIR",
     .help = "for --metrics-secure: folder with tls.crt and tls.key (default: a self-signed "
             "certificate)"},
    {.name = "health-probe-bind-address",
     .of = HOST,
     .metavar = "ADDRESS",
     .help = "address of /healthz and /readyz; 0 turns it off (default 127.0.0.1:8081, in a "
             "cluster :8081)"},
    {.name = "ui-bind-address",
     .of = HOST,
     .metavar = "ADDRESS",
     .help = "address of the web page; 0 turns it off (default: dev 127.0.0.1:0, run 0)"},
    {.name = "dry-run",
     .of = HOST "|uninstall",
     .type = PL_FLAG_SWITCH,
     .help =
         "send every write with dryRun=All and log it; for uninstall: only print what it would do"},
    {.name = "admin-socket",
     .of = LEAD,
     .metavar = "PATH",
     .help = "socket for `perilune status` and similar commands; 0 turns it off"},
    {.name = "leader-elect",
     .of = LEAD "|manifests",
     .type = PL_FLAG_SWITCH,
     .help = "run leader-only controllers only while holding the Lease"},
    {.name = "leader-elect-resource-name",
     .of = LEAD "|manifests|uninstall",
     .names = PL_NAMES_NAME,
     .metavar = "NAME",
     .help = "name of the Lease (default: perilune- and the first controller's name)"},
    {.name = "leader-elect-resource-namespace",
     .of = LEAD "|uninstall",
     .names = PL_NAMES_NAMESPACE,
     .metavar = "NAME",
     .help = "namespace of the Lease (default: the pod's; required outside a cluster)"},
    {.name = "leader-elect-lease-duration",
     .with = "leader-elect|shards",
     .of = HOST,
     .type = PL_FLAG_DURATION,
     .fallback = "15s",
     .metavar = "DURATION",
     .help = "how long other replicas wait for a leader that does not renew"},
    {.name = "leader-elect-renew-deadline",
     .with = "leader-elect|shards",
     .of = HOST,
     .type = PL_FLAG_DURATION,
     .fallback = "10s",
     .metavar = "DURATION",
     .help = "how long after its last renewal a leader may write"},
    {.name = "leader-elect-retry-period",
     .with = "leader-elect|shards",
     .of = HOST,
     .type = PL_FLAG_DURATION,
     .fallback = "2s",
     .metavar = "DURATION",
     .help = "time between attempts to acquire or renew the Lease"},
    {.name = "leader-elect-release-on-exit",
     .with = "leader-elect|shards",
     .of = HOST,
     .type = PL_FLAG_SWITCH,
     .fallback = "true",
     .help = "release the Lease at a clean stop"},
    {.name = "on-lost-lease",
     .with = "leader-elect|shards",
     .of = HOST,
     .type = PL_FLAG_CHOICE,
     .choices = "exit|standby",
     .fallback = "exit",
     .help = "exit: end the process; standby: end the runs and campaign again in the same process"},
    {.name = "shards",
     .of = LEAD "|manifests",
     .type = PL_FLAG_INTEGER,
     .metavar = "N",
     .least = 1,
     .most = PL_SHARDS_MAX,
     .help =
         "all replicas act, each on its share of N shards (at most 256); implies --leader-elect"},
    {.name = "shard-by",
     .with = "shards",
     .of = LEAD "|manifests",
     .type = PL_FLAG_CHOICE,
     .choices = "namespace|uid",
     .fallback = "namespace",
     .help = "what decides the shard of a key: its namespace, or its object's uid"},
    {.name = "once",
     .of = HOST,
     .type = PL_FLAG_SWITCH,
     .help = "end when every key and task has run: with 0, or with 1 when one failed"},
    {.name = "once-timeout",
     .with = "once",
     .of = HOST,
     .type = PL_FLAG_DURATION,
     .fallback = "1h",
     .metavar = "DURATION",
     .help = "longest time for --once; after it the host ends with 1; 0: no limit"},
    {.name = "name",
     .of = ROLES,
     .metavar = "NAME",
     .help = "name of the printed objects (default: the first controller's)"},
    {.name = "schema",
     .of = ROLES "|check",
     .metavar = "FILE",
     .repeatable = true,
     .help = "look up kinds in this file or folder: CRDs, or OpenAPI of a server"},
    {.name = "cluster",
     .of = ROLES "|check",
     .type = PL_FLAG_SWITCH,
     .help = "look up kinds in the cluster"},
    {.name = "for-cluster",
     .of = RBAC,
     .metavar = "NAME",
     .help = "print the roles for a cluster that the scripts name, instead of those for the host's "
             "own"},
    {.name = "minimal",
     .of = ROLES,
     .type = PL_FLAG_SWITCH,
     .help = "leave out what only the admission plugin OwnerReferencesPermissionEnforcement needs"},
    {.name = "recorded",
     .of = RBAC,
     .type = PL_FLAG_SWITCH,
     .help = "add calls that the scripts of a running host made and do not declare"},
    {.name = "from",
     .of = RBAC,
     .metavar = "FILE",
     .help = "the same from a file: `perilune status -o json`, or an audit log"},
    {.name = "pid",
     .with = "recorded",
     .of = RBAC,
     .type = PL_FLAG_INTEGER,
     .fallback = "0",
     .metavar = "PID",
     .help = "process id of the host, if several run"},
    {.name = "force",
     .of = "uninstall",
     .type = PL_FLAG_SWITCH,
     .help = "continue although a host holds the Lease"},
    {.name = "cleanup",
     .of = "uninstall",
     .type = PL_FLAG_SWITCH,
     .help = "run the scripts' cleanup for every object before its finalizers are removed; needs "
             "--yes"},
    {.name = "yes", .of = "uninstall", .type = PL_FLAG_SWITCH, .help = "confirm --cleanup"},
    {.name = "image",
     .of = SHIP,
     .metavar = "IMAGE",
     .help = "container image that contains perilune"},
    {.name = "replicas",
     .of = SHIP,
     .type = PL_FLAG_INTEGER,
     .fallback = "1",
     .least = 1,
     .most = INT32_MAX, /* as in the field of a Deployment */
     .metavar = "R",
     .help = "replicas of the Deployment; with more than one they elect a leader"},
    {.name = "crds",
     .of = SHIP,
     .type = PL_FLAG_SWITCH,
     .help = "also print the CRDs beside the scripts"},
    {.name = "create-namespace",
     .of = SHIP,
     .type = PL_FLAG_SWITCH,
     .help = "also print the Namespace"},
    {.name = "webhook-bind-address",
     .of = HOST,
     .metavar = "ADDRESS",
     .help = "address of the webhook server; 0 turns it off (default 127.0.0.1:9443, in a cluster "
             ":9443)"},
    {.name = "webhook-cert-dir",
     .of = HOST,
     .metavar = "DIR",
     .help = "folder with tls.crt and tls.key of the webhook server; they are read again when they "
             "change"},
    {.name = "webhook-client-ca",
     .of = HOST,
     .metavar = "FILE",
     .help = "accept only webhook clients with a certificate of this CA"},
    {.name = "webhook-self-signed",
     .of = HOST,
     .type = PL_FLAG_SWITCH,
     .fallback = "true",
     .help = "without --webhook-cert-dir: the host makes its own CA and certificate"},
    {.name = "webhook-secret",
     .of = HOST "|uninstall",
     .names = PL_NAMES_OBJECT,
     .metavar = "NS/NAME",
     .help = "Secret in which replicas share them (default: perilune-webhook in the pod's "
             "namespace; outside a cluster they stay in memory)"},
    {.name = "webhook-register",
     .of = HOST,
     .type = PL_FLAG_SWITCH,
     .fallback = "true",
     .help = "register the webhooks with the API server; needs --webhook-service or --webhook-url"},
    {.name = "webhook-service",
     .of = HOST,
     .names = PL_NAMES_SERVICE,
     .metavar = "NS/NAME[:PORT]",
     .help = "Service through which API servers reach the webhooks"},
    {.name = "webhook-url",
     .of = HOST,
     .metavar = "https://HOST:PORT",
     .help = "URL at which API servers reach the webhooks, instead of a Service"},
    {.name = "webhook-keep",
     .of = HOST,
     .type = PL_FLAG_SWITCH,
     .help = "keep the registrations also after a stop outside a cluster"},
    {.name = "webhook-drain",
     .of = HOST,
     .type = PL_FLAG_DURATION,
     .metavar = "DURATION",
     .help = "how long webhooks are still served after SIGTERM (default 0s, in a cluster 3s)"},
};

/* Merges its `flags` into flags that are not set yet. */
static int options_read_config(struct pl_options *options, const char *path, struct pl_err *err)
{
    int rc = pl_config_read(path, &options->config_text, err);
    if (rc == 0)
        rc = pl_config_decode(path, pl_buf_slice(&options->config_text), &options->config, err);
    if (rc == 0 && options->config != NULL)
        rc = pl_flags_merge(&options->flags, pl_node_getz(pl_doc_root(options->config), "flags"),
                            path, err);
    return rc;
}

static void configure_log(const struct pl_flags *flags)
{
    const char *format = pl_flags_text(flags, "log-format");
    bool json = format != NULL ? strcmp(format, "json") == 0 : !isatty(STDERR_FILENO);
    enum pl_log_level level = PL_LOG_INFO;
    pl_log_parse_level(pl_flags_text(flags, "log-level"), &level);
    pl_log_configure(level, json, STDERR_FILENO);
}

static void options_fill(struct pl_options *options)
{
    const struct pl_flags *flags = &options->flags;
    options->kubeconfig = (struct pl_kubeconfig_options){
        .files = pl_flags_text(flags, "kubeconfig"),
        .context = pl_flags_text(flags, "context"),
        .server = pl_flags_text(flags, "server"),
        .environ = (const char *const *)environ,
    };
    options->lanes = (struct pl_lanes_options){
        .hooks = &pl_bind_state_hooks,
        .count = (int)pl_flags_integer(flags, "lanes"),
        .memory_limit = pl_flags_size(flags, "lua-memory"),
        .cpu_limit_ns = pl_flags_duration(flags, "reconcile-cpu-limit"),
        .jit = pl_flags_switch(flags, "jit"),
        .unsafe_stdlib = pl_flags_switch(flags, "unsafe-stdlib"),
        .config = options->config,
        .version = pl_version(),
        .config_path = pl_flags_text(flags, "config"),
        .config_text = pl_buf_slice(&options->config_text),
    };
    options->namespaces = pl_flags_all(flags, "namespace");
    options->manifests = pl_flags_all(flags, "filename");
    options->own_manifests = pl_flags_switch(flags, "manifests");
    options->grace_ns = pl_flags_duration(flags, "graceful-shutdown-timeout");
    options->request_timeout_ns = pl_flags_duration(flags, "request-timeout");
    options->qps = pl_flags_number(flags, "kube-api-qps");
    options->burst = (int)pl_flags_integer(flags, "kube-api-burst");
    options->stream_lists = pl_flags_switch(flags, "watch-list");
    options->dry_run = pl_flags_switch(flags, "dry-run");
    options->admin_socket = pl_flags_text(flags, "admin-socket");
    options->once = pl_flags_switch(flags, "once");
    options->once_timeout_ns = pl_flags_duration(flags, "once-timeout");
    options->reload = pl_flags_switch(flags, "reload") && !options->once;
    options->reload_guard = pl_flags_switch(flags, "reload-guard");
}

static int read_address(const struct pl_flags *flags, const char *name, int port,
                        struct pl_bind_address *out, struct pl_err *err)
{
    bool in_cluster = getenv("KUBERNETES_SERVICE_HOST") != NULL;
    int rc = pl_bind_address_choose(pl_flags_text(flags, name), port, in_cluster, out, err);
    return rc != 0 ? pl_flags_blame(flags, name, err) : 0;
}

/* Only `dev` has the page, except with `--once`, which soon ends. */
static int read_page_address(struct pl_options *options, struct pl_err *err)
{
    const char *text = pl_flags_text(&options->flags, "ui-bind-address");
    bool is_dev = strcmp(options->flags.command, "dev") == 0;
    bool wanted = text != NULL || (is_dev && !pl_flags_switch(&options->flags, "once"));
    const char *otherwise = wanted ? "127.0.0.1:0" : "0";
    int rc = pl_bind_address_parse(text != NULL ? text : otherwise, &options->page_address, err);
    return rc != 0 ? pl_flags_blame(&options->flags, "ui-bind-address", err) : 0;
}

static int read_addresses(struct pl_options *options, struct pl_err *err)
{
    options->metrics_secure = pl_flags_switch(&options->flags, "metrics-secure");
    options->metrics_cert = pl_flags_text(&options->flags, "metrics-cert-dir");
    int rc = read_page_address(options, err);
    if (rc == 0)
        rc = read_address(&options->flags, "metrics-bind-address", 8080, &options->metrics_address,
                          err);
    return rc != 0 ? rc
                   : read_address(&options->flags, "health-probe-bind-address", 8081,
                                  &options->health_address, err);
}

/* The option at the end of FILE,max=64MiB, with its comma; NULL: there is none. */
static const char *option_of(const char *text)
{
    const char *comma = strrchr(text, ',');
    bool is_option = comma != NULL && strchr(comma, '=') != NULL && strchr(comma, '/') == NULL;
    return is_option ? comma : NULL;
}

static int parse_record(const char *text, size_t *len, uint64_t *max, struct pl_err *err)
{
    const char *option = option_of(text);
    *len = option != NULL ? (size_t)(option - text) : strlen(text);
    if (*len == 0 || (option != NULL && (strncmp(option, ",max=", 5) != 0 ||
                                         !pl_size_parse(pl_slice_z(option + 5), max))))
        return pl_err_set(err, PL_EINVAL,
                          "\"%s\": it must be FILE or FILE,max=SIZE such as /tmp/record,max=64MiB",
                          text);
    return *max < PL_RECORD_LEAST ? pl_err_set(err, PL_EINVAL, "max is at least 1MiB") : 0;
}

static int read_record(struct pl_options *options, struct pl_err *err)
{
    const char *text = pl_flags_text(&options->flags, "record");
    bool secrets = pl_flags_switch(&options->flags, "record-secrets");
    uint64_t max = (uint64_t)64 << 20;
    size_t len;
    if (text == NULL)
        return 0;
    if (parse_record(text, &len, &max, err) != 0)
        return pl_flags_blame(&options->flags, "record", err);
    options->record_path = pl_memdup0(text, len);
    options->record = (struct pl_record_options){.path = options->record_path,
                                                 .max = (size_t)max,
                                                 .secrets = secrets,
                                                 .version = pl_version()};
    return 0;
}

/* kubectl accepts "host:port", too; a bare word is probably a typing error. */
static int check_server(const struct pl_flags *flags, struct pl_err *err)
{
    const char *server = pl_flags_text(flags, "server");
    if (server == NULL)
        return 0;
    struct pl_server_name name;
    char *url = strstr(server, "://") != NULL ? pl_strdup(server)
                : strchr(server, ':') != NULL ? pl_format("http://%s", server)
                                              : NULL;
    bool good = url != NULL && pl_server_name_parse(url, &name);
    pl_free(url);
    if (good)
        return 0;
    pl_err_set(err, PL_EINVAL, "\"%s\": it must be https://HOST[:PORT][/PATH] or HOST:PORT",
               server);
    return pl_flags_blame(flags, "server", err);
}

bool pl_options_read(struct pl_options *options, const struct pl_command *self, int argc,
                     char *const *argv, int *exit_code)
{
    *options = (struct pl_options){0};
    if (!pl_command_flags(self, &options->flags, table, PL_ARRAY_LEN(table), argc, argv, exit_code))
        return false;
    if (options->flags.path_count == 0) {
        *exit_code = pl_command_misuse(self, "no script given");
        return false;
    }
    struct pl_err err;
    pl_err_clear(&err);
    const char *config = pl_flags_text(&options->flags, "config");
    if (config != NULL && options_read_config(options, config, &err) != 0) {
        fprintf(stderr, "perilune %s: %s\n", self->name, err.message);
        *exit_code = PL_EXIT_FAILURE;
        return false;
    }
    if (pl_flags_check(&options->flags, &err) != 0 || check_server(&options->flags, &err) != 0 ||
        read_addresses(options, &err) != 0 ||
        pl_leader_read(&options->flags, &options->leader, &err) != 0 ||
        pl_webhook_read(&options->flags, &options->webhook, &err) != 0 ||
        read_record(options, &err) != 0) {
        fprintf(stderr, "perilune %s: %s\n", self->name, err.message);
        *exit_code = err.code == PL_ESYNTAX ? PL_EXIT_FAILURE : PL_EXIT_USAGE;
        return false;
    }
    configure_log(&options->flags);
    options_fill(options);
    return true;
}

void pl_options_deinit(struct pl_options *options)
{
    pl_webhook_options_deinit(&options->webhook);
    pl_free(options->record_path);
    pl_doc_unref(options->config);
    pl_buf_deinit(&options->config_text);
    pl_flags_deinit(&options->flags);
}

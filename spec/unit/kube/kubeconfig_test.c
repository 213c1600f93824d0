#include "kube/kubeconfig.h"

#include "support/test.h"

#include <dirent.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];

static void write_file(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    for (char *slash = path + strlen(dir) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    REQUIRE(file != NULL);
    fputs(text, file);
    fclose(file);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

static void setup(void)
{
    snprintf(dir, sizeof dir, "/tmp/perilune-kubeconfig-XXXXXX");
    REQUIRE(mkdtemp(dir) != NULL);
}

static void teardown(void)
{
    nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Replaces each @ by the test's folder. */
static char *expand(const char *text, char *out, size_t size)
{
    size_t len = 0;
    for (; *text != '\0' && len + sizeof dir < size; text++) {
        if (*text == '@')
            len += (size_t)snprintf(out + len, size - len, "%s", dir);
        else
            out[len++] = *text;
    }
    out[len] = '\0';
    return out;
}

#define PEM "-----BEGIN X-----\nMA==\n-----END X-----\n"
/* base64 of "-----BEGIN X-----\n" */
#define PEM64 "LS0tLS1CRUdJTiBYLS0tLS0K"

/* The environment as one text, entries separated by blanks. */
static int load(struct pl_kubeconfig_options options, const char *environment,
                struct pl_kubeconfig *config, struct pl_err *err)
{
    static char text[1024], files[512];
    const char *environ_list[16] = {NULL};
    size_t count = 0;
    expand(environment, text, sizeof text);
    for (char *at = strtok(text, " "); at != NULL && count < 15; at = strtok(NULL, " "))
        environ_list[count++] = at;
    options.environ = environ_list;
    options.root = dir;
    if (options.files != NULL)
        options.files = expand(options.files, files, sizeof files);
    return pl_kubeconfig_load(&options, config, err);
}

static void expect_error(struct pl_kubeconfig_options options, const char *environment,
                         const char *want)
{
    struct pl_kubeconfig config;
    struct pl_err err;
    char text[1024];
    pl_err_clear(&err);
    CHECK(load(options, environment, &config, &err) != 0);
    CHECK_STR(err.message, expand(want, text, sizeof text));
    pl_kubeconfig_deinit(&config);
}

static struct pl_kubeconfig expect_ok(struct pl_kubeconfig_options options, const char *environment)
{
    struct pl_kubeconfig config;
    struct pl_err err;
    if (load(options, environment, &config, &err) != 0)
        TEST_FAIL("not loaded: %s", err.message);
    return config;
}

#define CHECK_PATH(got, want)                                                                      \
    do {                                                                                           \
        char path_want[512];                                                                       \
        CHECK_STR(got, expand(want, path_want, sizeof path_want));                                 \
    } while (0)

static const char full[] =
    "apiVersion: v1\nkind: Config\ncurrent-context: dev\n"
    "clusters:\n"
    "- name: c1\n"
    "  cluster: {server: 'https://one:6443/', certificate-authority: ca.pem, tls-server-name: "
    "sni}\n"
    "- name: c2\n"
    "  cluster:\n"
    "    server: https://two:6443/k8s\n"
    "    insecure-skip-tls-verify: true\n"
    "    proxy-url: socks5://proxy:1080\n"
    "- name: data\n"
    "  cluster: {server: 'https://three', certificate-authority-data: " PEM64 "}\n"
    "users:\n"
    "- name: cert\n"
    "  user: {client-certificate: sub/cert.pem, client-key: @/sub/key.pem}\n"
    "- name: token\n"
    "  user: {token: abc}\n"
    "- name: file\n"
    "  user: {tokenFile: token.txt, token: old}\n"
    "- name: basic\n"
    "  user: {username: u, password: 'p:w'}\n"
    "- name: as\n"
    "  user: {token: t, as: jane, as-uid: '7', as-groups: [a, b]}\n"
    "- name: data\n"
    "  user: {client-certificate-data: " PEM64 ", client-key-data: " PEM64
    ", client-key: /ignored}\n"
    "- name: exec\n"
    "  user:\n"
    "    exec:\n"
    "      apiVersion: client.authentication.k8s.io/v1\n"
    "      command: ./bin/login\n"
    "      args: [get-token, '--x=1']\n"
    "      env: [{name: A, value: b}, {name: HOME, value: /other}]\n"
    "      installHint: brew install login\n"
    "      interactiveMode: IfAvailable\n"
    "      provideClusterInfo: true\n"
    "contexts:\n"
    "- {name: dev, context: {cluster: c1, user: cert, namespace: team}}\n"
    "- {name: two, context: {cluster: c2, user: token}}\n"
    "- {name: file, context: {cluster: c1, user: file}}\n"
    "- {name: basic, context: {cluster: c1, user: basic}}\n"
    "- {name: as, context: {cluster: c1, user: as}}\n"
    "- {name: data, context: {cluster: data, user: data}}\n"
    "- {name: exec, context: {cluster: c1, user: exec}}\n"
    "- {name: anonymous, context: {cluster: c1}}\n"
    "- {name: lost, context: {cluster: nowhere, user: token}}\n"
    "- {name: nobody, context: {cluster: c1, user: ghost}}\n";

static void setup_full(void)
{
    static char text[8192];
    setup();
    write_file("config", expand(full, text, sizeof text));
    write_file("ca.pem", PEM);
    write_file("sub/cert.pem", PEM);
    write_file("sub/key.pem", PEM);
    write_file("token.txt", "from-file\n");
}

TEST(the_current_context_gives_server_namespace_and_files_relative_to_the_kubeconfig)
{
    setup_full();
    struct pl_kubeconfig config =
        expect_ok((struct pl_kubeconfig_options){.files = "@/config"}, "");
    CHECK_PATH(config.source, "@/config");
    CHECK_STR(config.context, "dev");
    CHECK_STR(config.server, "https://one:6443");
    CHECK_STR(config.ns, "team");
    CHECK_STR(config.server_name, "sni");
    CHECK_STR(config.ca_pem, PEM);
    CHECK_PATH(config.ca_file, "@/ca.pem");
    CHECK_PATH(config.cert_file, "@/sub/cert.pem");
    CHECK_PATH(config.key_file, "@/sub/key.pem");
    CHECK_STR(config.key_pem, PEM);
    CHECK(!config.insecure && config.token == NULL && config.proxy == NULL);
    pl_kubeconfig_deinit(&config);
    teardown();
}

TEST(each_way_to_prove_who_one_is)
{
    setup_full();
    struct pl_kubeconfig_options options = {.files = "@/config", .context = "two"};
    struct pl_kubeconfig config = expect_ok(options, "");
    CHECK_STR(config.token, "abc");
    CHECK_STR(config.server, "https://two:6443/k8s");
    CHECK(config.insecure);
    CHECK_STR(config.proxy, "socks5://proxy:1080");
    pl_kubeconfig_deinit(&config);

    options.context = "file";
    config = expect_ok(options, "");
    CHECK_STR(config.token, "from-file");
    CHECK_PATH(config.token_file, "@/token.txt");
    pl_kubeconfig_deinit(&config);

    options.context = "basic";
    config = expect_ok(options, "");
    CHECK_STR(config.username, "u");
    CHECK_STR(config.password, "p:w");
    pl_kubeconfig_deinit(&config);

    options.context = "as";
    config = expect_ok(options, "");
    CHECK_STR(config.impersonate_user, "jane");
    CHECK_STR(config.impersonate_uid, "7");
    REQUIRE(config.impersonate_groups != NULL);
    CHECK_STR(config.impersonate_groups[1], "b");
    CHECK(config.impersonate_groups[2] == NULL);
    pl_kubeconfig_deinit(&config);

    options.context = "data";
    config = expect_ok(options, "");
    CHECK_STR(config.ca_pem, "-----BEGIN X-----\n");
    CHECK(config.ca_file == NULL && config.key_file == NULL && config.cert_file == NULL);
    CHECK_STR(config.key_pem, "-----BEGIN X-----\n");
    pl_kubeconfig_deinit(&config);

    options.context = "anonymous";
    config = expect_ok(options, "");
    CHECK(config.token == NULL && config.cert_pem == NULL);
    pl_kubeconfig_deinit(&config);
    teardown();
}

TEST(an_exec_plugin_is_found_beside_the_kubeconfig_and_inherits_the_environment)
{
    setup_full();
    struct pl_kubeconfig config =
        expect_ok((struct pl_kubeconfig_options){.files = "@/config", .context = "exec"},
                  "HOME=/h PATH=/bin");
    REQUIRE(config.exec != NULL);
    CHECK_PATH(config.exec->command, "@/./bin/login");
    CHECK_STR(config.exec->args[1], "--x=1");
    CHECK(config.exec->args[2] == NULL);
    CHECK_STR(config.exec->env[0], "HOME=/other");
    CHECK_STR(config.exec->env[1], "PATH=/bin");
    CHECK_STR(config.exec->env[2], "A=b");
    CHECK(config.exec->env[3] == NULL);
    CHECK_STR(config.exec->install_hint, "brew install login");
    CHECK(config.exec->provide_cluster_info);
    pl_kubeconfig_deinit(&config);
    teardown();
}

TEST(mistakes_name_the_file_the_context_and_what_there_is)
{
    setup_full();
    struct pl_kubeconfig_options options = {.files = "@/config", .context = "prod"};
    expect_error(options, "",
                 "context \"prod\" is not in @/config; there are: dev, two, file, basic, as, data, "
                 "exec, anonymous, lost, nobody");
    options.context = "lost";
    expect_error(
        options, "",
        "context \"lost\": cluster \"nowhere\" is not in @/config; there are: c1, c2, data");
    options.context = "nobody";
    expect_error(options, "",
                 "context \"nobody\": user \"ghost\" is not in @/config; there are: cert, token, "
                 "file, basic, as, data, exec");
    options = (struct pl_kubeconfig_options){.files = "@/none"};
    expect_error(options, "", "kubeconfig: cannot read @/none: No such file or directory");
    write_file("list", "- a\n");
    options.files = "@/list";
    expect_error(options, "", "@/list is not a kubeconfig");
    write_file("empty", "");
    options.files = "@/empty";
    expect_error(
        options, "",
        "choose a context with --context; there is no current context in @/empty; there are: none");
    write_file("broken", "a: [\n");
    options.files = "@/broken";
    struct pl_kubeconfig config;
    struct pl_err err;
    CHECK_INT(load(options, "", &config, &err), PL_ESYNTAX);
    CHECK(strstr(err.message, "/broken:") != NULL);
    pl_kubeconfig_deinit(&config);
    teardown();
}

/* One user or cluster, and what is wrong with it. */
static const struct {
    const char *cluster, *user, *want;
} mistakes[] = {
    {"server: 'https://a'", "auth-provider: {name: gcp}",
     "users[\"u\"].user.auth-provider: was removed from Kubernetes clients; use an exec plugin"},
    {"server: 'https://a'", "token: 5", "users[\"u\"].user.token: must be a string, not number"},
    {"server: 'https://a'", "client-certificate: nope.pem, client-key: nope.key",
     "users[\"u\"].user.client-certificate: cannot read @/nope.pem: No such file or directory"},
    {"server: 'https://a'", "client-certificate-data: " PEM64,
     "users[\"u\"].user.client-key: is missing beside client-certificate"},
    {"server: 'https://a'", "client-key-data: " PEM64,
     "users[\"u\"].user.client-certificate: is missing beside client-key"},
    {"server: 'https://a'", "client-certificate-data: '!!'",
     "users[\"u\"].user.client-certificate-data: is not base64"},
    {"server: 'https://a'", "client-certificate-data: Zm9v",
     "users[\"u\"].user.client-certificate-data: is not in PEM form"},
    {"server: 'https://a'", "tokenFile: gone",
     "users[\"u\"].user.tokenFile: cannot read @/gone: No such file or directory"},
    {"server: 'https://a'", "username: 'a:b'", "users[\"u\"].user.username: may not hold a colon"},
    {"server: 'https://a'", "password: b",
     "users[\"u\"].user.password: is given without a username"},
    {"server: 'https://a'", "as-groups: [x]",
     "users[\"u\"].user.as: must be given with as-uid and as-groups"},
    {"server: 'https://a'", "as: x, as-user-extra: {a: [b]}",
     "users[\"u\"].user.as-user-extra: is not supported"},
    {"server: 'https://a'", "exec: {apiVersion: client.authentication.k8s.io/v1}",
     "users[\"u\"].user.exec.command: is missing"},
    {"server: 'https://a'", "exec: {command: x}", "users[\"u\"].user.exec.apiVersion: is missing"},
    {"server: 'https://a'", "exec: {command: x, apiVersion: client.authentication.k8s.io/v1alpha1}",
     "users[\"u\"].user.exec.apiVersion: client.authentication.k8s.io/v1alpha1 is not supported; "
     "use client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1"},
    {"server: 'https://a'",
     "exec: {command: x, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Always}",
     "users[\"u\"].user.exec.interactiveMode: Always: a host without a terminal cannot run this "
     "plugin"},
    {"server: 'https://a'",
     "exec: {command: x, apiVersion: client.authentication.k8s.io/v1, env: [{value: x}]}",
     "users[\"u\"].user.exec.env: must be a list of {name, value}"},
    {"server: 'https://a', insecure-skip-tls-verify: true, certificate-authority-data: " PEM64, "",
     "clusters[\"c\"].cluster.insecure-skip-tls-verify: contradicts certificate-authority: remove "
     "one of them"},
    {"server: 'https://a', insecure-skip-tls-verify: yes please", "",
     "clusters[\"c\"].cluster.insecure-skip-tls-verify: must be true or false, not string"},
};

TEST(mistakes_name_the_field)
{
    setup();
    for (size_t i = 0; i < PL_ARRAY_LEN(mistakes); i++) {
        char text[2048], want[1024];
        snprintf(text, sizeof text,
                 "current-context: x\nclusters: [{name: c, cluster: {%s}}]\n"
                 "users: [{name: u, user: {%s}}]\n"
                 "contexts: [{name: x, context: {cluster: c, user: u}}]\n",
                 mistakes[i].cluster, mistakes[i].user);
        write_file("config", text);
        snprintf(want, sizeof want, "@/config: %s", mistakes[i].want);
        expect_error((struct pl_kubeconfig_options){.files = "@/config"}, "", want);
    }
    teardown();
}

TEST(servers_and_proxies_are_checked)
{
    static const struct {
        const char *cluster, *server, *want; /* want: the server, or with a blank, an error */
    } cases[] = {
        {"server: 'localhost:8080'", NULL, "http://localhost:8080"},
        {"server: 'host:6443', insecure-skip-tls-verify: true", NULL, "https://host:6443"},
        {"server: 'https://a/b//'", NULL, "https://a/b"},
        {"server: 'https://a'", "http://[::1]:99", "http://[::1]:99"},
        {"server: 'ftp://a'", NULL,
         "@/config: the server \"ftp://a\" is not https://HOST[:PORT][/PATH]"},
        {"server: 'https://a?b'", NULL,
         "@/config: the server \"https://a?...\" is not https://HOST[:PORT][/PATH]"},
        {"server: 'https://me:secret@a'", NULL,
         "@/config: the server \"https://a\" is not https://HOST[:PORT][/PATH]"},
        {"server: 'https://a b'", NULL,
         "@/config: the server \"https://a b\" is not https://HOST[:PORT][/PATH]"},
        {"server: 'https://a:99999'", NULL,
         "@/config: the server \"https://a:99999\" is not https://HOST[:PORT][/PATH]"},
        {"server: 'https://a'", "https://",
         "--server: the server \"https:\" is not "
         "https://HOST[:PORT][/PATH]"},
        {"proxy-url: 'http://p'", NULL, "@/config: the cluster of context \"x\" has no server"},
        {"server: 'https://a', proxy-url: 'gopher://me:se/cret@p'", NULL,
         "proxy-url: \"gopher://p\" is not a proxy (http://, https:// or socks5:// HOST:PORT)"},
        {"server: 'https://a', proxy-url: 'me:secret@p'", NULL,
         "proxy-url: \"p\" is not a proxy (http://, https:// or socks5:// HOST:PORT)"},
        {"server: 'https://a', proxy-url: 'gopher://p'", NULL,
         "proxy-url: \"gopher://p\" is not a proxy (http://, https:// or socks5:// HOST:PORT)"},
    };
    setup();
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        char text[1024];
        struct pl_kubeconfig_options options = {.files = "@/config", .server = cases[i].server};
        snprintf(text, sizeof text,
                 "current-context: x\nclusters: [{name: c, cluster: {%s}}]\n"
                 "contexts: [{name: x, context: {cluster: c}}]\n",
                 cases[i].cluster);
        write_file("config", text);
        if (strchr(cases[i].want, ' ') != NULL) {
            /* '@' stands for the folder only in front of a slash here */
            struct pl_kubeconfig config;
            struct pl_err err;
            char want[2048], *file;
            CHECK(load(options, "", &config, &err) != 0);
            file = expand("@/config", text, sizeof text);
            const char *rest = cases[i].want;
            bool in_file = strncmp(rest, "@/config", 8) == 0;
            snprintf(want, sizeof want, "%s%s", in_file ? file : "", rest + (in_file ? 8 : 0));
            CHECK_STR(err.message, want);
            pl_kubeconfig_deinit(&config);
            continue;
        }
        struct pl_kubeconfig config = expect_ok(options, "");
        CHECK_STR(config.server, cases[i].want);
        pl_kubeconfig_deinit(&config);
    }
    teardown();
}

/* ---- where it is looked for ---- */

static void write_small(const char *name, const char *context, const char *server, bool current)
{
    char text[512];
    snprintf(text, sizeof text,
             "%s%s\nclusters: [{name: c, cluster: {server: '%s'}}]\n"
             "contexts: [{name: %s, context: {cluster: c}}]\n",
             current ? "current-context: " : "", current ? context : "", server, context);
    write_file(name, text);
}

TEST(files_of_the_list_are_merged_and_the_first_one_wins)
{
    setup();
    write_small("one", "a", "https://one", false);
    write_small("two", "b", "https://two", true);
    struct pl_kubeconfig config =
        expect_ok((struct pl_kubeconfig_options){0}, "KUBECONFIG=@/one:@/missing::@/two");
    CHECK_STR(config.context, "b");
    CHECK_STR(config.server, "https://one"); /* cluster "c" is the first file's */
    CHECK_PATH(config.source, "@/one, @/two");
    pl_kubeconfig_deinit(&config);
    config = expect_ok((struct pl_kubeconfig_options){.context = "a"}, "KUBECONFIG=@/two:@/one");
    CHECK_STR(config.server, "https://two");
    pl_kubeconfig_deinit(&config);
    expect_error((struct pl_kubeconfig_options){.context = "z"}, "KUBECONFIG=@/one:@/two",
                 "context \"z\" is not in @/one, @/two; there are: a, b");
    expect_error((struct pl_kubeconfig_options){0}, "KUBECONFIG=@/x:@/y HOME=@",
                 "KUBECONFIG: no kubeconfig: @/x:@/y does not exist");
    teardown();
}

static void write_service_account(void)
{
    write_file("var/run/secrets/kubernetes.io/serviceaccount/token", "sa-token\n");
    write_file("var/run/secrets/kubernetes.io/serviceaccount/ca.crt", PEM);
    write_file("var/run/secrets/kubernetes.io/serviceaccount/namespace", "here");
}

#define IN_POD " KUBERNETES_SERVICE_HOST=10.0.0.1 KUBERNETES_SERVICE_PORT=443"

TEST(the_order_is_flag_then_environment_then_pod_then_home)
{
    setup();
    write_small("flag", "f", "https://flag", true);
    write_small("env", "e", "https://env", true);
    write_small(".kube/config", "h", "https://home", true);
    write_service_account();
    static const struct {
        const char *files, *context, *environment, *want;
    } cases[] = {
        {"@/flag", NULL, "KUBECONFIG=@/env HOME=@" IN_POD, "https://flag"},
        {NULL, NULL, "KUBECONFIG=@/env HOME=@" IN_POD, "https://env"},
        {NULL, NULL, "KUBECONFIG= HOME=@" IN_POD, "https://10.0.0.1:443"},
        {NULL, "h", "HOME=@" IN_POD, "https://home"},
        {NULL, NULL, "HOME=@ KUBERNETES_SERVICE_HOST=10.0.0.1", "https://home"},
        {NULL, NULL, "HOME=@", "https://home"},
        {"@/flag:@/env", NULL, "", "https://flag"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct pl_kubeconfig config = expect_ok(
            (struct pl_kubeconfig_options){.files = cases[i].files, .context = cases[i].context},
            cases[i].environment);
        CHECK_STR(config.server, cases[i].want);
        pl_kubeconfig_deinit(&config);
    }
    teardown();
}

TEST(in_a_pod_the_service_account_is_used)
{
    setup();
    write_service_account();
    struct pl_kubeconfig config =
        expect_ok((struct pl_kubeconfig_options){0},
                  "KUBERNETES_SERVICE_HOST=fd00::1 KUBERNETES_SERVICE_PORT=6443");
    CHECK_STR(config.source, "in-cluster");
    CHECK_STR(config.server, "https://[fd00::1]:6443");
    CHECK_STR(config.token, "sa-token");
    CHECK_PATH(config.token_file, "@/var/run/secrets/kubernetes.io/serviceaccount/token");
    CHECK_STR(config.ca_pem, PEM);
    CHECK_STR(config.ns, "here");
    CHECK(config.context == NULL);
    pl_kubeconfig_deinit(&config);
    teardown();
}

TEST(without_any_source_the_message_lists_them)
{
    setup();
    expect_error((struct pl_kubeconfig_options){0}, "HOME=@",
                 "no API server is known: --kubeconfig and KUBECONFIG are not given, this is not a "
                 "pod (KUBERNETES_SERVICE_HOST is not set), and @/.kube/config does not exist");
    expect_error((struct pl_kubeconfig_options){0}, IN_POD,
                 "in-cluster credentials (KUBERNETES_SERVICE_HOST is set): cannot read "
                 "@/var/run/secrets/kubernetes.io/serviceaccount/token: No such file or directory");
    struct pl_kubeconfig config =
        expect_ok((struct pl_kubeconfig_options){.server = "http://127.0.0.1:1"}, "");
    CHECK_STR(config.server, "http://127.0.0.1:1");
    CHECK_STR(config.source, "--server");
    pl_kubeconfig_deinit(&config);
    teardown();
}

TEST(the_environment_s_proxy_is_used_unless_the_cluster_has_one)
{
    setup();
    write_small("config", "x", "https://api.example.com:6443", true);
    struct pl_kubeconfig_options options = {.files = "@/config"};
    struct pl_kubeconfig config = expect_ok(options, "HTTPS_PROXY=proxy:3128");
    CHECK_STR(config.proxy, "http://proxy:3128");
    pl_kubeconfig_deinit(&config);
    config = expect_ok(options, "HTTPS_PROXY=proxy:3128 NO_PROXY=example.com");
    CHECK(config.proxy == NULL);
    pl_kubeconfig_deinit(&config);
    expect_error(
        options, "https_proxy=ftp://p",
        "HTTPS_PROXY/HTTP_PROXY: \"ftp://p\" is not a proxy (http://, https:// or socks5:// "
        "HOST:PORT)");
    teardown();
}

#define GIVEN                                                                                      \
    "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"                  \
    "clusters: [{name: k, cluster: {server: 'https://edge:6443'%s}}]\n"                            \
    "users: [{name: u, user: {token: t%s}}]\n"

static void expect_outside(const char *cluster, const char *user, const char *want)
{
    const char *const nothing[] = {NULL};
    struct pl_kubeconfig_options options = {.environ = nothing};
    struct pl_kubeconfig config;
    struct pl_err err;
    char text[1024];
    snprintf(text, sizeof text, GIVEN, cluster, user);
    pl_err_clear(&err);
    int code = pl_kubeconfig_parse(pl_slice_z(text), "Secret a/b", &options, &config, &err);
    CHECK_INT(code, want != NULL ? PL_EINVAL : 0);
    if (want != NULL)
        CHECK(strstr(err.message, want) != NULL);
    else
        CHECK_STR(config.server, "https://edge:6443");
    pl_kubeconfig_deinit(&config);
}

TEST(a_text_of_somebody_else_names_neither_files_nor_programs)
{
    expect_outside("", "", NULL);
    expect_outside(", certificate-authority: /etc/passwd", "",
                   "Secret a/b: certificate-authority:");
    expect_outside("", ", tokenFile: /etc/passwd",
                   "tokenFile: a kubeconfig that does not come from");
    expect_outside("", ", client-key: /etc/key", "client-key");
    expect_outside("", ", exec: {command: touch}", "exec");
    expect_outside("", ", auth-provider: {name: x}", "auth-provider");
    expect_outside("", ", exec: ", NULL); /* null is none */
}

TEST_MAIN()

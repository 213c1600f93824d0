#include "kube/credentials.h"

#include "base/log.h"
#include "harness.h"
#include "kube/status.h"
#include "support/tls.h"
#include "support/turn.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64], path[128];

static void write_file(const char *name, const char *text)
{
    /* Written to another file and renamed, as kubelet and cert-manager do. */
    char file_path[192], temporary[192];
    snprintf(file_path, sizeof file_path, "%s/%s", dir, name);
    snprintf(temporary, sizeof temporary, "%s/new", dir);
    FILE *file = fopen(temporary, "w");
    REQUIRE(file != NULL);
    fputs(text, file);
    fchmod(fileno(file), 0700);
    fclose(file);
    REQUIRE(rename(temporary, file_path) == 0);
}

static const char *path_of(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void setup(void)
{
    snprintf(dir, sizeof dir, "/tmp/perilune-credentials-XXXXXX");
    REQUIRE(mkdtemp(dir) != NULL);
}

static void teardown(void)
{
    static const char *const names[] = {"token", "ca",   "cert",   "key", "plugin",
                                        "runs",  "info", "expiry", "go2", "fail2"};
    for (size_t i = 0; i < PL_ARRAY_LEN(names); i++)
        unlink(path_of(names[i]));
    REQUIRE(rmdir(dir) == 0);
}

/* Starts a GET and gives the request that it makes. */
static struct fake_request *get(struct bench *b, struct got *got)
{
    struct pl_call call = get_call("a");
    pl_client_start(b->client, &call, got_answer, got);
    struct fake_request *request = fake_next(&b->net);
    REQUIRE(request != NULL);
    return request;
}

static void expect_token(struct bench *b, const char *want)
{
    struct got got = {0};
    struct fake_request *request = get(b, &got);
    CHECK_STR(fake_header(request, "authorization"), want);
    fake_reply(request, 200, "{}");
    CHECK_INT(got.err.code, 0);
}

static void use_token_file(struct bench *b)
{
    setup();
    write_file("token", "one\n");
    bench_prepare(b);
    b->config.token_file = pl_strdup(path_of("token"));
    b->config.token = pl_strdup("one");
    bench_start(b);
}

TEST(a_token_file_is_read_again_when_it_was_replaced)
{
    struct bench b;
    use_token_file(&b);
    expect_token(&b, "Bearer one");
    write_file("token", "  two words are no token");
    expect_token(&b, "Bearer one");
    write_file("token", "two\n");
    expect_token(&b, "Bearer two");
    bench_deinit(&b);
    teardown();
}

/* Rule 153. */
TEST(a_token_that_cannot_be_read_stays_in_use)
{
    struct bench b;
    use_token_file(&b);
    expect_token(&b, "Bearer one");
    unlink(path_of("token"));
    expect_token(&b, "Bearer one");
    bench_run(&b, 120 * PL_SECOND);
    expect_token(&b, "Bearer one");
    write_file("token", "");
    expect_token(&b, "Bearer one");
    write_file("token", "three");
    expect_token(&b, "Bearer three");
    bench_deinit(&b);
    teardown();
}

static void set_times(const char *file, const struct stat *to)
{
    const struct timespec times[2] = {to->st_atim, to->st_mtim};
    REQUIRE(utimensat(AT_FDCWD, file, times, 0) == 0);
}

TEST(a_token_older_than_a_minute_is_read_whatever_the_file_s_time_says)
{
    struct bench b;
    struct stat before;
    use_token_file(&b);
    expect_token(&b, "Bearer one");
    REQUIRE(stat(path_of("token"), &before) == 0);
    FILE *file = fopen(path_of("token"), "r+"); /* same inode, same size, same time */
    fputs("six", file);
    fclose(file);
    set_times(path_of("token"), &before);
    bench_run(&b, 59 * PL_SECOND);
    expect_token(&b, "Bearer one");
    bench_run(&b, 1 * PL_SECOND);
    expect_token(&b, "Bearer six");
    bench_deinit(&b);
    teardown();
}

TEST(a_401_is_retried_once_with_the_token_that_is_in_the_file_now)
{
    struct bench b;
    struct got got = {0};
    use_token_file(&b);
    struct fake_request *request = get(&b, &got);
    write_file("token", "two");
    fake_reply(request, 401, "{\"kind\":\"Status\",\"code\":401,\"reason\":\"Unauthorized\"}");
    bench_run(&b, 0);
    request = fake_next(&b.net);
    REQUIRE(request != NULL);
    CHECK_STR(fake_header(request, "authorization"), "Bearer two");
    write_file("token", "three");
    fake_reply(request, 401, "{\"kind\":\"Status\",\"code\":401,\"reason\":\"Unauthorized\"}");
    bench_run(&b, 0);
    CHECK_INT(got.count, 1);
    CHECK(pl_err_is_unauthorized(&got.err));
    bench_deinit(&b);
    teardown();
}

TEST(a_401_to_the_only_token_there_is_surfaces)
{
    struct bench b;
    struct got got = {0};
    use_token_file(&b);
    fake_reply(get(&b, &got), 401, "no");
    bench_run(&b, 0);
    CHECK_INT(got.count, 1);
    CHECK(pl_err_is_unauthorized(&got.err));
    CHECK_INT(b.net.start_count, 1);
    bench_deinit(&b);
    teardown();
}

static void on_watch_end(void *arg, const struct pl_err *err)
{
    struct got *got = arg;
    got->count++;
    got->err = *err;
}

static void on_watch_open(void *arg)
{
    ((struct got *)arg)->items++;
}

TEST(a_watch_is_opened_again_with_a_fresh_token_once)
{
    struct bench b;
    struct got got = {0};
    static const struct pl_watch_ops ops = {.on_open = on_watch_open, .on_end = on_watch_end};
    struct pl_watch_call call = {.resource = &pods};
    use_token_file(&b);
    pl_client_watch(b.client, &call, &ops, &got);
    struct fake_request *request = fake_next(&b.net);
    write_file("token", "two");
    fake_reply(request, 401, "old");
    CHECK_INT(got.count, 0);
    request = fake_next(&b.net);
    REQUIRE(request != NULL);
    CHECK_STR(fake_header(request, "authorization"), "Bearer two");
    fake_begin(request, 200);
    CHECK_INT(got.items, 1);
    pl_client_watch(b.client, &call, &ops, &got);
    fake_reply(fake_next(&b.net), 401, "no");
    CHECK_INT(got.count, 1);
    CHECK(pl_err_is_unauthorized(&got.err));
    bench_deinit(&b);
    teardown();
}

struct certs {
    struct test_ca *ca[2];
    struct test_cert pair[2];
};

static void use_certificate_files(struct bench *b, struct certs *certs)
{
    setup();
    for (int i = 0; i < 2; i++) {
        certs->ca[i] = test_ca_create("ca");
        certs->pair[i] = test_ca_issue(certs->ca[i], "user", NULL, 3600);
    }
    write_file("ca", test_ca_pem(certs->ca[0]));
    write_file("cert", certs->pair[0].cert_pem);
    write_file("key", certs->pair[0].key_pem);
    bench_prepare(b);
    b->config.ca_file = pl_strdup(path_of("ca"));
    b->config.cert_file = pl_strdup(path_of("cert"));
    b->config.key_file = pl_strdup(path_of("key"));
    b->config.ca_pem = pl_strdup(test_ca_pem(certs->ca[0]));
    b->config.cert_pem = pl_strdup(certs->pair[0].cert_pem);
    b->config.key_pem = pl_strdup(certs->pair[0].key_pem);
    b->config.server_name = pl_strdup("sni");
    bench_start(b);
}

static void drop_certificate_files(struct bench *b, struct certs *certs)
{
    bench_deinit(b);
    teardown();
    for (int i = 0; i < 2; i++) {
        test_cert_deinit(&certs->pair[i]);
        test_ca_destroy(certs->ca[i]);
    }
}

static void check_pair(struct fake_request *request, const struct test_cert *want)
{
    CHECK_STR(request->request.tls->cert_pem, want->cert_pem);
    CHECK_STR(request->request.tls->key_pem, want->key_pem);
}

static struct fake_request *get_a_second_later(struct bench *b, struct got *got)
{
    b->clock.now_ns += PL_SECOND; /* timers do not run, so requests stay under way */
    return get(b, got);
}

/* F42: written one after the other, half written, missing for a minute, then whole. */
TEST(the_last_pair_of_certificate_and_key_that_belonged_together_stays_in_use)
{
    struct bench b;
    struct certs certs;
    struct got got[8] = {0};
    use_certificate_files(&b, &certs);
    struct fake_request *first = get(&b, &got[0]);
    check_pair(first, &certs.pair[0]);
    CHECK_STR(first->request.tls->server_name, "sni");
    write_file("cert", certs.pair[1].cert_pem);
    check_pair(get_a_second_later(&b, &got[1]), &certs.pair[0]);
    write_file("cert", "-----BEGIN CERTIFICATE-----\nMII");
    write_file("key", certs.pair[1].key_pem);
    check_pair(get_a_second_later(&b, &got[2]), &certs.pair[0]);
    unlink(path_of("key"));
    check_pair(get_a_second_later(&b, &got[3]), &certs.pair[0]);
    unlink(path_of("cert"));
    b.clock.now_ns += 60 * PL_SECOND;
    check_pair(get(&b, &got[4]), &certs.pair[0]);
    write_file("key", certs.pair[1].key_pem);
    check_pair(get_a_second_later(&b, &got[5]), &certs.pair[0]);
    write_file("cert", certs.pair[1].cert_pem);
    check_pair(get_a_second_later(&b, &got[6]), &certs.pair[1]);
    check_pair(first, &certs.pair[0]); /* a request under way keeps its credentials */
    drop_certificate_files(&b, &certs);
}

TEST(the_ca_is_read_again_as_a_request_starts_once_it_is_whole)
{
    struct bench b;
    struct certs certs;
    struct got got[4] = {0};
    use_certificate_files(&b, &certs);
    struct fake_request *first = get(&b, &got[0]);
    char *half = strndup(test_ca_pem(certs.ca[1]), strlen(test_ca_pem(certs.ca[1])) / 2);
    char *both = pl_format("%s%s", test_ca_pem(certs.ca[0]), test_ca_pem(certs.ca[1]));
    char *cut = pl_format("%s%s", test_ca_pem(certs.ca[0]), half);
    write_file("ca", half);
    CHECK_STR(get(&b, &got[1])->request.tls->ca_pem, test_ca_pem(certs.ca[0]));
    write_file("ca", cut);
    CHECK_STR(get(&b, &got[2])->request.tls->ca_pem, test_ca_pem(certs.ca[0]));
    write_file("ca", both);
    CHECK_STR(get(&b, &got[3])->request.tls->ca_pem, both);
    CHECK_STR(first->request.tls->ca_pem, test_ca_pem(certs.ca[0]));
    free(half);
    pl_free(both);
    pl_free(cut);
    drop_certificate_files(&b, &certs);
}

TEST(basic_auth_impersonation_proxy_and_plain_http_reach_the_request)
{
    struct bench b;
    struct got got = {0};
    bench_prepare(&b);
    pl_free(b.config.server);
    b.config.server = pl_strdup("http://api");
    b.config.username = pl_strdup("u");
    b.config.password = pl_strdup("p:w");
    b.config.proxy = pl_strdup("http://proxy:1");
    b.config.impersonate_user = pl_strdup("jane");
    b.config.impersonate_uid = pl_strdup("7");
    b.config.impersonate_groups = pl_calloc(3, sizeof(char *));
    b.config.impersonate_groups[0] = pl_strdup("g1");
    b.config.impersonate_groups[1] = pl_strdup("g2");
    bench_start(&b);
    struct fake_request *request = get(&b, &got);
    CHECK(request->request.tls == NULL);
    CHECK(fake_header(request, "authorization") == NULL);
    CHECK_STR(request->request.user_password, "u:p:w");
    CHECK_STR(request->request.proxy, "http://proxy:1");
    CHECK_STR(fake_header(request, "impersonate-user"), "jane");
    CHECK_STR(fake_header(request, "impersonate-uid"), "7");
    int groups = 0;
    for (size_t i = 0; i < request->header_count; i++)
        groups += strcmp(request->headers[i].name, "Impersonate-Group") == 0;
    CHECK_INT(groups, 2);
    bench_deinit(&b);
}

/* The log of a token that is read twice from its file. */
static void check_warning(const char *server, bool insecure, const char *want)
{
    struct bench b;
    int fds[2];
    char text[1024];
    setup();
    write_file("token", "one");
    REQUIRE(pipe2(fds, O_CLOEXEC | O_NONBLOCK) == 0);
    pl_log_configure(PL_LOG_WARN, false, fds[1]);
    bench_prepare(&b);
    pl_free(b.config.server);
    b.config.server = pl_strdup(server);
    b.config.insecure = insecure;
    b.config.token_file = pl_strdup(path_of("token"));
    b.config.token = pl_strdup("one");
    bench_start(&b);
    expect_token(&b, "Bearer one");
    write_file("token", "another");
    expect_token(&b, "Bearer another");
    bench_deinit(&b);
    pl_log_configure(PL_LOG_INFO, false, STDERR_FILENO);
    ssize_t len = read(fds[0], text, sizeof text - 1);
    text[len > 0 ? len : 0] = '\0';
    const char *at = strstr(text, want);
    CHECK(at != NULL);
    if (at != NULL)
        CHECK(*want == '\0' ? len <= 0 : strstr(at + 1, "warn") == NULL);
    close(fds[0]);
    close(fds[1]);
    teardown();
}

TEST(a_token_that_somebody_in_between_could_take_is_warned_of_once)
{
    check_warning("https://api", false, "");
    check_warning("http://api", false, "credentials are sent without encryption");
    check_warning("http://api", true, "credentials are sent without encryption");
    check_warning("https://api", true,
                  "credentials are sent to a server whose certificate is not verified");
}

TEST(an_unverified_server_without_credentials_is_nothing_to_warn_of)
{
    struct bench b;
    int fds[2];
    char text[1024];
    REQUIRE(pipe2(fds, O_CLOEXEC | O_NONBLOCK) == 0);
    pl_log_configure(PL_LOG_WARN, false, fds[1]);
    bench_prepare(&b);
    b.config.insecure = true;
    bench_start(&b);
    bench_deinit(&b);
    pl_log_configure(PL_LOG_INFO, false, STDERR_FILENO);
    CHECK(read(fds[0], text, sizeof text) < 0);
    close(fds[0]);
    close(fds[1]);
}

TEST(a_token_that_would_break_the_header_is_refused_at_the_start)
{
    struct bench b;
    struct pl_err err;
    bench_prepare(&b);
    b.config.token = pl_strdup("a\r\nX-Admin: yes");
    CHECK(pl_client_create(&b.options, &err) == NULL);
    CHECK_INT(err.code, PL_EINVAL);
    CHECK_STR(err.message, "test: the token has characters that a token cannot have");
    bench_deinit(&b);
}

/* ---- exec plugins: real processes on a real loop, waited for with a limit ---- */

struct stage {
    struct pl_clock clock;    /* the system's, unless it is stopped */
    int64_t wall_ns, mono_ns; /* 0: as the system's */
    struct pl_loop *loop;
    struct fake_transport net;
    struct pl_kubeconfig config;
    struct pl_rand rand;
    struct pl_waits waits;
    struct pl_client *client;
};

static int64_t mono(void *arg)
{
    const struct stage *s = arg;
    return s->mono_ns != 0 ? s->mono_ns : pl_clock_mono(pl_clock_system());
}

static int64_t wall(void *arg)
{
    const struct stage *s = arg;
    return s->wall_ns != 0 ? s->wall_ns : pl_clock_wall(pl_clock_system());
}

static void stage_init(struct stage *s, const char *script, bool cluster_info)
{
    char text[2048];
    setup();
    memset(s, 0, sizeof *s);
    s->clock = (struct pl_clock){mono, mono, wall, s};
    s->loop = pl_loop_create(&s->clock);
    fake_transport_init(&s->net, pl_loop_timers(s->loop));
    pl_waits_init(&s->waits, &s->clock);
    s->config.source = pl_strdup("test");
    s->config.server = pl_strdup("https://api:6443");
    s->config.ca_pem = pl_strdup("CA");
    struct pl_exec_plugin *plugin = s->config.exec = PL_NEW(struct pl_exec_plugin);
    plugin->api_version = pl_strdup("client.authentication.k8s.io/v1");
    plugin->provide_cluster_info = cluster_info;
    plugin->cluster_config = pl_strdup("{\"region\":\"eu\"}");
    plugin->install_hint = pl_strdup("try apt install login");
    plugin->args = pl_calloc(2, sizeof(char *));
    plugin->args[0] = pl_strdup(dir);
    plugin->env = pl_calloc(4, sizeof(char *));
    plugin->env[0] = pl_strdup("PATH=/usr/bin:/bin");
    plugin->env[1] = pl_strdup("KUBERNETES_EXEC_INFO=old");
    plugin->env[2] = pl_strdup("CLIENT_SECRET=hunter22");
    if (script != NULL) {
        snprintf(text, sizeof text, "#!/bin/sh\necho run >> $1/runs\n%s\n", script);
        write_file("plugin", text);
    }
    plugin->command = pl_strdup(path_of("plugin"));
    struct pl_err err;
    s->client = pl_client_create(&(struct pl_client_options){.transport = fake_transport(&s->net),
                                                             .timers = pl_loop_timers(s->loop),
                                                             .rand = &s->rand,
                                                             .waits = &s->waits,
                                                             .loop = s->loop,
                                                             .config = &s->config},
                                 &err);
    REQUIRE(s->client != NULL);
}

static void stage_deinit(struct stage *s)
{
    pl_client_destroy(s->client);
    pl_loop_turn(s->loop, 0);
    CHECK_INT(s->net.open_count, 0);
    CHECK_INT(s->waits.count, 0);
    fake_transport_deinit(&s->net);
    pl_kubeconfig_deinit(&s->config);
    pl_loop_destroy(s->loop);
    teardown();
}

static void start_get(struct stage *s, struct got *got)
{
    struct pl_call call = get_call("a");
    pl_client_start(s->client, &call, got_answer, got);
}

/* Turns until a request was started or got has its answer; NULL then. */
static struct fake_request *wait_request(struct stage *s, const struct got *got)
{
    struct fake_request *request = fake_next(&s->net);
    for (int i = 0; i < 1000 && request == NULL && got->count == 0; i++) {
        pl_loop_turn(s->loop, 10);
        request = fake_next(&s->net);
    }
    return request;
}

static int runs(void)
{
    struct stat st;
    return stat(path_of("runs"), &st) == 0 ? (int)(st.st_size / 4) : 0;
}

#define ANSWER(status)                                                                             \
    "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\","       \
    "\"status\":{" status "}}'"

TEST(a_plugin_is_run_once_for_all_who_wait_and_its_token_is_kept)
{
    struct stage s;
    struct got got[3] = {0};
    stage_init(&s, "printf %s \"$KUBERNETES_EXEC_INFO\" > $1/info\n" ANSWER("\"token\":\"tok\""),
               true);
    start_get(&s, &got[0]);
    start_get(&s, &got[1]);
    CHECK_INT(s.net.start_count, 0);
    CHECK_INT(s.waits.count, 3);
    for (int i = 0; i < 2; i++) {
        struct fake_request *request = wait_request(&s, &got[i]);
        REQUIRE(request != NULL);
        CHECK_STR(fake_header(request, "authorization"), "Bearer tok");
        fake_reply(request, 200, "{}");
    }
    start_get(&s, &got[2]);
    fake_reply(wait_request(&s, &got[2]), 200, "{}");
    CHECK_INT(got[2].count, 1);
    CHECK_INT(runs(), 1);
    char info[1024] = "";
    FILE *file = fopen(path_of("info"), "r");
    REQUIRE(file != NULL);
    REQUIRE(fgets(info, sizeof info, file) != NULL);
    fclose(file);
    CHECK_STR(info,
              "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\","
              "\"spec\":{\"interactive\":false,\"cluster\":{\"server\":\"https://api:6443\","
              "\"certificate-authority-data\":\"Q0E=\",\"config\":{\"region\":\"eu\"}}}}");
    stage_deinit(&s);
}

#define YEAR_2100 (INT64_C(4102444800) * PL_SECOND)

TEST(a_plugin_is_run_again_when_its_credential_expires)
{
    struct stage s;
    struct got got[3] = {0};
    stage_init(&s,
               ANSWER("\"token\":\"t'$(wc -l < $1/runs)'\",\"expirationTimestamp\":"
                      "\"2100-01-01T00:00:00Z\""),
               false);
    start_get(&s, &got[0]);
    CHECK_STR(fake_header(wait_request(&s, &got[0]), "authorization"), "Bearer t1");
    start_get(&s, &got[1]);
    CHECK_STR(fake_header(wait_request(&s, &got[1]), "authorization"), "Bearer t1");
    s.wall_ns = YEAR_2100 + PL_SECOND;
    start_get(&s, &got[2]);
    CHECK_STR(fake_header(wait_request(&s, &got[2]), "authorization"), "Bearer t2");
    stage_deinit(&s);
}

/* From the second run on the plugin waits until it may answer. */
static const char slow_renewal[] = "n=$(wc -l < $1/runs)\n"
                                   "while [ $n -gt 1 ] && [ ! -e $1/go$n ]; do sleep 0.01; done\n"
                                   "[ ! -e $1/fail$n ] || exit 1\n" //
    ANSWER("\"token\":\"t'$n'\",\"expirationTimestamp\":\"'$(cat $1/expiry)'\"");

static void check_token(struct stage *s, struct got *got, const char *want)
{
    start_get(s, got);
    struct fake_request *request = fake_next(&s->net);
    CHECK(request != NULL);
    if (request != NULL)
        CHECK_STR(fake_header(request, "authorization"), want);
}

/* The plugin's last run is a while ago, and the credential ends in four seconds. */
static void let_it_become_old(struct stage *s)
{
    s->mono_ns = pl_clock_mono(pl_clock_system()) + 2 * PL_SECOND;
    s->wall_ns = YEAR_2100 - 4 * PL_SECOND;
}

TEST(while_a_credential_is_good_nobody_waits_for_the_next)
{
    struct stage s;
    struct got got[5] = {0};
    stage_init(&s, slow_renewal, false);
    write_file("expiry", "2100-01-01T00:00:00Z");
    s.wall_ns = YEAR_2100 - 3600 * PL_SECOND;
    start_get(&s, &got[0]);
    CHECK_STR(fake_header(wait_request(&s, &got[0]), "authorization"), "Bearer t1");
    let_it_become_old(&s);
    check_token(&s, &got[1], "Bearer t1"); /* and runs the plugin */
    check_token(&s, &got[2], "Bearer t1");
    TURN_UNTIL(s.loop, runs() == 2);
    s.wall_ns = YEAR_2100;
    start_get(&s, &got[3]); /* waits for that run */
    CHECK(fake_next(&s.net) == NULL);
    write_file("expiry", "2100-01-01T01:00:00Z");
    write_file("go2", "");
    CHECK_STR(fake_header(wait_request(&s, &got[3]), "authorization"), "Bearer t2");
    check_token(&s, &got[4], "Bearer t2");
    CHECK_INT(runs(), 2);
    stage_deinit(&s);
}

TEST(a_renewal_that_fails_harms_nobody_while_the_credential_is_good)
{
    struct stage s;
    struct got got[4] = {0};
    stage_init(&s, slow_renewal, false);
    write_file("expiry", "2100-01-01T00:00:00Z");
    s.wall_ns = YEAR_2100 - 3600 * PL_SECOND;
    start_get(&s, &got[0]);
    CHECK_STR(fake_header(wait_request(&s, &got[0]), "authorization"), "Bearer t1");
    let_it_become_old(&s);
    write_file("fail2", "");
    write_file("go2", "");
    check_token(&s, &got[1], "Bearer t1");
    TURN_UNTIL(s.loop, s.waits.count == 2); /* the two requests: the plugin has ended */
    check_token(&s, &got[2], "Bearer t1");
    CHECK_INT(runs(), 2); /* it rests */
    stage_deinit(&s);
}

TEST(a_plugin_that_keeps_giving_what_is_about_to_expire_rests_too)
{
    struct stage s;
    struct got got[3] = {0};
    stage_init(&s, slow_renewal, false);
    write_file("expiry", "2100-01-01T00:00:00Z");
    write_file("go2", "");
    s.wall_ns = YEAR_2100 - 4 * PL_SECOND;
    s.mono_ns = pl_clock_mono(pl_clock_system());
    start_get(&s, &got[0]);
    CHECK_STR(fake_header(wait_request(&s, &got[0]), "authorization"), "Bearer t1");
    check_token(&s, &got[1], "Bearer t1");
    CHECK_INT(s.waits.count, 2); /* none of them is a plugin */
    stage_deinit(&s);
}

TEST(a_401_runs_the_plugin_again_once)
{
    struct stage s;
    struct got got = {0};
    stage_init(&s, ANSWER("\"token\":\"t'$(wc -l < $1/runs)'\""), false);
    start_get(&s, &got);
    fake_reply(wait_request(&s, &got), 401, "expired");
    struct fake_request *request = wait_request(&s, &got);
    REQUIRE(request != NULL);
    CHECK_STR(fake_header(request, "authorization"), "Bearer t2");
    fake_reply(request, 401, "still");
    CHECK_INT(got.count, 1);
    CHECK(pl_err_is_unauthorized(&got.err));
    CHECK_INT(runs(), 2);
    stage_deinit(&s);
}

TEST(a_plugin_may_give_a_client_certificate)
{
    struct stage s;
    struct got got = {0};
    stage_init(&s, ANSWER("\"clientCertificateData\":\"CERT\",\"clientKeyData\":\"KEY\""), false);
    start_get(&s, &got);
    struct fake_request *request = wait_request(&s, &got);
    REQUIRE(request != NULL);
    CHECK_STR(request->request.tls->cert_pem, "CERT");
    CHECK_STR(request->request.tls->key_pem, "KEY");
    CHECK_STR(request->request.tls->ca_pem, "CA");
    CHECK(fake_header(request, "authorization") == NULL);
    stage_deinit(&s);
}

TEST(what_is_wrong_with_a_plugin_is_said)
{
    static const struct {
        const char *script, *says;
    } cases[] = {
        {NULL, "; try apt install login"},
        {"echo please log in >&2; exit 1", "failed with exit status 1: please log in"},
        {"echo with $CLIENT_SECRET in /usr/bin >&2; exit 1", "1: with <8 bytes> in /usr/bin"},
        {ANSWER("\"token\":\"abcdefghi\"") "; echo got abcdefghi >&2; exit 1", "1: got <9 bytes>"},
        {"echo hello", "is not JSON"},
        {"echo '{}'", "is not an ExecCredential"},
        {"echo "
         "'{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1beta1\"}'",
         "version \"client.authentication.k8s.io/v1beta1\""},
        {ANSWER(""), "neither a token nor a certificate"},
        {ANSWER("\"clientKeyData\":\"x\""), "only one of"},
        {ANSWER("\"token\":\"a b\""), "characters that a token cannot have"},
        {ANSWER("\"token\":\"a\",\"expirationTimestamp\":\"soon\""), "expirationTimestamp"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct stage s;
        struct got got = {0};
        stage_init(&s, cases[i].script, false);
        start_get(&s, &got);
        CHECK(wait_request(&s, &got) == NULL);
        CHECK_INT(got.count, 1);
        CHECK_INT(got.err.code, PL_ENETWORK);
        CHECK_STR(got.err.reason, "Credentials");
        CHECK(strstr(got.err.message, "exec plugin") != NULL);
        if (strstr(got.err.message, cases[i].says) == NULL)
            TEST_FAIL("%s: not in \"%s\"", cases[i].says, got.err.message);
        stage_deinit(&s);
    }
}

TEST(what_a_plugin_says_is_logged_without_its_credentials)
{
    char text[4096] = "";
    FILE *log = tmpfile();
    REQUIRE(log != NULL);
    struct stage s;
    struct got got = {0};
    stage_init(&s, "echo giving token-0123456789 >&2; " ANSWER("\"token\":\"token-0123456789\""),
               false);
    pl_log_configure(PL_LOG_INFO, false, fileno(log));
    start_get(&s, &got);
    struct fake_request *request = wait_request(&s, &got);
    pl_log_configure(PL_LOG_INFO, false, STDERR_FILENO);
    REQUIRE(request != NULL);
    CHECK_STR(fake_header(request, "authorization"), "Bearer token-0123456789");
    CHECK(pread(fileno(log), text, sizeof text - 1, 0) > 0);
    if (strstr(text, "giving <16 bytes>") == NULL || strstr(text, "0123456789") != NULL)
        TEST_FAIL("%s", text);
    fake_reply(request, 200, "{}");
    fclose(log);
    stage_deinit(&s);
}

TEST(a_plugin_that_failed_rests_a_second)
{
    struct stage s;
    struct got got[2] = {0};
    stage_init(&s, "exit 1", false);
    start_get(&s, &got[0]);
    wait_request(&s, &got[0]);
    start_get(&s, &got[1]);
    CHECK_INT(got[1].count, 0);
    wait_request(&s, &got[1]);
    CHECK_INT(got[1].count, 1);
    CHECK_STR(got[1].err.message, got[0].err.message);
    CHECK_INT(runs(), 1);
    stage_deinit(&s);
}

TEST(an_operation_does_not_wait_longer_for_a_plugin_than_its_deadline)
{
    struct stage s;
    struct got got = {0};
    stage_init(&s, "sleep 1000", false);
    struct pl_call call = get_call("a");
    call.timeout_ns = 50 * PL_MS;
    pl_client_start(s.client, &call, got_answer, &got);
    CHECK(wait_request(&s, &got) == NULL);
    CHECK_INT(got.count, 1);
    CHECK_INT(got.err.code, PL_ETIMEOUT);
    stage_deinit(&s);
}

TEST(cancelling_and_destroying_while_a_plugin_runs)
{
    struct stage s;
    struct got got[2] = {0};
    stage_init(&s, "sleep 1000", false);
    struct pl_call call = get_call("a");
    struct pl_op *op = pl_client_start(s.client, &call, got_answer, &got[0]);
    start_get(&s, &got[1]);
    pl_op_cancel(op);
    wait_request(&s, &got[0]);
    CHECK_INT(got[0].err.code, PL_ECANCELED);
    CHECK_INT(got[1].count, 0);
    pl_client_destroy(s.client);
    s.client = NULL;
    CHECK_INT(got[1].err.code, PL_ECANCELED);
    stage_deinit(&s);
}

TEST_MAIN()

#include "cluster/trace_env.h"

#include "base/log.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const *variables; /* name, value, ..., NULL */

static const char *get(const char *name)
{
    for (size_t i = 0; variables[i] != NULL; i += 2)
        if (strcmp(variables[i], name) == 0)
            return variables[i + 1];
    return NULL;
}

/* The caller calls deinit. */
static int env_read(struct pl_trace_env *env, struct pl_err *err, const char *const *these)
{
    pl_log_set_level(PL_LOG_OFF);
    variables = these;
    pl_err_clear(err);
    return pl_trace_env_read(env, get, err);
}

#define READ(env, err, ...) env_read(env, err, (const char *const[]){__VA_ARGS__, NULL})

TEST(without_an_endpoint_there_are_no_traces)
{
    struct pl_trace_env env;
    struct pl_err err;
    CHECK_INT(READ(&env, &err, "OTEL_SERVICE_NAME", "a"), 0);
    CHECK(env.url == NULL);
    pl_trace_env_deinit(&env);
    CHECK_INT(READ(&env, &err, "OTEL_EXPORTER_OTLP_ENDPOINT", ""), 0);
    CHECK(env.url == NULL);
    pl_trace_env_deinit(&env);
}

TEST(what_is_not_said_has_a_default)
{
    struct pl_trace_env env;
    struct pl_err err;
    CHECK_INT(READ(&env, &err, "OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318//"), 0);
    CHECK_STR(env.url, "http://collector:4318/v1/traces");
    CHECK_STR(env.service, "perilune");
    CHECK_INT(env.headers.count, 0);
    CHECK_INT(env.attributes.count, 0);
    CHECK_INT(env.timeout_ms, 10000);
    CHECK(env.ratio == 1);
    CHECK(env.ca_pem == NULL);
    pl_trace_env_deinit(&env);
}

TEST(a_variable_for_traces_is_preferred)
{
    struct pl_trace_env env;
    struct pl_err err;
    CHECK_INT(READ(&env, &err, "OTEL_EXPORTER_OTLP_ENDPOINT", "http://a",
                   "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://b/c/",
                   "OTEL_EXPORTER_OTLP_HEADERS", "x=1", "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "y=2",
                   "OTEL_EXPORTER_OTLP_TIMEOUT", "1", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "250"),
              0);
    CHECK_STR(env.url, "https://b/c/");
    REQUIRE(env.headers.count == 1);
    CHECK_STR(env.headers.items[0].name, "y");
    CHECK_STR(env.headers.items[0].value, "2");
    CHECK_INT(env.timeout_ms, 250);
    pl_trace_env_deinit(&env);
}

TEST(traces_can_be_turned_off)
{
    static const char *const off[][2] = {{"OTEL_SDK_DISABLED", "True"},
                                         {"OTEL_TRACES_EXPORTER", "none"},
                                         {"OTEL_TRACES_EXPORTER", "zipkin"},
                                         {"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"},
                                         {"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc"}};
    static const char *const on[][2] = {{"OTEL_SDK_DISABLED", "false"},
                                        {"OTEL_SDK_DISABLED", "perhaps"},
                                        {"OTEL_TRACES_EXPORTER", "otlp"},
                                        {"OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"},
                                        {"OTEL_EXPORTER_OTLP_PROTOCOL", "pigeon"}};
    struct pl_trace_env env;
    struct pl_err err;
    for (size_t i = 0; i < PL_ARRAY_LEN(off); i++) {
        CHECK_INT(READ(&env, &err, "OTEL_EXPORTER_OTLP_ENDPOINT", "http://a", off[i][0], off[i][1]),
                  0);
        CHECK(env.url == NULL);
        pl_trace_env_deinit(&env);
        CHECK_INT(READ(&env, &err, "OTEL_EXPORTER_OTLP_ENDPOINT", "http://a", on[i][0], on[i][1]),
                  0);
        CHECK(env.url != NULL);
        pl_trace_env_deinit(&env);
    }
}

TEST(an_endpoint_that_cannot_be_used_is_an_error)
{
    static const struct {
        const char *name, *value, *message;
    } cases[] = {
        {"OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318",
         "OTEL_EXPORTER_OTLP_ENDPOINT must begin with http:// or https:// and have a host"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://a",
         "OTEL_EXPORTER_OTLP_ENDPOINT must begin with http:// or https:// and have a host"},
        {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http:///v1/traces",
         "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: there is no host"},
        {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://a:99999/v1/traces",
         "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: the port must be a number up to 65535"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT", "http://u:secret@a",
         "OTEL_EXPORTER_OTLP_ENDPOINT must not have a user and a password in it: set "
         "OTEL_EXPORTER_OTLP_HEADERS=authorization=..."},
    };
    struct pl_trace_env env;
    struct pl_err err;
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        CHECK_INT(READ(&env, &err, cases[i].name, cases[i].value), PL_EINVAL);
        CHECK_STR(err.message, cases[i].message);
        pl_trace_env_deinit(&env);
    }
}

TEST(pairs_are_decoded_and_those_that_make_no_sense_are_left_out)
{
    struct pl_trace_env env;
    struct pl_err err;
    CHECK_INT(READ(&env, &err, "OTEL_EXPORTER_OTLP_ENDPOINT", "http://a",
                   "OTEL_EXPORTER_OTLP_HEADERS",
                   " authorization = Basic%20YWJj ,,x,=y,two words=1,Content-Length=5,"
                   "b=1%0d%0ac: 2,e=%zz,empty=,t=1",
                   "OTEL_RESOURCE_ATTRIBUTES",
                   "k8s.pod.name=web-0,service.name=shop,note=a%2Cb%3D%C3%A4,nothing"),
              0);
    REQUIRE(env.headers.count == 3);
    CHECK_STR(env.headers.items[0].name, "authorization");
    CHECK_STR(env.headers.items[0].value, "Basic YWJj");
    CHECK_STR(env.headers.items[1].name, "empty");
    CHECK_STR(env.headers.items[1].value, "");
    CHECK_STR(env.headers.items[2].name, "t");
    CHECK_STR(env.service, "shop");
    REQUIRE(env.attributes.count == 2);
    CHECK_STR(env.attributes.items[0].name, "k8s.pod.name");
    CHECK_STR(env.attributes.items[0].value, "web-0");
    CHECK_STR(env.attributes.items[1].value, "a,b=\xc3\xa4");
    pl_trace_env_deinit(&env);
}

TEST(the_name_of_the_service_has_a_variable_of_its_own)
{
    struct pl_trace_env env;
    struct pl_err err;
    CHECK_INT(READ(&env, &err, "OTEL_EXPORTER_OTLP_ENDPOINT", "http://a", "OTEL_SERVICE_NAME",
                   "first", "OTEL_RESOURCE_ATTRIBUTES", "service.name=second,service.name=third"),
              0);
    CHECK_STR(env.service, "first");
    CHECK_INT(env.attributes.count, 0);
    pl_trace_env_deinit(&env);
}

TEST(sixteen_headers_are_sent_at_most)
{
    char text[512] = "";
    struct pl_trace_env env;
    struct pl_err err;
    for (int i = 0; i < 20; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "h%d=%d,", i, i);
    CHECK_INT(READ(&env, &err, "OTEL_EXPORTER_OTLP_ENDPOINT", "http://a",
                   "OTEL_EXPORTER_OTLP_HEADERS", text),
              0);
    CHECK_INT(env.headers.count, 16);
    pl_trace_env_deinit(&env);
}

TEST(a_sampler_chooses_a_part_of_the_runs)
{
    static const struct {
        const char *name, *argument;
        double ratio;
    } cases[] = {
        {"always_on", "0.5", 1},           {"always_off", "", 0},
        {"traceidratio", "0.25", 0.25},    {"traceidratio", "", 1},
        {"traceidratio", "7", 1},          {"traceidratio", "nan", 1},
        {"traceidratio", "a", 1},          {"parentbased_traceidratio", "0", 0},
        {"parentbased_always_off", "", 0}, {"jaeger_remote", "", 1},
    };
    struct pl_trace_env env;
    struct pl_err err;
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        CHECK_INT(READ(&env, &err, "OTEL_EXPORTER_OTLP_ENDPOINT", "http://a", "OTEL_TRACES_SAMPLER",
                       cases[i].name, "OTEL_TRACES_SAMPLER_ARG", cases[i].argument),
                  0);
        CHECK(env.ratio == cases[i].ratio);
        pl_trace_env_deinit(&env);
    }
}

TEST(a_timeout_that_makes_no_sense_is_ignored)
{
    static const char *const bad[] = {"x", "0", "-1", "1s", "600001", "99999999999999999999"};
    struct pl_trace_env env;
    struct pl_err err;
    for (size_t i = 0; i < PL_ARRAY_LEN(bad); i++) {
        CHECK_INT(READ(&env, &err, "OTEL_EXPORTER_OTLP_ENDPOINT", "http://a",
                       "OTEL_EXPORTER_OTLP_TIMEOUT", bad[i]),
                  0);
        CHECK_INT(env.timeout_ms, 10000);
        pl_trace_env_deinit(&env);
    }
}

TEST(a_certificate_that_cannot_be_read_is_an_error)
{
    struct pl_trace_env env;
    struct pl_err err;
    char path[] = "/tmp/trace_env_test.XXXXXX";
    int file = mkstemp(path);
    REQUIRE(file >= 0 && write(file, "rubbish", 7) == 7);
    close(file);
    CHECK_INT(READ(&env, &err, "OTEL_EXPORTER_OTLP_ENDPOINT", "https://a",
                   "OTEL_EXPORTER_OTLP_CERTIFICATE", path),
              PL_EINVAL);
    CHECK(strncmp(err.message, "OTEL_EXPORTER_OTLP_CERTIFICATE: /tmp/", 37) == 0);
    CHECK(strstr(err.message, "has no certificate in PEM") != NULL);
    pl_trace_env_deinit(&env);
    unlink(path);
    CHECK_INT(READ(&env, &err, "OTEL_EXPORTER_OTLP_ENDPOINT", "https://a",
                   "OTEL_EXPORTER_OTLP_CERTIFICATE", path),
              PL_EIO);
    CHECK(strncmp(err.message, "OTEL_EXPORTER_OTLP_CERTIFICATE: ", 32) == 0);
    CHECK(strstr(err.message, path) != NULL);
    pl_trace_env_deinit(&env);
}

TEST_MAIN()

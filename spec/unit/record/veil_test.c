/* Pseudonyms: equal values have equal ones, and the values appear nowhere. */
#include "record/veil.h"
#include "record/veil_place.h"

#include "value/scan.h"

#include "support/test.h"

static const unsigned char one_key[PL_VEIL_KEY] = {1}, other_key[PL_VEIL_KEY] = {2};

static const char secret[] =
    "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"a\",\"annotations\":{"
    "\"last\":\"has aHVudGVyLTEyMzQ= in it\"}},\"data\":{\"password\":\"aHVudGVyLTEyMzQ=\","
    "\"short\":\"YQ==\"}}";

static void write_json(struct pl_veil *veil, const char *json, struct pl_buf *out)
{
    struct pl_err err;
    const struct pl_scan_options options = {.keep_managed_fields = true};
    pl_err_clear(&err);
    struct pl_doc *doc = pl_scan_text(pl_slice_z(json), &options, &err);
    CHECK(doc != NULL);
    pl_buf_clear(out);
    pl_veil_write(veil, pl_doc_root(doc), out);
    pl_doc_unref(doc);
}

static bool has(const struct pl_buf *text, const char *what)
{
    return strstr(pl_buf_z(text), what) != NULL;
}

TEST(values_of_secrets_are_nowhere_in_what_is_written)
{
    struct pl_veil *veil = pl_veil_create(one_key);
    struct pl_buf out = PL_BUF_INIT;
    write_json(veil, secret, &out);
    CHECK(!has(&out, "aHVudGVyLTEyMzQ="));
    CHECK(!has(&out, "\"YQ==\""));
    CHECK(has(&out, "\"name\":\"a\""));
    pl_buf_clear(&out);
    pl_veil_text(veil, pl_slice_z("login with hunter-1234 now"), &out);
    CHECK(!has(&out, "hunter-1234"));
    CHECK(has(&out, "login with pseudonym-"));
    write_json(veil, "{\"kind\":\"v1/Secret\",\"body\":{\"stringData\":{\"x\":\"an own one\"}}}",
               &out);
    CHECK(!has(&out, "an own one"));
    write_json(veil, "{\"kind\":\"v1/ConfigMap\",\"body\":{\"data\":{\"x\":\"an own one\"}}}",
               &out);
    CHECK(!has(&out, "an own one"));
    pl_buf_deinit(&out);
    pl_veil_destroy(veil);
}

TEST(other_kinds_stay_as_they_are)
{
    static const char json[] =
        "{\"apiVersion\":\"v1\",\"data\":{\"a\":\"b\"},\"kind\":\"ConfigMap\"}";
    struct pl_veil *veil = pl_veil_create(one_key);
    struct pl_buf out = PL_BUF_INIT;
    write_json(veil, json, &out);
    CHECK_STR(pl_buf_z(&out), json);
    pl_buf_deinit(&out);
    pl_veil_destroy(veil);
}

TEST(private_keys_are_hidden_wherever_they_are)
{
    static const char key[] = "-----BEGIN PRIVATE KEY-----\nMIGH\n-----END PRIVATE KEY-----\n";
    struct pl_veil *veil = pl_veil_create(one_key);
    struct pl_buf out = PL_BUF_INIT;
    pl_veil_text(veil, pl_slice_z(key), &out);
    CHECK(!has(&out, "MIGH"));
    pl_buf_deinit(&out);
    pl_veil_destroy(veil);
}

TEST(a_value_has_the_same_pseudonym_each_time_and_another_with_another_key)
{
    struct pl_veil *one = pl_veil_create(one_key), *other = pl_veil_create(other_key);
    struct pl_buf a = PL_BUF_INIT, b = PL_BUF_INIT, c = PL_BUF_INIT;
    write_json(one, secret, &a);
    write_json(one, secret, &b);
    write_json(other, secret, &c);
    CHECK_STR(pl_buf_z(&a), pl_buf_z(&b));
    CHECK(strcmp(pl_buf_z(&a), pl_buf_z(&c)) != 0);
    write_json(other, pl_buf_z(&a), &b); /* a text that is a pseudonym already */
    CHECK_STR(pl_buf_z(&a), pl_buf_z(&b));
    pl_buf_deinit(&a);
    pl_buf_deinit(&b);
    pl_buf_deinit(&c);
    pl_veil_destroy(one);
    pl_veil_destroy(other);
}

TEST(pseudonyms_of_two_keys_are_the_same_when_each_stands_for_one)
{
    static const char two[] =
        "{\"kind\":\"v1/Secret\",\"body\":{\"stringData\":{\"a\":\"first-one\","
        "\"b\":\"second-one\",\"c\":\"first-one\"}}}";
    static const char swapped[] =
        "{\"kind\":\"v1/Secret\",\"body\":{\"stringData\":{\"a\":\"first-one\","
        "\"b\":\"second-one\",\"c\":\"second-one\"}}}";
    struct pl_veil *then = pl_veil_create(one_key), *now = pl_veil_create(other_key);
    struct pl_buf a = PL_BUF_INIT, b = PL_BUF_INIT;
    write_json(then, two, &a);
    write_json(now, two, &b);
    CHECK(strcmp(pl_buf_z(&a), pl_buf_z(&b)) != 0);
    CHECK(pl_veil_same(now, pl_buf_slice(&a), pl_buf_slice(&b)));
    write_json(now, two, &b); /* from now on with the other's */
    CHECK_STR(pl_buf_z(&a), pl_buf_z(&b));
    write_json(now, swapped, &b);
    CHECK(!pl_veil_same(now, pl_buf_slice(&a), pl_buf_slice(&b)));
    pl_buf_clear(&b);
    pl_veil_lift(now, pl_buf_slice(&a), true, &b);
    CHECK(has(&b, "first-one") && has(&b, "second-one"));
    pl_buf_deinit(&a);
    pl_buf_deinit(&b);
    pl_veil_destroy(then);
    pl_veil_destroy(now);
}

TEST(the_last_applied_configuration_of_a_secret_is_hidden_as_a_whole)
{
    static const char *const documents[] = {
        "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"annotations\":{"
        "\"kubectl.kubernetes.io/last-applied-configuration\":\"{\\\"x\\\":\\\"old \\\\\\\"one\\\"}"
        "\"}},\"data\":{\"a\":\"aHVudGVyLTEyMzQ=\"}}",
        "{\"kind\":\"v1/Secret\",\"body\":{\"metadata\":{\"annotations\":{"
        "\"kubectl.kubernetes.io/last-applied-configuration\":\"an old one\"}}}}",
        "{\"kind\":\"v1/Secret\",\"body\":[{\"op\":\"add\",\"path\":"
        "\"/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration\","
        "\"value\":\"an old one\"}]}",
        "{\"items\":[{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"annotations\":{"
        "\"kubectl.kubernetes.io/last-applied-configuration\":\"an old one\"}}}]}",
        "{\"apiVersion\":\"v1\",\"kind\":\"SecretList\",\"items\":[{\"metadata\":{\"annotations\":{"
        "\"kubectl.kubernetes.io/last-applied-configuration\":\"an old one\"}}}]}",
        "{\"request\":{\"oldObject\":{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{"
        "\"annotations\":{\"kubectl.kubernetes.io/last-applied-configuration\":\"an old "
        "one\"}}}}}",
        "{\"kind\":\"PartialObjectMetadata\",\"metadata\":{\"annotations\":{"
        "\"kubectl.kubernetes.io/last-applied-configuration\":\"{\\\"kind\\\":\\\"Secret\\\",old "
        "one}\"}}}",
    };
    struct pl_veil *veil = pl_veil_create(one_key);
    struct pl_buf out = PL_BUF_INIT;
    for (size_t i = 0; i < PL_ARRAY_LEN(documents); i++) {
        write_json(veil, documents[i], &out);
        CHECK(!has(&out, "old "));
        CHECK(has(&out, "\"pseudonym-"));
    }
    pl_buf_deinit(&out);
    pl_veil_destroy(veil);
}

TEST(json_patches_of_secrets_have_no_values)
{
    static const char *const patches[] = {
        "{\"op\":\"add\",\"path\":\"/data/n\",\"value\":\"aHVudGVyLTEyMzQ=\"}",
        "{\"op\":\"test\",\"path\":\"/data/a~1b\",\"value\":\"aHVudGVyLTEyMzQ=\"}",
        "{\"op\":\"add\",\"path\":\"/data\",\"value\":{\"n\":\"aHVudGVyLTEyMzQ=\"}}",
        "{\"op\":\"add\",\"path\":\"/stringData/n\",\"value\":\"hunter-1234\"}",
        "{\"op\":\"add\",\"path\":\"/stringData\",\"value\":{\"n\":\"hunter-1234\"}}",
        "{\"op\":\"replace\",\"path\":\"\",\"value\":{\"data\":{\"n\":\"aHVudGVyLTEyMzQ=\"}}}",
        "{\"op\":\"add\",\"path\":\"/data/n\",\"value\":{\"m\":[\"aHVudGVyLTEyMzQ=\"]}}",
    };
    struct pl_buf out = PL_BUF_INIT, json = PL_BUF_INIT;
    for (size_t i = 0; i < 2 * PL_ARRAY_LEN(patches); i++) {
        struct pl_veil *veil = pl_veil_create(one_key);
        pl_buf_clear(&json);
        pl_buf_add_f(&json, "{%s,\"verb\":\"patch\",\"body\":[%s]}",
                     i % 2 == 0 ? "\"kind\":\"v1/Secret\""
                                : "\"raw_path\":\"/api/v1/namespaces/a/secrets/b?x=y\"",
                     patches[i / 2]);
        write_json(veil, pl_buf_z(&json), &out);
        CHECK(!has(&out, "hunter") && !has(&out, "aHVudGVy"));
        CHECK(has(&out, "\"pseudonym-") || has(&out, "\"cHNldWRvbnlt"));
        pl_veil_destroy(veil);
    }
    pl_buf_deinit(&out);
    pl_buf_deinit(&json);
}

TEST(tokens_and_headers_with_credentials_are_hidden)
{
    static const char *const documents[] = {
        "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenRequest\",\"status\":{"
        "\"token\":\"hunter-1234\"}}",
        "{\"url\":\"https://a.example/\",\"headers\":{\"aUTHORIZATION\":\"hunter-1234\"}}",
        "{\"url\":\"https://a.example/\",\"headers\":{\"Proxy-Authorization\":\"hunter-1234\"}}",
        "{\"url\":\"https://a.example/\",\"headers\":{\"cookie\":\"hunter-1234\"}}",
        "{\"url\":\"https://a.example/\",\"headers\":{\"X-Api-Key\":\"hunter-1234\"}}",
        "{\"url\":\"https://a.example/\",\"headers\":{\"x-vault-token\":\"hunter-1234\"}}",
        "{\"url\":\"https://a.example/\",\"headers\":{\"My-Secret-Id\":\"hunter-1234\"}}",
        "{\"url\":\"https://a.example/\",\"headers\":{\"X-Password\":\"hunter-1234\"}}",
    };
    struct pl_buf out = PL_BUF_INIT;
    for (size_t i = 0; i < PL_ARRAY_LEN(documents); i++) {
        struct pl_veil *veil = pl_veil_create(one_key);
        write_json(veil, documents[i], &out);
        CHECK(!has(&out, "hunter"));
        CHECK(has(&out, "\"pseudonym-"));
        pl_veil_destroy(veil);
    }
    struct pl_veil *veil = pl_veil_create(one_key);
    write_json(veil, "{\"url\":\"https://a.example/\",\"headers\":{\"Accept\":\"hunter-1234\"}}",
               &out);
    CHECK(has(&out, "hunter-1234"));
    pl_veil_destroy(veil);
    pl_buf_deinit(&out);
}

TEST(values_are_known_in_the_forms_that_scripts_make_of_them)
{
    struct pl_veil *veil = pl_veil_create(one_key);
    struct pl_buf out = PL_BUF_INIT;
    write_json(veil,
               "{\"kind\":\"v1/Secret\",\"body\":{\"stringData\":{\"x\":\"a \\\"b\\\"\\nand c\"}}}",
               &out);
    pl_buf_clear(&out);
    pl_veil_text(veil, pl_slice_z("http://x/?p=a%20%22b%22%0Aand%20c"), &out);
    CHECK(has(&out, "?p=pseudonym-") && !has(&out, "and"));
    pl_buf_clear(&out);
    pl_veil_text(veil, pl_slice_z("{\"p\":\"a \\\"b\\\"\\nand c\"}"), &out);
    CHECK(has(&out, "\"pseudonym-") && !has(&out, "and"));
    write_json(veil, "{\"kind\":\"v1/Secret\",\"body\":{\"stringData\":{\"x\":\"a-word\\n\"}}}",
               &out);
    pl_buf_clear(&out);
    pl_veil_text(veil, pl_slice_z("it is a-word, YS13b3Jk"), &out);
    CHECK(has(&out, "it is pseudonym-") && !has(&out, "word") && !has(&out, "YS13b3Jk"));
    write_json(veil, "{\"data\":{\"json\":\"{\\\"p\\\":\\\"a \\\\\\\"b\\\\\\\"\\\\nand c\\\"}\"}}",
               &out);
    CHECK(has(&out, "pseudonym-") && !has(&out, "and"));
    pl_buf_deinit(&out);
    pl_veil_destroy(veil);
}

TEST(numbers_words_and_escapes_of_json_stay_when_values_look_like_them)
{
    struct pl_veil *veil = pl_veil_create(one_key);
    struct pl_buf out = PL_BUF_INIT;
    write_json(veil,
               "{\"kind\":\"v1/Secret\",\"body\":{\"stringData\":{\"a\":\"true\",\"b\":\"5432\","
               "\"c\":\"test\"}}}",
               &out);
    write_json(veil, "{\"a\":true,\"b\":5432,\"c\":\"is \\test\",\"d\":\"is 5432\"}", &out);
    CHECK(has(&out, "\"a\":true,\"b\":5432,\"c\":\"is \\test\",\"d\":\"is pseudonym-"));
    pl_buf_deinit(&out);
    pl_veil_destroy(veil);
}

TEST(names_of_members_stay_when_values_look_like_them)
{
    struct pl_veil *veil = pl_veil_create(one_key);
    struct pl_buf out = PL_BUF_INIT;
    write_json(veil,
               "{\"kind\":\"v1/Secret\",\"body\":{\"stringData\":{\"password\":\"password\"}}}",
               &out);
    CHECK(has(&out, "\"password\":\"pseudonym-"));
    write_json(veil, "{\"a\":{\"password\":\"a password\"},\"the-password\":\"\"}", &out);
    CHECK(has(&out, "{\"a\":{\"password\":\"a pseudonym-") && has(&out, "\"the-pseudonym-"));
    pl_buf_deinit(&out);
    pl_veil_destroy(veil);
}

TEST(a_value_that_begins_with_a_pseudonym_is_hidden)
{
    struct pl_veil *veil = pl_veil_create(one_key);
    struct pl_buf out = PL_BUF_INIT;
    write_json(veil,
               "{\"kind\":\"v1/Secret\",\"body\":{\"stringData\":{\"a\":"
               "\"pseudonym-0123456789abcdef01234567 and more\"}}}",
               &out);
    CHECK(!has(&out, "more"));
    pl_buf_deinit(&out);
    pl_veil_destroy(veil);
}

static bool is_secret_variable(const char *name, const char *value)
{
    return pl_place_is_secret_variable(pl_slice_z(name), pl_slice_z(value));
}

TEST(variables_of_the_environment_are_secrets_by_their_names_and_urls_by_their_passwords)
{
    CHECK(is_secret_variable("API_TOKEN", "x"));
    CHECK(is_secret_variable("db_password", "x"));
    CHECK(is_secret_variable("AWS_ACCESS_KEY_ID", "x"));
    CHECK(is_secret_variable("DATABASE_URL", "postgres://me:hidden@db/x"));
    CHECK(!is_secret_variable("DATABASE_URL", "postgres://db/x"));
    CHECK(!is_secret_variable("TOKEN_FILE", "/var/run/token"));
    CHECK(!is_secret_variable("SECRET_NAMESPACE", "default"));
    CHECK(!is_secret_variable("POD_NAMESPACE", "default"));
}

TEST_MAIN()

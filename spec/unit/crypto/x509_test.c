#include "crypto/x509.h"
#include "crypto/x509_seed.h"

#include "base/alloc.h"

#include "support/test.h"

#include <string.h>

#define NOW 1800000000LL

static struct pl_slice text(const struct pl_buf *buf)
{
    return pl_buf_slice(buf);
}

static struct pl_x509_field field(const char *name, const char *value)
{
    return (struct pl_x509_field){name, pl_slice_z(value)};
}

#define FIELDS(...)                                                                                \
    (struct pl_x509_fields)                                                                        \
    {                                                                                              \
        (struct pl_x509_field[]){__VA_ARGS__},                                                     \
            sizeof((struct pl_x509_field[]){__VA_ARGS__}) / sizeof(struct pl_x509_field)           \
    }
#define VALID field("not_before", "1790000000"), field("not_after", "1900000000")

static bool has(const struct pl_buf *read, const char *name, const char *value)
{
    const char *at = read->ptr, *end = read->ptr + read->len;
    while (at < end) {
        const char *second = at + strlen(at) + 1;
        if (strcmp(at, name) == 0 && strcmp(second, value) == 0)
            return true;
        at = second + strlen(second) + 1;
    }
    return false;
}

/* A CA with its key, and a server certificate that it has signed. */
struct chain {
    struct pl_buf ca_key, ca, key, cert;
};

static struct chain make_chain(const char *kind)
{
    struct chain c = {PL_BUF_INIT, PL_BUF_INIT, PL_BUF_INIT, PL_BUF_INIT};
    struct pl_err err;
    REQUIRE(pl_x509_make_key(kind, &c.ca_key, &err) == 0);
    REQUIRE(pl_x509_make_key(kind, &c.key, &err) == 0);
    REQUIRE(pl_x509_sign(text(&c.ca_key), pl_slice(NULL, 0), pl_slice(NULL, 0),
                         FIELDS(field("subject.CN", "a CA"), field("ca", "true"), VALID), &c.ca,
                         &err) == 0);
    struct pl_buf request = PL_BUF_INIT;
    REQUIRE(pl_x509_make_request(text(&c.key),
                                 FIELDS(field("subject.CN", "web"), field("dns", "web.example")),
                                 &request, &err) == 0);
    REQUIRE(pl_x509_sign(text(&request), text(&c.ca), text(&c.ca_key),
                         FIELDS(field("subject.CN", "web"), field("dns", "*.web.example"),
                                field("ip", "10.0.0.1"), field("usage", "server"), VALID),
                         &c.cert, &err) == 0);
    pl_buf_deinit(&request);
    return c;
}

static void free_chain(struct chain *c)
{
    pl_buf_deinit(&c->ca_key);
    pl_buf_deinit(&c->ca);
    pl_buf_deinit(&c->key);
    pl_buf_deinit(&c->cert);
}

TEST(what_is_signed_is_read_and_holds_for_its_names)
{
    static const char *const kinds[] = {"ecdsa-p256", "ecdsa-p384", "ed25519", "rsa-2048"};
    for (size_t i = 0; i < PL_ARRAY_LEN(kinds); i++) {
        struct chain c = make_chain(kinds[i]);
        struct pl_buf read = PL_BUF_INIT;
        struct pl_err err;
        REQUIRE(pl_x509_read(text(&c.cert), &read, &err) == 0);
        CHECK(has(&read, "kind", "certificate"));
        CHECK(has(&read, "subject.CN", "web") && has(&read, "issuer.CN", "a CA"));
        CHECK(has(&read, "dns", "*.web.example") && has(&read, "ip", "10.0.0.1"));
        CHECK(has(&read, "not_after", "1900000000") && has(&read, "key", kinds[i]));
        CHECK(has(&read, "usage", "server") && !has(&read, "usage", "client"));
        CHECK(!has(&read, "ca", "true") && !has(&read, "self_signed", "true"));
        CHECK_INT(pl_x509_is_pair(text(&c.cert), text(&c.key), &err), 1);
        CHECK_INT(pl_x509_is_pair(text(&c.cert), text(&c.ca_key), &err), 0);
        struct pl_x509_wish wish = {.roots = text(&c.ca), .at = NOW};
        CHECK_INT(pl_x509_verify(text(&c.cert), &wish, &err), 1);
        wish.host = pl_slice_z("a.web.example");
        CHECK_INT(pl_x509_verify(text(&c.cert), &wish, &err), 1);
        wish.host = pl_slice_z("10.0.0.1");
        wish.usage = pl_slice_z("server");
        CHECK_INT(pl_x509_verify(text(&c.cert), &wish, &err), 1);
        pl_buf_deinit(&read);
        free_chain(&c);
    }
}

TEST(what_does_not_hold_says_why)
{
    struct chain c = make_chain("ecdsa-p256"), other = make_chain("ecdsa-p256");
    struct pl_err err;
    const struct {
        struct pl_x509_wish wish;
        const char *why;
    } cases[] = {
        {{.roots = text(&other.ca), .at = NOW}, "unable to get local issuer certificate"},
        {{.roots = text(&c.ca), .at = 1900000001}, "certificate has expired"},
        {{.roots = text(&c.ca), .at = 1789999999}, "certificate is not yet valid"},
        {{.roots = text(&c.ca), .at = NOW, .host = pl_slice_z("evil.example")},
         "hostname mismatch"},
        {{.roots = text(&c.ca), .at = NOW, .host = pl_slice_z("10.0.0.2")}, "IP address mismatch"},
        {{.roots = text(&c.ca), .at = NOW, .usage = pl_slice_z("client")},
         "unsuitable certificate purpose"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        CHECK_INT(pl_x509_verify(text(&c.cert), &cases[i].wish, &err), 0);
        CHECK_STR(err.message, cases[i].why);
    }
    free_chain(&c);
    free_chain(&other);
}

TEST(only_a_ca_signs_and_nothing_outlives_it)
{
    struct chain c = make_chain("ecdsa-p256");
    struct pl_buf out = PL_BUF_INIT, read = PL_BUF_INIT;
    struct pl_err err;
    CHECK_INT(pl_x509_sign(text(&c.key), text(&c.cert), text(&c.key), FIELDS(VALID), &out, &err),
              PL_EINVAL);
    CHECK_STR(err.message, "the issuer's certificate is not that of a CA");
    CHECK_INT(pl_x509_sign(text(&c.key), text(&c.ca), text(&c.key), FIELDS(VALID), &out, &err),
              PL_EINVAL);
    CHECK_STR(err.message, "the issuer's key is not its certificate's");
    REQUIRE(
        pl_x509_sign(text(&c.key), text(&c.ca), text(&c.ca_key),
                     FIELDS(field("not_before", "1790000000"), field("not_after", "2000000000")),
                     &out, &err) == 0);
    REQUIRE(pl_x509_read(text(&out), &read, &err) == 0);
    CHECK(has(&read, "not_after", "1900000000"));
    pl_buf_deinit(&out);
    pl_buf_deinit(&read);
    free_chain(&c);
}

TEST(a_request_must_be_signed_by_its_own_key)
{
    struct chain c = make_chain("ecdsa-p256");
    struct pl_buf request = PL_BUF_INIT, out = PL_BUF_INIT;
    struct pl_err err;
    REQUIRE(pl_x509_make_request(text(&c.key), FIELDS(field("subject.CN", "x")), &request, &err) ==
            0);
    /* The last characters belong to the signature. */
    char *tail = request.ptr + request.len - strlen("-----END CERTIFICATE REQUEST-----\n") - 12;
    *tail = *tail == 'A' ? 'B' : 'A';
    CHECK_INT(pl_x509_sign(text(&request), text(&c.ca), text(&c.ca_key), FIELDS(VALID), &out, &err),
              PL_EINVAL);
    CHECK(strstr(err.message, "request") != NULL);
    pl_buf_deinit(&request);
    pl_buf_deinit(&out);
    free_chain(&c);
}

TEST(names_are_put_in_as_they_are)
{
    struct pl_buf key = PL_BUF_INIT, out = PL_BUF_INIT, read = PL_BUF_INIT;
    struct pl_err err;
    REQUIRE(pl_x509_make_key("ecdsa-p256", &key, &err) == 0);
    REQUIRE(pl_x509_make_request(
                text(&key), FIELDS(field("uri", "x:a,DNS:b"), field("subject.O", "x/CN=y, Z=1")),
                &out, &err) == 0);
    REQUIRE(pl_x509_read(text(&out), &read, &err) == 0);
    CHECK(has(&read, "uri", "x:a,DNS:b") && has(&read, "subject.O", "x/CN=y, Z=1"));
    CHECK(!has(&read, "dns", "b"));
    CHECK_INT(pl_x509_make_request(text(&key), FIELDS(field("ip", "10.0.0")), &out, &err),
              PL_EINVAL);
    static const char *const wrong[][2] = {
        {"dns", "a b"}, {"dns", "a,DNS:b"}, {"dns", "http://a"}, {"ip", "10.0.0"},
        {"uri", "a b"}, {"uri", "a"},       {"dns", "a..b"},     {"email", "a"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(wrong); i++)
        CHECK_INT(
            pl_x509_make_request(text(&key), FIELDS(field(wrong[i][0], wrong[i][1])), &out, &err),
            PL_EINVAL);
    CHECK_INT(pl_x509_make_request(text(&key), FIELDS(field("subject.C", "Germany")), &out, &err),
              PL_EINVAL);
    pl_buf_deinit(&key);
    pl_buf_deinit(&out);
    pl_buf_deinit(&read);
}

TEST(texts_that_are_none_are_errors)
{
    struct chain c = make_chain("ecdsa-p256");
    struct pl_buf out = PL_BUF_INIT;
    struct pl_err err;
    static const char *const wrong[] = {
        "", "hello", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\nMIIB",
        "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n"
        "-----END CERTIFICATE REQUEST-----\n"};
    for (size_t i = 0; i < PL_ARRAY_LEN(wrong); i++) {
        struct pl_slice bad = pl_slice_z(wrong[i]);
        struct pl_x509_wish wish = {.roots = text(&c.ca), .at = NOW};
        CHECK(pl_x509_read(bad, &out, &err) < 0);
        CHECK(pl_x509_verify(bad, &wish, &err) < 0);
        wish.roots = bad;
        CHECK(pl_x509_verify(text(&c.cert), &wish, &err) < 0);
        CHECK(pl_x509_public_key(bad, &out, &err) < 0);
        CHECK(pl_x509_make_request(bad, FIELDS(VALID), &out, &err) < 0);
        CHECK(pl_x509_is_pair(bad, text(&c.key), &err) < 0);
        CHECK(pl_x509_is_pair(text(&c.cert), bad, &err) < 0);
    }
    CHECK_INT(pl_x509_make_key("rsa-1", &out, &err), PL_EINVAL);
    char *long_text = pl_malloc(PL_X509_TEXT_MAX + 1);
    memset(long_text, 'a', PL_X509_TEXT_MAX + 1);
    CHECK_INT(pl_x509_read(pl_slice(long_text, PL_X509_TEXT_MAX + 1), &out, &err), PL_ELIMIT);
    pl_free(long_text);
    pl_buf_deinit(&out);
    free_chain(&c);
}

/* A key, a request and a certificate from a seed; 0: random. */
static char *made_by(uint64_t seed, const char *kind)
{
    struct pl_buf key = PL_BUF_INIT, all = PL_BUF_INIT;
    struct pl_err err;
    pl_x509_seed(seed);
    REQUIRE(pl_x509_make_key(kind, &key, &err) == 0);
    pl_buf_add_slice(&all, text(&key));
    REQUIRE(pl_x509_make_request(text(&key), FIELDS(field("subject.CN", "x")), &all, &err) == 0);
    REQUIRE(pl_x509_sign(text(&key), pl_slice(NULL, 0), pl_slice(NULL, 0), FIELDS(VALID), &all,
                         &err) == 0);
    pl_x509_seed(0);
    pl_buf_deinit(&key);
    return pl_buf_take(&all);
}

TEST(keys_and_certificates_follow_from_a_seed)
{
    static const char *const kinds[] = {"ecdsa-p256", "ecdsa-p384", "ed25519", "rsa-2048"};
    for (size_t i = 0; i < PL_ARRAY_LEN(kinds); i++) {
        char *first = made_by(7, kinds[i]), *other = made_by(8, kinds[i]);
        char *unseeded = made_by(0, kinds[i]), *again = made_by(7, kinds[i]);
        CHECK_STR(again, first);
        CHECK(strcmp(other, first) != 0);
        CHECK(strcmp(unseeded, first) != 0);
        pl_free(first), pl_free(other), pl_free(unseeded), pl_free(again);
    }
}

TEST(an_issuer_has_expired_by_the_time_that_is_told)
{
    struct chain c = make_chain("ed25519");
    struct pl_buf out = PL_BUF_INIT;
    struct pl_err err;
    CHECK_INT(pl_x509_sign(text(&c.key), text(&c.ca), text(&c.ca_key),
                           FIELDS(VALID, field("now", "1800000000")), &out, &err),
              0);
    CHECK_INT(pl_x509_sign(text(&c.key), text(&c.ca), text(&c.ca_key),
                           FIELDS(VALID, field("now", "9000000000")), &out, &err),
              PL_EINVAL);
    CHECK_STR(err.message, "the issuer's certificate has expired");
    pl_buf_deinit(&out);
    free_chain(&c);
}

TEST(a_certificate_is_for_the_key_of_its_request)
{
    struct chain c = make_chain("ed25519");
    struct pl_buf request = PL_BUF_INIT, other = PL_BUF_INIT;
    struct pl_err err;
    REQUIRE(pl_x509_make_request(text(&c.key), FIELDS(field("subject.CN", "x")), &request, &err) ==
            0);
    REQUIRE(pl_x509_make_request(text(&c.ca_key), FIELDS(field("subject.CN", "x")), &other, &err) ==
            0);
    CHECK_INT(pl_x509_is_for(text(&c.cert), text(&request), &err), 1);
    CHECK_INT(pl_x509_is_for(text(&c.cert), text(&other), &err), 0);
    CHECK(pl_x509_is_for(pl_slice_z("no"), text(&request), &err) < 0);
    CHECK(pl_x509_is_for(text(&c.cert), pl_slice_z("no"), &err) < 0);
    pl_buf_deinit(&request);
    pl_buf_deinit(&other);
    free_chain(&c);
}

TEST_MAIN()

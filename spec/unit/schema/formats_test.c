#include "schema/formats.h"

#include "base/base.h"

#include "support/test.h"

/* Every expectation was checked against kube-apiserver 1.37 or the library that it uses. */

TEST(texts_have_the_formats_of_schemas)
{
    static const struct {
        const char *format, *good, *bad;
    } cases[] = {
        {"bsonobjectid", "507f1f77bcf86cd799439011", "507f1f77bcf86cd79943901"},
        {"byte", "YQ==", "YQ="},
        {"byte", "YWI=", "!"},
        {"cidr", "10.0.0.0/8", "10.0.0.0"},
        {"cidr", "fd00::/8", "1.2.3.4/99"},
        {"creditcard", "4111 1111 1111 1111", "4111 1111 1111 1112"},
        {"date", "2020-02-29", "2021-02-29"},
        {"date", "2020-12-31", "2020-13-01"},
        {"date-time", "2020-01-01T00:00:00.5+01:00", "2020-01-01T25:00:00Z"},
        {"duration", "1h5m", "x"},
        {"duration", "1 day", "day"},
        {"email", "a@b", "a@"},
        {"email", "Bob <a.c@b.de>", "a b@c"},
        {"hexcolor", "#fff", "#ffff"},
        {"hostname", "example.com", "a_b"},
        {"hostname", "localhost", "a.b"},
        {"hostname", "x1", "-"},
        {"ipv4", "010.0.0.1", "::1"},
        {"ipv6", "::1", "1.2.3.4"},
        {"isbn", "0321751043", "0321751044"},
        {"isbn", "978-0321751041", "978-0321751042"},
        {"k8s-long-name", "x.y", "X.y"},
        {"k8s-short-name", "x-y", "x.y"},
        {"mac", "01:02:03:04:05:06", "01:02:03:04:05"},
        {"mac", "0123.4567.89ab", "01:02:03:04:05:06:07"},
        {"rgbcolor", "rgb(1,2,255)", "rgb(1,2,256)"},
        {"ssn", "111-22-3333", "111223333"},
        {"uri", "http://a/b?c#d", "x"},
        {"uri", "/x", "http://a b/"},
        {"uri", "urn:a", "/%zz"},
        {"uuid", "00000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-00000000000"},
        {"uuid4", "00000000-0000-4000-8000-000000000000", "00000000-0000-3000-8000-000000000000"},
    };
    struct pl_regex_cache patterns = {.search = NULL};
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct pl_slice format = pl_slice_z(cases[i].format);
        CHECK(pl_api_format_is_known(format));
        if (!pl_api_format_fits(format, pl_slice_z(cases[i].good), &patterns))
            TEST_FAIL("%s: %s was refused", cases[i].format, cases[i].good);
        if (pl_api_format_fits(format, pl_slice_z(cases[i].bad), &patterns))
            TEST_FAIL("%s: %s was accepted", cases[i].format, cases[i].bad);
    }
    pl_regex_cache_deinit(&patterns);
}

TEST(every_text_has_an_unknown_format)
{
    CHECK(!pl_api_format_is_known(pl_slice_z("int32")));
    struct pl_regex_cache patterns = {.search = NULL};
    CHECK(pl_api_format_fits(pl_slice_z("int32"), pl_slice_z("x"), &patterns));
    CHECK(pl_api_format_fits(pl_slice_z("password"), pl_slice_z(""), &patterns));
    pl_regex_cache_deinit(&patterns);
}

TEST_MAIN()

#include "format/ip.h"

#include "support/test.h"

static struct pl_ip ip(const char *text)
{
    struct pl_ip out;
    struct pl_err err;
    REQUIRE(pl_ip_parse(pl_slice_z(text), &out, &err) == 0);
    return out;
}

static bool contains(const char *outer, const char *inner)
{
    struct pl_ip a = ip(outer), b = ip(inner);
    return pl_ip_contains(&a, &b);
}

TEST(addresses_and_networks_are_read)
{
    char text[PL_IP_TEXT];
    struct pl_ip one = ip("2001:DB8:0:0::1");
    pl_ip_text(&one, text);
    CHECK_STR(text, "2001:db8::1");
    CHECK(!one.is_network);
    CHECK_INT(one.prefix, 128);
    one = ip("10.1.2.3/9");
    CHECK(one.is_network);
    struct pl_ip first = pl_ip_first(&one), last = pl_ip_last(&one);
    pl_ip_text(&first, text);
    CHECK_STR(text, "10.0.0.0");
    pl_ip_text(&last, text);
    CHECK_STR(text, "10.127.255.255");
}

TEST(a_network_contains_what_shares_its_bits)
{
    CHECK(contains("10.0.0.0/8", "10.255.0.1"));
    CHECK(!contains("10.0.0.0/8", "11.0.0.1"));
    CHECK(contains("0.0.0.0/0", "8.8.8.8"));
    CHECK(contains("10.0.0.0/8", "10.1.0.0/16"));
    CHECK(!contains("10.1.0.0/16", "10.0.0.0/8"));
    CHECK(contains("fd00::/63", "fd00:0:0:1::5"));
    CHECK(!contains("fd00::/64", "fd00:0:0:1::5"));
    CHECK(!contains("::/0", "10.0.0.1"));
    CHECK(contains("10.0.0.1", "10.0.0.1"));
}

TEST(an_ipv4_address_in_ipv6_form_is_the_ipv4_address)
{
    char text[PL_IP_TEXT];
    struct pl_ip one = ip("::ffff:10.0.0.1");
    pl_ip_text(&one, text);
    CHECK_STR(text, "10.0.0.1");
    CHECK(contains("10.0.0.0/8", "::ffff:10.0.0.1"));
    CHECK(contains("::ffff:10.0.0.0/104", "10.200.0.1"));
}

TEST(what_is_no_address_is_an_error)
{
    static const char *const wrong[] = {"",           "10.0.0",      "010.0.0.1",    "256.0.0.1",
                                        "10.0.0.1/",  "10.0.0.1/33", "10.0.0.1/08",  "10.0.0.1/-1",
                                        "fd00::1%lo", "fd00::/129",  "fd00:::1",     "a",
                                        " 10.0.0.1",  "10.0.0.1 ",   "10.0.0.1/8/8", "/8"};
    for (size_t i = 0; i < PL_ARRAY_LEN(wrong); i++) {
        struct pl_ip out;
        struct pl_err err;
        pl_err_clear(&err);
        CHECK_INT(pl_ip_parse(pl_slice_z(wrong[i]), &out, &err), PL_EINVAL);
        CHECK(err.message[0] != '\0');
    }
    struct pl_ip out;
    CHECK_INT(pl_ip_parse(pl_slice("10.0.0.1\0", 9), &out, NULL), PL_EINVAL);
}

TEST_MAIN()

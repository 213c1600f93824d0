#include "format/url.h"

#include "support/test.h"

#define CHECK_PART(part, want)                                                                     \
    do {                                                                                           \
        if ((want) == NULL)                                                                        \
            CHECK((part).ptr == NULL);                                                             \
        else                                                                                       \
            CHECK((part).ptr != NULL && pl_slice_eqz(part, (want)));                               \
    } while (0)

TEST(urls_are_taken_apart)
{
    static const struct {
        const char *text, *scheme, *user, *password, *host;
        int port;
        const char *path, *query, *fragment;
    } cases[] = {
        {"https://example.com", "https", NULL, NULL, "example.com", -1, "", NULL, NULL},
        {"https://u:p@example.com:8443/a/b?x=1#f", "https", "u", "p", "example.com", 8443, "/a/b",
         "x=1", "f"},
        {"http://u@h?", "http", "u", NULL, "h", -1, "", "", NULL},
        {"http://[fd00::1]:80/", "http", NULL, NULL, "fd00::1", 80, "/", NULL, NULL},
        {"mailto:a@example.com", "mailto", NULL, NULL, NULL, -1, "a@example.com", NULL, NULL},
        {"file:///etc/hosts", "file", NULL, NULL, "", -1, "/etc/hosts", NULL, NULL},
        {"http://h:/x", "http", NULL, NULL, "h", -1, "/x", NULL, NULL},
        {"http://h/a?b?c#d?e", "http", NULL, NULL, "h", -1, "/a", "b?c", "d?e"},
        {"http://a%41%c3%a4%2d", "http", NULL, NULL, "a%41%c3%a4%2d", -1, "", NULL, NULL},
        {"http://h/%2F", "http", NULL, NULL, "h", -1, "/%2F", NULL, NULL},
        {"http://127.0.0.1/", "http", NULL, NULL, "127.0.0.1", -1, "/", NULL, NULL},
        {"http://1.2.example./", "http", NULL, NULL, "1.2.example.", -1, "/", NULL, NULL},
        {"http://10.xff", "http", NULL, NULL, "10.xff", -1, "", NULL, NULL},
        {"http://0x7g", "http", NULL, NULL, "0x7g", -1, "", NULL, NULL},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct pl_url url;
        struct pl_err err;
        REQUIRE(pl_url_parse(pl_slice_z(cases[i].text), &url, &err) == 0);
        CHECK_PART(url.scheme, cases[i].scheme);
        CHECK_PART(url.user, cases[i].user);
        CHECK_PART(url.password, cases[i].password);
        CHECK_PART(url.host, cases[i].host);
        CHECK_INT(url.port, cases[i].port);
        CHECK_PART(url.path, cases[i].path);
        CHECK_PART(url.query, cases[i].query);
        CHECK_PART(url.fragment, cases[i].fragment);
    }
}

TEST(what_others_read_in_another_way_is_refused)
{
    static const char *const wrong[] = {
        "",
        "example.com",
        "/path",
        "//host/path",
        "1http://h",
        "http://a b",
        "http://a\\@b",
        "http://a@b@c",
        "http://h/%2",
        "http://h/%zz",
        "http://h:99999",
        "http://h:8a",
        "http://h:000001",
        "http://[::1",
        "http://[::1]x",
        "http://[10.0.0.1]",
        "http://[fd00::/8]",
        "http://a]b",
        "http://user@",
        "http://a%20b",
        "http://good%2Fbad",
        "http://good%40bad",
        "http://a%00b",
        "http://a%3a80",
        "http://:80",
        "http://h/\n",
        "http://h\xc3\xa4",
        "http:h", /* browsers find the host h in it */
        "HTTPS:/h/x",
        "http:///h",
        "http://127.1/", /* 127.0.0.1 for programs that read addresses as C does */
        "http://0x7f.0.0.1/",
        "http://a.0X7",
        "http://2130706433/",
        "http://010.0.0.1/",
        "http://127.%31/",
        "http://127.0.0.1./",
        "http://256.0.0.1/",
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(wrong); i++) {
        struct pl_url url;
        struct pl_err err;
        pl_err_clear(&err);
        CHECK_INT(pl_url_parse(pl_slice_z(wrong[i]), &url, &err), PL_EINVAL);
        CHECK(err.message[0] != '\0');
    }
}

TEST_MAIN()

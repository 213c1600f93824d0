#include "kube/proxy.h"

#include "base/alloc.h"
#include "support/test.h"

static bool is_proxied(const char *server, const char *no_proxy)
{
    char entry[256];
    snprintf(entry, sizeof entry, "NO_PROXY=%s", no_proxy);
    const char *const environ_list[] = {"HTTPS_PROXY=http://p:1", "HTTP_PROXY=http://p:2", entry,
                                        NULL};
    char *proxy = pl_proxy_for(server, environ_list);
    bool proxied = proxy != NULL;
    pl_free(proxy);
    return proxied;
}

TEST(no_proxy_excludes_hosts_domains_addresses_networks_and_ports)
{
    static const struct {
        const char *server, *no_proxy;
        bool proxied;
    } cases[] = {
        {"https://api.example.com", "", true},
        {"https://api.example.com", "*", false},
        {"https://api.example.com", "other.com, example.com", false},
        {"https://example.com", "example.com", false},
        {"https://API.Example.com", "example.COM", false},
        {"https://notexample.com", "example.com", true},
        {"https://api.example.com", ".example.com", false},
        {"https://example.com", ".example.com", true},
        {"https://api.example.com", "*.example.com", false},
        {"https://api.example.com:6443", "api.example.com:6443", false},
        {"https://api.example.com:6443", "api.example.com:443", true},
        {"https://api.example.com", "api.example.com:443", false},
        {"https://10.1.2.3:6443", "10.1.2.3", false},
        {"https://10.1.2.3:6443", "10.1.2.4", true},
        {"https://10.1.2.3:6443", "10.1.0.0/16", false},
        {"https://10.2.2.3:6443", "10.1.0.0/16", true},
        {"https://10.1.2.3", "10.1.2.3/31", false},
        {"https://10.1.2.3", "10.1.2.0/31", true},
        {"https://10.1.2.3", "0.0.0.0/0", false},
        {"https://10.1.2.3", "10.1.2.3/33", true},
        {"https://10.1.2.3", "3", true},
        {"https://[fd00::1]:6443", "fd00::1", false},
        {"https://[fd00::1]:6443", "[fd00::1]:6443", false},
        {"https://[fd00::1]:6443", "fd00::/8", false},
        {"https://[fe00::1]:6443", "fd00::/8", true},
        {"https://localhost:6443", "", false},
        {"https://127.0.0.1:6443", "", false},
        {"https://127.9.9.9:6443", "", false},
        {"https://[::1]:6443", "", false},
        {"https://api", ",, ,", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (is_proxied(cases[i].server, cases[i].no_proxy) != cases[i].proxied)
            TEST_FAIL("%s with NO_PROXY=%s: not %s", cases[i].server, cases[i].no_proxy,
                      cases[i].proxied ? "proxied" : "excluded");
    }
}

TEST(the_scheme_chooses_the_variable_and_capitals_come_first)
{
    static const struct {
        const char *server, *environ_list[4], *want;
    } cases[] = {
        {"https://a", {"HTTPS_PROXY=http://one", "https_proxy=http://two"}, "http://one"},
        {"https://a", {"HTTPS_PROXY=", "https_proxy=http://two"}, "http://two"},
        {"http://a", {"HTTPS_PROXY=http://one", "http_proxy=three:8080"}, "http://three:8080"},
        {"http://a", {"HTTPS_PROXY=http://one"}, NULL},
        {"https://a", {"HTTP_PROXY=http://one"}, NULL},
        {"https://a", {"HTTPS_PROXY=http://one", "no_proxy=a"}, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *proxy = pl_proxy_for(cases[i].server, cases[i].environ_list);
        CHECK_STR(proxy, cases[i].want);
        pl_free(proxy);
    }
}

TEST(servers_are_taken_apart)
{
    struct pl_server_name name;
    CHECK(pl_server_name_parse("https://[fd00::1]:99/a", &name));
    CHECK(name.https && name.port == 99);
    CHECK_SLICE(name.host, "fd00::1");
    CHECK(pl_server_name_parse("http://a", &name));
    CHECK(!name.https && name.port == 80);
    static const char *const bad[] = {
        "a:1",          "https://",    "https://:1",     "https://a:b",
        "https://[::1", "https://u@h", "https://a:65536"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (pl_server_name_parse(bad[i], &name))
            TEST_FAIL("taken: %s", bad[i]);
    }
}

TEST_MAIN()

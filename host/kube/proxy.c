/* The proxy that the environment names for a server, by the rules of Go's net/http, so that the
 * host uses the same proxy as kubectl: NO_PROXY with names, suffixes, addresses, ranges and ports,
 * and no proxy for loopback. Pure: the environment is passed in. An invalid entry of NO_PROXY
 * matches nothing. */
#include "kube/proxy.h"

#include "base/alloc.h"
#include "base/text.h"
#include "kube/kubeconfig_impl.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <strings.h>

struct ip {
    unsigned char bytes[16]; /* IPv4 as ::ffff:a.b.c.d, so that both versions compare alike */
};

static bool parse_ip(struct pl_slice text, struct ip *ip)
{
    char copy[64];
    if (text.len == 0 || text.len >= sizeof copy)
        return false;
    snprintf(copy, sizeof copy, "%.*s", PL_FMT(text));
    if (inet_pton(AF_INET6, copy, ip->bytes) == 1)
        return true;
    memset(ip->bytes, 0, 10);
    memset(ip->bytes + 10, 0xff, 2);
    return inet_pton(AF_INET, copy, ip->bytes + 12) == 1;
}

static bool is_loopback(const struct ip *ip)
{
    static const unsigned char v4[12] = {[10] = 0xff, [11] = 0xff};
    static const unsigned char v6[16] = {[15] = 1};
    if (memcmp(ip->bytes, v4, sizeof v4) == 0)
        return ip->bytes[12] == 127;
    return memcmp(ip->bytes, v6, sizeof v6) == 0;
}

/* True and the number when all of text is digits and at most max. */
static bool parse_number(struct pl_slice text, int max, int *value)
{
    if (text.len == 0 || text.len > 5)
        return false;
    *value = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (!pl_is_digit(text.ptr[i]))
            return false;
        *value = *value * 10 + (text.ptr[i] - '0');
    }
    return *value <= max;
}

/* "host", "host:port", "[v6]:port", "v6": port is unchanged when there is none. */
static bool split_port(struct pl_slice text, struct pl_slice *host, int *port)
{
    *host = text;
    const char *colon = text.len ? memrchr(text.ptr, ':', text.len) : NULL;
    if (text.len > 0 && text.ptr[0] == '[') {
        const char *close = pl_slice_chr(text, ']');
        if (close == NULL)
            return false;
        *host = pl_slice(text.ptr + 1, (size_t)(close - text.ptr) - 1);
        if (close + 1 == text.ptr + text.len)
            return true;
        if (close[1] != ':')
            return false;
        colon = close + 1;
    } else if (colon == NULL || memchr(text.ptr, ':', (size_t)(colon - text.ptr)) != NULL) {
        return true; /* no port, or an IPv6 address without brackets */
    } else {
        host->len = (size_t)(colon - text.ptr);
    }
    return parse_number(pl_slice(colon + 1, (size_t)(text.ptr + text.len - colon) - 1), 65535,
                        port);
}

bool pl_server_name_parse(const char *server, struct pl_server_name *name)
{
    name->https = strncasecmp(server, "https://", 8) == 0;
    if (!name->https && strncasecmp(server, "http://", 7) != 0)
        return false;
    const char *host = strstr(server, "://") + 3;
    struct pl_slice authority = pl_slice(host, strcspn(host, "/?#"));
    name->port = name->https ? 443 : 80;
    return !pl_slice_chr(authority, '@') && split_port(authority, &name->host, &name->port) &&
           name->host.len > 0;
}

static bool in_network(const struct ip *ip, struct pl_slice address, struct pl_slice prefix)
{
    struct ip network;
    int bits;
    if (!parse_ip(address, &network) || !parse_number(prefix, 128, &bits))
        return false;
    if (pl_slice_chr(address, ':') == NULL) {
        if (bits > 32)
            return false;
        bits += 96;
    }
    int whole = bits / 8, rest = bits % 8;
    if (memcmp(ip->bytes, network.bytes, (size_t)whole) != 0)
        return false;
    int mask = rest ? 0xff << (8 - rest) & 0xff : 0;
    return rest == 0 || (ip->bytes[whole] & mask) == (network.bytes[whole] & mask);
}

static bool proxy_ends_with(struct pl_slice text, struct pl_slice end)
{
    return text.len >= end.len && strncasecmp(text.ptr + text.len - end.len, end.ptr, end.len) == 0;
}

/* One entry of NO_PROXY: an address, a network, "example.com" (the name and its subdomains),
 * ".example.com" or "*.example.com" (only subdomains). Each except a network may have a port, and
 * then matches only that port. */
static bool entry_matches(struct pl_slice entry, const struct pl_server_name *server)
{
    struct ip ip, other;
    bool is_ip = parse_ip(server->host, &ip);
    const char *slash = pl_slice_chr(entry, '/');
    if (slash != NULL) {
        struct pl_slice address = pl_slice(entry.ptr, (size_t)(slash - entry.ptr));
        return is_ip && in_network(&ip, address, pl_slice(slash + 1, entry.len - address.len - 1));
    }
    struct pl_slice host;
    int port = server->port;
    if (!split_port(entry, &host, &port) || port != server->port || host.len == 0)
        return false;
    if (parse_ip(host, &other))
        return is_ip && memcmp(&ip, &other, sizeof ip) == 0;
    if (is_ip) /* an address has no domains: "3" does not mean 10.1.2.3 */
        return false;
    if (host.len > 1 && host.ptr[0] == '*' && host.ptr[1] == '.')
        host = pl_slice(host.ptr + 1, host.len - 1);
    if (host.ptr[0] == '.')
        return server->host.len > host.len && proxy_ends_with(server->host, host);
    if (!proxy_ends_with(server->host, host))
        return false;
    return server->host.len == host.len || server->host.ptr[server->host.len - host.len - 1] == '.';
}

static bool is_excluded(const struct pl_server_name *server, const char *no_proxy)
{
    struct ip ip;
    if ((server->host.len == 9 && strncasecmp(server->host.ptr, "localhost", 9) == 0) ||
        (parse_ip(server->host, &ip) && is_loopback(&ip)))
        return true;
    while (no_proxy != NULL && *no_proxy != '\0') {
        size_t len = strcspn(no_proxy, ",");
        struct pl_slice entry = pl_slice(no_proxy, len);
        while (entry.len > 0 && entry.ptr[0] == ' ')
            entry = pl_slice(entry.ptr + 1, entry.len - 1);
        while (entry.len > 0 && entry.ptr[entry.len - 1] == ' ')
            entry.len--;
        if (pl_slice_eqz(entry, "*") || (entry.len > 0 && entry_matches(entry, server)))
            return true;
        no_proxy += len + (no_proxy[len] == ',');
    }
    return false;
}

static const char *either(const char *const *environ, const char *upper, const char *lower)
{
    const char *value = pl_env_get(environ, upper);
    return value != NULL ? value : pl_env_get(environ, lower);
}

char *pl_proxy_for(const char *server, const char *const *environ)
{
    struct pl_server_name name;
    if (!pl_server_name_parse(server, &name))
        return NULL;
    const char *proxy = name.https ? either(environ, "HTTPS_PROXY", "https_proxy")
                                   : either(environ, "HTTP_PROXY", "http_proxy");
    if (proxy == NULL || is_excluded(&name, either(environ, "NO_PROXY", "no_proxy")))
        return NULL;
    return strstr(proxy, "://") != NULL ? pl_strdup(proxy) : pl_format("http://%s", proxy);
}

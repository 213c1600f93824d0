/* Addresses, networks and URLs. Addresses follow Kubernetes' rules: no zones, no IPv4 addresses in
 * IPv6 form. URLs are absolute, or absolute paths. */
#include "cel/function.h"

#include "base/text.h"

#include <arpa/inet.h>
#include <string.h>

/* ---- addresses ---- */

static bool parse_ip(struct pl_slice text, struct pl_cel_ip *ip)
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    char z[INET6_ADDRSTRLEN + 1];
    if (text.len == 0 || text.len >= sizeof z || pl_slice_chr(text, '\0') != NULL)
        return false;
    memcpy(z, text.ptr, text.len);
    z[text.len] = '\0';
    bool is_six = strchr(z, ':') != NULL;
    if (inet_pton(is_six ? AF_INET6 : AF_INET, z, ip->bytes) != 1)
        return false;
    ip->len = is_six ? 16 : 4;
    ip->prefix = (uint8_t)(ip->len * 8);
    return !is_six || memcmp(ip->bytes, mapped, sizeof mapped) != 0;
}

static bool parse_cidr(struct pl_slice text, struct pl_cel_ip *ip)
{
    const char *slash = pl_slice_chr(text, '/');
    if (slash == NULL || !parse_ip(pl_slice(text.ptr, (size_t)(slash - text.ptr)), ip))
        return false;
    struct pl_slice bits = pl_slice(slash + 1, text.len - (size_t)(slash + 1 - text.ptr));
    if (bits.len == 0 || bits.len > 3 || (bits.len > 1 && bits.ptr[0] == '0'))
        return false;
    int prefix = 0;
    for (size_t i = 0; i < bits.len; i++) {
        if (!pl_is_digit(bits.ptr[i]))
            return false;
        prefix = prefix * 10 + bits.ptr[i] - '0';
    }
    if (prefix > ip->len * 8)
        return false;
    ip->prefix = (uint8_t)prefix;
    return true;
}

static struct pl_cel made(struct pl_cel_eval *eval, const struct pl_cel_ip *ip,
                          enum pl_cel_kind kind)
{
    struct pl_cel_ip *copy = pl_arena_alloc(eval->arena, sizeof *copy);
    *copy = *ip;
    return (struct pl_cel){.kind = kind, .ip = copy};
}

struct pl_cel pl_cel_ip_text(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    char text[INET6_ADDRSTRLEN];
    PL_UNUSED(n);
    const struct pl_cel_ip *ip = args[0].ip;
    inet_ntop(ip->len == 16 ? AF_INET6 : AF_INET, ip->bytes, text, sizeof text);
    struct pl_buf out = PL_BUF_INIT;
    pl_buf_add_z(&out, text);
    if (args[0].kind == PL_CEL_CIDR)
        pl_buf_add_f(&out, "/%u", ip->prefix);
    return pl_cel_text_result(eval, &out);
}

static struct pl_cel to_ip(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    struct pl_cel_ip ip = {{0}, 0, 0};
    PL_UNUSED(n);
    if (!parse_ip(args[0].s, &ip))
        return pl_cel_fail(eval->arena,
                           "IP Address \"%.*s\" parse error during conversion from "
                           "string",
                           PL_FMT(args[0].s));
    return made(eval, &ip, PL_CEL_IP);
}

static struct pl_cel is_ip(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    struct pl_cel_ip ip;
    PL_UNUSED(eval);
    PL_UNUSED(n);
    return pl_cel_bool(parse_ip(args[0].s, &ip));
}

static struct pl_cel is_canonical(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    struct pl_cel ip = to_ip(eval, args, n);
    if (pl_cel_is_error(ip))
        return ip;
    return pl_cel_bool(pl_slice_eq(pl_cel_ip_text(eval, &ip, 1).s, args[0].s));
}

static struct pl_cel family(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(eval);
    PL_UNUSED(n);
    return pl_cel_int(args[0].ip->len == 16 ? 6 : 4);
}

static bool all_zero(const struct pl_cel_ip *ip, size_t but_last)
{
    for (size_t i = 0; i + but_last < ip->len; i++)
        if (ip->bytes[i] != 0)
            return false;
    return true;
}

static bool unspecified(const struct pl_cel_ip *ip)
{
    return all_zero(ip, 0);
}

static bool loopback(const struct pl_cel_ip *ip)
{
    return ip->len == 4 ? ip->bytes[0] == 127 : all_zero(ip, 1) && ip->bytes[15] == 1;
}

static bool link_local_multicast(const struct pl_cel_ip *ip)
{
    const uint8_t *b = ip->bytes;
    return ip->len == 4 ? b[0] == 224 && b[1] == 0 && b[2] == 0
                        : b[0] == 0xff && (b[1] & 0x0f) == 2;
}

static bool link_local_unicast(const struct pl_cel_ip *ip)
{
    const uint8_t *b = ip->bytes;
    return ip->len == 4 ? b[0] == 169 && b[1] == 254 : b[0] == 0xfe && (b[1] & 0xc0) == 0x80;
}

static bool multicast(const struct pl_cel_ip *ip)
{
    return ip->len == 4 ? (ip->bytes[0] & 0xf0) == 224 : ip->bytes[0] == 0xff;
}

static bool global_unicast(const struct pl_cel_ip *ip)
{
    bool is_broadcast = ip->len == 4 && memcmp(ip->bytes, "\xff\xff\xff\xff", 4) == 0;
    return !is_broadcast && !unspecified(ip) && !loopback(ip) && !multicast(ip) &&
           !link_local_unicast(ip);
}

#define QUESTION(name)                                                                             \
    static struct pl_cel is_##name(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)  \
    {                                                                                              \
        PL_UNUSED(eval);                                                                           \
        PL_UNUSED(n);                                                                              \
        return pl_cel_bool(name(args[0].ip));                                                      \
    }

QUESTION(unspecified)
QUESTION(loopback)
QUESTION(link_local_multicast)
QUESTION(link_local_unicast)
QUESTION(global_unicast)

/* ---- networks ---- */

static struct pl_cel to_cidr(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    struct pl_cel_ip ip = {{0}, 0, 0};
    PL_UNUSED(n);
    if (!parse_cidr(args[0].s, &ip))
        return pl_cel_fail(eval->arena,
                           "network address parse error during conversion from "
                           "string: \"%.*s\"",
                           PL_FMT(args[0].s));
    return made(eval, &ip, PL_CEL_CIDR);
}

static struct pl_cel is_cidr(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    struct pl_cel_ip ip;
    PL_UNUSED(eval);
    PL_UNUSED(n);
    return pl_cel_bool(parse_cidr(args[0].s, &ip));
}

static bool same_prefix(const struct pl_cel_ip *net, const struct pl_cel_ip *ip)
{
    if (net->len != ip->len)
        return false;
    for (unsigned i = 0; i < net->prefix; i++)
        if (((net->bytes[i / 8] ^ ip->bytes[i / 8]) >> (7 - i % 8) & 1) != 0)
            return false;
    return true;
}

static struct pl_cel contains_ip(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    struct pl_cel ip = args[1].kind == PL_CEL_IP ? args[1] : to_ip(eval, &args[1], n);
    return pl_cel_is_error(ip) ? ip : pl_cel_bool(same_prefix(args[0].ip, ip.ip));
}

static struct pl_cel contains_cidr(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    struct pl_cel net = args[1].kind == PL_CEL_CIDR ? args[1] : to_cidr(eval, &args[1], n);
    return pl_cel_is_error(net) ? net
                                : pl_cel_bool(net.ip->prefix >= args[0].ip->prefix &&
                                              same_prefix(args[0].ip, net.ip));
}

static struct pl_cel ip_of(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    struct pl_cel_ip ip = *args[0].ip;
    ip.prefix = (uint8_t)(ip.len * 8);
    return made(eval, &ip, PL_CEL_IP);
}

static struct pl_cel masked(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    struct pl_cel_ip ip = *args[0].ip;
    for (unsigned i = ip.prefix; i < ip.len * 8u; i++)
        ip.bytes[i / 8] &= (uint8_t) ~(0x80u >> i % 8);
    return made(eval, &ip, PL_CEL_CIDR);
}

static struct pl_cel prefix_length(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(eval);
    PL_UNUSED(n);
    return pl_cel_int(args[0].ip->prefix);
}

/* ---- URLs ---- */

static struct pl_slice until(struct pl_slice *rest, const char *ends)
{
    size_t len = 0;
    while (len < rest->len && strchr(ends, rest->ptr[len]) == NULL)
        len++;
    struct pl_slice part = pl_slice(rest->ptr, len);
    *rest = pl_slice(rest->ptr + len, rest->len - len);
    return part;
}

static bool is_url_text(struct pl_slice text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] <= ' ' || text.ptr[i] == 0x7f)
            return false;
    return text.len > 0;
}

static bool is_scheme(struct pl_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool is_letter = pl_is_letter(c);
        bool is_other = pl_is_digit(c) || c == '+' || c == '-' || c == '.';
        if (!is_letter && (i == 0 || !is_other))
            return false;
    }
    return text.len > 0;
}

static bool is_port(struct pl_slice host)
{
    size_t from = 0;
    for (size_t i = 0; i < host.len; i++)
        if (host.ptr[i] == ']')
            from = i + 1;
    const char *colon = memchr(host.ptr + from, ':', host.len - from);
    for (const char *c = colon; c != NULL && ++c < host.ptr + host.len;)
        if (!pl_is_digit(*c))
            return false;
    return host.len == 0 || host.ptr[0] != '[' || from > 0;
}

static bool parse_url(struct pl_slice text, struct pl_cel_url *url)
{
    *url = (struct pl_cel_url){.scheme = pl_slice_z("")};
    if (!is_url_text(text))
        return false;
    struct pl_slice rest = text;
    if (text.ptr[0] != '/') {
        url->scheme = until(&rest, ":/?#");
        if (rest.len == 0 || rest.ptr[0] != ':' || !is_scheme(url->scheme))
            return false;
        rest = pl_slice(rest.ptr + 1, rest.len - 1);
    }
    bool has_host = url->scheme.len > 0 && pl_text_begins(rest, "//");
    if (has_host) {
        rest = pl_slice(rest.ptr + 2, rest.len - 2);
        url->host = until(&rest, "/?");
        const char *at = memrchr(url->host.ptr, '@', url->host.len);
        if (at != NULL)
            url->host = pl_slice(at + 1, url->host.len - (size_t)(at + 1 - url->host.ptr));
        if (!is_port(url->host))
            return false;
    }
    url->path = until(&rest, "?");
    if (rest.len > 0)
        url->query = pl_slice(rest.ptr + 1, rest.len - 1);
    for (size_t i = 0; i < url->path.len; i++)
        if (url->path.ptr[i] == '%' &&
            (i + 2 >= url->path.len || strspn(url->path.ptr + i + 1, "0123456789abcdefABCDEF") < 2))
            return false;
    return true;
}

static struct pl_cel to_url(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    struct pl_cel_url *url = pl_arena_alloc(eval->arena, sizeof *url);
    if (!parse_url(pl_arena_copy(eval->arena, args[0].s), url))
        return pl_cel_fail(eval->arena,
                           "URL parse error during conversion from string: parse "
                           "\"%.*s\": invalid URI for request",
                           PL_FMT(args[0].s));
    return (struct pl_cel){.kind = PL_CEL_URL, .url = url};
}

static struct pl_cel is_url(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    struct pl_cel_url url;
    PL_UNUSED(n);
    return pl_cel_bool(parse_url(pl_arena_copy(eval->arena, args[0].s), &url));
}

/* The host of a URL with or without its port. */
static struct pl_cel host_part(const struct pl_cel_url *url, bool wants_port)
{
    struct pl_slice host = url->host;
    const char *end = host.len > 0 ? memrchr(host.ptr, ':', host.len) : NULL;
    bool is_six = host.len > 0 && host.ptr[0] == '[';
    const char *bracket = is_six ? pl_slice_chr(host, ']') : NULL;
    if (end != NULL && bracket != NULL && end < bracket)
        end = NULL;
    size_t len = end != NULL ? (size_t)(end - host.ptr) : host.len;
    if (wants_port)
        return pl_cel_string(end != NULL ? pl_slice(end + 1, host.len - len - 1) : pl_slice_z(""));
    return pl_cel_string(bracket != NULL ? pl_slice(host.ptr + 1, (size_t)(bracket - host.ptr) - 1)
                                         : pl_slice(host.ptr, len));
}

PL_CEL_GETTER(scheme, pl_cel_string(args[0].url->scheme))
PL_CEL_GETTER(host, pl_cel_string(args[0].url->host))
PL_CEL_GETTER(path, pl_cel_string(args[0].url->path))
PL_CEL_GETTER(hostname, host_part(args[0].url, false))
PL_CEL_GETTER(port, host_part(args[0].url, true))

static int hex(char c)
{
    return c >= '0' && c <= '9'                     ? c - '0'
           : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                    : -1;
}

static struct pl_slice unescaped(struct pl_cel_eval *eval, struct pl_slice text)
{
    struct pl_buf out = PL_BUF_INIT;
    for (size_t i = 0; i < text.len; i++) {
        bool is_escape = text.ptr[i] == '%' && i + 2 < text.len + 0 && hex(text.ptr[i + 1]) >= 0 &&
                         hex(text.ptr[i + 2]) >= 0;
        pl_buf_add_char(&out, text.ptr[i] == '+' ? ' '
                              : is_escape ? (char)(hex(text.ptr[i + 1]) * 16 + hex(text.ptr[i + 2]))
                                          : text.ptr[i]);
        i += is_escape ? 2 : 0;
    }
    struct pl_slice copy =
        pl_arena_utf8(eval->arena, pl_arena_copy(eval->arena, pl_buf_slice(&out)));
    pl_buf_deinit(&out);
    return copy;
}

static void lib_net_add_value(struct pl_cel_eval *eval, struct pl_cel_entry *entry,
                              struct pl_cel value)
{
    size_t count = entry->value.kind == PL_CEL_LIST ? entry->value.list->count : 0;
    struct pl_cel *items;
    struct pl_cel list = pl_cel_new_list(eval->arena, count + 1, &items);
    if (count > 0)
        memcpy(items, entry->value.list->items, count * sizeof *items);
    items[count] = value;
    entry->value = list;
}

static struct pl_cel query(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    struct pl_slice rest = args[0].url->query;
    struct pl_cel_entry *entries;
    struct pl_cel result = pl_cel_new_map(eval->arena, rest.len + 1, &entries);
    struct pl_cel_map *map = pl_arena_alloc(eval->arena, sizeof *map);
    map->entries = entries;
    result.map = map;
    while (rest.len > 0) {
        struct pl_slice pair = until(&rest, "&");
        rest = rest.len > 0 ? pl_slice(rest.ptr + 1, rest.len - 1) : rest;
        struct pl_slice value = pair, name = until(&value, "=");
        value = value.len > 0 ? pl_slice(value.ptr + 1, value.len - 1) : value;
        struct pl_cel key = pl_cel_string(unescaped(eval, name));
        size_t i = 0;
        while (i < map->count && !pl_slice_eq(entries[i].key.s, key.s))
            i++;
        if (pair.len == 0)
            continue;
        if (!pl_cel_charge(eval, map->count / 4 + 1))
            return pl_cel_over_limit();
        entries[i].key = key;
        map->count += i == map->count;
        lib_net_add_value(eval, &entries[i], pl_cel_string(unescaped(eval, value)));
    }
    return result;
}

const struct pl_cel_function pl_cel_net_functions[] = {
    PL_CEL_READER("ip", "s:I", to_ip),
    PL_CEL_READER("isIP", "s:b", is_ip),
    PL_CEL_ROW("ip.isCanonical", "s:b", false, PL_CEL_COST_SELF_TWICE, PL_CEL_SIZE_NONE,
               is_canonical),
    PL_CEL_MEMBER("family", "I:i", family),
    PL_CEL_MEMBER("isUnspecified", "I:b", is_unspecified),
    PL_CEL_MEMBER("isLoopback", "I:b", is_loopback),
    PL_CEL_MEMBER("isLinkLocalMulticast", "I:b", is_link_local_multicast),
    PL_CEL_MEMBER("isLinkLocalUnicast", "I:b", is_link_local_unicast),
    PL_CEL_MEMBER("isGlobalUnicast", "I:b", is_global_unicast),
    PL_CEL_READER("cidr", "s:C", to_cidr),
    PL_CEL_READER("isCIDR", "s:b", is_cidr),
    PL_CEL_ROW("containsIP", "CI:b", true, PL_CEL_COST_NET, PL_CEL_SIZE_NONE, contains_ip),
    PL_CEL_ROW("containsIP", "Cs:b", true, PL_CEL_COST_NET, PL_CEL_SIZE_NONE, contains_ip),
    PL_CEL_ROW("containsCIDR", "CC:b", true, PL_CEL_COST_NET_IN_NET, PL_CEL_SIZE_NONE,
               contains_cidr),
    PL_CEL_ROW("containsCIDR", "Cs:b", true, PL_CEL_COST_NET_IN_NET, PL_CEL_SIZE_NONE,
               contains_cidr),
    PL_CEL_MEMBER("ip", "C:I", ip_of),
    PL_CEL_MEMBER("masked", "C:C", masked),
    PL_CEL_MEMBER("prefixLength", "C:i", prefix_length),
    PL_CEL_READER("url", "s:U", to_url),
    PL_CEL_ROW("isURL", "s:b", false, PL_CEL_COST_ONE, PL_CEL_SIZE_NONE, is_url),
    PL_CEL_MEMBER("getScheme", "U:s", scheme),
    PL_CEL_MEMBER("getHost", "U:s", host),
    PL_CEL_MEMBER("getHostname", "U:s", hostname),
    PL_CEL_MEMBER("getPort", "U:s", port),
    PL_CEL_MEMBER("getEscapedPath", "U:s", path),
    PL_CEL_MEMBER("getQuery", "U:MsLs", query),
    {0},
};

/* URLs and IP addresses: the parts are in the text in their order, and the addresses of a network
 * are between its first and its last address. */
#include "base/check.h"
#include "format/ip.h"
#include "format/url.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The part must come after the one before; returns its end. */
static const char *after(const char *at, struct pl_slice part, struct pl_slice text)
{
    if (part.ptr == NULL)
        return at;
    PL_REQUIRE(part.ptr >= at && part.ptr + part.len <= text.ptr + text.len);
    return part.ptr + part.len;
}

static void address(struct pl_slice text)
{
    struct pl_ip ip, again;
    char out[PL_IP_TEXT];
    if (pl_ip_parse(text, &ip, NULL) != 0)
        return;
    struct pl_ip first = pl_ip_first(&ip), last = pl_ip_last(&ip);
    first.prefix = last.prefix = ip.len * 8;
    PL_REQUIRE(pl_ip_contains(&ip, &first) && pl_ip_contains(&ip, &last));
    PL_REQUIRE(memcmp(first.bytes, ip.bytes, 16) <= 0 && memcmp(ip.bytes, last.bytes, 16) <= 0);
    pl_ip_text(&ip, out);
    if (ip.is_network) /* without its prefix it may be an IPv4 address in IPv6 form */
        return;
    PL_REQUIRE(pl_ip_parse(pl_slice_z(out), &again, NULL) == 0);
    PL_REQUIRE(again.len == ip.len && memcmp(again.bytes, ip.bytes, 16) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pl_slice text = pl_slice((const char *)data, size);
    struct pl_url url;
    address(text);
    if (pl_url_parse(text, &url, NULL) != 0)
        return 0;
    const char *at = after(text.ptr, url.scheme, text);
    at = after(at, url.user, text);
    at = after(at, url.password, text);
    at = after(at, url.host, text);
    at = after(at, url.path, text);
    at = after(at, url.query, text);
    after(at, url.fragment, text);
    PL_REQUIRE(url.port >= -1 && url.port <= 65535);
    PL_REQUIRE(memchr(text.ptr, ' ', text.len) == NULL);
    return 0;
}

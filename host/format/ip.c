/* inet_pton reads addresses; it takes no abbreviated IPv4 forms. The prefix is read here. Addresses
 * are compared as bytes in network order. */
#include "format/ip.h"

#include "base/text.h"

#include <arpa/inet.h>
#include <string.h>

static bool read_prefix(struct pl_slice text, int most, int *out)
{
    if (text.len == 0 || text.len > 3 || (text.len > 1 && text.ptr[0] == '0'))
        return false;
    int value = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (!pl_is_digit(text.ptr[i]))
            return false;
        value = value * 10 + (text.ptr[i] - '0');
    }
    *out = value;
    return value <= most;
}

static bool read_address(struct pl_slice text, struct pl_ip *ip)
{
    char copy[PL_IP_TEXT];
    if (text.len == 0 || text.len >= sizeof copy || pl_slice_chr(text, '\0') != NULL)
        return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    if (inet_pton(AF_INET, copy, ip->bytes) == 1)
        ip->len = 4;
    else if (inet_pton(AF_INET6, copy, ip->bytes) == 1)
        ip->len = 16;
    else
        return false;
    ip->prefix = ip->len * 8;
    return true;
}

/* A text ::ffff:10.0.0.1 must not evade a rule about 10.0.0.0/8. */
static void unmap(struct pl_ip *ip)
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (ip->len != 16 || ip->prefix < 96 || memcmp(ip->bytes, mapped, sizeof mapped) != 0)
        return;
    memmove(ip->bytes, ip->bytes + 12, 4);
    memset(ip->bytes + 4, 0, 12);
    ip->len = 4;
    ip->prefix -= 96;
}

int pl_ip_parse(struct pl_slice text, struct pl_ip *ip, struct pl_err *err)
{
    memset(ip, 0, sizeof *ip);
    const char *slash = pl_slice_chr(text, '/');
    struct pl_slice address = text;
    if (slash != NULL)
        address.len = (size_t)(slash - text.ptr);
    if (!read_address(address, ip))
        return pl_err_set(err, PL_EINVAL, "not an IP address such as 10.0.0.1 or fd00::1");
    ip->is_network = slash != NULL;
    if (slash != NULL &&
        !read_prefix(pl_slice(slash + 1, text.len - address.len - 1), ip->len * 8, &ip->prefix))
        return pl_err_set(err, PL_EINVAL, "the slash must be followed by a number from 0 to %d",
                          ip->len * 8);
    unmap(ip);
    return 0;
}

void pl_ip_text(const struct pl_ip *ip, char out[PL_IP_TEXT])
{
    inet_ntop(ip->len == 4 ? AF_INET : AF_INET6, ip->bytes, out, PL_IP_TEXT);
}

/* The bits of one byte that belong to the network. */
static uint8_t mask_at(int prefix, int i)
{
    int bits = prefix - 8 * i;
    return (uint8_t)(bits >= 8 ? 0xff : bits <= 0 ? 0 : 0xff << (8 - bits));
}

struct pl_ip pl_ip_first(const struct pl_ip *ip)
{
    struct pl_ip out = *ip;
    for (int i = 0; i < ip->len; i++)
        out.bytes[i] &= mask_at(ip->prefix, i);
    return out;
}

struct pl_ip pl_ip_last(const struct pl_ip *ip)
{
    struct pl_ip out = *ip;
    for (int i = 0; i < ip->len; i++)
        out.bytes[i] |= (uint8_t)~mask_at(ip->prefix, i);
    return out;
}

bool pl_ip_contains(const struct pl_ip *outer, const struct pl_ip *inner)
{
    if (outer->len != inner->len || inner->prefix < outer->prefix)
        return false;
    for (int i = 0; i < outer->len; i++)
        if (((outer->bytes[i] ^ inner->bytes[i]) & mask_at(outer->prefix, i)) != 0)
            return false;
    return true;
}

/* IP addresses and networks (CIDR), for scripts. An IPv4 address in IPv6 notation (::ffff:10.0.0.1)
 * counts as IPv4. Pure; any thread. */
#pragma once

#include "base/err.h"
#include "base/slice.h"

#define PL_IP_TEXT 64

struct pl_ip {
    uint8_t bytes[16];
    int len;    /* 4 or 16 bytes */
    int prefix; /* bits of the network; all of them for an address without "/24" */
    bool is_network;
};

/* "10.0.0.1", "fd00::1", "10.0.0.0/8": 0, or PL_EINVAL with the reason. */
PL_MUST_USE int pl_ip_parse(struct pl_slice text, struct pl_ip *ip, struct pl_err *err);
/* The address without the prefix, in its canonical form. */
void pl_ip_text(const struct pl_ip *ip, char out[PL_IP_TEXT]);
/* The address with all bits after the prefix cleared (or set: the last address). */
struct pl_ip pl_ip_first(const struct pl_ip *ip);
struct pl_ip pl_ip_last(const struct pl_ip *ip);
/* True when all of inner lies in outer; false for different versions of IP. */
bool pl_ip_contains(const struct pl_ip *outer, const struct pl_ip *inner);

/* URLs taken apart, as RFC 3986 says: for scripts that read those of users. Nothing is decoded and
 * nothing is changed: the parts lie in the text. Strict, so that nobody downstream reads another
 * host than was checked here: no spaces, control characters, backslashes or bytes over 0x7e, no
 * "%" without two digits, no "@" but one. Pure; any thread. */
#pragma once

#include "base/err.h"
#include "base/slice.h"

#define PL_URL_MAX ((size_t)64 << 10)

struct pl_url {
    struct pl_slice scheme;          /* "https", without ":" */
    struct pl_slice user, password;  /* ptr NULL: there is none */
    struct pl_slice host;            /* of an IPv6 address without brackets; ptr NULL: no "//" */
    int port;                        /* -1: none */
    struct pl_slice path;            /* may be empty */
    struct pl_slice query, fragment; /* without "?" and "#"; ptr NULL: there is none */
};

/* 0, or PL_EINVAL with the reason. A scheme is required. */
PL_MUST_USE int pl_url_parse(struct pl_slice text, struct pl_url *url, struct pl_err *err);

/* Parses URLs by RFC 3986, for scripts that read URLs of users. The parts lie in the text: nothing
 * is decoded or changed. The parser is strict, so that no program downstream reads a different host
 * than the one checked here: no spaces, control characters, backslashes or bytes over 0x7e, no "%"
 * without two digits, at most one "@". Pure; any thread. */
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

/* Returns 0, or PL_EINVAL with the place of a "%" that is not followed by two hexadecimal digits.
 * The text may have any length. */
PL_MUST_USE int pl_url_check_escapes(struct pl_slice text, struct pl_err *err);
/* 0, or PL_EINVAL with the reason. A scheme is required. */
PL_MUST_USE int pl_url_parse(struct pl_slice text, struct pl_url *url, struct pl_err *err);

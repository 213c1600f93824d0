/* A certificate that a server makes for itself, for those who are given it beforehand. */
#pragma once

#include "base/err.h"

/* PEM texts, the caller's to free: a fresh P-256 key and a certificate that is its own authority,
 * for the loopback names and addresses and for `host` (a name or an address; NULL or a wildcard:
 * none more), valid from a day ago for ten years. EIO when OpenSSL fails. */
PL_MUST_USE int pl_self_signed(const char *host, char **cert_pem, char **key_pem,
                               struct pl_err *err);

/* A self-signed certificate of a server, for clients that get it beforehand. */
#pragma once

#include "base/err.h"

/* Makes PEM texts, which the caller frees: a new P-256 key and a self-signed certificate for the
 * loopback names and addresses and for `host` (a name or an address; NULL or a wildcard: no more
 * names), valid from a day ago for ten years. EIO when OpenSSL fails. */
PL_MUST_USE int pl_self_signed(const char *host, char **cert_pem, char **key_pem,
                               struct pl_err *err);

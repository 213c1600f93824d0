/* The server's side of TLS as a filter over memory. Bytes from the socket go in, plain bytes come
 * out, and the other way round; no I/O happens here. TLS 1.2 and later, ALPN "http/1.1". One
 * thread. */
#pragma once

#include "base/err.h"
#include "base/slice.h"

struct pl_tls_context; /* a certificate and its key; sessions hold a reference to it */
struct pl_tls;         /* one connection */

/* PEM texts; the certificate may be followed by its chain. With client_ca_pem (may be NULL) clients
 * need a certificate that one of its CAs signed. NULL and err (EINVAL) when a text is malformed or
 * certificate and key do not belong together. The caller owns the context. */
struct pl_tls_context *pl_tls_context_create(const char *cert_pem, const char *key_pem,
                                             const char *client_ca_pem, struct pl_err *err);
/* Accepts NULL. */
void pl_tls_context_destroy(struct pl_tls_context *context);

/* One connection's TLS; the caller owns it. The context may be destroyed before it. */
struct pl_tls *pl_tls_create(struct pl_tls_context *context);
/* Accepts NULL. */
void pl_tls_destroy(struct pl_tls *tls);

/* Takes bytes from the peer. */
void pl_tls_feed(struct pl_tls *tls, struct pl_slice bytes);
/* Gives at most cap plain bytes: their count, 0 when more must be fed first, PL_ECLOSED when the
 * peer ended the session, PL_ENETWORK when the session is broken. Check for output afterwards. */
int pl_tls_read(struct pl_tls *tls, char *out, int cap);
/* Whether pl_tls_read may find more without being fed. */
bool pl_tls_has_more(struct pl_tls *tls);
/* Encrypts. PL_ENETWORK when the session is broken. */
int pl_tls_write(struct pl_tls *tls, struct pl_slice plain);
/* Sends a close notification; later writes are ignored. */
void pl_tls_close(struct pl_tls *tls);
/* Bytes to send to the peer; borrowed until pl_tls_output_taken or the next write. */
struct pl_slice pl_tls_output(struct pl_tls *tls);
void pl_tls_output_taken(struct pl_tls *tls);

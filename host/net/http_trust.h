/* Private to net: what a client asks of a server beyond what curl does, of its certificate and of
 * what it sends over TLS. */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

/* Of one turn of curl's: how many records of TLS came since the last byte of an answer did. curl
 * reads on for as long as there is something and none of it is an answer, and HTTP/2 has many a
 * frame that is none: a server that sends them without end would keep the loop for itself. */
struct pl_http_turn {
    size_t records;
    bool flooded; /* there were too many: their connection ended as if the server had closed it */
};

#define PL_HTTP_TURN_RECORDS 1000 /* of up to 16 KiB each */

/* For CURLOPT_SSL_CTX_FUNCTION: a certificate without a DNS name or address among its subject
 * alternative names is refused, as Go's clients do (curl would take its common name for one),
 * unless curl verifies none. turn: a struct pl_http_turn that outlives the connection; NULL: none.
 */
CURLcode pl_http_trust(CURL *easy, void *ssl_ctx, void *turn);

/* In curl's words for an error: this is why. */
#define PL_HTTP_NO_NAMES "application verification failure"

/* The file with the authorities that the system trusts: what SSL_CERT_FILE names, else the first of
 * the places where distributions keep it that can be read; NULL: there is none. Borrowed. */
const char *pl_http_ca_file(void);

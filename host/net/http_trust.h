/* Private to net: checks of a server beyond curl's: its certificate, and the amount of its TLS
 * records. Loop's thread. */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

/* State of one turn of curl: the number of TLS records since the last byte of an answer. curl reads
 * on while there are bytes, and many HTTP/2 frames belong to no answer: a server that sends them
 * without end would occupy the loop. */
struct pl_http_turn {
    size_t records;
    bool flooded; /* there were too many: the connection ended as if the server had closed it */
};

#define PL_HTTP_TURN_RECORDS 1000 /* records of up to 16 KiB each */

/* For CURLOPT_SSL_CTX_FUNCTION: a certificate without a DNS name or address among its subject
 * alternative names is refused, as by Go's clients (curl would use its common name), unless curl
 * does not verify at all. turn: a struct pl_http_turn that outlives the connection; NULL: none. */
CURLcode pl_http_trust(CURL *easy, void *ssl_ctx, void *turn);

/* curl's text for this error. */
#define PL_HTTP_NO_NAMES "application verification failure"

/* The file with the system's trusted CAs: the value of SSL_CERT_FILE, else the first readable file
 * among the paths that distributions use; NULL: none. Borrowed. */
const char *pl_http_ca_file(void);

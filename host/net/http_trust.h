/* Private to net: what a client asks of a server's certificate beyond what curl does. */
#pragma once

#include <curl/curl.h>

/* For CURLOPT_SSL_CTX_FUNCTION: a certificate without a DNS name or address among its subject
 * alternative names is refused, as Go's clients do. curl would take its common name for one. */
CURLcode pl_http_trust(CURL *easy, void *ssl_ctx, void *arg);

/* In curl's words for an error: this is why. */
#define PL_HTTP_NO_NAMES "application verification failure"

/* Initialises early what OpenSSL creates at the first use of TLS: its configuration, its
 * algorithms, random numbers. It takes some milliseconds of computing; call it while the thread
 * would wait anyway. Without it the first connection takes longer. */
#pragma once

/* ca_pem: the CA for checking servers; parsing it initialises more of OpenSSL. NULL: none; errors
 * in it are ignored here. */
void pl_tls_prepare(const char *ca_pem);

/* Initialises early what OpenSSL creates at the first use of TLS: its configuration, its
 * algorithms, random numbers. It takes some milliseconds of computing; call it while the thread
 * would wait anyway. Without it the first connection takes longer. */
#pragma once

/* ca_pem: the CA for checking servers; parsing it initialises more of OpenSSL. NULL: none; errors
 * in it are ignored here. */
void pl_tls_prepare(const char *ca_pem);

/* Keeps OpenSSL from registering ciphers under their old names, about 35 KB that nothing here asks
 * for: TLS and keys without a passphrase look ciphers up another way. Call it once, before anything
 * else uses OpenSSL. */
void pl_tls_spare_names(void);

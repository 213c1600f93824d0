/* For the files of crypto/x509.h. */
#pragma once

#include <openssl/types.h>

/* The library context for keys and certificates that this thread makes. Without a seed it is NULL,
 * which means OpenSSL's default context. */
OSSL_LIB_CTX *pl_x509_context(void);

/* For the files of crypto/x509.h. */
#pragma once

#include <openssl/types.h>

/* The library context for what is made on this thread: NULL, OpenSSL's own, without a seed. */
OSSL_LIB_CTX *pl_x509_context(void);

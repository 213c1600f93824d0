/* Certificates and keys as texts: is what was read from files whole? Any thread. */
#pragma once

#include <stdbool.h>

/* The key is the certificate's. Either text may be half written or no PEM at all. */
bool pl_pem_is_pair(const char *cert_pem, const char *key_pem);

/* At least one certificate, and no block that ends too early. */
bool pl_pem_is_bundle(const char *pem);

/* Checks whether certificates and keys that were read from files are complete. Any thread. */
#pragma once

#include <stdbool.h>

/* True when the key belongs to the certificate. Either text may be incomplete or no PEM at all. */
bool pl_pem_is_pair(const char *cert_pem, const char *key_pem);

/* True for at least one certificate, and no incomplete block. */
bool pl_pem_is_bundle(const char *pem);

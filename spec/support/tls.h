/* Certificates made at test time: a CA and certificates that it has signed, as PEM texts. */
#pragma once

struct test_ca; /* a self-signed CA with a fresh key */

struct test_ca *test_ca_create(const char *common_name);
void test_ca_destroy(struct test_ca *ca);
/* Borrowed until the CA is freed. */
const char *test_ca_pem(const struct test_ca *ca);

struct test_cert {
    char *cert_pem, *key_pem; /* owned */
};

/* Valid from an hour ago for valid_s seconds from now (negative: expired). alt_names
 * as in "IP:127.0.0.1,DNS:example.org", "" for none; NULL for a client's certificate. */
struct test_cert test_ca_issue(struct test_ca *ca, const char *common_name, const char *alt_names,
                               long valid_s);
void test_cert_deinit(struct test_cert *cert);

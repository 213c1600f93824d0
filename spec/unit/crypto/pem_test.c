#include "crypto/pem.h"

#include "support/test.h"
#include "support/tls.h"

#include <stdio.h>
#include <stdlib.h>

TEST(a_pair_is_a_certificate_and_its_own_key)
{
    struct test_ca *ca = test_ca_create("ca");
    struct test_cert one = test_ca_issue(ca, "one", NULL, 3600);
    struct test_cert two = test_ca_issue(ca, "two", NULL, 3600);
    CHECK(pl_pem_is_pair(one.cert_pem, one.key_pem));
    CHECK(pl_pem_is_pair(two.cert_pem, two.key_pem));
    CHECK(!pl_pem_is_pair(one.cert_pem, two.key_pem));
    CHECK(!pl_pem_is_pair(one.key_pem, one.key_pem));
    CHECK(!pl_pem_is_pair("", one.key_pem));
    CHECK(!pl_pem_is_pair(one.cert_pem, ""));
    test_cert_deinit(&one);
    test_cert_deinit(&two);
    test_ca_destroy(ca);
}

TEST(what_is_cut_anywhere_is_no_pair_and_no_bundle)
{
    struct test_ca *ca = test_ca_create("ca");
    struct test_cert cert = test_ca_issue(ca, "one", NULL, 3600);
    size_t len = strlen(cert.cert_pem);
    /* The last line break may be missing. */
    for (size_t cut = 0; cut + 2 < len; cut += cut + 90 < len ? 37 : 1) {
        char *part = strndup(cert.cert_pem, cut);
        CHECK(!pl_pem_is_pair(part, cert.key_pem));
        CHECK(!pl_pem_is_bundle(part));
        free(part);
    }
    test_cert_deinit(&cert);
    test_ca_destroy(ca);
}

TEST(a_bundle_is_certificates_up_to_its_end)
{
    struct test_ca *ca = test_ca_create("ca"), *other = test_ca_create("other");
    char two[16384];
    int len = snprintf(two, sizeof two, "# roots\n%s\n%s", test_ca_pem(ca), test_ca_pem(other));
    CHECK(pl_pem_is_bundle(test_ca_pem(ca)));
    CHECK(pl_pem_is_bundle(two));
    two[len - 60] = '\0'; /* the second one is not whole yet */
    CHECK(!pl_pem_is_bundle(two));
    CHECK(!pl_pem_is_bundle("no certificate"));
    test_ca_destroy(ca);
    test_ca_destroy(other);
}

TEST_MAIN()

/* Certificates, requests and keys: an accepted text is read completely, as pairs of texts. A CA
 * never trusts a certificate from outside that it has not signed. */
#include "base/check.h"
#include "crypto/x509.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(struct pl_slice pem)
{
    struct pl_buf out = PL_BUF_INIT;
    if (pl_x509_read(pem, &out, NULL) == 0) {
        size_t ends = 0;
        for (size_t i = 0; i < out.len; i++)
            ends += out.ptr[i] == '\0';
        PL_REQUIRE(ends % 2 == 0 && ends > 0 && out.ptr[out.len - 1] == '\0');
        PL_REQUIRE(strcmp(out.ptr, "kind") == 0);
    }
    pl_buf_deinit(&out);
}

/* Made once: that takes longer than all else. */
static struct pl_buf key, ca;

static void make_authority(void)
{
    static const struct pl_x509_field fields[] = {{"not_before", {"1790000000", 10}},
                                                  {"not_after", {"1900000000", 10}}};
    struct pl_slice none = pl_slice(NULL, 0);
    PL_REQUIRE(pl_x509_make_key("ed25519", &key, NULL) == 0);
    PL_REQUIRE(pl_x509_sign(pl_buf_slice(&key), none, none, (struct pl_x509_fields){fields, 2}, &ca,
                            NULL) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pl_slice pem = pl_slice((const char *)data, size);
    struct pl_buf out = PL_BUF_INIT;
    if (key.len == 0)
        make_authority();
    struct pl_x509_wish wish = {.roots = pl_buf_slice(&ca), .at = 1800000000};
    read_all(pem);
    PL_REQUIRE(pl_x509_verify(pem, &wish, NULL) != 1);
    PL_REQUIRE(pl_x509_is_pair(pem, pl_buf_slice(&key), NULL) != 1);
    PL_IGNORE(pl_x509_public_key(pem, &out, NULL)); /* it may be none */
    pl_buf_deinit(&out);
    return 0;
}

#include "crypto/digest.h"

#include "support/test.h"

#include <string.h>

static void check(const char *algorithm, const char *want)
{
    uint8_t out[PL_DIGEST_MAX];
    char hex[2 * PL_DIGEST_MAX + 1] = "";
    size_t len = pl_digest(algorithm, pl_slice_z("abc"), out);
    for (size_t i = 0; i < len; i++)
        snprintf(hex + 2 * i, 3, "%02x", out[i]);
    CHECK_STR(hex, want);
}

TEST(published_examples_hold)
{
    check("md5", "900150983cd24fb0d6963f7d28e17f72");
    check("sha1", "a9993e364706816aba3e25717850c26c9cd0d89d");
    check("sha256", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check("sha384", "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed"
                    "8086072ba1e7cc2358baeca134c825a7");
    check("sha512", "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                    "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f");
    check("sha3", "");
}

TEST(a_keyed_digest_is_that_of_rfc_4231)
{
    uint8_t out[PL_DIGEST_MAX];
    static const uint8_t want[] = {0x5b, 0xdc, 0xc1, 0x46};
    REQUIRE(pl_hmac("sha256", pl_slice_z("Jefe"), pl_slice_z("what do ya want for nothing?"),
                    out) == 32);
    CHECK(memcmp(out, want, sizeof want) == 0);
    CHECK_INT(pl_hmac("sha256", pl_slice(NULL, 0), pl_slice(NULL, 0), out), 32);
    CHECK_INT(pl_hmac("none", pl_slice_z("k"), pl_slice_z("t"), out), 0);
}

TEST(texts_are_equal_when_all_bytes_are)
{
    CHECK(pl_bytes_equal(pl_slice_z("token"), pl_slice_z("token")));
    CHECK(!pl_bytes_equal(pl_slice_z("token"), pl_slice_z("tokem")));
    CHECK(!pl_bytes_equal(pl_slice_z("token"), pl_slice_z("tok")));
    CHECK(pl_bytes_equal(pl_slice(NULL, 0), pl_slice_z("")));
}

TEST_MAIN()

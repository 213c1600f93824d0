#include "crypto/sha256.h"

#include "support/test.h"

static void check(const char *text, const char *want)
{
    char hex[2 * PL_SHA256_BYTES + 1];
    pl_sha256_hex(pl_slice_z(text), hex);
    CHECK_STR(hex, want);
}

TEST(the_examples_of_fips_180_hold)
{
    check("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(a_million_letters_hash_as_published)
{
    char *text = malloc(1000000);
    REQUIRE(text != NULL);
    memset(text, 'a', 1000000);
    char hex[2 * PL_SHA256_BYTES + 1];
    pl_sha256_hex(pl_slice(text, 1000000), hex);
    CHECK_STR(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(text);
}

TEST(lengths_around_a_block_are_padded_right)
{
    /* 55, 56, 63, 64 and 65 times the letter a */
    static const struct {
        int count;
        const char *want;
    } cases[] = {
        {55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
        {56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
        {63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"},
        {64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
        {65, "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[80] = {0};
        memset(text, 'a', (size_t)cases[i].count);
        check(text, cases[i].want);
    }
}

TEST_MAIN()

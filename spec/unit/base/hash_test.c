#include "base/hash.h"

#include "support/test.h"

TEST(equal_bytes_hash_alike_wherever_they_lie)
{
    char a[80], b[81];
    for (size_t len = 0; len < sizeof(a); len++) {
        memset(a, 'q', len);
        memset(b + 1, 'q', len);
        CHECK(pl_hash(a, len, 5) == pl_hash(b + 1, len, 5));
    }
}

TEST(every_byte_length_and_seed_matter)
{
    char text[64];
    for (size_t len = 1; len < sizeof(text); len++) {
        memset(text, 0, sizeof(text));
        uint64_t plain = pl_hash(text, len, 1);
        CHECK(plain != pl_hash(text, len - 1, 1));
        CHECK(plain != pl_hash(text, len, 2));
        for (size_t i = 0; i < len; i++) {
            text[i] = 1;
            CHECK(pl_hash(text, len, 1) != plain);
            text[i] = 0;
        }
    }
}

TEST(low_bits_spread_over_similar_keys)
{
    enum { BUCKETS = 256, KEYS = 25600 };
    int counts[BUCKETS] = {0};
    for (int i = 0; i < KEYS; i++) {
        char key[32];
        int len = snprintf(key, sizeof(key), "default/website-%d", i);
        counts[pl_hash(key, (size_t)len, 7) % BUCKETS]++;
    }
    for (int i = 0; i < BUCKETS; i++)
        CHECK(counts[i] > 50 && counts[i] < 150);
}

TEST(the_seed_is_one_for_the_process)
{
    CHECK(pl_hash_seed() != 0);
    CHECK(pl_hash_seed() == pl_hash_seed());
}

TEST_MAIN()

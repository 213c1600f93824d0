#include "value/pack.h"
#include "value/tape.h"

#include "support/test.h"

static void check_pack(const char *text, bool packs, size_t bytes)
{
    uint8_t packed[PACK_MAX + 8];
    char back[PACK_MAX];
    uint8_t *end = pl_pack(pl_slice_z(text), packed);
    if ((end != NULL) != packs) {
        TEST_FAIL("%s: packed is %d", text, end != NULL);
        return;
    }
    if (end == NULL)
        return;
    CHECK_INT(end - packed, bytes);
    CHECK(tape_skip(packed) == end);
    CHECK_SLICE(pl_slice(back, pl_unpack(packed, back)), text);
}

TEST(numbers_of_every_length_come_back)
{
    static const char *const texts[] = {"100000",    "999999",    "1000000",  "1234567",
                                        "20000018",  "9900990",   "99999999", "100000000",
                                        "987654321", "4294967295"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        check_pack(texts[i], true, 5);
    static const uint8_t parts[] = {TAG_IPV4, 0, 9, 10, 255}; /* the same digits, fewer of them */
    char back[PACK_MAX];
    CHECK_SLICE(pl_slice(back, pl_unpack(parts, back)), "0.9.10.255");
}

TEST(common_forms_pack_and_come_back)
{
    check_pack("0b2cd8f1-7c0e-4b52-8a5e-0f1d1f2a3b4c", true, 17);
    check_pack("2026-11-21T09:30:00Z", true, 5);
    check_pack("1970-01-01T00:00:00Z", true, 5);
    check_pack("2024-02-29T23:59:59Z", true, 5);
    check_pack("2106-02-07T06:28:15Z", true, 5);
    check_pack("2026-11-21T09:30:00.000001Z", true, 8);
    check_pack("2026-11-21T09:30:00.999999Z", true, 8);
    check_pack("containerd://0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
               true, 3 + 13 + 32);
    check_pack("0123456789abcdef0", true, 3 + 1 + 8);
    check_pack("10.244.1.7", true, 5);
    check_pack("255.255.255.255", true, 5);
    check_pack("123456", true, 5);
    check_pack("4294967295", true, 5);
}

TEST(what_would_not_come_back_stays_text)
{
    check_pack("0B2CD8F1-7c0e-4b52-8a5e-0f1d1f2a3b4c", false, 0);
    check_pack("0b2cd8f1-7c0e-4b52-8a5e_0f1d1f2a3b4c", false, 0);
    check_pack("2023-02-29T00:00:00Z", false, 0);
    check_pack("2026-11-21T24:00:00Z", false, 0);
    check_pack("2026-11-21T09:30:60Z", false, 0);
    check_pack("2026-13-01T00:00:00Z", false, 0);
    check_pack("2026-00-01T00:00:00Z", false, 0);
    check_pack("2026-04-31T00:00:00Z", false, 0);
    check_pack("2106-02-07T06:28:16Z", false, 0);
    check_pack("1969-12-31T23:59:59Z", false, 0);
    check_pack("2026-11-21t09:30:00Z", false, 0);
    check_pack("2026-11-21T09:30:00z", false, 0);
    check_pack("2026-11-21T09:30:00,123456Z", false, 0);
    check_pack("010.244.1.7", false, 0);
    check_pack("10.244.1.256", false, 0);
    check_pack("10.244.1", false, 0);
    check_pack("10.244.1.7.8", false, 0);
    check_pack("0123456", false, 0);
    check_pack("4294967296", false, 0);
    check_pack("12345", false, 0);
    check_pack("0123456789ABCDEF", false, 0);
}

TEST(every_day_of_the_range_comes_back)
{
    char text[PACK_MAX], back[PACK_MAX];
    uint8_t packed[PACK_MAX + 8];
    for (uint32_t day = 0; day < UINT32_MAX / 86400; day += 1) {
        uint8_t made[5] = {TAG_TIME};
        uint32_t seconds = day * 86400 + 12345;
        memcpy(made + 1, &seconds, 4);
        size_t len = pl_unpack(made, text);
        REQUIRE(pl_pack(pl_slice(text, len), packed) != NULL);
        REQUIRE(memcmp(packed, made, 5) == 0);
        REQUIRE(pl_unpack(packed, back) == len && memcmp(back, text, len) == 0);
    }
}

TEST_MAIN()

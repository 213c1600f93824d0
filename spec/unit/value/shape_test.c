#include "value/shape.h"
#include "value/tape.h"

#include "support/test.h"

/* "a,b,c" as encoded keys. */
static struct pl_slice keys_of(const char *names, uint32_t *count)
{
    static uint8_t bytes[4096];
    uint8_t *out = bytes;
    *count = 0;
    for (const char *p = names; *p != '\0';) {
        size_t len = strcspn(p, ",");
        out = tape_put_varint(out, (uint32_t)len);
        memcpy(out, p, len);
        out += len;
        ++*count;
        p += len + (p[len] == ',');
    }
    return pl_slice((const char *)bytes, (size_t)(out - bytes));
}

TEST(repeated_names_are_found_in_few_and_in_many)
{
    uint32_t count, second = 0;
    bool repeated[64] = {false};
    struct pl_slice keys = keys_of("a,b,ab,ba,aa,abc", &count);
    CHECK(!pl_shape_repeats(count, keys, NULL, NULL));
    keys = keys_of("a,b,c,b,d,a,b", &count);
    CHECK(pl_shape_repeats(count, keys, NULL, NULL));
    CHECK(pl_shape_repeats(count, keys, repeated, &second));
    CHECK_INT(second, 3);
    static const bool want[] = {true, true, false, true, false, false, false};
    CHECK(memcmp(repeated, want, sizeof(want)) == 0);

    char many[1024] = "";
    for (int i = 0; i < 40; i++)
        snprintf(many + strlen(many), sizeof(many) - strlen(many), "%sk%d", i ? "," : "", i);
    keys = keys_of(many, &count);
    CHECK(!pl_shape_repeats(count, keys, NULL, NULL));
    strcat(many, ",k17");
    keys = keys_of(many, &count);
    CHECK(pl_shape_repeats(count, keys, NULL, &second));
    CHECK_INT(second, 40);
}

TEST(a_large_shape_has_its_names_sorted)
{
    char many[1024] = "";
    uint32_t count, read, len;
    for (int i = 0; i < 50; i++)
        snprintf(many + strlen(many), sizeof(many) - strlen(many), "%sk%d", i ? "," : "",
                 i * 37 % 50);
    struct pl_slice keys = keys_of(many, &count);
    uint8_t shape[4096];
    uint8_t *end = pl_shape_put(shape, count, keys);
    CHECK((size_t)(end - shape) <= pl_shape_room(count, keys.len));
    const uint8_t *first = tape_shape(shape, &read, &len);
    CHECK_INT(read, 50);
    CHECK_INT(len, keys.len);
    struct pl_slice last = {"", 0};
    for (uint32_t i = 0; i < count; i++) {
        struct pl_slice name;
        const uint8_t *pair = first + len + 8 * i;
        tape_key(first + tape_u32(pair), &name);
        CHECK(pl_slice_cmp(last, name) < 0);
        CHECK_INT(atoi(name.ptr + 1), tape_u32(pair + 4) * 37 % 50);
        last = name;
    }
}

TEST_MAIN()

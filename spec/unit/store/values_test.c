#include "store/store.h"

#include "support/test.h"

TEST(values_come_back_in_order_and_each_once)
{
    struct pl_values values = {0};
    pl_values_add(&values, pl_slice_z("b"));
    pl_values_add(&values, pl_slice("", 0));
    pl_values_add(&values, pl_slice_z("b"));
    pl_values_add(&values, pl_slice("a\0a", 3));
    CHECK_INT(values.count, 3);
    size_t at = 0;
    struct pl_slice value;
    CHECK(pl_values_next(&values, &at, &value) && pl_slice_eqz(value, "b"));
    CHECK(pl_values_next(&values, &at, &value) && value.len == 0);
    CHECK(pl_values_next(&values, &at, &value) && pl_slice_eq(value, pl_slice("a\0a", 3)));
    CHECK(!pl_values_next(&values, &at, &value));
    pl_values_clear(&values);
    at = 0;
    CHECK(values.count == 0 && !pl_values_next(&values, &at, &value));
    pl_values_deinit(&values);
}

TEST(more_than_the_limit_is_marked_and_not_kept)
{
    struct pl_values values = {0};
    for (int i = 0; i < PL_VALUES_MAX + 5; i++) {
        CHECK_INT(values.over, i > PL_VALUES_MAX);
        char text[16];
        int len = snprintf(text, sizeof(text), "%d", i);
        pl_values_add(&values, pl_slice(text, (size_t)len));
    }
    CHECK_INT(values.count, PL_VALUES_MAX);
    CHECK(values.over);
    pl_values_deinit(&values);
}

TEST_MAIN()

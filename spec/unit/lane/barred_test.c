#include "lane/barred.h"

#include "support/test.h"

#include <stdio.h>

TEST(what_is_barred_is_so_until_its_code_is_other_code)
{
    struct pl_barred *barred = pl_barred_create();
    CHECK(!pl_barred_has(barred, "run c d/a", "1"));
    pl_barred_add(barred, "run c d/a", "1");
    CHECK(pl_barred_has(barred, "run c d/a", "1"));
    CHECK(pl_barred_has(barred, "run c d/a", "1"));
    CHECK(!pl_barred_has(barred, "run c d/b", "1"));
    CHECK(!pl_barred_has(barred, "run c d/a", "2"));
    CHECK_INT(pl_barred_count(barred), 0);
    CHECK(!pl_barred_has(barred, "run c d/a", "1"));
    pl_barred_unref(barred);
}

TEST(what_is_barred_again_is_so_for_the_newer_code)
{
    struct pl_barred *barred = pl_barred_ref(pl_barred_create());
    pl_barred_add(barred, "run c d/a", "1");
    pl_barred_add(barred, "run c d/a", "2");
    CHECK_INT(pl_barred_count(barred), 1);
    pl_barred_unref(barred);
    CHECK(pl_barred_has(barred, "run c d/a", "2"));
    pl_barred_unref(barred);
    pl_barred_unref(NULL);
}

TEST(so_many_are_remembered_and_no_more)
{
    struct pl_barred *barred = pl_barred_create();
    char what[32];
    for (int i = 0; i < PL_BARRED_MAX + 10; i++) {
        snprintf(what, sizeof what, "run c d/%d", i);
        pl_barred_add(barred, what, "1");
    }
    CHECK_INT(pl_barred_count(barred), PL_BARRED_MAX);
    pl_barred_add(barred, "run c d/0", "2");
    CHECK(pl_barred_has(barred, "run c d/0", "2"));
    pl_barred_unref(barred);
}

TEST_MAIN()

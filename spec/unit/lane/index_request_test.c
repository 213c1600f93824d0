/* Lists by label: the indices that they use, and those that they ask for. */
#include "support/fake_control.h"

#define SCRIPT(code)                                                                               \
    "local perilune = require('perilune')\nlocal client = perilune.client\n"                       \
    "perilune.controller('c'):For('v1/Pod'):Reconcile(function(request)\n" code "end)\n"
#define NONE ((struct pl_lanes_options){.count = 1})

/* Labels: all=1, and app=a<one of apps>. */
static void put_pods(int count, int apps)
{
    for (int i = 0; i < count; i++) {
        char json[256];
        snprintf(
            json, sizeof json,
            "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p%d\",\"namespace\":"
            "\"n%d\",\"labels\":{\"all\":\"1\",\"app\":\"a%d\"}}}",
            i, i % 2, i % apps);
        put_object(0, json);
    }
}

static const char *wanted(void)
{
    return pl_buf_z(&fake.wanted);
}

TEST(who_looks_at_many_for_few_wishes_once_for_each_label)
{
    begin(SCRIPT("assert(#client:list('v1/Pod', {labels = 'app=a7,all=1,app!=x'}) == 12)\n"
                 "assert(#client:list('v1/Pod', {labels = {app = 'a8'}}) == 12)\n"),
          NONE);
    put_pods(1200, 100);
    CHECK_RUN("default/a", PL_OUTCOME_DONE, "");
    CHECK_STR(wanted(), "all=1;app=a7;");
    CHECK_RUN("default/a", PL_OUTCOME_DONE, "");
    CHECK_STR(wanted(), "all=1;app=a7;");
    finish();
}

TEST(nobody_wishes_who_finds_much_looks_at_little_or_asks_for_several_values)
{
    begin(SCRIPT("assert(#client:list('v1/Pod', {labels = 'all=1'}) == 1200)\n"
                 "assert(#client:list('v1/Pod', {labels = 'app in (a1,a2)'}) == 24)\n"
                 "assert(#client:list('v1/Pod', {labels = 'app=a7', namespace = 'n1'}) == 12)\n"
                 "assert(#client:list('v1/Pod') == 1200)\n"),
          NONE);
    put_pods(1200, 100);
    CHECK_RUN("default/a", PL_OUTCOME_DONE, "");
    CHECK_STR(wanted(), "");
    finish();
}

TEST(there_are_only_so_many_wishes)
{
    begin(SCRIPT("for i = 1, 100 do client:list('v1/Pod', {labels = {['l' .. i] = 'x'}}) end\n"),
          NONE);
    put_pods(1000, 100);
    CHECK_RUN("default/a", PL_OUTCOME_DONE, "");
    CHECK(strstr(wanted(), "l64=x;") != NULL);
    CHECK(strstr(wanted(), "l65=x;") == NULL);
    finish();
}

static void put_under(const char *key, const char *value)
{
    struct pl_values values = {.count = 0};
    pl_values_add(&values, pl_slice_z(value));
    pl_store_set_values(fake.controllers[0].informers[0].store, "label:app", pl_slice_z(key),
                        &values);
    pl_values_deinit(&values);
}

/* An index whose values are set here, so that the test sees who reads it. */
TEST(lists_look_into_the_smallest_of_the_indices_and_test_what_they_find)
{
    begin(SCRIPT("local found = client:list('v1/Pod', {labels = 'app=a1'})\n"
                 "assert(#found == 1 and found[1].metadata.name == 'p1')\n"
                 "assert(#client:list('v1/Pod', {labels = 'app=a1', namespace = 'n0'}) == 0)\n"
                 "assert(#client:list('v1/Pod', {labels = 'app in (a1,a2)'}) == 5)\n"
                 "assert(#client:list('v1/Pod', {labels = 'app=a3'}) == 0)\n"),
          NONE);
    put_pods(10, 4);
    struct pl_store *store = fake.controllers[0].informers[0].store;
    REQUIRE(pl_store_add_index(store, "label:app", NULL, NULL, NULL) == 0);
    put_under("n1/p1", "a1");
    put_under("n0/p2", "a1"); /* which does not exist */
    CHECK_RUN("default/a", PL_OUTCOME_DONE, "");
    finish();
}

TEST(an_index_that_is_being_built_is_passed_by)
{
    begin(SCRIPT("assert(#client:list('v1/Pod', {labels = 'app=a1'}) == 3)\n"), NONE);
    put_pods(10, 4);
    struct pl_store *store = fake.controllers[0].informers[0].store;
    REQUIRE(pl_store_add_index(store, "label:app", NULL, NULL, NULL) == 0);
    pl_store_set_building(store, "label:app", true);
    CHECK_RUN("default/a", PL_OUTCOME_DONE, "");
    finish();
}

TEST_MAIN()

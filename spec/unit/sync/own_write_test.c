#include "sync/own_write.h"

#include "support/test.h"

static void note(struct pl_own_writes *writes, const char *key, const char *uid, const char *rv,
                 bool deleted, int64_t at)
{
    struct pl_own_write write = {.key = (char *)key,
                                 .uid = (char *)uid,
                                 .rv = (char *)rv,
                                 .deleted = deleted,
                                 .since_ns = at};
    pl_own_writes_note(writes, &write);
}

TEST(what_is_news_after_a_write)
{
    static const struct {
        bool deleted; /* our write to uid 1 at version 10 */
        const char *uid, *rv;
        bool deletion;
        bool news, confirmed;
    } cases[] = {
        {false, "1", "9", false, false, false},
        {false, "1", "10", false, false, true}, /* the echo */
        {false, "1", "11", false, true, true},
        {false, "1", "11", true, true, true},
        {false, "1", "10", true, true, true},  /* servers that send the last version with the end */
        {false, "0", "9", true, false, false}, /* the end of an earlier object of that name */
        {false, "0", "11", true, false, false},
        {false, "2", "11", false, true, true}, /* another client has created a new one since */
        {true, "1", "10", false, false, false},
        {true, "1", "12", false, false, false}, /* it is being deleted */
        {true, "1", "13", true, true, true},
        {true, "2", "9", false, false, false},
        {true, "2", "14", false, true, true},
        {false, "1", "", false, true, true}, /* no number: accepted */
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct pl_own_writes writes;
        pl_own_writes_init(&writes);
        note(&writes, "d/a", "1", "10", cases[i].deleted, 0);
        bool news = pl_own_writes_is_news(&writes, pl_slice_z("d/a"), pl_slice_z(cases[i].uid),
                                          pl_slice_z(cases[i].rv), cases[i].deletion);
        bool confirmed = pl_own_writes_find(&writes, pl_slice_z("d/a")) == NULL;
        if (news != cases[i].news || confirmed != cases[i].confirmed)
            TEST_FAIL("case %zu: news %d, confirmed %d", i, news, confirmed);
        CHECK(pl_own_writes_is_news(&writes, pl_slice_z("d/b"), pl_slice_z("1"), pl_slice_z("1"),
                                    false));
        pl_own_writes_deinit(&writes);
    }
}

TEST(what_was_heard_of_up_to_a_version_is_confirmed_in_its_namespace)
{
    struct pl_own_writes writes;
    pl_own_writes_init(&writes);
    note(&writes, "d/a", "1", "10", false, 1);
    note(&writes, "d/b", "2", "20", false, 2);
    note(&writes, "e/a", "3", "10", false, 3);
    note(&writes, "d/c", "4", "5", true, 4);
    pl_own_writes_confirm(&writes, "d", pl_slice_z("15"));
    CHECK(pl_own_writes_find(&writes, pl_slice_z("d/a")) == NULL);
    CHECK(pl_own_writes_find(&writes, pl_slice_z("d/b")) != NULL);
    CHECK(pl_own_writes_find(&writes, pl_slice_z("e/a")) != NULL);
    CHECK(pl_own_writes_find(&writes, pl_slice_z("d/c")) != NULL);
    pl_own_writes_confirm(&writes, NULL, pl_slice_z("20"));
    CHECK_INT(writes.by_key.count, 1);
    pl_own_writes_deinit(&writes);
}

TEST(the_oldest_is_the_one_to_ask_about)
{
    struct pl_own_writes writes;
    pl_own_writes_init(&writes);
    CHECK(pl_own_writes_oldest(&writes) == NULL);
    note(&writes, "d/a", "1", "10", false, 1);
    note(&writes, "d/b", "2", "20", false, 2);
    note(&writes, "d/a", "1", "30", false, 3); /* written again */
    CHECK_STR(pl_own_writes_oldest(&writes)->key, "d/b");
    pl_own_writes_postpone(&writes, pl_own_writes_oldest(&writes), 9);
    CHECK_STR(pl_own_writes_oldest(&writes)->key, "d/a");
    pl_own_writes_forget(&writes, pl_slice_z("d/a"));
    CHECK_INT(pl_own_writes_oldest(&writes)->since_ns, 9);
    pl_own_writes_deinit(&writes);
}

TEST_MAIN()

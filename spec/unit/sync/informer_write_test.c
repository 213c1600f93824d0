/* Read your writes. */
#include "scene.h"

TEST(a_write_is_stored_at_once_and_older_news_of_it_is_ignored)
{
    struct scene scene = {0};
    begin(&scene);
    write_through(&scene, BED_MAP("a", "1", "12", ""), false);
    check_events(&scene, "~a@5>12");
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "11", "")));
    check_events(&scene, "");
    check_stored(&scene, "d/a", "12");
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "12", "")));
    check_events(&scene, "");
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "13", "")));
    check_events(&scene, "~a@12>13");
    finish(&scene);
}

TEST(a_change_of_others_before_the_echo_is_neither_lost_nor_told_twice) /* F39 */
{
    struct scene scene = {0};
    begin(&scene);
    /* Our write is 12 and contains theirs, 11. */
    write_through(&scene, BED_MAP("a", "1", "12", ",\"data\":{\"x\":\"1\",\"y\":\"2\"}"), false);
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "11", ",\"data\":{\"x\":\"1\"}")));
    event(&scene,
          BED_EVENT("MODIFIED", BED_MAP("a", "1", "12", ",\"data\":{\"x\":\"1\",\"y\":\"2\"}")));
    check_events(&scene, "~a@5>12");
    /* Our write is 14; theirs came after it. */
    write_through(&scene, BED_MAP("a", "1", "14", ""), false);
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "14", "")));
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "15", "")));
    check_events(&scene, "~a@12>14 ~a@14>15");
    /* Our write is 16, and the watch delivers theirs, which does not contain it. */
    write_through(&scene, BED_MAP("a", "1", "16", ""), false);
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "17", "")));
    check_events(&scene, "~a@15>16 ~a@16>17");
    finish(&scene);
}

TEST(an_answer_that_is_older_than_the_watch_changes_nothing)
{
    struct scene scene = {0};
    begin(&scene);
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "13", "")));
    event(&scene, BED_EVENT("DELETED", BED_MAP("b", "2", "14", "")));
    event(&scene, BED_EVENT("ADDED", BED_MAP("b", "3", "15", "")));
    pl_buf_clear(&scene.log);
    write_through(&scene, BED_MAP("a", "1", "12", ""), false);
    write_through(&scene, BED_MAP("b", "2", "12", ""), false);
    write_through(&scene, BED_MAP("b", "2", "6", ""), true); /* the end of the former b */
    check_events(&scene, "");
    check_stored(&scene, "d/a", "13");
    check_stored(&scene, "d/b", "15");
    finish(&scene);
}

TEST(an_answer_after_the_end_of_its_object_does_not_bring_it_back)
{
    struct scene scene = {0};
    begin(&scene);
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "11", "")));
    event(&scene, BED_EVENT("DELETED", BED_MAP("a", "1", "12", "")));
    check_events(&scene, "~a@5>11 -a@12");
    write_through(&scene, BED_MAP("a", "1", "11", ""), false);
    check_events(&scene, "");
    check_stored(&scene, "d/a", "absent");
    finish(&scene);
}

TEST(an_earlier_answer_after_our_own_delete_does_not_bring_the_object_back)
{
    struct scene scene = {0};
    begin(&scene);
    write_through(&scene, BED_MAP("a", "1", "5", ""), true);
    write_through(&scene, BED_MAP("a", "1", "12", ""), false); /* of a patch before it */
    check_events(&scene, "-a@5");
    check_stored(&scene, "d/a", "absent");
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "12", "")));
    event(&scene, BED_EVENT("DELETED", BED_MAP("a", "1", "13", "")));
    check_events(&scene, "");
    finish(&scene);
}

TEST(an_end_that_the_watch_has_told_of_is_not_asked_about)
{
    struct scene scene = {0};
    begin(&scene);
    event(&scene, BED_EVENT("DELETED", BED_MAP("a", "1", "12", "")));
    write_through(&scene, BED_MAP("a", "1", "5", ""), true);
    check_events(&scene, "-a@12");
    bed_pass(&scene.bed, 30 * PL_SECOND);
    CHECK(bed_is_quiet(&scene.bed));
    finish(&scene);
}

TEST(what_was_created_survives_a_list_that_is_older)
{
    struct scene scene = {0};
    begin(&scene);
    write_through(&scene, BED_MAP("n", "7", "22", ""), false);
    write_through(&scene, BED_MAP("a", "1", "23", ""), false);
    write_through(&scene, BED_MAP("b", "2", "6", ""), true);
    check_events(&scene, "+n@22 ~a@5>23 -b@6");
    relist(&scene, BED_MAPS("20", BED_MAP("a", "1", "5", "") "," BED_MAP("b", "2", "6", "")));
    check_events(&scene, "");
    check_stored(&scene, "d/n", "22");
    check_stored(&scene, "d/a", "23");
    check_stored(&scene, "d/b", "absent");
    /* A newer list decides. */
    relist(&scene, BED_MAPS("30", BED_MAP("a", "1", "23", "")));
    check_events(&scene, "!n@22");
    finish(&scene);
}

TEST(a_write_before_the_first_list_is_part_of_it)
{
    struct scene scene = {0};
    begin_unsynced(&scene, NULL);
    write_through(&scene, BED_MAP("n", "7", "22", ""), false);
    CHECK(!pl_informer_has_synced(scene.informer));
    check_events(&scene, "");
    bed_run(&scene.bed);
    scene.watch =
        list_and_watch(&scene, "/api/v1/configmaps", BED_MAPS("10", BED_MAP("a", "1", "5", "")));
    check_events(&scene, "+a@5 +n@22");
    event(&scene, BED_EVENT("ADDED", BED_MAP("n", "7", "22", "")));
    check_events(&scene, "");
    finish(&scene);
}

TEST(deleted_and_created_anew_under_the_same_name)
{
    struct scene scene = {0};
    begin(&scene);
    write_through(&scene, BED_MAP("a", "1", "5", ""), true);
    write_through(&scene, BED_MAP("a", "9", "13", ""), false);
    check_events(&scene, "-a@5 +a@13");
    event(&scene, BED_EVENT("DELETED", BED_MAP("a", "1", "12", "")));
    event(&scene, BED_EVENT("ADDED", BED_MAP("a", "9", "13", "")));
    check_events(&scene, "");
    check_stored(&scene, "d/a", "13");
    event(&scene, BED_EVENT("DELETED", BED_MAP("a", "9", "14", "")));
    check_events(&scene, "-a@14");
    finish(&scene);
}

TEST(what_the_watch_does_not_confirm_is_asked_and_the_answer_wins) /* F27, F50 */
{
    static const struct {
        int status;
        const char *body, *events, *rv;
    } cases[] = {
        {200, BED_MAP("a", "1", "8", ""), "~a@12>8", "8"},
        {200, BED_MAP("a", "1", "12", ""), "", "12"},
        {404, BED_STATUS(404, "NotFound"), "!a@12", "absent"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct scene scene = {0};
        begin(&scene);
        write_through(&scene, BED_MAP("a", "1", "12", ""), false);
        pl_buf_clear(&scene.log);
        bed_pass(&scene.bed, 9 * PL_SECOND);
        CHECK(bed_is_quiet(&scene.bed));
        bed_pass(&scene.bed, PL_SECOND);
        const char *path = "/api/v1/namespaces/d/configmaps/a";
        bed_reply(&scene.bed, bed_expect(&scene.bed, "GET", path), 500,
                  BED_STATUS(500, "InternalError"));
        bed_pass(&scene.bed, 10 * PL_SECOND);
        bed_reply(&scene.bed, bed_expect(&scene.bed, "GET", path), cases[i].status, cases[i].body);
        check_events(&scene, cases[i].events);
        check_stored(&scene, "d/a", cases[i].rv);
        bed_pass(&scene.bed, 30 * PL_SECOND);
        CHECK(bed_is_quiet(&scene.bed));
        finish(&scene);
    }
}

TEST(a_bookmark_confirms_everything_before_it)
{
    struct scene scene = {0};
    begin(&scene);
    write_through(&scene, BED_MAP("a", "1", "12", ""), false);
    event(&scene, BED_BOOKMARK("ConfigMap", "13"));
    bed_pass(&scene.bed, 60 * PL_SECOND);
    CHECK(bed_is_quiet(&scene.bed));
    pl_buf_clear(&scene.log);
    finish(&scene);
}

TEST(what_a_selector_leaves_out_is_not_asked_about)
{
    for (int said = 0; said < 2; said++) {
        struct scene scene = {.options = {.labels = (char *)"app=web"}};
        begin_unsynced(&scene, NULL);
        scene.watch = list_and_watch(&scene, "/api/v1/configmaps?labelSelector=app%3Dweb",
                                     BED_MAPS("10", BED_MAP("a", "1", "5", "")));
        pl_buf_clear(&scene.log);
        write_through(&scene, BED_MAP("b", "2", "12", ""), false);
        if (said) { /* an older state, which was one of this source's */
            event(&scene, BED_EVENT("ADDED", BED_MAP("b", "2", "11", "")));
            check_events(&scene, "");
        }
        bed_pass(&scene.bed, 12 * PL_SECOND);
        CHECK(bed_is_quiet(&scene.bed) == !said);
        if (said)
            bed_reply(&scene.bed,
                      bed_expect(&scene.bed, "GET", "/api/v1/namespaces/d/configmaps/b"), 200,
                      BED_MAP("b", "2", "12", ""));
        bed_pass(&scene.bed, 60 * PL_SECOND);
        CHECK(bed_is_quiet(&scene.bed));
        check_events(&scene, "");
        finish(&scene);
    }
}

TEST_MAIN()

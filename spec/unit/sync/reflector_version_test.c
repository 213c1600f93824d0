#include "diary.h"

#define AT_10 "limit=1&resourceVersion=10&resourceVersionMatch=Exact"

/* The reflector knows a@5 at version 10; the server was away and is at 40 now. Takes the request
 * that follows. */
static struct fake_request *come_back(struct diary *diary)
{
    struct fake_request *watch = get_going(diary);
    fake_end(watch);
    fake_fail(take_watch(diary, "10"), PL_ENETWORK, "ConnectionRefused");
    bed_pass(&diary->bed, 2 * PL_SECOND);
    answer_version(diary, "10", "40");
    return take_witness(diary, "metadata.name%3Da&" AT_10);
}

static void check_listed_anew(struct diary *diary)
{
    while (bed_is_quiet(&diary->bed))
        bed_pass(&diary->bed, 100 * PL_MS);
    bed_reply(&diary->bed, take_list(diary, "limit=500"), 200, BED_MAPS("41", ));
    check_diary(diary, "anew 41;");
    take_watch(diary, "41");
}

TEST(a_server_whose_object_is_what_it_was_is_watched_on) /* F27 */
{
    struct diary diary;
    bed_reply(&diary.bed, come_back(&diary), 200, BED_PARTIALS("10", BED_PARTIAL("a", "5")));
    take_watch(&diary, "10");
    check_diary(&diary, "");
    finish(&diary);
}

/* Restored from a backup, or another server, and already ahead of us. */
TEST(a_server_whose_object_is_another_or_was_not_there_is_listed_anew) /* F27 */
{
    static const char *const answers[] = {
        BED_PARTIALS("10", ),
        BED_PARTIALS("10", BED_PARTIAL("a", "4")),
        BED_PARTIALS("10", BED_PARTIAL("b", "5")),
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(answers); i++) {
        struct diary diary;
        bed_reply(&diary.bed, come_back(&diary), 200, answers[i]);
        CHECK_STR(pl_reflector_trouble(diary.reflector)->err.message,
                  "a known object is gone or has another version: was the server restored?");
        check_listed_anew(&diary);
        finish(&diary);
    }
}

TEST(a_server_that_does_not_know_our_version_any_more_says_so_to_the_watch)
{
    struct diary diary;
    bed_reply(&diary.bed, come_back(&diary), 410, BED_STATUS(410, "Expired"));
    struct fake_request *watch = take_watch(&diary, "10");
    fake_begin(watch, 200);
    bed_pass(&diary.bed, 2 * PL_SECOND);
    fake_end(watch);
    take_watch(&diary, "10"); /* and is not checked again */
    finish(&diary);
}

TEST(an_answer_that_does_not_come_leaves_the_doubt)
{
    struct diary diary;
    fake_fail(come_back(&diary), PL_ENETWORK, "ConnectionRefused");
    bed_run(&diary.bed);
    CHECK(bed_is_quiet(&diary.bed));
    while (bed_is_quiet(&diary.bed))
        bed_pass(&diary.bed, 100 * PL_MS);
    answer_version(&diary, "10", "40");
    bed_reply(&diary.bed, take_witness(&diary, "metadata.name%3Da&" AT_10), 200,
              BED_PARTIALS("10", ));
    check_listed_anew(&diary);
    finish(&diary);
}

/* The newest object of a list and of all events since, while it exists. */
TEST(the_newest_object_is_asked_for)
{
    struct diary diary;
    begin(&diary);
    bed_reply(&diary.bed, take_list(&diary, "limit=500&resourceVersion=0"), 200,
              BED_MAPS("10", BED_MAP("a", "1", "7", "") "," BED_MAP("b", "2", "9", "") "," BED_MAP(
                                 "c", "3", "8", "")));
    static const struct {
        const char *event, *rv, *want;
    } steps[] = {
        {NULL, "10", "metadata.name%3Db&"},
        {BED_EVENT("MODIFIED", BED_MAP("a", "1", "12", "")), "12", "metadata.name%3Da&"},
        {BED_EVENT("DELETED", BED_MAP("b", "2", "13", "")), "13", "metadata.name%3Da&"},
        {BED_EVENT("DELETED", BED_MAP("a", "1", "14", "")), "14", NULL},
        {BED_EVENT("ADDED", BED_MAP("e", "4", "15", "")), "15", "metadata.name%3De&"},
        {BED_BOOKMARK("ConfigMap", "30"), "30", "metadata.name%3De&"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(steps); i++) {
        struct fake_request *watch = take_watch(&diary, i == 0 ? "10" : steps[i - 1].rv);
        fake_begin(watch, 200);
        bed_pass(&diary.bed, 2 * PL_SECOND);
        if (steps[i].event != NULL)
            bed_stream(&diary.bed, watch, steps[i].event);
        fake_end(watch);
        fake_fail(take_watch(&diary, steps[i].rv), PL_ENETWORK, "ConnectionRefused");
        while (bed_is_quiet(&diary.bed))
            bed_pass(&diary.bed, 100 * PL_MS);
        answer_version(&diary, steps[i].rv, "40");
        if (steps[i].want == NULL)
            continue;
        char query[200];
        snprintf(query, sizeof query, "%slimit=1&resourceVersion=%s&resourceVersionMatch=Exact",
                 steps[i].want, steps[i].rv);
        bed_reply(&diary.bed, take_witness(&diary, query), 410, BED_STATUS(410, "Expired"));
    }
    finish(&diary);
}

TEST_MAIN()

/* A reflector whose pages a separate thread decodes, so that the next page is requested meanwhile.
 */
#include "kube/decode_thread.h"

#include "diary.h"
#include "support/turn.h"

struct apart {
    struct diary diary;
    struct pl_loop *loop;
    struct pl_decode_thread *thread;
};

static void begin_pages(struct apart *a)
{
    a->loop = pl_loop_create(pl_clock_system());
    a->thread = pl_decode_thread_create(a->loop);
    begin_apart(&a->diary, false, a->thread);
    a->diary.takes = true;
}

static void finish_pages(struct apart *a)
{
    stop(&a->diary);
    pl_decode_thread_destroy(
        a->thread); /* its documents belong to the pool, so they are freed first */
    put_away(&a->diary);
    pl_loop_destroy(a->loop);
}

/* Delivers everything decoded, and does all work. */
#define RUN_UNTIL(a, cond) TURN_UNTIL((a)->loop, (bed_run(&(a)->diary.bed), (cond)))

#define PAGE(name, token)                                                                          \
    BED_LIST("ConfigMap", "10", ",\"continue\":\"" token "\"", BED_MAP(name, name, "5", ""))

TEST(pages_that_are_under_way_early_are_asked_for_once)
{
    struct apart a;
    begin_pages(&a);
    struct diary *diary = &a.diary;
    fake_reply(take_list(diary, "limit=500&resourceVersion=0"), 200, PAGE("a", "t1"));
    RUN_UNTIL(&a, diary->pages == 1);
    fake_reply(take_list(diary, "limit=500&continue=t1"), 200, PAGE("b", "t2"));
    RUN_UNTIL(&a, diary->pages == 2);
    fake_reply(take_list(diary, "limit=500&continue=t2"), 200,
               BED_MAPS("10", BED_MAP("c", "3", "6", "")));
    RUN_UNTIL(&a, diary->text.len > 0);
    check_diary(diary, "replace 10 c@6;");
    CHECK_INT(diary->bed.net.start_count, 4);
    take_watch(diary, "10");
    finish_pages(&a);
}

TEST(a_page_that_cannot_be_stored_ends_the_one_under_way)
{
    struct apart a;
    begin_pages(&a);
    struct diary *diary = &a.diary;
    diary->refuse_page = true;
    fake_reply(take_list(diary, "limit=500&resourceVersion=0"), 200, PAGE("a", "t1"));
    RUN_UNTIL(&a, diary->bed.net.start_count == 2 && diary->bed.net.open_count == 0);
    bed_pass(&diary->bed, 2 * PL_SECOND);
    fake_reply(take_list(diary, "limit=500&resourceVersion=0"), 200, BED_MAPS("11", ));
    RUN_UNTIL(&a, diary->text.len > 0);
    check_diary(diary, "replace 11;");
    finish_pages(&a);
}

TEST(what_is_no_list_ends_the_one_under_way)
{
    struct apart a;
    begin_pages(&a);
    struct diary *diary = &a.diary;
    fake_reply(take_list(diary, "limit=500&resourceVersion=0"), 200,
               "{\"kind\":\"Thing\",\"metadata\":{\"continue\":\"t1\"},\"items\":[]}");
    RUN_UNTIL(&a, diary->bed.net.start_count == 2 && diary->bed.net.open_count == 0);
    bed_pass(&diary->bed, 2 * PL_SECOND);
    take_list(diary, "limit=500&resourceVersion=0");
    finish_pages(&a);
}

TEST(it_stops_with_two_pages_under_way)
{
    struct apart a;
    begin_pages(&a);
    struct diary *diary = &a.diary;
    fake_reply(take_list(diary, "limit=500&resourceVersion=0"), 200, PAGE("a", "t1"));
    TURN_UNTIL(a.loop, diary->bed.net.start_count == 2);
    finish_pages(&a);
    CHECK_INT(diary->ended, 1);
}

TEST_MAIN()

#include "bed_controller.h"

#include <unistd.h>

/* The map function fails for three objects, and only two may wait. The third, changed or deleted,
 * is not lost: when there is room, all objects are mapped again. */
TEST(what_there_is_no_room_to_retry_is_made_up_for_when_there_is)
{
    struct stage stage;
    stage_init(&stage);
    struct pl_controller_spec spec = spec_of("maps");
    add_source(&spec, PL_SOURCE_FOR, "v1/Pod", PL_MAP_SELF);
    add_source(&spec, PL_SOURCE_WATCHES, "v1/ConfigMap", PL_MAP_EXTERNAL);
    struct pl_controller_options options = {
        .cluster = stage.bed.cluster, .ops = &fake_ops, .self = &stage.fake, .map_retries_max = 2};
    struct pl_controller *controller = pl_controller_create(&options, &spec);
    pl_manager_add(stage.manager, controller);
    pl_manager_start(stage.manager);
    struct fake_request *watch =
        stage_sync(&stage, "/api/v1/configmaps",
                   BED_MAPS("10", BED_MAP("a", "1", "5", "") "," BED_MAP("b", "2", "6", "")));
    stage_sync(&stage, "/api/v1/pods",
               BED_LIST("Pod", "10", "",
                        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\","
                        "\"namespace\":\"d\",\"uid\":\"9\",\"resourceVersion\":\"4\"}}"));
    FILE *log = tmpfile();
    char text[8192];
    REQUIRE(log != NULL);
    pl_log_configure(PL_LOG_INFO, false, fileno(log));
    bed_stream(&stage.bed, watch, BED_EVENT("ADDED", BED_MAP("c", "3", "11", "")));
    bed_stream(&stage.bed, watch, BED_EVENT("ADDED", BED_MAP("e", "4", "12", "")));
    for (int i = 0; i < 4; i++) {
        struct pl_question *question = fake_question(&stage.fake);
        pl_question_map_failed(question, "boom", NULL);
        pl_question_done(question);
    }
    bed_run(&stage.bed);
    size_t len = (size_t)pread(fileno(log), text, sizeof text - 1, 0);
    text[len] = '\0';
    const char *said = strstr(text, "too many objects wait for their map function");
    CHECK(said != NULL && strstr(said + 1, "too many objects") == NULL); /* once */
    bed_stream(&stage.bed, watch, BED_EVENT("DELETED", BED_MAP("e", "4", "13", "")));
    struct pl_question *last = fake_question(&stage.fake);
    CHECK_INT(last->event.type, PL_EVENT_DELETE);
    pl_question_map_failed(last, "boom", NULL);
    pl_question_done(last);
    fake_finish(&stage.fake, "d/p", PL_OUTCOME_DONE);
    bed_run(&stage.bed);
    check_log(&stage.fake, "start d/p(ADDED);");

    /* The two waiting questions succeed; then a, b and c are asked about, and For is queued. */
    bed_pass(&stage.bed, 2 * PL_SECOND);
    for (int i = 0; i < 2; i++)
        pl_question_done(fake_question(&stage.fake));
    bed_run(&stage.bed);
    check_log(&stage.fake, "start d/p(RESYNC);");
    struct pl_buf asked = PL_BUF_INIT;
    while (!pl_list_empty(&stage.fake.questions)) {
        struct pl_question *question = fake_question(&stage.fake);
        struct pl_scratch scratch;
        struct pl_slice name = pl_meta_name(pl_doc_root(question->event.object), &scratch);
        pl_buf_add_slice(&asked, name);
        pl_question_request(question, pl_slice_z("x"), name);
        pl_question_done(question);
        bed_run(&stage.bed);
    }
    CHECK_INT(asked.len, 3);
    CHECK(memchr(asked.ptr, 'a', 3) && memchr(asked.ptr, 'b', 3) && memchr(asked.ptr, 'c', 3));
    fake_finish(&stage.fake, "d/p", PL_OUTCOME_DONE);
    bed_run(&stage.bed);
    while (stage.fake.running > 0) {
        for (const char *key = "x/a\0x/b\0x/c\0"; *key != '\0'; key += 4)
            if (fake_run(&stage.fake, key) != NULL)
                fake_finish(&stage.fake, key, PL_OUTCOME_DONE);
        bed_run(&stage.bed);
    }
    CHECK(strstr(pl_buf_z(&stage.fake.log), "start x/c(RESYNC);") != NULL);
    CHECK_INT(stage.fake.started, 2 + 3);
    len = (size_t)pread(fileno(log), text, sizeof text - 1, 0);
    text[len] = '\0';
    CHECK(strstr(text, "events were left out: every object is mapped again") != NULL);
    CHECK(strstr(text, "left_out=3") != NULL);
    pl_log_configure(PL_LOG_ERROR + 1, false, 2);
    fclose(log);
    pl_buf_deinit(&asked);
    stage_deinit(&stage);
}

static int count(const char *text, const char *part)
{
    int found = 0;
    for (; (text = strstr(text, part)) != NULL; text++)
        found++;
    return found;
}

/* The oldest question's map function has failed. */
static void fail_map(struct stage *stage)
{
    struct pl_question *question = fake_question(&stage->fake);
    pl_question_map_failed(question, "boom", "script.lua:1:");
    pl_question_done(question);
    bed_run(&stage->bed);
}

TEST(failures_of_a_map_name_their_objects_and_are_counted_when_they_are_many)
{
    enum { OBJECTS = 15 };
    struct stage stage;
    struct pl_buf maps = PL_BUF_INIT;
    char text[16384];
    stage_init(&stage);
    struct pl_controller_spec spec = spec_of("maps");
    add_source(&spec, PL_SOURCE_WATCHES, "v1/ConfigMap", PL_MAP_EXTERNAL);
    stage_add(&stage, &spec);
    pl_manager_start(stage.manager);
    struct fake_request *watch = stage_sync(&stage, "/api/v1/configmaps", BED_MAPS("10", ));
    FILE *log = tmpfile();
    REQUIRE(log != NULL);
    pl_log_configure(PL_LOG_ERROR, false, fileno(log));
    for (int i = 0; i < OBJECTS; i++) {
        pl_buf_clear(&maps);
        pl_buf_add_f(&maps,
                     "{\"type\":\"ADDED\",\"object\":{\"apiVersion\":\"v1\",\"kind\":"
                     "\"ConfigMap\",\"metadata\":{\"name\":\"m%d\",\"namespace\":\"d\",\"uid\":"
                     "\"%d\",\"resourceVersion\":\"%d\"}}}\n",
                     i, i, 20 + i);
        bed_stream(&stage.bed, watch, pl_buf_z(&maps));
        fail_map(&stage);
    }
    text[pread(fileno(log), text, sizeof text - 1, 0)] = '\0';
    CHECK_INT(count(text, "map function failed"), 1 + 10);
    CHECK_INT(count(text, "script.lua:1:"), 1);
    CHECK_INT(count(text, "key=d/m0 "), 1);
    CHECK_INT(count(text, "key=d/m10 "), 1);

    /* All of them again after a second: no new line. After the minute, a line with their number. */
    size_t said = strlen(text);
    bed_pass(&stage.bed, PL_SECOND);
    for (int i = 0; i < OBJECTS; i++)
        fail_map(&stage);
    text[pread(fileno(log), text, sizeof text - 1, 0)] = '\0';
    CHECK_INT(strlen(text), said);
    bed_pass(&stage.bed, 60 * PL_SECOND);
    fail_map(&stage);
    text[pread(fileno(log), text, sizeof text - 1, 0)] = '\0';
    CHECK_INT(count(text + said, "map function failed"), 1);
    CHECK_INT(count(text + said, "attempt=2 "), 1);
    CHECK_INT(count(text + said, "repeated=19"), 1);
    CHECK_INT(count(text + said, "script.lua:1:"), 1);
    pl_log_configure(PL_LOG_ERROR + 1, false, 2);
    fclose(log);
    while (!pl_list_empty(&stage.fake.questions))
        pl_question_done(fake_question(&stage.fake));
    bed_run(&stage.bed);
    pl_buf_deinit(&maps);
    stage_deinit(&stage);
}

TEST_MAIN()

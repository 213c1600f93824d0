#include "control/dump.h"

#include "bed_controller.h"

#include <fcntl.h>
#include <unistd.h>

/* The lines that were logged while the log was captured. */
struct caught {
    char path[64];
    int fd;
};

static void catch_log(struct caught *caught, bool json)
{
    snprintf(caught->path, sizeof caught->path, "/tmp/perilune-dump-XXXXXX");
    caught->fd = mkstemp(caught->path);
    REQUIRE(caught->fd >= 0);
    pl_log_configure(PL_LOG_INFO, json, caught->fd);
}

static void release_log(struct caught *caught, struct pl_buf *text)
{
    char chunk[4096];
    ssize_t got;
    pl_log_configure(PL_LOG_ERROR + 1, false, STDERR_FILENO);
    REQUIRE(lseek(caught->fd, 0, SEEK_SET) == 0);
    while ((got = read(caught->fd, chunk, sizeof chunk)) > 0)
        pl_buf_add(text, chunk, (size_t)got);
    close(caught->fd);
    unlink(caught->path);
}

static size_t count(const struct pl_buf *text, const char *part)
{
    size_t found = 0;
    for (const char *p = pl_buf_z(text); (p = strstr(p, part)) != NULL; p++)
        found++;
    return found;
}

TEST(controllers_runs_sources_and_waits_are_a_line_each)
{
    struct stage stage;
    stage_init(&stage);
    stage.bed.no_websites = true;
    struct pl_controller_spec maps = spec_of("maps"), sites = spec_of("sites");
    add_source(&maps, PL_SOURCE_FOR, "v1/ConfigMap", PL_MAP_SELF);
    add_source(&sites, PL_SOURCE_FOR, "example.com/v1/Website", PL_MAP_SELF);
    stage_add(&stage, &maps);
    stage_add(&stage, &sites);
    pl_manager_start(stage.manager);
    stage_sync(&stage, "/api/v1/configmaps",
               BED_MAPS("10", BED_MAP("a", "1", "3", "") "," BED_MAP("b", "2", "4", "")));
    bed_pass(&stage.bed, 3 * PL_SECOND);
    struct caught caught;
    struct pl_buf text = PL_BUF_INIT;
    catch_log(&caught, true);
    CHECK_INT(pl_dump_controllers(stage.manager), 0);
    CHECK_INT(pl_dump_sources(stage.bed.cluster), 0);
    CHECK_INT(pl_dump_waits(&stage.bed.waits), 0);
    release_log(&caught, &text);
    CHECK_INT(count(&text, "\"msg\":\"state: controller\""), 2);
    CHECK_INT(
        count(&text, "\"controller\":\"maps\",\"state\":\"running\",\"running\":1,\"ready\":1,"),
        1);
    CHECK_INT(count(&text, "\"waits_for\":\"source example.com/v1/Website: "), 1);
    CHECK_INT(count(&text, "\"msg\":\"state: run\",\"controller\":\"maps\",\"key\":\"d/"), 1);
    CHECK_INT(count(&text, "\"seconds\":3,\"attempt\":0,\"canceled\":false"), 1);
    CHECK_INT(
        count(&text, "\"source\":\"v1/ConfigMap\",\"synced\":true,\"objects\":2,\"trouble\":\"\""),
        1);
    CHECK_INT(count(&text, "\"wait\":\"next look for the kind\",\"of\":\"example.com/v1/Website\""),
              1);
    CHECK_INT(count(&text, "\n"), 2 + 1 + 2 + stage.bed.waits.count);
    pl_buf_deinit(&text);
    while (stage.fake.running > 0)
        fake_finish(&stage.fake, fake_run(&stage.fake, "d/a") ? "d/a" : "d/b", PL_OUTCOME_DONE),
            bed_run(&stage.bed);
    stage_deinit(&stage);
}

#define POD(name)                                                                                  \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name                       \
    "\",\"namespace\":\"d\",\"uid\":\"" name "\",\"resourceVersion\":\"5\"}}"

/* Delayed keys have one wait together, and map functions to be retried too: until the first of
 * them. */
TEST(delayed_keys_and_failed_maps_are_waits_of_their_controller)
{
    struct stage stage;
    stage_init(&stage);
    struct pl_controller_spec spec = spec_of("pods");
    spec.max_concurrent = 2;
    add_source(&spec, PL_SOURCE_FOR, "v1/Pod", PL_MAP_SELF);
    add_source(&spec, PL_SOURCE_WATCHES, "v1/ConfigMap", PL_MAP_EXTERNAL);
    stage_add(&stage, &spec);
    pl_manager_start(stage.manager);
    stage_sync(&stage, "/api/v1/configmaps",
               BED_MAPS("10", BED_MAP("a", "1", "3", "") "," BED_MAP("b", "2", "4", "")));
    stage_sync(&stage, "/api/v1/pods", BED_LIST("Pod", "10", "", POD("p") "," POD("q")));
    for (int i = 0; i < 2; i++) {
        struct pl_question *question = fake_question(&stage.fake);
        pl_question_map_failed(question, "boom", NULL);
        pl_question_done(question);
    }
    bed_run(&stage.bed);
    struct pl_outcome_of_run later = {.outcome = PL_OUTCOME_REQUEUE_AFTER,
                                      .after_ns = 40 * PL_SECOND};
    fake_finish_with(&stage.fake, "d/p", &later);
    later.after_ns = 30 * PL_SECOND;
    fake_finish_with(&stage.fake, "d/q", &later);
    bed_run(&stage.bed);
    struct caught caught;
    struct pl_buf text = PL_BUF_INIT;
    catch_log(&caught, true);
    pl_dump_controllers(stage.manager);
    pl_dump_waits(&stage.bed.waits);
    release_log(&caught, &text);
    CHECK_INT(count(&text, "\"delayed\":2,"), 1);
    CHECK_INT(count(&text, "\"map_retries\":2,"), 1);
    CHECK_INT(count(&text, "\"wait\":\"queue delay\",\"of\":\"pods\",\"seconds\":0,\"at_most\":30,"
                           "\"overdue\":false"),
              1);
    CHECK_INT(count(&text, "\"wait\":\"map retry\",\"of\":\"pods\",\"seconds\":0,\"at_most\":1,"
                           "\"overdue\":false"),
              1);
    pl_buf_clear(&text);

    /* Half a minute later both maps are done, and one key is left. */
    bed_pass(&stage.bed, PL_SECOND);
    for (int i = 0; i < 2; i++)
        pl_question_done(fake_question(&stage.fake));
    bed_pass(&stage.bed, 30 * PL_SECOND);
    fake_finish(&stage.fake, "d/q", PL_OUTCOME_DONE);
    bed_run(&stage.bed);
    catch_log(&caught, true);
    pl_dump_waits(&stage.bed.waits);
    release_log(&caught, &text);
    CHECK_INT(count(&text, "\"wait\":\"map retry\""), 0);
    CHECK_INT(count(&text, "\"wait\":\"queue delay\",\"of\":\"pods\",\"seconds\":31,"
                           "\"at_most\":40,\"overdue\":false"),
              1);
    pl_buf_clear(&text);
    bed_pass(&stage.bed, 9 * PL_SECOND);
    fake_finish(&stage.fake, "d/p", PL_OUTCOME_DONE);
    bed_run(&stage.bed);
    catch_log(&caught, true);
    pl_dump_waits(&stage.bed.waits);
    release_log(&caught, &text);
    CHECK_INT(count(&text, "queue delay"), 0);
    pl_buf_deinit(&text);
    stage_deinit(&stage);
}

TEST(what_there_are_very_many_of_is_cut_and_counted)
{
    enum { MANY = PL_DUMP_LINES + 7 };
    static struct pl_wait many[MANY];
    struct virtual_clock clock;
    struct pl_waits waits;
    virtual_clock_init(&clock, PL_SECOND);
    pl_waits_init(&waits, &clock.clock);
    for (int i = 0; i < MANY; i++)
        pl_wait_begin(&waits, &many[i], "paused", "x\ny", PL_SECOND);
    clock.now_ns += 2 * PL_SECOND;
    struct caught caught;
    struct pl_buf text = PL_BUF_INIT;
    catch_log(&caught, false);
    CHECK_INT(pl_dump_waits(&waits), 7);
    release_log(&caught, &text);
    CHECK_INT(count(&text, "state: wait wait=paused"), PL_DUMP_LINES);
    CHECK_INT(count(&text, "seconds=2 at_most=1 overdue=true"), PL_DUMP_LINES);
    pl_buf_deinit(&text);
    pl_waits_deinit(&waits);
}

TEST_MAIN()

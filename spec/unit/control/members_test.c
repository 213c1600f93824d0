/* Families: kinds appear and disappear while a controller runs, and no event is lost. */
#include "bed_controller.h"

#define MAPS "/api/v1/configmaps"
#define PODS "/api/v1/pods"
#define POD(name, uid, rv)                                                                         \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name                       \
    "\",\"namespace\":\"d\",\"uid\":\"" uid "\",\"resourceVersion\":\"" rv "\"}}"

static struct pl_controller_spec family_spec(void)
{
    struct pl_controller_spec spec = spec_of("all");
    struct pl_source_spec *source =
        add_source(&spec, PL_SOURCE_WATCHES, "v1/ConfigMap", PL_MAP_SELF);
    pl_kind_set_any(&source->kind);
    return spec;
}

static struct pl_edition *edition_of(struct stage *stage, struct fake_reconciler *by)
{
    struct pl_controller_spec spec = family_spec();
    struct pl_controller_options options = {
        .cluster = stage->bed.cluster, .ops = &fake_ops, .self = by};
    struct pl_edition *edition = pl_edition_create(&options, &spec);
    pl_edition_open(edition, NULL, NULL);
    return edition;
}

static void follow(struct stage *stage, struct pl_edition *edition, const char *first,
                   const char *second, const char *unknown)
{
    struct pl_kind kinds[2], missing[1];
    size_t count = 0, missing_count = 0;
    if (first != NULL)
        kinds[count++] = kind_of(first);
    if (second != NULL)
        kinds[count++] = kind_of(second);
    if (unknown != NULL)
        missing[missing_count++] = kind_of(unknown);
    pl_edition_select(edition, 0, kinds, count, missing, missing_count);
    bed_run(&stage->bed);
}

static void count_member(void *arg, const struct pl_source_spec *source,
                         struct pl_informer *informer)
{
    CHECK(informer != NULL && !pl_source_is_family(source));
    ++*(size_t *)arg;
}

static size_t members(const struct pl_edition *edition)
{
    size_t count = 0;
    pl_edition_each_member(edition, count_member, &count);
    return count;
}

static void finish(struct stage *stage, const char *key)
{
    fake_finish(&stage->fake, key, PL_OUTCOME_DONE);
    bed_run(&stage->bed);
}

TEST(a_kind_comes_goes_and_comes_back)
{
    struct stage stage;
    stage_init(&stage);
    struct pl_edition *edition = edition_of(&stage, &stage.fake);
    pl_manager_add(stage.manager, pl_controller_create_with(edition));
    pl_manager_start(stage.manager);
    bed_run(&stage.bed);
    CHECK(pl_controller_is_running(pl_manager_at(stage.manager, 0))); /* nothing delays it */
    follow(&stage, edition, "v1/ConfigMap", NULL, NULL);
    CHECK_INT(members(edition), 1);
    struct fake_request *watch =
        stage_sync(&stage, MAPS, BED_MAPS("5", BED_MAP("a", "u1", "3", "")));
    check_log(&stage.fake, "start d/a(ADDED);");
    finish(&stage, "d/a");
    follow(&stage, edition, "v1/ConfigMap", NULL, NULL); /* the same again: nothing happens */
    bed_stream(&stage.bed, watch, BED_EVENT("MODIFIED", BED_MAP("a", "u1", "6", "")));
    check_log(&stage.fake, "start d/a(MODIFIED);");
    finish(&stage, "d/a");
    follow(&stage, edition, NULL, NULL, "v1/X"); /* its group cannot be asked: the kind stays */
    CHECK_INT(members(edition), 1);
    check_log(&stage.fake, "");
    follow(&stage, edition, NULL, NULL, NULL);
    CHECK_INT(members(edition), 0);
    check_log(&stage.fake, "start d/a(DELETED);");
    finish(&stage, "d/a");
    follow(&stage, edition, "v1/ConfigMap", NULL, NULL);
    stage_sync(&stage, MAPS, BED_MAPS("9", BED_MAP("b", "u2", "8", "")));
    check_log(&stage.fake, "start d/b(ADDED);");
    finish(&stage, "d/b");
    pl_manager_stop(stage.manager);
    bed_run(&stage.bed);
    pl_edition_unref(edition);
    stage_deinit(&stage);
}

TEST(a_kind_that_cannot_sync_holds_up_no_other)
{
    struct stage stage;
    stage_init(&stage);
    struct pl_edition *edition = edition_of(&stage, &stage.fake);
    pl_manager_add(stage.manager, pl_controller_create_with(edition));
    pl_manager_start(stage.manager);
    bed_run(&stage.bed);
    follow(&stage, edition, "v1/ConfigMap", "v1/Pod", NULL);
    CHECK_INT(members(edition), 2);
    stage_sync(&stage, PODS, BED_LIST("Pod", "10", "", POD("p", "u9", "4")));
    check_log(&stage.fake, "start d/p(ADDED);"); /* the maps have not been listed */
    finish(&stage, "d/p");
    pl_manager_stop(stage.manager);
    bed_run(&stage.bed);
    pl_edition_unref(edition);
    stage_deinit(&stage);
}

TEST(another_edition_goes_on_with_what_the_first_followed)
{
    struct stage stage;
    struct fake_reconciler other;
    stage_init(&stage);
    fake_init(&other);
    struct pl_edition *first = edition_of(&stage, &stage.fake);
    pl_manager_add(stage.manager, pl_controller_create_with(first));
    pl_manager_start(stage.manager);
    bed_run(&stage.bed);
    follow(&stage, first, "v1/ConfigMap", NULL, NULL);
    struct fake_request *watch =
        stage_sync(&stage, MAPS, BED_MAPS("5", BED_MAP("a", "u1", "3", "")));
    finish(&stage, "d/a");
    pl_buf_clear(&stage.fake.log);
    struct pl_edition *second = edition_of(&stage, &other);
    struct pl_takeover all[] = {{second, false}};
    pl_manager_switch(stage.manager, all, 1);
    bed_run(&stage.bed);
    CHECK(bed_is_quiet(&stage.bed)); /* no list, no watch */
    CHECK_INT(members(second), 1);
    follow(&stage, first, NULL, NULL, NULL); /* it is no longer asked */
    CHECK_INT(members(second), 1);
    bed_stream(&stage.bed, watch, BED_EVENT("ADDED", BED_MAP("c", "u3", "6", "")));
    check_log(&stage.fake, "");
    check_log(&other, "start d/c(ADDED);");
    fake_finish(&other, "d/c", PL_OUTCOME_DONE);
    bed_run(&stage.bed);
    pl_edition_unref(first);
    pl_manager_stop(stage.manager);
    bed_run(&stage.bed);
    pl_edition_unref(second);
    fake_deinit(&other);
    stage_deinit(&stage);
}

TEST(a_map_that_fails_is_asked_again_also_when_its_kind_rests_by_then)
{
    struct stage stage;
    stage_init(&stage);
    struct pl_controller_spec spec = family_spec();
    spec.sources[0].map_by = PL_MAP_EXTERNAL;
    struct pl_controller_options options = {
        .cluster = stage.bed.cluster, .ops = &fake_ops, .self = &stage.fake};
    struct pl_edition *edition = pl_edition_create(&options, &spec);
    pl_edition_open(edition, NULL, NULL);
    pl_manager_add(stage.manager, pl_controller_create_with(edition));
    pl_manager_start(stage.manager);
    bed_run(&stage.bed);
    follow(&stage, edition, "v1/ConfigMap", NULL, NULL);
    stage_sync(&stage, MAPS, BED_MAPS("5", BED_MAP("a", "u1", "3", "")));
    struct pl_question *question = fake_question(&stage.fake);
    CHECK_SLICE(pl_slice_z(question->kind), "v1/ConfigMap");
    pl_question_map_failed(question, "boom", NULL);
    pl_question_done(question);
    bed_run(&stage.bed);
    follow(&stage, edition, NULL, NULL, NULL); /* a is reported as deleted, */
    question = fake_question(&stage.fake);
    CHECK_INT(question->event.type, PL_EVENT_DELETE);
    CHECK(question->event.stale);
    pl_question_request(question, pl_slice_z("x"), pl_slice_z("gone"));
    pl_question_done(question);
    bed_run(&stage.bed);
    check_log(&stage.fake, "start x/gone(DELETED);");
    finish(&stage, "x/gone");
    bed_pass(&stage.bed, 2 * PL_SECOND); /* and the earlier failure is still retried */
    question = fake_question(&stage.fake);
    pl_question_done(question);
    bed_run(&stage.bed);
    pl_manager_stop(stage.manager);
    bed_run(&stage.bed);
    pl_edition_unref(edition);
    stage_deinit(&stage);
}

TEST_MAIN()

/* Indexes of an informer: those of scripts, whose values arrive as answers, and those by a path. */
#include "scene.h"

struct answers {
    struct pl_list questions;
    int asked;
};

static void answer(struct answers *answers, const char *value);

/* A walk over the objects may visit one twice. */
static void answer_all(struct answers *answers, const char *value)
{
    while (!pl_list_empty(&answers->questions))
        answer(answers, value);
}

static void on_ask(void *self, struct pl_question *question)
{
    struct answers *answers = self;
    answers->asked++;
    pl_list_push(&answers->questions, &question->link);
}

static int add_index(struct scene *scene, const char *name, const char *path, void *self)
{
    struct pl_err err;
    struct pl_declared_index index = {
        .name = name, .stored = name, .path = path, .ask = on_ask, .self = self};
    return pl_informer_add_index(scene->informer, &index, &err);
}

static void answer(struct answers *answers, const char *value)
{
    struct pl_link *link = pl_list_pop(&answers->questions);
    REQUIRE(link != NULL);
    struct pl_question *question = PL_CONTAINER_OF(link, struct pl_question, link);
    CHECK(question->ask_indexes);
    pl_question_value(question, "color", pl_slice_z(value));
    pl_question_done(question);
}

static size_t count_of(struct scene *scene, const char *index, const char *value)
{
    struct pl_docs docs = {0};
    CHECK_INT(
        pl_store_by_index(pl_informer_store(scene->informer), index, pl_slice_z(value), 0, &docs),
        0);
    size_t count = docs.count;
    pl_docs_deinit(&docs);
    return count;
}

TEST(the_values_of_a_scripts_index_are_stored_before_anybody_hears_of_the_object)
{
    struct scene scene = {0};
    struct answers answers = {0};
    pl_list_init(&answers.questions);
    begin_unsynced(&scene, NULL);
    CHECK_INT(add_index(&scene, "color", NULL, &answers), 0);
    scene.watch =
        list_and_watch(&scene, "/api/v1/configmaps", BED_MAPS("10", BED_MAP("a", "1", "5", "")));
    check_stored(&scene, "d/a", "5"); /* the store does not wait */
    check_events(&scene, "");
    CHECK(!pl_informer_has_synced(scene.informer));
    answer(&answers, "red");
    bed_run(&scene.bed);
    CHECK(pl_informer_has_synced(scene.informer));
    check_events(&scene, "+a@5");
    CHECK_INT(count_of(&scene, "color", "red"), 1);
    /* Two changes while the answer to the first is outstanding. */
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "11", "")));
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "12", "")));
    answer(&answers, "old");
    answer(&answers, "blue");
    check_events(&scene, "~a@5>12");
    CHECK_INT(count_of(&scene, "color", "red"), 0);
    CHECK_INT(count_of(&scene, "color", "old"), 0);
    CHECK_INT(count_of(&scene, "color", "blue"), 1);
    event(&scene, BED_EVENT("DELETED", BED_MAP("a", "1", "13", "")));
    check_events(&scene, "-a@13");
    CHECK_INT(count_of(&scene, "color", "blue"), 0);
    finish(&scene);
}

static void on_indexed(struct pl_index_wait *wait)
{
    wait->indexed = NULL;
}

TEST(whoever_waits_for_an_index_hears_when_it_has_the_newest_object)
{
    struct scene scene = {0};
    struct answers answers = {0};
    pl_list_init(&answers.questions);
    begin(&scene);
    CHECK_INT(add_index(&scene, "color", NULL, &answers), 0);
    answer_all(&answers, "red");
    struct pl_index_wait wait = {.key = pl_slice_z("d/a"), .indexed = on_indexed};
    CHECK(pl_informer_is_indexed(scene.informer, wait.key));
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "11", "")));
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "12", "")));
    CHECK(!pl_informer_is_indexed(scene.informer, wait.key));
    CHECK(pl_informer_is_indexed(scene.informer, pl_slice_z("d/b")));
    pl_informer_on_indexed(scene.informer, &wait);
    answer(&answers, "old");
    bed_run(&scene.bed);
    CHECK(wait.indexed != NULL);
    answer(&answers, "blue");
    bed_run(&scene.bed);
    CHECK(wait.indexed == NULL && pl_informer_is_indexed(scene.informer, wait.key));
    struct pl_index_wait left = {.key = pl_slice_z("d/a"), .indexed = on_indexed};
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "13", "")));
    pl_informer_on_indexed(scene.informer, &left);
    answer_all(&answers, "green");
    finish(&scene);
    pl_informer_forget_indexed(&left);
}

TEST(an_index_that_comes_late_covers_what_is_there)
{
    struct scene scene = {0};
    struct answers answers = {0};
    pl_list_init(&answers.questions);
    begin(&scene);
    CHECK_INT(add_index(&scene, "color", NULL, &answers), 0);
    CHECK_INT(add_index(&scene, "name", "metadata.name", NULL), 0);
    CHECK_INT(add_index(&scene, "odd", "metadata[", NULL), PL_EINVAL);
    answer_all(&answers, "red");
    check_events(&scene, "");
    CHECK_INT(count_of(&scene, "color", "red"), 2);
    CHECK_INT(count_of(&scene, "name", "b"), 1);
    finish(&scene);
}

static struct pl_declared_index colors(const char *stored, void *self)
{
    return (struct pl_declared_index){
        .name = "color", .stored = stored, .ask = on_ask, .self = self};
}

TEST(an_index_is_built_beside_events_and_says_so_until_it_is_complete)
{
    struct scene scene = {0};
    struct answers answers = {0};
    struct pl_docs docs = {0};
    pl_list_init(&answers.questions);
    begin(&scene);
    CHECK_INT(add_index(&scene, "color", NULL, &answers), 0);
    CHECK(answers.asked >= 2);
    struct pl_store *store = pl_informer_store(scene.informer);
    CHECK_INT(pl_store_by_index(store, "color", pl_slice_z("red"), 0, &docs), PL_EAGAIN);
    event(&scene, BED_EVENT("ADDED", BED_MAP("c", "3", "11", "")));
    check_events(&scene, ""); /* waits for its own answer, */
    struct pl_link *of_c = answers.questions.head.prev;
    pl_link_unlink(of_c);
    pl_list_push_front(&answers.questions, of_c);
    answer(&answers, "red");
    check_events(&scene, "+c@11"); /* not for the rest */
    CHECK_INT(pl_store_by_index(store, "color", pl_slice_z("red"), 0, &docs), PL_EAGAIN);
    answer_all(&answers, "red");
    CHECK_INT(count_of(&scene, "color", "red"), 3);
    finish(&scene);
}

TEST(generations_share_an_index_and_the_younger_one_is_asked)
{
    struct scene scene = {0};
    struct answers old = {0}, young = {0};
    struct pl_err err;
    pl_list_init(&old.questions);
    pl_list_init(&young.questions);
    begin(&scene);
    struct pl_declared_index first = colors("color#1", &old), second = colors("color#1", &young);
    CHECK_INT(pl_informer_add_index(scene.informer, &first, &err), 0);
    answer_all(&old, "red");
    CHECK_INT(pl_informer_add_index(scene.informer, &second, &err), 0);
    CHECK_INT(young.asked, 0); /* it exists already */
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "11", "")));
    CHECK(pl_list_empty(&old.questions));
    answer(&young, "blue");
    CHECK_INT(count_of(&scene, "color#1", "blue"), 1);
    pl_informer_drop_index(scene.informer, &second); /* it was not to be */
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "12", "")));
    CHECK_INT(young.asked, 1);
    answer(&old, "green");
    CHECK_INT(count_of(&scene, "color#1", "green"), 1);
    check_events(&scene, "~a@5>11 ~a@11>12");
    pl_informer_drop_index(scene.informer, &first);
    CHECK(!pl_store_has_index(pl_informer_store(scene.informer), "color#1"));
    finish(&scene);
}

TEST(a_changed_index_is_another_one_beside_the_old)
{
    struct scene scene = {0};
    struct answers old = {0}, young = {0};
    struct pl_err err;
    pl_list_init(&old.questions);
    pl_list_init(&young.questions);
    begin(&scene);
    struct pl_declared_index first = colors("color#1", &old), second = colors("color#2", &young);
    CHECK_INT(pl_informer_add_index(scene.informer, &first, &err), 0);
    answer_all(&old, "red");
    CHECK_INT(pl_informer_add_index(scene.informer, &second, &err), 0);
    CHECK_INT(count_of(&scene, "color#1", "red"), 2);
    answer(&young, "blue");
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "11", "")));
    pl_informer_drop_index(scene.informer, &first); /* its question is under way */
    answer(&old, "red");
    answer_all(&young, "blue");
    check_events(&scene, "~a@5>11");
    CHECK_INT(count_of(&scene, "color#2", "blue"), 2);
    CHECK(!pl_store_has_index(pl_informer_store(scene.informer), "color#1"));
    pl_informer_drop_index(scene.informer, &second);
    finish(&scene);
}

/* An object that changes while the index is built can be found all the time, by the values of one
 * of its states. */
TEST(an_object_that_changes_while_its_index_is_built_is_not_missing_when_it_is_complete)
{
    struct scene scene = {0};
    struct answers answers = {0};
    pl_list_init(&answers.questions);
    begin(&scene);
    CHECK_INT(add_index(&scene, "color", NULL, &answers), 0);
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "11", "")));
    answer(&answers, "red"); /* a and b, as they were */
    answer(&answers, "red");
    CHECK_INT(count_of(&scene, "color", "red"), 2);
    answer(&answers, "blue"); /* a, as it is */
    check_events(&scene, "~a@5>11");
    CHECK_INT(count_of(&scene, "color", "red"), 1);
    CHECK_INT(count_of(&scene, "color", "blue"), 1);
    finish(&scene);
}

TEST(an_answer_about_an_older_state_undoes_no_newer_one)
{
    struct scene scene = {0};
    struct answers answers = {0};
    pl_list_init(&answers.questions);
    begin(&scene);
    CHECK_INT(add_index(&scene, "color", NULL, &answers), 0);
    event(&scene, BED_EVENT("MODIFIED", BED_MAP("a", "1", "11", "")));
    struct pl_link *newest = answers.questions.head.prev;
    pl_link_unlink(newest);
    pl_list_push_front(&answers.questions, newest);
    answer(&answers, "blue");
    answer_all(&answers, "red");
    CHECK_INT(count_of(&scene, "color", "blue"), 1);
    CHECK_INT(count_of(&scene, "color", "red"), 1);
    finish(&scene);
}

TEST(the_values_of_an_object_are_not_those_of_its_namesake)
{
    struct scene scene = {0};
    struct answers answers = {0};
    pl_list_init(&answers.questions);
    begin(&scene);
    CHECK_INT(add_index(&scene, "color", NULL, &answers), 0);
    event(&scene, BED_EVENT("DELETED", BED_MAP("a", "1", "11", "")));
    event(&scene, BED_EVENT("ADDED", BED_MAP("a", "9", "12", "")));
    answer(&answers, "red");
    answer(&answers, "red");
    CHECK_INT(count_of(&scene, "color", "red"), 1); /* b */
    answer_all(&answers, "blue");
    CHECK_INT(count_of(&scene, "color", "blue"), 1);
    finish(&scene);
}

TEST_MAIN()

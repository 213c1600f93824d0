#include "event/predicate.h"

#include "objects.h"
#include "object/selector.h"

#define DROP PL_VERDICT_DROP
#define PASS PL_VERDICT_PASS
#define ASK  PL_VERDICT_ASK

static enum pl_verdict update(const struct pl_predicate *predicate, const char *old,
                              const char *object)
{
    struct pl_event event = {
        .type = PL_EVENT_UPDATE, .old = object_of(old), .object = object_of(object)};
    enum pl_verdict verdict = pl_predicate_test(predicate, &event, NULL, NULL);
    drop_event(&event);
    return verdict;
}

static enum pl_verdict update_meta(const struct pl_predicate *predicate, const char *old,
                                   const char *object)
{
    struct pl_event event = {
        .type = PL_EVENT_UPDATE, .old = with_meta(old), .object = with_meta(object)};
    enum pl_verdict verdict = pl_predicate_test(predicate, &event, NULL, NULL);
    drop_event(&event);
    return verdict;
}

static enum pl_verdict other(const struct pl_predicate *predicate, enum pl_event_type type,
                             const char *object)
{
    struct pl_event event = {.type = type, .object = object_of(object)};
    enum pl_verdict verdict = pl_predicate_test(predicate, &event, NULL, NULL);
    drop_event(&event);
    return verdict;
}

TEST(no_predicate_passes)
{
    CHECK_INT(update_meta(NULL, "{}", "{}"), PASS);
    pl_predicate_destroy(NULL);
}

/* rules 139, 140 */
TEST(change_predicates_compare_their_part_of_an_update)
{
    static const struct {
        struct pl_predicate *(*make)(void);
        const char *old, *object;
        enum pl_verdict want;
    } rows[] = {
        {pl_predicate_generation_changed, "{\"generation\":1}", "{\"generation\":2}", PASS},
        {pl_predicate_generation_changed, "{\"generation\":1}",
         "{\"generation\":1,\"labels\":{\"a\":\"b\"}}", DROP},
        {pl_predicate_generation_changed, "{}", "{\"generation\":0}", DROP},
        {pl_predicate_resource_version_changed, "{\"resourceVersion\":\"10\"}",
         "{\"resourceVersion\":\"010\"}", PASS},
        {pl_predicate_resource_version_changed, "{\"resourceVersion\":\"10\"}",
         "{\"resourceVersion\":\"10\",\"generation\":4}", DROP},
        {pl_predicate_resource_version_changed, "{}", "{}", DROP},
        {pl_predicate_label_changed, "{\"labels\":{\"a\":\"1\",\"b\":\"2\"}}",
         "{\"labels\":{\"b\":\"2\",\"a\":\"1\"}}", DROP},
        {pl_predicate_label_changed, "{\"labels\":{\"a\":\"\"}}", "{}", PASS},
        {pl_predicate_label_changed, "{\"labels\":{}}", "{\"labels\":null}", DROP},
        {pl_predicate_annotation_changed, "{\"annotations\":{\"a\":\"1\"}}",
         "{\"annotations\":{\"a\":\"2\"}}", PASS},
        {pl_predicate_annotation_changed, "{\"labels\":{\"a\":\"1\"}}", "{}", DROP},
        {pl_predicate_finalizers_changed, "{\"finalizers\":[\"x\"]}",
         "{\"finalizers\":[\"x\",\"y\"]}", PASS},
        {pl_predicate_finalizers_changed, "{\"finalizers\":[]}", "{}", DROP},
        {pl_predicate_generation_changed, NULL, "{\"generation\":2}", DROP},
        {pl_predicate_label_changed, "{}", NULL, DROP},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(rows); i++) {
        struct pl_predicate *predicate = rows[i].make();
        if (update_meta(predicate, rows[i].old, rows[i].object) != rows[i].want)
            TEST_FAIL("row %zu", i);
        CHECK_INT(other(predicate, PL_EVENT_CREATE, NULL), PASS);
        CHECK_INT(other(predicate, PL_EVENT_DELETE, NULL), PASS);
        CHECK_INT(other(predicate, PL_EVENT_GENERIC, NULL), PASS);
        pl_predicate_destroy(predicate);
    }
}

TEST(fields_changed_looks_at_its_paths_alone)
{
    struct pl_err err;
    const char *paths[] = {"spec", "metadata.labels.tier"};
    struct pl_predicate *predicate = pl_predicate_fields_changed(paths, 2, &err);
    REQUIRE(predicate != NULL);
    CHECK_INT(update(predicate, "{\"spec\":{\"a\":1}}", "{\"spec\":{\"a\":1.0},\"status\":{}}"),
              DROP);
    CHECK_INT(update(predicate, "{\"spec\":{\"a\":1}}", "{\"spec\":{\"a\":2}}"), PASS);
    CHECK_INT(update(predicate, "{}", "{\"metadata\":{\"labels\":{\"tier\":\"x\"}}}"), PASS);
    CHECK_INT(update(predicate, "{}", "{\"metadata\":{\"labels\":{\"app\":\"x\"}}}"), DROP);
    pl_predicate_destroy(predicate);
    const char *bad[] = {"spec", "a["};
    CHECK(pl_predicate_fields_changed(bad, 2, &err) == NULL);
    CHECK(strstr(err.message, "a[") != NULL);
    CHECK(pl_predicate_fields_changed(bad, 0, &err) == NULL);
}

TEST(a_label_selector_looks_at_the_new_object_of_every_event)
{
    struct pl_predicate *predicate =
        pl_predicate_label_selector(pl_selector_parse(pl_slice_z("app=web"), NULL));
    const char *web = "{\"metadata\":{\"labels\":{\"app\":\"web\"}}}";
    CHECK_INT(other(predicate, PL_EVENT_CREATE, web), PASS);
    CHECK_INT(other(predicate, PL_EVENT_DELETE, "{}"), DROP);
    CHECK_INT(other(predicate, PL_EVENT_GENERIC, NULL), DROP);
    CHECK_INT(update(predicate, "{}", web), PASS);
    CHECK_INT(update(predicate, web, "{}"), DROP);
    pl_predicate_destroy(predicate);
}

/* ---- compositions, in three values ---- */

typedef struct pl_predicate *(*compose_fn)(struct pl_predicate *const *, size_t, struct pl_err *);

static struct pl_predicate *leaf_of(char letter)
{
    return letter == '?' ? pl_predicate_external(0) : pl_predicate_constant(letter == '1');
}

/* parts: 1 passes, 0 drops, ? asks. */
static enum pl_verdict composed(compose_fn compose, const char *parts)
{
    struct pl_predicate *made[8] = {NULL};
    size_t count = strlen(parts);
    for (size_t i = 0; i < count; i++)
        made[i] = leaf_of(parts[i]);
    struct pl_predicate *predicate = compose(made, count, NULL);
    enum pl_verdict verdict = other(predicate, PL_EVENT_CREATE, NULL);
    pl_predicate_destroy(predicate);
    return verdict;
}

TEST(compositions_ask_only_while_the_answer_is_open)
{
    static const struct {
        const char *parts;
        enum pl_verdict all, any, none;
    } rows[] = {
        {"", PASS, DROP, PASS},    {"1", PASS, PASS, DROP},   {"0", DROP, DROP, PASS},
        {"10", DROP, PASS, DROP},  {"?", ASK, ASK, ASK},      {"?1", ASK, PASS, DROP},
        {"?0", DROP, ASK, ASK},    {"1?", ASK, PASS, DROP},   {"0?", DROP, ASK, ASK},
        {"?01", DROP, PASS, DROP}, {"111", PASS, PASS, DROP}, {"000", DROP, DROP, PASS},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(rows); i++) {
        CHECK_INT(composed(pl_predicate_all, rows[i].parts), rows[i].all);
        CHECK_INT(composed(pl_predicate_any, rows[i].parts), rows[i].any);
        CHECK_INT(composed(pl_predicate_none, rows[i].parts), rows[i].none);
    }
}

/* rule 139 */
TEST(funcs_has_a_part_for_each_type_and_passes_where_it_has_none)
{
    struct pl_predicate *parts[PL_EVENT_TYPES] = {[PL_EVENT_CREATE] = pl_predicate_constant(false),
                                                  [PL_EVENT_DELETE] = pl_predicate_external(3)};
    struct pl_predicate *predicate = pl_predicate_funcs(parts, NULL);
    CHECK_INT(other(predicate, PL_EVENT_CREATE, NULL), DROP);
    CHECK_INT(other(predicate, PL_EVENT_DELETE, NULL), ASK);
    CHECK_INT(other(predicate, PL_EVENT_GENERIC, NULL), PASS);
    CHECK_INT(update(predicate, NULL, NULL), PASS);
    pl_predicate_destroy(predicate);
}

static char asked[16];

static enum pl_verdict answer(void *arg, int leaf, const struct pl_event *event)
{
    const char *answers = arg;
    CHECK_INT(event->type, PL_EVENT_CREATE);
    asked[strlen(asked)] = (char)('0' + leaf);
    return answers[leaf] == '1' ? PL_VERDICT_PASS : PL_VERDICT_DROP;
}

TEST(leaves_are_asked_in_order_and_no_more_than_needed)
{
    struct pl_predicate *parts[3] = {pl_predicate_external(0), pl_predicate_external(1),
                                     pl_predicate_external(2)};
    struct pl_predicate *predicate = pl_predicate_any(parts, 3, NULL);
    struct pl_event event = {.type = PL_EVENT_CREATE};
    char answers[] = "010";
    memset(asked, 0, sizeof(asked));
    CHECK_INT(pl_predicate_test(predicate, &event, answer, answers), PASS);
    CHECK_STR(asked, "01");
    memset(asked, 0, sizeof(asked));
    strcpy(answers, "000");
    CHECK_INT(pl_predicate_test(predicate, &event, answer, answers), DROP);
    CHECK_STR(asked, "012");
    pl_predicate_destroy(predicate);
}

TEST(a_tree_that_is_too_deep_is_refused_with_its_parts)
{
    struct pl_predicate *predicate = pl_predicate_constant(true);
    struct pl_err err;
    for (int depth = 1; depth < PL_PREDICATE_DEPTH; depth++)
        predicate = pl_predicate_all(&predicate, 1, &err);
    REQUIRE(predicate != NULL);
    CHECK_INT(other(predicate, PL_EVENT_CREATE, NULL), PASS);
    CHECK(pl_predicate_all(&predicate, 1, &err) == NULL);
    CHECK_INT(err.code, PL_ELIMIT);
}

TEST_MAIN()

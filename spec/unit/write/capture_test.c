#include "unit/control/bed_controller.h"

#include "write/capture.h"
#include "value/write.h"

#define WEB(more) "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Website\",\"metadata\":{" more "}"
#define STORED                                                                                     \
    WEB("\"name\":\"a\",\"namespace\":\"d\",\"uid\":\"1\",\"resourceVersion\":\"5\","              \
        "\"creationTimestamp\":\"2026-01-01T00:00:00Z\"")                                          \
    ",\"spec\":{\"n\":1,\"hosts\":[\"x\"]},\"status\":{\"ready\":true}}"

struct made {
    int code;
    struct pl_err err;
    char *text; /* owned: the object after, sorted; "gone" */
};

static struct made make_with(enum pl_verb verb, enum pl_patch_type type, bool status,
                             const char *body, const char *existing)
{
    struct made made = {0};
    struct pl_doc *b = body != NULL ? bed_doc(body) : NULL;
    struct pl_doc *e = existing != NULL ? bed_doc(existing) : NULL;
    struct pl_doc *after = NULL;
    struct pl_kind kind = kind_of("example.com/v1/Website");
    struct pl_intent intent = {.verb = verb,
                               .patch_type = type,
                               .kind = &kind,
                               .is_status = status,
                               .has_status = true,
                               .body = pl_doc_root(b),
                               .existing = pl_doc_root(e),
                               .made_up = PL_MADE_UP "1",
                               .now = "2026-02-02T00:00:00Z"};
    pl_err_clear(&made.err);
    made.code = pl_intent_merge(&intent, &after, &made.err);
    struct pl_buf text = PL_BUF_INIT;
    if (after != NULL)
        pl_write(&text, pl_doc_root(after), PL_WRITE_SORTED);
    else
        pl_buf_add_z(&text, "gone");
    made.text = pl_buf_take(&text);
    pl_doc_unref(after);
    pl_doc_unref(b);
    pl_doc_unref(e);
    return made;
}

static void check_made(enum pl_verb verb, enum pl_patch_type type, bool status, const char *body,
                       const char *existing, const char *want)
{
    struct made made = make_with(verb, type, status, body, existing);
    CHECK_INT(made.code, 0);
    CHECK(strstr(made.text, want) != NULL);
    if (strstr(made.text, want) == NULL)
        TEST_FAIL("%s is not in %s", want, made.text);
    pl_free(made.text);
}

static void check_refused(enum pl_verb verb, enum pl_patch_type type, const char *body,
                          const char *existing, int status, const char *reason)
{
    struct made made = make_with(verb, type, false, body, existing);
    CHECK_INT(made.code, PL_EAPI);
    CHECK_INT(made.err.status, status);
    CHECK_STR(made.err.reason, reason);
    pl_free(made.text);
}

/* ---- the result of a write ---- */

TEST(a_created_object_gets_a_made_up_identity_and_no_status)
{
    static const char *const body =
        WEB("\"name\":\"n\"") ",\"spec\":{\"n\":2},\"status\":{\"ready\":true}}";
    check_made(PL_VERB_CREATE, PL_PATCH_MERGE, false, body, NULL,
               "\"metadata\":{\"creationTimestamp\":\"2026-02-02T00:00:00Z\",\"name\":\"n\","
               "\"resourceVersion\":\"shadow-1\",\"uid\":\"shadow-1\"},\"spec\":{\"n\":2}}");
    check_made(PL_VERB_CREATE, PL_PATCH_MERGE, false, WEB("\"generateName\":\"n-\"") "}", NULL,
               "\"name\":\"n-shadow-1\"");
    check_refused(PL_VERB_CREATE, PL_PATCH_MERGE, body, STORED, 409, "AlreadyExists");
}

TEST(an_update_changes_all_but_the_status_and_a_status_update_only_that)
{
    static const char *const body =
        WEB("\"name\":\"a\",\"labels\":{\"l\":\"1\"}") ",\"spec\":{\"n\":3},\"status\":{\"ready\":"
                                                       "false}}";
    check_made(PL_VERB_UPDATE, PL_PATCH_MERGE, false, body, STORED,
               "\"labels\":{\"l\":\"1\"},\"name\":\"a\",\"uid\":\"1\"},\"spec\":{\"n\":3},"
               "\"status\":{\"ready\":true}}");
    check_made(PL_VERB_UPDATE, PL_PATCH_MERGE, true, body, STORED,
               "\"spec\":{\"hosts\":[\"x\"],\"n\":1},\"status\":{\"ready\":false}}");
    check_refused(PL_VERB_UPDATE, PL_PATCH_MERGE, body, NULL, 404, "NotFound");
}

TEST(patches_are_merged_onto_what_is_there)
{
    check_made(PL_VERB_PATCH, PL_PATCH_MERGE, false, "{\"spec\":{\"n\":null,\"m\":2}}", STORED,
               "\"spec\":{\"hosts\":[\"x\"],\"m\":2}");
    check_made(PL_VERB_PATCH, PL_PATCH_JSON, false,
               "[{\"op\":\"add\",\"path\":\"/spec/hosts/-\",\"value\":\"y\"}]", STORED,
               "\"hosts\":[\"x\",\"y\"]");
    check_made(PL_VERB_PATCH, PL_PATCH_APPLY, false, WEB("\"name\":\"a\"") ",\"spec\":{\"m\":7}}",
               STORED, "\"spec\":{\"hosts\":[\"x\"],\"m\":7,\"n\":1}");
    check_made(PL_VERB_PATCH, PL_PATCH_APPLY, false, WEB("\"name\":\"a\"") ",\"spec\":{\"m\":7}}",
               NULL, "\"uid\":\"shadow-1\"},\"spec\":{\"m\":7}}");
    check_refused(PL_VERB_PATCH, PL_PATCH_MERGE, "{\"spec\":{}}", NULL, 404, "NotFound");
    check_refused(PL_VERB_PATCH, PL_PATCH_JSON,
                  "[{\"op\":\"test\",\"path\":\"/spec/n\",\"value\":9}]", STORED, 422, "Invalid");
}

TEST(a_deleted_object_goes_or_waits_for_its_finalizers)
{
    static const char *const held =
        WEB("\"name\":\"a\",\"finalizers\":[\"x/y\"],\"deletionTimestamp\":\"t\"") "}";
    check_made(PL_VERB_DELETE, PL_PATCH_MERGE, false, NULL, STORED, "gone");
    check_made(PL_VERB_DELETE, PL_PATCH_MERGE, false, NULL, NULL, "gone");
    check_made(PL_VERB_DELETE, PL_PATCH_MERGE, false, NULL,
               WEB("\"name\":\"a\",\"finalizers\":[\"x/y\"]") "}",
               "\"deletionTimestamp\":\"2026-02-02T00:00:00Z\"");
    check_made(PL_VERB_PATCH, PL_PATCH_MERGE, false, "{\"metadata\":{\"finalizers\":null}}", held,
               "gone");
}

TEST(what_the_server_owns_is_not_compared)
{
    struct pl_doc *object = bed_doc(
        "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"uid\":\"1\",\"resourceVersion\":\"5\","
        "\"generation\":2,\"creationTimestamp\":\"t\",\"managedFields\":[],\"deletionTimestamp\":"
        "\"t\",\"ownerReferences\":[{\"kind\":\"X\",\"name\":\"x\",\"uid\":\"9\"}]},\"spec\":{}}");
    struct pl_doc *bare = pl_intent_bare(pl_doc_root(object));
    struct pl_buf text = PL_BUF_INIT;
    pl_write(&text, pl_doc_root(bare), PL_WRITE_SORTED);
    CHECK_SLICE(pl_buf_slice(&text),
                "{\"metadata\":{\"deletionTimestamp\":\"set\",\"name\":\"p\",\"ownerReferences\":"
                "[{\"kind\":\"X\",\"name\":\"x\"}]},\"spec\":{}}");
    pl_buf_deinit(&text);
    pl_doc_unref(bare);
    pl_doc_unref(object);
}

/* ---- effects ---- */

static void add(struct pl_capture *capture, const char *verb, const char *before, const char *after)
{
    struct pl_effect effect = {.name = (char *)"v1/ConfigMap d/a",
                               .verb = verb,
                               .is_write = true,
                               .before = before != NULL ? bed_doc(before) : NULL,
                               .after = after != NULL ? bed_doc(after) : NULL};
    pl_capture_add(capture, &effect);
}

TEST(two_writes_of_one_object_are_one_effect_from_the_first_to_the_last)
{
    struct pl_capture *capture = pl_capture_create();
    add(capture, "create", NULL, "{\"a\":1}");
    add(capture, "patch", "{\"a\":1}", "{\"a\":2}");
    CHECK_INT(pl_capture_count(capture), 1);
    const struct pl_effect *effect = pl_capture_find(capture, "v1/ConfigMap d/a");
    CHECK_STR(effect->verb, "create");
    CHECK(effect->before == NULL);
    int64_t a = 0;
    CHECK(pl_node_int(pl_node_getz(pl_doc_root(effect->after), "a"), &a));
    CHECK_INT(a, 2);
    add(capture, "delete", "{\"a\":2}", NULL);
    CHECK_STR(effect->verb, "delete");
    CHECK(effect->after == NULL);
    pl_capture_unref(capture);
}

TEST(a_run_keeps_a_limited_number_of_effects_and_counts_the_rest)
{
    struct pl_capture *capture = pl_capture_create();
    for (int i = 0; i < PL_CAPTURE_EFFECTS + 5; i++) {
        char name[40];
        snprintf(name, sizeof name, "event \xff %d", i);
        pl_capture_note(capture, "event", name, pl_slice_z("x"));
    }
    CHECK_INT(pl_capture_count(capture), PL_CAPTURE_EFFECTS);
    CHECK_INT(pl_capture_dropped(capture), 5);
    CHECK_STR(pl_capture_at(capture, 0)->name,
              "event ? 0"); /* the bytes of a script may be no valid text */
    pl_capture_unref(capture);
}

/* ---- the view ---- */

#define POD_OF(name, n) "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"d\"},\"n\":" n "}"

static struct pl_docs list_of(const char *a, const char *b)
{
    struct pl_docs docs = {0};
    pl_docs_add(&docs, bed_doc(a));
    pl_docs_add(&docs, bed_doc(b));
    return docs;
}

TEST(lists_are_amended_by_what_the_run_sees)
{
    struct pl_capture *capture = pl_capture_create();
    struct pl_kind pod = kind_of("v1/Pod"), map = kind_of("v1/ConfigMap");
    struct pl_doc *changed = bed_doc(POD_OF("b", "2")), *made = bed_doc(POD_OF("c", "3"));
    pl_capture_show(capture, &pod, pl_slice_z("d/a"), NULL, false);
    pl_capture_show(capture, &pod, pl_slice_z("d/b"), changed, false);
    pl_capture_show(capture, &pod, pl_slice_z("d/c"), made, false);
    struct pl_docs docs = list_of(POD_OF("a", "1"), POD_OF("b", "1"));
    pl_capture_amend(capture, &pod, false, &docs);
    CHECK_INT(docs.count, 2);
    CHECK((docs.items[0] == changed) + (docs.items[1] == changed) == 1);
    CHECK((docs.items[0] == made) + (docs.items[1] == made) == 1);
    pl_docs_deinit(&docs);
    docs = list_of(POD_OF("a", "1"), POD_OF("b", "1"));
    pl_capture_amend(capture, &pod, true, &docs); /* whether c is in the index is not known */
    CHECK_INT(docs.count, 1);
    CHECK(docs.items[0] == changed);
    pl_docs_deinit(&docs);
    docs = list_of(POD_OF("a", "1"), POD_OF("b", "1"));
    pl_capture_amend(capture, &map, false, &docs);
    CHECK_INT(docs.count, 2);
    pl_docs_deinit(&docs);
    pl_doc_unref(changed);
    pl_doc_unref(made);
    pl_capture_unref(capture);
}

TEST(what_is_known_first_stays_and_later_views_add_to_it)
{
    struct pl_capture *capture = pl_capture_create(), *later = pl_capture_create();
    struct pl_kind pod = kind_of("v1/Pod");
    struct pl_doc *old = bed_doc(POD_OF("a", "1")), *now = bed_doc(POD_OF("a", "2")), *seen;
    CHECK(!pl_capture_sees(capture, &pod, pl_slice_z("d/a"), &seen));
    pl_capture_show(capture, &pod, pl_slice_z("d/a"), old, true);
    pl_capture_show(capture, &pod, pl_slice_z("d/a"), now, true);
    pl_capture_show(later, &pod, pl_slice_z("d/a"), now, true);
    pl_capture_show(later, &pod, pl_slice_z("d/b"), NULL, true);
    pl_capture_show_more(capture, later);
    CHECK(pl_capture_sees(capture, &pod, pl_slice_z("d/a"), &seen));
    CHECK(seen == old);
    pl_doc_unref(seen);
    CHECK(pl_capture_sees(capture, &pod, pl_slice_z("d/b"), &seen));
    CHECK(seen == NULL);
    pl_capture_show(capture, &pod, pl_slice_z("d/a"), now, false);
    CHECK(pl_capture_sees(capture, &pod, pl_slice_z("d/a"), &seen));
    CHECK(seen == now);
    pl_doc_unref(seen);
    pl_doc_unref(old);
    pl_doc_unref(now);
    pl_capture_unref(capture);
    pl_capture_unref(later);
}

TEST_MAIN()

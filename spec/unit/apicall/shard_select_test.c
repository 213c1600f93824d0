#include "apicall/shard_select.h"

#include "shard/place.h"
#include "support/api_fixture.h"

#include <inttypes.h>

/* Answers were checked against kube-apiserver 1.37 with the feature gate ShardedListAndWatch. */

#define LOW  "shardRange(object.metadata.uid,%20'0x0000000000000000',%20'0x8000000000000000')"
#define HIGH "shardRange(object.metadata.uid,%20'0x8000000000000000',%20'0x10000000000000000')"

enum { OBJECTS = 40 };

static void make_many(struct api *t)
{
    char body[64];
    for (int i = 0; i < OBJECTS; i++) {
        snprintf(body, sizeof body, "{'metadata':{'name':'n%02d'}}", i);
        CHECK_INT(api_post(t, DEFAULT_CMS, body), 201);
    }
}

static bool is_low(struct pl_node object)
{
    struct pl_scratch scratch;
    struct pl_slice uid = pl_node_str(pl_node_dig(object, "metadata", "uid"), &scratch);
    return pl_fnv1a64(uid) >> 63 == 0;
}

/* The number of items; all of them lie in that half. */
static size_t count_half(struct api *t, const char *path, bool low)
{
    CHECK_INT(api_get(t, path), 200);
    struct pl_iter it = pl_iter(api_node(t, "items"));
    size_t count = 0;
    for (; pl_iter_next(&it); count++)
        CHECK(is_low(it.value) == low);
    return count;
}

TEST(each_object_lies_in_one_range)
{
    struct api t;
    api_open(&t);
    make_many(&t);
    size_t low = count_half(&t, DEFAULT_CMS "?shardSelector=" LOW, true);
    size_t high = count_half(&t, DEFAULT_CMS "?shardSelector=" HIGH, false);
    CHECK_INT(low + high, OBJECTS);
    CHECK(low > 0 && high > 0);
    CHECK_INT(api_get(&t, DEFAULT_CMS "?shardSelector=" HIGH "%20||%20" LOW), 200);
    CHECK_INT(pl_node_len(api_node(&t, "items")), OBJECTS);
    struct pl_scratch scratch;
    CHECK_SLICE(pl_node_str(api_node(&t, "metadata.shardInfo.selector"), &scratch),
                "shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000') || "
                "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')");
    api_close(&t);
}

TEST(pages_hold_as_many_as_were_asked_for)
{
    struct api t;
    api_open(&t);
    make_many(&t);
    size_t all = count_half(&t, DEFAULT_CMS "?shardSelector=" LOW, true), seen = 0;
    char path[512] = DEFAULT_CMS "?limit=3&shardSelector=" LOW;
    for (;;) {
        struct pl_scratch scratch;
        size_t page = count_half(&t, path, true);
        seen += page;
        CHECK(!pl_node_is_missing(api_node(&t, "metadata.shardInfo.selector")));
        CHECK_ABSENT(&t, "metadata.remainingItemCount");
        struct pl_slice next = pl_node_str(api_node(&t, "metadata.continue"), &scratch);
        if (next.len == 0)
            break;
        CHECK_INT(page, 3);
        snprintf(path, sizeof path, "%s%.*s",
                 DEFAULT_CMS "?limit=3&shardSelector=" LOW "&continue=", PL_FMT(next));
    }
    CHECK_INT(seen, all);
    api_close(&t);
}

TEST(a_watch_is_sent_nothing_of_another_range)
{
    struct api t;
    struct api_watch watch, state;
    api_open(&t);
    api_watch_open(&t, &watch, DEFAULT_CMS "?watch=1&resourceVersion=5&shardSelector=" LOW);
    make_many(&t);
    size_t low = count_half(&t, DEFAULT_CMS "?shardSelector=" LOW, true);
    api_watch_open(&t, &state, DEFAULT_CMS "?watch=1&shardSelector=" LOW);
    for (int i = 0; i < OBJECTS; i++) {
        char path[128];
        snprintf(path, sizeof path, DEFAULT_CMS "/n%02d", i);
        api_merge(&t, path, "{'data':{'k':'v'}}");
        api_delete(&t, path, NULL);
    }
    size_t events[2] = {0, 0};
    struct api_watch *watches[] = {&watch, &state};
    for (size_t i = 0; i < 2; i++)
        for (const char *at = pl_buf_z(&watches[i]->text); (at = strchr(at, '\n')) != NULL; at++)
            events[i]++;
    CHECK_INT(events[0], 3 * low);
    CHECK_INT(events[1], 3 * low);
    api_watch_close(&watch);
    api_watch_close(&state);
    api_close(&t);
}

TEST(lists_of_custom_resources_and_metadata_do_not_say_that_they_are_filtered)
{
    struct api t;
    api_open(&t);
    api_make_widgets(&t);
    for (int i = 0; i < 12; i++) {
        char body[128];
        snprintf(body, sizeof body, "{" WIDGET ",'metadata':{'name':'w%d'},'spec':{'size':1}}", i);
        CHECK_INT(api_post(&t, WIDGETS, body), 201);
    }
    size_t low = count_half(&t, WIDGETS "?shardSelector=" LOW, true);
    CHECK(strstr(t.text, "shardInfo") == NULL);
    CHECK_INT(low + count_half(&t, WIDGETS "?shardSelector=" HIGH, false), 12);
    t.accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    CHECK_INT(api_get(&t, "/api/v1/namespaces?shardSelector=" LOW), 200);
    CHECK(strstr(t.text, "shardInfo") == NULL);
    api_close(&t);
}

TEST(without_the_gate_it_is_passed_over)
{
    struct api t;
    api_open_with(&t, (struct pl_api_options){.no_shard_selector = true});
    make_many(&t);
    CHECK_INT(api_get(&t, DEFAULT_CMS "?shardSelector=" LOW), 200);
    CHECK_INT(pl_node_len(api_node(&t, "items")), OBJECTS);
    CHECK(strstr(t.text, "shardInfo") == NULL);
    CHECK_INT(api_get(&t, DEFAULT_CMS "?shardSelector=nonsense"), 200);
    api_close(&t);
}

TEST(what_is_no_selector_is_a_failure_of_the_server)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"nonsense", "unexpected expression kind 3; expected shardRange() call or || operator"},
        {"%20", "empty shard selector is not allowed; omit the parameter for unfiltered lists"},
        {"f()", "unsupported function \"f\"; only shardRange() and || are allowed"},
        {"shardRange(object.metadata.name,'0','1')",
         "unsupported field path \"object.metadata.name\"; supported: object.metadata.uid, "
         "object.metadata.namespace"},
        {"shardRange(object.metadata.uid,'0x0','1')",
         "hexStart must be a 0x-prefixed 16-digit hex value, got \"0x0\" (did you mean "
         "\"0x0000000000000000\"?)"},
        {"shardRange(object.metadata.uid,'0x8000000000000000','0x8000000000000000')",
         "shard range start 0x8000000000000000 must be less than end 0x8000000000000000"},
        {"shardRange(object.metadata.uid,'0x0000000000000000',7)",
         "hexEnd must be a string literal, got int64"},
        {"a%20b", "CEL parse error: Syntax error: extraneous input 'b' expecting <EOF>"},
        {"((((((((((",
         "CEL parse error: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', "
         "'-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, "
         "IDENTIFIER}"},
    };
    struct api t;
    api_open(&t);
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        char path[256], message[512];
        snprintf(message, sizeof message, "invalid shard selector: %s", cases[i].message);
        snprintf(path, sizeof path, DEFAULT_CMS "?shardSelector=%s", cases[i].text);
        CHECK_INT(api_get(&t, path), 500);
        CHECK_MESSAGE(&t, message);
        snprintf(path, sizeof path, DEFAULT_CMS "?watch=1&shardSelector=%s", cases[i].text);
        CHECK_INT(api_get(&t, path), 500);
    }
    api_close(&t);
}

TEST(bounds_are_kept_to_the_last_digit)
{
    static const char uid[] = "6d3b2f7c-0000-4000-8000-000000000001";
    uint64_t hash = pl_fnv1a64(pl_slice_z(uid));
    struct pl_doc *doc = pl_scan_text(
        pl_slice_z("{\"metadata\":{\"uid\":\"6d3b2f7c-0000-4000-8000-000000000001\"}}"), NULL,
        NULL);
    for (int off = -1; off <= 1; off++) {
        char text[128];
        struct pl_buf why = PL_BUF_INIT;
        struct pl_api_shards shards;
        snprintf(text, sizeof text,
                 "shardRange(object.metadata.uid, '0x%016" PRIx64 "', '0x%016" PRIx64 "')",
                 hash + (uint64_t)off, hash + (uint64_t)off + 1);
        CHECK_INT(pl_api_shards_parse(&shards, pl_slice_z(text), &why), 0);
        CHECK_STR(shards.text, text);
        CHECK(pl_api_shards_match(&shards, pl_doc_root(doc)) == (off == 0));
        pl_api_shards_deinit(&shards);
        pl_buf_deinit(&why);
    }
    pl_doc_unref(doc);
}

TEST_MAIN()

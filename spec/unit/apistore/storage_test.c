#include "apistore/storage.h"

#include "apistore/registry.h"
#include "base/alloc.h"
#include "object/meta.h"
#include "value/pool.h"

#include "support/json.h"

struct storage_test {
    struct pl_pool *pool;
    struct pl_api_registry *registry;
    struct pl_api_storage *storage;
    struct pl_api_type *type;
    struct pl_buf log; /* "+a *a -a": what happened */
};

static void on_event(void *arg, const struct pl_api_event *event)
{
    struct storage_test *t = arg;
    struct pl_scratch scratch;
    pl_buf_add_f(&t->log, "%c%.*s ", "+*-"[event->change],
                 PL_FMT(pl_meta_name(pl_doc_root(event->doc), &scratch)));
}

static const struct pl_api_storage_ops ops = {on_event};

static void open_test(struct storage_test *t, size_t history)
{
    *t = (struct storage_test){.pool = pl_pool_create(), .registry = pl_api_registry_create()};
    struct pl_api_storage_options options = {
        .history = history, .history_bytes = SIZE_MAX, .first = 1};
    t->storage = pl_api_storage_create(t->pool, &options, &ops, t);
    t->type = pl_api_registry_find_group(t->registry, pl_slice_z(""), pl_slice_z("configmaps"));
}

static void close_test(struct storage_test *t)
{
    pl_api_storage_destroy(t->storage);
    pl_api_registry_destroy(t->registry);
    pl_pool_destroy(t->pool);
    pl_buf_deinit(&t->log);
}

static struct pl_api_entry *put(struct storage_test *t, const char *name, int value)
{
    struct pl_arena arena = {0};
    char text[200];
    snprintf(text, sizeof(text), "{'metadata':{'namespace':'n','name':'%s','uid':'u-%s'},'v':%d}",
             name, name, value);
    struct pl_doc *doc = json(text);
    char key[64];
    snprintf(key, sizeof(key), "n/%s", name);
    struct pl_api_entry *entry = pl_api_storage_put(t->storage, &arena, t->type, pl_slice_z(key),
                                                    pl_tree_from_node(&arena, pl_doc_root(doc)));
    pl_doc_unref(doc);
    pl_arena_deinit(&arena);
    return entry;
}

/* "a=1 b=2" of the objects at that version. */
static void check_view(struct storage_test *t, uint64_t rv, const char *want)
{
    struct pl_api_view view;
    struct pl_buf got = PL_BUF_INIT;
    pl_api_storage_view(t->storage, t->type, rv, &view);
    for (size_t i = 0; i < view.count; i++) {
        int64_t value = -1;
        pl_node_int(pl_node_getz(pl_doc_root(view.docs[i]), "v"), &value);
        pl_buf_add_f(&got, "%s%s=%" PRId64, i > 0 ? " " : "", view.keys[i] + 2, value);
    }
    CHECK_STR(pl_buf_z(&got), want);
    pl_buf_deinit(&got);
    pl_api_view_deinit(&view);
}

/* Also beside namespaces whose names begin like it. */
TEST(the_objects_of_a_namespace_lie_together)
{
    static const char *const keys[] = {"a/z", "a-b/x", "a/b", "ab/x", "a.b/x", "a0/x", "a/", "b/a"};
    struct storage_test t;
    struct pl_arena arena = {0};
    open_test(&t, 100);
    for (size_t i = 0; i < PL_ARRAY_LEN(keys); i++)
        pl_api_storage_put(t.storage, &arena, t.type, pl_slice_z(keys[i]),
                           pl_tree_literal(&arena, "{\"metadata\":{\"uid\":\"u\"}}"));
    struct pl_api_span span = pl_api_table_span(t.type->table, pl_slice_z("a"));
    CHECK_INT(span.end - span.first, 3);
    CHECK_STR(t.type->table->entries[span.first]->key, "a/");
    CHECK_STR(t.type->table->entries[span.end - 1]->key, "a/z");
    span = pl_api_table_span(t.type->table, pl_slice_z("c"));
    CHECK_INT(span.end, span.first);
    pl_arena_deinit(&arena);
    close_test(&t);
}

TEST(writes_get_rising_versions_and_events)
{
    struct storage_test t;
    open_test(&t, 100);
    CHECK_INT(put(&t, "b", 1)->rv, 2);
    CHECK_INT(put(&t, "a", 1)->rv, 3);
    CHECK_INT(put(&t, "b", 2)->rv, 4);
    pl_api_storage_remove(t.storage, pl_api_storage_by_uid(t.storage, pl_slice_z("u-b")));
    CHECK_STR(pl_buf_z(&t.log), "+b +a *b -b ");
    CHECK_INT(pl_api_storage_rv(t.storage), 5);
    CHECK_INT(t.type->table->count, 1);
    CHECK(pl_api_table_find(t.type->table, pl_slice_z("n/b")) == NULL);
    close_test(&t);
}

TEST(the_past_can_be_seen_again)
{
    struct storage_test t;
    open_test(&t, 100);
    put(&t, "b", 1);
    put(&t, "d", 1);
    put(&t, "b", 2);
    put(&t, "a", 1);
    put(&t, "c", 1);
    pl_api_storage_remove(t.storage, pl_api_table_find(t.type->table, pl_slice_z("n/d")));
    put(&t, "b", 3);
    check_view(&t, 1, "");
    check_view(&t, 2, "b=1");
    check_view(&t, 3, "b=1 d=1");
    check_view(&t, 4, "b=2 d=1");
    check_view(&t, 6, "a=1 b=2 c=1 d=1");
    check_view(&t, 7, "a=1 b=2 c=1");
    check_view(&t, 8, "a=1 b=3 c=1");
    close_test(&t);
}

TEST(history_is_limited)
{
    struct storage_test t;
    open_test(&t, 2);
    for (int i = 0; i < 5; i++)
        put(&t, "a", i);
    CHECK_INT(pl_api_storage_floor(t.storage), 4);
    check_view(&t, 4, "a=2");
    size_t at = pl_api_storage_after(t.storage, 5);
    const struct pl_api_event *event = pl_api_storage_next(t.storage, t.type, &at);
    REQUIRE(event != NULL);
    CHECK_INT(event->rv, 6);
    CHECK(pl_api_storage_next(t.storage, t.type, &at) == NULL);
    pl_api_storage_compact(t.storage);
    CHECK_INT(pl_api_storage_floor(t.storage), 6);
    close_test(&t);
}

TEST(owners_find_their_dependents)
{
    struct storage_test t;
    struct pl_arena arena = {0};
    size_t count;
    open_test(&t, 10);
    struct pl_doc *doc = json("{'metadata':{'name':'x','uid':'u-x','ownerReferences':[{'uid':'o',"
                              "'name':'o','kind':'K','apiVersion':'v1'}]}}");
    struct pl_api_entry *entry = pl_api_storage_put(t.storage, &arena, t.type, pl_slice_z("n/x"),
                                                    pl_tree_from_node(&arena, pl_doc_root(doc)));
    struct pl_api_entry **list = pl_api_storage_dependents(t.storage, pl_slice_z("o"), &count);
    CHECK_INT(count, 1);
    CHECK(list[0] == entry);
    pl_free(list);
    put(&t, "x", 1);
    list = pl_api_storage_dependents(t.storage, pl_slice_z("o"), &count);
    CHECK_INT(count, 0);
    pl_free(list);
    pl_doc_unref(doc);
    pl_arena_deinit(&arena);
    close_test(&t);
}

TEST_MAIN()

/* After a mass deletion, the remaining objects are moved close together, so memory is released. */
#include "scene.h"

#include "sync/informer.h"
#include "store/store.h"

enum { COUNT = 6000 };

/* The objects whose number `keep` accepts; the caller frees it. */
static char *list_of(const char *rv, bool (*keep)(int i))
{
    struct pl_buf text = PL_BUF_INIT;
    pl_buf_add_f(&text,
                 "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\","
                 "\"metadata\":{\"resourceVersion\":\"%s\"},\"items\":[",
                 rv);
    bool first = true;
    for (int i = 0; i < COUNT; i++) {
        if (!keep(i))
            continue;
        pl_buf_add_f(&text,
                     "%s{\"metadata\":{\"name\":\"m%d\",\"namespace\":\"d\",\"uid\":\"%d\","
                     "\"resourceVersion\":\"%d\"},\"data\":{\"text\":\"%0400d\"}}",
                     first ? "" : ",", i, i, 1 + i, i);
        first = false;
    }
    pl_buf_add_z(&text, "]}");
    return pl_buf_take(&text);
}

static bool every(int i)
{
    PL_UNUSED(i);
    return true;
}

static bool every_tenth(int i)
{
    return i % 10 == 3;
}

static bool nearly_every(int i)
{
    return i % 10 != 3;
}

/* How many objects lie elsewhere once `second` is the list. */
static int moved_by(bool (*second)(int i))
{
    struct scene scene = {0};
    begin(&scene);
    char *list = list_of("10000", every);
    relist(&scene, list);
    pl_buf_clear(&scene.log);
    struct pl_store *store = pl_informer_store(scene.informer);
    static struct pl_doc *before[COUNT];
    char key[32];
    for (int i = 0; i < COUNT; i++) {
        snprintf(key, sizeof(key), "d/m%d", i);
        before[i] = pl_store_get(store, pl_slice_z(key));
        REQUIRE(before[i] != NULL);
        /* The addresses alone are compared: a reference would keep the memory. */
        pl_doc_unref(before[i]);
    }
    char *left = list_of("20000", second);
    relist(&scene, left);
    bed_pass(&scene.bed, 5 * PL_SECOND);
    int moved = 0, kept = 0;
    for (int i = 0; i < COUNT; i++) {
        snprintf(key, sizeof(key), "d/m%d", i);
        struct pl_doc *doc = pl_store_get(store, pl_slice_z(key));
        CHECK_INT(doc != NULL, second(i));
        kept += doc != NULL;
        moved += doc != NULL && doc != before[i];
        pl_doc_unref(doc);
    }
    CHECK_INT(pl_store_count(store), kept);
    pl_buf_clear(&scene.log);
    free(list);
    free(left);
    finish(&scene);
    return moved;
}

TEST(after_a_mass_deletion_what_is_left_is_moved)
{
    CHECK(moved_by(every_tenth) > COUNT / 10 / 2);
}

TEST(after_a_few_deletions_nothing_is_moved)
{
    CHECK_INT(moved_by(nearly_every), 0);
}

TEST_MAIN()

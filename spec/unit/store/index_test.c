#include "store/impl.h"

#include "base/alloc.h"
#include "support/test.h"

static struct pl_entry *make(const char *key)
{
    struct pl_entry *entry = pl_calloc(1, sizeof(*entry) + strlen(key) + 1);
    strcpy(entry->key, key);
    entry->postings = pl_calloc(4, sizeof(struct pl_posting));
    return entry;
}

static void drop(struct pl_entry *entry)
{
    pl_free(entry->postings);
    pl_free(entry);
}

static void post(struct pl_keyset *buckets, const char *value, struct pl_entry *entry)
{
    entry->postings[entry->posting_count] = pl_buckets_add(buckets, 7, pl_slice_z(value), entry);
    entry->posting_count++;
}

/* 32 */
TEST(a_bucket_goes_with_its_last_entry)
{
    struct pl_keyset buckets;
    pl_buckets_init(&buckets);
    struct pl_entry *a = make("a");
    post(&buckets, "v", a);
    struct pl_bucket *bucket = pl_buckets_find(&buckets, pl_slice_z("v"));
    REQUIRE(bucket != NULL);
    CHECK_INT(bucket->slot, 7);
    CHECK(pl_bucket_entries(bucket)[0] == a);
    pl_buckets_remove(&buckets, a->postings[0]);
    CHECK(pl_buckets_find(&buckets, pl_slice_z("v")) == NULL);
    CHECK_INT(buckets.count, 0);
    pl_buckets_deinit(&buckets);
    drop(a);
}

TEST(the_entry_that_fills_a_gap_is_told_its_new_place)
{
    enum { N = 20 };
    struct pl_keyset buckets;
    struct pl_entry *entries[N];
    pl_buckets_init(&buckets);
    for (int i = 0; i < N; i++) {
        char key[16];
        snprintf(key, sizeof(key), "k%d", i);
        entries[i] = make(key);
        post(&buckets, "other", entries[i]);
        post(&buckets, "v", entries[i]);
    }
    /* From the front, so that each removal moves the last one. */
    for (int i = 0; i < N; i++) {
        pl_buckets_remove(&buckets, entries[i]->postings[1]);
        entries[i]->posting_count = 1;
        const struct pl_bucket *bucket = pl_buckets_find(&buckets, pl_slice_z("v"));
        CHECK_INT(bucket ? bucket->count : 0, N - 1 - i);
        for (int k = i + 1; k < N; k++)
            CHECK(pl_bucket_entries(bucket)[entries[k]->postings[1].at] == entries[k]);
    }
    CHECK_INT(pl_buckets_find(&buckets, pl_slice_z("other"))->count, N);
    pl_buckets_deinit(&buckets);
    for (int i = 0; i < N; i++)
        drop(entries[i]);
}

TEST_MAIN()

#include "store/impl.h"

#include "base/alloc.h"
#include "support/test.h"

static struct slab memory;

static struct pl_entry *make(const char *key, uint32_t room)
{
    return pl_entry_create(&memory, pl_slice_z(key), NULL, room);
}

static size_t holds(const struct pl_bucket *bucket, const struct pl_entry *entry)
{
    size_t count = 0, at = 0;
    const struct pl_entry *next;
    while ((next = pl_entries_next(&bucket->entries, &at)) != NULL)
        count += next == entry;
    return count;
}

/* rule 32 */
TEST(a_bucket_goes_with_its_last_entry)
{
    pl_slab_init(&memory, 1 << 20);
    struct pl_buckets buckets;
    pl_buckets_init(&buckets, &memory);
    struct pl_entry *a = make("a", 1);
    struct pl_bucket *bucket = pl_buckets_add(&buckets, 7, pl_slice_z("v"), a);
    CHECK(pl_buckets_find(&buckets, pl_slice_z("v")) == bucket);
    CHECK_INT(bucket->slot, 7);
    CHECK_INT(bucket->entries.cap, 1);
    CHECK_INT(holds(bucket, a), 1);
    pl_buckets_remove(&buckets, bucket, a);
    CHECK(pl_buckets_find(&buckets, pl_slice_z("v")) == NULL);
    CHECK_INT(buckets.by_value.count, 0);
    pl_buckets_deinit(&buckets);
    pl_entry_destroy(&memory, a);
    pl_slab_deinit(&memory);
}

/* At every load, so that entries stand far from home and gaps have to be closed. */
TEST(entries_come_and_go)
{
    enum { MOST = 112 };
    pl_slab_init(&memory, 1 << 20);
    for (uint32_t n = 1; n <= MOST; n++) {
        struct pl_buckets buckets;
        struct pl_entry *entries[MOST];
        struct pl_bucket *bucket = NULL;
        pl_buckets_init(&buckets, &memory);
        for (uint32_t i = 0; i < n; i++) {
            char key[16];
            snprintf(key, sizeof(key), "k%u", i);
            entries[i] = make(key, 1);
            bucket = pl_buckets_add(&buckets, 0, pl_slice_z("v"), entries[i]);
        }
        CHECK_INT(bucket->entries.count, n);
        for (uint32_t i = 0; i < n; i++)
            CHECK_INT(holds(bucket, entries[i]), 1);
        for (uint32_t i = 0; i + 1 < n; i++) {
            pl_buckets_remove(&buckets, bucket, entries[i]);
            CHECK_INT(holds(bucket, entries[i]), 0);
            CHECK_INT(holds(bucket, entries[n - 1]), 1);
        }
        CHECK_INT(bucket->entries.count, 1);
        CHECK(bucket->entries.cap <= 16);
        pl_buckets_deinit(&buckets);
        for (uint32_t i = 0; i < n; i++)
            pl_entry_destroy(&memory, entries[i]);
    }
    pl_slab_deinit(&memory);
}

/* So many that they are in parts. */
TEST(a_bucket_of_many_entries_visits_each_once)
{
    enum { N = 40000 };
    static struct pl_entry *entries[N];
    static bool seen[N];
    struct pl_buckets buckets;
    struct pl_bucket *bucket = NULL;
    struct pl_entry *entry;
    pl_slab_init(&memory, 8 << 20);
    pl_buckets_init(&buckets, &memory);
    for (uint32_t i = 0; i < N; i++) {
        char key[16];
        snprintf(key, sizeof(key), "k%u", i);
        entries[i] = make(key, 1);
        entries[i]->mark = i;
        bucket = pl_buckets_add(&buckets, 0, pl_slice_z("v"), entries[i]);
    }
    for (uint32_t left = N; left > 0; left = left > 3 ? left / 3 : left - 1) {
        size_t at = 0, count = 0;
        memset(seen, 0, sizeof(seen));
        while ((entry = pl_entries_next(&bucket->entries, &at)) != NULL) {
            CHECK(!seen[entry->mark] && entry->mark < left);
            seen[entry->mark] = true;
            count++;
        }
        CHECK_INT(count, left);
        CHECK_INT(bucket->entries.count, left);
        for (uint32_t i = left > 3 ? left / 3 : left - 1; i < left; i++)
            pl_buckets_remove(&buckets, bucket, entries[i]);
    }
    CHECK(pl_buckets_find(&buckets, pl_slice_z("v")) == NULL);
    pl_buckets_deinit(&buckets);
    for (uint32_t i = 0; i < N; i++)
        pl_entry_destroy(&memory, entries[i]);
    pl_slab_deinit(&memory);
}

TEST(postings_lie_in_the_entry_and_outside_when_they_do_not_fit)
{
    struct pl_bucket buckets[5];
    struct pl_bucket *all[5] = {&buckets[0], &buckets[1], &buckets[2], &buckets[3], &buckets[4]};
    pl_slab_init(&memory, 1 << 20);
    struct pl_entry *entry = make("ns/name", 2);
    static const uint32_t counts[] = {0, 1, 2, 3, 5, 4, 2, 0, 5, 1, 5};
    for (size_t i = 0; i < PL_ARRAY_LEN(counts); i++) {
        pl_entry_set_postings(entry, all, counts[i]);
        CHECK_INT(entry->posting_count, counts[i]);
        for (uint32_t k = 0; k < counts[i]; k++)
            CHECK(pl_entry_postings(entry)[k] == all[k]);
        CHECK_STR(entry->key, "ns/name");
    }
    pl_entry_destroy(&memory, entry);
    pl_slab_deinit(&memory);
}

/* A store with very many objects goes on in the heap. */
TEST(entries_for_which_there_is_no_room_lie_in_the_heap)
{
    enum { N = 3000 };
    static struct pl_entry *entries[N];
    pl_slab_init(&memory, 1 << 20);
    char key[400];
    memset(key, 'k', sizeof(key) - 1);
    key[sizeof(key) - 1] = '\0';
    size_t inside = 0;
    for (size_t i = 0; i < N; i++) {
        entries[i] = make(key, 1);
        inside += slab_holds(&memory, entries[i]);
        CHECK_STR(entries[i]->key, key);
    }
    CHECK(inside > N / 2 && inside < N);
    CHECK(pl_entry_move(&memory, entries[N - 1]) == NULL);
    for (size_t i = 0; i < N; i++)
        pl_entry_destroy(&memory, entries[i]);
    CHECK_INT(memory.live_bytes, 0);
    pl_slab_deinit(&memory);
}

TEST_MAIN()

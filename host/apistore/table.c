/* The objects of one kind. The array is sorted by key, which gives lists their order and their
 * pages; the map finds one object. */
#include "apistore/table.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/text.h"

#include <string.h>

struct pl_api_table *pl_api_table_create(void)
{
    struct pl_api_table *table = PL_NEW(struct pl_api_table);
    table->by_key = (struct pl_map)PL_MAP_INIT;
    pl_list_init(&table->watches);
    return table;
}

static void entry_destroy(struct pl_api_entry *entry)
{
    pl_doc_unref(entry->doc);
    pl_free(entry->key);
    pl_free(entry);
}

void pl_api_table_destroy(struct pl_api_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        entry_destroy(table->entries[i]);
    pl_free(table->entries);
    pl_map_deinit(&table->by_key);
    pl_free(table);
}

struct pl_api_entry *pl_api_table_find(const struct pl_api_table *table, struct pl_slice key)
{
    return pl_map_get(&table->by_key, key);
}

size_t pl_api_table_seek(const struct pl_api_table *table, struct pl_slice key)
{
    size_t low = 0, high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pl_slice_cmp(pl_slice_z(table->entries[middle]->key), key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct pl_api_span pl_api_table_span(const struct pl_api_table *table, struct pl_slice ns)
{
    struct pl_buf bound = PL_BUF_INIT;
    struct pl_api_span span;
    pl_buf_add_slice(&bound, ns);
    pl_buf_add_char(&bound, '/');
    span.first = pl_api_table_seek(table, pl_buf_slice(&bound));
    bound.ptr[bound.len - 1] = '/' + 1; /* behind all keys that begin with "ns/" */
    span.end = pl_api_table_seek(table, pl_buf_slice(&bound));
    pl_buf_deinit(&bound);
    return span;
}

struct pl_api_entry *pl_api_table_add(struct pl_api_table *table, struct pl_slice key)
{
    size_t at = pl_api_table_seek(table, key);
    if (table->count == table->cap) {
        table->cap = table->cap ? table->cap * 2 : 16;
        table->entries = pl_reallocarray(table->entries, table->cap, sizeof(*table->entries));
    }
    memmove(table->entries + at + 1, table->entries + at,
            (table->count - at) * sizeof(*table->entries));
    struct pl_api_entry *entry = PL_NEW(struct pl_api_entry);
    entry->key = pl_text_copy(key);
    table->entries[at] = entry;
    table->count++;
    pl_map_put(&table->by_key, key, entry);
    return entry;
}

void pl_api_table_remove(struct pl_api_table *table, struct pl_api_entry *entry)
{
    struct pl_slice key = pl_slice_z(entry->key);
    size_t at = pl_api_table_seek(table, key);
    PL_REQUIRE(at < table->count && table->entries[at] == entry);
    table->count--;
    memmove(table->entries + at, table->entries + at + 1,
            (table->count - at) * sizeof(*table->entries));
    pl_map_remove(&table->by_key, key);
    entry_destroy(entry);
}

/* A radix sort of texts, eight bytes at a time. The common prefix is skipped, the next eight bytes
 * become a number, the numbers are sorted byte by byte, and groups of equal numbers are sorted by
 * the bytes that follow. A few texts are compared in pairs instead. The order is strcmp's.
 *
 * The recursion is at most an eighth of the longest text deep. It needs one spare array. */
#include "store/text_sort.h"

#include "base/alloc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FEW  64 /* up to this number of texts, comparing them is as fast */
#define WORD sizeof(uint64_t)

static int text_sort_compare(const void *a, const void *b)
{
    return strcmp(((const struct pl_text_item *)a)->text, ((const struct pl_text_item *)b)->text);
}

/* The length of the common prefix of all texts; at least `same`. */
static size_t common_prefix(const struct pl_text_item *items, size_t count, size_t same)
{
    size_t len = same + strlen(items[0].text + same);
    for (size_t i = 1; i < count; i++) {
        size_t n = same;
        while (n < len && items[i].text[n] == items[0].text[n])
            n++;
        len = n;
    }
    return len;
}

/* The text's next bytes as a number that orders as they do. */
static uint64_t order_of(const char *text)
{
    uint64_t order = 0;
    for (size_t i = 0; i < WORD; i++) {
        order = order << 8 | (uint8_t)*text;
        text += *text != '\0';
    }
    return order;
}

static void sort_by_byte(const struct pl_text_item *from, struct pl_text_item *to, size_t count,
                         size_t shift)
{
    size_t begins[257] = {0};
    for (size_t i = 0; i < count; i++)
        begins[1 + (from[i].order >> shift & 0xff)]++;
    for (size_t i = 0; i < 256; i++)
        begins[i + 1] += begins[i];
    for (size_t i = 0; i < count; i++)
        to[begins[from[i].order >> shift & 0xff]++] = from[i];
}

/* Sorts by the last byte first, and skips bytes that are equal in all texts. */
static void sort_by_order(struct pl_text_item *items, struct pl_text_item *spare, size_t count)
{
    uint64_t differ = 0;
    for (size_t i = 1; i < count; i++)
        differ |= items[i].order ^ items[0].order;
    struct pl_text_item *from = items, *to = spare;
    for (size_t shift = 0; shift < 8 * WORD; shift += 8) {
        if ((differ >> shift & 0xff) == 0)
            continue;
        sort_by_byte(from, to, count, shift);
        struct pl_text_item *sorted = to;
        to = from;
        from = sorted;
    }
    if (from != items)
        memcpy(items, from, count * sizeof *items);
}

/* Sorts texts that are equal up to `same`. The depth is at most an eighth of the longest text. */
static void sort(struct pl_text_item *items, struct pl_text_item *spare, size_t count, size_t same)
{
    if (count < FEW) {
        qsort(items, count, sizeof *items, text_sort_compare);
        return;
    }
    same = common_prefix(items, count, same);
    for (size_t i = 0; i < count; i++)
        items[i].order = order_of(items[i].text + same);
    sort_by_order(items, spare, count);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && items[end].order == items[first].order; end++)
            ;
        bool ended = (items[first].order & 0xff) == 0; /* then the texts are equal */
        if (!ended && end - first > 1)
            sort(items + first, spare, end - first, same + WORD);
    }
}

void pl_text_sort(struct pl_text_item *items, size_t count)
{
    struct pl_text_item *spare = count < FEW ? NULL : pl_reallocarray(NULL, count, sizeof *spare);
    sort(items, spare, count, 0);
    pl_free(spare);
}

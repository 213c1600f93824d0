#include "store/text_sort.h"

#include "base/base.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 3000, LONGEST = 64 };

struct texts {
    char text[MOST][LONGEST];
    struct pl_text_item items[MOST];
};

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Sorted, each still with its own item, and the same ones that the library's sort gives. */
static void check_sort(struct texts *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        texts->items[i] = (struct pl_text_item){texts->text[i], texts->text[i], 0};
    pl_text_sort(texts->items, count);
    static char want[MOST][LONGEST];
    memcpy(want, texts->text, count * LONGEST);
    qsort(want, count, LONGEST, compare);
    for (size_t i = 0; i < count; i++) {
        REQUIRE(texts->items[i].item == texts->items[i].text);
        CHECK_STR(texts->items[i].text, want[i]);
    }
}

static const size_t counts[] = {0, 1, 2, 63, 64, 65, 500, MOST};

TEST(names_that_begin_alike_are_sorted)
{
    static struct texts texts;
    for (size_t k = 0; k < PL_ARRAY_LEN(counts); k++) {
        for (size_t i = 0; i < counts[k]; i++)
            snprintf(texts.text[i], LONGEST, "namespace-%d/replica-set-%d-%05d", rand() % 3,
                     rand() % 12, rand() % 90000);
        check_sort(&texts, counts[k]);
    }
}

TEST(texts_that_are_the_beginning_of_others_come_first)
{
    static struct texts texts;
    for (size_t i = 0; i < MOST; i++) {
        size_t len = (size_t)rand() % (LONGEST - 1);
        memset(texts.text[i], 'a', len);
        texts.text[i][len] = '\0';
    }
    check_sort(&texts, MOST); /* many are equal, some are empty */
}

TEST(bytes_of_all_values_are_sorted_as_strcmp_does)
{
    static struct texts texts;
    for (size_t k = 0; k < PL_ARRAY_LEN(counts); k++) {
        for (size_t i = 0; i < counts[k]; i++) {
            size_t len = (size_t)rand() % 20;
            for (size_t n = 0; n < len; n++)
                texts.text[i][n] = (char)(1 + rand() % (i % 2 ? 255 : 2));
            texts.text[i][len] = '\0';
        }
        check_sort(&texts, counts[k]);
    }
}

TEST_MAIN()

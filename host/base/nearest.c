#include "base/nearest.h"

#define MAX_WORD 64

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t low = a < b ? a : b;
    return low < c ? low : c;
}

static char nearest_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c == '_' ? '-' : c;
}

/* The number of edits (insert, delete, replace, swap of neighbours) between two words, ignoring
 * case. */
static size_t distance(struct pl_slice a, struct pl_slice b)
{
    size_t rows[3][MAX_WORD + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b.len; j++)
        above[j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            char x = nearest_lower(a.ptr[i - 1]), y = nearest_lower(b.ptr[j - 1]);
            row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == nearest_lower(b.ptr[j - 2]) &&
                y == nearest_lower(a.ptr[i - 2]) && before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
        size_t *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[b.len];
}

/* An unfinished word, or the last part of a longer name, counts as close. */
static bool is_part(struct pl_slice word, struct pl_slice of)
{
    return word.len >= 4 && word.len < of.len &&
           (memcmp(word.ptr, of.ptr, word.len) == 0 ||
            memcmp(word.ptr, of.ptr + of.len - word.len, word.len) == 0);
}

const char *pl_nearest(struct pl_slice word, const char *const *words, size_t count)
{
    const char *best = NULL;
    size_t best_distance = 0;
    if (word.len == 0 || word.len > MAX_WORD)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        struct pl_slice candidate = pl_slice_z(words[i]);
        if (candidate.len > MAX_WORD)
            continue;
        size_t edits = distance(word, candidate);
        size_t longest = word.len > candidate.len ? word.len : candidate.len;
        bool close = edits <= 1 || edits * 3 <= longest || is_part(word, candidate);
        if (close && (best == NULL || edits < best_distance)) {
            best = words[i];
            best_distance = edits;
        }
    }
    return best;
}

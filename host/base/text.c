/* Comparing, copying and wiping texts, and the forms of names in Kubernetes. The tests of names
 * know no limit of length: each kind of name has its own. Only the copies allocate. */
#include "base/text.h"

#include "base/alloc.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define ONES 0x0101010101010101U /* in each of eight bytes */

/* Not 0 if one of the eight bytes is less than `limit`, which is at most 0x80. */
static uint64_t any_less(uint64_t eight, uint64_t limit)
{
    return (eight - ONES * limit) & ~eight & ONES * 0x80;
}

size_t pl_text_plain(struct pl_slice text)
{
    size_t at = 0;
    uint64_t eight;
    for (; text.len - at >= sizeof eight; at += sizeof eight) {
        memcpy(&eight, text.ptr + at, sizeof eight);
        if (any_less(eight, 0x20) | any_less(eight ^ ONES * '"', 1) |
            any_less(eight ^ ONES * '\\', 1))
            break;
    }
    while (at < text.len && (uint8_t)text.ptr[at] >= 0x20 && text.ptr[at] != '"' &&
           text.ptr[at] != '\\')
        at++;
    return at;
}

bool pl_text_eq(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

int pl_text_order(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

char *pl_text_copy(struct pl_slice text)
{
    return pl_memdup0(text.ptr, text.len);
}

void pl_text_of_double(double value, char out[32])
{
    /* A normal number with fewer digits ends with zeros, which %g leaves out. */
    for (int digits = fabs(value) < DBL_MIN ? 1 : 15; digits <= 17; digits++) {
        snprintf(out, 32, "%.*g", digits, value);
        if (strtod(out, NULL) == value)
            return;
    }
}

bool pl_text_is_label(struct pl_slice text)
{
    if (text.len == 0 || !pl_is_lower_or_digit(text.ptr[0]) ||
        !pl_is_lower_or_digit(text.ptr[text.len - 1]))
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (!pl_is_lower_or_digit(text.ptr[i]) && text.ptr[i] != '-')
            return false;
    return true;
}

bool pl_text_is_subdomain(struct pl_slice text)
{
    size_t start = 0;
    for (size_t i = 0; i <= text.len; i++) {
        if (i < text.len && text.ptr[i] != '.')
            continue;
        if (!pl_text_is_label(pl_slice(text.ptr + start, i - start)))
            return false;
        start = i + 1;
    }
    return true;
}

bool pl_text_is_word(struct pl_slice text)
{
    if (text.len == 0 || !pl_is_alnum(text.ptr[0]) || !pl_is_alnum(text.ptr[text.len - 1]))
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (!pl_is_alnum(text.ptr[i]) && memchr("-_.", text.ptr[i], 3) == NULL)
            return false;
    return true;
}

void pl_text_wipe(char *text)
{
    if (text != NULL)
        explicit_bzero(text, strlen(text));
    pl_free(text);
}

bool pl_texts_has(char *const *texts, struct pl_slice text)
{
    for (; texts != NULL && *texts != NULL; texts++)
        if (pl_slice_eqz(text, *texts))
            return true;
    return false;
}

void pl_texts_free(char **texts)
{
    for (char **text = texts; text != NULL && *text != NULL; text++)
        pl_free(*text);
    pl_free(texts);
}

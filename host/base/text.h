/* Tests and copies of texts, and NULL-terminated lists of texts. Any thread. */
#pragma once

#include "base/slice.h"

static inline bool pl_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool pl_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool pl_is_alnum(char c)
{
    return pl_is_digit(c) || pl_is_letter(c);
}

static inline bool pl_is_lower_or_digit(char c)
{
    return pl_is_digit(c) || (c >= 'a' && c <= 'z');
}

static inline bool pl_text_begins(struct pl_slice text, const char *with)
{
    size_t len = strlen(with);
    return text.len >= len && memcmp(text.ptr, with, len) == 0;
}

static inline bool pl_text_ends(struct pl_slice text, const char *with)
{
    size_t len = strlen(with);
    return text.len >= len && memcmp(text.ptr + text.len - len, with, len) == 0;
}

/* The first place of `part`; NULL: there is none. An empty text has none. */
static inline const char *pl_text_find(struct pl_slice text, const char *part)
{
    return text.len > 0 ? memmem(text.ptr, text.len, part, strlen(part)) : NULL;
}

/* How many bytes at its beginning need no escape in a JSON string. */
size_t pl_text_plain(struct pl_slice text);
/* NULL equals NULL alone. */
bool pl_text_eq(const char *a, const char *b);
/* For qsort and bsearch over an array of `char *`: the order of strcmp. */
int pl_text_order(const void *a, const void *b);
/* Owned: free with pl_free. An empty slice gives "". */
char *pl_text_copy(struct pl_slice text);
/* A finite number with the fewest digits that read back the same. */
void pl_text_of_double(double value, char out[32]);
/* DNS names in lower case, of any length: a label of letters, digits and inner dashes; labels
 * joined by dots. */
bool pl_text_is_label(struct pl_slice text);
bool pl_text_is_subdomain(struct pl_slice text);
/* Letters, digits, '-', '_' and '.', with a letter or digit at both ends; of any length. */
bool pl_text_is_word(struct pl_slice text);
/* Overwrites a secret before it is freed. Accepts NULL. */
void pl_text_wipe(char *text);

/* NULL-terminated lists; NULL is the empty one. */
bool pl_texts_has(char *const *texts, struct pl_slice text);
/* Frees the texts and the list. */
void pl_texts_free(char **texts);

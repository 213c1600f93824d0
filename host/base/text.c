#include "base/text.h"

#include "base/alloc.h"

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
    return pl_memdup0(text.ptr != NULL ? text.ptr : "", text.len);
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

/* Copies, compares and frees a source's options. Lists of names are sorted when they are copied, so
 * that equivalent sources are equal and share one informer. */
#include "event/source.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static size_t count_texts(char *const *texts)
{
    size_t count = 0;
    while (texts != NULL && texts[count] != NULL)
        count++;
    return count;
}

static char **copy_texts(char *const *texts)
{
    if (texts == NULL)
        return NULL;
    size_t count = count_texts(texts);
    char **copy = pl_calloc(count + 1, sizeof *copy);
    for (size_t i = 0; i < count; i++)
        copy[i] = pl_strdup(texts[i]);
    return copy;
}

char **pl_texts_sorted(char *const *texts)
{
    char **copy = copy_texts(texts);
    size_t count = count_texts(copy), kept = 0;
    if (count > 1)
        qsort(copy, count, sizeof *copy, pl_text_order);
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && strcmp(copy[kept - 1], copy[i]) == 0)
            pl_free(copy[i]);
        else
            copy[kept++] = copy[i];
    }
    if (copy != NULL)
        copy[kept] = NULL;
    return copy;
}

static bool texts_eq(char *const *a, char *const *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    for (; *a != NULL && *b != NULL; a++, b++)
        if (strcmp(*a, *b) != 0)
            return false;
    return *a == NULL && *b == NULL;
}

void pl_source_options_copy(struct pl_source_options *to, const struct pl_source_options *from)
{
    *to = *from;
    to->namespaces = pl_texts_sorted(from->namespaces);
    to->labels = pl_strdup_or_null(from->labels);
    to->fields = pl_strdup_or_null(from->fields);
}

void pl_source_options_deinit(struct pl_source_options *options)
{
    pl_texts_free(options->namespaces);
    pl_free(options->labels);
    pl_free(options->fields);
    *options = (struct pl_source_options){0};
}

bool pl_source_options_eq(const struct pl_source_options *a, const struct pl_source_options *b)
{
    return texts_eq(a->namespaces, b->namespaces) && pl_text_eq(a->labels, b->labels) &&
           pl_text_eq(a->fields, b->fields) && a->metadata_only == b->metadata_only &&
           a->managed_fields == b->managed_fields && a->part == b->part;
}

const char *pl_source_role_name(enum pl_source_role role)
{
    static const char names[][8] = {[PL_SOURCE_FOR] = "for",
                                    [PL_SOURCE_OWNS] = "owns",
                                    [PL_SOURCE_WATCHES] = "watches",
                                    [PL_SOURCE_READS] = "reads"};
    return names[role];
}

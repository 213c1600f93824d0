/* The validation of built-in kinds. An input is a kind, and after a line's end an object in JSON;
 * after a line with "~" the object as it was before. However they are made up: each fault has a
 * field and a message, nothing is read that is not there, and an object that is valid as a new one
 * is valid when it stays as it is. */
#include "valid/valid.h"

#include "base/check.h"
#include "object/tree.h"
#include "schema/builtin.h"
#include "valid/warn.h"
#include "value/scan.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct pl_tree *tree_of(struct pl_arena *arena, struct pl_slice text)
{
    struct pl_doc *doc = pl_scan_text(text, &(struct pl_scan_options){0}, NULL);
    struct pl_tree *tree = doc != NULL ? pl_tree_from_node(arena, pl_doc_root(doc)) : NULL;
    pl_doc_unref(doc);
    return pl_tree_is(tree, PL_OBJECT) ? tree : NULL;
}

static size_t count_faults(struct pl_arena *arena, const struct pl_api_type *type,
                           const struct pl_tree *object, const struct pl_tree *old)
{
    struct pl_api_faults faults = {.arena = arena};
    size_t count = 0;
    pl_valid_builtin(&faults, type, object, old);
    PL_TREE_FOR(item, faults.causes)
    {
        PL_REQUIRE(pl_tree_text_at(item->value, "field").len > 0);
        PL_REQUIRE(pl_tree_text_at(item->value, "message").len > 0);
        count++;
    }
    return count;
}

static void validate(const struct pl_api_type *type, struct pl_slice text)
{
    struct pl_arena arena = {0};
    const char *cut = memmem(text.ptr, text.len, "\n~\n", 3);
    size_t len = cut != NULL ? (size_t)(cut - text.ptr) : text.len;
    const struct pl_tree *object = tree_of(&arena, pl_slice(text.ptr, len));
    const struct pl_tree *old =
        cut != NULL ? tree_of(&arena, pl_slice(cut + 3, text.len - len - 3)) : NULL;
    if (object != NULL) {
        if (count_faults(&arena, type, object, NULL) == 0)
            PL_REQUIRE(count_faults(&arena, type, object, object) == 0);
        if (old != NULL)
            count_faults(&arena, type, object, old);
        pl_valid_warnings(&arena, type, object, old);
    }
    pl_arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    const char *end = size > 0 ? memchr(text, '\n', size) : NULL;
    size_t len = end != NULL ? (size_t)(end - text) : 0;
    for (const struct pl_api_builtin *row = pl_api_builtins; row->plural != NULL; row++)
        if (len > 0 && strlen(row->kind) == len && memcmp(row->kind, text, len) == 0) {
            struct pl_api_type *type = pl_api_type_of_builtin(row);
            validate(type, pl_slice(end + 1, size - len - 1));
            pl_api_type_destroy(type);
            return 0;
        }
    return 0;
}

/* What a conversion webhook may change: everything but the object's kind and identity. All metadata
 * but labels and annotations is that of the original, whatever the webhook returns, and these two
 * must be valid if they have changed. Pure; trees and texts live in the arena. */
#include "schema/converted.h"

#include "schema/validate.h"

#define IDENTITY 3 /* members of metadata that must be the same */

/* The name of a value's Go type in messages. */
static const char *go_type(const struct pl_tree *value)
{
    switch (value->type) {
    case PL_NULL:
        return "<nil>";
    case PL_BOOL:
        return "bool";
    case PL_NUMBER:
        return pl_slice_chr(value->text, '.') != NULL ? "float64" : "int64";
    case PL_STRING:
        return "string";
    case PL_ARRAY:
        return "[]interface {}";
    default:
        return "map[string]interface {}";
    }
}

static const char *check_type(struct pl_arena *arena, const struct pl_tree *original,
                              const struct pl_tree *made, struct pl_slice version)
{
    struct pl_slice is = pl_tree_text_at(made, "apiVersion");
    struct pl_slice kind = pl_tree_text_at(made, "kind");
    struct pl_slice want = pl_tree_text_at(original, "kind");
    if (!pl_slice_eq(is, version))
        return pl_arena_f(arena,
                          "invalid object at index 0: invalid groupVersion (expected %.*s, "
                          "received %.*s)",
                          PL_FMT(version), PL_FMT(is))
            .ptr;
    return pl_slice_eq(kind, want)
               ? NULL
               : pl_arena_f(arena,
                            "invalid object at index 0: invalid kind (expected %.*s, received "
                            "%.*s)",
                            PL_FMT(want), PL_FMT(kind))
                     .ptr;
}

/* The uid may be missing: a new object is sent without it. */
static const char *check_identity(struct pl_arena *arena, const struct pl_tree *original,
                                  const struct pl_tree *made)
{
    static const char paths[IDENTITY][20] = {"metadata.name", "metadata.namespace", "metadata.uid"};
    static const char words[IDENTITY][12] = {"name", "namespace", "UID"};
    for (size_t i = 0; i < IDENTITY; i++) {
        struct pl_slice want = pl_tree_text_at(original, paths[i]);
        struct pl_slice is = pl_tree_text_at(made, paths[i]);
        if (!pl_slice_eq(want, is) && (i < IDENTITY - 1 || is.len > 0))
            return pl_arena_f(arena, "invalid object: must have the same %s: %.*s != %.*s",
                              words[i], PL_FMT(want), PL_FMT(is))
                .ptr;
    }
    return NULL;
}

static const char *converted_texts(struct pl_arena *arena, const char *field,
                                   const struct pl_tree *value)
{
    if (value->type != PL_OBJECT)
        return pl_arena_f(arena, "invalid metadata.%s of type %s in converted object", field,
                          go_type(value))
            .ptr;
    PL_TREE_FOR(item, value)
    if (item->value->type != PL_STRING)
        return pl_arena_f(arena,
                          "metadata.%s[%.*s] must be a string, but is %s in converted object",
                          field, PL_FMT(item->key), go_type(item->value))
            .ptr;
    return NULL;
}

/* Takes the labels or annotations of the converted object. NULL, or what is wrong with them. */
static const char *take_texts(struct pl_arena *arena, const char *field, struct pl_tree *metadata,
                              struct pl_tree *value)
{
    struct pl_api_faults faults = {.arena = arena};
    struct pl_tree *before = pl_tree_getz(metadata, field);
    if (value == NULL || value->type == PL_NULL) {
        pl_tree_removez(metadata, field);
        return NULL;
    }
    const char *wrong = converted_texts(arena, field, value);
    if (wrong != NULL)
        return wrong;
    bool same = before != NULL ? pl_tree_equal(before, value) : value->count == 0;
    if (!same && *field == 'l')
        pl_api_validate_labels(&faults, value);
    else if (!same)
        pl_api_validate_annotations(&faults, "metadata.annotation", value);
    if (faults.causes != NULL)
        return pl_api_faults_text(&faults).ptr;
    if (value->count > 0)
        pl_tree_setz(arena, metadata, field, value);
    else
        pl_tree_removez(metadata, field);
    return NULL;
}

const char *pl_api_converted_check(struct pl_arena *arena, const struct pl_tree *original,
                                   struct pl_tree *made, struct pl_slice version)
{
    static const char texts[][12] = {"labels", "annotations"};
    const char *wrong = check_type(arena, original, made, version);
    if (wrong == NULL)
        wrong = check_identity(arena, original, made);
    struct pl_tree *returned = pl_tree_getz(made, "metadata");
    struct pl_tree *metadata = pl_tree_copy(arena, pl_tree_getz(original, "metadata"));
    for (size_t i = 0; i < PL_ARRAY_LEN(texts) && wrong == NULL; i++) {
        wrong = take_texts(arena, texts[i], metadata, pl_tree_getz(returned, texts[i]));
        if (wrong != NULL)
            wrong = pl_arena_f(arena, "invalid metadata: %s", wrong).ptr;
    }
    if (wrong == NULL)
        pl_tree_setz(arena, made, "metadata", metadata);
    return wrong;
}

/* Where an empty value has a meaning of its own: it keeps a default away, or a check of Go's code
 * asks for nil instead of a length. Such a value is refused, or it is dropped when the object is
 * stored. */
#include "schema/empties.h"

#include <string.h>

static const struct {
    char kind[24], path[36];
    bool only_new; /* in a change it equals an absent one */
} places[] = {
    {"HorizontalPodAutoscaler", "spec.behavior.scaleUp.policies", false},
    {"HorizontalPodAutoscaler", "spec.behavior.scaleDown.policies", false},
    {"Ingress", "spec.rules", true},
    {"Pod", "spec.overhead", true},
    {"Pod", "spec.resources.claims", true},
    {"ResourceSlice", "spec.devices", false},
    {"ResourceSlice", "spec.sharedCounters", false},
};

struct pl_api_empties pl_api_empties_find(const char *kind, const struct pl_tree *object,
                                          bool is_new)
{
    struct pl_api_empties found = {.count = 0};
    for (size_t i = 0; i < PL_ARRAY_LEN(places); i++) {
        if (strcmp(places[i].kind, kind) != 0 || (places[i].only_new && !is_new))
            continue;
        const struct pl_tree *value = pl_tree_dig(object, places[i].path);
        bool is_container = pl_tree_is(value, PL_ARRAY) || pl_tree_is(value, PL_OBJECT);
        if (is_container && value->count == 0)
            found.paths[found.count++] = places[i].path;
    }
    return found;
}

void pl_api_empties_restore(struct pl_arena *arena, struct pl_tree *object,
                            const struct pl_api_empties *empties)
{
    for (size_t i = 0; i < empties->count; i++) {
        const char *path = empties->paths[i], *last = strrchr(path, '.');
        struct pl_slice above = pl_arena_copy(arena, pl_slice(path, (size_t)(last - path)));
        struct pl_tree *parent = pl_tree_dig(object, above.ptr);
        bool is_map = strcmp(last, ".overhead") == 0;
        if (pl_tree_is(parent, PL_OBJECT))
            pl_tree_default(arena, parent, last + 1,
                            is_map ? pl_tree_object(arena) : pl_tree_array(arena));
    }
}

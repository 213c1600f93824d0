/* Finds functions by name in the tables of all libraries. */
#include "cel/function.h"

#include "base/check.h"

#include <string.h>

#define ROWS_OF_A_NAME 24

static const struct pl_cel_function *const libraries[] = {
    pl_cel_core_functions,     pl_cel_convert_functions,  pl_cel_string_functions,
    pl_cel_list_functions,     pl_cel_optional_functions, pl_cel_time_functions,
    pl_cel_quantity_functions, pl_cel_net_functions,      pl_cel_format_functions,
    pl_cel_semver_functions,   pl_cel_authz_functions,    pl_cel_patch_functions,
};

bool pl_cel_function_exists(struct pl_slice name)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(libraries); i++)
        for (const struct pl_cel_function *f = libraries[i]; f->name != NULL; f++)
            if (pl_slice_eqz(name, f->name))
                return true;
    return false;
}

const struct pl_cel_function *const *
pl_cel_function_rows(struct pl_arena *arena, struct pl_slice name, bool is_member, size_t *count)
{
    const struct pl_cel_function *found[ROWS_OF_A_NAME] = {NULL};
    *count = 0;
    for (size_t i = 0; i < PL_ARRAY_LEN(libraries); i++)
        for (const struct pl_cel_function *f = libraries[i]; f->name != NULL; f++)
            if (pl_slice_eqz(name, f->name) && f->is_member == is_member) {
                PL_REQUIRE(*count < ROWS_OF_A_NAME);
                found[(*count)++] = f;
            }
    const struct pl_cel_function **rows = pl_arena_alloc(arena, (*count + 1) * sizeof *rows);
    memcpy(rows, found, *count * sizeof *rows);
    return rows;
}

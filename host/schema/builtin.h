/* The built-in kinds: one row each. */
#pragma once

#include "schema/type.h"

struct pl_api_builtin {
    const char *group, *version, *plural, *singular, *kind;
    const char *short_names, *categories;  /* "a,b" */
    unsigned flags;                        /* PL_API_... */
    const char *const *selectable;         /* field selector paths; NULL: only metadata's */
    const char *also_group, *also_version; /* a second group that serves the same objects */
    const char *const *renames;            /* of that second group: stored, served; pairs */
    pl_api_conversion *convert;            /* of that second group; NULL: only names differ */
};

/* Ends with a row whose plural is NULL. */
extern const struct pl_api_builtin pl_api_builtins[];

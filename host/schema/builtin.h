/* The built-in kinds: one row each. */
#pragma once

#include "schema/type.h"

struct pl_api_builtin {
    char group[32], version[4], plural[36], singular[36], kind[36];
    char short_names[12], categories[16]; /* "a,b" */
    unsigned flags;                       /* PL_API_... */
};

/* A second group that serves the same objects. */
struct pl_api_second {
    const char *group, *version;
    const char *const *renames; /* stored, served; pairs */
    pl_api_conversion *convert; /* NULL: only names differ */
};

/* Ends with a row whose plural is "". */
extern const struct pl_api_builtin pl_api_builtins[];

/* Field selector paths; NULL: only metadata's. */
const char *const *pl_api_builtin_selectable(const struct pl_api_builtin *row);
/* NULL: there is none. */
const struct pl_api_second *pl_api_builtin_second(const struct pl_api_builtin *row);

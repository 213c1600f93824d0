/* The built-in kinds: one row each. */
#pragma once

struct pl_api_builtin {
    const char *group, *version, *plural, *singular, *kind;
    const char *short_names, *categories;  /* "a,b" */
    unsigned flags;                        /* PL_API_... */
    const char *const *selectable;         /* field selector paths; NULL: only metadata's */
    const char *also_group, *also_version; /* a second group that serves the same objects */
    const char *const *renames;            /* of that second group: stored, served; pairs */
};

/* Ends with a row whose plural is NULL. */
extern const struct pl_api_builtin pl_api_builtins[];

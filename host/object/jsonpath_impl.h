/* The steps of a JSONPath. Private to jsonpath.c and jsonpath_parse.c. */
#pragma once

#include "object/jsonpath.h"

enum path_part_type { PART_NAME, PART_ALL, PART_INDEX, PART_SLICE, PART_FILTER };

enum path_relation { IS_THERE, EQUAL, UNEQUAL, LESS, AT_MOST, MORE, AT_LEAST };

struct path_filter {
    struct pl_jsonpath *path; /* owned; from the element */
    enum path_relation relation;
    enum pl_type type; /* of the literal */
    char *text;        /* owned; a string's */
    double number;
    bool yes;
};

struct path_part {
    enum path_part_type type;
    char *name; /* owned */
    bool has_start, has_end;
    int64_t start, end, by; /* start is also an index */
    struct path_filter filter;
};

struct path_step {
    bool deep; /* here and at all deeper levels */
    struct path_part *parts;
    size_t count;
};

struct pl_jsonpath {
    struct path_step *steps;
    size_t count;
};

/* The steps of a JSONPath. Private to jsonpath.c and jsonpath_parse.c. */
#pragma once

#include "object/jsonpath.h"

enum part_type { PART_NAME, PART_ALL, PART_INDEX, PART_SLICE, PART_FILTER };

enum relation { IS_THERE, EQUAL, UNEQUAL, LESS, AT_MOST, MORE, AT_LEAST };

struct filter {
    struct pl_jsonpath *path; /* owned; from the element */
    enum relation relation;
    enum pl_type type; /* of the literal */
    char *text;        /* owned; a string's */
    double number;
    bool yes;
};

struct part {
    enum part_type type;
    char *name; /* owned */
    bool has_start, has_end;
    int64_t start, end, by; /* start is also an index */
    struct filter filter;
};

struct step {
    bool deep; /* here and at all deeper levels */
    struct part *parts;
    size_t count;
};

struct pl_jsonpath {
    struct step *steps;
    size_t count;
};

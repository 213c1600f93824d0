/* The meaning of an unquoted YAML scalar. The rules are those of kubectl's reader, which accepts
 * more than YAML 1.2's core schema: yes, no, on, off, y and n are booleans, 0777 is octal, '_' may
 * group digits. Private to yaml*.c. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

enum pl_yaml_type {
    PL_YAML_STR,
    PL_YAML_NULL,
    PL_YAML_TRUE,
    PL_YAML_FALSE,
    PL_YAML_NUMBER,
    PL_YAML_NOT_FINITE, /* .inf and .nan: numbers that JSON does not have */
    PL_YAML_MERGE,      /* << */
};

/* For PL_YAML_NUMBER the number is appended to out as JSON, with all its digits. */
enum pl_yaml_type pl_yaml_resolve(struct pl_slice text, struct pl_buf *out);

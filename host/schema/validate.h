/* Validation of metadata, with kube-apiserver's messages. */
#pragma once

#include "schema/status.h"
#include "schema/type.h"

/* old: NULL for a new object. */
void pl_api_validate_meta(struct pl_api_faults *faults, const struct pl_api_type *type,
                          const struct pl_tree *object, const struct pl_tree *old);

#define PL_API_SUBDOMAIN_TEXT                                                                      \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "   \
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "  \
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
#define PL_API_LABEL_TEXT                                                                          \
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "   \
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex "     \
    "used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
#define PL_API_NAME_PART_TEXT                                                                      \
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "  \
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for " \
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
#define PL_API_KEY_TEXT                                                                            \
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "    \
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "         \
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain "    \
    "prefix and '/' (e.g. 'example.com/MyName')"
#define PL_API_LABEL_VALUE_TEXT                                                                    \
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "    \
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',"  \
    "  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

/* Annotations: their names, and the size of all. field: their path in messages. */
void pl_api_validate_labels(struct pl_api_faults *faults, const struct pl_tree *labels);
void pl_api_validate_annotations(struct pl_api_faults *faults, const char *field,
                                 const struct pl_tree *annotations);
/* A name with or without a prefix, such as a label key. Empty names are refused. */
void pl_api_validate_qualified(struct pl_api_faults *faults, const char *field,
                               struct pl_slice key);

/* What kube-apiserver refuses about metadata. */
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
bool pl_api_is_subdomain(struct pl_slice text);
/* A name with or without a prefix, as keys of labels are. */
void pl_api_validate_qualified(struct pl_api_faults *faults, const char *field,
                               struct pl_slice key);

/* The API server's knowledge of a kind's lists: the keys that identify elements. Strategic patches
 * and server-side apply need it. Immutable once made. Results of the functions belong to the
 * schema. */
#pragma once

#include "base/err.h"
#include "value/doc.h"
#include "object/kind.h"

struct pl_schema; /* of one value: an object's fields, an array's items, or a scalar */

enum pl_list_type {
    PL_LIST_ATOMIC, /* replaced as a whole */
    PL_LIST_SET,    /* scalars, no duplicates */
    PL_LIST_MAP,    /* objects that keys identify */
};

/* A built-in kind's schema; NULL for kinds without one (then every list is atomic). Static. */
const struct pl_schema *pl_schema_builtin(const struct pl_kind *kind);
/* From a CRD version's openAPIV3Schema (x-kubernetes-list-type, -list-map-keys, -map-type,
 * -embedded-resource). At the root and in embedded resources, metadata has the schema of built-in
 * kinds. EINVAL with the path of the invalid part. The caller destroys it. */
struct pl_schema *pl_schema_from_openapi(struct pl_node openapi, struct pl_err *err);
void pl_schema_destroy(struct pl_schema *schema);

/* A NULL schema is accepted and gives NULL. */
const struct pl_schema *pl_schema_field(const struct pl_schema *schema, struct pl_slice name);
const struct pl_schema *pl_schema_items(const struct pl_schema *schema);
enum pl_list_type pl_schema_list_type(const struct pl_schema *schema);
/* Of a PL_LIST_MAP: its keys, one by one; NULL: there are fewer. Call it with i = 0, 1, ... until
 * it returns NULL. */
const char *pl_schema_list_key(const struct pl_schema *schema, size_t i);
/* The strategic patch's merge key (one name), NULL when patches replace the list. It can differ
 * from the list keys: containers[].ports merge by containerPort. */
const char *pl_schema_merge_key(const struct pl_schema *schema);
/* True for lists of scalars that a strategic patch adds to, like finalizers. */
bool pl_schema_merges_set(const struct pl_schema *schema);
/* True for objects that server-side apply treats as one value. */
bool pl_schema_is_atomic(const struct pl_schema *schema);
/* True for objects that a strategic patch replaces. */
bool pl_schema_is_replaced(const struct pl_schema *schema);
/* The JSON text of the default of a member that identifies elements (a port's protocol: "\"TCP\"");
 * NULL when there is none. */
const char *pl_schema_default(const struct pl_schema *schema);

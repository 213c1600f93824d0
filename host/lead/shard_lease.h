/* A Lease of a member or a shard as a document. Pure. */
#pragma once

#include "shard/membership.h"
#include "value/doc.h"

#define PL_SHARDS_LABEL       "perilune.dev/shards"
#define PL_SHARD_COUNT_NOTE   "perilune.dev/shard-count"
#define PL_SHARD_BY_NOTE      "perilune.dev/shard-by"
#define PL_SHARD_LEAVING_NOTE "perilune.dev/leaving"

/* Reads the Lease tolerantly: missing and invalid members are left out. False if it is not one of
 * the Leases of that name. The slices point into `room` and the node. */
struct pl_shard_lease_room {
    struct pl_scratch name, holder;
};
bool pl_shard_lease_read(struct pl_node object, const char *name, struct pl_shard_lease_room *room,
                         struct pl_shard_lease *lease);

/* The Lease's name among those of `name`: the name itself, NAME-member-ID or NAME-shard-INDEX. The
 * caller owns the result. */
char *pl_shard_lease_name(const char *name, const struct pl_shard_lease *lease);

/* A Lease to be written. All is borrowed for the call. */
struct pl_shard_lease_draft {
    const char *ns, *name;  /* of the membership */
    const char *lease_name; /* see pl_shard_lease_name */
    const struct pl_shard_lease *lease;
    int64_t now_us; /* wall clock */
};
/* The document of the Lease. With `before`, the existing Lease with the new members; all other
 * members stay (rule 123). A new holder begins a term; an unchanged holder keeps its time and
 * count. The caller owns the result. */
struct pl_doc *pl_shard_lease_document(const struct pl_shard_lease_draft *draft,
                                       struct pl_doc *before);

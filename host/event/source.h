/* One declared source of a controller: its kind and the options that determine its informer.
 * Sources with equal options share one informer. */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "object/kind.h"
#include "value/doc.h"
#include "base/text.h"

#include <stdbool.h>

/* Which part of the objects is kept when all replicas act, each on its shards. It follows from the
 * source's role, its For kind's scope and `shared`; the code that opens the source sets it.
 * sync/share.h defines its meaning. */
enum pl_source_part {
    PL_PART_WHOLE,
    PL_PART_FOR,        /* the objects of the For kind that are ours */
    PL_PART_NAMESPACE,  /* objects in our namespaces */
    PL_PART_CONTROLLER, /* objects whose controller reference names one of ours */
    PL_PART_OWNERS,     /* objects with any owner reference to one of ours */
};

/* Together with the kind, these options determine the informer of a source, except `shared`, whose
 * effect is in `part`. */
struct pl_source_options {
    char **namespaces; /* NULL-terminated, sorted, unique; NULL: all */
    char *labels;      /* canonical selector text; NULL: none */
    char *fields;      /* canonical field selector text; NULL: none */
    bool metadata_only;
    bool managed_fields;
    bool shared; /* every replica keeps all objects */
    enum pl_source_part part;
};

void pl_source_options_copy(struct pl_source_options *to, const struct pl_source_options *from);
void pl_source_options_deinit(struct pl_source_options *options);
/* Compares namespaces in order: sorted, as pl_source_options_copy leaves them. */
bool pl_source_options_eq(const struct pl_source_options *a, const struct pl_source_options *b);

/* A sorted copy without repetitions, which the caller frees with pl_texts_free; NULL for NULL. */
char **pl_texts_sorted(char *const *texts);
enum pl_source_role {
    PL_SOURCE_FOR,
    PL_SOURCE_OWNS,
    PL_SOURCE_WATCHES,
    PL_SOURCE_READS, /* cached for reading, queues no keys */
};

/* "for", "owns", "watches", "reads" */
const char *pl_source_role_name(enum pl_source_role role);

enum pl_map_by {
    PL_MAP_SELF,     /* the object's own key: For, and Watches with "self" */
    PL_MAP_OWNER,    /* Owns */
    PL_MAP_EXTERNAL, /* a script's function: asked through pl_reconciler_ops.ask */
};

struct pl_predicate; /* event/predicate.h */
struct pl_cluster;   /* cluster/cluster.h */

struct pl_source_spec {
    enum pl_source_role role;
    struct pl_kind kind;
    struct pl_source_options options;
    char *cluster_name; /* owned; NULL: the host's own cluster */
    struct pl_cluster
        *cluster; /* borrowed for life, set before the source is opened; NULL: as above */
    enum pl_map_by map_by;
    bool match_every_owner;         /* Owns: not only the controller reference */
    struct pl_predicate *predicate; /* owned; NULL: everything passes */
    char **writes;     /* owned, NULL-terminated verbs declared with `writes`; NULL: none */
    char **finalizers; /* owned, NULL-terminated: the names this controller may add; NULL: not
                          declared */
    void *external;    /* the implementer's handle on its map function and predicates; borrowed */
};

/* A family: it follows a selection of kinds; its own kind is any. The selected kinds are its
 * members (control/members.c); the family has no cache itself. */
static inline bool pl_source_is_family(const struct pl_source_spec *source)
{
    return pl_kind_is_any(&source->kind);
}

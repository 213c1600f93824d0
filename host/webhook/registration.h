/* The documents that register webhooks with the API server, and the decision whether the stored
 * ones have to be written again. Pure.
 *
 * Several replicas, also of different versions, maintain one object. Each writes when its own
 * registrations or certificates change, and when another client that is not a replica has changed
 * or removed them. It never writes because another replica has written something else: otherwise
 * two versions would undo each other's writes during a rollout. */
#pragma once

#include "base/buf.h"
#include "event/hook_spec.h"
#include "value/doc.h"

#define PL_REGISTRATION_MANAGER "perilune-webhooks"
/* An annotation of the applied object, a hash of it: replicas that write the same content write the
 * same mark, and a replica that finds its own mark knows that no other replica has written since.
 */
#define PL_REGISTRATION_MARK "perilune.dev/webhooks"

/* The address of the webhooks for API servers. All borrowed. */
struct pl_registration_target {
    const char *url;       /* "https://HOST:PORT"; NULL: a service */
    const char *ns, *name; /* of the service */
    int port;              /* of the service */
    const char *ca_pem;    /* NULL: the CAs that the API server trusts anyway */
};

struct pl_registration_entry {
    const struct pl_hook_spec *spec; /* borrowed */
    const struct pl_hook_kind *kind; /* borrowed */
    const char *plural;              /* borrowed; NULL: not known yet, and left out */
};

/* The configuration of that sort (validate or mutate), or NULL when no entry is of it. An
 * independent document for an apply; the caller owns a reference. */
struct pl_doc *pl_registration_config(enum pl_hook_sort sort, const char *name,
                                      const struct pl_registration_entry *entries, size_t count,
                                      const struct pl_registration_target *target);
/* A document that applies a CRD's spec.conversion; target NULL: an empty one, which gives the
 * conversion back. The caller owns a reference. */
struct pl_doc *pl_registration_conversion(const char *crd,
                                          const struct pl_registration_target *target);

/* The known state of one object that is kept. */
struct pl_registration_memory {
    struct pl_doc *accepted; /* counted: the part when it was last correct; NULL: never */
    char mark[40];           /* PL_REGISTRATION_MARK of that state */
};
void pl_registration_memory_deinit(struct pl_registration_memory *memory);

/* Our part of the object: `webhooks` of a configuration, `spec.conversion` of a CRD. */
struct pl_node pl_registration_part(struct pl_node object);
/* Whether a client that is not a replica has changed it since. The object exists. */
bool pl_registration_is_undone(const struct pl_registration_memory *memory, struct pl_node object);
/* The stored state is correct: after our write, or as another replica has left it. */
void pl_registration_accept(struct pl_registration_memory *memory, struct pl_node object);

/* Whether the configuration belongs to these webhooks (our manager, and all of its webhooks have
 * our address). */
bool pl_registration_is_ours(struct pl_node config, const struct pl_registration_target *target);
/* Whether our manager maintains the CRD's conversion, here or at another address; its metadata is
 * enough. */
bool pl_registration_has_conversion(struct pl_node crd);
/* Whether the CRD is converted by these webhooks: our manager maintains that, with our address. */
bool pl_registration_converts_here(struct pl_node crd, const struct pl_registration_target *target);

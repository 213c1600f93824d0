/* What the API server is told of webhooks: the documents, and the question whether what it holds is
 * to be written again. Pure.
 *
 * Several replicas, also of different versions, keep one object. Each writes when its own
 * registrations or certificates change, and when somebody who is no replica has changed or removed
 * what was written; never because another replica has written something else, or two versions
 * would undo each other for ever while one replaces the other. */
#pragma once

#include "base/buf.h"
#include "event/hook_spec.h"
#include "value/doc.h"

#define PL_REGISTRATION_MANAGER "perilune-webhooks"
/* An annotation of what is applied, a hash of it: replicas that write the same write the same mark,
 * and one whose mark is there knows that no other replica has written since. */
#define PL_REGISTRATION_MARK "perilune.dev/webhooks"

/* Where API servers reach the webhooks. All borrowed. */
struct pl_registration_target {
    const char *url;       /* "https://HOST:PORT"; NULL: a service */
    const char *ns, *name; /* of the service */
    int port;              /* of the service */
    const char *ca_pem;    /* NULL: what the API server trusts anyway */
};

struct pl_registration_entry {
    const struct pl_hook_spec *spec; /* borrowed */
    const struct pl_hook_kind *kind; /* borrowed */
    const char *plural;              /* borrowed; NULL: not known yet, and left out */
};

/* The configuration of that sort (validate or mutate), or NULL when no entry is of it. A document
 * of its own, to be applied. */
struct pl_doc *pl_registration_config(enum pl_hook_sort sort, const char *name,
                                      const struct pl_registration_entry *entries, size_t count,
                                      const struct pl_registration_target *target);
/* A CRD's spec.conversion; target NULL: nothing, which gives it back. */
struct pl_doc *pl_registration_conversion(const char *crd,
                                          const struct pl_registration_target *target);

/* What is known of one object that is kept. */
struct pl_registration_memory {
    struct pl_doc
        *accepted; /* counted: the part as it was when we last saw it in order; NULL: never */
    char mark[40]; /* of who wrote it: PL_REGISTRATION_MARK then */
};
void pl_registration_memory_deinit(struct pl_registration_memory *memory);

/* Our part of the object: `webhooks` of a configuration, `spec.conversion` of a CRD. */
struct pl_node pl_registration_part(struct pl_node object);
/* Has somebody who is no replica changed it since? The object exists. */
bool pl_registration_is_undone(const struct pl_registration_memory *memory, struct pl_node object);
/* What is there now is in order: after our write, or as another replica has left it. */
void pl_registration_accept(struct pl_registration_memory *memory, struct pl_node object);

/* Does the configuration belong to these webhooks (our manager, and all of its webhooks are reached
 * where ours are)? */
bool pl_registration_is_ours(struct pl_node config, const struct pl_registration_target *target);

/* Object metadata: keys, owner references, resourceVersions. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "value/doc.h"
#include "object/kind.h"

/* ---- keys: "namespace/name", or "name" when cluster-scoped ---- */

/* Appends the object's key. EINVAL when it has no metadata.name. */
PL_MUST_USE int pl_meta_key(struct pl_node object, struct pl_buf *out, struct pl_err *err);
/* The same for an object of a cache or of its events, which has a name; appends nothing for an
 * object without one. */
void pl_meta_put_key(struct pl_node object, struct pl_buf *out);
/* Splits; namespace is empty for "name". EINVAL for anything with two slashes or an empty part. */
int pl_key_split(struct pl_slice key, struct pl_slice *ns, struct pl_slice *name);
/* Appends "ns/name", or "name" when ns is empty. */
void pl_key_add(struct pl_buf *out, struct pl_slice ns, struct pl_slice name);

/* ---- metadata fields; an empty slice when absent ---- */

struct pl_slice pl_meta_name(struct pl_node object, struct pl_scratch *scratch);
struct pl_slice pl_meta_namespace(struct pl_node object, struct pl_scratch *scratch);
struct pl_slice pl_meta_uid(struct pl_node object, struct pl_scratch *scratch);
struct pl_slice pl_meta_rv(struct pl_node object, struct pl_scratch *scratch);
/* Finds apiVersion and kind together; they usually come first. */
void pl_meta_type(struct pl_node object, struct pl_node *api_version, struct pl_node *kind);
/* True when both have the same uid, or both have none. */
bool pl_meta_same_uid(struct pl_node a, struct pl_node b);
/* True when both have the same resourceVersion, or both have none. */
bool pl_meta_same_rv(struct pl_node a, struct pl_node b);
int64_t pl_meta_generation(struct pl_node object); /* 0 when absent */
bool pl_meta_is_deleting(struct pl_node object);   /* has a deletionTimestamp */
bool pl_meta_has_finalizer(struct pl_node object, struct pl_slice name);
/* True if finalizers (those of a namespace are in its spec) or a grace period keep an object that
 * is being deleted. Otherwise it is gone, even if it is the answer to a write: that write has
 * removed the last finalizer. */
bool pl_meta_is_held(struct pl_node object);
/* True for a member of metadata that only the server writes, such as "uid". */
bool pl_meta_is_server_owned(struct pl_slice member);
struct pl_node pl_meta_labels(struct pl_node object);
struct pl_node pl_meta_annotations(struct pl_node object);

/* ---- owner references ---- */

struct pl_owner {
    struct pl_slice api_version, kind, name, uid; /* borrowed from the object or from scratch */
    bool controller;
    struct pl_scratch scratch[4];
};

size_t pl_meta_owner_count(struct pl_node object);
/* False beyond the end. */
bool pl_meta_owner(struct pl_node object, size_t index, struct pl_owner *owner);
/* The one with controller: true; false when there is none. */
bool pl_meta_controller(struct pl_node object, struct pl_owner *owner);

/* The annotation in which `kubectl apply` keeps an object as it was applied. */
#define PL_META_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

/* ---- resourceVersions (rule 38) ---- */

/* Digits without leading zeros, not "0". */
bool pl_rv_is_valid(struct pl_slice rv);
/* 0: it is not valid, or longer than 19 digits. */
uint64_t pl_rv_number(struct pl_slice rv);
/* <0, 0, >0; both must be valid. */
int pl_rv_compare(struct pl_slice a, struct pl_slice b);

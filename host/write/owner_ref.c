/* Reads the owner that a script gives, and refuses references that Kubernetes accepts but the
 * garbage collector punishes: an owner in another namespace, a cluster-scoped child of a namespaced
 * owner, a second controller. Other references of the object are kept. */
#include "write/owner_ref.h"

#include "value/build.h"
#include "object/meta.h"
#include "object/patch.h"

#include <string.h>

struct owner {
    struct pl_kind kind;
    struct pl_slice ns, name, uid;
    struct pl_scratch scratch[3];
};

static int owner_ref_refuse(struct pl_err *err, const char *rule, const char *what,
                            struct pl_slice child)
{
    pl_err_set(err, PL_EREFUSED, "%s: %.*s", what, PL_FMT(child));
    if (err != NULL)
        strcpy(err->reason, rule);
    return PL_EREFUSED;
}

static int read_owner(struct pl_node node, struct owner *owner, struct pl_err *err)
{
    if (pl_kind_of(node, &owner->kind, err) != 0)
        return PL_EINVAL;
    owner->ns = pl_meta_namespace(node, &owner->scratch[0]);
    owner->name = pl_meta_name(node, &owner->scratch[1]);
    owner->uid = pl_meta_uid(node, &owner->scratch[2]);
    if (owner->name.len == 0 || owner->uid.len == 0)
        return pl_err_set(err, PL_EINVAL, "the owner must be an object that was read: it has no %s",
                          owner->name.len == 0 ? "metadata.name" : "metadata.uid");
    return 0;
}

static bool is_ref_to(struct pl_node ref, const struct owner *owner)
{
    struct pl_scratch scratch[2];
    struct pl_kind kind;
    if (!pl_node_str_eq(pl_node_getz(ref, "name"), owner->name) ||
        pl_kind_from(pl_node_str(pl_node_getz(ref, "apiVersion"), &scratch[0]),
                     pl_node_str(pl_node_getz(ref, "kind"), &scratch[1]), &kind, NULL) != 0)
        return false;
    return pl_kind_eq_group(&kind, &owner->kind);
}

static bool is_set_already(struct pl_node refs, const struct owner *owner)
{
    for (struct pl_iter it = pl_iter(refs); pl_iter_next(&it);)
        if (is_ref_to(it.value, owner))
            return pl_node_str_eq(pl_node_getz(it.value, "uid"), owner->uid) &&
                   pl_node_bool(pl_node_getz(it.value, "controller")) &&
                   pl_node_bool(pl_node_getz(it.value, "blockOwnerDeletion"));
    return false;
}

static void build_ref(struct pl_build *b, const struct owner *owner)
{
    char text[PL_KIND_TEXT];
    pl_build_object(b);
    pl_build_put_strz(b, "apiVersion", pl_kind_api_version(&owner->kind, text));
    pl_build_put_strz(b, "kind", owner->kind.kind);
    pl_build_put_str(b, "name", owner->name);
    pl_build_put_str(b, "uid", owner->uid);
    pl_build_put_bool(b, "controller", true);
    pl_build_put_bool(b, "blockOwnerDeletion", true);
    pl_build_end(b);
}

/* A reference to the same group, kind and name is replaced: its owner was created anew. */
static struct pl_doc *build_refs(struct pl_node refs, const struct owner *owner)
{
    struct pl_build *b = pl_build_create(NULL);
    pl_build_array(b);
    for (struct pl_iter it = pl_iter(refs); pl_iter_next(&it);)
        if (!is_ref_to(it.value, owner))
            pl_build_node(b, it.value);
    build_ref(b, owner);
    pl_build_end(b);
    return pl_build_close(b);
}

static struct pl_doc *with_string(struct pl_doc *doc, const char *field, struct pl_slice text)
{
    struct pl_build *b = pl_build_create(NULL);
    pl_build_str(b, text);
    struct pl_doc *value = pl_build_close(b);
    const char *keys[] = {"metadata", field};
    struct pl_doc *changed = pl_doc_with(pl_doc_root(doc), keys, 2, pl_doc_root(value));
    pl_doc_unref(value);
    pl_doc_unref(doc);
    return changed;
}

/* By uid, or by name: then the owner was created anew, and its reference is replaced. */
static bool is_same_owner(const struct pl_owner *controller, const struct owner *owner)
{
    struct pl_kind kind;
    if (pl_slice_eq(controller->uid, owner->uid))
        return true;
    return pl_kind_from(controller->api_version, controller->kind, &kind, NULL) == 0 &&
           pl_kind_eq_group(&kind, &owner->kind) && pl_slice_eq(controller->name, owner->name);
}

static int owner_ref_check_scope(struct pl_node object, const struct pl_resource *resource,
                                 const struct owner *owner, struct pl_err *err)
{
    struct pl_scratch scratch[2];
    struct pl_slice ns = pl_meta_namespace(object, &scratch[0]);
    struct pl_slice name = pl_meta_name(object, &scratch[1]);
    if (owner->ns.len > 0 && !resource->namespaced)
        return owner_ref_refuse(err, "scope",
                                "a namespaced owner cannot own a cluster-scoped object", name);
    if (owner->ns.len > 0 && ns.len > 0 && !pl_slice_eq(ns, owner->ns))
        return owner_ref_refuse(err, "scope", "an owner in another namespace cannot own an object",
                                name);
    struct pl_owner controller;
    if (pl_meta_controller(object, &controller) && !is_same_owner(&controller, owner))
        return owner_ref_refuse(err, "scope", "another controller owns the object already", name);
    return 0;
}

struct pl_doc *pl_owner_ref_set(struct pl_doc *object, const struct pl_resource *resource,
                                struct pl_node owner_node, struct pl_err *err)
{
    struct owner owner;
    struct pl_node root = pl_doc_root(object);
    if (read_owner(owner_node, &owner, err) != 0 ||
        owner_ref_check_scope(root, resource, &owner, err) != 0)
        return NULL;
    struct pl_doc *doc = pl_doc_ref(object);
    struct pl_node refs = pl_node_dig(root, "metadata", "ownerReferences");
    if (!is_set_already(refs, &owner)) {
        struct pl_doc *made = build_refs(refs, &owner);
        static const char *const keys[] = {"metadata", "ownerReferences"};
        struct pl_doc *changed = pl_doc_with(pl_doc_root(doc), keys, 2, pl_doc_root(made));
        pl_doc_unref(made);
        pl_doc_unref(doc);
        doc = changed;
    }
    struct pl_scratch scratch;
    if (resource->namespaced && owner.ns.len > 0 &&
        pl_meta_namespace(pl_doc_root(doc), &scratch).len == 0)
        doc = with_string(doc, "namespace", owner.ns);
    return doc;
}

int pl_owner_ref_check_existing(struct pl_node existing, struct pl_node owner_node, bool adopt,
                                struct pl_err *err)
{
    struct owner owner;
    if (read_owner(owner_node, &owner, err) != 0)
        return PL_EINVAL;
    struct pl_scratch scratch;
    struct pl_slice name = pl_meta_name(existing, &scratch);
    struct pl_owner controller;
    if (!pl_meta_controller(existing, &controller)) {
        if (adopt)
            return 0;
        return owner_ref_refuse(
            err, "adopt", "the object exists and has no controller; adopt = true takes it over",
            name);
    }
    if (!is_same_owner(&controller, &owner))
        return owner_ref_refuse(err, "scope", "another controller owns the object already", name);
    return 0;
}

bool pl_owner_ref_replaces(struct pl_node existing, struct pl_node object, struct pl_owner *owner)
{
    struct pl_owner before;
    struct pl_kind kinds[2];
    if (!pl_meta_controller(existing, &before) || !pl_meta_controller(object, owner))
        return false;
    return pl_slice_eq(before.name, owner->name) && !pl_slice_eq(before.uid, owner->uid) &&
           pl_kind_from(before.api_version, before.kind, &kinds[0], NULL) == 0 &&
           pl_kind_from(owner->api_version, owner->kind, &kinds[1], NULL) == 0 &&
           pl_kind_eq_group(&kinds[0], &kinds[1]);
}

int pl_owner_ref_check(struct pl_node object, const struct pl_resource *resource,
                       pl_is_namespaced_fn owner_is_namespaced, void *arg, struct pl_err *err)
{
    struct pl_scratch scratch;
    struct pl_slice name = pl_meta_name(object, &scratch);
    struct pl_owner owner;
    int controllers = 0;
    for (size_t i = 0; pl_meta_owner(object, i, &owner); i++) {
        controllers += owner.controller;
        struct pl_kind kind;
        if (pl_kind_from(owner.api_version, owner.kind, &kind, NULL) != 0)
            continue; /* the server reports the error in it */
        if (!resource->namespaced && owner_is_namespaced(arg, &kind))
            return owner_ref_refuse(err, "scope",
                                    "a namespaced owner cannot own a cluster-scoped object", name);
    }
    if (controllers > 1)
        return owner_ref_refuse(err, "scope", "an object cannot have two controllers", name);
    return 0;
}

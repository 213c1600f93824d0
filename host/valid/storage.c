/* PersistentVolumeClaims, PersistentVolumes, StorageClasses, CSI drivers and VolumeAttachments. */
#include "valid/kinds.h"
#include "gotype/go_struct.h"

#include "format/units.h"
#include "object/tree.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

#define MOST_PARAMETERS      512 /* of a class of storage */
#define MOST_PARAMETER_BYTES (256 * 1024)
#define SPEC                 PL_MEMBER(NULL, "spec")
#define MODES                "ReadOnlyMany,ReadWriteMany,ReadWriteOnce,ReadWriteOncePod"

static void check_modes(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *modes, const char *why)
{
    bool alone = false;
    if (pl_is_empty(modes))
        pl_bad_required(f, at, why);
    PL_EACH(item, modes)
    {
        pl_must_be(f, at, item->value, MODES);
        alone = alone || pl_slice_eqz(pl_tree_text(item->value), "ReadWriteOncePod");
    }
    if (alone && modes->count > 1)
        pl_bad_forbidden(f, at, "may not use ReadWriteOncePod with other access modes");
}

/* ---- claims ---- */

static void storage_check_source(struct pl_api_faults *f, const struct pl_spot *at,
                                 const struct pl_tree *source, bool any_group)
{
    if (source == NULL)
        return;
    pl_need(f, PL_MEMBER(at, "name"), pl_tree_getz(source, "name"), NULL);
    pl_need(f, PL_MEMBER(at, "kind"), pl_tree_getz(source, "kind"), NULL);
    if (pl_is_empty(pl_tree_getz(source, "apiGroup")) &&
        !pl_slice_eqz(pl_tree_text_at(source, "kind"), "PersistentVolumeClaim"))
        pl_bad_value(f, at, pl_or_empty(f, pl_tree_getz(source, "kind")),
                     "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
    if (!any_group)
        pl_subdomain(f, PL_MEMBER(at, "apiGroup"), pl_tree_getz(source, "apiGroup"), NULL);
}

static bool has_group(const struct pl_tree *spec)
{
    return pl_tree_dig(spec, "dataSource.apiGroup") != NULL ||
           pl_tree_dig(spec, "dataSourceRef.apiGroup") != NULL;
}

/* A claim with two sources: they are the same, or the second one is in another namespace. */
static void check_sources(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *source, const struct pl_tree *ref)
{
    static const char members[][12] = {"apiGroup", "kind", "name"};
    bool same = true;
    if (source == NULL || ref == NULL)
        return;
    for (size_t i = 0; i < PL_ARRAY_LEN(members); i++)
        same = same && pl_tree_equal(pl_or_empty(f, pl_tree_getz(source, members[i])),
                                     pl_or_empty(f, pl_tree_getz(ref, members[i])));
    if (!pl_is_empty(pl_tree_getz(ref, "namespace")))
        pl_bad_value(f, at, pl_tree_object(f->arena),
                     "may not be specified when dataSourceRef.namespace is specified");
    else if (!same)
        pl_bad_value(f, at, pl_tree_object(f->arena), "must match dataSourceRef");
}

void pl_valid_claim_spec(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *spec, const struct pl_tree *old)
{
    static const struct pl_rule rules[] = {{"selector", pl_selector, NULL},
                                           {"storageClassName", pl_subdomain, NULL},
                                           {"volumeAttributesClassName", pl_subdomain, NULL},
                                           {"volumeMode", pl_if_set, "Block,Filesystem"},
                                           {NULL, NULL, NULL}};
    const struct pl_tree *size = pl_tree_dig(spec, "resources.requests.storage");
    const struct pl_spot *spot = PL_OF_KEY(PL_MEMBER(at, "resources"), pl_slice_z("storage"));
    check_modes(f, PL_MEMBER(at, "accessModes"), pl_tree_getz(spec, "accessModes"),
                "at least 1 access mode is required");
    pl_hold(f, at, spec, rules);
    if (size == NULL)
        pl_bad_required(f, spot, "");
    else if (pl_quantity_sign(size) <= 0)
        pl_bad_value(f, spot, size, "must be greater than zero");
    const struct pl_tree *source = pl_tree_getz(spec, "dataSource");
    const struct pl_tree *ref = pl_tree_getz(spec, "dataSourceRef");
    const struct pl_spot *ref_at = PL_MEMBER(at, "dataSourceRef");
    storage_check_source(f, PL_MEMBER(at, "dataSource"), source, has_group(old));
    storage_check_source(f, ref_at, ref, has_group(old));
    pl_label(f, PL_MEMBER(ref_at, "namespace"), pl_tree_getz(ref, "namespace"), NULL);
    check_sources(f, at, source, ref);
}

/* kube-apiserver reports the members by the names that they have in Go. */
void pl_valid_template_meta(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *meta)
{
    pl_annotations(f, PL_MEMBER(at, "annotations"), pl_tree_getz(meta, "annotations"), NULL);
    pl_labels(f, PL_MEMBER(at, "labels"), pl_tree_getz(meta, "labels"), NULL);
    PL_TREE_FOR(item, meta)
    {
        struct pl_slice name = item->key;
        if (pl_slice_eqz(name, "labels") || pl_slice_eqz(name, "annotations") ||
            pl_is_empty(item->value))
            continue;
        pl_bad_forbidden(
            f, PL_MEMBER(at, pl_slice_eqz(name, "uid") ? "uID" : pl_arena_copy(f->arena, name).ptr),
            "cannot be set");
    }
}

static void take(struct pl_api_faults *f, struct pl_tree *to, const struct pl_tree *from,
                 const char *member)
{
    const struct pl_tree *value = pl_tree_getz(from, member);
    if (to == NULL)
        return;
    pl_tree_removez(to, member);
    if (value != NULL)
        pl_tree_setz(f->arena, to, member, pl_tree_copy(f->arena, value));
}

/* A bound claim may change its size and its attributes class; any other claim may change
 * nothing. */
static void check_claim_change(struct pl_api_faults *f, const struct pl_tree *object,
                               const struct pl_tree *before)
{
    const struct pl_tree *spec = pl_tree_getz(object, "spec"), *old = pl_tree_getz(before, "spec");
    const struct pl_tree *size = pl_tree_dig(spec, "resources.requests.storage");
    const struct pl_tree *has = pl_tree_dig(before, "status.capacity.storage");
    struct pl_tree *is = pl_tree_copy(f->arena, spec), *was = pl_tree_copy(f->arena, old);
    if (pl_slice_eqz(pl_tree_text_at(object, "status.phase"), "Bound")) {
        take(f, pl_tree_dig(is, "resources.requests"), pl_tree_dig(was, "resources.requests"),
             "storage");
        take(f, is, was, "volumeAttributesClassName");
    }
    if (pl_is_empty(pl_tree_getz(was, "volumeName")))
        take(f, was, is, "volumeName");
    if (pl_tree_getz(was, "storageClassName") == NULL)
        take(f, was, is, "storageClassName");
    if (!pl_tree_equal(is, was))
        pl_api_fault(f, "FieldValueForbidden", pl_slice_z("spec"),
                     "Forbidden: spec is immutable after creation except resources.requests and "
                     "volumeAttributesClassName for bound claims\n%.*s",
                     PL_FMT(pl_go_struct_diff(f->arena, "@PersistentVolumeClaimSpec", was, is)));
    pl_frozen(f, PL_MEMBER(NULL, "volumeMode"), pl_tree_getz(spec, "volumeMode"),
              pl_tree_getz(old, "volumeMode"));
    if (pl_quantity_cmp(size, pl_tree_dig(old, "resources.requests.storage")) < 0 &&
        pl_quantity_cmp(size, has) <= 0)
        pl_bad_forbidden(f,
                         PL_MEMBER(PL_MEMBER(PL_MEMBER(SPEC, "resources"), "requests"), "storage"),
                         "field can not be less than status.capacity");
}

void pl_valid_claim(struct pl_api_faults *f, const struct pl_tree *object,
                    const struct pl_tree *old)
{
    pl_valid_claim_spec(f, SPEC, pl_tree_getz(object, "spec"), pl_tree_getz(old, "spec"));
    if (old != NULL)
        check_claim_change(f, object, old);
}

/* ---- volumes ---- */

static const char sources[][24] = {"hostPath",
                                   "gcePersistentDisk",
                                   "awsElasticBlockStore",
                                   "glusterfs",
                                   "nfs",
                                   "rbd",
                                   "quobyte",
                                   "iscsi",
                                   "flexVolume",
                                   "cinder",
                                   "cephfs",
                                   "fc",
                                   "flocker",
                                   "azureFile",
                                   "vsphereVolume",
                                   "azureDisk",
                                   "photonPersistentDisk",
                                   "portworxVolume",
                                   "scaleIO",
                                   "local",
                                   "storageos",
                                   "csi"};

static void check_capacity(struct pl_api_faults *f, const struct pl_tree *capacity)
{
    const struct pl_spot *at = PL_MEMBER(SPEC, "capacity");
    const struct pl_tree *size = pl_tree_getz(capacity, "storage");
    if (pl_is_empty(capacity))
        pl_bad_required(f, at, "");
    if (size == NULL || capacity->count > 1)
        pl_api_fault(f, "FieldValueNotSupported", pl_spot_text(f, at),
                     "Unsupported value: %.*s: supported values: \"storage\"",
                     PL_FMT(pl_shown(f, capacity)));
    const struct pl_spot *spot = PL_OF_KEY(at, pl_slice_z("storage"));
    double amount = 0;
    if (size != NULL && pl_quantity_sign(size) < 0 &&
        pl_quantity_parse(pl_tree_text(size), &amount))
        pl_api_fault(f, "FieldValueInvalid", pl_spot_text(f, spot),
                     "Invalid value: %.0f: must be a valid resource quantity", floor(amount));
    if (size != NULL && pl_quantity_sign(size) <= 0)
        pl_bad_value(f, spot, size, "must be greater than zero");
}

static void check_volume_affinity(struct pl_api_faults *f, const struct pl_tree *affinity)
{
    const struct pl_spot *at = PL_MEMBER(PL_MEMBER(SPEC, "nodeAffinity"), "required");
    if (affinity == NULL)
        return;
    if (pl_tree_getz(affinity, "required") == NULL)
        pl_bad_required(f, at, "must specify required node constraints");
    else
        pl_valid_node_selector(f, at, pl_tree_getz(affinity, "required"));
}

static void check_secret(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *secret)
{
    static const struct pl_rule rules[] = {{"name", pl_need, ""},
                                           {"name", pl_subdomain, NULL},
                                           {"namespace", pl_need, ""},
                                           {"namespace", pl_label, NULL},
                                           {NULL, NULL, NULL}};
    if (secret != NULL)
        pl_hold(f, at, secret, rules);
}

static void check_csi_volume(struct pl_api_faults *f, const struct pl_tree *csi)
{
    static const char secrets[][28] = {"controllerPublishSecretRef", "controllerExpandSecretRef",
                                       "nodePublishSecretRef", "nodeExpandSecretRef"};
    const struct pl_spot *at = PL_MEMBER(SPEC, "csi");
    if (csi == NULL)
        return;
    for (size_t i = 0; i < PL_ARRAY_LEN(secrets); i++)
        check_secret(f, PL_MEMBER(at, secrets[i]), pl_tree_getz(csi, secrets[i]));
}

/* "/", also as "//" or "/.". */
static bool is_root_path(struct pl_slice path)
{
    bool root = path.len > 0 && path.ptr[0] == '/';
    for (size_t i = 0; i < path.len; i++)
        root = root && (path.ptr[i] == '/' ||
                        (path.ptr[i] == '.' && (i + 1 == path.len || path.ptr[i + 1] == '/')));
    return root;
}

static void check_volume_source(struct pl_api_faults *f, const struct pl_tree *spec,
                                struct pl_slice name)
{
    const char *first = NULL; /* only that one is looked at */
    size_t count = 0;
    for (size_t i = 0; i < PL_ARRAY_LEN(sources); i++)
        if (pl_tree_getz(spec, sources[i]) != NULL && count++ > 0)
            pl_bad_forbidden(f, PL_MEMBER(SPEC, sources[i]),
                             "may not specify more than 1 volume type");
        else if (count == 1 && first == NULL)
            first = sources[i];
    if (count == 0)
        pl_bad_required(f, SPEC, "must specify a volume type");
    check_csi_volume(f, pl_tree_getz(spec, "csi"));
    if (is_root_path(pl_tree_text_at(spec, "hostPath.path")) &&
        pl_slice_eqz(pl_tree_text_at(spec, "persistentVolumeReclaimPolicy"), "Recycle"))
        pl_bad_forbidden(f, PL_MEMBER(SPEC, "persistentVolumeReclaimPolicy"),
                         "may not be 'recycle' for a hostPath mount of '/'");
    if (pl_tree_getz(spec, "local") != NULL && pl_tree_getz(spec, "nodeAffinity") == NULL)
        pl_bad_required(f, PL_MEMBER(SPEC, "nodeAffinity"), "Local volume requires node affinity");
    pl_valid_source_of_volume(f, SPEC, pl_valid_only_member(f, spec, first), name);
}

/* The annotation for mount options, which only some kinds of volumes support. */
static void check_mount_options(struct pl_api_faults *f, const struct pl_tree *object)
{
    static const char may[][24] = {"gcePersistentDisk",
                                   "awsElasticBlockStore",
                                   "glusterfs",
                                   "nfs",
                                   "rbd",
                                   "quobyte",
                                   "iscsi",
                                   "cinder",
                                   "cephfs",
                                   "azureFile",
                                   "vsphereVolume",
                                   "azureDisk",
                                   "photonPersistentDisk"};
    static const char mark[] = "volume.beta.kubernetes.io/mount-options";
    for (size_t i = 0; i < PL_ARRAY_LEN(may); i++)
        if (pl_tree_getz(pl_tree_getz(object, "spec"), may[i]) != NULL)
            return;
    if (pl_tree_getz(pl_tree_dig(object, "metadata.annotations"), mark) != NULL)
        pl_bad_forbidden(f, PL_MEMBER(PL_MEMBER(PL_MEMBER(NULL, "metadata"), "annotations"), mark),
                         "may not specify mount options for this volume type");
}

void pl_valid_volume(struct pl_api_faults *f, const struct pl_tree *object,
                     const struct pl_tree *old)
{
    static const struct pl_rule rules[] = {
        {"persistentVolumeReclaimPolicy", pl_one_of, "Delete,Recycle,Retain"},
        {"storageClassName", pl_subdomain, NULL},
        {"volumeMode", pl_if_set, "Block,Filesystem"},
        {NULL, NULL, NULL},
    };
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    check_modes(f, PL_MEMBER(SPEC, "accessModes"), pl_tree_getz(spec, "accessModes"), "");
    check_capacity(f, pl_tree_getz(spec, "capacity"));
    const struct pl_tree *attributes = pl_tree_getz(spec, "volumeAttributesClassName");
    pl_hold(f, SPEC, spec, rules);
    if (attributes != NULL && attributes->text.len == 0)
        pl_bad_required(f, PL_MEMBER(SPEC, "volumeAttributesClassName"),
                        "an empty string is disallowed");
    pl_subdomain(f, PL_MEMBER(SPEC, "volumeAttributesClassName"), attributes, NULL);
    if (attributes != NULL && pl_tree_getz(spec, "csi") == NULL)
        pl_bad_required(f, PL_MEMBER(SPEC, "csi"),
                        "has to be specified when using volumeAttributesClassName");
    if (attributes == NULL && pl_tree_dig(old, "spec.volumeAttributesClassName") != NULL)
        pl_bad_forbidden(f, PL_MEMBER(SPEC, "volumeAttributesClassName"),
                         "update from non-nil value to nil is forbidden");
    check_volume_affinity(f, pl_tree_getz(spec, "nodeAffinity"));
    check_volume_source(f, spec, pl_tree_text_at(object, "metadata.name"));
    check_mount_options(f, object);
    for (size_t i = 0; old != NULL && i < PL_ARRAY_LEN(sources); i++) {
        const struct pl_tree *was = pl_tree_getz(pl_tree_getz(old, "spec"), sources[i]);
        if (was != NULL && !pl_tree_equal(was, pl_tree_getz(spec, sources[i]))) {
            pl_api_fault(f, "FieldValueForbidden", pl_slice_z("spec.persistentvolumesource"),
                         "Forbidden: spec.persistentvolumesource is immutable after creation\n%.*s",
                         PL_FMT(pl_go_struct_diff(f->arena, "@PersistentVolumeSource",
                                                  pl_tree_getz(old, "spec"), spec)));
            break;
        }
    }
    if (old != NULL)
        pl_frozen(f, PL_MEMBER(NULL, "volumeMode"), pl_tree_getz(spec, "volumeMode"),
                  pl_tree_dig(old, "spec.volumeMode"));
}

/* ---- storage classes ---- */

static void low_qualified(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *value, const char *arg)
{
    if (pl_is_empty(value))
        pl_bad_required(f, at, "");
    else
        pl_qualified(f, at, pl_in_small_letters(f, value), arg);
}

static void check_parameters(struct pl_api_faults *f, const struct pl_tree *parameters)
{
    const struct pl_spot *at = PL_MEMBER(NULL, "parameters");
    size_t bytes = 0;
    if (!pl_tree_is(parameters, PL_OBJECT))
        return;
    if (parameters->count > MOST_PARAMETERS) {
        pl_bad_long(f, at, "512 bytes");
        return;
    }
    PL_TREE_FOR(item, parameters)
    {
        if (item->key.len == 0)
            pl_bad_value(f, at, pl_tree_strz(f->arena, ""), "field can not be empty.");
        bytes += item->key.len + pl_tree_text(item->value).len;
    }
    if (bytes > MOST_PARAMETER_BYTES)
        pl_bad_long(f, at, "262144 bytes");
}

static void check_topologies(struct pl_api_faults *f, const struct pl_tree *list)
{
    static const struct pl_rule rules[] = {
        {"[].key", pl_qualified, "always"}, {"[].values", pl_need, NULL}, {NULL, NULL, NULL}};
    const struct pl_spot *at = PL_MEMBER(NULL, "allowedTopologies");
    struct pl_map seen = PL_MAP_INIT;
    size_t i = 0;
    PL_EACH(item, list)
    {
        const struct pl_spot *spot = PL_MEMBER(PL_INDEX(at, i++), "matchLabelExpressions");
        const struct pl_tree *terms = pl_tree_getz(item->value, "matchLabelExpressions");
        size_t k = 0;
        pl_hold(f, spot, terms, rules);
        pl_unique(f, spot, terms, "key");
        PL_EACH(term, terms)
        pl_unique(f, PL_MEMBER(PL_INDEX(spot, k++), "values"), pl_tree_getz(term->value, "values"),
                  NULL);
        if (pl_comes_again(&seen, terms, NULL) || pl_is_empty(terms))
            pl_bad_duplicate(f, spot, pl_tree_strz(f->arena, ""));
    }
    pl_map_deinit(&seen);
}

void pl_valid_storage_class(struct pl_api_faults *f, const struct pl_tree *object,
                            const struct pl_tree *old)
{
    static const struct pl_rule rules[] = {
        {"provisioner", low_qualified, NULL},
        {"reclaimPolicy", pl_one_of, "Delete,Retain"},
        {"volumeBindingMode", pl_must_be, "Immediate,WaitForFirstConsumer"},
        {NULL, NULL, NULL},
    };
    static const char frozen[][20] = {"parameters", "provisioner", "reclaimPolicy",
                                      "volumeBindingMode"};
    pl_hold(f, NULL, object, rules);
    check_parameters(f, pl_tree_getz(object, "parameters"));
    check_topologies(f, pl_tree_getz(object, "allowedTopologies"));
    for (size_t i = 0; old != NULL && i < PL_ARRAY_LEN(frozen); i++) {
        const struct pl_tree *is = pl_tree_getz(object, frozen[i]);
        const struct pl_tree *was = pl_tree_getz(old, frozen[i]);
        if ((pl_is_empty(is) && pl_is_empty(was)) || pl_tree_equal(is, was))
            continue;
        pl_bad_value(f, PL_MEMBER(NULL, frozen[i]), NULL, "field is immutable");
    }
}

/* ---- drivers and attachments ---- */

void pl_valid_csi_driver(struct pl_api_faults *f, const struct pl_tree *object,
                         const struct pl_tree *old)
{
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    const struct pl_tree *tokens = pl_tree_getz(spec, "tokenRequests");
    const struct pl_spot *list = PL_MEMBER(SPEC, "tokenRequests");
    size_t i = 0;
    if (pl_tree_text_at(object, "metadata.name").len > 63)
        pl_bad_long(f, PL_MEMBER(PL_MEMBER(NULL, "metadata"), "name"), "63 bytes");
    pl_if_set(f, PL_MEMBER(SPEC, "fsGroupPolicy"), pl_tree_getz(spec, "fsGroupPolicy"),
              "File,None,ReadWriteOnceWithFSType");
    PL_EACH(item, pl_tree_getz(spec, "volumeLifecycleModes"))
    pl_must_be(f, PL_MEMBER(SPEC, "volumeLifecycleModes"), item->value, "Persistent,Ephemeral");
    pl_unique(f, list, tokens, "audience");
    PL_EACH(item, tokens)
    {
        int64_t seconds;
        const struct pl_tree *value = pl_tree_getz(item->value, "expirationSeconds");
        if (pl_tree_integer(value, &seconds) && seconds < 600)
            pl_bad_value(f, PL_MEMBER(PL_INDEX(list, i), "expirationSeconds"), value,
                         "may not specify a duration less than 10 minutes");
        i++;
    }
    const struct pl_tree *period = pl_tree_getz(spec, "nodeAllocatableUpdatePeriodSeconds");
    if (period != NULL && pl_number_at(spec, "nodeAllocatableUpdatePeriodSeconds") < 10)
        pl_bad_value(f, PL_MEMBER(SPEC, "nodeAllocatableUpdatePeriodSeconds"), period,
                     "must be greater than or equal to 10 seconds");
    if (old == NULL)
        return;
    pl_frozen(f, PL_MEMBER(SPEC, "attachedRequired"), pl_tree_getz(spec, "attachRequired"),
              pl_tree_dig(old, "spec.attachRequired"));
    pl_frozen(f, PL_MEMBER(SPEC, "volumeLifecycleModes"),
              pl_tree_getz(spec, "volumeLifecycleModes"),
              pl_tree_dig(old, "spec.volumeLifecycleModes"));
}

void pl_valid_attachment(struct pl_api_faults *f, const struct pl_tree *object,
                         const struct pl_tree *old)
{
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    const struct pl_tree *attacher = pl_tree_getz(spec, "attacher");
    const struct pl_tree *name = pl_tree_dig(spec, "source.persistentVolumeName");
    const struct pl_tree *node = pl_tree_getz(spec, "nodeName");
    const struct pl_spot *at = PL_MEMBER(SPEC, "attacher"), *source = PL_MEMBER(SPEC, "source");
    struct pl_slice text = pl_tree_text(attacher);
    bool has_inline = pl_tree_dig(spec, "source.inlineVolumeSpec") != NULL;
    if (text.len == 0)
        pl_bad_required(f, at, "");
    else if (text.len > 63)
        pl_bad_long(f, at, "63 characters");
    if (text.len > 253)
        pl_bad_value(f, at, attacher, "must be no more than 253 bytes");
    else if (text.len > 0 && !pl_text_is_subdomain(text))
        pl_bad_value(f, at, attacher,
                     "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', "
                     "and must start and end with an alphanumeric character (e.g. 'Example.com', "
                     "regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?"
                     "(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')");
    pl_subdomain(f, PL_MEMBER(SPEC, "nodeName"), node, "always");
    if (name != NULL && has_inline)
        pl_bad_forbidden(f, source,
                         "must specify exactly one of inlineVolumeSpec and persistentVolumeName");
    else if (name == NULL && !has_inline)
        pl_bad_required(f, source,
                        "must specify exactly one of inlineVolumeSpec and persistentVolumeName");
    else if (name != NULL && pl_is_empty(name))
        pl_bad_required(f, PL_MEMBER(source, "persistentVolumeName"),
                        "must specify non empty persistentVolumeName");
    if (name != NULL)
        pl_subdomain(f, PL_MEMBER(source, "persistentVolumeName"), name, "always");
    if (old != NULL)
        pl_frozen_unseen(f, SPEC, spec, pl_tree_getz(old, "spec"));
}

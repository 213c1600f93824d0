/* Volumes of a pod: names, and that each has exactly one source with its required members. */
#include "valid/kinds.h"

#include "object/tree.h"

#include <string.h>

static const char *const sources[] = {"emptyDir",
                                      "hostPath",
                                      "gitRepo",
                                      "gcePersistentDisk",
                                      "awsElasticBlockStore",
                                      "secret",
                                      "nfs",
                                      "iscsi",
                                      "glusterfs",
                                      "persistentVolumeClaim",
                                      "rbd",
                                      "flexVolume",
                                      "cinder",
                                      "cephfs",
                                      "flocker",
                                      "downwardAPI",
                                      "fc",
                                      "azureFile",
                                      "configMap",
                                      "vsphereVolume",
                                      "quobyte",
                                      "azureDisk",
                                      "photonPersistentDisk",
                                      "projected",
                                      "portworxVolume",
                                      "scaleIO",
                                      "storageos",
                                      "csi",
                                      "ephemeral",
                                      "image"};

static void mode(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
                 const char *arg)
{
    int64_t is;
    PL_UNUSED(arg);
    if (pl_tree_integer(value, &is) && (is < 0 || is > 511))
        pl_bad_value(f, at, value, "must be a number between 0 and 0777 (octal), both inclusive");
}

static void volume_seconds(struct pl_api_faults *f, const struct pl_spot *at,
                           const struct pl_tree *value, const char *arg)
{
    int64_t is;
    PL_UNUSED(arg);
    if (pl_tree_integer(value, &is) && is < 600)
        pl_bad_value(f, at, value, "may not specify a duration less than 10 minutes");
}

static void inner_path(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *value, const char *arg)
{
    struct pl_slice text = pl_tree_text(value);
    if (text.len == 0)
        pl_bad_required(f, at, arg != NULL ? arg : "");
    else if (text.ptr[0] == '/')
        pl_bad_value(f, at, value, "must be a relative path");
    else if (pl_slice_eqz(text, "..") || memmem(text.ptr, text.len, "../", 3) != NULL)
        pl_bad_value(f, at, value, "must not contain '..'");
}

static void downward_field(struct pl_api_faults *f, const struct pl_spot *at,
                           const struct pl_tree *value)
{
    struct pl_slice text = pl_tree_text(value);
    static const char keyed[] = "metadata.annotations['", keyed2[] = "metadata.labels['";
    if (text.len == 0)
        pl_bad_required(f, at, "");
    else if (!pl_is_among(text, "metadata.name,metadata.namespace,metadata.labels,"
                                "metadata.annotations,metadata.uid") &&
             (text.len < sizeof(keyed) || memcmp(text.ptr, keyed, sizeof(keyed) - 1) != 0) &&
             (text.len < sizeof(keyed2) || memcmp(text.ptr, keyed2, sizeof(keyed2) - 1) != 0))
        pl_bad_value(f, at, value, "error converting fieldPath: field label not supported: %.*s",
                     PL_FMT(text));
}

/* kube-apiserver's message has no indices of items here. */
static void check_downward(struct pl_api_faults *f, const struct pl_spot *at,
                           const struct pl_tree *source)
{
    PL_EACH(item, pl_tree_getz(source, "items"))
    {
        const struct pl_tree *field = pl_tree_getz(item->value, "fieldRef");
        inner_path(f, PL_MEMBER(at, "path"), pl_tree_getz(item->value, "path"), NULL);
        if (field != NULL)
            downward_field(f, PL_MEMBER(PL_MEMBER(at, "fieldRef"), "fieldPath"),
                           pl_tree_getz(field, "fieldPath"));
        else if (pl_tree_getz(item->value, "resourceFieldRef") == NULL)
            pl_bad_required(f, at, "one of fieldRef and resourceFieldRef is required");
    }
}

static const struct pl_rule source_rules[] = {
    {"hostPath.path", pl_need, NULL},
    {"hostPath.type", pl_if_set,
     ",BlockDevice,CharDevice,Directory,DirectoryOrCreate,File,FileOrCreate,Socket"},
    {"secret.secretName", pl_need, NULL},
    {"secret.defaultMode", mode, NULL},
    {"secret.items[].key", pl_need, NULL},
    {"secret.items[].path", inner_path, NULL},
    {"configMap.name", pl_need, NULL},
    {"configMap.defaultMode", mode, NULL},
    {"configMap.items[].key", pl_need, NULL},
    {"configMap.items[].path", inner_path, NULL},
    {"downwardAPI.defaultMode", mode, NULL},
    {"persistentVolumeClaim.claimName", pl_need, NULL},
    {"nfs.server", pl_need, NULL},
    {"nfs.path", pl_need, NULL},
    {"csi.driver", pl_need, NULL},
    {"projected.defaultMode", mode, NULL},
    {"projected.sources[].secret.name", pl_need, NULL},
    {"projected.sources[].configMap.name", pl_need, NULL},
    {"projected.sources[].serviceAccountToken.expirationSeconds", volume_seconds, NULL},
    {NULL, NULL, NULL},
};

/* A path in a projected volume must not come from two sources. */
static void only_once(struct pl_api_faults *f, const struct pl_spot *at, struct pl_tree *seen,
                      const struct pl_tree *path)
{
    if (pl_is_empty(path))
        return;
    if (pl_tree_get(seen, path->text) != NULL)
        pl_bad_value(f, at, path, "conflicting duplicate paths");
    pl_tree_set(f->arena, seen, path->text, pl_tree_bool(f->arena, true));
}

static void check_paths(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *projected)
{
    static const char *const listed[] = {"secret", "configMap", "downwardAPI"};
    static const char *const single[] = {"serviceAccountToken", "clusterTrustBundle"};
    struct pl_tree *seen = pl_tree_object(f->arena);
    PL_EACH(source, pl_tree_getz(projected, "sources"))
    {
        for (size_t i = 0; i < PL_ARRAY_LEN(listed); i++)
            PL_EACH(item, pl_tree_getz(pl_tree_getz(source->value, listed[i]), "items"))
        only_once(f, at, seen, pl_tree_getz(item->value, "path"));
        for (size_t i = 0; i < PL_ARRAY_LEN(single); i++)
            only_once(f, at, seen, pl_tree_getz(pl_tree_getz(source->value, single[i]), "path"));
    }
}

static void check_projected(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *projected, const struct pl_tree *spec)
{
    const struct pl_spot *list = PL_MEMBER(at, "sources");
    size_t i = 0;
    PL_EACH(item, pl_tree_getz(projected, "sources"))
    {
        const struct pl_spot *spot = PL_INDEX(list, i++);
        const struct pl_tree *token = pl_tree_getz(item->value, "serviceAccountToken");
        if (token != NULL && pl_is_empty(pl_tree_getz(spec, "serviceAccountName")))
            pl_bad_forbidden(f, PL_MEMBER(spot, "serviceAccountToken"),
                             "must not be specified when serviceAccountName is not set");
        if (token != NULL) /* the same fault again, at the path that kube-apiserver reports */
            inner_path(f, PL_MEMBER(at, "path"), pl_tree_getz(token, "path"), NULL);
        check_downward(f, PL_MEMBER(spot, "downwardAPI"), pl_tree_getz(item->value, "downwardAPI"));
    }
}

static void check_volume(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *volume, const struct pl_tree *spec)
{
    size_t count = 0;
    for (size_t i = 0; i < PL_ARRAY_LEN(sources); i++)
        if (pl_tree_getz(volume, sources[i]) != NULL && count++ > 0)
            pl_bad_forbidden(f, PL_MEMBER(at, sources[i]),
                             "may not specify more than 1 volume type");
    if (count == 0)
        pl_bad_required(f, at, "must specify a volume type");
    pl_hold(f, at, volume, source_rules);
    check_downward(f, PL_MEMBER(at, "downwardAPI"), pl_tree_getz(volume, "downwardAPI"));
    check_projected(f, PL_MEMBER(at, "projected"), pl_tree_getz(volume, "projected"), spec);
    check_paths(f, PL_MEMBER(at, "projected"), pl_tree_getz(volume, "projected"));
    const struct pl_tree *size = pl_tree_dig(volume, "emptyDir.sizeLimit");
    if (pl_quantity_sign(size) < 0)
        pl_bad_forbidden(f, PL_MEMBER(PL_MEMBER(at, "emptyDir"), "sizeLimit"),
                         "SizeLimit field must be a valid resource quantity");
    const struct pl_tree *template = pl_tree_dig(volume, "ephemeral.volumeClaimTemplate");
    if (template != NULL)
        pl_valid_claim_spec(
            f, PL_MEMBER(PL_MEMBER(PL_MEMBER(at, "ephemeral"), "volumeClaimTemplate"), "spec"),
            pl_tree_getz(template, "spec"));
}

void pl_valid_volumes(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *spec)
{
    static const struct pl_rule names[] = {
        {"[].name", pl_need, NULL}, {"[].name", pl_label, NULL}, {NULL, NULL, NULL}};
    const struct pl_spot *list = PL_MEMBER(at, "volumes");
    const struct pl_tree *volumes = pl_tree_getz(spec, "volumes");
    size_t i = 0;
    pl_hold(f, list, volumes, names);
    pl_unique(f, list, volumes, "name");
    PL_EACH(item, volumes)
    check_volume(f, PL_INDEX(list, i++), item->value, spec);
}

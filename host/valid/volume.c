/* Volumes of a pod: names, and that each has exactly one source with its required members. */
#include "valid/kinds.h"

#include "object/tree.h"

#include <string.h>

static const char sources[][24] = {"emptyDir",
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

/* kube-apiserver reports a bad name at the place of another member. */
static void check_csi(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *csi)
{
    const struct pl_tree *secret = pl_tree_getz(csi, "nodePublishSecretRef");
    const struct pl_tree *name = pl_tree_getz(secret, "name");
    if (secret != NULL)
        pl_need(f, PL_MEMBER(PL_MEMBER(at, "nodePublishSecretRef"), "name"), name, NULL);
    pl_subdomain(f, PL_MEMBER(at, "name"), name, NULL);
}

static const struct pl_rule source_rules[] = {
    {"secret.secretName", pl_need, NULL},
    {"secret.defaultMode", pl_valid_file_mode, NULL},
    {"secret.items", pl_valid_keys_to_paths, NULL},
    {"configMap.name", pl_need, NULL},
    {"configMap.defaultMode", pl_valid_file_mode, NULL},
    {"configMap.items", pl_valid_keys_to_paths, NULL},
    {"downwardAPI.defaultMode", pl_valid_file_mode, NULL},
    {"persistentVolumeClaim.claimName", pl_need, NULL},
    {"ephemeral.volumeClaimTemplate", pl_need, NULL},
    {"image.pullPolicy", pl_one_of, "Always,IfNotPresent,Never"},
    {"gitRepo.repository", pl_need, NULL},
    {"gitRepo.directory", pl_valid_descending_path, NULL},
    {"projected.defaultMode", pl_valid_file_mode, NULL},
    {NULL, NULL, NULL},
};

static void check_ephemeral(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *template)
{
    if (template == NULL)
        return;
    pl_valid_template_meta(f, PL_MEMBER(at, "metadata"), pl_tree_getz(template, "metadata"));
    pl_valid_claim_spec(f, PL_MEMBER(at, "spec"), pl_tree_getz(template, "spec"), NULL);
}

static void check_volume(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *volume)
{
    const char *first = NULL; /* only that one is looked at */
    size_t count = 0;
    for (size_t i = 0; i < PL_ARRAY_LEN(sources); i++)
        if (pl_tree_getz(volume, sources[i]) != NULL && count++ > 0)
            pl_bad_forbidden(f, PL_MEMBER(at, sources[i]),
                             "may not specify more than 1 volume type");
        else if (count == 1 && first == NULL)
            first = sources[i];
    if (count == 0)
        pl_bad_required(f, at, "must specify a volume type");
    const struct pl_tree *source = pl_valid_only_member(f, volume, first);
    pl_hold(f, at, source, source_rules);
    pl_valid_source_of_pod(f, at, source, pl_tree_getz(volume, "name"));
    check_csi(f, PL_MEMBER(at, "csi"), pl_tree_getz(source, "csi"));
    pl_valid_downward(f, PL_MEMBER(at, "downwardAPI"), pl_tree_getz(volume, "downwardAPI"));
    pl_valid_projected(f, PL_MEMBER(at, "projected"), pl_tree_getz(volume, "projected"));
    const struct pl_tree *size = pl_tree_dig(volume, "emptyDir.sizeLimit");
    if (pl_quantity_sign(size) < 0)
        pl_bad_forbidden(f, PL_MEMBER(PL_MEMBER(at, "emptyDir"), "sizeLimit"),
                         "SizeLimit field must be a valid resource quantity");
    check_ephemeral(f, PL_MEMBER(PL_MEMBER(at, "ephemeral"), "volumeClaimTemplate"),
                    pl_tree_dig(volume, "ephemeral.volumeClaimTemplate"));
}

/* A claim that is made for a volume of this pod must not be used by another one. */
static void check_made_claim(struct pl_api_faults *f, const struct pl_spot *at,
                             const struct pl_tree *volume, const struct pl_tree *volumes,
                             struct pl_slice pod)
{
    const struct pl_tree *name = pl_tree_dig(volume, "persistentVolumeClaim.claimName");
    PL_EACH(item, pod.len > 0 && !pl_is_empty(name) ? volumes : NULL)
    {
        struct pl_slice other = pl_tree_text_at(item->value, "name");
        if (pl_tree_getz(item->value, "ephemeral") != NULL &&
            pl_slice_eq(name->text, pl_arena_f(f->arena, "%.*s-%.*s", PL_FMT(pod), PL_FMT(other))))
            pl_bad_value(f, PL_MEMBER(PL_MEMBER(at, "persistentVolumeClaim"), "claimName"), name,
                         "must not reference a PVC that gets created for an ephemeral volume");
    }
}

const struct pl_tree *pl_valid_volumes(struct pl_api_faults *f, const struct pl_spot *at,
                                       const struct pl_tree *spec, struct pl_slice pod)
{
    const struct pl_spot *list = PL_MEMBER(at, "volumes");
    const struct pl_tree *volumes = pl_tree_getz(spec, "volumes");
    struct pl_tree *valid = pl_tree_array(f->arena);
    struct pl_map seen = PL_MAP_INIT;
    size_t i = 0;
    PL_EACH(item, volumes)
    {
        const struct pl_spot *here = PL_INDEX(list, i++);
        const struct pl_tree *name = pl_tree_getz(item->value, "name");
        size_t faults = pl_api_fault_count(f);
        check_volume(f, here, item->value);
        pl_need(f, PL_MEMBER(here, "name"), name, NULL);
        pl_label(f, PL_MEMBER(here, "name"), name, NULL);
        if (pl_map_has(&seen, pl_tree_text(name)))
            pl_bad_duplicate(f, PL_MEMBER(here, "name"), name);
        if (pl_api_fault_count(f) == faults) {
            pl_tree_push(f->arena, valid, item->value);
            pl_map_put(&seen, pl_tree_text(name), item->value);
        }
        check_made_claim(f, here, item->value, volumes, pod);
    }
    pl_map_deinit(&seen);
    return valid;
}

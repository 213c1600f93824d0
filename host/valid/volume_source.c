/* Sources of storage that volumes of pods and PersistentVolumes have in common. */
#include "valid/kinds.h"

#include "base/text.h"
#include "format/regex.h"
#include "object/tree.h"
#include "schema/validate.h"

#include <string.h>

#define MOST_TENANT 64
#define MOST_PORTAL 64 /* bytes of a volume's name, a colon and its portal */
#define WHOLE_PORTAL                                                                               \
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters"
#define PORTS "must be a host:port pair or multiple pairs separated by commas"
#define MANAGED_DISKS                                                                              \
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/"       \
    "{disk-id}"
#define BLOB_DISKS "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"

/* ---- single values ---- */

/* 0 is the whole disk, which the message does not tell. */
static void partition(struct pl_api_faults *f, const struct pl_spot *at,
                      const struct pl_tree *value, const char *arg)
{
    int64_t is;
    PL_UNUSED(arg);
    if (pl_tree_integer(value, &is) && (is < 0 || is > 255))
        pl_bad_value(f, at, value, "must be between 1 and 255, inclusive");
}

void pl_valid_csi_driver_name(struct pl_api_faults *f, const struct pl_spot *at,
                              const struct pl_tree *value, const char *arg)
{
    struct pl_slice text = pl_tree_text(value);
    PL_UNUSED(arg);
    if (text.len == 0) {
        pl_bad_required(f, at, "");
        return;
    }
    if (text.len > 63)
        pl_bad_long(f, at, "63 bytes");
    if (!pl_text_is_subdomain(pl_arena_lower(f->arena, text)))
        pl_bad_value(f, at, value, PL_API_SUBDOMAIN_TEXT);
}

/* The options of a driver: their names must not be Kubernetes' own. */
static void driver_options(struct pl_api_faults *f, const struct pl_spot *at,
                           const struct pl_tree *options, const char *arg)
{
    PL_UNUSED(arg);
    PL_TREE_FOR(item, options)
    {
        const char *slash = pl_slice_chr(item->key, '/');
        size_t len = slash != NULL ? (size_t)(slash - item->key.ptr) : item->key.len;
        struct pl_slice domain = pl_arena_f(f->arena, ".%.*s", (int)len, item->key.ptr);
        domain = pl_arena_lower(f->arena, domain);
        if (pl_text_ends(domain, ".kubernetes.io") || pl_text_ends(domain, ".k8s.io"))
            pl_bad_value(f, PL_OF_KEY(at, item->key), pl_tree_str(f->arena, item->key),
                         "kubernetes.io and k8s.io namespaces are reserved");
    }
}

static bool is_port_pair(struct pl_slice text)
{
    size_t colons = 0;
    bool bracket = text.len > 0 && text.ptr[0] == '[';
    for (size_t i = 0; i < text.len; i++)
        colons += text.ptr[i] == ':';
    if (!bracket)
        return colons == 1 && pl_slice_chr(text, '[') == NULL && pl_slice_chr(text, ']') == NULL;
    const char *end = pl_slice_chr(text, ']');
    return end != NULL && end + 1 < text.ptr + text.len && end[1] == ':' &&
           pl_slice_chr(pl_slice(end + 2, text.len - (size_t)(end + 2 - text.ptr)), ':') == NULL;
}

static bool has_form(struct pl_slice text, const char *pattern)
{
    struct pl_err err = {0};
    struct pl_regex *regex = pl_regex_compile(pl_slice_z(pattern), &err);
    bool is = regex != NULL && pl_regex_test(regex, text, &err) == 1;
    pl_regex_destroy(regex);
    return is;
}

/* The name of an initiator or a target. unknown: what is said about any other beginning. */
static void iscsi_name(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *value, const char *unknown)
{
    static const char forms[][2][56] = {
        {"iqn", "iqn\\.[0-9]{4}-[0-9]{2}\\.[[:alnum:].-]+:[^,;*&$|\\s]+$"},
        {"eui", "^eui.[[:alnum:]]{16}$"},
        {"naa", "^naa.[[:alnum:]]{32}$"},
    };
    struct pl_slice text = pl_tree_text(value);
    for (size_t i = 0; i < PL_ARRAY_LEN(forms); i++)
        if (pl_text_begins(text, forms[i][0])) {
            if (!has_form(text, forms[i][1]))
                pl_bad_value(f, at, value, "must be valid format");
            return;
        }
    pl_bad_value(f, at, value, "%s", unknown);
}

/* ---- single sources ---- */

static void check_iscsi(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *iscsi, bool persistent)
{
    const struct pl_tree *name = pl_tree_getz(iscsi, "iqn");
    const struct pl_tree *initiator = pl_tree_getz(iscsi, "initiatorName");
    const struct pl_tree *secret = pl_tree_getz(iscsi, "secretRef");
    const char *unknown =
        persistent ? "must be valid format" : "must be valid format starting with iqn, eui, or naa";
    pl_need(f, PL_MEMBER(at, "targetPortal"), pl_tree_getz(iscsi, "targetPortal"), NULL);
    pl_range(f, PL_MEMBER(at, "lun"), pl_tree_getz(iscsi, "lun"), "0-255");
    if (pl_is_empty(name))
        pl_bad_required(f, PL_MEMBER(at, "iqn"), "");
    else
        iscsi_name(f, PL_MEMBER(at, "iqn"), name, unknown);
    if (secret == NULL && (pl_is_true(pl_tree_getz(iscsi, "chapAuthDiscovery")) ||
                           pl_is_true(pl_tree_getz(iscsi, "chapAuthSession"))))
        pl_bad_required(f, PL_MEMBER(at, "secretRef"), "");
    if (secret != NULL && persistent)
        pl_need(f, PL_MEMBER(PL_MEMBER(at, "secretRef"), "name"), pl_tree_getz(secret, "name"),
                NULL);
    if (initiator != NULL)
        iscsi_name(f, PL_MEMBER(at, "initiatorname"), initiator, unknown);
}

/* at: the position of the fault, which is another one for a PersistentVolume. */
static void check_portal(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *iscsi, struct pl_slice name,
                         const struct pl_tree *shown)
{
    if (pl_tree_getz(iscsi, "initiatorName") != NULL &&
        name.len + 1 + pl_tree_text_at(iscsi, "targetPortal").len > MOST_PORTAL)
        pl_bad_value(f, at, shown, WHOLE_PORTAL " if iscsi.initiatorName is specified.");
}

static void check_channel(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *channel)
{
    const struct pl_tree *names = pl_tree_getz(channel, "targetWWNs");
    const struct pl_tree *lun = pl_tree_getz(channel, "lun");
    bool wide = !pl_is_empty(pl_tree_getz(channel, "wwids"));
    if (pl_is_empty(names) && !wide)
        pl_bad_required(f, PL_MEMBER(at, "targetWWNs"),
                        "must specify either targetWWNs or wwids, but not both");
    if (pl_is_empty(names))
        return;
    if (wide)
        pl_bad_value(f, PL_MEMBER(at, "targetWWNs"), names,
                     "targetWWNs and wwids can not be specified simultaneously");
    if (lun == NULL)
        pl_bad_required(f, PL_MEMBER(at, "lun"), "lun is required if targetWWNs is specified");
    pl_range(f, PL_MEMBER(at, "lun"), lun, "0-255");
}

static void check_flocker(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *flocker)
{
    const struct pl_tree *name = pl_tree_getz(flocker, "datasetName");
    bool has_id = !pl_is_empty(pl_tree_getz(flocker, "datasetUUID"));
    if (pl_is_empty(name) && !has_id)
        pl_bad_required(f, at, "one of datasetName and datasetUUID is required");
    if (!pl_is_empty(name) && has_id)
        pl_bad_value(f, at, pl_tree_strz(f->arena, "resource"),
                     "datasetName and datasetUUID can not be specified simultaneously");
    if (pl_slice_chr(pl_tree_text(name), '/') != NULL)
        pl_bad_value(f, PL_MEMBER(at, "datasetName"), name, "must not contain '/'");
}

static void check_registry(struct pl_api_faults *f, const struct pl_spot *at,
                           const struct pl_tree *registry)
{
    struct pl_slice rest = pl_tree_text(registry);
    for (bool more = true; more;) {
        const char *comma = pl_slice_chr(rest, ',');
        size_t len = comma != NULL ? (size_t)(comma - rest.ptr) : rest.len;
        if (!is_port_pair(pl_slice(rest.ptr, len)))
            pl_bad_value(f, at, registry, PORTS);
        more = comma != NULL;
        if (more)
            rest = pl_slice(comma + 1, rest.len - len - 1);
    }
}

static void check_quobyte(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *quobyte)
{
    const struct pl_tree *registry = pl_tree_getz(quobyte, "registry");
    if (pl_is_empty(registry))
        pl_bad_required(f, PL_MEMBER(at, "registry"), PORTS);
    else if (pl_tree_text_at(quobyte, "tenant").len > MOST_TENANT)
        pl_bad_required(f, PL_MEMBER(at, "tenant"),
                        "must be a UUID and may not exceed a length of 64 characters");
    else
        check_registry(f, PL_MEMBER(at, "registry"), registry);
    pl_need(f, PL_MEMBER(at, "volume"), pl_tree_getz(quobyte, "volume"), NULL);
}

static void check_azure_disk(struct pl_api_faults *f, const struct pl_spot *at,
                             const struct pl_tree *disk)
{
    static const struct pl_rule rules[] = {
        {"diskName", pl_need, NULL},
        {"diskURI", pl_need, NULL},
        {"cachingMode", pl_if_set, "None,ReadOnly,ReadWrite"},
        {"kind", pl_if_set, "Dedicated,Managed,Shared"},
        {NULL, NULL, NULL},
    };
    const struct pl_tree *address = pl_or_empty(f, pl_tree_getz(disk, "diskURI"));
    const struct pl_tree *kind = pl_tree_getz(disk, "kind");
    bool managed = pl_slice_eqz(pl_tree_text(kind), "Managed");
    pl_hold(f, at, disk, rules);
    if (kind != NULL &&
        !pl_text_begins(pl_tree_text(address), managed ? "/subscriptions/" : "https://"))
        pl_bad_unsupported(f, PL_MEMBER(at, "diskURI"), address,
                           managed ? MANAGED_DISKS : BLOB_DISKS);
}

static void check_host_path(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *host)
{
    const struct pl_tree *path = pl_tree_getz(host, "path");
    if (pl_is_empty(path)) {
        pl_bad_required(f, PL_MEMBER(at, "path"), "");
        return;
    }
    pl_valid_no_steps_back(f, PL_MEMBER(at, "path"), path, NULL);
    pl_if_set(f, PL_MEMBER(at, "type"), pl_tree_getz(host, "type"),
              ",BlockDevice,CharDevice,Directory,DirectoryOrCreate,File,FileOrCreate,Socket");
}

/* ---- all sources ---- */

static const struct pl_rule common_rules[] = {
    {"nfs.server", pl_need, NULL},
    {"nfs.path", pl_need, NULL},
    {"nfs.path", pl_valid_absolute_path, NULL},
    {"local.path", pl_need, NULL},
    {"local.path", pl_valid_no_steps_back, NULL},
    {"csi.driver", pl_valid_csi_driver_name, NULL},
    {"rbd.monitors", pl_need, NULL},
    {"rbd.image", pl_need, NULL},
    {"cephfs.monitors", pl_need, NULL},
    {"glusterfs.endpoints", pl_need, NULL},
    {"glusterfs.path", pl_need, NULL},
    {"flexVolume.driver", pl_need, NULL},
    {"flexVolume.options", driver_options, NULL},
    {"azureFile.secretName", pl_need, NULL},
    {"azureFile.shareName", pl_need, NULL},
    {"awsElasticBlockStore.volumeID", pl_need, NULL},
    {"awsElasticBlockStore.partition", partition, NULL},
    {"cinder.volumeID", pl_need, NULL},
    {"cinder.secretRef.name", pl_need, NULL},
    {"vsphereVolume.volumePath", pl_need, NULL},
    {"photonPersistentDisk.pdID", pl_need, NULL},
    {"portworxVolume.volumeID", pl_need, NULL},
    {"scaleIO.gateway", pl_need, NULL},
    {"scaleIO.system", pl_need, NULL},
    {"scaleIO.volumeName", pl_need, NULL},
    {"storageos.volumeName", pl_need, NULL},
    {"storageos.volumeName", pl_label, NULL},
    {"storageos.volumeNamespace", pl_label, NULL},
    {"storageos.secretRef.name", pl_need, NULL},
    {NULL, NULL, NULL},
};

/* kube-apiserver has another name for this member. */
static const struct pl_rule disk_rules[] = {
    {"pdName", pl_need, NULL},
    {"partition", partition, NULL},
    {NULL, NULL, NULL},
};

static void check_source(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *volume, bool persistent)
{
    static const struct {
        const char *member;
        void (*check)(struct pl_api_faults *f, const struct pl_spot *at,
                      const struct pl_tree *source);
    } checks[] = {
        {"fc", check_channel},           {"flocker", check_flocker},    {"quobyte", check_quobyte},
        {"azureDisk", check_azure_disk}, {"hostPath", check_host_path},
    };
    const struct pl_tree *disk = pl_tree_getz(volume, "gcePersistentDisk");
    const struct pl_tree *iscsi = pl_tree_getz(volume, "iscsi");
    pl_hold(f, at, volume, common_rules);
    if (disk != NULL)
        pl_hold(f, PL_MEMBER(at, "persistentDisk"), disk, disk_rules);
    if (iscsi != NULL)
        check_iscsi(f, PL_MEMBER(at, "iscsi"), iscsi, persistent);
    for (size_t i = 0; i < PL_ARRAY_LEN(checks); i++) {
        const struct pl_tree *source = pl_tree_getz(volume, checks[i].member);
        if (source != NULL)
            checks[i].check(f, PL_MEMBER(at, checks[i].member), source);
    }
}

void pl_valid_source_of_pod(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *volume, const struct pl_tree *name)
{
    check_source(f, at, volume, false);
    check_portal(f, PL_MEMBER(at, "name"), pl_tree_getz(volume, "iscsi"), pl_tree_text(name), name);
}

void pl_valid_source_of_volume(struct pl_api_faults *f, const struct pl_spot *at,
                               const struct pl_tree *volume, struct pl_slice name)
{
    static const struct pl_rule rules[] = {
        {"csi.volumeHandle", pl_need, NULL},
        {"cinder.secretRef.namespace", pl_need, NULL},
        {"storageos.secretRef.namespace", pl_need, NULL},
        {NULL, NULL, NULL},
    };
    const struct pl_tree *iscsi = pl_tree_getz(volume, "iscsi");
    const struct pl_tree *endpoints = pl_tree_dig(volume, "glusterfs.endpointsNamespace");
    const struct pl_tree *secrets = pl_tree_dig(volume, "azureFile.secretNamespace");
    const struct pl_spot *endpoints_at =
        PL_MEMBER(PL_MEMBER(at, "glusterfs"), "endpointsNamespace");
    check_source(f, at, volume, true);
    check_portal(f, PL_MEMBER(PL_MEMBER(at, "iscsi"), "targetportal"), iscsi, name,
                 pl_tree_getz(iscsi, "targetPortal"));
    pl_hold(f, at, volume, rules);
    if (endpoints != NULL && pl_is_empty(endpoints))
        pl_bad_value(f, endpoints_at, endpoints,
                     "if the endpointnamespace is set, it must be a valid namespace name");
    pl_label(f, endpoints_at, endpoints, NULL);
    if (secrets != NULL)
        pl_need(f, PL_MEMBER(PL_MEMBER(at, "azureFile"), "secretNamespace"), secrets, NULL);
}

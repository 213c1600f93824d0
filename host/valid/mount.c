/* Where a container sees the volumes of its pod: mounts and block devices. */
#include "valid/kinds.h"

#include "object/tree.h"

#include <string.h>

/* What the mounts and devices of one container are compared with. */
struct places {
    struct pl_map volumes;              /* of the pod, by name */
    struct pl_map mounted, mount_paths; /* mounts by name and by path */
    struct pl_map devices, device_paths;
};

/* The elements of a list by the text of that member; of several the first. The caller ends the map
 * with pl_map_deinit. */
static struct pl_map mounts_by(const struct pl_tree *list, const char *member)
{
    struct pl_map map = PL_MAP_INIT;
    PL_EACH(item, list)
    {
        struct pl_slice text = pl_tree_text_at(item->value, member);
        if (!pl_map_has(&map, text))
            pl_map_put(&map, text, item->value);
    }
    return map;
}

static const struct pl_tree *mount_at(const struct pl_map *map, const struct pl_tree *text)
{
    return pl_map_get(map, pl_tree_text(text));
}

/* An element, other than this one, has the text. */
static bool is_mounted(const struct pl_map *map, const struct pl_tree *text,
                       const struct pl_tree *element)
{
    const struct pl_tree *first = pl_is_empty(text) ? NULL : mount_at(map, text);
    return first != NULL && first != element;
}

/* ---- paths ---- */

static bool steps_back(struct pl_slice text)
{
    for (size_t i = 0; i + 1 < text.len; i++)
        if (memcmp(text.ptr + i, "..", 2) == 0 && (i == 0 || text.ptr[i - 1] == '/') &&
            (i + 2 == text.len || text.ptr[i + 2] == '/'))
            return true;
    return false;
}

void pl_valid_no_steps_back(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *value, const char *arg)
{
    PL_UNUSED(arg);
    if (steps_back(pl_tree_text(value)))
        pl_bad_value(f, at, value, "must not contain '..'");
}

void pl_valid_descending_path(struct pl_api_faults *f, const struct pl_spot *at,
                              const struct pl_tree *value, const char *arg)
{
    struct pl_slice text = pl_tree_text(value);
    if (text.len > 0 && text.ptr[0] == '/')
        pl_bad_value(f, at, value, "must be a relative path");
    pl_valid_no_steps_back(f, at, value, arg);
}

void pl_valid_absolute_path(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *value, const char *arg)
{
    PL_UNUSED(arg);
    if (pl_is_empty(value) || value->text.ptr[0] != '/')
        pl_bad_value(f, at, pl_or_empty(f, value), "must be an absolute path");
}

const struct pl_tree *pl_valid_only_member(struct pl_api_faults *f, const struct pl_tree *object,
                                           const char *member)
{
    struct pl_tree *out = pl_tree_object(f->arena);
    struct pl_tree *value = member != NULL ? pl_tree_getz(object, member) : NULL;
    if (value != NULL)
        pl_tree_setz(f->arena, out, member, value);
    return out;
}

/* ---- mounts ---- */

static void check_propagation(struct pl_api_faults *f, const struct pl_spot *list,
                              const struct pl_tree *mount, const struct pl_tree *container)
{
    const struct pl_tree *how = pl_tree_getz(mount, "mountPropagation");
    const struct pl_spot *at = PL_MEMBER(list, "mountPropagation");
    pl_if_set(f, at, how, "Bidirectional,HostToContainer,None");
    if (pl_slice_eqz(pl_tree_text(how), "Bidirectional") &&
        !pl_is_true(pl_tree_dig(container, "securityContext.privileged")))
        pl_bad_forbidden(f, at,
                         "Bidirectional mount propagation is available only to privileged "
                         "containers");
}

static void check_recursive(struct pl_api_faults *f, const struct pl_spot *list,
                            const struct pl_tree *mount)
{
    const struct pl_tree *how = pl_tree_getz(mount, "recursiveReadOnly");
    const struct pl_spot *at = PL_MEMBER(list, "recursiveReadOnly");
    struct pl_slice spread = pl_tree_text_at(mount, "mountPropagation");
    pl_if_set(f, at, how, "Disabled,Enabled,IfPossible");
    if (!pl_is_among(pl_tree_text(how), "Enabled,IfPossible"))
        return;
    if (!pl_is_true(pl_tree_getz(mount, "readOnly")))
        pl_bad_forbidden(f, at, "may only be specified when readOnly is true");
    if (spread.len > 0 && !pl_slice_eqz(spread, "None"))
        pl_bad_forbidden(f, at,
                         "may only be specified when mountPropagation is None or not specified");
}

/* kube-apiserver's messages about these have no index. */
static void check_sub_paths(struct pl_api_faults *f, const struct pl_spot *list,
                            const struct pl_spot *at, const struct pl_tree *mount)
{
    const struct pl_tree *sub = pl_tree_getz(mount, "subPath");
    const struct pl_tree *made = pl_tree_getz(mount, "subPathExpr");
    pl_valid_descending_path(f, PL_MEMBER(list, "subPath"), sub, NULL);
    if (!pl_is_empty(made) && !pl_is_empty(sub))
        pl_bad_value(f, PL_MEMBER(at, "subPathExpr"), made,
                     "subPathExpr and subPath are mutually exclusive");
    pl_valid_descending_path(f, PL_MEMBER(list, "subPathExpr"), made, NULL);
}

static void check_mounts(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *container, const struct places *places)
{
    size_t i = 0;
    PL_EACH(item, pl_tree_getz(container, "volumeMounts"))
    {
        const struct pl_spot *here = PL_INDEX(at, i++);
        const struct pl_spot *name_at = PL_MEMBER(here, "name");
        const struct pl_spot *path_at = PL_MEMBER(here, "mountPath");
        const struct pl_tree *name = pl_tree_getz(item->value, "name");
        const struct pl_tree *path = pl_tree_getz(item->value, "mountPath");
        pl_need(f, name_at, name, NULL);
        if (mount_at(&places->volumes, name) == NULL)
            pl_bad_not_found(f, name_at, pl_tree_text(name));
        pl_need(f, path_at, path, NULL);
        if (is_mounted(&places->mount_paths, path, item->value))
            pl_bad_value(f, path_at, path, "must be unique");
        if (is_mounted(&places->devices, name, NULL))
            pl_bad_value(f, name_at, name, "must not already exist in volumeDevices");
        if (is_mounted(&places->device_paths, path, NULL))
            pl_bad_value(f, path_at, path, "must not already exist as a path in volumeDevices");
        check_sub_paths(f, at, here, item->value);
        check_propagation(f, at, item->value, container);
        check_recursive(f, at, item->value);
    }
}

/* ---- devices ---- */

static void check_device_volume(struct pl_api_faults *f, const struct pl_spot *at,
                                const struct pl_tree *name, const struct places *places)
{
    const struct pl_tree *volume = mount_at(&places->volumes, name);
    if (volume == NULL)
        pl_bad_not_found(f, at, pl_tree_text(name));
    else if (pl_tree_getz(volume, "persistentVolumeClaim") == NULL &&
             pl_tree_getz(volume, "ephemeral") == NULL)
        pl_bad_value(f, at, name,
                     "can only use volume source type of PersistentVolumeClaim or Ephemeral for "
                     "block mode");
}

static void check_devices(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *container, const struct places *places)
{
    size_t i = 0;
    PL_EACH(item, pl_tree_getz(container, "volumeDevices"))
    {
        const struct pl_spot *here = PL_INDEX(at, i++);
        const struct pl_spot *name_at = PL_MEMBER(here, "name");
        const struct pl_spot *path_at = PL_MEMBER(here, "devicePath");
        const struct pl_tree *name = pl_tree_getz(item->value, "name");
        const struct pl_tree *path = pl_tree_getz(item->value, "devicePath");
        pl_need(f, name_at, name, NULL);
        if (is_mounted(&places->devices, name, item->value))
            pl_bad_value(f, name_at, name, "must be unique");
        check_device_volume(f, name_at, name, places);
        pl_need(f, path_at, path, NULL);
        if (is_mounted(&places->device_paths, path, item->value))
            pl_bad_value(f, path_at, path, "must be unique");
        if (steps_back(pl_tree_text(path)))
            pl_bad_value(f, path_at, path, "can not contain backsteps ('..')");
        if (is_mounted(&places->mounted, name, NULL))
            pl_bad_value(f, name_at, name, "must not already exist in volumeMounts");
        if (is_mounted(&places->mount_paths, path, NULL))
            pl_bad_value(f, path_at, path, "must not already exist as a path in volumeMounts");
    }
}

void pl_valid_mounts(struct pl_api_faults *f, const struct pl_spot *at,
                     const struct pl_tree *container, const struct pl_tree *volumes)
{
    const struct pl_tree *mounts = pl_tree_getz(container, "volumeMounts");
    const struct pl_tree *devices = pl_tree_getz(container, "volumeDevices");
    struct places places = {
        .volumes = mounts_by(volumes, "name"),
        .mounted = mounts_by(mounts, "name"),
        .mount_paths = mounts_by(mounts, "mountPath"),
        .devices = mounts_by(devices, "name"),
        .device_paths = mounts_by(devices, "devicePath"),
    };
    check_mounts(f, PL_MEMBER(at, "volumeMounts"), container, &places);
    check_devices(f, PL_MEMBER(at, "volumeDevices"), container, &places);
    pl_map_deinit(&places.volumes);
    pl_map_deinit(&places.mounted);
    pl_map_deinit(&places.mount_paths);
    pl_map_deinit(&places.devices);
    pl_map_deinit(&places.device_paths);
}

/* The checks that only the level "restricted" has: a Pod must give up rights explicitly. */
#include "podsecurity/security_impl.h"

#include <string.h>

/* ---- privileges ---- */

static bool escalation(struct pl_secured *s, const struct pl_tree *container, void *arg)
{
    PL_UNUSED(s);
    PL_UNUSED(arg);
    return !pl_is_false(pl_secured_context(container, "allowPrivilegeEscalation"));
}

void pl_secure_escalation(struct pl_secured *s)
{
    struct pl_names containers = {0};
    if (pl_secured_windows(s))
        return;
    pl_secured_each(s, escalation, NULL, &containers);
    if (pl_names_count(&containers) > 0)
        pl_secured_fail(s, "allowPrivilegeEscalation != false",
                        pl_arena_f(s->arena,
                                   "%.*s must set securityContext.allowPrivilegeEscalation=false",
                                   PL_FMT(pl_names_containers(s, &containers))));
}

struct capable {
    struct pl_names keeping, added;
};

static bool no_capabilities(struct pl_secured *s, const struct pl_tree *container, void *arg)
{
    struct capable *found = arg;
    const struct pl_tree *all = pl_secured_context(container, "capabilities");
    bool adds = false;
    if (!pl_tree_has_text(pl_tree_getz(all, "drop"), pl_slice_z("ALL")))
        pl_names_add(s, &found->keeping, pl_tree_text_at(container, "name"));
    PL_EACH(item, pl_tree_getz(all, "add"))
    {
        if (pl_slice_eqz(pl_tree_text(item->value), "NET_BIND_SERVICE"))
            continue;
        adds = true;
        pl_names_add(s, &found->added, pl_tree_text(item->value));
    }
    return adds;
}

void pl_secure_no_capabilities(struct pl_secured *s)
{
    struct capable found = {{0}, {0}};
    struct pl_names adding = {0};
    struct pl_buf text = PL_BUF_INIT;
    if (pl_secured_windows(s))
        return;
    pl_secured_each(s, no_capabilities, &found, &adding);
    pl_names_sort(s, &found.added);
    if (pl_names_count(&found.keeping) > 0)
        pl_buf_add_f(&text, "%.*s must set securityContext.capabilities.drop=[\"ALL\"]",
                     PL_FMT(pl_names_containers(s, &found.keeping)));
    if (pl_names_count(&adding) > 0)
        pl_buf_add_f(&text, "%s%.*s must not include %.*s in securityContext.capabilities.add",
                     text.len > 0 ? "; " : "", PL_FMT(pl_names_containers(s, &adding)),
                     PL_FMT(pl_names_quoted(s, &found.added)));
    if (text.len > 0)
        pl_secured_fail(s, "unrestricted capabilities",
                        pl_arena_copy(s->arena, pl_buf_slice(&text)));
    pl_buf_deinit(&text);
}

/* ---- users ---- */

struct rooted {
    bool pod;
    struct pl_names silent;
};

static bool non_root(struct pl_secured *s, const struct pl_tree *container, void *arg)
{
    struct rooted *found = arg;
    const struct pl_tree *says = pl_secured_context(container, "runAsNonRoot");
    if (says == NULL && !found->pod)
        pl_names_add(s, &found->silent, pl_tree_text_at(container, "name"));
    return pl_is_false(says);
}

void pl_secure_non_root(struct pl_secured *s)
{
    const struct pl_tree *says = pl_secured_context(s->spec, "runAsNonRoot");
    struct rooted found = {.pod = pl_is_true(says)};
    struct pl_names saying = {0};
    if (s->minor >= 35 && pl_secured_mapped(s))
        return;
    pl_secured_each(s, non_root, &found, &saying);
    if (pl_is_false(says) || pl_names_count(&saying) > 0)
        pl_secured_fail(s, "runAsNonRoot != true",
                        pl_arena_f(s->arena, "%.*s must not set securityContext.runAsNonRoot=false",
                                   PL_FMT(pl_names_setters(s, pl_is_false(says), &saying))));
    else if (pl_names_count(&found.silent) > 0)
        pl_secured_fail(s, "runAsNonRoot != true",
                        pl_arena_f(s->arena,
                                   "pod or %.*s must set securityContext.runAsNonRoot=true",
                                   PL_FMT(pl_names_containers(s, &found.silent))));
}

static bool is_root(const struct pl_tree *owner)
{
    int64_t user = -1;
    return pl_tree_integer(pl_secured_context(owner, "runAsUser"), &user) && user == 0;
}

static bool root_user(struct pl_secured *s, const struct pl_tree *container, void *arg)
{
    PL_UNUSED(s);
    PL_UNUSED(arg);
    return is_root(container);
}

void pl_secure_user(struct pl_secured *s)
{
    struct pl_names containers = {0};
    bool pod = is_root(s->spec);
    if (s->minor >= 35 && pl_secured_mapped(s))
        return;
    pl_secured_each(s, root_user, NULL, &containers);
    if (pod || pl_names_count(&containers) > 0)
        pl_secured_fail(s, "runAsUser=0",
                        pl_arena_f(s->arena, "%.*s must not set runAsUser=0",
                                   PL_FMT(pl_names_setters(s, pod, &containers))));
}

/* ---- volumes ---- */

/* The kind of a forbidden volume; NULL: the volume is allowed. */
static const char *restricted_kind(const struct pl_tree *volume)
{
    static const char good[][24] = {"configMap", "csi",       "downwardAPI",
                                    "emptyDir",  "ephemeral", "image",
                                    "projected", "secret",    "persistentVolumeClaim"};
    static const char bad[][24] = {"hostPath",
                                   "gcePersistentDisk",
                                   "awsElasticBlockStore",
                                   "gitRepo",
                                   "nfs",
                                   "iscsi",
                                   "glusterfs",
                                   "rbd",
                                   "flexVolume",
                                   "cinder",
                                   "cephfs",
                                   "flocker",
                                   "fc",
                                   "azureFile",
                                   "vsphereVolume",
                                   "quobyte",
                                   "azureDisk",
                                   "photonPersistentDisk",
                                   "portworxVolume",
                                   "scaleIO",
                                   "storageos"};
    for (size_t i = 0; i < PL_ARRAY_LEN(good); i++)
        if (pl_tree_getz(volume, good[i]) != NULL)
            return NULL;
    for (size_t i = 0; i < PL_ARRAY_LEN(bad); i++)
        if (pl_tree_getz(volume, bad[i]) != NULL)
            return bad[i];
    return "unknown";
}

void pl_secure_volumes(struct pl_secured *s)
{
    struct pl_names volumes = {0}, kinds = {0};
    PL_EACH(item, pl_tree_getz(s->spec, "volumes"))
    {
        const char *kind = restricted_kind(item->value);
        if (kind == NULL)
            continue;
        pl_names_add(s, &volumes, pl_tree_text_at(item->value, "name"));
        pl_names_add(s, &kinds, pl_slice_z(kind));
    }
    if (pl_names_count(&volumes) == 0)
        return;
    pl_names_sort(s, &kinds);
    pl_secured_fail(
        s, "restricted volume types",
        pl_arena_f(s->arena, "%s %.*s %s %s %.*s", pl_names_plural(&volumes, "volume", "volumes"),
                   PL_FMT(pl_names_quoted(s, &volumes)), pl_names_plural(&volumes, "uses", "use"),
                   pl_names_plural(&kinds, "restricted volume type", "restricted volume types"),
                   PL_FMT(pl_names_quoted(s, &kinds))));
}

/* The checks of the level "baseline", which forbids known ways of getting more rights on the node.
 */
#include "podsecurity/security_impl.h"

#include "base/text.h"

#include <inttypes.h>
#include <string.h>

/* Containers that fail, and their values, collected by a check. */
struct found {
    struct pl_names containers, values;
    bool user, role; /* SELinux: a user or a role is set */
};

/* Checks a profile of the Pod or of a container. Adds its type when that is neither RuntimeDefault
 * nor Localhost. */
static bool other_type(struct pl_secured *s, const struct pl_tree *owner, const char *member,
                       struct pl_names *values)
{
    const struct pl_tree *profile = pl_secured_context(owner, member);
    struct pl_slice type = pl_tree_text_at(profile, "type");
    if (profile == NULL || pl_is_among(type, "RuntimeDefault,Localhost"))
        return false;
    pl_names_add(s, values, type);
    return true;
}

/* True when some containers fail; their names and the sorted values are in `found`. */
static bool any_container(struct pl_secured *s, pl_container_fn *asked, struct found *found)
{
    pl_secured_each(s, asked, found, &found->containers);
    pl_names_sort(s, &found->values);
    return pl_names_count(&found->containers) > 0;
}

/* ---- AppArmor ---- */

static bool app_armor(struct pl_secured *s, const struct pl_tree *container, void *arg)
{
    struct found *found = arg;
    return other_type(s, container, "appArmorProfile", &found->values);
}

/* Annotations were used before the member existed. */
static void app_armor_annotations(struct pl_secured *s, struct pl_names *found)
{
    static const char head[] = "container.apparmor.security.beta.kubernetes.io/";
    PL_TREE_FOR(item, pl_tree_dig(s->pod, "metadata.annotations"))
    {
        struct pl_slice value = pl_tree_text(item->value);
        bool good = value.len == 0 || pl_slice_eqz(value, "runtime/default") ||
                    pl_text_begins(value, "localhost/");
        if (!good && item->key.len >= sizeof(head) - 1 &&
            memcmp(item->key.ptr, head, sizeof(head) - 1) == 0)
            pl_names_add(s, found,
                         pl_arena_f(s->arena, "%.*s=\"%.*s\"", PL_FMT(item->key), PL_FMT(value)));
    }
    pl_names_sort(s, found);
}

void pl_secure_app_armor(struct pl_secured *s)
{
    struct found found = {0};
    struct pl_names annotations = {0};
    bool pod = other_type(s, s->spec, "appArmorProfile", &found.values);
    pl_secured_each(s, app_armor, &found, &found.containers);
    app_armor_annotations(s, &annotations);
    bool set = pod || pl_names_count(&found.containers) > 0;
    if (!set && pl_names_count(&annotations) == 0)
        return;
    pl_names_sort(s, &found.values);
    PL_TREE_FOR(item, annotations.list)
    pl_names_add(s, &found.values, pl_tree_text(item->value));
    struct pl_slice setters = set ? pl_names_setters(s, pod, &found.containers) : pl_slice("", 0);
    bool noted = pl_names_count(&annotations) > 0;
    pl_secured_fail(
        s,
        pl_names_plural(&found.values, "forbidden AppArmor profile", "forbidden AppArmor profiles"),
        pl_arena_f(s->arena, "%.*s%s%s must not set AppArmor profile type to %.*s", PL_FMT(setters),
                   set && noted ? " and " : "",
                   noted ? pl_names_plural(&annotations, "annotation", "annotations") : "",
                   PL_FMT(pl_names_quoted(s, &found.values))));
}

/* ---- capabilities ---- */

static bool capabilities(struct pl_secured *s, const struct pl_tree *container, void *arg)
{
    struct found *found = arg;
    bool bad = false;
    PL_EACH(item, pl_tree_getz(pl_secured_context(container, "capabilities"), "add"))
    {
        if (pl_is_among(pl_tree_text(item->value),
                        "AUDIT_WRITE,CHOWN,DAC_OVERRIDE,FOWNER,FSETID,KILL,MKNOD,"
                        "NET_BIND_SERVICE,SETFCAP,SETGID,SETPCAP,SETUID,SYS_CHROOT"))
            continue;
        bad = true;
        pl_names_add(s, &found->values, pl_tree_text(item->value));
    }
    return bad;
}

void pl_secure_capabilities(struct pl_secured *s)
{
    struct found found = {0};
    if (!any_container(s, capabilities, &found))
        return;
    pl_secured_fail(s, "non-default capabilities",
                    pl_arena_f(s->arena,
                               "%.*s must not include %.*s in securityContext.capabilities.add",
                               PL_FMT(pl_names_containers(s, &found.containers)),
                               PL_FMT(pl_names_quoted(s, &found.values))));
}

/* ---- the host ---- */

void pl_secure_host_namespaces(struct pl_secured *s)
{
    static const char members[][12] = {"hostNetwork", "hostPID", "hostIPC"};
    struct pl_names set = {0};
    for (size_t i = 0; i < PL_ARRAY_LEN(members); i++)
        if (pl_is_true(pl_tree_getz(s->spec, members[i])))
            pl_names_add(s, &set, pl_arena_f(s->arena, "%s=true", members[i]));
    if (pl_names_count(&set) > 0)
        pl_secured_fail(s, "host namespaces", pl_names_plain(s, &set));
}

void pl_secure_host_paths(struct pl_secured *s)
{
    struct pl_names volumes = {0};
    PL_EACH(item, pl_tree_getz(s->spec, "volumes"))
    if (pl_tree_getz(item->value, "hostPath") != NULL)
        pl_names_add(s, &volumes, pl_tree_text_at(item->value, "name"));
    if (pl_names_count(&volumes) > 0)
        pl_secured_fail(s, "hostPath volumes",
                        pl_arena_f(s->arena, "%s %.*s",
                                   pl_names_plural(&volumes, "volume", "volumes"),
                                   PL_FMT(pl_names_quoted(s, &volumes))));
}

static bool host_ports(struct pl_secured *s, const struct pl_tree *container, void *arg)
{
    struct found *found = arg;
    bool bad = false;
    PL_EACH(item, pl_tree_getz(container, "ports"))
    {
        int64_t port = 0;
        if (!pl_tree_integer(pl_tree_getz(item->value, "hostPort"), &port) || port == 0)
            continue;
        bad = true;
        pl_names_add(s, &found->values, pl_arena_f(s->arena, "%" PRId64, port));
    }
    return bad;
}

/* "containers \"a\", \"b\" use hostPorts 1, 2" */
static struct pl_slice uses(struct pl_secured *s, const struct found *found, const char *one,
                            const char *several, struct pl_slice values)
{
    return pl_arena_f(s->arena, "%.*s %s %s %.*s",
                      PL_FMT(pl_names_containers(s, &found->containers)),
                      pl_names_plural(&found->containers, "uses", "use"),
                      pl_names_plural(&found->values, one, several), PL_FMT(values));
}

void pl_secure_host_ports(struct pl_secured *s)
{
    struct found found = {0};
    if (!any_container(s, host_ports, &found))
        return;
    pl_secured_fail(s, "hostPort",
                    uses(s, &found, "hostPort", "hostPorts", pl_names_plain(s, &found.values)));
}

static bool probes(struct pl_secured *s, const struct pl_tree *container, void *arg)
{
    static const char handlers[][20] = {"livenessProbe", "readinessProbe", "startupProbe",
                                        "lifecycle.postStart", "lifecycle.preStop"};
    static const char ways[][12] = {"httpGet", "tcpSocket"};
    struct found *found = arg;
    bool bad = false;
    for (size_t i = 0; i < PL_ARRAY_LEN(handlers); i++)
        for (size_t j = 0; j < PL_ARRAY_LEN(ways); j++) {
            const struct pl_tree *handler = pl_tree_dig(container, handlers[i]);
            struct pl_slice host = pl_tree_text_at(pl_tree_getz(handler, ways[j]), "host");
            if (host.len == 0)
                continue;
            bad = true;
            pl_names_add(s, &found->values, host);
        }
    return bad;
}

void pl_secure_probes(struct pl_secured *s)
{
    struct found found = {0};
    if (!any_container(s, probes, &found))
        return;
    pl_names_sort(s, &found.containers);
    pl_secured_fail(s, "probe or lifecycle host",
                    uses(s, &found, "probe or lifecycle host", "probe or lifecycle hosts",
                         pl_names_quoted(s, &found.values)));
}

/* ---- privileges ---- */

static bool privileged(struct pl_secured *s, const struct pl_tree *container, void *arg)
{
    PL_UNUSED(s);
    PL_UNUSED(arg);
    return pl_is_true(pl_secured_context(container, "privileged"));
}

void pl_secure_privileged(struct pl_secured *s)
{
    struct pl_names containers = {0};
    pl_secured_each(s, privileged, NULL, &containers);
    if (pl_names_count(&containers) > 0)
        pl_secured_fail(s, "privileged",
                        pl_arena_f(s->arena, "%.*s must not set securityContext.privileged=true",
                                   PL_FMT(pl_names_containers(s, &containers))));
}

static bool proc_mount(struct pl_secured *s, const struct pl_tree *container, void *arg)
{
    struct found *found = arg;
    const struct pl_tree *mount = pl_secured_context(container, "procMount");
    if (mount == NULL || pl_slice_eqz(pl_tree_text(mount), "Default"))
        return false;
    pl_names_add(s, &found->values, pl_tree_text(mount));
    return true;
}

void pl_secure_proc_mount(struct pl_secured *s)
{
    struct found found = {0};
    if (!any_container(s, proc_mount, &found))
        return;
    pl_secured_fail(s, "procMount",
                    pl_arena_f(s->arena, "%.*s must not set securityContext.procMount to %.*s",
                               PL_FMT(pl_names_containers(s, &found.containers)),
                               PL_FMT(pl_names_quoted(s, &found.values))));
}

/* ---- SELinux ---- */

static bool bad_selinux(struct pl_secured *s, const struct pl_tree *owner, struct found *found)
{
    const struct pl_tree *options = pl_secured_context(owner, "seLinuxOptions");
    struct pl_slice type = pl_tree_text_at(options, "type");
    bool bad = type.len > 0 && !pl_is_among(type, "container_t,container_init_t,container_kvm_t") &&
               !(s->minor >= 31 && pl_slice_eqz(type, "container_engine_t"));
    bool user = pl_tree_text_at(options, "user").len > 0;
    bool role = pl_tree_text_at(options, "role").len > 0;
    if (bad)
        pl_names_add(s, &found->values, type);
    found->user = found->user || user;
    found->role = found->role || role;
    return bad || user || role;
}

static bool selinux(struct pl_secured *s, const struct pl_tree *container, void *arg)
{
    return bad_selinux(s, container, arg);
}

void pl_secure_selinux(struct pl_secured *s)
{
    struct found found = {0};
    struct pl_buf what = PL_BUF_INIT;
    bool pod = bad_selinux(s, s->spec, &found);
    pl_secured_each(s, selinux, &found, &found.containers);
    if (!pod && pl_names_count(&found.containers) == 0)
        return;
    pl_names_sort(s, &found.values);
    if (pl_names_count(&found.values) > 0)
        pl_buf_add_f(&what, "%s %.*s", pl_names_plural(&found.values, "type", "types"),
                     PL_FMT(pl_names_quoted(s, &found.values)));
    if (found.user)
        pl_buf_add_f(&what, "%suser may not be set", what.len > 0 ? "; " : "");
    if (found.role)
        pl_buf_add_f(&what, "%srole may not be set", what.len > 0 ? "; " : "");
    pl_secured_fail(s, "seLinuxOptions",
                    pl_arena_f(s->arena, "%.*s set forbidden securityContext.seLinuxOptions: %s",
                               PL_FMT(pl_names_setters(s, pod, &found.containers)),
                               pl_buf_z(&what)));
    pl_buf_deinit(&what);
}

/* ---- seccomp ---- */

static bool seccomp(struct pl_secured *s, const struct pl_tree *container, void *arg)
{
    struct found *found = arg;
    return other_type(s, container, "seccompProfile", &found->values);
}

static bool good_seccomp(struct pl_slice value)
{
    return pl_is_among(value, "runtime/default,docker/default") ||
           pl_text_begins(value, "localhost/");
}

static void seccomp_annotation(struct pl_secured *s, struct pl_names *found, struct pl_slice key)
{
    const struct pl_tree *value = pl_tree_get(pl_tree_dig(s->pod, "metadata.annotations"), key);
    if (value != NULL && !good_seccomp(pl_tree_text(value)))
        pl_names_add(
            s, found,
            pl_arena_f(s->arena, "%.*s=\"%.*s\"", PL_FMT(key), PL_FMT(pl_tree_text(value))));
}

static bool seccomp_of_old(struct pl_secured *s, const struct pl_tree *container, void *arg)
{
    seccomp_annotation(s, arg,
                       pl_arena_f(s->arena, "container.seccomp.security.alpha.kubernetes.io/%.*s",
                                  PL_FMT(pl_tree_text_at(container, "name"))));
    return false;
}

/* Before version 1.19, annotations set the profile. */
static void check_annotations(struct pl_secured *s)
{
    struct pl_names found = {0};
    seccomp_annotation(s, &found, pl_slice_z("seccomp.security.alpha.kubernetes.io/pod"));
    pl_secured_each(s, seccomp_of_old, &found, NULL);
    pl_names_sort(s, &found);
    if (pl_names_count(&found) > 0)
        pl_secured_fail(s, "seccompProfile",
                        pl_arena_f(s->arena, "forbidden %s %.*s",
                                   pl_names_plural(&found, "annotation", "annotations"),
                                   PL_FMT(pl_names_plain(s, &found))));
}

/* The check of both levels: a profile must be RuntimeDefault or Localhost. */
static bool refuse_profiles(struct pl_secured *s)
{
    struct found found = {0};
    bool pod = other_type(s, s->spec, "seccompProfile", &found.values);
    pl_secured_each(s, seccomp, &found, &found.containers);
    if (!pod && pl_names_count(&found.containers) == 0)
        return false;
    pl_names_sort(s, &found.values);
    pl_secured_fail(s, "seccompProfile",
                    pl_arena_f(s->arena,
                               "%.*s must not set securityContext.seccompProfile.type to %.*s",
                               PL_FMT(pl_names_setters(s, pod, &found.containers)),
                               PL_FMT(pl_names_quoted(s, &found.values))));
    return true;
}

void pl_secure_seccomp(struct pl_secured *s)
{
    if (s->minor < 19)
        check_annotations(s);
    else
        refuse_profiles(s);
}

static bool without_profile(struct pl_secured *s, const struct pl_tree *container, void *arg)
{
    PL_UNUSED(s);
    PL_UNUSED(arg);
    return pl_secured_context(container, "seccompProfile") == NULL;
}

void pl_secure_some_seccomp(struct pl_secured *s)
{
    struct pl_names containers = {0};
    if (pl_secured_windows(s) || refuse_profiles(s) ||
        pl_secured_context(s->spec, "seccompProfile") != NULL)
        return;
    pl_secured_each(s, without_profile, NULL, &containers);
    if (pl_names_count(&containers) > 0)
        pl_secured_fail(s, "seccompProfile",
                        pl_arena_f(s->arena,
                                   "pod or %.*s must set securityContext.seccompProfile.type to "
                                   "\"RuntimeDefault\" or \"Localhost\"",
                                   PL_FMT(pl_names_containers(s, &containers))));
}

/* ---- sysctls and Windows ---- */

void pl_secure_sysctls(struct pl_secured *s)
{
    static const struct {
        const char *name;
        int since;
    } allowed[] = {{"kernel.shm_rmid_forced", 0},
                   {"net.ipv4.ip_local_port_range", 0},
                   {"net.ipv4.tcp_syncookies", 0},
                   {"net.ipv4.ping_group_range", 0},
                   {"net.ipv4.ip_unprivileged_port_start", 0},
                   {"net.ipv4.ip_local_reserved_ports", 27},
                   {"net.ipv4.tcp_keepalive_time", 29},
                   {"net.ipv4.tcp_fin_timeout", 29},
                   {"net.ipv4.tcp_keepalive_intvl", 29},
                   {"net.ipv4.tcp_keepalive_probes", 29},
                   {"net.ipv4.tcp_rmem", 32},
                   {"net.ipv4.tcp_wmem", 32},
                   {"net.ipv4.tcp_slow_start_after_idle", 37},
                   {"net.ipv4.tcp_notsent_lowat", 37}};
    struct pl_names found = {0};
    PL_EACH(item, pl_secured_context(s->spec, "sysctls"))
    {
        struct pl_slice name = pl_tree_text_at(item->value, "name");
        bool good = false;
        for (size_t i = 0; i < PL_ARRAY_LEN(allowed); i++)
            good = good || (s->minor >= allowed[i].since && pl_slice_eqz(name, allowed[i].name));
        if (!good)
            pl_names_add(s, &found, name);
    }
    if (pl_names_count(&found) > 0)
        pl_secured_fail(s, "forbidden sysctls", pl_names_plain(s, &found));
}

static bool is_host_process(const struct pl_tree *owner)
{
    return pl_is_true(pl_tree_getz(pl_secured_context(owner, "windowsOptions"), "hostProcess"));
}

static bool host_process(struct pl_secured *s, const struct pl_tree *container, void *arg)
{
    PL_UNUSED(s);
    PL_UNUSED(arg);
    return is_host_process(container);
}

void pl_secure_windows(struct pl_secured *s)
{
    struct pl_names containers = {0};
    bool pod = is_host_process(s->spec);
    pl_secured_each(s, host_process, NULL, &containers);
    if (pod || pl_names_count(&containers) > 0)
        pl_secured_fail(
            s, "hostProcess",
            pl_arena_f(s->arena,
                       "%.*s must not set securityContext.windowsOptions.hostProcess=true",
                       PL_FMT(pl_names_setters(s, pod, &containers))));
}

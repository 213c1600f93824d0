/* Security contexts of pods and of their containers: profiles, users of Windows, and what a pod of
 * one operating system must not set. */
#include "valid/kinds.h"

#include "object/tree.h"

#include <string.h>

#define MOST_PROFILE_BYTES 4095

/* ---- profiles ---- */

static void check_seccomp(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *profile)
{
    const struct pl_tree *type = pl_tree_getz(profile, "type");
    const struct pl_tree *path = pl_tree_getz(profile, "localhostProfile");
    const struct pl_spot *here = PL_MEMBER(at, "localhostProfile");
    bool local = pl_slice_eqz(pl_tree_text(type), "Localhost");
    if (profile == NULL)
        return;
    if (pl_is_empty(type))
        pl_bad_required(f, PL_MEMBER(at, "type"), "type is required when seccompProfile is set");
    pl_one_of(f, PL_MEMBER(at, "type"), type, "Localhost,RuntimeDefault,Unconfined");
    if (local && path == NULL)
        pl_bad_required(f, here, "must be set when seccomp type is Localhost");
    else if (local)
        pl_valid_descending_path(f, here, path, NULL);
    else if (path != NULL)
        pl_bad_struct(f, here, "@SeccompProfile", profile,
                      "can only be set when seccomp type is Localhost");
}

static bool is_padded(struct pl_slice text)
{
    return text.len > 0 &&
           (strchr(" \t\r\n", text.ptr[0]) != NULL || strchr(" \t\r\n", text.ptr[text.len - 1]));
}

static void check_app_armor(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *profile)
{
    static const char need[] = "must be set when AppArmor type is Localhost";
    const struct pl_tree *type = pl_tree_getz(profile, "type");
    const struct pl_tree *path = pl_tree_getz(profile, "localhostProfile");
    const struct pl_spot *here = PL_MEMBER(at, "localhostProfile");
    if (profile == NULL)
        return;
    if (pl_is_empty(type))
        pl_bad_required(f, PL_MEMBER(at, "type"), "type is required when appArmorProfile is set");
    pl_one_of(f, PL_MEMBER(at, "type"), type, "Localhost,RuntimeDefault,Unconfined");
    if (!pl_slice_eqz(pl_tree_text(type), "Localhost")) {
        if (path != NULL && pl_is_among(pl_tree_text(type), "RuntimeDefault,Unconfined"))
            pl_bad_value(f, here, path, "can only be set when AppArmor type is Localhost");
        return;
    }
    if (pl_is_empty(path))
        pl_bad_required(f, here, need);
    else if (is_padded(pl_tree_text(path)))
        pl_bad_value(f, here, path, "must not be padded with whitespace");
    if (pl_tree_text(path).len > MOST_PROFILE_BYTES)
        pl_bad_long(f, here, "4095 bytes");
}

/* ---- users of Windows ---- */

static void check_user_name(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *name)
{
    struct pl_slice text = pl_tree_text(name);
    const char *slash = pl_slice_chr(text, '\\');
    struct pl_slice user = text;
    bool dots = true;
    if (slash != NULL)
        user = pl_slice(slash + 1, text.len - (size_t)(slash + 1 - text.ptr));
    if (text.len == 0) {
        pl_bad_value(f, at, name, "runAsUserName cannot be an empty string");
        return;
    }
    if (pl_slice_chr(user, '\\') != NULL) {
        pl_bad_value(f, at, name, "runAsUserName cannot contain more than one backslash");
        return;
    }
    for (size_t i = 0; i < user.len; i++)
        dots = dots && strchr(". ", user.ptr[i]) != NULL;
    if (user.len == 0)
        pl_bad_value(f, at, name, "runAsUserName's User cannot be empty");
    else if (user.len > 104)
        pl_bad_value(f, at, name,
                     "runAsUserName's User length must not be longer than 104 characters");
    if (dots)
        pl_bad_value(f, at, name, "runAsUserName's User cannot contain only periods or spaces");
}

static void check_windows_options(struct pl_api_faults *f, const struct pl_spot *at,
                                  const struct pl_tree *options)
{
    const struct pl_tree *name = pl_tree_getz(options, "gmsaCredentialSpecName");
    const struct pl_tree *spec = pl_tree_getz(options, "gmsaCredentialSpec");
    const struct pl_tree *user = pl_tree_getz(options, "runAsUserName");
    if (name != NULL)
        pl_subdomain(f, PL_MEMBER(at, "gmsaCredentialSpecName"), name, "always");
    if (spec != NULL && pl_is_empty(spec))
        pl_bad_value(f, PL_MEMBER(at, "gmsaCredentialSpec"), spec,
                     "gmsaCredentialSpec cannot be an empty string");
    if (user != NULL)
        check_user_name(f, PL_MEMBER(at, "runAsUserName"), user);
}

/* ---- contexts ---- */

/* What the contexts of pods and of containers have in common. */
static void check_shared(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *context)
{
    static const struct pl_rule rules[] = {
        {"runAsUser", pl_range, "0-2147483647"},
        {"runAsGroup", pl_range, "0-2147483647"},
        {NULL, NULL, NULL},
    };
    pl_hold(f, at, context, rules);
    check_seccomp(f, PL_MEMBER(at, "seccompProfile"), pl_tree_getz(context, "seccompProfile"));
    check_app_armor(f, PL_MEMBER(at, "appArmorProfile"), pl_tree_getz(context, "appArmorProfile"));
    check_windows_options(f, PL_MEMBER(at, "windowsOptions"),
                          pl_tree_getz(context, "windowsOptions"));
}

void pl_valid_pod_context(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *context)
{
    static const struct pl_rule rules[] = {
        {"fsGroup", pl_range, "0-2147483647"},
        {"supplementalGroups[]", pl_range, "0-2147483647"},
        {"fsGroupChangePolicy", pl_if_set, "Always,OnRootMismatch"},
        {"supplementalGroupsPolicy", pl_if_set, "Merge,Strict"},
        {"seLinuxChangePolicy", pl_if_set, "MountOption,Recursive"},
        {NULL, NULL, NULL},
    };
    check_shared(f, at, context);
    pl_hold(f, at, context, rules);
}

void pl_valid_container_context(struct pl_api_faults *f, const struct pl_spot *at,
                                const struct pl_tree *context, const struct pl_tree *pod)
{
    const struct pl_tree *proc = pl_tree_getz(context, "procMount");
    check_shared(f, at, context);
    pl_if_set(f, PL_MEMBER(at, "procMount"), proc, "Default,Unmasked");
    if (pl_slice_eqz(pl_tree_text(proc), "Unmasked") &&
        !pl_is_false(pl_tree_getz(pod, "hostUsers")))
        pl_bad_value(f, PL_MEMBER(at, "procMount"), proc,
                     "`hostUsers` must be false to use `Unmasked`");
    if (!pl_is_false(pl_tree_getz(context, "allowPrivilegeEscalation")))
        return;
    if (pl_is_true(pl_tree_getz(context, "privileged")))
        pl_bad_struct(f, at, "@SecurityContext", context,
                      "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
    PL_EACH(item, pl_tree_dig(context, "capabilities.add"))
    if (pl_slice_eqz(pl_tree_text(item->value), "CAP_SYS_ADMIN"))
        pl_bad_struct(f, at, "@SecurityContext", context,
                      "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` "
                      "CAP_SYS_ADMIN");
}

/* ---- operating systems ---- */

static void context_forbid(struct pl_api_faults *f, const struct pl_spot *at,
                           const struct pl_tree *object, const char *const *members,
                           const char *why)
{
    for (; *members != NULL; members++) {
        const struct pl_tree *value = pl_tree_getz(object, *members);
        bool is_list = pl_tree_is(value, PL_ARRAY);
        if (value != NULL && !pl_is_false(value) && !(is_list && value->count == 0))
            pl_bad_forbidden(f, PL_MEMBER(at, *members), why);
    }
}

static const char lists[][20] = {"initContainers", "containers", "ephemeralContainers"};

static void forbid_contexts(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *spec, const char *const *members, const char *why)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(lists); i++) {
        const struct pl_spot *list = PL_MEMBER(at, lists[i]);
        size_t k = 0;
        PL_EACH(item, pl_tree_getz(spec, lists[i]))
        context_forbid(f, PL_MEMBER(PL_INDEX(list, k++), "securityContext"),
                       pl_tree_getz(item->value, "securityContext"), members, why);
    }
}

void pl_valid_system(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *spec)
{
    static const char *const of_windows[] = {"windowsOptions", NULL};
    static const char *const of_pods[] = {"appArmorProfile",     "seLinuxOptions",
                                          "seccompProfile",      "fsGroup",
                                          "fsGroupChangePolicy", "sysctls",
                                          "runAsUser",           "runAsGroup",
                                          "supplementalGroups",  "supplementalGroupsPolicy",
                                          "seLinuxChangePolicy", NULL};
    static const char *const of_containers[] = {"appArmorProfile",
                                                "seLinuxOptions",
                                                "seccompProfile",
                                                "capabilities",
                                                "readOnlyRootFilesystem",
                                                "privileged",
                                                "allowPrivilegeEscalation",
                                                "procMount",
                                                "runAsUser",
                                                "runAsGroup",
                                                NULL};
    static const char *const of_specs[] = {"hostUsers", "hostPID", "hostIPC",
                                           "shareProcessNamespace", NULL};
    static const char linux_pod[] = "windows options cannot be set for a linux pod";
    static const char windows_pod[] = "cannot be set for a windows pod";
    struct pl_slice name = pl_tree_text_at(spec, "os.name");
    const struct pl_tree *context = pl_tree_getz(spec, "securityContext");
    const struct pl_spot *here = PL_MEMBER(at, "securityContext");
    if (pl_tree_getz(spec, "os") != NULL)
        pl_needs_one(f, PL_MEMBER(at, "os"), pl_tree_dig(spec, "os.name"), "linux,windows");
    if (pl_slice_eqz(name, "linux")) {
        context_forbid(f, here, context, of_windows, linux_pod);
        forbid_contexts(f, at, spec, of_windows, linux_pod);
    } else if (pl_slice_eqz(name, "windows")) {
        context_forbid(f, here, context, of_pods, windows_pod);
        context_forbid(f, at, spec, of_specs, windows_pod);
        forbid_contexts(f, at, spec, of_containers, windows_pod);
    }
}

/* ---- host processes ---- */

static const struct pl_tree *host_process_of(const struct pl_tree *owner)
{
    return pl_tree_dig(owner, "securityContext.windowsOptions.hostProcess");
}

void pl_valid_host_processes(struct pl_api_faults *f, const struct pl_spot *at,
                             const struct pl_tree *spec)
{
    static const char members[][16] = {"initContainers", "containers"};
    const struct pl_tree *pod = host_process_of(spec);
    size_t count = 0, all = 0;
    for (size_t k = 0; k < PL_ARRAY_LEN(members); k++) {
        const struct pl_spot *list = PL_MEMBER(at, members[k]);
        size_t i = 0;
        PL_EACH(item, pl_tree_getz(spec, members[k]))
        {
            const struct pl_tree *own = host_process_of(item->value);
            const struct pl_spot *options =
                PL_MEMBER(PL_MEMBER(PL_INDEX(list, i++), "securityContext"), "windowsOptions");
            if (pod != NULL && own != NULL && !pl_tree_equal(pod, own))
                pl_bad_value(f, PL_MEMBER(options, "hostProcess"), own,
                             "pod hostProcess value must be identical if both are specified, was "
                             "%s",
                             pl_is_true(pod) ? "true" : "false");
            count += pl_is_true(own != NULL ? own : pod);
            all++;
        }
    }
    if (count > 0 && count < all)
        pl_bad_value(f, at, pl_tree_strz(f->arena, ""),
                     "If pod contains any hostProcess containers then all containers must be "
                     "HostProcess containers");
    if (count > 0 && !pl_is_true(pl_tree_getz(spec, "hostNetwork")))
        pl_bad_value(f, PL_MEMBER(at, "hostNetwork"), pl_tree_bool(f->arena, false),
                     "hostNetwork must be true if pod contains any hostProcess containers");
}

/* Levels, versions and labels of the Pod Security Standards, and the checks of each level in each
 * version. The checks themselves are in security_baseline.c and security_restricted.c. Their order
 * in messages is kube-apiserver's (checked against 1.37). */
#include "podsecurity/security.h"

#include "base/text.h"
#include "podsecurity/security_impl.h"

#include <string.h>

#define NEWEST 37 /* the minor version of the newest checks */
#define NEVER  PL_SECURITY_LATEST

static const char levels[][12] = {"privileged", "baseline", "restricted"};

/* ---- labels ---- */

static void bad_label(struct pl_api_faults *faults, const char *label, struct pl_slice value,
                      const char *why)
{
    if (faults != NULL)
        pl_api_fault(faults, "FieldValueInvalid",
                     pl_arena_f(faults->arena, "metadata.labels[%s]", label),
                     "Invalid value: \"%.*s\": %s", PL_FMT(value), why);
}

static bool read_level(const struct pl_tree *labels, const char *label,
                       enum pl_security_level *level, enum pl_security_level otherwise,
                       struct pl_api_faults *faults)
{
    const struct pl_tree *value = pl_tree_getz(labels, label);
    if (value == NULL)
        return false;
    for (size_t i = 0; i < PL_ARRAY_LEN(levels); i++)
        if (pl_slice_eqz(pl_tree_text(value), levels[i])) {
            *level = (enum pl_security_level)i;
            return true;
        }
    *level = otherwise;
    bad_label(faults, label, pl_tree_text(value),
              "must be one of privileged, baseline, restricted");
    return false;
}

/* Parses "latest" or "v1.x" without leading zeros. */
static bool parse_minor(struct pl_slice text, int *minor)
{
    *minor = PL_SECURITY_LATEST;
    if (pl_slice_eqz(text, "latest"))
        return true;
    if (text.len < 4 || text.len > 7 || !pl_text_begins(text, "v1.") ||
        (text.ptr[3] == '0' && text.len > 4))
        return false;
    int number = 0;
    for (size_t i = 3; i < text.len; i++) {
        if (!pl_is_digit(text.ptr[i]))
            return false;
        number = number * 10 + (text.ptr[i] - '0');
    }
    *minor = number;
    return true;
}

static bool read_version(const struct pl_tree *labels, const char *label, int *minor,
                         struct pl_api_faults *faults)
{
    const struct pl_tree *value = pl_tree_getz(labels, label);
    if (value == NULL)
        return false;
    if (!parse_minor(pl_tree_text(value), minor))
        bad_label(faults, label, pl_tree_text(value), "must be \"latest\" or \"v1.x\"");
    return true;
}

struct pl_security_policy pl_security_policy_of(const struct pl_tree *labels,
                                                struct pl_api_faults *faults)
{
#define LABEL "pod-security.kubernetes.io/"
    const struct pl_security none = {PL_SECURITY_PRIVILEGED, PL_SECURITY_LATEST};
    struct pl_security_policy p = {none, none, none};
    bool enforces =
        read_level(labels, LABEL "enforce", &p.enforce.level, PL_SECURITY_RESTRICTED, faults);
    read_version(labels, LABEL "enforce-version", &p.enforce.minor, faults);
    read_level(labels, LABEL "audit", &p.audit.level, PL_SECURITY_PRIVILEGED, faults);
    read_version(labels, LABEL "audit-version", &p.audit.minor, faults);
    read_level(labels, LABEL "warn", &p.warn.level, PL_SECURITY_PRIVILEGED, faults);
    bool versioned = read_version(labels, LABEL "warn-version", &p.warn.minor, faults);
    if (pl_tree_getz(labels, LABEL "warn") == NULL && enforces &&
        p.enforce.level > p.warn.level) { /* without the label, `enforce` warns */
        p.warn.level = p.enforce.level;
        if (!versioned)
            p.warn.minor = p.enforce.minor;
    }
    return p;
#undef LABEL
}

struct pl_slice pl_security_text(struct pl_arena *arena, struct pl_security security)
{
    if (security.minor == PL_SECURITY_LATEST)
        return pl_arena_f(arena, "%s:latest", levels[security.level]);
    return pl_arena_f(arena, "%s:v1.%d", levels[security.level], security.minor);
}

/* ---- checks ---- */

static const struct {
    pl_security_check *check;
    enum pl_security_level level;
    int since;    /* minor version in which it begins */
    int replaced; /* minor version from which a check of "restricted" replaces it */
} checks[] = {
    {pl_secure_app_armor, PL_SECURITY_BASELINE, 0, NEVER},
    {pl_secure_capabilities, PL_SECURITY_BASELINE, 0, 22},
    {pl_secure_host_namespaces, PL_SECURITY_BASELINE, 0, NEVER},
    {pl_secure_host_paths, PL_SECURITY_BASELINE, 0, 0},
    {pl_secure_host_ports, PL_SECURITY_BASELINE, 0, NEVER},
    {pl_secure_probes, PL_SECURITY_BASELINE, 34, NEVER},
    {pl_secure_privileged, PL_SECURITY_BASELINE, 0, NEVER},
    {pl_secure_proc_mount, PL_SECURITY_BASELINE, 0, 35},
    {pl_secure_selinux, PL_SECURITY_BASELINE, 0, NEVER},
    {pl_secure_seccomp, PL_SECURITY_BASELINE, 0, 19},
    {pl_secure_sysctls, PL_SECURITY_BASELINE, 0, NEVER},
    {pl_secure_windows, PL_SECURITY_BASELINE, 0, NEVER},
    {pl_secure_escalation, PL_SECURITY_RESTRICTED, 8, NEVER},
    {pl_secure_no_capabilities, PL_SECURITY_RESTRICTED, 22, NEVER},
    {pl_secure_proc_mount, PL_SECURITY_RESTRICTED, 35, NEVER},
    {pl_secure_volumes, PL_SECURITY_RESTRICTED, 0, NEVER},
    {pl_secure_non_root, PL_SECURITY_RESTRICTED, 0, NEVER},
    {pl_secure_user, PL_SECURITY_RESTRICTED, 23, NEVER},
    {pl_secure_some_seccomp, PL_SECURITY_RESTRICTED, 19, NEVER},
};

static bool is_made(size_t i, struct pl_security security)
{
    bool restricted = security.level == PL_SECURITY_RESTRICTED;
    if (security.minor < checks[i].since || checks[i].level > security.level)
        return false;
    return !(restricted && checks[i].level == PL_SECURITY_BASELINE &&
             security.minor >= checks[i].replaced);
}

struct pl_slice pl_security_violations(struct pl_arena *arena, struct pl_security security,
                                       const struct pl_tree *pod, bool with_details)
{
    struct pl_buf text = PL_BUF_INIT;
    if (security.minor > NEWEST)
        security.minor = NEWEST;
    for (size_t i = 0; i < PL_ARRAY_LEN(checks); i++) {
        struct pl_secured s = {
            .arena = arena, .pod = pod, .spec = pl_tree_getz(pod, "spec"), .minor = security.minor};
        if (security.level == PL_SECURITY_PRIVILEGED || !is_made(i, security))
            continue;
        /* from 1.35 on, the baseline allows any procMount to Pods with a user namespace */
        if (checks[i].check == pl_secure_proc_mount && checks[i].level == PL_SECURITY_BASELINE &&
            security.minor >= 35 && pl_secured_mapped(&s))
            continue;
        checks[i].check(&s);
        if (s.reason.len == 0)
            continue;
        pl_buf_add_f(&text, "%s%.*s", text.len > 0 ? ", " : "", PL_FMT(s.reason));
        if (with_details && s.detail.len > 0)
            pl_buf_add_f(&text, " (%.*s)", PL_FMT(s.detail));
    }
    struct pl_slice out = pl_arena_copy(arena, pl_buf_slice(&text));
    pl_buf_deinit(&text);
    return out;
}

/* Roles and their bindings. The role of a binding is immutable. */
#include "valid/kinds.h"

#include "object/tree.h"

#include <string.h>

#define RBAC "rbac.authorization.k8s.io"

static void access_check_rule(struct pl_api_faults *f, const struct pl_spot *at,
                              const struct pl_tree *rule, bool namespaced)
{
    bool urls = !pl_is_empty(pl_tree_getz(rule, "nonResourceURLs"));
    pl_need(f, PL_MEMBER(at, "verbs"), pl_tree_getz(rule, "verbs"), NULL);
    if (urls) {
        if (namespaced)
            pl_bad_value(f, PL_MEMBER(at, "nonResourceURLs"), pl_tree_getz(rule, "nonResourceURLs"),
                         "namespaced rules cannot apply to non-resource URLs");
        if (!pl_is_empty(pl_tree_getz(rule, "apiGroups")) ||
            !pl_is_empty(pl_tree_getz(rule, "resources")) ||
            !pl_is_empty(pl_tree_getz(rule, "resourceNames")))
            pl_bad_value(f, PL_MEMBER(at, "nonResourceURLs"), pl_tree_getz(rule, "nonResourceURLs"),
                         "rules cannot apply to both regular resources and non-resource URLs");
        return;
    }
    pl_need(f, PL_MEMBER(at, "apiGroups"), pl_tree_getz(rule, "apiGroups"),
            "resource rules must supply at least one api group");
    pl_need(f, PL_MEMBER(at, "resources"), pl_tree_getz(rule, "resources"),
            "resource rules must supply at least one resource");
}

static void check_aggregation(struct pl_api_faults *f, const struct pl_tree *rule)
{
    const struct pl_tree *list = pl_tree_getz(rule, "clusterRoleSelectors");
    const struct pl_spot *at =
        PL_MEMBER(PL_MEMBER(NULL, "aggregationRule"), "clusterRoleSelectors");
    size_t i = 0;
    if (pl_is_empty(list))
        pl_bad_required(f, at,
                        "at least one clusterRoleSelector required if aggregationRule is non-nil");
    PL_EACH(item, list)
    {
        struct pl_api_faults found = {.arena = f->arena};
        const struct pl_spot *spot = PL_INDEX(at, i++);
        pl_selector(&found, spot, item->value, NULL);
        pl_selector(f, spot, item->value, NULL);
        if (found.causes != NULL)
            pl_bad_value(f, spot, NULL, "invalid label selector.");
    }
}

void pl_valid_role(struct pl_api_faults *f, const struct pl_tree *object, const struct pl_tree *old)
{
    bool namespaced = pl_slice_eqz(pl_tree_text_at(object, "kind"), "Role");
    const struct pl_spot *list = PL_MEMBER(NULL, "rules");
    size_t i = 0;
    PL_UNUSED(old);
    PL_EACH(item, pl_tree_getz(object, "rules"))
    access_check_rule(f, PL_INDEX(list, i++), item->value, namespaced);
    if (pl_tree_is(pl_tree_getz(object, "aggregationRule"), PL_OBJECT))
        check_aggregation(f, pl_tree_getz(object, "aggregationRule"));
}

static void check_group(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *subject, const char *group)
{
    const struct pl_tree *is = pl_tree_getz(subject, "apiGroup");
    if (!pl_slice_eqz(pl_tree_text(is), group))
        pl_bad_unsupported(f, PL_MEMBER(at, "apiGroup"), is, group);
}

static void check_subject(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *subject, bool namespaced)
{
    struct pl_slice kind = pl_tree_text_at(subject, "kind");
    const struct pl_tree *name = pl_tree_getz(subject, "name");
    pl_need(f, PL_MEMBER(at, "name"), name, NULL);
    if (pl_slice_eqz(kind, "ServiceAccount")) {
        pl_subdomain(f, PL_MEMBER(at, "name"), name, NULL);
        check_group(f, at, subject, "");
        if (!namespaced)
            pl_need(f, PL_MEMBER(at, "namespace"), pl_tree_getz(subject, "namespace"), NULL);
    } else if (pl_is_among(kind, "User,Group")) {
        check_group(f, at, subject, RBAC);
    } else {
        pl_must_be(f, PL_MEMBER(at, "kind"), pl_tree_getz(subject, "kind"),
                   "ServiceAccount,User,Group");
    }
}

void pl_valid_role_binding(struct pl_api_faults *f, const struct pl_tree *object,
                           const struct pl_tree *old)
{
    bool namespaced = pl_slice_eqz(pl_tree_text_at(object, "kind"), "RoleBinding");
    const struct pl_tree *ref = pl_tree_getz(object, "roleRef");
    const struct pl_spot *at = PL_MEMBER(NULL, "roleRef"), *list = PL_MEMBER(NULL, "subjects");
    const struct pl_tree *name = pl_tree_getz(ref, "name");
    size_t i = 0;
    if (!pl_slice_eqz(pl_tree_text_at(ref, "apiGroup"), RBAC))
        pl_bad_unsupported(f, PL_MEMBER(at, "apiGroup"), pl_tree_getz(ref, "apiGroup"), RBAC);
    pl_must_be(f, PL_MEMBER(at, "kind"), pl_tree_getz(ref, "kind"),
               namespaced ? "Role,ClusterRole" : "ClusterRole");
    pl_need(f, PL_MEMBER(at, "name"), name, NULL);
    pl_valid_path_segment(f, PL_MEMBER(at, "name"), name, NULL);
    PL_EACH(item, pl_tree_getz(object, "subjects"))
    check_subject(f, PL_INDEX(list, i++), item->value, namespaced);
    if (old != NULL && !pl_tree_equal(ref, pl_tree_getz(old, "roleRef"))) {
        struct pl_tree *shown = pl_tree_object(f->arena);
        static const char members[][2][12] = {
            {"apiGroup", "APIGroup"}, {"kind", "Kind"}, {"name", "Name"}};
        for (size_t k = 0; k < PL_ARRAY_LEN(members); k++)
            pl_tree_setz(f->arena, shown, members[k][1],
                         pl_tree_str(f->arena, pl_tree_text_at(ref, members[k][0])));
        pl_bad_value(f, at, shown, "field is immutable");
    }
}

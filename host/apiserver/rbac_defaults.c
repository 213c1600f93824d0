/* The default ClusterRoles and bindings: administrators, discovery, self reviews for every user,
 * and admin, edit and view with the roles that they aggregate. They are facts about Kubernetes 1.37
 * and are stored once when the server starts. */
#include "apiserver/verbs.h"
#include "apiserver/write.h"

#include <string.h>

#define READ      "get,list,watch"
#define WRITE     "create,delete,deletecollection,patch,update"
#define ALL       "create,delete,deletecollection,get,list,patch,update,watch"
#define AGGREGATE "rbac.authorization.k8s.io/aggregate-to-"

struct role {
    const char *name;
    const char *part_of; /* the role (admin, edit or view) that selects it; NULL: none */
    bool selects;        /* it has the rules of the roles that it selects, and none of its own */
};

static const struct role roles[] = {
    {"cluster-admin", NULL, false},
    {"system:discovery", NULL, false},
    {"system:basic-user", NULL, false},
    {"system:public-info-viewer", NULL, false},
    {"admin", NULL, true},
    {"edit", "admin", true},
    {"view", "edit", true},
    {"system:aggregate-to-admin", "admin", false},
    {"system:aggregate-to-edit", "edit", false},
    {"system:aggregate-to-view", "view", false},
};

/* A rule of a role. Lists of texts: "get,list". */
struct rule {
    const char *role, *verbs;
    const char *groups; /* "core" stands for the group without a name; NULL: of URLs */
    const char *names;  /* of resources, or URLs */
};

/* clang-format off */
static const struct rule rules[] = {
    {"cluster-admin", "*", "*", "*"},
    {"cluster-admin", "*", NULL, "*"},
    {"system:discovery", "get", NULL,
     "/api,/api/*,/apis,/apis/*,/healthz,/livez,/openapi,/openapi/*,/readyz,/version,/version/"},
    {"system:basic-user", "create", "authorization.k8s.io",
     "selfsubjectaccessreviews,selfsubjectrulesreviews"},
    {"system:basic-user", "create", "authentication.k8s.io", "selfsubjectreviews"},
    {"system:public-info-viewer", "get", NULL, "/healthz,/livez,/readyz,/version,/version/"},
    {"system:aggregate-to-admin", "create", "authorization.k8s.io", "localsubjectaccessreviews"},
    {"system:aggregate-to-admin", ALL, "rbac.authorization.k8s.io", "rolebindings,roles"},
    {"system:aggregate-to-edit", READ, "core",
     "pods/attach,pods/exec,pods/portforward,pods/proxy,secrets,services/proxy"},
    {"system:aggregate-to-edit", "impersonate", "core", "serviceaccounts"},
    {"system:aggregate-to-edit", WRITE, "core",
     "pods,pods/attach,pods/exec,pods/portforward,pods/proxy"},
    {"system:aggregate-to-edit", "create", "core", "pods/eviction"},
    {"system:aggregate-to-edit", WRITE, "core",
     "configmaps,persistentvolumeclaims,replicationcontrollers,replicationcontrollers/scale,"
     "secrets,serviceaccounts,services,services/proxy"},
    {"system:aggregate-to-edit", "create", "core", "serviceaccounts/token"},
    {"system:aggregate-to-edit", WRITE, "core,events.k8s.io", "events"},
    {"system:aggregate-to-edit", WRITE, "apps",
     "daemonsets,deployments,deployments/rollback,deployments/scale,replicasets,"
     "replicasets/scale,statefulsets,statefulsets/scale"},
    {"system:aggregate-to-edit", WRITE, "autoscaling", "horizontalpodautoscalers"},
    {"system:aggregate-to-edit", WRITE, "batch", "cronjobs,jobs"},
    {"system:aggregate-to-edit", WRITE, "extensions",
     "daemonsets,deployments,deployments/rollback,deployments/scale,ingresses,networkpolicies,"
     "replicasets,replicasets/scale,replicationcontrollers/scale"},
    {"system:aggregate-to-edit", WRITE, "policy", "poddisruptionbudgets"},
    {"system:aggregate-to-edit", WRITE, "networking.k8s.io", "ingresses,networkpolicies"},
    {"system:aggregate-to-edit", ALL, "coordination.k8s.io", "leases"},
    {"system:aggregate-to-edit", WRITE, "resource.k8s.io", "resourceclaims,resourceclaimtemplates"},
    {"system:aggregate-to-view", READ, "core",
     "configmaps,endpoints,persistentvolumeclaims,persistentvolumeclaims/status,pods,"
     "replicationcontrollers,replicationcontrollers/scale,serviceaccounts,services,"
     "services/status"},
    {"system:aggregate-to-view", READ, "core",
     "bindings,limitranges,namespaces/status,pods/log,pods/status,replicationcontrollers/status,"
     "resourcequotas,resourcequotas/status"},
    {"system:aggregate-to-view", READ, "core", "namespaces"},
    {"system:aggregate-to-view", READ, "core,events.k8s.io", "events"},
    {"system:aggregate-to-view", READ, "discovery.k8s.io", "endpointslices"},
    {"system:aggregate-to-view", READ, "apps",
     "controllerrevisions,daemonsets,daemonsets/status,deployments,deployments/scale,"
     "deployments/status,replicasets,replicasets/scale,replicasets/status,statefulsets,"
     "statefulsets/scale,statefulsets/status"},
    {"system:aggregate-to-view", READ, "autoscaling",
     "horizontalpodautoscalers,horizontalpodautoscalers/status"},
    {"system:aggregate-to-view", READ, "batch", "cronjobs,cronjobs/status,jobs,jobs/status"},
    {"system:aggregate-to-view", READ, "extensions",
     "daemonsets,daemonsets/status,deployments,deployments/scale,deployments/status,ingresses,"
     "ingresses/status,networkpolicies,replicasets,replicasets/scale,replicasets/status,"
     "replicationcontrollers/scale"},
    {"system:aggregate-to-view", READ, "policy",
     "poddisruptionbudgets,poddisruptionbudgets/status"},
    {"system:aggregate-to-view", READ, "networking.k8s.io",
     "ingresses,ingresses/status,networkpolicies"},
    {"system:aggregate-to-view", READ, "resource.k8s.io",
     "resourceclaims,resourceclaims/status,resourceclaimtemplates"},
};
/* clang-format on */

struct binding {
    const char *role; /* also the binding's name */
    const char *groups[2];
};

static const struct binding bindings[] = {
    {"cluster-admin", {"system:masters", NULL}},
    {"system:discovery", {"system:authenticated", NULL}},
    {"system:basic-user", {"system:authenticated", NULL}},
    {"system:public-info-viewer", {"system:authenticated", "system:unauthenticated"}},
};

static struct pl_tree *named(struct pl_arena *arena, const char *kind, const char *name)
{
    struct pl_tree *object =
        pl_tree_literal(arena, "{\"kind\":\"\",\"apiVersion\":\"rbac.authorization.k8s.io/v1\"}");
    pl_tree_set_strz(arena, object, "kind", kind);
    struct pl_tree *meta = pl_tree_child(arena, object, "metadata");
    pl_tree_set_strz(arena, meta, "name", name);
    pl_tree_setz(arena, meta, "labels",
                 pl_tree_literal(arena, "{\"kubernetes.io/bootstrapping\":\"rbac-defaults\"}"));
    pl_tree_setz(
        arena, meta, "annotations",
        pl_tree_literal(arena, "{\"rbac.authorization.kubernetes.io/autoupdate\":\"true\"}"));
    return object;
}

static struct pl_tree *selector_of(struct pl_arena *arena, const char *name)
{
    return pl_tree_literal(arena,
                           pl_arena_f(arena,
                                      "{\"clusterRoleSelectors\":[{\"matchLabels\":{\"" AGGREGATE
                                      "%s\":\"true\"}}]}",
                                      name)
                               .ptr);
}

static struct pl_tree *make_rule(struct pl_arena *arena, const struct rule *rule)
{
    struct pl_tree *made = pl_tree_object(arena), *groups = pl_tree_array(arena);
    pl_tree_setz(arena, made, "verbs", pl_tree_texts(arena, rule->verbs));
    if (rule->groups == NULL) {
        pl_tree_setz(arena, made, "nonResourceURLs", pl_tree_texts(arena, rule->names));
        return made;
    }
    PL_TREE_FOR(group, pl_tree_texts(arena, rule->groups))
    {
        bool is_core = pl_slice_eqz(pl_tree_text(group->value), "core");
        pl_tree_push(arena, groups, is_core ? pl_tree_strz(arena, "") : group->value);
    }
    pl_tree_setz(arena, made, "apiGroups", groups);
    pl_tree_setz(arena, made, "resources", pl_tree_texts(arena, rule->names));
    return made;
}

static struct pl_tree *rules_of(struct pl_arena *arena, const struct role *role)
{
    struct pl_tree *list = pl_tree_array(arena);
    for (size_t i = 0; i < PL_ARRAY_LEN(rules); i++)
        if (strcmp(rules[i].role, role->name) == 0)
            pl_tree_push(arena, list, make_rule(arena, &rules[i]));
    return list;
}

static struct pl_tree *make_role(struct pl_arena *arena, const struct role *role)
{
    struct pl_tree *object = named(arena, "ClusterRole", role->name);
    if (role->part_of != NULL)
        pl_tree_set_strz(arena, pl_tree_dig(object, "metadata.labels"),
                         pl_arena_f(arena, AGGREGATE "%s", role->part_of).ptr, "true");
    if (role->selects)
        pl_tree_setz(arena, object, "aggregationRule", selector_of(arena, role->name));
    else
        pl_tree_setz(arena, object, "rules", rules_of(arena, role));
    return object;
}

static struct pl_tree *make_binding(struct pl_arena *arena, const struct binding *binding)
{
    struct pl_tree *object = named(arena, "ClusterRoleBinding", binding->role);
    struct pl_tree *subjects = pl_tree_array(arena);
    for (size_t i = 0; i < PL_ARRAY_LEN(binding->groups) && binding->groups[i] != NULL; i++) {
        struct pl_tree *subject = pl_tree_literal(
            arena, "{\"kind\":\"Group\",\"apiGroup\":\"rbac.authorization.k8s.io\"}");
        pl_tree_set_strz(arena, subject, "name", binding->groups[i]);
        pl_tree_push(arena, subjects, subject);
    }
    pl_tree_setz(arena, object, "subjects", subjects);
    struct pl_tree *ref = pl_tree_literal(
        arena, "{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\"}");
    pl_tree_set_strz(arena, ref, "name", binding->role);
    pl_tree_setz(arena, object, "roleRef", ref);
    return object;
}

void pl_api_rbac_make_defaults(struct pl_api *api)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(roles); i++) {
        struct pl_arena arena = {0};
        pl_api_store_own(api, "rbac.authorization.k8s.io", "clusterroles",
                         make_role(&arena, &roles[i]));
        pl_arena_deinit(&arena);
    }
    for (size_t i = 0; i < PL_ARRAY_LEN(bindings); i++) {
        struct pl_arena arena = {0};
        pl_api_store_own(api, "rbac.authorization.k8s.io", "clusterrolebindings",
                         make_binding(&arena, &bindings[i]));
        pl_arena_deinit(&arena);
    }
}

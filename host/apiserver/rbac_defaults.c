/* The default ClusterRoles and bindings: administrators, discovery, self reviews for every user,
 * and admin, edit and view with the roles that they aggregate. They are facts about Kubernetes 1.37
 * and are stored once when the server starts. */

#include "apiserver/verbs.h"
#include "apiserver/write.h"

#define READ  "[\"get\",\"list\",\"watch\"]"
#define WRITE "[\"create\",\"delete\",\"deletecollection\",\"patch\",\"update\"]"
#define ALL                                                                                        \
    "[\"create\",\"delete\",\"deletecollection\",\"get\",\"list\",\"patch\",\"update\",\"watch\"]"
#define RULE(groups, resources, verbs)                                                             \
    "{\"verbs\":" verbs ",\"apiGroups\":[" groups "],\"resources\":[" resources "]}"
#define URLS(urls) "{\"verbs\":[\"get\"],\"nonResourceURLs\":[" urls "]}"
#define AGGREGATE  "rbac.authorization.k8s.io/aggregate-to-"

struct role {
    const char *name;
    const char *part_of; /* the role (admin, edit or view) that selects it; NULL: none */
    const char *rules;   /* JSON; NULL: the rules of the selected roles */
};

static const struct
    role
        roles
            [] =
                {
                    {"cluster-admin", NULL,
                     "[" RULE("\"*\"", "\"*\"",
                              "[\"*\"]") ",{\"verbs\":[\"*\"],\"nonResourceURLs\":[\"*\"]}]"},
                    {"system:discovery", NULL,
                     "[" URLS("\"/api\",\"/api/*\",\"/apis\",\"/apis/*\",\"/healthz\",\"/"
                              "livez\",\"/openapi\","
                              "\"/openapi/*\",\"/readyz\",\"/version\",\"/version/\"") "]"},
                    {"system:basic-user", NULL,
                     "[" RULE("\"authorization.k8s.io\"",
                              "\"selfsubjectaccessreviews\",\"selfsubjectrulesreviews\"",
                              "[\"create\"]") "," RULE("\"authentication.k8s.io\"",
                                                       "\"selfsubjectreviews\"",
                                                       "[\"create\"]") "]"},
                    {"system:public-info-viewer", NULL,
                     "[" URLS(
                         "\"/healthz\",\"/livez\",\"/readyz\",\"/version\",\"/version/\"") "]"},
                    {"admin", NULL, NULL},
                    {"edit", "admin", NULL},
                    {"view", "edit", NULL},
                    {"system:aggregate-to-admin", "admin",
                     "[" RULE("\"authorization.k8s.io\"", "\"localsubjectaccessreviews\"",
                              "[\"create\"]") "," RULE("\"rbac.authorization.k8s.io\"",
                                                       "\"rolebindings\",\"roles\"", ALL) "]"},
                    {"system:aggregate-to-edit", "edit",
                     "[" RULE("\"\"",
                              "\"pods/attach\",\"pods/exec\",\"pods/portforward\",\"pods/proxy\","
                              "\"secrets\",\"services/proxy\"",
                              READ) "," RULE("\"\"", "\"serviceaccounts\"",
                                             "[\"impersonate\"]") "," RULE("\"\"",
                                                                           "\"pods\",\"pods/"
                                                                           "attach\",\"pods/"
                                                                           "exec\",\"pods/"
                                                                           "portforward\",\"pods/"
                                                                           "proxy\"",
                                                                           WRITE) "," RULE("\"\"", "\"pods/eviction\"", "[\"create\"]") "," RULE("\"\"",
                                                                                                                                                 "\"configmaps\",\"persistentvolumeclaims\",\"replicationcontrollers\","
                                                                                                                                                 "\"replicationcontrollers/scale\",\"secrets\",\"serviceaccounts\",\"services\","
                                                                                                                                                 "\"services/proxy\"",
                                                                                                                                                 WRITE) "," RULE("\"\"",
                                                                                                                                                                 "\"serviceaccounts/token\"", "[\"create\"]") "," RULE("\"\",\"events.k8s.io\"", "\"events\"", WRITE) "," RULE("\"apps\"",
                                                                                                                                                                                                                                                                               "\"daemonsets\",\"deployments\",\"deployments/rollback\","
                                                                                                                                                                                                                                                                               "\"deployments/scale\",\"replicasets\",\"replicasets/scale\","
                                                                                                                                                                                                                                                                               "\"statefulsets\",\"statefulsets/scale\"",
                                                                                                                                                                                                                                                                               WRITE) "," RULE("\"autoscaling\"", "\"horizontalpodautoscalers\"", WRITE) "," RULE("\"batch\"",
                                                                                                                                                                                                                                                                                                                                                                  "\"cronjobs\",\"jobs\"",
                                                                                                                                                                                                                                                                                                                                                                  WRITE) "," RULE("\"extensions\"",
                                                                                                                                                                                                                                                                                                                                                                                  "\"daemonsets\",\"deployments\",\"deployments/rollback\","
                                                                                                                                                                                                                                                                                                                                                                                  "\"deployments/scale\",\"ingresses\",\"networkpolicies\","
                                                                                                                                                                                                                                                                                                                                                                                  "\"replicasets\",\"replicasets/scale\","
                                                                                                                                                                                                                                                                                                                                                                                  "\"replicationcontrollers/scale\"",
                                                                                                                                                                                                                                                                                                                                                                                  WRITE) "," RULE("\"policy\"",
                                                                                                                                                                                                                                                                                                                                                                                                  "\"poddisruptionbudgets\"",
                                                                                                                                                                                                                                                                                                                                                                                                  WRITE) "," RULE("\"networking.k8s.io\"",
                                                                                                                                                                                                                                                                                                                                                                                                                  "\"ingresses\",\"networkpolicies\"", WRITE) "," RULE("\"coordination.k8s.io\"",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                       "\"leases\"",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                       ALL) "," RULE("\"resource.k8s.io\"",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                     "\"resourceclaims\",\"resourceclaimtemplates\"", WRITE) "]"},
                    {"system:aggregate-to-view", "view",
                     "[" RULE(
                         "\"\"",
                         "\"configmaps\",\"endpoints\",\"persistentvolumeclaims\","
                         "\"persistentvolumeclaims/status\",\"pods\",\"replicationcontrollers\","
                         "\"replicationcontrollers/scale\",\"serviceaccounts\",\"services\","
                         "\"services/status\"",
                         READ) "," RULE("\"\"",
                                        "\"bindings\",\"limitranges\",\"namespaces/status\",\"pods/"
                                        "log\",\"pods/status\","
                                        "\"replicationcontrollers/status\",\"resourcequotas\","
                                        "\"resourcequotas/status\"",
                                        READ) "," RULE("\"\"", "\"namespaces\"",
                                                       READ) "," RULE("\"\",\"events.k8s.io\"",
                                                                      "\"events\"", READ) "," RULE("\"discovery.k8s.io\"", "\"endpointslices\"", READ) "," RULE("\"apps\"",
                                                                                                                                                                "\"controllerrevisions\",\"daemonsets\",\"daemonsets/status\","
                                                                                                                                                                "\"deployments\",\"deployments/scale\",\"deployments/status\","
                                                                                                                                                                "\"replicasets\",\"replicasets/scale\",\"replicasets/status\","
                                                                                                                                                                "\"statefulsets\",\"statefulsets/scale\",\"statefulsets/status\"",
                                                                                                                                                                READ) "," RULE("\"autoscaling\"", "\"horizontalpodautoscalers\",\"horizontalpodautoscalers/status\"", READ) "," RULE("\"batch\"", "\"cronjobs\",\"cronjobs/status\",\"jobs\",\"jobs/status\"", READ) "," RULE("\"extensions\"",
                                                                                                                                                                                                                                                                                                                                                                              "\"daemonsets\",\"daemonsets/status\",\"deployments\","
                                                                                                                                                                                                                                                                                                                                                                              "\"deployments/scale\",\"deployments/status\",\"ingresses\","
                                                                                                                                                                                                                                                                                                                                                                              "\"ingresses/status\",\"networkpolicies\",\"replicasets\","
                                                                                                                                                                                                                                                                                                                                                                              "\"replicasets/scale\",\"replicasets/status\","
                                                                                                                                                                                                                                                                                                                                                                              "\"replicationcontrollers/scale\"",
                                                                                                                                                                                                                                                                                                                                                                              READ) "," RULE("\"policy\"", "\"poddisruptionbudgets\",\"poddisruptionbudgets/status\"", READ) "," RULE("\"networking.k8s.io\"",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                      "\"ingresses\",\"ingresses/status\",\"networkpolicies\"", READ) "," RULE("\"resource.k8s.io\"",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                               "\"resourceclaims\",\"resourceclaims/status\","
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                               "\"resourceclaimtemplates\"",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                               READ) "]"},
};

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

static struct pl_tree *make_role(struct pl_arena *arena, const struct role *role)
{
    struct pl_tree *object = named(arena, "ClusterRole", role->name);
    if (role->part_of != NULL)
        pl_tree_set_strz(arena, pl_tree_dig(object, "metadata.labels"),
                         pl_arena_f(arena, AGGREGATE "%s", role->part_of).ptr, "true");
    if (role->rules == NULL)
        pl_tree_setz(arena, object, "aggregationRule", selector_of(arena, role->name));
    else
        pl_tree_setz(arena, object, "rules", pl_tree_literal(arena, role->rules));
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

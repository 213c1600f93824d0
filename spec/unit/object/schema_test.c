#include "object/schema.h"

#include "base/base.h"
#include "support/json.h"

static const struct pl_schema *builtin(const char *text)
{
    struct pl_kind kind;
    REQUIRE(pl_kind_parse(pl_slice_z(text), &kind, NULL) == 0);
    return pl_schema_builtin(&kind);
}

/* Follows "spec.containers[].env"; [] steps into a list's elements. */
static const struct pl_schema *dig(const struct pl_schema *schema, const char *path)
{
    while (*path != '\0') {
        size_t len = strcspn(path, ".[");
        if (len != 0)
            schema = pl_schema_field(schema, pl_slice(path, len));
        path += len;
        if (strncmp(path, "[]", 2) == 0) {
            schema = pl_schema_items(schema);
            path += 2;
        }
        path += *path == '.';
    }
    return schema;
}

/* "atomic", "set", "map(a,b)" and what a patch merges by: "/a", or "/set". */
static void describe(const struct pl_schema *schema, char out[128])
{
    static const char *const names[] = {"atomic", "set", "map("};
    int len = snprintf(out, 128, "%s", names[pl_schema_list_type(schema)]);
    const char *key;
    for (size_t i = 0; (key = pl_schema_list_key(schema, i)) != NULL; i++)
        len += snprintf(out + len, 128 - (size_t)len, "%s%s", i ? "," : "", key);
    if (pl_schema_list_key(schema, 0) != NULL)
        len += snprintf(out + len, 128 - (size_t)len, ")");
    if (pl_schema_merge_key(schema) != NULL)
        len += snprintf(out + len, 128 - (size_t)len, "/%s", pl_schema_merge_key(schema));
    if (pl_schema_merges_set(schema))
        snprintf(out + len, 128 - (size_t)len, "/set");
}

TEST(the_built_in_lists_are_told_apart_as_the_api_server_does)
{
    static const struct {
        const char *kind, *path, *want;
    } cases[] = {
        {"v1/Pod", "metadata.ownerReferences", "map(uid)/uid"},
        {"v1/Pod", "metadata.finalizers", "set/set"},
        {"v1/Pod", "spec.containers", "map(name)/name"},
        {"v1/Pod", "spec.initContainers", "map(name)/name"},
        {"v1/Pod", "spec.ephemeralContainers", "map(name)/name"},
        {"v1/Pod", "spec.containers[].env", "map(name)/name"},
        {"v1/Pod", "spec.containers[].ports", "map(containerPort,protocol)/containerPort"},
        {"v1/Pod", "spec.containers[].volumeMounts", "map(mountPath)/mountPath"},
        {"v1/Pod", "spec.containers[].volumeDevices", "map(devicePath)/devicePath"},
        {"v1/Pod", "spec.containers[].resources.claims", "map(name)"},
        {"v1/Pod", "spec.containers[].args", "atomic"},
        {"v1/Pod", "spec.volumes", "map(name)/name"},
        {"v1/Pod", "spec.imagePullSecrets", "map(name)/name"},
        {"v1/Pod", "spec.hostAliases", "map(ip)/ip"},
        {"v1/Pod", "spec.tolerations", "atomic"},
        {"v1/Pod", "spec.topologySpreadConstraints",
         "map(topologyKey,whenUnsatisfiable)/topologyKey"},
        {"v1/Pod", "spec.resourceClaims", "map(name)/name"},
        {"v1/Pod", "spec.schedulingGates", "map(name)/name"},
        {"v1/Pod", "status.conditions", "map(type)/type"},
        {"v1/Pod", "status.podIPs", "map(ip)/ip"},
        {"v1/Pod", "status.hostIPs", "atomic/ip"},
        {"v1/Pod", "status.containerStatuses", "atomic"},
        {"apps/v1/Deployment", "spec.template.spec.containers[].env", "map(name)/name"},
        {"apps/v1/Deployment", "spec.template.metadata.finalizers", "set/set"},
        {"apps/v1/StatefulSet", "spec.volumeClaimTemplates", "atomic"},
        {"apps/v1/DaemonSet", "status.conditions", "map(type)/type"},
        {"apps/v1/ReplicaSet", "spec.template.spec.volumes", "map(name)/name"},
        {"batch/v1/Job", "status.conditions", "atomic/type"},
        {"batch/v1/Job", "spec.template.spec.containers", "map(name)/name"},
        {"batch/v1/CronJob", "spec.jobTemplate.spec.template.spec.containers", "map(name)/name"},
        {"v1/Service", "spec.ports", "map(port,protocol)/port"},
        {"v1/ServiceAccount", "secrets", "map(name)/name"},
        {"v1/ServiceAccount", "imagePullSecrets", "atomic"},
        {"v1/Namespace", "spec.finalizers", "atomic"},
        {"v1/Namespace", "status.conditions", "map(type)/type"},
        {"v1/Node", "spec.taints", "atomic"},
        {"v1/Node", "spec.podCIDRs", "set/set"},
        {"v1/Node", "status.addresses", "map(type)/type"},
        {"v1/PersistentVolumeClaim", "status.conditions", "map(type)/type"},
        {"policy/v1/PodDisruptionBudget", "status.conditions", "map(type)/type"},
        {"autoscaling/v2/HorizontalPodAutoscaler", "status.conditions", "map(type)/type"},
        {"autoscaling/v2/HorizontalPodAutoscaler", "spec.metrics", "atomic"},
        {"networking.k8s.io/v1/Ingress", "spec.rules", "atomic"},
        {"rbac.authorization.k8s.io/v1/Role", "rules", "atomic"},
        {"apiextensions.k8s.io/v1/CustomResourceDefinition", "status.conditions", "map(type)"},
        {"admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration", "webhooks",
         "map(name)/name"},
        {"resource.k8s.io/v1/ResourceClaim", "status.devices", "map(driver,device,pool,shareID)"},
        {"coordination.k8s.io/v1/Lease", "metadata.ownerReferences", "map(uid)/uid"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        char got[128];
        describe(dig(builtin(cases[i].kind), cases[i].path), got);
        if (strcmp(got, cases[i].want) != 0)
            TEST_FAIL("%s %s: got %s, want %s", cases[i].kind, cases[i].path, got, cases[i].want);
    }
}

TEST(the_built_in_objects_that_are_one_value)
{
    static const struct {
        const char *kind, *path;
        bool atomic;
    } cases[] = {
        {"v1/Pod", "spec.nodeSelector", true},
        {"v1/Pod", "spec.containers[].env[].valueFrom.secretKeyRef", true},
        {"v1/Pod", "spec.containers[].env[].valueFrom", false},
        {"v1/Pod", "spec.affinity", false},
        {"v1/Pod", "metadata.ownerReferences[]", true},
        {"v1/Pod", "metadata.labels", false},
        {"apps/v1/Deployment", "spec.selector", true},
        {"apps/v1/Deployment", "spec.strategy", false},
        {"v1/Service", "spec.selector", true},
        {"v1/ConfigMap", "data", false},
        {"v1/Secret", "data", false},
        {"autoscaling/v1/HorizontalPodAutoscaler", "spec.scaleTargetRef", true},
        {"autoscaling/v2/HorizontalPodAutoscaler", "spec.scaleTargetRef", false},
        {"rbac.authorization.k8s.io/v1/RoleBinding", "roleRef", true},
        {"networking.k8s.io/v1/NetworkPolicy", "spec.podSelector", true},
        {"v1/Event", "involvedObject", true},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++)
        if (pl_schema_is_atomic(dig(builtin(cases[i].kind), cases[i].path)) != cases[i].atomic)
            TEST_FAIL("%s %s", cases[i].kind, cases[i].path);
}

TEST(a_key_that_may_be_left_out_has_a_default)
{
    const struct pl_schema *pod = builtin("v1/Pod"), *service = builtin("v1/Service");
    CHECK_STR(pl_schema_default(dig(pod, "spec.containers[].ports[].protocol")), "\"TCP\"");
    CHECK_STR(pl_schema_default(dig(service, "spec.ports[].protocol")), "\"TCP\"");
    CHECK(pl_schema_default(dig(service, "spec.ports[].port")) == NULL);
}

TEST(unknown_kinds_and_no_schema_know_nothing)
{
    char got[128];
    CHECK(builtin("example.com/v1/Website") == NULL);
    CHECK(builtin("v1/Deployment") == NULL);
    describe(NULL, got);
    CHECK_STR(got, "atomic");
    CHECK(pl_schema_field(NULL, pl_slice_z("a")) == NULL);
    CHECK(pl_schema_items(NULL) == NULL);
    CHECK(!pl_schema_is_atomic(NULL));
    CHECK(pl_schema_default(NULL) == NULL);
    CHECK(pl_schema_field(builtin("v1/Pod"), pl_slice_z("nothing")) == NULL);
}

TEST(a_custom_resource_says_it_in_its_openapi_schema)
{
    struct pl_doc *doc = json(
        "{'type':'object','properties':{"
        "'metadata':{'type':'object'},"
        "'spec':{'type':'object','properties':{"
        "'hosts':{'type':'array','x-kubernetes-list-type':'set','items':{'type':'string'}},"
        "'ports':{'type':'array','x-kubernetes-list-type':'map',"
        "'x-kubernetes-list-map-keys':['port','protocol'],'items':{'type':'object','properties':{"
        "'port':{'type':'integer'},'protocol':{'type':'string','default':'TCP'},"
        "'tags':{'type':'array','x-kubernetes-list-type':'set'}}}},"
        "'plain':{'type':'array','items':{'type':'object'}},"
        "'one':{'type':'object','x-kubernetes-map-type':'atomic'},"
        "'free':{'type':'object','x-kubernetes-preserve-unknown-fields':true},"
        "'pod':{'type':'object','x-kubernetes-embedded-resource':true},"
        "'values':{'type':'object','additionalProperties':{'type':'array',"
        "'x-kubernetes-list-type':'set'}}}}}}");
    struct pl_err err;
    struct pl_schema *schema = pl_schema_from_openapi(pl_doc_root(doc), &err);
    pl_doc_unref(doc);
    REQUIRE(schema != NULL);
    static const struct {
        const char *path, *want;
    } cases[] = {
        {"metadata.finalizers", "set/set"},
        {"metadata.ownerReferences", "map(uid)/uid"},
        {"spec.hosts", "set"},
        {"spec.ports", "map(port,protocol)"},
        {"spec.ports[].tags", "set"},
        {"spec.plain", "atomic"},
        {"spec.free.anything", "atomic"},
        {"spec.values.any", "set"},
        {"spec.pod.metadata.finalizers", "set/set"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        char got[128];
        describe(dig(schema, cases[i].path), got);
        if (strcmp(got, cases[i].want) != 0)
            TEST_FAIL("%s: got %s, want %s", cases[i].path, got, cases[i].want);
    }
    CHECK(pl_schema_is_atomic(dig(schema, "spec.one")));
    CHECK(!pl_schema_is_atomic(dig(schema, "spec")));
    CHECK(dig(schema, "spec.free.anything") == NULL);
    CHECK_STR(pl_schema_default(dig(schema, "spec.ports[].protocol")), "\"TCP\"");
    pl_schema_destroy(schema);
}

TEST(a_wrong_openapi_schema_is_refused_with_its_path)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"[]", "openAPIV3Schema: a schema must be an object, not array"},
        {"{'properties':{'spec':{'properties':{'a':1}}}}",
         "openAPIV3Schema: properties[spec]: properties[a]: a schema must be an object, not "
         "number"},
        {"{'properties':{'a':{'type':'array','x-kubernetes-list-type':'map'}}}",
         "openAPIV3Schema: properties[a]: a list of type map needs x-kubernetes-list-map-keys"},
        {"{'properties':{'a':{'x-kubernetes-list-type':'map','x-kubernetes-list-map-keys':[1]}}}",
         "openAPIV3Schema: properties[a]: x-kubernetes-list-map-keys must be names"},
        {"{'properties':{'a':{'x-kubernetes-list-type':'heap'}}}",
         "openAPIV3Schema: properties[a]: x-kubernetes-list-type is atomic, set or map"},
        {"{'properties':{'a':{'items':{'additionalProperties':{'items':7}}}}}",
         "openAPIV3Schema: properties[a]: items: additionalProperties: items: a schema must be an "
         "object, not number"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(bad); i++) {
        struct pl_doc *doc = json(bad[i].text);
        struct pl_err err = {.message = ""};
        struct pl_schema *schema = pl_schema_from_openapi(pl_doc_root(doc), &err);
        CHECK(schema == NULL);
        CHECK_STR(err.message, bad[i].message);
        pl_schema_destroy(schema);
        pl_doc_unref(doc);
    }
}

TEST_MAIN()

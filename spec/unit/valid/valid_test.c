#include "valid/valid.h"

#include "object/tree.h"
#include "support/json.h"
#include "support/test.h"

#define POD(more) "{'spec':{'restartPolicy':'Always','dnsPolicy':'ClusterFirst'," more "}}"
#define C         "'imagePullPolicy':'Always','terminationMessagePolicy':'File'"

struct refused {
    const char *kind, *object, *old; /* old: NULL for a new one */
    const char *field, *message;     /* the beginning of the first fault; NULL: there is none */
};

static struct pl_tree *tree(struct pl_arena *arena, const char *text)
{
    struct pl_doc *doc = json(text);
    struct pl_tree *out = pl_tree_from_node(arena, pl_doc_root(doc));
    pl_doc_unref(doc);
    return out;
}

static void check(const struct refused *want)
{
    struct pl_arena arena = {0};
    struct pl_api_faults faults = {.arena = &arena};
    char kind[64];
    snprintf(kind, sizeof(kind), "%s", want->kind);
    struct pl_api_type type = {.kind = kind};
    pl_valid_builtin(&faults, &type, tree(&arena, want->object),
                     want->old != NULL ? tree(&arena, want->old) : NULL);
    const struct pl_tree *first = pl_tree_at(faults.causes, 0);
    struct pl_slice field = pl_tree_text_at(first, "field");
    struct pl_slice message = pl_tree_text_at(first, "message");
    if (want->field == NULL && first != NULL)
        TEST_FAIL("%s %s: %.*s: %.*s", want->kind, want->object, PL_FMT(field), PL_FMT(message));
    if (want->field != NULL &&
        (!pl_slice_eqz(field, want->field) ||
         strncmp(pl_arena_copy(&arena, message).ptr, want->message, strlen(want->message)) != 0))
        TEST_FAIL("%s %s: got %.*s: %.*s", want->kind, want->object, PL_FMT(field),
                  PL_FMT(message));
    pl_arena_deinit(&arena);
}

TEST(what_a_cluster_refuses_is_refused)
{
    static const struct refused cases[] = {
        {"Pod", POD("'containers':[{'name':'c','image':'i'," C "}]"), NULL, NULL, NULL},
        {"Pod", POD("'containers':[]"), NULL, "spec.containers", "Required value"},
        {"Pod", POD("'containers':[{'name':'C','image':'i'," C "}]"), NULL,
         "spec.containers[0].name", "Invalid value: \"C\""},
        {"Pod",
         POD("'containers':[{'name':'c','image':'i'," C
             ",'volumeMounts':[{'name':'v','mountPath':'/a'}]}]"),
         NULL, "spec.containers[0].volumeMounts[0].name", "Not found: \"v\""},
        {"Pod", POD("'containers':[{'name':'c','image':'i'," C "}]"),
         POD("'containers':[{'name':'c','image':'j'," C "}]"), NULL, NULL},
        {"Pod", POD("'containers':[{'name':'c','image':'i','command':['x']," C "}]"),
         POD("'containers':[{'name':'c','image':'i'," C "}]"), "spec", "Forbidden: pod updates"},
        {"Service",
         "{'spec':{'type':'ClusterIP','sessionAffinity':'None','ports':[{'port':0,"
         "'protocol':'TCP','targetPort':1}]}}",
         NULL, "spec.ports[0].port", "Invalid value: 0: must be between 1 and 65535"},
        {"ConfigMap", "{'data':{'a b':'c'}}", NULL, "data[a b]", "Invalid value: \"a b\""},
        {"ConfigMap", "{'data':{'a':'b'}}", "{'immutable':true}", "immutable", "Forbidden: field"},
        {"Secret", "{'type':'kubernetes.io/tls','data':{'tls.crt':'YQ=='}}", NULL, "data[tls.key]",
         "Required value"},
        {"Secret", "{'type':'a'}", "{'type':'b'}", "type", "Invalid value: \"a\": field is immut"},
        {"PersistentVolumeClaim",
         "{'spec':{'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1'}}}}",
         "{'spec':{'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1'}},"
         "'dataSource':null}}",
         NULL, NULL},
        {"PersistentVolumeClaim", "{'spec':{'accessModes':['ReadWriteOnce']}}", NULL,
         "spec.resources[storage]", "Required value"},
        {"Role", "{'kind':'Role','rules':[{'verbs':['get'],'apiGroups':[''],'resources':[]}]}",
         NULL, "rules[0].resources", "Required value: resource rules must supply"},
        {"RoleBinding",
         "{'kind':'RoleBinding','roleRef':{'apiGroup':'rbac.authorization.k8s.io','kind':'Role',"
         "'name':'b'}}",
         "{'roleRef':{'apiGroup':'rbac.authorization.k8s.io','kind':'Role','name':'a'}}", "roleRef",
         "Invalid value: {\"APIGroup\":\"rbac.authorization.k8s.io\",\"Kind\":\"Role\",\"Name\":"
         "\"b\"}: field is immutable"},
        {"PodDisruptionBudget", "{'spec':{'minAvailable':1,'maxUnavailable':1}}", NULL, "spec",
         "Invalid value"},
        {"Lease", "{'spec':{'leaseDurationSeconds':0}}", NULL, "spec.leaseDurationSeconds",
         "Invalid value: 0: must be greater than 0"},
        {"NetworkPolicy", "{'spec':{'policyTypes':['X']}}", NULL, "spec.policyTypes[0]",
         "Unsupported value: \"X\""},
        {"HorizontalPodAutoscaler",
         "{'spec':{'maxReplicas':1,'minReplicas':2,'scaleTargetRef':{'kind':'D','name':'d',"
         "'apiVersion':'apps/v1'}}}",
         NULL, "spec.maxReplicas", "Invalid value: 1: must be greater than or equal to `minRepl"},
        {"LimitRange", "{'spec':{'limits':[{'type':'Pod','max':{'cpu':'1'},'min':{'cpu':'2'}}]}}",
         NULL, "spec.limits[0].min[cpu]", "Invalid value: \"2\": min value 2 is greater than max"},
        {"PriorityClass", "{'value':2000000000,'preemptionPolicy':'Never'}", NULL, "value",
         "Forbidden: maximum allowed value"},
        {"Anything", "{}", NULL, NULL, NULL},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++)
        check(&cases[i]);
}

#define CRD(schema, more)                                                                          \
    "{'metadata':{'name':'things.example.com'},'spec':{'group':'example.com','scope':'Cluster',"   \
    "'names':{'plural':'things','singular':'thing','kind':'Thing','listKind':'ThingList'},"        \
    "'versions':[{'name':'v1','storage':true,'schema':{'openAPIV3Schema':" schema "}" more         \
    "}]},'status':{'storedVersions':['v1']}}"
#define AT "spec.validation.openAPIV3Schema"

TEST(definitions_are_looked_through)
{
    static const struct refused cases[] = {
        {"CustomResourceDefinition", CRD("{'type':'object'}", ""), NULL, NULL, NULL},
        {"CustomResourceDefinition", CRD("{'type':'string'}", ""), NULL, AT ".type",
         "Invalid value: \"string\": must be object at the root"},
        {"CustomResourceDefinition", CRD("{'type':'object','properties':{'a':{}}}", ""), NULL,
         AT ".properties[a].type", "Required value: must not be empty for specified object fields"},
        {"CustomResourceDefinition",
         CRD("{'type':'object','properties':{'a':{'type':'array'}}}", ""), NULL,
         AT ".properties[a].items", "Required value: must be specified"},
        {"CustomResourceDefinition",
         CRD("{'type':'object','properties':{'a':{'type':'integer','default':'x'}}}", ""), NULL,
         AT ".properties[a].default",
         "Invalid value: \"string\":  in body must be of type integer"},
        {"CustomResourceDefinition",
         CRD("{'type':'object','properties':{'a':{'type':'array','items':{'type':'object'},"
             "'x-kubernetes-list-type':'map','x-kubernetes-list-map-keys':['k']}}}",
             ""),
         NULL, AT ".properties[a].x-kubernetes-list-map-keys",
         "Invalid value: [\"k\"]: entries must all be names of item properties"},
        {"CustomResourceDefinition",
         CRD("{'type':'object','properties':{'a':{'type':'string','pattern':'('}}}", ""), NULL,
         AT ".properties[a].pattern", "Invalid value: \"(\": must be a valid regular expression"},
        {"CustomResourceDefinition",
         CRD("{'type':'object','properties':{'a':{'type':'string','allOf':[{'type':'string'}]}}}",
             ""),
         NULL, AT ".properties[a].allOf[0].type", "Forbidden: must be empty to be structural"},
        {"CustomResourceDefinition",
         CRD("{'type':'object'}", ",'subresources':{'scale':{'specReplicasPath':'.a',"
                                  "'statusReplicasPath':'.status.n'}}"),
         NULL, "spec.subresources.scale.specReplicasPath",
         "Invalid value: \".a\": should be a json path under .spec"},
        {"CustomResourceDefinition", CRD("{'type':'object'}", ",'deprecationWarning':'w'"), NULL,
         "spec.versions[0].deprecationWarning", "Invalid value: \"w\": can only be set"},
        {"CustomResourceDefinition",
         CRD("{'type':'object','properties':{'kind':{'type':'object'}}}", ""), NULL,
         AT ".properties[kind].type", "Invalid value: \"object\": must be string"},
        {"CustomResourceDefinition",
         CRD("{'type':'object','properties':{'metadata':{'type':'object','properties':{'labels':{"
             "'type':'object'}}}}}",
             ""),
         NULL, AT ".properties[metadata]", "Forbidden: must not specify anything other than name"},
        {"CustomResourceDefinition", CRD("{'type':'object','anyOf':[{'properties':{'b':{}}}]}", ""),
         NULL, AT ".properties[b]", "Required value: because it is defined in"},
        {"CustomResourceDefinition",
         CRD("{'type':'object','properties':{'a':{'type':'object','default':{'x':1}}}}", ""), NULL,
         AT ".properties[a].default", "Invalid value: {\"x\":1}: must not have unknown fields"},
        {"CustomResourceDefinition",
         CRD("{'type':'object','properties':{'a':{'type':'array','x-kubernetes-list-type':'set',"
             "'items':{'type':'object'}}}}",
             ""),
         NULL, AT ".properties[a].items.x-kubernetes-map-type", "Invalid value: null: must be"},
        {"CustomResourceDefinition",
         CRD("{'type':'object','properties':{'a':{'type':'null'}}}", ""), NULL,
         AT ".properties[a].type", "Unsupported value: \"null\""},
        {"CustomResourceDefinition",
         CRD("{'type':'object','properties':{'s':{'type':'string'}}}",
             ",'selectableFields':[{'jsonPath':'.t'}]"),
         NULL, "spec.selectableFields[0].jsonPath", "Invalid value: \".t\": is an invalid path"},
        {"CustomResourceDefinition",
         CRD("{'type':'object','x-kubernetes-validations':[{'rule':'true','fieldPath':'.no'}]}",
             ""),
         NULL, AT ".x-kubernetes-validations[0].fieldPath", "Invalid value: \".no\": must be a"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++)
        check(&cases[i]);
}

static const char *schedule_fault(struct pl_arena *arena, const char *schedule)
{
    struct pl_api_faults faults = {.arena = arena};
    struct pl_api_type type = {.kind = (char[]){"CronJob"}};
    struct pl_tree *object = pl_tree_object(arena);
    struct pl_tree *spec = pl_tree_child(arena, object, "spec");
    pl_tree_set_strz(arena, spec, "schedule", schedule);
    pl_valid_builtin(&faults, &type, object, NULL);
    const struct pl_tree *first = pl_tree_at(faults.causes, 0);
    if (!pl_slice_eqz(pl_tree_text_at(first, "field"), "spec.schedule"))
        return "";
    return pl_arena_copy(arena, pl_tree_text_at(first, "message")).ptr;
}

TEST(schedules_are_read)
{
    static const char *const good[] = {"* * * * *", "*/5 0 1 1 0", "1-5,10 2/3 ? jan mon-fri",
                                       "@hourly",   "@every 1h",   "0 0 31 12 6"};
    static const char *const bad[] = {"* * * *",     "60 * * * *",      "* 24 * * *", "* * 0 * *",
                                      "5-1 * * * *", "*/0 * * * *",     "x * * * *",  "@nightly",
                                      "-1 * * * *",  "TZ=UTC * * * * *"};
    struct pl_arena arena = {0};
    for (size_t i = 0; i < PL_ARRAY_LEN(good); i++)
        CHECK_STR(schedule_fault(&arena, good[i]), "");
    for (size_t i = 0; i < PL_ARRAY_LEN(bad); i++)
        if (*schedule_fault(&arena, bad[i]) == '\0')
            TEST_FAIL("%s is taken", bad[i]);
    CHECK_STR(schedule_fault(&arena, "* * *"),
              "Invalid value: \"* * *\": expected exactly 5 fields, "
              "found 3: [* * *]");
    pl_arena_deinit(&arena);
}

TEST_MAIN()

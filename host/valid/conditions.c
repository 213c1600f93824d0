/* The variables of expressions in admission, as kube-apiserver 1.37 declares them. Objects are dyn.
 * The request and the namespace have types, so an unknown member of them is refused when the
 * expression is stored, not when it is evaluated. The types are made from tables when they are
 * first needed, and never change then. */
#include "valid/conditions.h"

#include <pthread.h>
#include <string.h>

enum type {
    NO_TYPE,
    DYN,
    BOOL,
    INT,
    TEXT,
    TIME,
    TEXTS,
    LABELS,
    EXTRA,
    AUTHORIZER,
    CHECK,
    KIND,
    RESOURCE,
    USER,
    REQUEST,
    META,
    NS_SPEC,
    CONDITION,
    CONDITIONS,
    NS_STATUS,
    NAMESPACE,
    TYPE_COUNT
};

static const struct {
    enum pl_cel_kind kind;
    uint64_t max_size, min_bytes;
    unsigned char key, elem; /* enum type */
    char name[40];           /* of objects */
} type_table[TYPE_COUNT] = {
    [DYN] = {PL_CEL_DYN, PL_CEL_UNBOUNDED, 1, 0, 0, ""},
    [BOOL] = {PL_CEL_BOOL, 1, 1, 0, 0, ""},
    [INT] = {PL_CEL_INT, 1, 1, 0, 0, ""},
    [TEXT] = {PL_CEL_STRING, PL_CEL_UNBOUNDED, 1, 0, 0, ""},
    [TIME] = {PL_CEL_TIMESTAMP, 1, 1, 0, 0, ""},
    [TEXTS] = {PL_CEL_LIST, PL_CEL_UNBOUNDED, 2, 0, TEXT, ""},
    [LABELS] = {PL_CEL_MAP, PL_CEL_UNBOUNDED, 2, TEXT, TEXT, ""},
    [EXTRA] = {PL_CEL_MAP, PL_CEL_UNBOUNDED, 2, TEXT, TEXTS, ""},
    [AUTHORIZER] = {PL_CEL_AUTHORIZER, 1, 1, 0, 0, ""},
    [CHECK] = {PL_CEL_RESOURCE_CHECK, 1, 1, 0, 0, ""},
    [KIND] = {PL_CEL_OBJECT, PL_CEL_UNBOUNDED, 2, 0, 0, "kubernetes.GroupVersionKind"},
    [RESOURCE] = {PL_CEL_OBJECT, PL_CEL_UNBOUNDED, 2, 0, 0, "kubernetes.GroupVersionResource"},
    [USER] = {PL_CEL_OBJECT, PL_CEL_UNBOUNDED, 2, 0, 0, "kubernetes.UserInfo"},
    [REQUEST] = {PL_CEL_OBJECT, PL_CEL_UNBOUNDED, 2, 0, 0, "kubernetes.AdmissionRequest"},
    [META] = {PL_CEL_OBJECT, PL_CEL_UNBOUNDED, 2, 0, 0, "kubernetes.NamespaceMetadata"},
    [NS_SPEC] = {PL_CEL_OBJECT, PL_CEL_UNBOUNDED, 2, 0, 0, "kubernetes.NamespaceSpec"},
    [CONDITION] = {PL_CEL_OBJECT, PL_CEL_UNBOUNDED, 2, 0, 0, "kubernetes.NamespaceCondition"},
    [CONDITIONS] = {PL_CEL_LIST, PL_CEL_UNBOUNDED, 2, 0, CONDITION, ""},
    [NS_STATUS] = {PL_CEL_OBJECT, PL_CEL_UNBOUNDED, 2, 0, 0, "kubernetes.NamespaceStatus"},
    [NAMESPACE] = {PL_CEL_OBJECT, PL_CEL_UNBOUNDED, 2, 0, 0, "kubernetes.Namespace"},
};

/* The fields of each object stand together. */
static const struct {
    unsigned char of, type; /* enum type */
    bool is_required;
    char name[28];
} field_table[] = {
    {KIND, TEXT, true, "group"},
    {KIND, TEXT, true, "version"},
    {KIND, TEXT, true, "kind"},
    {RESOURCE, TEXT, true, "group"},
    {RESOURCE, TEXT, true, "version"},
    {RESOURCE, TEXT, true, "resource"},
    {USER, TEXT, false, "username"},
    {USER, TEXT, false, "uid"},
    {USER, TEXTS, false, "groups"},
    {USER, EXTRA, false, "extra"},
    {REQUEST, KIND, true, "kind"},
    {REQUEST, RESOURCE, true, "resource"},
    {REQUEST, TEXT, false, "subResource"},
    {REQUEST, KIND, true, "requestKind"},
    {REQUEST, RESOURCE, true, "requestResource"},
    {REQUEST, TEXT, false, "requestSubResource"},
    {REQUEST, TEXT, true, "name"},
    {REQUEST, TEXT, false, "namespace"},
    {REQUEST, TEXT, true, "operation"},
    {REQUEST, USER, true, "userInfo"},
    {REQUEST, BOOL, false, "dryRun"},
    {REQUEST, DYN, false, "options"},
    {META, TEXT, true, "name"},
    {META, TEXT, true, "generateName"},
    {META, TEXT, true, "namespace"},
    {META, LABELS, true, "labels"},
    {META, LABELS, true, "annotations"},
    {META, TEXT, true, "UID"},
    {META, TIME, true, "creationTimestamp"},
    {META, INT, true, "deletionGracePeriodSeconds"},
    {META, TIME, true, "deletionTimestamp"},
    {META, INT, true, "generation"},
    {META, TEXT, true, "resourceVersion"},
    {META, TEXTS, true, "finalizers"},
    {NS_SPEC, TEXTS, true, "finalizers"},
    {CONDITION, TEXT, true, "status"},
    {CONDITION, TEXT, true, "type"},
    {CONDITION, TIME, true, "lastTransitionTime"},
    {CONDITION, TEXT, true, "message"},
    {CONDITION, TEXT, true, "reason"},
    {NS_STATUS, CONDITIONS, true, "conditions"},
    {NS_STATUS, TEXT, true, "phase"},
    {NAMESPACE, META, true, "metadata"},
    {NAMESPACE, NS_SPEC, true, "spec"},
    {NAMESPACE, NS_STATUS, true, "status"},
};

static const struct {
    unsigned char type; /* enum type */
    char name[28];      /* "": it has no name until a policy gives it one */
} var_table[PL_VAR_COUNT] = {
    [PL_VAR_OBJECT] = {NO_TYPE, "object"},
    [PL_VAR_OLD_OBJECT] = {NO_TYPE, "oldObject"},
    [PL_VAR_NAMESPACE] = {NAMESPACE, "namespaceObject"},
    [PL_VAR_REQUEST] = {REQUEST, "request"},
    [PL_VAR_AUTHORIZER] = {AUTHORIZER, "authorizer"},
    [PL_VAR_REQUEST_RESOURCE] = {CHECK, "authorizer.requestResource"},
};

/* ---- what is made from the tables ---- */

static struct pl_cel_type types[TYPE_COUNT];
static struct pl_cel_field fields[PL_ARRAY_LEN(field_table)];
static struct pl_cel_var vars[PL_VAR_COUNT];

static const struct pl_cel_type *type_at(unsigned type)
{
    return type != NO_TYPE ? &types[type] : NULL;
}

static void make_field(size_t i)
{
    struct pl_slice name = pl_slice_z(field_table[i].name);
    struct pl_cel_type *of = &types[field_table[i].of];
    fields[i] = (struct pl_cel_field){.name = name,
                                      .member = name,
                                      .type = type_at(field_table[i].type),
                                      .is_required = field_table[i].is_required};
    if (of->field_count++ == 0)
        of->fields = &fields[i];
}

static void make(void)
{
    for (size_t i = 0; i < TYPE_COUNT; i++)
        types[i] = (struct pl_cel_type){
            .kind = type_table[i].kind,
            .key = type_at(type_table[i].key),
            .elem = type_at(type_table[i].elem),
            .name = *type_table[i].name != '\0' ? type_table[i].name : NULL,
            .max_size = type_table[i].max_size,
            .min_bytes = type_table[i].min_bytes,
        };
    for (size_t i = 0; i < PL_ARRAY_LEN(field_table); i++)
        make_field(i);
    for (size_t i = 0; i < PL_VAR_COUNT; i++)
        vars[i] = (struct pl_cel_var){var_table[i].name, type_at(var_table[i].type)};
}

const struct pl_cel_var *pl_condition_vars(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make);
    return vars;
}

void pl_condition_vars_of_policy(struct pl_cel_var out[PL_VAR_COUNT], bool has_params,
                                 bool has_authorizer, const struct pl_cel_type *variables)
{
    memcpy(out, pl_condition_vars(), PL_VAR_COUNT * sizeof(*out));
    if (has_params)
        out[PL_VAR_PARAMS].name = "params";
    if (variables != NULL)
        out[PL_VAR_VARIABLES] = (struct pl_cel_var){"variables", variables};
    if (!has_authorizer)
        out[PL_VAR_AUTHORIZER].name = out[PL_VAR_REQUEST_RESOURCE].name = "";
}

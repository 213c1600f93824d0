/* The variables of expressions in admission, as kube-apiserver 1.37 declares them. Objects are dyn.
 * The request and the namespace have types, so an unknown member of them is refused when the
 * expression is stored, not when it is evaluated. Static data only. */
#include "valid/conditions.h"

#include <string.h>

#define TEXT(z)                                                                                    \
    {                                                                                              \
        .ptr = (z), .len = sizeof(z) - 1                                                           \
    }
#define FIELD(z, t, required)                                                                      \
    {                                                                                              \
        .name = TEXT(z), .member = TEXT(z), .type = (t), .is_required = (required)                 \
    }
#define OBJECT(z, list)                                                                            \
    {                                                                                              \
        .kind = PL_CEL_OBJECT, .name = (z), .fields = (list), .field_count = PL_ARRAY_LEN(list),   \
        .max_size = PL_CEL_UNBOUNDED, .min_bytes = 2                                               \
    }
#define SIMPLE(k)                                                                                  \
    {                                                                                              \
        .kind = (k), .max_size = PL_CEL_UNBOUNDED, .min_bytes = 1                                  \
    }

static const struct pl_cel_type dyn_type = SIMPLE(PL_CEL_DYN);
static const struct pl_cel_type bool_type = {.kind = PL_CEL_BOOL, .max_size = 1, .min_bytes = 1};
static const struct pl_cel_type int_type = {.kind = PL_CEL_INT, .max_size = 1, .min_bytes = 1};
static const struct pl_cel_type text_type = SIMPLE(PL_CEL_STRING);
static const struct pl_cel_type time_type = {
    .kind = PL_CEL_TIMESTAMP, .max_size = 1, .min_bytes = 1};
static const struct pl_cel_type texts_type = {
    .kind = PL_CEL_LIST, .elem = &text_type, .max_size = PL_CEL_UNBOUNDED, .min_bytes = 2};
static const struct pl_cel_type labels_type = {.kind = PL_CEL_MAP,
                                               .key = &text_type,
                                               .elem = &text_type,
                                               .max_size = PL_CEL_UNBOUNDED,
                                               .min_bytes = 2};
static const struct pl_cel_type extra_type = {.kind = PL_CEL_MAP,
                                              .key = &text_type,
                                              .elem = &texts_type,
                                              .max_size = PL_CEL_UNBOUNDED,
                                              .min_bytes = 2};

/* ---- the request ---- */

static const struct pl_cel_field kind_fields[] = {FIELD("group", &text_type, true),
                                                  FIELD("version", &text_type, true),
                                                  FIELD("kind", &text_type, true)};
static const struct pl_cel_type kind_type = OBJECT("kubernetes.GroupVersionKind", kind_fields);

static const struct pl_cel_field resource_fields[] = {FIELD("group", &text_type, true),
                                                      FIELD("version", &text_type, true),
                                                      FIELD("resource", &text_type, true)};
static const struct pl_cel_type resource_type =
    OBJECT("kubernetes.GroupVersionResource", resource_fields);

static const struct pl_cel_field user_fields[] = {
    FIELD("username", &text_type, false), FIELD("uid", &text_type, false),
    FIELD("groups", &texts_type, false), FIELD("extra", &extra_type, false)};
static const struct pl_cel_type user_type = OBJECT("kubernetes.UserInfo", user_fields);

static const struct pl_cel_field request_fields[] = {FIELD("kind", &kind_type, true),
                                                     FIELD("resource", &resource_type, true),
                                                     FIELD("subResource", &text_type, false),
                                                     FIELD("requestKind", &kind_type, true),
                                                     FIELD("requestResource", &resource_type, true),
                                                     FIELD("requestSubResource", &text_type, false),
                                                     FIELD("name", &text_type, true),
                                                     FIELD("namespace", &text_type, false),
                                                     FIELD("operation", &text_type, true),
                                                     FIELD("userInfo", &user_type, true),
                                                     FIELD("dryRun", &bool_type, false),
                                                     FIELD("options", &dyn_type, false)};
static const struct pl_cel_type request_type =
    OBJECT("kubernetes.AdmissionRequest", request_fields);

/* ---- the namespace ---- */

static const struct pl_cel_field meta_fields[] = {
    FIELD("name", &text_type, true),
    FIELD("generateName", &text_type, true),
    FIELD("namespace", &text_type, true),
    FIELD("labels", &labels_type, true),
    FIELD("annotations", &labels_type, true),
    FIELD("UID", &text_type, true),
    FIELD("creationTimestamp", &time_type, true),
    FIELD("deletionGracePeriodSeconds", &int_type, true),
    FIELD("deletionTimestamp", &time_type, true),
    FIELD("generation", &int_type, true),
    FIELD("resourceVersion", &text_type, true),
    FIELD("finalizers", &texts_type, true)};
static const struct pl_cel_type meta_type = OBJECT("kubernetes.NamespaceMetadata", meta_fields);

static const struct pl_cel_field ns_spec_fields[] = {FIELD("finalizers", &texts_type, true)};
static const struct pl_cel_type ns_spec_type = OBJECT("kubernetes.NamespaceSpec", ns_spec_fields);

static const struct pl_cel_field condition_fields[] = {
    FIELD("status", &text_type, true), FIELD("type", &text_type, true),
    FIELD("lastTransitionTime", &time_type, true), FIELD("message", &text_type, true),
    FIELD("reason", &text_type, true)};
static const struct pl_cel_type condition_type =
    OBJECT("kubernetes.NamespaceCondition", condition_fields);
static const struct pl_cel_type conditions_type = {
    .kind = PL_CEL_LIST, .elem = &condition_type, .max_size = PL_CEL_UNBOUNDED, .min_bytes = 2};

static const struct pl_cel_field ns_status_fields[] = {FIELD("conditions", &conditions_type, true),
                                                       FIELD("phase", &text_type, true)};
static const struct pl_cel_type ns_status_type =
    OBJECT("kubernetes.NamespaceStatus", ns_status_fields);

static const struct pl_cel_field ns_fields[] = {FIELD("metadata", &meta_type, true),
                                                FIELD("spec", &ns_spec_type, true),
                                                FIELD("status", &ns_status_type, true)};
static const struct pl_cel_type ns_type = OBJECT("kubernetes.Namespace", ns_fields);

/* ---- all variables ---- */

static const struct pl_cel_type authorizer_type = {
    .kind = PL_CEL_AUTHORIZER, .max_size = 1, .min_bytes = 1};
static const struct pl_cel_type check_type = {
    .kind = PL_CEL_RESOURCE_CHECK, .max_size = 1, .min_bytes = 1};

const struct pl_cel_var *pl_condition_vars(void)
{
    static const struct pl_cel_var vars[PL_VAR_COUNT] = {
        [PL_VAR_OBJECT] = {"object", NULL},
        [PL_VAR_OLD_OBJECT] = {"oldObject", NULL},
        [PL_VAR_NAMESPACE] = {"namespaceObject", &ns_type},
        [PL_VAR_REQUEST] = {"request", &request_type},
        [PL_VAR_AUTHORIZER] = {"authorizer", &authorizer_type},
        [PL_VAR_REQUEST_RESOURCE] = {"authorizer.requestResource", &check_type},
        [PL_VAR_PARAMS] = {"", NULL},
        [PL_VAR_VARIABLES] = {"", NULL}};
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

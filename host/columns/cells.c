/* The cells of built-in kinds: one list per kind, in the order of the columns in the packed table.
 * Most cells are a value at a path; others are functions in the cells_*.c files. Objects are as
 * stored, so a value may be absent but never has a wrong type. The unit test compares the cells
 * with rows from a real kube-apiserver. */
#include "columns/cells.h"

#include "format/units.h"
#include "columns/cells_impl.h"
#include "value/write.h"

#include <inttypes.h>
#include <string.h>

#define MAX_SORTED 64 /* labels of a selector; more are shown unsorted */

/* ---- lists and selectors ---- */

static void add_separator(struct pl_buf *out, size_t begin, const char *separator)
{
    if (out->len > begin)
        pl_buf_add_z(out, separator);
}

/* The member at `path` of each element. */
static void add_each(struct pl_buf *out, struct pl_node list, const char *path)
{
    bool first = true;
    struct pl_iter it = pl_iter(list);
    while (pl_iter_next(&it)) {
        if (!first)
            pl_buf_add_char(out, ',');
        first = false;
        pl_cell_add(out, it.value, path);
    }
}

/* The member with the smallest name after `last`. Repeated calls visit members in order. */
static bool next_label(struct pl_node labels, struct pl_slice last, bool any, struct pl_buf *key,
                       struct pl_node *value)
{
    bool found = false;
    struct pl_iter it = pl_iter(labels);
    while (pl_iter_next(&it)) {
        if (any && pl_slice_cmp(it.key, last) <= 0)
            continue;
        if (found && pl_slice_cmp(it.key, pl_buf_slice(key)) >= 0)
            continue;
        pl_buf_clear(key);
        pl_buf_add_slice(key, it.key);
        *value = it.value;
        found = true;
    }
    return found;
}

static void add_labels(struct pl_buf *out, struct pl_node labels)
{
    struct pl_buf key = PL_BUF_INIT, last = PL_BUF_INIT;
    struct pl_scratch scratch;
    struct pl_node value;
    for (size_t i = 0; i < MAX_SORTED; i++) {
        if (!next_label(labels, pl_buf_slice(&last), i > 0, &key, &value))
            break;
        pl_buf_add_z(out, i > 0 ? "," : "");
        pl_buf_add_slice(out, pl_buf_slice(&key));
        pl_buf_add_char(out, '=');
        pl_buf_add_slice(out, pl_node_str(value, &scratch));
        pl_buf_clear(&last);
        pl_buf_add_slice(&last, pl_buf_slice(&key));
    }
    pl_buf_deinit(&key);
    pl_buf_deinit(&last);
}

static void add_requirement(struct pl_buf *out, struct pl_node requirement)
{
    struct pl_scratch scratch;
    struct pl_slice how = pl_node_str(pl_node_getz(requirement, "operator"), &scratch);
    bool absent = pl_slice_eqz(how, "DoesNotExist"), exists = pl_slice_eqz(how, "Exists");
    bool in = pl_slice_eqz(how, "In");
    if (absent)
        pl_buf_add_char(out, '!');
    pl_cell_add(out, requirement, ".key");
    if (absent || exists)
        return;
    pl_buf_add_z(out, in ? " in (" : " notin (");
    struct pl_iter it = pl_iter(pl_node_getz(requirement, "values"));
    size_t begin = out->len;
    while (pl_iter_next(&it)) {
        add_separator(out, begin, ",");
        pl_buf_add_slice(out, pl_node_str(it.value, &scratch));
    }
    pl_buf_add_char(out, ')');
}

static void add_selector(struct pl_buf *out, struct pl_node selector)
{
    size_t begin = out->len;
    add_labels(out, pl_node_getz(selector, "matchLabels"));
    struct pl_iter it = pl_iter(pl_node_getz(selector, "matchExpressions"));
    while (pl_iter_next(&it)) {
        add_separator(out, begin, ",");
        add_requirement(out, it.value);
    }
    if (out->len == begin)
        pl_buf_add_z(out, "<none>");
}

/* ---- cells of single kinds ---- */

#define CELL(name)                                                                                 \
    static void cell_##name(struct pl_buf *out, struct pl_node object, int64_t now_ns)

static void labels_or_none(struct pl_buf *out, struct pl_node labels)
{
    add_labels(out, labels);
    if (out->len == 0)
        pl_buf_add_z(out, "<none>");
}

CELL(node_selector)
{
    (void)now_ns;
    labels_or_none(out, pl_cell_at(object, ".spec.template.spec.nodeSelector"));
}

CELL(replicas_ready)
{
    (void)now_ns;
    pl_buf_add_f(out, "%" PRId64 "/%" PRId64, pl_cell_int(object, ".status.readyReplicas"),
                 pl_cell_int(object, ".spec.replicas"));
}

CELL(phase)
{
    (void)now_ns;
    if (!pl_node_is_missing(pl_cell_at(object, ".metadata.deletionTimestamp")))
        pl_buf_add_z(out, "Terminating");
    else
        pl_cell_add(out, object, ".status.phase");
}

CELL(role)
{
    (void)now_ns;
    pl_cell_add(out, object, ".roleRef.kind");
    pl_buf_add_char(out, '/');
    pl_cell_add(out, object, ".roleRef.name");
}

static void add_subjects(struct pl_buf *out, struct pl_node object, const char *kind)
{
    struct pl_scratch scratch;
    struct pl_iter it = pl_iter(pl_node_getz(object, "subjects"));
    while (pl_iter_next(&it)) {
        if (!pl_slice_eqz(pl_node_str(pl_node_getz(it.value, "kind"), &scratch), kind))
            continue;
        add_separator(out, 0, ", ");
        if (strcmp(kind, "ServiceAccount") == 0) {
            pl_cell_add(out, it.value, ".namespace");
            pl_buf_add_char(out, '/');
        }
        pl_cell_add(out, it.value, ".name");
    }
}

CELL(users)
{
    (void)now_ns;
    add_subjects(out, object, "User");
}

CELL(groups)
{
    (void)now_ns;
    add_subjects(out, object, "Group");
}

CELL(accounts)
{
    (void)now_ns;
    add_subjects(out, object, "ServiceAccount");
}

/* ---- jobs ---- */

CELL(completions)
{
    int64_t wanted, parallel = pl_cell_int(object, ".spec.parallelism");
    (void)now_ns;
    pl_buf_add_f(out, "%" PRId64 "/", pl_cell_int(object, ".status.succeeded"));
    if (pl_node_int(pl_cell_at(object, ".spec.completions"), &wanted))
        pl_buf_add_f(out, "%" PRId64, wanted);
    else if (parallel > 1)
        pl_buf_add_f(out, "1 of %" PRId64, parallel);
    else
        pl_buf_add_char(out, '1');
}

CELL(duration)
{
    struct pl_scratch scratch;
    int64_t begin, end;
    char age[32];
    if (!pl_time_parse(pl_node_str(pl_cell_at(object, ".status.startTime"), &scratch), &begin))
        return;
    if (!pl_time_parse(pl_node_str(pl_cell_at(object, ".status.completionTime"), &scratch), &end))
        end = now_ns;
    pl_api_age_text(end - begin, age);
    pl_buf_add_z(out, age);
}

CELL(job_status)
{
    static const char done[][12] = {"Complete", "Failed"};
    static const char other[][2][24] = {{"Suspended", "Suspended"},
                                        {"FailureTarget", "FailureTarget"},
                                        {"SuccessCriteriaMet", "SuccessCriteriaMet"}};
    (void)now_ns;
    for (size_t i = 0; i < PL_ARRAY_LEN(done); i++)
        if (pl_cell_condition(object, done[i], "True")) {
            pl_buf_add_z(out, done[i]);
            return;
        }
    if (!pl_node_is_missing(pl_cell_at(object, ".metadata.deletionTimestamp"))) {
        pl_buf_add_z(out, "Terminating");
        return;
    }
    for (size_t i = 0; i < PL_ARRAY_LEN(other); i++)
        if (pl_cell_condition(object, other[i][0], "True")) {
            pl_buf_add_z(out, other[i][1]);
            return;
        }
    pl_buf_add_z(out, "Running");
}

CELL(suspend)
{
    struct pl_node value = pl_cell_at(object, ".spec.suspend");
    (void)now_ns;
    pl_buf_add_z(out, pl_node_type(value) != PL_BOOL ? "<unset>"
                      : pl_node_bool(value)          ? "True"
                                                     : "False");
}

CELL(last_schedule)
{
    struct pl_node time = pl_cell_at(object, ".status.lastScheduleTime");
    if (pl_node_is_missing(time))
        pl_buf_add_z(out, "<none>");
    else
        pl_cell_age(out, time, now_ns);
}

/* ---- volumes ---- */

static void add_modes(struct pl_buf *out, struct pl_node modes)
{
    static const char names[][2][20] = {{"ReadWriteOnce", "RWO"},
                                        {"ReadOnlyMany", "ROX"},
                                        {"ReadWriteMany", "RWX"},
                                        {"ReadWriteOncePod", "RWOP"}};
    struct pl_scratch scratch;
    for (size_t i = 0; i < PL_ARRAY_LEN(names); i++) {
        struct pl_iter it = pl_iter(modes);
        bool has = false;
        while (pl_iter_next(&it))
            has = has || pl_slice_eqz(pl_node_str(it.value, &scratch), names[i][0]);
        if (!has)
            continue;
        add_separator(out, 0, ",");
        pl_buf_add_z(out, names[i][1]);
    }
}

CELL(pv_modes)
{
    (void)now_ns;
    add_modes(out, pl_cell_at(object, ".spec.accessModes"));
}

CELL(pv_claim)
{
    (void)now_ns;
    if (pl_node_is_missing(pl_cell_at(object, ".spec.claimRef")))
        return;
    pl_cell_add(out, object, ".spec.claimRef.namespace");
    pl_buf_add_char(out, '/');
    pl_cell_add(out, object, ".spec.claimRef.name");
}

static bool is_bound(struct pl_node object)
{
    return pl_cell_has(object, ".spec.volumeName");
}

CELL(pvc_capacity)
{
    (void)now_ns;
    if (is_bound(object))
        pl_cell_add_or(out, object, ".status.capacity.storage", "0");
}

CELL(pvc_modes)
{
    (void)now_ns;
    if (is_bound(object))
        add_modes(out, pl_cell_at(object, ".status.accessModes"));
}

CELL(reference)
{
    (void)now_ns;
    pl_cell_add(out, object, ".spec.scaleTargetRef.kind");
    pl_buf_add_char(out, '/');
    pl_cell_add(out, object, ".spec.scaleTargetRef.name");
}

/* ---- the kinds ---- */

/* ONE: an integer of at least 1; SOME: an integer or "<none>"; HOLDS: a condition is true; EACH: a
 * member of each element; LABELS: a map or "<none>"; CHOICE: a selector of labels. */
enum how { KIND, TEXT, WHOLE, ONE, SOME, TRUTH, COUNT, AGE, HOLDS, EACH, LABELS, CHOICE, MADE };

typedef void make_cell(struct pl_buf *out, struct pl_node object, int64_t now_ns);

/* The functions of cells: those above, and those of the cells_*.c files. */
/* clang-format off */
#define MADE_HERE(X) \
    X(accounts) X(completions) X(duration) X(groups) X(job_status) X(last_schedule) \
    X(node_selector) X(phase) X(pv_claim) X(pv_modes) X(pvc_capacity) X(pvc_modes) X(reference) \
    X(replicas_ready) X(role) X(suspend) X(users)
#define MADE_ELSEWHERE(X) \
    X(address) X(address_owner) X(api_service) X(audiences) X(available) X(claim_state) \
    X(class_parameters) X(dangling) X(endpoints) X(event_object) X(event_source) X(external) \
    X(first_seen) X(hosts) X(hpa_targets) X(ingress_ports) X(last_seen) X(message) X(migrated) \
    X(migration) X(modes) X(node_external) X(node_internal) X(node_kernel) X(node_roles) \
    X(node_status) X(param_kind) X(param_name) X(pod_certificate) X(pod_gates) X(pod_ready) \
    X(pod_restarts) X(pod_status) X(ports) X(quota_limits) X(quota_requests) X(ranges) \
    X(revision_of) X(short_names) X(signing) X(signing_duration) X(slice_endpoints) \
    X(slice_ports) X(versions)
/* clang-format on */

#define MAKER(name)         MAKER_##name,
#define FUNCTION_HERE(name) [MAKER_##name] = cell_##name,
#define FUNCTION(name)      [MAKER_##name] = pl_cell_##name,
enum maker { MADE_HERE(MAKER) MADE_ELSEWHERE(MAKER) };
static make_cell *const makers[] = {MADE_HERE(FUNCTION_HERE) MADE_ELSEWHERE(FUNCTION)};

struct cell {
    enum how how;
    enum maker maker; /* of MADE */
    char path[56];    /* KIND: the name of the kind */
    char other[16];   /* for an absent value; COUNT: a second path to count; EACH: the member */
};

/* KIND: the cells of that kind follow. */
#define K(kind)                                                                                    \
    {                                                                                              \
        KIND, 0, kind, ""                                                                          \
    }
#define T(path)                                                                                    \
    {                                                                                              \
        TEXT, 0, path, ""                                                                          \
    }
#define O(path, or)                                                                                \
    {                                                                                              \
        TEXT, 0, path, or                                                                          \
    }
#define W(path)                                                                                    \
    {                                                                                              \
        WHOLE, 0, path, ""                                                                         \
    }
#define I(path)                                                                                    \
    {                                                                                              \
        SOME, 0, path, ""                                                                          \
    }
#define B(path)                                                                                    \
    {                                                                                              \
        TRUTH, 0, path, ""                                                                         \
    }
#define N(path)                                                                                    \
    {                                                                                              \
        COUNT, 0, path, ""                                                                         \
    }
#define A                                                                                          \
    {                                                                                              \
        AGE, 0, ".metadata.creationTimestamp", ""                                                  \
    }
#define E(path, member)                                                                            \
    {                                                                                              \
        EACH, 0, path, member                                                                      \
    }
#define L(path)                                                                                    \
    {                                                                                              \
        LABELS, 0, path, ""                                                                        \
    }
#define S(path)                                                                                    \
    {                                                                                              \
        CHOICE, 0, path, ""                                                                        \
    }
#define M(name)                                                                                    \
    {                                                                                              \
        MADE, MAKER_##name, "", ""                                                                 \
    }

/* One cell for each column after the name. Rows of Events have no name column. */
/* clang-format off */
static const struct cell cells[] = {
    K("ConfigMap"), {COUNT, 0, ".data", ".binaryData"}, A,
    K("Secret"), T(".type"), N(".data"), A,
    K("Namespace"), T(".status.phase"), A,
    K("ServiceAccount"), A,
    K("Pod"), M(pod_ready), M(pod_status), M(pod_restarts), A, O(".status.podIPs[0].ip", "<none>"), O(".spec.nodeName", "<none>"), O(".status.nominatedNodeName", "<none>"), M(pod_gates),
    K("Deployment"), M(replicas_ready), W(".status.updatedReplicas"), W(".status.availableReplicas"), A, E(".spec.template.spec.containers", ".name"), E(".spec.template.spec.containers", ".image"), S(".spec.selector"),
    K("ReplicaSet"), W(".spec.replicas"), W(".status.replicas"), W(".status.readyReplicas"), A, E(".spec.template.spec.containers", ".name"), E(".spec.template.spec.containers", ".image"), S(".spec.selector"),
    K("ReplicationController"), W(".spec.replicas"), W(".status.replicas"), W(".status.readyReplicas"), A, E(".spec.template.spec.containers", ".name"), E(".spec.template.spec.containers", ".image"), L(".spec.selector"),
    K("StatefulSet"), M(replicas_ready), A, E(".spec.template.spec.containers", ".name"), E(".spec.template.spec.containers", ".image"),
    K("DaemonSet"), W(".status.desiredNumberScheduled"), W(".status.currentNumberScheduled"), W(".status.numberReady"), W(".status.updatedNumberScheduled"), W(".status.numberAvailable"), M(node_selector), A, E(".spec.template.spec.containers", ".name"), E(".spec.template.spec.containers", ".image"), S(".spec.selector"),
    K("Job"), M(job_status), M(completions), M(duration), A, E(".spec.template.spec.containers", ".name"), E(".spec.template.spec.containers", ".image"), S(".spec.selector"),
    K("CronJob"), T(".spec.schedule"), O(".spec.timeZone", "<none>"), M(suspend), N(".status.active"), M(last_schedule), A, E(".spec.jobTemplate.spec.template.spec.containers", ".name"), E(".spec.jobTemplate.spec.template.spec.containers", ".image"), S(".spec.jobTemplate.spec.selector"),
    K("Service"), T(".spec.type"), O(".spec.clusterIPs[0]", "<none>"), M(external), M(ports), A, L(".spec.selector"),
    K("Ingress"), O(".spec.ingressClassName", "<none>"), M(hosts), M(address), M(ingress_ports), A,
    K("EndpointSlice"), T(".addressType"), M(slice_ports), M(slice_endpoints), A,
    K("NetworkPolicy"), S(".spec.podSelector"), A,
    K("Node"), M(node_status), M(node_roles), A, T(".status.nodeInfo.kubeletVersion"), M(node_internal), M(node_external), O(".status.nodeInfo.osImage", "<unknown>"), M(node_kernel), O(".status.nodeInfo.containerRuntimeVersion", "<unknown>"),
    K("PersistentVolume"), O(".spec.capacity.storage", "0"), M(pv_modes), T(".spec.persistentVolumeReclaimPolicy"), M(phase), M(pv_claim), T(".spec.storageClassName"), O(".spec.volumeAttributesClassName", "<unset>"), T(".status.reason"), A, O(".spec.volumeMode", "<unset>"),
    K("PersistentVolumeClaim"), M(phase), T(".spec.volumeName"), M(pvc_capacity), M(pvc_modes), T(".spec.storageClassName"), O(".spec.volumeAttributesClassName", "<unset>"), A, O(".spec.volumeMode", "<unset>"),
    K("StorageClass"), T(".provisioner"), O(".reclaimPolicy", "Delete"), O(".volumeBindingMode", "Immediate"), B(".allowVolumeExpansion"), A,
    K("HorizontalPodAutoscaler"), M(reference), M(hpa_targets), O(".spec.minReplicas", "<unset>"), W(".spec.maxReplicas"), W(".status.currentReplicas"), A,
    K("PodDisruptionBudget"), O(".spec.minAvailable", "N/A"), O(".spec.maxUnavailable", "N/A"), W(".status.disruptionsAllowed"), A,
    K("RoleBinding"), M(role), A, M(users), M(groups), M(accounts),
    K("ClusterRoleBinding"), M(role), A, M(users), M(groups), M(accounts),
    K("Lease"), T(".spec.holderIdentity"), A,
    K("PriorityClass"), W(".value"), B(".globalDefault"), A, T(".preemptionPolicy"),
    K("RuntimeClass"), T(".handler"), A,
    K("MutatingWebhookConfiguration"), N(".webhooks"), A,
    K("ValidatingWebhookConfiguration"), N(".webhooks"), A,
    K("PodTemplate"), E(".template.spec.containers", ".name"), E(".template.spec.containers", ".image"), L(".template.metadata.labels"),
    K("ControllerRevision"), M(revision_of), W(".revision"), A,
    K("Endpoints"), M(endpoints), A,
    K("ResourceQuota"), M(quota_requests), M(quota_limits), A,
    K("VolumeAttachment"), T(".spec.attacher"), T(".spec.source.persistentVolumeName"), T(".spec.nodeName"), B(".status.attached"), A,
    K("IngressClass"), T(".spec.controller"), M(class_parameters), A,
    K("CSIDriver"), B(".spec.attachRequired"), B(".spec.podInfoOnMount"), B(".spec.storageCapacity"), M(audiences), B(".spec.requiresRepublish"), M(modes), A,
    K("CSINode"), N(".spec.drivers"), A,
    K("VolumeAttributesClass"), T(".driverName"), A,
    K("StorageVersionMigration"), M(migrated), M(migration),
    K("CertificateSigningRequest"), A, O(".spec.signerName", "<none>"), T(".spec.username"), M(signing_duration), M(signing),
    K("ClusterTrustBundle"), O(".spec.signerName", "<none>"),
    K("PodCertificateRequest"), T(".spec.podName"), T(".spec.serviceAccountName"), T(".spec.nodeName"), T(".spec.signerName"), M(pod_certificate),
    K("IPAddress"), M(address_owner), A,
    K("ServiceCIDR"), M(ranges), A,
    K("FlowSchema"), T(".spec.priorityLevelConfiguration.name"), W(".spec.matchingPrecedence"), O(".spec.distinguisherMethod.type", "<none>"), A, M(dangling),
    K("PriorityLevelConfiguration"), T(".spec.type"), I(".spec.limited.nominalConcurrencyShares"), I(".spec.limited.limitResponse.queuing.queues"), I(".spec.limited.limitResponse.queuing.handSize"), I(".spec.limited.limitResponse.queuing.queueLengthLimit"), A,
    K("APIService"), M(api_service), M(available), A,
    K("CustomResourceDefinition"), T(".spec.scope"), M(versions), T(".metadata.creationTimestamp"), T(".spec.group"), T(".spec.names.kind"), M(short_names), {HOLDS, 0, "Established", ""},
    K("DeviceClass"), A,
    K("DeviceTaintRule"), T(".spec.taint.key"), T(".spec.taint.value"), T(".spec.taint.effect"), {AGE, 0, ".spec.taint.timeAdded", ""}, A,
    K("ResourceClaim"), M(claim_state), A,
    K("ResourceClaimTemplate"), A,
    K("ResourceSlice"), T(".spec.nodeName"), T(".spec.driver"), T(".spec.pool.name"), A,
    K("MutatingAdmissionPolicy"), N(".spec.mutations"), M(param_kind), A,
    K("ValidatingAdmissionPolicy"), N(".spec.validations"), M(param_kind), A,
    K("MutatingAdmissionPolicyBinding"), T(".spec.policyName"), M(param_name), A,
    K("ValidatingAdmissionPolicyBinding"), T(".spec.policyName"), M(param_name), A,
    K("Event"), M(last_seen), T(".type"), T(".reason"), M(event_object), T(".involvedObject.fieldPath"), M(event_source), M(message), M(first_seen), {ONE, 0, ".count", ""}, T(".metadata.name"),
};
/* clang-format on */

/* The first cell of the kind; NULL: it has no cells. */
static const struct cell *cells_of(const char *kind)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(cells); i++)
        if (cells[i].how == KIND && strcmp(cells[i].path, kind) == 0)
            return &cells[i + 1];
    return NULL;
}

/* True if the kind has another cell there. */
static bool is_cell(const struct cell *cell)
{
    return cell < cells + PL_ARRAY_LEN(cells) && cell->how != KIND;
}

bool pl_api_cells_have(const char *kind)
{
    return cells_of(kind) != NULL;
}

static void add_text_cell(struct pl_buf *out, const struct cell *cell, struct pl_node object,
                          int64_t now_ns)
{
    struct pl_buf text = PL_BUF_INIT;
    if (cell->how == AGE)
        pl_cell_age(&text, pl_cell_at(object, cell->path), now_ns);
    else if (cell->how == EACH)
        add_each(&text, pl_cell_at(object, cell->path), cell->other);
    else if (cell->how == LABELS)
        labels_or_none(&text, pl_cell_at(object, cell->path));
    else if (cell->how == CHOICE)
        add_selector(&text, pl_cell_at(object, cell->path));
    else if (cell->how == MADE)
        makers[cell->maker](&text, object, now_ns);
    else
        pl_cell_add_or(&text, object, cell->path, cell->other);
    pl_write_str(out, pl_buf_slice(&text));
    pl_buf_deinit(&text);
}

static void add_cell(struct pl_buf *out, const struct cell *cell, struct pl_node object,
                     int64_t now_ns)
{
    int64_t number = 0;
    size_t count;
    switch (cell->how) {
    case WHOLE:
    case ONE:
        number = pl_cell_int(object, cell->path);
        pl_buf_add_f(out, "%" PRId64, cell->how == ONE && number < 1 ? 1 : number);
        break;
    case SOME:
        if (pl_node_is_missing(pl_cell_at(object, cell->path)))
            pl_buf_add_z(out, "\"<none>\"");
        else
            pl_buf_add_f(out, "%" PRId64, pl_cell_int(object, cell->path));
        break;
    case HOLDS:
        pl_buf_add_z(out, pl_cell_condition(object, cell->path, "True") ? "true" : "false");
        break;
    case TRUTH:
        pl_buf_add_z(out, pl_node_bool(pl_cell_at(object, cell->path)) ? "true" : "false");
        break;
    case COUNT:
        count = pl_node_len(pl_cell_at(object, cell->path));
        if (*cell->other != '\0')
            count += pl_node_len(pl_cell_at(object, cell->other));
        pl_buf_add_f(out, "%zu", count);
        break;
    default:
        add_text_cell(out, cell, object, now_ns);
    }
}

void pl_api_cells_write(struct pl_buf *out, const char *kind, struct pl_node object, int64_t now_ns)
{
    static const struct cell name = T(".metadata.name");
    const struct cell *cell = cells_of(kind);
    bool named = strcmp(kind, "Event") != 0;
    if (named)
        add_cell(out, &name, object, now_ns);
    for (bool first = !named; is_cell(cell); cell++, first = false) {
        if (!first)
            pl_buf_add_char(out, ',');
        add_cell(out, cell, object, now_ns);
    }
}

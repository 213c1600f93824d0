#include "ingest_data.h"

#include "base/rand.h"

#include <stdio.h>

enum { PODS_A_SET = 100, NAMESPACES = 50, NODES = 2000, APPS = 200 };

struct pod {
    struct pl_buf *out;
    uint32_t number, set, version;
    struct pl_rand own; /* of the pod; `set_rand` of its ReplicaSet */
    struct pl_rand set_rand;
    char name[64], set_name[48], app[32], ns[32], token[16], uid[37];
    char created[24], started[24], pod_ip[20], node_ip[20];
    int containers;
};

static const char *const roles[] = {"web",    "api",     "worker", "cache",
                                    "ingest", "billing", "search", "auth"};
static const char *const teams[] = {"payments", "platform", "growth", "data", "core"};

static uint32_t pick(struct pl_rand *rand, uint32_t below)
{
    return (uint32_t)(pl_rand_u64(rand) % below);
}

static void random_name(struct pl_rand *rand, char *out, int len)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    for (int i = 0; i < len; i++)
        out[i] = letters[pick(rand, sizeof(letters) - 1)];
    out[len] = '\0';
}

static void random_time(struct pl_rand *rand, char out[24])
{
    snprintf(out, 24, "2026-%02u-%02uT%02u:%02u:%02uZ", 9 + pick(rand, 3), 1 + pick(rand, 28),
             pick(rand, 24), pick(rand, 60), pick(rand, 60));
}

static void add_hex(struct pl_buf *out, struct pl_rand *rand, int words)
{
    for (int i = 0; i < words; i++)
        pl_buf_add_f(out, "%016llx", (unsigned long long)pl_rand_u64(rand));
}

static void init_pod(struct pod *p, struct pl_buf *out, uint32_t i, uint32_t version)
{
    p->out = out;
    p->number = i;
    p->version = version;
    p->set = i / PODS_A_SET;
    pl_rand_seed(&p->own, i * UINT64_C(2654435761) + 1);
    pl_rand_seed(&p->set_rand, p->set * UINT64_C(40503) + 77);
    uint32_t app = p->set % APPS;
    snprintf(p->app, sizeof(p->app), "%s-%s-%u", teams[app % 5], roles[app % 8], app);
    snprintf(p->ns, sizeof(p->ns), "team-%02u", p->set % NAMESPACES);
    char hash[12], suffix[8];
    random_name(&p->set_rand, hash, 10);
    random_name(&p->own, suffix, 5);
    snprintf(p->set_name, sizeof(p->set_name), "%s-%s", p->app, hash);
    snprintf(p->name, sizeof(p->name), "%s-%s", p->set_name, suffix);
    random_name(&p->own, p->token, 5);
    pl_rand_uuid(&p->own, p->uid);
    random_time(&p->own, p->created);
    random_time(&p->own, p->started);
    uint32_t node = pick(&p->own, NODES);
    snprintf(p->node_ip, sizeof(p->node_ip), "10.0.%u.%u", node / 250, 1 + node % 250);
    snprintf(p->pod_ip, sizeof(p->pod_ip), "10.%u.%u.%u", 100 + node / 250, node % 250,
             1 + pick(&p->own, 250));
    uint32_t dice = pick(&p->set_rand, 100);
    p->containers = dice < 85 ? 1 : dice < 98 ? 2 : 3;
}

static void managed_fields(struct pod *p)
{
    pl_buf_add_f(
        p->out,
        ",\"managedFields\":[{\"manager\":\"kube-controller-manager\",\"operation\":\"Update\","
        "\"apiVersion\":\"v1\",\"time\":\"%s\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{"
        "\"f:metadata\":{\"f:generateName\":{},\"f:labels\":{\".\":{},\"f:app\":{},"
        "\"f:pod-template-hash\":{},\"f:team\":{}},\"f:ownerReferences\":{\".\":{},"
        "\"k:{\\\"uid\\\":\\\"%s\\\"}\":{}}},\"f:spec\":{\"f:containers\":{"
        "\"k:{\\\"name\\\":\\\"app\\\"}\":{\".\":{},\"f:env\":{\".\":{},"
        "\"k:{\\\"name\\\":\\\"LOG_LEVEL\\\"}\":{\".\":{},\"f:name\":{},\"f:value\":{}}},"
        "\"f:image\":{},\"f:imagePullPolicy\":{},\"f:livenessProbe\":{\".\":{},"
        "\"f:failureThreshold\":{},\"f:httpGet\":{\".\":{},\"f:path\":{},\"f:port\":{},"
        "\"f:scheme\":{}},\"f:periodSeconds\":{},\"f:successThreshold\":{},"
        "\"f:timeoutSeconds\":{}},\"f:name\":{},\"f:ports\":{\".\":{},"
        "\"k:{\\\"containerPort\\\":8080,\\\"protocol\\\":\\\"TCP\\\"}\":{\".\":{},"
        "\"f:containerPort\":{},\"f:name\":{},\"f:protocol\":{}}},\"f:resources\":{}}},"
        "\"f:dnsPolicy\":{},\"f:restartPolicy\":{},\"f:schedulerName\":{}}}},"
        "{\"manager\":\"kubelet\",\"operation\":\"Update\",\"apiVersion\":\"v1\",\"time\":\"%s\","
        "\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:status\":{\"f:conditions\":{"
        "\"k:{\\\"type\\\":\\\"Ready\\\"}\":{\".\":{},\"f:lastProbeTime\":{},"
        "\"f:lastTransitionTime\":{},\"f:status\":{},\"f:type\":{}}},\"f:containerStatuses\":{},"
        "\"f:hostIP\":{},\"f:phase\":{},\"f:podIP\":{},\"f:podIPs\":{\".\":{},"
        "\"k:{\\\"ip\\\":\\\"%s\\\"}\":{\".\":{},\"f:ip\":{}}},\"f:startTime\":{}}},"
        "\"subresource\":\"status\"}]",
        p->created, p->uid, p->started, p->pod_ip);
}

static void metadata(struct pod *p)
{
    char owner_uid[37];
    pl_rand_uuid(&p->set_rand, owner_uid);
    pl_buf_add_f(p->out,
                 "\"metadata\":{\"name\":\"%s\",\"generateName\":\"%s-\",\"namespace\":\"%s\","
                 "\"uid\":\"%s\",\"resourceVersion\":\"%u\",\"creationTimestamp\":\"%s\","
                 "\"labels\":{\"app\":\"%s\",\"pod-template-hash\":\"%s\",\"team\":\"%s\"},"
                 "\"annotations\":{\"prometheus.io/scrape\":\"true\",\"prometheus.io/port\":"
                 "\"8080\"},\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":"
                 "\"ReplicaSet\",\"name\":\"%s\",\"uid\":\"%s\",\"controller\":true,"
                 "\"blockOwnerDeletion\":true}]",
                 p->name, p->set_name, p->ns, p->uid, 1000000 + p->number * 7 + p->version,
                 p->created, p->app, p->set_name + strlen(p->app) + 1, teams[p->set % 5],
                 p->set_name, owner_uid);
    managed_fields(p);
    pl_buf_add_char(p->out, '}');
}

static const char *container_name(int i)
{
    return i == 0 ? "app" : i == 1 ? "istio-proxy" : "log-shipper";
}

static void probe(struct pod *p, const char *which, const char *path, int period)
{
    pl_buf_add_f(p->out,
                 ",\"%s\":{\"httpGet\":{\"path\":\"%s\",\"port\":8080,\"scheme\":\"HTTP\"},"
                 "\"initialDelaySeconds\":5,\"timeoutSeconds\":1,\"periodSeconds\":%d,"
                 "\"successThreshold\":1,\"failureThreshold\":3}",
                 which, path, period);
}

static void container(struct pod *p, int i)
{
    pl_buf_add_f(
        p->out,
        "%s{\"name\":\"%s\",\"image\":\"registry.example.com/%s/%s:v1.%u.%u\",\"ports\":"
        "[{\"name\":\"http\",\"containerPort\":8080,\"protocol\":\"TCP\"}],\"env\":"
        "[{\"name\":\"LOG_LEVEL\",\"value\":\"info\"},{\"name\":\"POD_NAME\",\"valueFrom\":"
        "{\"fieldRef\":{\"apiVersion\":\"v1\",\"fieldPath\":\"metadata.name\"}}},"
        "{\"name\":\"DATABASE_URL\",\"value\":\"postgres://%s.db.svc:5432/main\"}],"
        "\"resources\":{\"limits\":{\"cpu\":\"500m\",\"memory\":\"512Mi\"},\"requests\":"
        "{\"cpu\":\"%um\",\"memory\":\"256Mi\"}},\"volumeMounts\":[{\"name\":"
        "\"kube-api-access-%s\",\"readOnly\":true,\"mountPath\":"
        "\"/var/run/secrets/kubernetes.io/serviceaccount\"}]",
        i ? "," : "", container_name(i), teams[p->set % 5], p->app, p->set % 20, p->set % 7, p->app,
        100 + p->set % 4 * 50, p->token);
    probe(p, "livenessProbe", "/healthz", 10);
    probe(p, "readinessProbe", "/ready", 5);
    pl_buf_add_z(p->out, ",\"terminationMessagePath\":\"/dev/termination-log\","
                         "\"terminationMessagePolicy\":\"File\",\"imagePullPolicy\":"
                         "\"IfNotPresent\"}");
}

static void spec(struct pod *p)
{
    pl_buf_add_f(p->out,
                 "\"spec\":{\"volumes\":[{\"name\":\"kube-api-access-%s\",\"projected\":{"
                 "\"sources\":[{\"serviceAccountToken\":{\"expirationSeconds\":3607,\"path\":"
                 "\"token\"}},{\"configMap\":{\"name\":\"kube-root-ca.crt\",\"items\":[{\"key\":"
                 "\"ca.crt\",\"path\":\"ca.crt\"}]}},{\"downwardAPI\":{\"items\":[{\"path\":"
                 "\"namespace\",\"fieldRef\":{\"apiVersion\":\"v1\",\"fieldPath\":"
                 "\"metadata.namespace\"}}]}}],\"defaultMode\":420}}],\"containers\":[",
                 p->token);
    for (int i = 0; i < p->containers; i++)
        container(p, i);
    pl_buf_add_f(p->out,
                 "],\"restartPolicy\":\"Always\",\"terminationGracePeriodSeconds\":30,"
                 "\"dnsPolicy\":\"ClusterFirst\",\"serviceAccountName\":\"%s\","
                 "\"serviceAccount\":\"%s\",\"nodeName\":\"node-%s.eu-west-1.compute.internal\","
                 "\"securityContext\":{},\"schedulerName\":\"default-scheduler\",\"tolerations\":"
                 "[{\"key\":\"node.kubernetes.io/not-ready\",\"operator\":\"Exists\",\"effect\":"
                 "\"NoExecute\",\"tolerationSeconds\":300},{\"key\":"
                 "\"node.kubernetes.io/unreachable\",\"operator\":\"Exists\",\"effect\":"
                 "\"NoExecute\",\"tolerationSeconds\":300}],\"priority\":0,"
                 "\"enableServiceLinks\":true,\"preemptionPolicy\":\"PreemptLowerPriority\"}",
                 p->app, p->app, p->node_ip);
}

static void condition(struct pod *p, const char *type, const char *status, bool last)
{
    char time[24];
    random_time(&p->own, time);
    pl_buf_add_f(p->out,
                 "{\"type\":\"%s\",\"status\":\"%s\",\"lastProbeTime\":null,"
                 "\"lastTransitionTime\":\"%s\"}%s",
                 type, status, time, last ? "" : ",");
}

static void container_status(struct pod *p, int i)
{
    uint32_t dice = pick(&p->own, 100);
    char time[24];
    random_time(&p->own, time);
    pl_buf_add_f(p->out,
                 "%s{\"name\":\"%s\",\"state\":{\"running\":{\"startedAt\":\"%s\"}},\"lastState\":"
                 "{},\"ready\":true,\"restartCount\":%d,\"image\":"
                 "\"registry.example.com/%s/%s:v1.%u.%u\",\"imageID\":"
                 "\"registry.example.com/%s/%s@sha256:",
                 i ? "," : "", container_name(i), time,
                 dice < 8    ? 1
                 : dice < 10 ? 3
                             : 0,
                 teams[p->set % 5], p->app, p->set % 20, p->set % 7, teams[p->set % 5], p->app);
    struct pl_rand image = p->set_rand;
    add_hex(p->out, &image, 4);
    pl_buf_add_z(p->out, "\",\"containerID\":\"containerd://");
    add_hex(p->out, &p->own, 4);
    pl_buf_add_z(p->out, "\",\"started\":true}");
}

static void status(struct pod *p)
{
    pl_buf_add_z(p->out, "\"status\":{\"phase\":\"Running\",\"conditions\":[");
    condition(p, "Initialized", "True", false);
    condition(p, "Ready", p->version % 2 ? "False" : "True", false);
    condition(p, "ContainersReady", "True", false);
    condition(p, "PodScheduled", "True", true);
    pl_buf_add_f(p->out,
                 "],\"hostIP\":\"%s\",\"podIP\":\"%s\",\"podIPs\":[{\"ip\":\"%s\"}],\"startTime\":"
                 "\"%s\",\"containerStatuses\":[",
                 p->node_ip, p->pod_ip, p->pod_ip, p->started);
    for (int i = 0; i < p->containers; i++)
        container_status(p, i);
    pl_buf_add_z(p->out, "],\"qosClass\":\"Burstable\"}");
}

void data_pod(struct pl_buf *out, uint32_t i, uint32_t version)
{
    struct pod p;
    init_pod(&p, out, i, version);
    pl_buf_add_z(out, "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",");
    metadata(&p);
    pl_buf_add_char(out, ',');
    spec(&p);
    pl_buf_add_char(out, ',');
    status(&p);
    pl_buf_add_char(out, '}');
}

void data_website(struct pl_buf *out, uint32_t i, uint32_t version)
{
    struct pl_rand rand;
    char uid[37], created[24], changed[24];
    pl_rand_seed(&rand, i * UINT64_C(2654435761) + 3);
    pl_rand_uuid(&rand, uid);
    random_time(&rand, created);
    random_time(&rand, changed);
    pl_buf_add_f(
        out,
        "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Website\",\"metadata\":{"
        "\"creationTimestamp\":\"%s\",\"finalizers\":[\"example.com/cleanup\"],\"generation\":2,"
        "\"labels\":{\"app.kubernetes.io/managed-by\":\"perilune\",\"tier\":\"%s\"},\"name\":"
        "\"site-%u\",\"namespace\":\"team-%02u\",\"resourceVersion\":\"%u\",\"uid\":\"%s\"},"
        "\"spec\":{\"domain\":\"site-%u.example.com\",\"image\":\"nginx:1.%u\",\"replicas\":%u,"
        "\"resources\":{\"limits\":{\"cpu\":\"500m\",\"memory\":\"256Mi\"},\"requests\":{\"cpu\":"
        "\"100m\",\"memory\":\"128Mi\"}},\"tls\":{\"enabled\":true,\"issuer\":"
        "\"letsencrypt-production\"}},\"status\":{\"conditions\":[{\"lastTransitionTime\":\"%s\","
        "\"message\":\"all replicas are available\",\"observedGeneration\":2,\"reason\":"
        "\"MinimumReplicasAvailable\",\"status\":\"%s\",\"type\":\"Ready\"}],"
        "\"observedGeneration\":2,\"readyReplicas\":%u,\"url\":\"https://site-%u.example.com/\"}}",
        created, roles[i % 8], i, i % NAMESPACES, 2000000 + i * 5 + version, uid, i, 20 + i % 6,
        1 + i % 5, changed, version % 2 ? "False" : "True", 1 + i % 5, i);
}

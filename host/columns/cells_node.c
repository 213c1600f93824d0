/* The cells of nodes (readiness, roles, addresses) and of autoscalers (metrics and targets). The
 * object is only read. */
#include "columns/cells_impl.h"

#include <string.h>

#define MAX_METRICS 2

void pl_cell_node_status(struct pl_buf *out, struct pl_node node, int64_t now_ns)
{
    struct pl_iter it = pl_iter(pl_cell_at(node, ".status.conditions"));
    struct pl_scratch scratch;
    (void)now_ns;
    while (pl_iter_next(&it)) {
        if (!pl_slice_eqz(pl_node_str(pl_node_getz(it.value, "type"), &scratch), "Ready"))
            continue;
        struct pl_node status = pl_node_getz(it.value, "status");
        pl_buf_add_z(out,
                     pl_slice_eqz(pl_node_str(status, &scratch), "True") ? "Ready" : "NotReady");
        break;
    }
    if (out->len == 0)
        pl_buf_add_z(out, "Unknown");
    if (pl_node_bool(pl_cell_at(node, ".spec.unschedulable")))
        pl_buf_add_z(out, ",SchedulingDisabled");
}

/* The smallest role after `last` that the labels name. */
static bool next_role(struct pl_node labels, struct pl_slice last, struct pl_buf *role)
{
    static const char prefix[] = "node-role.kubernetes.io/";
    const size_t len = sizeof(prefix) - 1;
    struct pl_iter it = pl_iter(labels);
    struct pl_scratch scratch;
    bool found = false;
    while (pl_iter_next(&it)) {
        struct pl_slice name = {"", 0};
        if (it.key.len > len && memcmp(it.key.ptr, prefix, len) == 0)
            name = pl_slice(it.key.ptr + len, it.key.len - len);
        else if (pl_slice_eqz(it.key, "kubernetes.io/role"))
            name = pl_node_str(it.value, &scratch);
        if (name.len == 0 || pl_slice_cmp(name, last) <= 0 ||
            (found && pl_slice_cmp(name, pl_buf_slice(role)) >= 0))
            continue;
        pl_buf_clear(role);
        pl_buf_add_slice(role, name);
        found = true;
    }
    return found;
}

void pl_cell_node_roles(struct pl_buf *out, struct pl_node node, int64_t now_ns)
{
    struct pl_node labels = pl_cell_at(node, ".metadata.labels");
    struct pl_buf role = PL_BUF_INIT, last = PL_BUF_INIT;
    (void)now_ns;
    for (size_t i = 0; i < 16 && next_role(labels, pl_buf_slice(&last), &role); i++) {
        pl_buf_add_z(out, i > 0 ? "," : "");
        pl_buf_add_slice(out, pl_buf_slice(&role));
        pl_buf_clear(&last);
        pl_buf_add_slice(&last, pl_buf_slice(&role));
    }
    if (out->len == 0)
        pl_buf_add_z(out, "<none>");
    pl_buf_deinit(&role);
    pl_buf_deinit(&last);
}

static void add_address(struct pl_buf *out, struct pl_node node, const char *type)
{
    struct pl_iter it = pl_iter(pl_cell_at(node, ".status.addresses"));
    struct pl_scratch scratch;
    while (pl_iter_next(&it))
        if (pl_slice_eqz(pl_node_str(pl_node_getz(it.value, "type"), &scratch), type)) {
            pl_cell_add(out, it.value, ".address");
            return;
        }
    pl_buf_add_z(out, "<none>");
}

void pl_cell_node_internal(struct pl_buf *out, struct pl_node node, int64_t now_ns)
{
    (void)now_ns;
    add_address(out, node, "InternalIP");
}

void pl_cell_node_external(struct pl_buf *out, struct pl_node node, int64_t now_ns)
{
    (void)now_ns;
    add_address(out, node, "ExternalIP");
}

void pl_cell_node_kernel(struct pl_buf *out, struct pl_node node, int64_t now_ns)
{
    (void)now_ns;
    if (!pl_cell_add(out, node, ".status.nodeInfo.kernelVersion"))
        pl_buf_add_z(out, "<unknown>");
    size_t before = out->len;
    pl_buf_add_z(out, " (");
    if (pl_cell_add(out, node, ".status.nodeInfo.architecture"))
        pl_buf_add_char(out, ')');
    else
        out->len = before;
}

/* ---- autoscalers ---- */

static const char *source_of(struct pl_node metric)
{
    static const char sources[][2][20] = {{"External", "external"},
                                          {"Pods", "pods"},
                                          {"Object", "object"},
                                          {"Resource", "resource"},
                                          {"ContainerResource", "containerResource"}};
    struct pl_scratch scratch;
    struct pl_slice type = pl_node_str(pl_node_getz(metric, "type"), &scratch);
    for (size_t i = 0; i < PL_ARRAY_LEN(sources); i++)
        if (pl_slice_eqz(type, sources[i][0]))
            return sources[i][1];
    return NULL;
}

static void add_value(struct pl_buf *out, struct pl_node values, const char *path,
                      const char *percent, const char *other)
{
    if (pl_cell_add(out, values, path))
        pl_buf_add_z(out, percent);
    else
        pl_buf_add_z(out, other);
}

static void add_metric(struct pl_buf *out, struct pl_node metric, struct pl_node status)
{
    const char *source = source_of(metric);
    if (source == NULL) {
        pl_buf_add_z(out, "<unknown type>");
        return;
    }
    struct pl_node target = pl_node_dig(metric, source, "target");
    struct pl_node current = pl_node_dig(status, source, "current");
    bool resource = strstr(source, "esource") != NULL;
    bool average = !pl_node_is_missing(pl_node_getz(target, "averageValue"));
    const char *path = average ? ".averageValue" : resource ? ".averageUtilization" : ".value";
    const char *percent = resource && !average ? "%" : "";
    if (resource) {
        pl_cell_add(out, pl_node_getz(metric, source), ".name");
        pl_buf_add_z(out, ": ");
    }
    add_value(out, current, path, percent, "<unknown>");
    pl_buf_add_char(out, '/');
    add_value(out, target, path, percent, "<auto>");
    if (average && !resource && strcmp(source, "pods") != 0)
        pl_buf_add_z(out, " (avg)");
}

void pl_cell_hpa_targets(struct pl_buf *out, struct pl_node hpa, int64_t now_ns)
{
    struct pl_node metrics = pl_cell_at(hpa, ".spec.metrics");
    struct pl_node current = pl_cell_at(hpa, ".status.currentMetrics");
    size_t count = pl_node_len(metrics);
    (void)now_ns;
    for (size_t i = 0; i < count && i < MAX_METRICS; i++) {
        pl_buf_add_z(out, i > 0 ? ", " : "");
        add_metric(out, pl_node_at(metrics, i), pl_node_at(current, i));
    }
    if (count == 0)
        pl_buf_add_z(out, "<none>");
    else if (count > MAX_METRICS)
        pl_buf_add_f(out, " + %zu more...", count - MAX_METRICS);
}

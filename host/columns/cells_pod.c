/* The cells of pods: ready containers, the reason of the state, restarts. The order is
 * kube-apiserver's: first the init containers up to the first one that is not done, then the other
 * containers from the last to the first. The object is only read. */
#include "columns/cells_impl.h"

#include "format/units.h"
#include "columns/cells.h"

#include <inttypes.h>
#include <string.h>

/* The findings about a pod. reason is owned. */
struct look {
    struct pl_buf reason;
    size_t ready, total;
    int64_t restarts;
    int64_t last;     /* the last end of a container; 0: none */
    int64_t sidecars; /* restarts of sidecars (init containers that keep running) */
    int64_t sidecars_last;
    bool initializing;
};

static bool is_sidecar(struct pl_node pod, struct pl_node status)
{
    struct pl_scratch scratch;
    struct pl_iter it = pl_iter(pl_cell_at(pod, ".spec.initContainers"));
    struct pl_slice name = pl_node_str(pl_node_getz(status, "name"), &scratch);
    while (pl_iter_next(&it)) {
        struct pl_scratch other;
        if (pl_slice_eq(pl_node_str(pl_node_getz(it.value, "name"), &other), name))
            return pl_cell_is(it.value, ".restartPolicy", "Always");
    }
    return false;
}

static void note_end(struct pl_node status, int64_t *last)
{
    struct pl_scratch scratch;
    int64_t then;
    struct pl_node time = pl_cell_at(status, ".lastState.terminated.finishedAt");
    if (pl_time_parse(pl_node_str(time, &scratch), &then) && then > *last)
        *last = then;
}

/* Why a container ended: the reason of its state, or its exit code. */
static void add_ending(struct pl_buf *out, struct pl_node status)
{
    if (pl_cell_add(out, status, ".state.terminated.reason"))
        return;
    int64_t signal = pl_cell_int(status, ".state.terminated.signal");
    if (signal != 0)
        pl_buf_add_f(out, "Signal:%" PRId64, signal);
    else
        pl_buf_add_f(out, "ExitCode:%" PRId64, pl_cell_int(status, ".state.terminated.exitCode"));
}

static bool has(struct pl_node status, const char *path)
{
    return !pl_node_is_missing(pl_cell_at(status, path));
}

/* False: the pod waits for this init container. */
static bool look_at_init(struct look *look, struct pl_node pod, struct pl_node status, size_t index)
{
    bool sidecar = is_sidecar(pod, status);
    int64_t restarts = pl_cell_int(status, ".restartCount");
    look->restarts += restarts;
    note_end(status, &look->last);
    if (sidecar) {
        look->sidecars += restarts;
        note_end(status, &look->sidecars_last);
    }
    bool ended = has(status, ".state.terminated");
    if (ended && pl_cell_int(status, ".state.terminated.exitCode") == 0)
        return true;
    if (sidecar && pl_node_bool(pl_node_getz(status, "started"))) {
        look->ready += pl_node_bool(pl_node_getz(status, "ready"));
        return true;
    }
    pl_buf_clear(&look->reason);
    pl_buf_add_z(&look->reason, "Init:");
    if (ended)
        add_ending(&look->reason, status);
    else if (pl_cell_is(status, ".state.waiting.reason", "PodInitializing") ||
             !pl_cell_add(&look->reason, status, ".state.waiting.reason"))
        pl_buf_add_f(&look->reason, "%zu/%zu", index,
                     pl_node_len(pl_cell_at(pod, ".spec.initContainers")));
    return false;
}

/* True: the container runs and is ready. */
static bool look_at_container(struct look *look, struct pl_node status)
{
    struct pl_buf why = PL_BUF_INIT;
    look->restarts += pl_cell_int(status, ".restartCount");
    note_end(status, &look->last);
    bool running = false;
    if (!pl_cell_add(&why, status, ".state.waiting.reason")) {
        if (has(status, ".state.terminated"))
            add_ending(&why, status);
        else if (pl_node_bool(pl_node_getz(status, "ready")) && has(status, ".state.running"))
            running = true;
    }
    if (why.len > 0) {
        pl_buf_clear(&look->reason);
        pl_buf_add_slice(&look->reason, pl_buf_slice(&why));
    }
    look->ready += running;
    pl_buf_deinit(&why);
    return running;
}

static void look_at_containers(struct look *look, struct pl_node pod)
{
    struct pl_node statuses = pl_cell_at(pod, ".status.containerStatuses");
    bool running = false;
    look->restarts = look->sidecars;
    look->last = look->sidecars_last;
    for (size_t i = pl_node_len(statuses); i > 0; i--)
        running = look_at_container(look, pl_node_at(statuses, i - 1)) || running;
    if (!running || !pl_slice_eqz(pl_buf_slice(&look->reason), "Completed"))
        return;
    pl_buf_clear(&look->reason);
    pl_buf_add_z(&look->reason, pl_cell_condition(pod, "Ready", "True") ? "Running" : "NotReady");
}

static bool is_gated(struct pl_node pod)
{
    struct pl_iter it = pl_iter(pl_cell_at(pod, ".status.conditions"));
    while (pl_iter_next(&it))
        if (pl_cell_is(it.value, ".type", "PodScheduled") &&
            pl_cell_is(it.value, ".reason", "SchedulingGated"))
            return true;
    return false;
}

static void look_at_end(struct look *look, struct pl_node pod)
{
    bool over =
        pl_cell_is(pod, ".status.phase", "Failed") || pl_cell_is(pod, ".status.phase", "Succeeded");
    bool lost = pl_cell_is(pod, ".status.reason", "NodeLost");
    if (!has(pod, ".metadata.deletionTimestamp") || (over && !lost))
        return;
    pl_buf_clear(&look->reason);
    pl_buf_add_z(&look->reason, lost ? "Unknown" : "Terminating");
}

static void look_at_pod(struct look *look, struct pl_node pod)
{
    *look = (struct look){.reason = PL_BUF_INIT};
    look->total = pl_node_len(pl_cell_at(pod, ".spec.containers"));
    if (!pl_cell_add(&look->reason, pod, ".status.reason"))
        pl_cell_add(&look->reason, pod, ".status.phase");
    if (is_gated(pod)) {
        pl_buf_clear(&look->reason);
        pl_buf_add_z(&look->reason, "SchedulingGated");
    }
    struct pl_iter it = pl_iter(pl_cell_at(pod, ".spec.initContainers"));
    while (pl_iter_next(&it))
        look->total += pl_cell_is(it.value, ".restartPolicy", "Always");
    it = pl_iter(pl_cell_at(pod, ".status.initContainerStatuses"));
    for (size_t i = 0; !look->initializing && pl_iter_next(&it); i++)
        look->initializing = !look_at_init(look, pod, it.value, i);
    if (!look->initializing || pl_cell_condition(pod, "Initialized", "True"))
        look_at_containers(look, pod);
    look_at_end(look, pod);
}

void pl_cell_pod_ready(struct pl_buf *out, struct pl_node pod, int64_t now_ns)
{
    struct look look;
    (void)now_ns;
    look_at_pod(&look, pod);
    pl_buf_add_f(out, "%zu/%zu", look.ready, look.total);
    pl_buf_deinit(&look.reason);
}

void pl_cell_pod_status(struct pl_buf *out, struct pl_node pod, int64_t now_ns)
{
    struct look look;
    (void)now_ns;
    look_at_pod(&look, pod);
    pl_buf_add_slice(out, pl_buf_slice(&look.reason));
    pl_buf_deinit(&look.reason);
}

void pl_cell_pod_restarts(struct pl_buf *out, struct pl_node pod, int64_t now_ns)
{
    struct look look;
    look_at_pod(&look, pod);
    pl_buf_add_f(out, "%" PRId64, look.restarts);
    if (look.restarts != 0 && look.last != 0) {
        char age[32];
        pl_api_age_text(now_ns - look.last, age);
        pl_buf_add_f(out, " (%s ago)", age);
    }
    pl_buf_deinit(&look.reason);
}

void pl_cell_pod_gates(struct pl_buf *out, struct pl_node pod, int64_t now_ns)
{
    struct pl_node gates = pl_cell_at(pod, ".spec.readinessGates");
    struct pl_iter it = pl_iter(gates);
    struct pl_buf type = PL_BUF_INIT;
    size_t met = 0;
    (void)now_ns;
    while (pl_iter_next(&it)) {
        pl_buf_clear(&type);
        if (pl_cell_add(&type, it.value, ".conditionType"))
            met += pl_cell_condition(pod, pl_buf_z(&type), "True");
    }
    pl_buf_deinit(&type);
    if (pl_node_len(gates) == 0)
        pl_buf_add_z(out, "<none>");
    else
        pl_buf_add_f(out, "%zu/%zu", met, pl_node_len(gates));
}

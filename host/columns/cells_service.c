/* The cells of Services (ports and addresses), Ingresses (hosts) and endpoints. Long lists are cut
 * as in kube-apiserver. The object is only read; a value may be absent. */
#include "columns/cells_impl.h"

#include <inttypes.h>

#define MAX_SHOWN 3

void pl_cell_ports(struct pl_buf *out, struct pl_node object, int64_t now_ns)
{
    struct pl_iter it = pl_iter(pl_cell_at(object, ".spec.ports"));
    (void)now_ns;
    while (pl_iter_next(&it)) {
        pl_cell_separate(out, ",");
        pl_cell_add(out, it.value, ".port");
        if (pl_cell_int(it.value, ".nodePort") > 0)
            pl_buf_add_f(out, ":%" PRId64, pl_cell_int(it.value, ".nodePort"));
        pl_buf_add_char(out, '/');
        pl_cell_add(out, it.value, ".protocol");
    }
    if (out->len == 0)
        pl_buf_add_z(out, "<none>");
}

static void add_balancer(struct pl_buf *out, struct pl_node object)
{
    struct pl_iter it = pl_iter(pl_cell_at(object, ".status.loadBalancer.ingress"));
    while (pl_iter_next(&it)) {
        pl_cell_separate(out, ",");
        if (!pl_cell_add(out, it.value, ".ip"))
            pl_cell_add(out, it.value, ".hostname");
    }
}

void pl_cell_external(struct pl_buf *out, struct pl_node object, int64_t now_ns)
{
    struct pl_scratch scratch;
    struct pl_slice type = pl_node_str(pl_cell_at(object, ".spec.type"), &scratch);
    (void)now_ns;
    if (pl_slice_eqz(type, "ExternalName")) {
        pl_cell_add(out, object, ".spec.externalName");
        return;
    }
    bool balanced = pl_slice_eqz(type, "LoadBalancer");
    if (balanced)
        add_balancer(out, object);
    struct pl_iter it = pl_iter(pl_cell_at(object, ".spec.externalIPs"));
    while (pl_iter_next(&it)) {
        pl_cell_separate(out, ",");
        pl_buf_add_slice(out, pl_node_str(it.value, &scratch));
    }
    if (out->len == 0)
        pl_buf_add_z(out, balanced ? "<pending>" : "<none>");
}

void pl_cell_address(struct pl_buf *out, struct pl_node object, int64_t now_ns)
{
    (void)now_ns;
    add_balancer(out, object);
}

void pl_cell_hosts(struct pl_buf *out, struct pl_node object, int64_t now_ns)
{
    struct pl_node rules = pl_cell_at(object, ".spec.rules");
    struct pl_iter it = pl_iter(rules);
    size_t shown = 0;
    bool more = false;
    (void)now_ns;
    while (pl_iter_next(&it)) {
        more = more || shown == MAX_SHOWN;
        if (more || !pl_cell_has(it.value, ".host"))
            continue;
        pl_cell_separate(out, ",");
        shown += pl_cell_add(out, it.value, ".host");
    }
    if (out->len == 0)
        pl_buf_add_char(out, '*');
    else if (more)
        pl_buf_add_f(out, " + %zu more...", pl_node_len(rules) - MAX_SHOWN);
}

void pl_cell_ingress_ports(struct pl_buf *out, struct pl_node object, int64_t now_ns)
{
    (void)now_ns;
    pl_buf_add_z(out, pl_node_len(pl_cell_at(object, ".spec.tls")) > 0 ? "80, 443" : "80");
}

void pl_cell_slice_ports(struct pl_buf *out, struct pl_node object, int64_t now_ns)
{
    struct pl_node list = pl_cell_at(object, ".ports");
    struct pl_iter it = pl_iter(list);
    (void)now_ns;
    for (size_t i = 0; i < MAX_SHOWN && pl_iter_next(&it); i++) {
        pl_cell_separate(out, ",");
        if (!pl_cell_add(out, it.value, ".port"))
            pl_cell_add_or(out, it.value, ".name", "*");
    }
    if (out->len == 0)
        pl_buf_add_z(out, "<unset>");
    else if (pl_node_len(list) > MAX_SHOWN)
        pl_buf_add_f(out, " + %zu more...", pl_node_len(list) - MAX_SHOWN);
}

void pl_cell_slice_endpoints(struct pl_buf *out, struct pl_node object, int64_t now_ns)
{
    struct pl_scratch scratch;
    struct pl_iter it = pl_iter(pl_cell_at(object, ".endpoints"));
    size_t count = 0;
    (void)now_ns;
    while (pl_iter_next(&it)) {
        struct pl_iter addresses = pl_iter(pl_node_getz(it.value, "addresses"));
        while (pl_iter_next(&addresses)) {
            if (count++ >= MAX_SHOWN)
                continue;
            pl_cell_separate(out, ",");
            pl_buf_add_slice(out, pl_node_str(addresses.value, &scratch));
        }
    }
    if (count == 0)
        pl_buf_add_z(out, "<unset>");
    else if (count > MAX_SHOWN)
        pl_buf_add_f(out, " + %zu more...", count - MAX_SHOWN);
}

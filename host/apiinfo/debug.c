/* How many requests of each sort arrived, for /metrics; and for tests the last writes and the last
 * lists. Counters and rings of fixed size; paths and agents are copied because requests end
 * earlier. Only /debug/compact changes the API's state: it deletes the history. */
#include "apiinfo/debug.h"

#include "apistore/disk.h"
#include "base/text.h"

#include "base/alloc.h"
#include "value/write.h"

#include <inttypes.h>
#include <stdlib.h>

#define WRITES_MAX 10000
#define LISTS_MAX  1000
#define KINDS_MAX  10000 /* different verb and resource pairs */

struct audit {
    char *method, *path, *agent, *manager; /* owned */
    int code;
};

struct ring {
    struct audit *audits; /* owned array of max, made on first use */
    size_t max, total;
};

struct pl_api_debug {
    struct pl_map counts; /* "verb resource" -> owned uint64_t */
    struct ring writes, lists;
};

struct pl_api_debug *pl_api_debug_create(void)
{
    struct pl_api_debug *debug = PL_NEW(struct pl_api_debug);
    debug->writes.max = WRITES_MAX;
    debug->lists.max = LISTS_MAX;
    return debug;
}

static void audit_deinit(struct audit *audit)
{
    pl_free(audit->method);
    pl_free(audit->path);
    pl_free(audit->agent);
    pl_free(audit->manager);
}

static void ring_deinit(struct ring *ring)
{
    for (size_t i = 0; i < ring->total && i < ring->max; i++)
        audit_deinit(&ring->audits[i]);
    pl_free(ring->audits);
}

void pl_api_debug_destroy(struct pl_api_debug *debug)
{
    size_t at = 0;
    struct pl_slice key;
    void *value;
    while (pl_map_next(&debug->counts, &at, &key, &value))
        pl_free(value);
    pl_map_deinit(&debug->counts);
    ring_deinit(&debug->writes);
    ring_deinit(&debug->lists);
    pl_free(debug);
}

void pl_api_debug_count(struct pl_api_debug *debug, const char *verb, struct pl_slice resource)
{
    struct pl_buf key = PL_BUF_INIT;
    pl_buf_add_f(&key, "%s %.*s", verb, PL_FMT(resource));
    uint64_t *count = pl_map_get(&debug->counts, pl_buf_slice(&key));
    if (count == NULL && debug->counts.count < KINDS_MAX) {
        count = PL_NEW(uint64_t);
        pl_map_put(&debug->counts, pl_buf_slice(&key), count);
    }
    if (count != NULL)
        (*count)++;
    pl_buf_deinit(&key);
}

static int *ring_add(struct ring *ring, const struct pl_api_request *request, struct pl_slice query)
{
    const char *agent = request->call.user_agent;
    if (ring->audits == NULL)
        ring->audits = pl_calloc(ring->max, sizeof(*ring->audits));
    struct audit *audit = &ring->audits[ring->total++ % ring->max];
    audit_deinit(audit);
    struct pl_slice path = request->call.path, manager = request->field_manager;
    *audit = (struct audit){
        .method = pl_strdup(request->call.method),
        .path = pl_format("%.*s%s%.*s", PL_FMT(path), query.len > 0 ? "?" : "", PL_FMT(query)),
        .agent = pl_strdup(agent != NULL ? agent : ""),
        .manager = pl_text_copy(manager),
    };
    return &audit->code;
}

void pl_api_debug_audit(struct pl_api_debug *debug, const struct pl_api_request *request, int code)
{
    *ring_add(&debug->writes, request, pl_slice("", 0)) = code;
}

int *pl_api_debug_list(struct pl_api_debug *debug, const struct pl_api_request *request)
{
    return ring_add(&debug->lists, request, request->call.query);
}

/* ---- answers ---- */

static void write_counts(const struct pl_api_debug *debug, struct pl_buf *out)
{
    const char **keys = pl_reallocarray(NULL, debug->counts.count + 1, sizeof(*keys));
    size_t at = 0, count = 0;
    struct pl_slice key;
    void *value;
    while (pl_map_next(&debug->counts, &at, &key, &value))
        keys[count++] = key.ptr;
    qsort(keys, count, sizeof(*keys), pl_text_order);
    pl_buf_add_char(out, '{');
    for (size_t i = 0; i < count; i++) {
        const uint64_t *n = pl_map_get(&debug->counts, pl_slice_z(keys[i]));
        pl_buf_add_z(out, i > 0 ? "," : "");
        pl_write_str(out, pl_slice_z(keys[i]));
        pl_buf_add_f(out, ":%" PRIu64, *n);
    }
    pl_buf_add_z(out, "}\n");
    pl_free(keys);
}

/* In Prometheus' text format. */
static void write_requests(const struct pl_api_debug *debug, struct pl_buf *out)
{
    size_t at = 0;
    struct pl_slice key;
    void *value;
    pl_buf_add_z(out, "# HELP apiserver_request_total Requests since start.\n"
                      "# TYPE apiserver_request_total counter\n");
    while (pl_map_next(&debug->counts, &at, &key, &value)) {
        size_t verb = strcspn(key.ptr, " ");
        pl_buf_add_z(out, "apiserver_request_total{resource=");
        pl_write_str(out, pl_slice_z(key.ptr + verb + (key.ptr[verb] == ' ')));
        pl_buf_add_f(out, ",verb=\"%.*s\"} %" PRIu64 "\n", (int)verb, key.ptr,
                     *(const uint64_t *)value);
    }
}

static void answer_metrics(struct pl_api_ctx *ctx, const struct pl_api_debug *debug)
{
    struct pl_http_header header = {"Content-Type", "text/plain; charset=utf-8"};
    struct pl_buf text = PL_BUF_INIT;
    write_requests(debug, &text);
    pl_buf_add_z(&text, "# HELP apiserver_resource_objects Number of stored objects.\n"
                        "# TYPE apiserver_resource_objects gauge\n");
    for (const struct pl_api_type *type = pl_api_registry_first(ctx->api->registry); type != NULL;
         type = type->next)
        if (type->table->count > 0)
            pl_buf_add_f(&text, "apiserver_resource_objects{group=\"%s\",resource=\"%s\"} %zu\n",
                         pl_api_type_group(type), type->plural, type->table->count);
    ctx->responder.ops->reply(ctx->responder.self, 200, &header, 1, pl_buf_slice(&text));
    pl_buf_deinit(&text);
}

static void write_member(struct pl_buf *out, const char *name, const char *value)
{
    pl_buf_add_f(out, "\"%s\":", name);
    pl_write_str(out, pl_slice_z(value));
    pl_buf_add_char(out, ',');
}

static void write_ring(const struct ring *ring, struct pl_buf *out)
{
    size_t count = ring->total < ring->max ? ring->total : ring->max;
    pl_buf_add_char(out, '[');
    for (size_t i = ring->total - count; i < ring->total; i++) {
        const struct audit *audit = &ring->audits[i % ring->max];
        pl_buf_add_z(out, out->len > 1 ? ",{" : "{");
        write_member(out, "method", audit->method);
        write_member(out, "path", audit->path);
        write_member(out, "userAgent", audit->agent);
        write_member(out, "fieldManager", audit->manager);
        pl_buf_add_f(out, "\"code\":%d}", audit->code);
    }
    pl_buf_add_z(out, "]\n");
}

bool pl_api_debug_handle(struct pl_api_ctx *ctx, const struct pl_api_debug *debug)
{
    struct pl_slice path = ctx->request.call.path;
    bool post = strcmp(ctx->request.call.method, "POST") == 0;
    if (pl_slice_eqz(path, "/metrics") && strcmp(ctx->request.call.method, "GET") == 0) {
        answer_metrics(ctx, debug);
        return true;
    }
    struct pl_buf out = PL_BUF_INIT;
    if (pl_slice_eqz(path, "/debug/compact") && post) {
        pl_api_storage_compact(ctx->api->storage);
        if (ctx->api->disk != NULL)
            pl_api_disk_compact(ctx->api->disk, pl_api_storage_rv(ctx->api->storage));
        pl_buf_add_f(&out, "{\"resourceVersion\":\"%" PRIu64 "\"}\n",
                     pl_api_storage_rv(ctx->api->storage));
    } else if (pl_slice_eqz(path, "/debug/requests") && !post) {
        write_counts(debug, &out);
    } else if (pl_slice_eqz(path, "/debug/audit") && !post) {
        write_ring(&debug->writes, &out);
    } else if (pl_slice_eqz(path, "/debug/lists") && !post) {
        write_ring(&debug->lists, &out);
    } else {
        return false;
    }
    pl_api_answer(ctx, 200, pl_buf_slice(&out));
    pl_buf_deinit(&out);
    return true;
}

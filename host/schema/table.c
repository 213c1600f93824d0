/* Objects as rows for kubectl: the columns of some built-in kinds, those of custom kinds from their
 * CRD, and the age. A cell whose path finds nothing is empty. Times are shown as ages, in kubectl's
 * words. */
#include "schema/table.h"

#include "format/units.h"
#include "object/meta.h"
#include "schema/jsonpath.h"
#include "value/write.h"

#include <inttypes.h>
#include <stdio.h>

/* A column of a built-in kind. */
struct column {
    const char *name, *type, *path; /* path NULL: counted by `count_of` */
    const char *count_of;           /* members or elements of that path */
};

struct layout {
    const char *kind;
    struct column columns[7];
};

/* What kubectl get shows of the kinds people look at most; others show name and age. */
static const struct layout layouts[] = {
    {"ConfigMap", {{"Data", "string", NULL, ".data"}}},
    {"Secret", {{"Type", "string", ".type", NULL}, {"Data", "string", NULL, ".data"}}},
    {"Namespace", {{"Status", "string", ".status.phase", NULL}}},
    {"Pod",
     {{"Status", "string", ".status.phase", NULL}, {"Node", "string", ".spec.nodeName", NULL}}},
    {"Deployment",
     {{"Desired", "string", ".spec.replicas", NULL},
      {"Up-to-date", "string", ".status.updatedReplicas", NULL},
      {"Available", "string", ".status.availableReplicas", NULL}}},
    {"ReplicaSet",
     {{"Desired", "integer", ".spec.replicas", NULL},
      {"Current", "integer", ".status.replicas", NULL},
      {"Ready", "integer", ".status.readyReplicas", NULL}}},
    {"StatefulSet",
     {{"Desired", "string", ".spec.replicas", NULL},
      {"Ready", "string", ".status.readyReplicas", NULL}}},
    {"Service",
     {{"Type", "string", ".spec.type", NULL}, {"Cluster-IP", "string", ".spec.clusterIP", NULL}}},
    {"Job", {{"Completions", "string", ".spec.completions", NULL}}},
    {"CronJob",
     {{"Schedule", "string", ".spec.schedule", NULL},
      {"Suspend", "boolean", ".spec.suspend", NULL}}},
    {"Lease", {{"Holder", "string", ".spec.holderIdentity", NULL}}},
    {"Event",
     {{"Type", "string", ".type", NULL},
      {"Reason", "string", ".reason", NULL},
      {"Object", "string", ".involvedObject.name", NULL},
      {"Message", "string", ".message", NULL}}},
    {"CustomResourceDefinition", {{"Created At", "date", ".metadata.creationTimestamp", NULL}}},
};

static const struct layout *layout_of(const char *kind)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(layouts); i++)
        if (strcmp(layouts[i].kind, kind) == 0)
            return &layouts[i];
    return NULL;
}

void pl_api_age_text(int64_t age_ns, char out[32])
{
    int64_t s = age_ns / PL_SECOND, m = s / 60, h = m / 60, d = h / 24;
    if (s < 0)
        snprintf(out, 32, "<invalid>");
    else if (s < 120)
        snprintf(out, 32, "%" PRId64 "s", s);
    else if (m < 10 && s % 60 != 0)
        snprintf(out, 32, "%" PRId64 "m%" PRId64 "s", m, s % 60);
    else if (h < 3)
        snprintf(out, 32, "%" PRId64 "m", m);
    else if (h < 8 && m % 60 != 0)
        snprintf(out, 32, "%" PRId64 "h%" PRId64 "m", h, m % 60);
    else if (h < 48)
        snprintf(out, 32, "%" PRId64 "h", h);
    else if (d < 8 && h % 24 != 0)
        snprintf(out, 32, "%" PRId64 "d%" PRId64 "h", d, h % 24);
    else if (d < 730)
        snprintf(out, 32, "%" PRId64 "d", d);
    else
        snprintf(out, 32, "%" PRId64 "y", d / 365);
}

/* ---- columns ---- */

static void add_column(struct pl_buf *out, struct pl_slice name, const char *type,
                       const char *format)
{
    if (out->ptr[out->len - 1] != '[')
        pl_buf_add_char(out, ',');
    pl_buf_add_z(out, "{\"name\":");
    pl_write_str(out, name);
    pl_buf_add_f(out, ",\"type\":\"%s\",\"format\":\"%s\",\"description\":\"\",\"priority\":0}",
                 type, format);
}

static void add_custom_columns(struct pl_buf *out, struct pl_node columns)
{
    struct pl_scratch name, type;
    struct pl_iter it = pl_iter(columns);
    while (pl_iter_next(&it)) {
        int64_t priority = 0;
        pl_node_int(pl_node_getz(it.value, "priority"), &priority);
        if (out->ptr[out->len - 1] != '[')
            pl_buf_add_char(out, ',');
        pl_buf_add_z(out, "{\"name\":");
        pl_write_str(out, pl_node_str(pl_node_getz(it.value, "name"), &name));
        pl_buf_add_z(out, ",\"type\":");
        pl_write_str(out, pl_node_str(pl_node_getz(it.value, "type"), &type));
        pl_buf_add_f(out, ",\"format\":\"\",\"description\":\"\",\"priority\":%" PRId64 "}",
                     priority);
    }
}

static void write_columns(struct pl_buf *out, const struct pl_api_type *type, size_t version)
{
    const struct layout *layout = type->is_custom ? NULL : layout_of(type->kind);
    pl_buf_add_z(out, "\"columnDefinitions\":[");
    add_column(out, pl_slice_z("Name"), "string", "name");
    if (pl_node_len(type->versions[version].columns) > 0) {
        add_custom_columns(out, type->versions[version].columns);
    } else {
        for (size_t i = 0; layout != NULL && layout->columns[i].name != NULL; i++)
            add_column(out, pl_slice_z(layout->columns[i].name), layout->columns[i].type, "");
        add_column(out, pl_slice_z("Age"), "date", "");
    }
    pl_buf_add_z(out, "],");
}

void pl_api_partial_write(struct pl_buf *out, struct pl_node object)
{
    pl_buf_add_z(out, "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\","
                      "\"metadata\":");
    pl_write(out, pl_node_getz(object, "metadata"), PL_WRITE_COMPACT);
    pl_buf_add_char(out, '}');
}

/* ---- cells ---- */

static void add_age(struct pl_buf *out, struct pl_node value, int64_t now_ns)
{
    struct pl_scratch scratch;
    int64_t then;
    char age[32] = "<unknown>";
    if (pl_time_parse(pl_node_str(value, &scratch), &then))
        pl_api_age_text(now_ns - then, age);
    pl_write_str(out, pl_slice_z(age));
}

static void add_custom_cells(struct pl_buf *out, struct pl_node columns, struct pl_node object,
                             int64_t now_ns)
{
    struct pl_scratch path, type;
    struct pl_iter it = pl_iter(columns);
    while (pl_iter_next(&it)) {
        struct pl_node value =
            pl_api_jsonpath(object, pl_node_str(pl_node_getz(it.value, "jsonPath"), &path));
        pl_buf_add_char(out, ',');
        if (pl_node_is_missing(value))
            pl_buf_add_z(out, "null");
        else if (pl_slice_eqz(pl_node_str(pl_node_getz(it.value, "type"), &type), "date"))
            add_age(out, value, now_ns);
        else
            pl_write(out, value, PL_WRITE_COMPACT);
    }
}

static void write_cells(struct pl_buf *out, const struct pl_api_type *type, size_t version,
                        struct pl_node object, int64_t now_ns)
{
    const struct layout *layout = type->is_custom ? NULL : layout_of(type->kind);
    struct pl_scratch scratch;
    pl_buf_add_z(out, "\"cells\":[");
    pl_write_str(out, pl_meta_name(object, &scratch));
    if (pl_node_len(type->versions[version].columns) > 0) {
        add_custom_cells(out, type->versions[version].columns, object, now_ns);
    } else {
        for (size_t i = 0; layout != NULL && layout->columns[i].name != NULL; i++) {
            const struct column *column = &layout->columns[i];
            const char *path = column->path != NULL ? column->path : column->count_of;
            struct pl_node value = pl_api_jsonpath(object, pl_slice_z(path));
            pl_buf_add_char(out, ',');
            if (column->path == NULL)
                pl_buf_add_f(out, "%zu", pl_node_len(value));
            else if (pl_node_is_missing(value))
                pl_buf_add_z(out, strcmp(column->type, "string") == 0 ? "\"\"" : "0");
            else
                pl_write(out, value, PL_WRITE_COMPACT);
        }
        pl_buf_add_char(out, ',');
        add_age(out, pl_node_dig(object, "metadata", "creationTimestamp"), now_ns);
    }
    pl_buf_add_z(out, "],");
}

void pl_api_table_write(struct pl_buf *out, const struct pl_api_type *type, size_t version,
                        const struct pl_node *objects, size_t count,
                        const struct pl_api_table_options *options)
{
    struct pl_scratch scratch;
    struct pl_slice rv = options->list_rv;
    if (rv.len == 0 && count == 1)
        rv = pl_meta_rv(objects[0], &scratch);
    pl_buf_add_f(out,
                 "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{"
                 "\"resourceVersion\":\"%.*s\"",
                 PL_FMT(rv));
    if (options->next.len > 0)
        pl_buf_add_f(out, ",\"continue\":\"%.*s\"", PL_FMT(options->next));
    pl_buf_add_z(out, "},");
    if (options->with_columns)
        write_columns(out, type, version);
    else
        pl_buf_add_z(out, "\"columnDefinitions\":null,");
    pl_buf_add_z(out, "\"rows\":[");
    for (size_t i = 0; i < count; i++) {
        pl_buf_add_z(out, i > 0 ? ",{" : "{");
        write_cells(out, type, version, objects[i], options->now_ns);
        pl_buf_add_z(out, "\"object\":");
        pl_api_partial_write(out, objects[i]);
        pl_buf_add_char(out, '}');
    }
    pl_buf_add_z(out, "]}");
}

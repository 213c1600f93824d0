/* Objects as rows for kubectl. Columns of built-in kinds come from the packed table, those of
 * custom kinds from their CRD; other kinds show their age. A cell whose path finds nothing is
 * empty. Times are shown as ages, in kubectl's format. */
#include "columns/table.h"

#include "format/units.h"
#include "gotype/message.h"
#include "object/meta.h"
#include "columns/cells.h"
#include "schema/crd_path.h"
#include "value/write.h"

#include <inttypes.h>

/* ---- columns ---- */

static void add_column(struct pl_buf *out, struct pl_slice name, const char *type,
                       const char *format, unsigned priority)
{
    if (out->ptr[out->len - 1] != '[')
        pl_buf_add_char(out, ',');
    pl_buf_add_z(out, "{\"name\":");
    pl_write_str(out, name);
    pl_buf_add_f(out, ",\"type\":\"%s\",\"format\":\"%s\",\"description\":\"\",\"priority\":%u}",
                 type, format, priority);
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

/* Columns of kinds that other parts of kube-apiserver print, which are not in the table of built-in
 * types. */
static const struct {
    char kind[28], name[12], type[8];
    unsigned priority;
} other_columns[] = {
    {"CustomResourceDefinition", "Name", "string", 0},
    {"CustomResourceDefinition", "Scope", "string", 0},
    {"CustomResourceDefinition", "Versions", "string", 0},
    {"CustomResourceDefinition", "Created At", "date", 0},
    {"CustomResourceDefinition", "Group", "string", 1},
    {"CustomResourceDefinition", "Kind", "string", 1},
    {"CustomResourceDefinition", "ShortNames", "string", 1},
    {"CustomResourceDefinition", "Established", "boolean", 1},
    {"APIService", "Name", "string", 0},
    {"APIService", "Service", "string", 0},
    {"APIService", "Available", "string", 0},
    {"APIService", "Age", "string", 0},
};

static bool add_other_columns(struct pl_buf *out, const char *kind)
{
    bool any = false;
    for (size_t i = 0; i < PL_ARRAY_LEN(other_columns); i++) {
        const char *name = other_columns[i].name;
        if (strcmp(other_columns[i].kind, kind) != 0)
            continue;
        add_column(out, pl_slice_z(name), other_columns[i].type,
                   strcmp(name, "Name") == 0 ? "name" : "", other_columns[i].priority);
        any = true;
    }
    return any;
}

/* The columns of a built-in kind. False if it has none. */
static bool add_builtin_columns(struct pl_buf *out, const struct pl_api_type *type,
                                const struct pl_api_version *v)
{
    struct pl_message_kind kind;
    struct pl_message_column column;
    if (type->is_custom || !pl_api_cells_have(type->kind))
        return false;
    if (add_other_columns(out, type->kind))
        return true;
    for (size_t i = 0; i < pl_message_kind_count(); i++) {
        pl_message_kind_at(i, &kind);
        if (strcmp(kind.kind, type->kind) != 0 || strcmp(kind.group, v->group) != 0 ||
            strcmp(kind.version, v->name) != 0)
            continue;
        for (size_t at = 0; at < pl_message_column_count(&kind); at++) {
            pl_message_column_at(&kind, at, &column);
            add_column(out, pl_slice_z(column.name), column.type, column.format, column.priority);
        }
        return true;
    }
    return false;
}

static bool has_custom_columns(const struct pl_api_version *v)
{
    return pl_node_len(v->columns) > 0;
}

static void write_columns(struct pl_buf *out, const struct pl_api_type *type, size_t version)
{
    const struct pl_api_version *v = &type->versions[version];
    pl_buf_add_z(out, "\"columnDefinitions\":[");
    if (!add_builtin_columns(out, type, v)) {
        add_column(out, pl_slice_z("Name"), "string", "name", 0);
        if (has_custom_columns(v))
            add_custom_columns(out, v->columns);
        else
            add_column(out, pl_slice_z(type->is_custom ? "Age" : "Created At"), "date", "", 0);
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
    const struct pl_api_version *v = &type->versions[version];
    struct pl_node made = pl_node_dig(object, "metadata", "creationTimestamp");
    struct pl_scratch scratch;
    pl_buf_add_z(out, "\"cells\":[");
    if (!type->is_custom && pl_api_cells_have(type->kind)) {
        pl_api_cells_write(out, type->kind, object, now_ns);
    } else {
        pl_write_str(out, pl_meta_name(object, &scratch));
        if (has_custom_columns(v)) {
            add_custom_cells(out, v->columns, object, now_ns);
        } else {
            pl_buf_add_char(out, ',');
            if (type->is_custom)
                add_age(out, made, now_ns);
            else
                pl_write(out, made, PL_WRITE_COMPACT);
        }
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
        if (options->without_objects)
            pl_buf_add_z(out, "null");
        else if (options->write != NULL)
            options->write(out, type, version, objects[i], false);
        else
            pl_api_partial_write(out, objects[i]);
        pl_buf_add_char(out, '}');
    }
    pl_buf_add_z(out, "]}");
}

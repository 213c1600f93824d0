/* Writes a stored object as JSON in one of its versions: with that version's apiVersion and member
 * names. The document is only read. Kinds without other names are written unchanged. */
#include "apicall/core.h"

#include "value/write.h"

struct pl_slice pl_api_served_name(const struct pl_api_version *version, struct pl_slice key)
{
    for (const char *const *pair = version->renames; pair != NULL && *pair != NULL; pair += 2)
        if (pl_slice_eqz(key, pair[0]))
            return pl_slice_z(pair[1]);
    return key;
}

/* events.k8s.io leaves out empty texts that the core API keeps. */
static bool is_left_out(const struct pl_api_version *version, struct pl_node value)
{
    return version->renames != NULL && pl_node_str_eq(value, pl_slice_z(""));
}

void pl_api_object_write(struct pl_buf *out, const struct pl_api_type *type, size_t version,
                         struct pl_node object, bool in_list)
{
    const struct pl_api_version *v = &type->versions[version];
    char text[PL_KIND_TEXT];
    pl_buf_add_char(out, '{');
    bool bare = in_list && !type->is_custom;
    if (!bare) {
        pl_buf_add_f(out, "\"kind\":\"%s\",\"apiVersion\":\"%.*s\"", type->kind,
                     PL_FMT(pl_api_version_text(v, text)));
    }
    bool first = bare;
    struct pl_iter it = pl_iter(object);
    while (pl_iter_next(&it)) {
        if (pl_slice_eqz(it.key, "apiVersion") || pl_slice_eqz(it.key, "kind") ||
            is_left_out(v, it.value))
            continue;
        if (!first)
            pl_buf_add_char(out, ',');
        first = false;
        pl_write_str(out, pl_api_served_name(v, it.key));
        pl_buf_add_char(out, ':');
        pl_write(out, it.value, PL_WRITE_COMPACT);
    }
    pl_buf_add_char(out, '}');
}

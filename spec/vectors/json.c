#include "driver.h"

#include "base/alloc.h"

char *text_of(struct pl_node node)
{
    struct pl_scratch room;
    struct pl_slice text = pl_node_str(node, &room);
    return text.ptr != NULL ? pl_memdup0(text.ptr, text.len) : NULL;
}

bool bool_of(struct pl_node node, bool otherwise)
{
    return pl_node_type(node) == PL_BOOL ? pl_node_bool(node) : otherwise;
}

int64_t int_of(struct pl_node node, int64_t otherwise)
{
    int64_t value;
    return pl_node_int(node, &value) ? value : otherwise;
}

struct pl_doc *doc_of(struct pl_node node)
{
    if (pl_node_is_missing(node) || pl_node_type(node) == PL_NULL)
        return NULL;
    return pl_doc_from_node(node, NULL);
}

void put_error(struct pl_build *out, const char *code)
{
    pl_build_object(out);
    put_member_str(out, "error", pl_slice_z(code));
    pl_build_end(out);
}

void put_flag(struct pl_build *out, const char *name)
{
    pl_build_object(out);
    pl_build_keyz(out, name);
    pl_build_bool(out, true);
    pl_build_end(out);
}

void put_doc(struct pl_build *out, struct pl_doc *doc)
{
    pl_build_node(out, pl_doc_root(doc));
}

void put_names(struct pl_build *out, char **names)
{
    pl_build_array(out);
    for (char **name = names; name != NULL && *name != NULL; name++)
        pl_build_strz(out, *name);
    pl_build_end(out);
    pl_store_free_names(names);
}

void put_member_str(struct pl_build *out, const char *name, struct pl_slice text)
{
    pl_build_keyz(out, name);
    pl_build_str(out, text);
}

void put_member_int(struct pl_build *out, const char *name, int64_t value)
{
    pl_build_keyz(out, name);
    pl_build_int(out, value);
}

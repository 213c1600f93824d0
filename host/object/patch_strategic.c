/* Strategic merge patches: objects. Members merge by name. Directives about a list are members
 * beside the list, "$setElementOrder/NAME" and "$deleteFromPrimitiveList/NAME". */
#include "object/patch_strategic.h"

#include "base/buf.h"
#include "base/text.h"
#include "object/go_map.h"
#include "value/member.h"

#include <stdarg.h>
#include <stdio.h>

#define DIRECTIVE   "$patch"
#define RETAIN_KEYS "$retainKeys"
#define SET_ORDER   "$setElementOrder/"
#define DELETE_FROM "$deleteFromPrimitiveList/"

/* ---- refusals ---- */

int pl_smp_refuse(struct pl_smp *s, int code, const char *fmt, ...)
{
    char why[PL_ERR_MESSAGE];
    va_list args;
    va_start(args, fmt);
    vsnprintf(why, sizeof(why), fmt, args);
    va_end(args);
    return pl_err_set(s->err, code, "%s", why);
}

int pl_smp_refuse_directive(struct pl_smp *s, struct pl_node patch)
{
    struct pl_buf shown = PL_BUF_INIT;
    struct pl_buf type = PL_BUF_INIT;
    pl_go_map_node(&shown, patch);
    pl_go_map_node(&type, pl_smp_directive(patch));
    pl_smp_refuse(s, PL_EINVAL, "unknown patch type: %s in map: %s", pl_buf_z(&type),
                  pl_buf_z(&shown));
    pl_buf_deinit(&shown);
    pl_buf_deinit(&type);
    return PL_EINVAL;
}

int pl_smp_refuse_element(struct pl_smp *s, struct pl_node element, const char *merge_key)
{
    struct pl_buf shown = PL_BUF_INIT;
    pl_go_map_node(&shown, element);
    pl_smp_refuse(s, PL_EINVAL, "map: %s does not contain declared merge key: %s", pl_buf_z(&shown),
                  merge_key);
    pl_buf_deinit(&shown);
    return PL_EINVAL;
}

/* ---- directives ---- */

struct pl_node pl_smp_directive(struct pl_node patch)
{
    return pl_node_getz(patch, DIRECTIVE);
}

bool pl_smp_is_directive(struct pl_node patch)
{
    return !pl_node_is_missing(pl_smp_directive(patch));
}

static bool is_reserved(struct pl_slice name)
{
    return pl_text_begins(name, "$") &&
           (pl_slice_eqz(name, DIRECTIVE) || pl_slice_eqz(name, RETAIN_KEYS) ||
            pl_text_begins(name, SET_ORDER) || pl_text_begins(name, DELETE_FROM));
}

static void clean_members(struct pl_smp *s, struct pl_node patch)
{
    struct pl_iter it = pl_iter(patch);
    pl_build_object(s->b);
    while (pl_iter_next(&it)) {
        if (is_reserved(it.key) || pl_node_type(it.value) == PL_NULL ||
            pl_smp_is_directive(it.value))
            continue;
        pl_build_key(s->b, it.key);
        pl_smp_clean(s, it.value);
    }
    pl_build_end(s->b);
}

void pl_smp_clean(struct pl_smp *s, struct pl_node patch)
{
    struct pl_iter it = pl_iter(patch);
    if (pl_node_type(patch) == PL_OBJECT) {
        clean_members(s, patch);
    } else if (pl_node_type(patch) == PL_ARRAY) {
        pl_build_array(s->b);
        while (pl_iter_next(&it))
            if (!pl_smp_is_directive(it.value))
                pl_smp_clean(s, it.value);
        pl_build_end(s->b);
    } else {
        pl_build_node(s->b, patch);
    }
}

/* ---- members ---- */

struct object {
    struct pl_members patch;
    bool has_reserved, retains;
    struct pl_map retained; /* the names of $retainKeys, if the patch has it */
    const struct pl_schema *schema;
};

static int read_retained(struct pl_smp *s, struct object *object, struct pl_node patch)
{
    struct pl_node names = pl_node_getz(patch, RETAIN_KEYS);
    struct pl_scratch scratch;
    if (pl_node_is_missing(names))
        return 0;
    if (pl_node_type(names) != PL_ARRAY)
        return pl_smp_refuse(s, PL_ESYNTAX, "invalid patch format of retainKeys");
    object->retains = true;
    struct pl_iter it = pl_iter(names);
    while (pl_iter_next(&it))
        pl_map_put(&object->retained, pl_node_str(it.value, &scratch), object);
    it = pl_iter(patch);
    while (pl_iter_next(&it))
        if (!is_reserved(it.key) && pl_node_type(it.value) != PL_NULL &&
            !pl_map_has(&object->retained, it.key))
            return pl_smp_refuse(s, PL_ESYNTAX, "invalid patch format of retainKeys");
    return 0;
}

static struct pl_node beside(struct object *object, const char *prefix, struct pl_slice name)
{
    struct pl_buf text = PL_BUF_INIT;
    if (!object->has_reserved)
        return PL_NODE_MISSING;
    pl_buf_add_z(&text, prefix);
    pl_buf_add_slice(&text, name);
    struct pl_node found = pl_node_get(object->patch.object, pl_buf_slice(&text));
    pl_buf_deinit(&text);
    return found;
}

static int check_order_list(struct pl_smp *s, struct pl_node node)
{
    enum pl_type type = pl_node_type(node);
    if (type == PL_MISSING || type == PL_ARRAY)
        return 0;
    return pl_smp_refuse(s, PL_ESYNTAX, "invalid patch format of setElementOrder list");
}

/* Texts can be deleted from lists of texts only. */
static int check_removed(struct pl_smp *s, const struct pl_smp_list *list)
{
    struct pl_node first = pl_node_at(list->target, 0), text = pl_node_at(list->removed, 0);
    struct pl_buf is = PL_BUF_INIT, gone = PL_BUF_INIT;
    if (pl_node_is_missing(first) || pl_node_is_missing(text) ||
        pl_node_type(list->target) != PL_ARRAY || pl_node_type(first) == pl_node_type(text))
        return 0;
    pl_go_map_node(&is, list->target);
    pl_go_map_node(&gone, list->removed);
    int rc = pl_smp_refuse(s, PL_EINVAL, "list element types are not identical: [%s %s]",
                           pl_buf_z(&is), pl_buf_z(&gone));
    pl_buf_deinit(&is);
    pl_buf_deinit(&gone);
    return rc;
}

/* Writes the member's name and new value, or nothing when it is removed. */
static int change_member(struct pl_smp *s, struct object *object, struct pl_slice name,
                         struct pl_node target)
{
    struct pl_node patch = pl_members_get(&object->patch, name);
    enum pl_type type = pl_node_type(target), patch_type = pl_node_type(patch);
    struct pl_smp_list list = {
        .target = target,
        .patch = patch,
        .order = beside(object, SET_ORDER, name),
        .removed = beside(object, DELETE_FROM, name),
        .schema = pl_schema_field(object->schema, name),
    };
    if (check_order_list(s, list.order) != 0)
        return PL_EINVAL;
    if (pl_node_type(list.removed) != PL_ARRAY) /* ignored, as in kube-apiserver */
        list.removed = PL_NODE_MISSING;
    if (patch_type == PL_NULL)
        return 0;
    if (check_removed(s, &list) != 0)
        return PL_EINVAL;
    bool lists = (type == PL_ARRAY && (patch_type == PL_ARRAY || patch_type == PL_MISSING)) ||
                 (type == PL_MISSING && patch_type == PL_ARRAY);
    if (lists) {
        pl_build_key(s->b, name);
        return pl_smp_list(s, &list);
    }
    if (patch_type == PL_MISSING) {
        pl_build_key(s->b, name);
        pl_build_node(s->b, target);
        return 0;
    }
    if (type == PL_OBJECT && patch_type == PL_OBJECT) {
        pl_build_key(s->b, name);
        if (!pl_schema_is_replaced(list.schema))
            return pl_smp_object(s, target, patch, list.schema);
        pl_build_node(s->b, patch);
        return 0;
    }
    if (pl_smp_is_directive(patch))
        return 0;
    pl_build_key(s->b, name);
    pl_smp_clean(s, patch);
    return 0;
}

static int change_members(struct pl_smp *s, struct object *object, struct pl_node target)
{
    struct pl_iter it = pl_iter(target);
    while (pl_iter_next(&it)) {
        if (object->retains && !pl_map_has(&object->retained, it.key))
            continue;
        int rc = change_member(s, object, it.key, it.value);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int add_members(struct pl_smp *s, struct object *object, struct pl_node target)
{
    struct pl_members members;
    struct pl_iter it = pl_iter(object->patch.object);
    int rc = 0;
    pl_members_init(&members, target);
    while (rc == 0 && pl_iter_next(&it)) {
        if (is_reserved(it.key) || !pl_node_is_missing(pl_members_get(&members, it.key)))
            continue;
        rc = change_member(s, object, it.key, PL_NODE_MISSING);
    }
    pl_members_deinit(&members);
    return rc;
}

static bool has_reserved(struct pl_node patch)
{
    struct pl_iter it = pl_iter(patch);
    while (pl_iter_next(&it))
        if (is_reserved(it.key))
            return true;
    return false;
}

static int merge_object(struct pl_smp *s, struct pl_node target, struct pl_node patch,
                        const struct pl_schema *schema)
{
    struct object object = {.has_reserved = has_reserved(patch), .schema = schema};
    pl_members_init(&object.patch, patch);
    int rc = read_retained(s, &object, patch);
    if (rc == 0)
        pl_build_object(s->b);
    if (rc == 0)
        rc = change_members(s, &object, target);
    if (rc == 0)
        rc = add_members(s, &object, target);
    if (rc == 0)
        pl_build_end(s->b);
    pl_members_deinit(&object.patch);
    pl_map_deinit(&object.retained);
    return rc;
}

int pl_smp_object(struct pl_smp *s, struct pl_node target, struct pl_node patch,
                  const struct pl_schema *schema)
{
    struct pl_node directive = pl_smp_directive(patch);
    if (pl_node_is_missing(directive))
        return merge_object(s, target, patch, schema);
    if (pl_node_str_eq(directive, pl_slice_z("replace"))) {
        clean_members(s, patch);
        return 0;
    }
    if (!pl_node_str_eq(directive, pl_slice_z("delete")))
        return pl_smp_refuse_directive(s, patch);
    pl_build_object(s->b);
    pl_build_end(s->b);
    return 0;
}

struct pl_doc *pl_patch_strategic(struct pl_node target, struct pl_node patch,
                                  const struct pl_schema *schema, struct pl_err *err)
{
    if (pl_node_type(target) != PL_OBJECT || pl_node_type(patch) != PL_OBJECT) {
        pl_err_set(err, PL_ESYNTAX, "a strategic merge patch and what it patches must be objects");
        return NULL;
    }
    struct pl_smp s = {.b = pl_build_create(NULL), .err = err};
    struct pl_doc *doc = NULL;
    if (pl_smp_object(&s, target, patch, schema) == 0)
        doc = pl_build_finish(s.b);
    pl_build_destroy(s.b);
    return doc;
}

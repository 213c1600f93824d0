/* Refusals of the gate before any request. */
#include "write/gate_op.h"

#include "base/alloc.h"
#include "base/log.h"
#include "write/owner_ref.h"
#include "event/source.h"
#include "object/meta.h"

#include <string.h>

/* ---- 2: is the document whole? ---- */

static bool is_stored_object(struct pl_node body)
{
    enum pl_type type = pl_node_type(pl_node_dig(body, "metadata", "creationTimestamp"));
    return type != PL_MISSING && type != PL_NULL; /* tools that write manifests leave a null */
}

static int check_whole(const struct pl_gate_op *op, struct pl_err *err)
{
    const struct pl_write *w = &op->w;
    bool apply = pl_gate_op_is_apply(op);
    if (w->partial && (w->verb == PL_VERB_UPDATE || apply))
        return pl_gate_refuse(err, "partial",
                              "%s of %s: the object was read in part, so what is missing would be "
                              "lost; use patch",
                              apply ? "apply" : "update", op->key);
    if (apply && is_stored_object(pl_doc_root(w->body)))
        return pl_gate_refuse(err, "partial",
                              "apply of %s: the object was read (it has a creationTimestamp); "
                              "apply takes only the fields that you own",
                              op->key);
    return 0;
}

/* Checks that the body names the same object as the call. */
static int gate_check_names(const struct pl_gate_op *op, struct pl_err *err)
{
    const struct pl_write *w = &op->w;
    struct pl_node root = pl_doc_root(w->body);
    struct pl_scratch scratch[2];
    struct pl_slice name = pl_meta_name(root, &scratch[0]);
    struct pl_slice ns = pl_meta_namespace(root, &scratch[1]);
    if (pl_node_type(root) != PL_OBJECT)
        return pl_err_set(
            err, PL_EINVAL, "%s of %s needs an object, not %s %s", pl_verb_name(w->verb), op->key,
            pl_node_type(root) == PL_ARRAY ? "an" : "a", pl_type_name(pl_node_type(root)));
    if (w->verb != PL_VERB_CREATE && name.len > 0 && !pl_slice_eq(name, w->name))
        return pl_err_set(err, PL_EINVAL, "the document is named \"%.*s\", but the write is for %s",
                          PL_FMT(name), op->key);
    if (ns.len > 0 && w->ns.len > 0 && !pl_slice_eq(ns, w->ns))
        return pl_err_set(err, PL_EINVAL,
                          "the document is in namespace \"%.*s\", but the write is for %s",
                          PL_FMT(ns), op->key);
    return 0;
}

static int check_shape(const struct pl_gate_op *op, struct pl_err *err)
{
    const struct pl_write *w = &op->w;
    bool apply = pl_gate_op_is_apply(op);
    bool document = w->verb == PL_VERB_CREATE || w->verb == PL_VERB_UPDATE || apply;
    if ((document || w->verb == PL_VERB_PATCH) && w->body == NULL)
        return pl_err_set(err, PL_EINVAL, "%s of %s has no document", pl_verb_name(w->verb),
                          op->key);
    if (w->verb != PL_VERB_CREATE && w->verb != PL_VERB_DELETE_COLLECTION && w->name.len == 0)
        return pl_err_set(err, PL_EINVAL, "%s needs a name", pl_verb_name(w->verb));
    if (w->owner != NULL && (!document || w->subresource.len > 0))
        return pl_err_set(err, PL_EINVAL, "the option owner is for create, update and apply only");
    if (w->verb == PL_VERB_DELETE_COLLECTION && op->resource->namespaced && w->ns.len == 0)
        return pl_err_set(err, PL_EINVAL, "deleting a collection of %s needs a namespace",
                          op->resource->plural);
    if (document && pl_gate_op_is_object(op))
        return gate_check_names(op, err);
    return 0;
}

/* ---- 3: is it allowed by scope? ---- */

static bool is_namespaced(void *arg, const struct pl_kind *kind)
{
    const struct pl_gate_op *op = arg;
    const struct pl_resource *resource =
        pl_discovery_known(pl_site_discovery(op->gate->site), kind);
    return resource != NULL && resource->namespaced;
}

int pl_gate_check(struct pl_gate_op *op, struct pl_err *err)
{
    const struct pl_write *w = &op->w;
    int code = check_shape(op, err);
    if (code == 0)
        code = check_whole(op, err);
    if (code == 0)
        code = pl_resource_check_scope(op->resource, w->ns,
                                       w->verb == PL_VERB_CREATE ? pl_slice_z("") : w->name, err);
    if (code == 0 && w->body != NULL && pl_gate_op_is_object(op) &&
        pl_node_type(pl_doc_root(w->body)) == PL_OBJECT)
        code = pl_owner_ref_check(pl_doc_root(w->body), op->resource, is_namespaced, op, err);
    return code;
}

/* ---- finalizers ---- */

static const struct pl_source_spec *for_source(const struct pl_gate_op *op)
{
    const struct pl_controller_spec *spec = pl_gate_writer(op);
    if (spec == NULL)
        return NULL;
    for (size_t i = 0; i < spec->source_count; i++)
        if (spec->sources[i].role == PL_SOURCE_FOR &&
            spec->sources[i].cluster == op->gate->cluster &&
            pl_kind_eq_group(&spec->sources[i].kind, &op->w.kind))
            return &spec->sources[i];
    return NULL;
}

static bool has_finalizer(struct pl_node object, struct pl_node name)
{
    for (struct pl_iter it = pl_iter(pl_node_dig(object, "metadata", "finalizers"));
         pl_iter_next(&it);)
        if (pl_node_equal(it.value, name))
            return true;
    return false;
}

/* `value` is a finalizer or an array of them. */
static int check_added(const struct pl_gate_op *op, const struct pl_source_spec *source,
                       struct pl_node value, struct pl_err *err)
{
    if (pl_node_type(value) == PL_ARRAY) {
        for (struct pl_iter it = pl_iter(value); pl_iter_next(&it);)
            if (check_added(op, source, it.value, err) != 0)
                return PL_EREFUSED;
        return 0;
    }
    struct pl_scratch scratch;
    struct pl_slice name = pl_node_str(value, &scratch);
    if (name.ptr == NULL || pl_texts_has(source->finalizers, name) ||
        has_finalizer(pl_doc_root(op->existing), value))
        return 0;
    return pl_gate_refuse(err, "finalizer",
                          "%s: the finalizer \"%.*s\" is not among those that the controller "
                          "declared with For",
                          op->key, PL_FMT(name));
}

static int check_json_patch(const struct pl_gate_op *op, const struct pl_source_spec *source,
                            struct pl_err *err)
{
    static const char prefix[] = "/metadata/finalizers";
    for (struct pl_iter it = pl_iter(pl_doc_root(op->w.body)); pl_iter_next(&it);) {
        struct pl_scratch scratch;
        struct pl_slice path = pl_node_str(pl_node_getz(it.value, "path"), &scratch);
        struct pl_node verb = pl_node_getz(it.value, "op");
        bool adds =
            pl_node_str_eq(verb, pl_slice_z("add")) || pl_node_str_eq(verb, pl_slice_z("replace"));
        struct pl_node value = pl_node_getz(it.value, "value");
        if (!adds)
            continue;
        if (pl_slice_eqz(path, "/metadata"))
            value = pl_node_getz(value, "finalizers");
        else if (path.len < sizeof prefix - 1 || memcmp(path.ptr, prefix, sizeof prefix - 1) != 0)
            continue;
        if (check_added(op, source, value, err) != 0)
            return PL_EREFUSED;
    }
    return 0;
}

int pl_gate_check_finalizers(struct pl_gate_op *op, struct pl_err *err)
{
    const struct pl_source_spec *source = for_source(op);
    if (source == NULL || source->finalizers == NULL || op->w.body == NULL ||
        op->w.subresource.len > 0)
        return 0;
    if (op->w.verb == PL_VERB_PATCH && op->w.patch_type == PL_PATCH_JSON)
        return check_json_patch(op, source, err);
    return check_added(op, source, pl_node_dig(pl_doc_root(op->w.body), "metadata", "finalizers"),
                       err);
}

/* ---- rights ---- */

static bool source_allows(const struct pl_source_spec *source, const struct pl_gate_op *op)
{
    struct pl_slice verb = pl_slice_z(pl_verb_name(op->w.verb));
    if (source->cluster != op->gate->cluster ||
        (!pl_source_is_family(source) && !pl_kind_eq_group(&source->kind, &op->w.kind)))
        return false;
    if (pl_texts_has(source->writes, verb) || pl_texts_has(source->writes, pl_slice_z("*")))
        return true;
    if (source->role == PL_SOURCE_FOR)
        return pl_gate_op_is_status(op) ||
               (source->finalizers != NULL &&
                (op->w.verb == PL_VERB_PATCH || op->w.verb == PL_VERB_UPDATE));
    return source->role == PL_SOURCE_OWNS && source->writes == NULL &&
           op->w.verb != PL_VERB_DELETE_COLLECTION;
}

static bool is_declared(const struct pl_gate_op *op, const struct pl_controller_spec *spec)
{
    for (size_t i = 0; i < spec->source_count; i++)
        if (source_allows(&spec->sources[i], op))
            return true;
    for (size_t i = 0; i < spec->write_count; i++)
        if ((pl_kind_is_any(&spec->writes[i].kind) ||
             pl_kind_eq_group(&spec->writes[i].kind, &op->w.kind)) &&
            (pl_texts_has(spec->writes[i].verbs, pl_slice_z(pl_verb_name(op->w.verb))) ||
             pl_texts_has(spec->writes[i].verbs, pl_slice_z("*"))))
            return true;
    return false;
}

#define SAID_MAX 1000

/* What a script adds to declare the write. Owned. */
static char *declaration_of(const struct pl_controller_spec *spec, const char *kind,
                            const char *verb, bool is_apply)
{
    bool is_option = spec->task.form != PL_NO_TASK || spec->hook != NULL;
    const char *also = is_apply ? "create\", \"" : ""; /* it creates the object if it is missing */
    bool needs_more = spec->hook != NULL && !spec->hook->on_dry_run;
    return pl_format(is_option ? "writes = {[\"%s\"] = {\"%s%s\"}}%s"
                               : ":Writes(\"%s\", {\"%s%s\"})%s",
                     kind, also, verb, needs_more ? ", side_effects = \"NoneOnDryRun\"" : "");
}

void pl_gate_check_rights(struct pl_gate_op *op)
{
    struct pl_gate *gate = op->gate;
    const struct pl_controller_spec *spec = pl_gate_writer(op);
    if (spec == NULL || !pl_gate_op_is_object(op) || is_declared(op, spec))
        return; /* `perilune rbac` finds calls of subresources itself; nothing declares them */
    char kind[PL_KIND_TEXT];
    const char *verb = pl_verb_name(op->w.verb);
    char *who = pl_format("%s %s %s", spec->name, pl_kind_text(&op->w.kind, kind), verb);
    if (!pl_map_has(&gate->said, pl_slice_z(who)) && gate->said.count < SAID_MAX) {
        pl_map_put(&gate->said, pl_slice_z(who), gate);
        char *add = declaration_of(spec, kind, verb, pl_gate_op_is_apply(op));
        pl_log(PL_LOG_WARN, "undeclared write: perilune rbac cannot know of it",
               pl_str("controller", spec->name), pl_str("kind", kind), pl_str("verb", verb),
               pl_str("add", add), pl_str("declared_at", spec->declared_at));
        pl_free(add);
    }
    pl_free(who);
}

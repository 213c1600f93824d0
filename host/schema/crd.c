/* CustomResourceDefinitions as objects: defaults, validation, conditions, and the finalizer. The
 * kind that a CRD declares is not known here: type.c makes it, and apiserver/crd_life.c controls
 * its life. */
#include "schema/crd.h"

#include "schema/rules.h"

#include "schema/type.h"

#include <ctype.h>

#define CLEANUP "customresourcecleanup.apiextensions.k8s.io"

/* ---- defaults and conditions ---- */

static void set_condition(struct pl_arena *arena, struct pl_tree *list, struct pl_tree *now,
                          const char *const texts[4])
{
    static const char *const keys[] = {"type", "status", "reason", "message"};
    struct pl_tree *condition = NULL;
    PL_TREE_FOR(item, list)
    if (pl_slice_eqz(pl_tree_text_at(item->value, "type"), texts[0]))
        condition = item->value;
    if (condition == NULL) {
        condition = pl_tree_object(arena);
        pl_tree_push(arena, list, condition);
    }
    if (!pl_slice_eqz(pl_tree_text_at(condition, "status"), texts[1]))
        pl_tree_setz(arena, condition, "lastTransitionTime", now);
    for (size_t i = 0; i < PL_ARRAY_LEN(keys); i++)
        pl_tree_set_strz(arena, condition, keys[i], texts[i]);
}

static struct pl_tree *conditions_of(struct pl_arena *arena, struct pl_tree *crd)
{
    struct pl_tree *status = pl_tree_child(arena, crd, "status");
    return pl_tree_default(arena, status, "conditions", pl_tree_array(arena));
}

void pl_api_crd_default_spec(struct pl_arena *arena, struct pl_tree *crd)
{
    struct pl_tree *spec = pl_tree_child(arena, crd, "spec");
    struct pl_tree *names = pl_tree_child(arena, spec, "names");
    struct pl_slice kind = pl_tree_text_at(names, "kind");
    if (kind.len > 0) {
        pl_tree_default(arena, names, "singular", pl_tree_str(arena, pl_arena_lower(arena, kind)));
        pl_tree_default(arena, names, "listKind",
                        pl_tree_str(arena, pl_arena_f(arena, "%.*sList", PL_FMT(kind))));
    }
    /* An apply that releases this member leaves an object without it. */
    struct pl_tree *conversion = pl_tree_child(arena, spec, "conversion");
    if (pl_tree_text_at(conversion, "strategy").len == 0 &&
        pl_tree_getz(conversion, "webhook") == NULL)
        pl_tree_set_strz(arena, conversion, "strategy", "None");
    struct pl_tree *service = pl_tree_dig(spec, "conversion.webhook.clientConfig.service");
    if (service != NULL)
        pl_tree_default(arena, service, "port", pl_tree_int(arena, 443));
}

static void add_stored_version(struct pl_arena *arena, struct pl_tree *crd)
{
    struct pl_tree *status = pl_tree_child(arena, crd, "status");
    struct pl_tree *stored = pl_tree_default(arena, status, "storedVersions", pl_tree_array(arena));
    PL_TREE_FOR(item, pl_tree_dig(crd, "spec.versions"))
    {
        const struct pl_tree *is = pl_tree_getz(item->value, "storage");
        struct pl_slice name = pl_tree_text_at(item->value, "name");
        bool known = !(is != NULL && is->boolean);
        PL_TREE_FOR(have, stored)
        known = known || pl_slice_eq(pl_tree_text(have->value), name);
        if (!known)
            pl_tree_push(arena, stored, pl_tree_str(arena, name));
    }
}

void pl_api_crd_begin(struct pl_arena *arena, struct pl_tree *crd)
{
    struct pl_tree *status = pl_tree_child(arena, crd, "status");
    pl_tree_default(arena, status, "conditions", pl_tree_array(arena));
    pl_tree_default(arena, status, "acceptedNames",
                    pl_tree_literal(arena, "{\"plural\":\"\",\"kind\":\"\"}"));
    add_stored_version(arena, crd);
}

bool pl_api_crd_is_accepted(const struct pl_tree *crd)
{
    const struct pl_tree *conditions = pl_tree_dig(crd, "status.conditions");
    return conditions != NULL && conditions->count > 0 &&
           pl_tree_equal(pl_tree_dig(crd, "status.acceptedNames"), pl_tree_dig(crd, "spec.names"));
}

void pl_api_crd_accept(struct pl_arena *arena, struct pl_tree *crd, struct pl_tree *now)
{
    static const char *const accepted[] = {"NamesAccepted", "True", "NoConflicts",
                                           "no conflicts found"};
    static const char *const established[] = {"Established", "True", "InitialNamesAccepted",
                                              "the initial names have been accepted"};
    struct pl_tree *spec = pl_tree_child(arena, crd, "spec");
    struct pl_tree *status = pl_tree_child(arena, crd, "status");
    struct pl_tree *conditions = conditions_of(arena, crd);
    set_condition(arena, conditions, now, accepted);
    set_condition(arena, conditions, now, established);
    pl_tree_setz(arena, status, "acceptedNames", pl_tree_copy(arena, pl_tree_getz(spec, "names")));
    add_stored_version(arena, crd);
}

void pl_api_crd_mark(struct pl_arena *arena, struct pl_tree *crd, struct pl_tree *now)
{
    static const char *const terminating[] = {
        "Terminating", "True", "InstanceDeletionPending",
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"};
    struct pl_tree *meta = pl_tree_child(arena, crd, "metadata");
    struct pl_tree *finalizers = pl_tree_default(arena, meta, "finalizers", pl_tree_array(arena));
    pl_tree_push(arena, finalizers, pl_tree_strz(arena, CLEANUP));
    set_condition(arena, conditions_of(arena, crd), now, terminating);
}

bool pl_api_crd_unmark(struct pl_tree *crd)
{
    struct pl_tree *finalizers = pl_tree_dig(crd, "metadata.finalizers");
    bool changed = false;
    PL_TREE_FOR(item, finalizers)
    {
        if (!pl_slice_eqz(pl_tree_text(item->value), CLEANUP))
            continue;
        pl_tree_unlink(finalizers, item);
        changed = true;
    }
    return changed;
}

/* ---- validation ---- */

static void require(struct pl_api_faults *faults, const struct pl_tree *crd, const char *path)
{
    if (pl_tree_text_at(crd, path).len == 0)
        pl_api_fault(faults, "FieldValueRequired", pl_slice_z(path), "Required value");
}

static bool have_one_schema(const struct pl_tree *versions)
{
    const struct pl_tree *first = pl_tree_at(versions, 0);
    PL_TREE_FOR(item, versions)
    if (!pl_tree_equal(pl_tree_getz(item->value, "schema"), pl_tree_getz(first, "schema")))
        return false;
    return true;
}

static void validate_rules(struct pl_api_faults *faults, const struct pl_tree *version,
                           struct pl_slice path)
{
    const struct pl_tree *schema = pl_tree_dig(version, "schema.openAPIV3Schema");
    if (!pl_tree_is(schema, PL_OBJECT))
        return;
    struct pl_doc *doc = pl_tree_doc(schema, NULL);
    pl_api_rules_check(faults, pl_doc_root(doc), path);
    pl_doc_unref(doc);
}

static void validate_versions(struct pl_api_faults *faults, const struct pl_tree *versions)
{
    size_t i = 0, storage = 0;
    /* kube-apiserver stores a schema that all versions share in another place; its messages name
     * that place. */
    bool is_one = have_one_schema(versions);
    PL_TREE_FOR(item, versions)
    {
        const struct pl_tree *is = pl_tree_getz(item->value, "storage");
        struct pl_slice path = pl_arena_f(faults->arena, "spec.versions[%zu]", i++);
        storage += is != NULL && is->boolean;
        if (!pl_tree_is(pl_tree_dig(item->value, "schema.openAPIV3Schema"), PL_OBJECT))
            pl_api_fault(faults, "FieldValueRequired",
                         pl_arena_f(faults->arena, "%.*s.schema.openAPIV3Schema", PL_FMT(path)),
                         "Required value");
        validate_rules(
            faults, item->value,
            is_one ? pl_slice_z("spec.validation.openAPIV3Schema")
                   : pl_arena_f(faults->arena, "%.*s.schema.openAPIV3Schema", PL_FMT(path)));
    }
    if (storage != 1)
        pl_api_fault(faults, "FieldValueInvalid", pl_slice_z("spec.versions"),
                     "Invalid value: %zu: must have exactly one version marked as storage version",
                     storage);
    if (versions != NULL && versions->count > PL_API_MAX_VERSIONS)
        pl_api_fault(faults, "FieldValueTooMany", pl_slice_z("spec.versions"),
                     "Too many: %zu: must have at most %d items", versions->count,
                     PL_API_MAX_VERSIONS);
}

static void validate_immutable(struct pl_api_faults *faults, const struct pl_tree *crd,
                               const struct pl_tree *old)
{
    static const char *const paths[] = {"spec.group", "spec.scope", "spec.names.plural",
                                        "spec.names.kind"};
    for (size_t i = 0; old != NULL && i < PL_ARRAY_LEN(paths); i++) {
        struct pl_slice text = pl_tree_text_at(crd, paths[i]);
        if (!pl_slice_eq(text, pl_tree_text_at(old, paths[i])))
            pl_api_fault(faults, "FieldValueInvalid", pl_slice_z(paths[i]),
                         "Invalid value: \"%.*s\": field is immutable", PL_FMT(text));
    }
}

void pl_api_crd_validate(struct pl_api_faults *faults, const struct pl_tree *crd,
                         const struct pl_tree *old)
{
    struct pl_slice group = pl_tree_text_at(crd, "spec.group");
    struct pl_slice plural = pl_tree_text_at(crd, "spec.names.plural");
    struct pl_slice scope = pl_tree_text_at(crd, "spec.scope");
    struct pl_slice name = pl_tree_text_at(crd, "metadata.name");
    require(faults, crd, "spec.group");
    require(faults, crd, "spec.names.plural");
    require(faults, crd, "spec.names.kind");
    require(faults, crd, "spec.names.singular");
    require(faults, crd, "spec.names.listKind");
    if (scope.len == 0)
        require(faults, crd, "spec.scope");
    else if (!pl_slice_eqz(scope, "Namespaced") && !pl_slice_eqz(scope, "Cluster"))
        pl_api_fault(faults, "FieldValueNotSupported", pl_slice_z("spec.scope"),
                     "Unsupported value: \"%.*s\": supported values: \"Cluster\", \"Namespaced\"",
                     PL_FMT(scope));
    struct pl_slice want = pl_arena_f(faults->arena, "%.*s.%.*s", PL_FMT(plural), PL_FMT(group));
    if (name.len > 0 && !pl_slice_eq(name, want))
        pl_api_fault(faults, "FieldValueInvalid", pl_slice_z("metadata.name"),
                     "Invalid value: \"%.*s\": must be spec.names.plural+\".\"+spec.group",
                     PL_FMT(name));
    validate_versions(faults, pl_tree_dig(crd, "spec.versions"));
    validate_immutable(faults, crd, old);
}

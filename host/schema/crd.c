/* CustomResourceDefinitions as objects: defaults, validation, conditions, and the finalizer. The
 * kind that a CRD declares is not known here: type.c makes it, and apiserver/crd_life.c controls
 * its life. */
#include "schema/crd.h"

#include "schema/condition.h"
#include "schema/type.h"

#define CLEANUP "customresourcecleanup.apiextensions.k8s.io"

/* ---- defaults and conditions ---- */

void pl_api_crd_drop_released(struct pl_tree *crd)
{
    struct pl_tree *conversion = pl_tree_dig(crd, "spec.conversion");
    if (pl_tree_is(conversion, PL_OBJECT) && conversion->count == 0)
        pl_tree_removez(pl_tree_getz(crd, "spec"), "conversion");
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
    pl_tree_default(arena, spec, "conversion", pl_tree_literal(arena, "{\"strategy\":\"None\"}"));
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
        if (is != NULL && is->boolean)
            return;
    }
}

void pl_api_crd_keep_version(struct pl_arena *arena, struct pl_tree *crd)
{
    const struct pl_tree *stored = pl_tree_dig(crd, "status.storedVersions");
    if (stored == NULL || stored->count == 0)
        add_stored_version(arena, crd);
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

static struct pl_slice in_use(struct pl_arena *arena, const struct pl_tree *name)
{
    return pl_arena_f(arena, "\"%.*s\" is already in use", PL_FMT(pl_tree_text(name)));
}

/* The used short names; empty: there are none. */
static struct pl_slice used_short_names(struct pl_arena *arena, const struct pl_tree *names,
                                        const struct pl_tree *used)
{
    struct pl_slice all = {"", 0};
    size_t count = 0;
    PL_TREE_FOR(item, pl_tree_getz(names, "shortNames"))
    if (pl_tree_has_text(used, pl_tree_text(item->value)))
        all = pl_arena_f(arena, "%.*s%s%.*s", PL_FMT(all), count++ > 0 ? ", " : "",
                         PL_FMT(in_use(arena, item->value)));
    return count > 1 ? pl_arena_f(arena, "[%.*s]", PL_FMT(all)) : all;
}

bool pl_api_crd_accept(struct pl_arena *arena, struct pl_tree *crd,
                       const struct pl_api_used_names *used, struct pl_tree *now)
{
    static const char *const members[][2] = {{"plural", "PluralConflict"},
                                             {"singular", "SingularConflict"},
                                             {"shortNames", "ShortNamesConflict"},
                                             {"kind", "KindConflict"},
                                             {"listKind", "ListKindConflict"}};
    static const char *const established[] = {"Established", "True", "InitialNamesAccepted",
                                              "the initial names have been accepted"};
    static const char *const refused[] = {"Established", "False", "NotAccepted",
                                          "not all names are accepted"};
    const char *names_condition[] = {"NamesAccepted", "True", "NoConflicts", "no conflicts found"};
    const struct pl_tree *names = pl_tree_dig(crd, "spec.names");
    struct pl_tree *status = pl_tree_child(arena, crd, "status");
    struct pl_tree *taken = pl_tree_child(arena, status, "acceptedNames");
    for (size_t i = 0; i < PL_ARRAY_LEN(members); i++) {
        const struct pl_tree *name = pl_tree_getz(names, members[i][0]);
        struct pl_slice why =
            i == 2 ? used_short_names(arena, names, used->resources)
            : pl_tree_has_text(i < 2 ? used->resources : used->kinds, pl_tree_text(name))
                ? in_use(arena, name)
                : pl_slice("", 0);
        if (why.len > 0) {
            names_condition[1] = "False";
            names_condition[2] = members[i][1];
            names_condition[3] = why.ptr;
        } else if (name != NULL) {
            pl_tree_setz(arena, taken, members[i][0], pl_tree_copy(arena, name));
        } else {
            pl_tree_removez(taken, members[i][0]);
        }
    }
    bool good = *names_condition[1] == 'T';
    if (good)
        pl_tree_setz(arena, status, "acceptedNames", pl_tree_copy(arena, names));
    pl_api_condition_set(arena, status, now, names_condition);
    pl_api_condition_set(arena, status, now, good ? established : refused);
    return good;
}

bool pl_api_crd_waits(struct pl_node crd)
{
    return pl_api_has_condition(crd, "Established", "False");
}

void pl_api_crd_mark(struct pl_arena *arena, struct pl_tree *crd, struct pl_tree *now)
{
    static const char *const terminating[] = {
        "Terminating", "True", "InstanceDeletionPending",
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"};
    struct pl_tree *meta = pl_tree_child(arena, crd, "metadata");
    struct pl_tree *finalizers = pl_tree_default(arena, meta, "finalizers", pl_tree_array(arena));
    pl_tree_push(arena, finalizers, pl_tree_strz(arena, CLEANUP));
    pl_api_condition_set(arena, pl_tree_child(arena, crd, "status"), now, terminating);
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

static void validate_versions(struct pl_api_faults *faults, const struct pl_tree *versions)
{
    size_t i = 0;
    PL_TREE_FOR(item, versions)
    {
        struct pl_slice path = pl_arena_f(faults->arena, "spec.versions[%zu]", i++);
        if (!pl_tree_is(pl_tree_dig(item->value, "schema.openAPIV3Schema"), PL_OBJECT))
            pl_api_fault(faults, "FieldValueRequired",
                         pl_arena_f(faults->arena, "%.*s.schema.openAPIV3Schema", PL_FMT(path)),
                         "Required value");
    }
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
    bool established = false;
    PL_TREE_FOR(item, pl_tree_dig(old, "status.conditions"))
    established =
        established || (pl_slice_eqz(pl_tree_text_at(item->value, "type"), "Established") &&
                        pl_slice_eqz(pl_tree_text_at(item->value, "status"), "True"));
    for (size_t i = 0; old != NULL && i < PL_ARRAY_LEN(paths); i++) {
        struct pl_slice text = pl_tree_text_at(crd, paths[i]);
        bool may_change = i % 2 == 1 && !established; /* scope and kind */
        if (!may_change && !pl_slice_eq(text, pl_tree_text_at(old, paths[i])))
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
    if (old == NULL && name.len > 0 && !pl_slice_eq(name, want))
        pl_api_fault(faults, "FieldValueInvalid", pl_slice_z("metadata.name"),
                     "Invalid value: \"%.*s\": must be spec.names.plural+\".\"+spec.group",
                     PL_FMT(name));
    validate_versions(faults, pl_tree_dig(crd, "spec.versions"));
    validate_immutable(faults, crd, old);
}

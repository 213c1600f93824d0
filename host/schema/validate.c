/* Validation of the metadata of every kind. All faults of an object are collected, with
 * kube-apiserver's messages. `old` is NULL for a new object; immutable members are compared with
 * it. */
#include "schema/validate.h"
#include "base/text.h"

/* Messages were checked against kube-apiserver 1.37. */

#define SUBDOMAIN PL_API_SUBDOMAIN_TEXT

#define MAX_NAME        253
#define MAX_LABEL       63
#define MAX_ANNOTATIONS ((size_t)256 << 10)

/* ---- forms of names ---- */

static void validate_invalid(struct pl_api_faults *faults, const char *field, struct pl_slice value,
                             const char *why)
{
    pl_api_fault(faults, "FieldValueInvalid", pl_slice_z(field), "Invalid value: \"%.*s\": %s",
                 PL_FMT(value), why);
}

static void check_prefix(struct pl_api_faults *faults, const char *field, struct pl_slice key,
                         struct pl_slice prefix)
{
    if (prefix.len == 0)
        validate_invalid(faults, field, key, "prefix part must be non-empty");
    else if (prefix.len > MAX_NAME)
        validate_invalid(faults, field, key, "prefix part must be no more than 253 bytes");
    else if (!pl_text_is_subdomain(prefix))
        validate_invalid(faults, field, key, "prefix part " SUBDOMAIN);
}

void pl_api_validate_qualified(struct pl_api_faults *faults, const char *field, struct pl_slice key)
{
    const char *slash = pl_slice_chr(key, '/');
    struct pl_slice name = key;
    if (slash != NULL) {
        size_t at = (size_t)(slash - key.ptr);
        name = pl_slice(slash + 1, key.len - at - 1);
        if (pl_slice_chr(name, '/') != NULL) {
            validate_invalid(faults, field, key, "a valid label key " PL_API_KEY_TEXT);
            return;
        }
        check_prefix(faults, field, key, pl_slice(key.ptr, at));
    }
    if (name.len == 0)
        validate_invalid(faults, field, key, "name part must be non-empty");
    else if (name.len > MAX_LABEL)
        validate_invalid(faults, field, key, "name part must be no more than 63 bytes");
    if (!pl_text_is_word(name))
        validate_invalid(faults, field, key, PL_API_NAME_PART_TEXT);
}

/* ---- metadata ---- */

/* A name in `field`. shown: the text that messages show. */
struct named {
    struct pl_api_faults *faults;
    const char *field;
    struct pl_slice name, shown;
};

static void bad_name(const struct named *n, const char *why)
{
    validate_invalid(n->faults, n->field, n->shown, why);
}

static void check_label_name(const struct named *n)
{
    if (!pl_text_is_label(n->name))
        bad_name(n, pl_text_is_subdomain(n->name) ? "must not contain dots" : PL_API_LABEL_TEXT);
    if (n->name.len > MAX_LABEL)
        bad_name(n, "must be no more than 63 characters");
}

static void validate_check_name(const struct named *n, const struct pl_api_type *type)
{
    struct pl_slice name = n->name;
    if (type->flags & PL_API_LAX_NAME) {
        if (pl_slice_eqz(name, ".") || pl_slice_eqz(name, ".."))
            bad_name(n, name.len == 1 ? "may not be '.'" : "may not be '..'");
        else if (pl_slice_chr(name, '/') != NULL)
            bad_name(n, "may not contain '/'");
        else if (pl_slice_chr(name, '%') != NULL)
            bad_name(n, "may not contain '%'");
        return;
    }
    if (type->flags & PL_API_LABEL_NAME) {
        check_label_name(n);
        return;
    }
    if (name.len > MAX_NAME)
        bad_name(n, "must be no more than 253 characters");
    if (!pl_text_is_subdomain(name))
        bad_name(n, SUBDOMAIN);
}

/* generateName must be valid as the beginning of a name; a '-' at its end is allowed. */
static void check_prefix_of_name(struct pl_api_faults *faults, const struct pl_api_type *type,
                                 struct pl_slice prefix)
{
    struct pl_slice name = prefix;
    if (prefix.len == 0)
        return;
    if (prefix.len > 1 && prefix.ptr[prefix.len - 1] == '-') /* a letter follows it */
        name = pl_arena_f(faults->arena, "%.*sa", (int)prefix.len - 2, prefix.ptr);
    validate_check_name(&(struct named){faults, "metadata.generateName", name, prefix}, type);
}

void pl_api_validate_labels(struct pl_api_faults *faults, const struct pl_tree *labels)
{
    PL_TREE_FOR(item, labels)
    {
        struct pl_slice value = pl_tree_text(item->value);
        pl_api_validate_qualified(faults, "metadata.labels", item->key);
        if (!pl_tree_is(item->value, PL_STRING))
            validate_invalid(faults, "metadata.labels", item->key, "the value must be a string");
        else if (value.len > MAX_LABEL)
            validate_invalid(faults, "metadata.labels", value, "must be no more than 63 bytes");
        else if (value.len > 0 && !pl_text_is_word(value))
            validate_invalid(faults, "metadata.labels", value, PL_API_LABEL_VALUE_TEXT);
    }
}

void pl_api_validate_annotations(struct pl_api_faults *faults, const char *field,
                                 const struct pl_tree *annotations)
{
    size_t size = 0;
    PL_TREE_FOR(item, annotations)
    {
        struct pl_api_faults lower = {.arena = faults->arena}; /* capitals are no fault */
        pl_api_validate_qualified(&lower, field, pl_arena_lower(faults->arena, item->key));
        if (lower.causes != NULL)
            pl_api_validate_qualified(faults, field, item->key);
        if (!pl_tree_is(item->value, PL_STRING))
            validate_invalid(faults, field, item->key, "the value must be a string");
        size += item->key.len + pl_tree_text(item->value).len;
    }
    if (size > MAX_ANNOTATIONS)
        pl_api_fault(faults, "FieldValueTooLong", pl_slice_z(field),
                     "Too long: may not be more than %zu bytes", MAX_ANNOTATIONS);
}

static void two_controllers(struct pl_api_faults *faults, const struct pl_tree *owners,
                            const struct pl_tree *first, const struct pl_tree *second)
{
    struct pl_buf all = PL_BUF_INIT;
    pl_tree_write(&all, owners);
    pl_api_fault(faults, "FieldValueInvalid", pl_slice_z("metadata.ownerReferences"),
                 "Invalid value: %s: Only one reference can have Controller set to "
                 "true. Found \"true\" in references for %.*s/%.*s and %.*s/%.*s",
                 pl_buf_z(&all), PL_FMT(pl_tree_text_at(first, "kind")),
                 PL_FMT(pl_tree_text_at(first, "name")), PL_FMT(pl_tree_text_at(second, "kind")),
                 PL_FMT(pl_tree_text_at(second, "name")));
    pl_buf_deinit(&all);
}

/* Events cannot be owners. */
static void event_owner(struct pl_api_faults *faults, const struct pl_tree *owner, size_t index)
{
    struct pl_buf text = PL_BUF_INIT;
    struct pl_slice version = pl_tree_text_at(owner, "apiVersion");
    pl_tree_write(&text, owner);
    pl_api_fault(faults, "FieldValueInvalid",
                 pl_arena_f(faults->arena, "metadata.ownerReferences[%zu]", index),
                 "Invalid value: %s: %s%.*s, Kind=Event is disallowed from being an owner",
                 pl_buf_z(&text), pl_slice_chr(version, '/') != NULL ? "" : "/", PL_FMT(version));
    pl_buf_deinit(&text);
}

static void check_owners(struct pl_api_faults *faults, const struct pl_tree *owners)
{
    static const char fields[][12] = {"apiVersion", "kind", "name", "uid"};
    const struct pl_tree *controller = NULL;
    size_t i = 0;
    PL_TREE_FOR(item, owners)
    {
        for (size_t k = 0; k < PL_ARRAY_LEN(fields); k++)
            if (pl_tree_text_at(item->value, fields[k]).len == 0)
                pl_api_fault(
                    faults, "FieldValueRequired",
                    pl_arena_f(faults->arena, "metadata.ownerReferences[%zu].%s", i, fields[k]),
                    "Required value: must not be empty");
        struct pl_slice version = pl_tree_text_at(item->value, "apiVersion");
        const char *slash = pl_slice_chr(version, '/');
        if (slash != NULL &&
            memchr(slash + 1, '/', version.len - (size_t)(slash + 1 - version.ptr)))
            pl_api_fault(faults, "FieldValueInvalid",
                         pl_arena_f(faults->arena, "metadata.ownerReferences[%zu].apiVersion", i),
                         "Invalid value: \"%.*s\": must be <group>/<version> or <version>",
                         PL_FMT(version));
        if (pl_slice_eqz(pl_tree_text_at(item->value, "kind"), "Event") &&
            (pl_slice_eqz(pl_tree_text_at(item->value, "apiVersion"), "v1") ||
             pl_slice_eqz(pl_tree_text_at(item->value, "apiVersion"), "events.k8s.io/v1")))
            event_owner(faults, item->value, i);
        const struct pl_tree *is = pl_tree_getz(item->value, "controller");
        if (is != NULL && is->boolean && controller != NULL)
            two_controllers(faults, owners, controller, item->value);
        if (is != NULL && is->boolean)
            controller = item->value;
        i++;
    }
}

/* strict: for built-in kinds, whose finalizers need a domain unless they are Kubernetes' own. */
static void check_finalizers(struct pl_api_faults *faults, const struct pl_tree *object,
                             bool strict)
{
    bool orphan = false, foreground = false;
    size_t at = 0;
    PL_TREE_FOR(item, pl_tree_dig(object, "metadata.finalizers"))
    {
        struct pl_slice name = pl_tree_text(item->value);
        orphan = orphan || pl_slice_eqz(name, "orphan");
        foreground = foreground || pl_slice_eqz(name, "foregroundDeletion");
        pl_api_validate_qualified(faults, "metadata.finalizers", name);
        bool standard = pl_slice_eqz(name, "orphan") || pl_slice_eqz(name, "foregroundDeletion") ||
                        pl_slice_eqz(name, "kubernetes");
        if (strict && !standard && pl_slice_chr(name, '/') == NULL)
            validate_invalid(faults, pl_arena_f(faults->arena, "metadata.finalizers[%zu]", at).ptr,
                             name,
                             "name is neither a standard finalizer name nor is it fully qualified");
        at++;
    }
    struct pl_buf all = PL_BUF_INIT;
    pl_tree_write(&all, pl_tree_dig(object, "metadata.finalizers"));
    if (orphan && foreground)
        pl_api_fault(faults, "FieldValueInvalid", pl_slice_z("metadata.finalizers"),
                     "Invalid value: %s: finalizer orphan and foregroundDeletion cannot be both "
                     "set",
                     pl_buf_z(&all));
    pl_buf_deinit(&all);
}

static void check_new_finalizers(struct pl_api_faults *faults, const struct pl_tree *object,
                                 const struct pl_tree *old)
{
    const struct pl_tree *before = pl_tree_dig(old, "metadata.finalizers");
    struct pl_buf added = PL_BUF_INIT;
    PL_TREE_FOR(item, pl_tree_dig(object, "metadata.finalizers"))
    {
        bool known = false;
        PL_TREE_FOR(have, before)
        known = known || pl_tree_equal(have->value, item->value);
        if (!known)
            pl_buf_add_f(&added, "%s\"%.*s\"", added.len > 0 ? ", " : "",
                         PL_FMT(pl_tree_text(item->value)));
    }
    if (added.len > 0)
        pl_api_fault(faults, "FieldValueForbidden", pl_slice_z("metadata.finalizers"),
                     "Forbidden: no new finalizers can be added if the object is being deleted, "
                     "found new finalizers []string{%s}",
                     pl_buf_z(&added));
    pl_buf_deinit(&added);
}

static void check_immutable(struct pl_api_faults *faults, const struct pl_tree *object,
                            const struct pl_tree *old)
{
    static const char fields[][28] = {"metadata.name", "metadata.namespace", "metadata.uid",
                                      "metadata.deletionTimestamp"};
    for (size_t i = 0; i < PL_ARRAY_LEN(fields); i++) {
        struct pl_slice text = pl_tree_text_at(object, fields[i]);
        if (!pl_slice_eq(text, pl_tree_text_at(old, fields[i])))
            validate_invalid(faults, fields[i], text, "field is immutable");
    }
    const struct pl_tree *grace = pl_tree_dig(object, "metadata.deletionGracePeriodSeconds");
    if (grace != NULL &&
        !pl_tree_equal(grace, pl_tree_dig(old, "metadata.deletionGracePeriodSeconds")))
        pl_api_fault(faults, "FieldValueInvalid", pl_slice_z("metadata.deletionGracePeriodSeconds"),
                     "Invalid value: %.*s: field is immutable", PL_FMT(grace->text));
    if (pl_tree_text_at(old, "metadata.deletionTimestamp").len > 0)
        check_new_finalizers(faults, object, old);
}

static void check_generation(struct pl_api_faults *faults, const struct pl_tree *object)
{
    int64_t generation = 0;
    if (pl_tree_integer(pl_tree_dig(object, "metadata.generation"), &generation) && generation < 0)
        pl_api_fault(faults, "FieldValueInvalid", pl_slice_z("metadata.generation"),
                     "Invalid value: %lld: must be greater than or equal to 0",
                     (long long)generation);
}

static void require_name(struct pl_api_faults *faults, const struct pl_tree *object)
{
    if (pl_tree_text_at(object, "metadata.name").len == 0)
        pl_api_fault(faults, "FieldValueRequired", pl_slice_z("metadata.name"),
                     "Required value: name or generateName is required");
}

static void check_new_name(struct pl_api_faults *faults, const struct pl_api_type *type,
                           const struct pl_tree *object)
{
    if (!type->is_custom)
        check_prefix_of_name(faults, type, pl_tree_text_at(object, "metadata.generateName"));
    struct pl_slice name = pl_tree_text_at(object, "metadata.name");
    require_name(faults, object);
    if (name.len > 0)
        validate_check_name(&(struct named){faults, "metadata.name", name, name}, type);
}

void pl_api_validate_meta(struct pl_api_faults *faults, const struct pl_api_type *type,
                          const struct pl_tree *object, const struct pl_tree *old)
{
    check_generation(faults, object);
    if (old == NULL)
        check_new_name(faults, type, object);
    else {
        require_name(faults, object);
        check_immutable(faults, object, old);
    }
    if (type->is_custom && old != NULL) /* custom objects are looked at twice */
        check_immutable(faults, object, old);
    pl_api_validate_labels(faults, pl_tree_dig(object, "metadata.labels"));
    pl_api_validate_annotations(faults, "metadata.annotations",
                                pl_tree_dig(object, "metadata.annotations"));
    check_owners(faults, pl_tree_dig(object, "metadata.ownerReferences"));
    check_finalizers(faults, object,
                     !type->is_custom && strcmp(type->kind, "CustomResourceDefinition") != 0);
}

/* Objects inside of custom objects. One walk through schema and value serves reading and checking.
 * The depth is that of the schema, which comes from a CRD and is limited like any document. */
#include "schema/embedded.h"

#include "gotype/typed.h"
#include "object/kind.h"
#include "schema/type.h"
#include "schema/validate.h"

#include <string.h>

#define META "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
#define DNS1035                                                                                    \
    "may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower "     \
    "case alphanumeric characters or '-', start with an alphabetic character, and end with an "    \
    "alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "         \
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"

static const char flag_name[] = "x-kubernetes-embedded-resource";

bool pl_api_has_embedded(struct pl_node schema)
{
    struct pl_node more = pl_node_getz(schema, "additionalProperties");
    if (pl_node_flagz(schema, flag_name))
        return true;
    struct pl_iter it = pl_iter(pl_node_getz(schema, "properties"));
    while (pl_iter_next(&it))
        if (pl_api_has_embedded(it.value))
            return true;
    return (pl_node_type(more) == PL_OBJECT && pl_api_has_embedded(more)) ||
           (pl_node_type(pl_node_getz(schema, "items")) == PL_OBJECT &&
            pl_api_has_embedded(pl_node_getz(schema, "items")));
}

/* ---- one object's members ---- */

static const char *read_metadata(struct pl_arena *arena, struct pl_tree *metadata,
                                 struct pl_tree **strict)
{
    struct pl_typed t = {.arena = arena};
    if (!pl_tree_is(metadata, PL_OBJECT))
        return pl_arena_f(arena, "json: cannot unmarshal %s into Go value of type v1.ObjectMeta",
                          pl_tree_type(metadata) == PL_BOOL ? "bool"
                                                            : pl_type_name(pl_tree_type(metadata)))
            .ptr;
    if (pl_typed_read(&t, metadata, pl_message_find(pl_slice_z(META))) != 0)
        return pl_arena_copy(arena, t.error).ptr;
    *strict = t.strict;
    return NULL;
}

const char *pl_api_metadata_read(struct pl_arena *arena, struct pl_tree *metadata)
{
    static const char maps[][12] = {"labels", "annotations"};
    struct pl_tree *copy = pl_tree_copy(arena, metadata), *strict;
    const char *why = read_metadata(arena, copy, &strict);
    for (size_t i = 0; why == NULL && i < PL_ARRAY_LEN(maps); i++)
        if (pl_tree_getz(copy, maps[i]) != NULL)
            pl_tree_setz(arena, metadata, maps[i], pl_tree_getz(copy, maps[i]));
    return why;
}

static struct pl_slice embedded_shown(struct pl_arena *arena, const struct pl_tree *value)
{
    struct pl_buf buf = PL_BUF_INIT;
    pl_tree_write(&buf, value);
    struct pl_slice text = pl_arena_copy(arena, pl_buf_slice(&buf));
    pl_buf_deinit(&buf);
    return text;
}

/* What happens at each embedded object. */
struct walk {
    struct pl_arena *arena;
    struct pl_tree *unknown;      /* reading */
    const char *why;              /* the first fault of reading */
    struct pl_api_faults *faults; /* checking; NULL: reading */
};

static struct pl_slice embedded_join(struct walk *w, struct pl_slice path, const char *key)
{
    return path.len == 0 ? pl_slice_z(key) : pl_arena_f(w->arena, "%.*s.%s", PL_FMT(path), key);
}

static void read_one(struct walk *w, struct pl_tree *object, struct pl_slice path)
{
    static const char texts[][12] = {"apiVersion", "kind"};
    struct pl_tree *metadata = pl_tree_getz(object, "metadata"), *strict = NULL;
    for (size_t i = 0; i < PL_ARRAY_LEN(texts); i++) {
        const struct pl_tree *text = pl_tree_getz(object, texts[i]);
        if (text != NULL && !pl_tree_is(text, PL_STRING) && w->why == NULL)
            w->why = pl_arena_f(w->arena, "%.*s: Invalid value: %.*s: must be a string",
                                PL_FMT(embedded_join(w, path, texts[i])),
                                PL_FMT(embedded_shown(w->arena, text)))
                         .ptr;
    }
    if (metadata == NULL || w->why != NULL)
        return;
    struct pl_slice shown = embedded_shown(w->arena, metadata);
    struct pl_slice at = embedded_join(w, path, "metadata");
    const char *why = read_metadata(w->arena, metadata, &strict);
    if (why != NULL)
        w->why =
            pl_arena_f(w->arena, "%.*s: Invalid value: %.*s: %s", PL_FMT(at), PL_FMT(shown), why)
                .ptr;
    PL_TREE_FOR(item, strict)
    {
        struct pl_slice text = pl_tree_text(item->value); /* unknown field "a" */
        const char *from = pl_slice_chr(text, '"');
        if (from != NULL && text.len > (size_t)(from + 2 - text.ptr))
            pl_tree_push(
                w->arena, w->unknown,
                pl_tree_str(w->arena, pl_arena_f(w->arena, "%.*s.%.*s", PL_FMT(at),
                                                 (int)(text.ptr + text.len - from - 2), from + 1)));
    }
}

static void embedded_bad(struct walk *w, struct pl_slice path, struct pl_slice text,
                         const char *why)
{
    pl_api_fault(w->faults, "FieldValueInvalid", path, "Invalid value: \"%.*s\": %s", PL_FMT(text),
                 why);
}

static void check_texts(struct walk *w, const struct pl_tree *object, struct pl_slice path)
{
    static const char texts[][12] = {"apiVersion", "kind"};
    for (size_t i = 0; i < PL_ARRAY_LEN(texts); i++) {
        const struct pl_tree *value = pl_tree_getz(object, texts[i]);
        struct pl_slice at = embedded_join(w, path, texts[i]), text = pl_tree_text(value);
        const char *slash = pl_slice_chr(text, '/');
        bool two = slash != NULL &&
                   memchr(slash + 1, '/', (size_t)(text.ptr + text.len - slash - 1)) != NULL;
        if (value == NULL)
            pl_api_fault(w->faults, "FieldValueRequired", at, "Required value");
        else if (text.len == 0)
            embedded_bad(w, at, text, "must not be empty");
        else if (i == 0 && two)
            embedded_bad(
                w, at, text,
                pl_arena_f(w->arena, "unexpected GroupVersion string: %.*s", PL_FMT(text)).ptr);
        else if (i == 1 && !pl_kind_is_name(text))
            embedded_bad(w, at, text, DNS1035);
    }
}

static void check_one(struct walk *w, const struct pl_tree *object, struct pl_slice path)
{
    const struct pl_tree *metadata = pl_tree_getz(object, "metadata");
    struct pl_api_faults found = {.arena = w->arena};
    check_texts(w, object, path);
    if (metadata == NULL || path.len == 0)
        return;
    struct pl_tree *copy = pl_tree_object(w->arena);
    pl_tree_setz(w->arena, copy, "metadata", pl_tree_copy(w->arena, metadata));
    if (pl_tree_text_at(copy, "metadata.name").len == 0)
        pl_tree_set_strz(w->arena, pl_tree_getz(copy, "metadata"), "name", "fakename");
    bool placed = pl_tree_text_at(copy, "metadata.namespace").len > 0;
    char kind[] = "Object";
    struct pl_api_type type = {.kind = kind,
                               .is_custom = true,
                               .flags = PL_API_LAX_NAME | (placed ? PL_API_NAMESPACED : 0)};
    pl_api_validate_meta(&found, &type, copy, NULL);
    PL_TREE_FOR(item, found.causes)
    pl_api_fault(w->faults, pl_arena_copy(w->arena, pl_tree_text_at(item->value, "reason")).ptr,
                 pl_arena_f(w->arena, "%.*s.%.*s", PL_FMT(path),
                            PL_FMT(pl_tree_text_at(item->value, "field"))),
                 "%.*s", PL_FMT(pl_tree_text_at(item->value, "message")));
}

/* ---- the walk ---- */

static void embedded_walk(struct walk *w, struct pl_tree *value, struct pl_node schema,
                          struct pl_slice path)
{
    struct pl_node properties = pl_node_getz(schema, "properties");
    struct pl_node more = pl_node_getz(schema, "additionalProperties");
    struct pl_node items = pl_node_getz(schema, "items");
    size_t i = 0;
    if (pl_tree_is(value, PL_ARRAY) && pl_node_type(items) == PL_OBJECT)
        PL_TREE_FOR(item, value)
    embedded_walk(w, item->value, items, pl_arena_f(w->arena, "%.*s[%zu]", PL_FMT(path), i++));
    if (!pl_tree_is(value, PL_OBJECT))
        return;
    if (pl_node_flagz(schema, flag_name) && w->faults != NULL)
        check_one(w, value, path);
    else if (pl_node_flagz(schema, flag_name))
        read_one(w, value, path);
    PL_TREE_FOR(item, value)
    {
        struct pl_node inner = pl_node_get(properties, item->key);
        const char *key = pl_arena_copy(w->arena, item->key).ptr;
        if (!pl_node_is_missing(inner))
            embedded_walk(w, item->value, inner, embedded_join(w, path, key));
        else if (pl_node_type(more) == PL_OBJECT)
            embedded_walk(w, item->value, more,
                          pl_arena_f(w->arena, "%.*s[%s]", PL_FMT(path), key));
    }
}

const char *pl_api_embedded_read(struct pl_arena *arena, struct pl_tree *object,
                                 struct pl_node schema, struct pl_tree *unknown)
{
    struct walk w = {.arena = arena, .unknown = unknown};
    embedded_walk(&w, object, schema, pl_slice("", 0));
    return w.why;
}

void pl_api_embedded_validate(struct pl_api_faults *faults, const struct pl_tree *value,
                              struct pl_node schema, struct pl_slice path)
{
    struct walk w = {.arena = faults->arena, .faults = faults};
    embedded_walk(&w, pl_tree_copy(faults->arena, value), schema, path);
}

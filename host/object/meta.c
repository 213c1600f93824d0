/* Metadata that all layers use: name, namespace, uid, resourceVersion, labels, owners, the key.
 *
 * The positions of the four members that identify an object are found once and kept in its
 * document, 16 bits each. Two threads that search at the same time find the same, so a relaxed
 * atomic is enough. Absent members are remembered too. The code does not trust the types of what it
 * reads: a number in the place of a name is no name.
 *
 * resourceVersions are compared as numbers of any length without conversion (rule 38). */
#include "object/meta.h"
#include "value/tape.h"

#include <string.h>

/* ---- the identity of an object ----
 * Every receiver of an event reads these members of its object again. Each look-up walks through
 * two lists of names, so the document keeps their positions: an offset of 16 bits each into its
 * tape. */

enum { NAME, NAMESPACE, UID, VERSION, IDENTITY };

static const struct pl_slice identity_names[IDENTITY] = {
    {"name", 4}, {"namespace", 9}, {"uid", 3}, {"resourceVersion", 15}};

enum {
    ABSENT = 0xffff,
    ELSEWHERE = 0xfffe
}; /* ELSEWHERE: in the pool, or too far from the start */

static struct pl_node field(struct pl_node object, const char *name)
{
    return pl_node_getz(pl_node_getz(object, "metadata"), name);
}

static uint64_t meta_place(unsigned which, uint64_t at)
{
    return at << (16 * which);
}

static unsigned which_of(struct pl_slice key)
{
    unsigned which = key.len == 4    ? NAME
                     : key.len == 3  ? UID
                     : key.len == 9  ? NAMESPACE
                     : key.len == 15 ? VERSION
                                     : IDENTITY;
    return which < IDENTITY && pl_slice_eq(key, identity_names[which]) ? which : IDENTITY;
}

static uint64_t find_places(struct pl_node object)
{
    const struct pl_doc *doc = object.doc;
    uint64_t places = UINT64_MAX; /* all of them absent */
    struct pl_iter it = pl_iter(pl_node_getz(object, "metadata"));
    for (const uint8_t *at = it.next; pl_iter_next(&it); at = it.next) {
        unsigned which = which_of(it.key);
        if (which == IDENTITY)
            continue;
        uintptr_t offset = (uintptr_t)at - (uintptr_t)doc->tape;
        places &= ~meta_place(which, ABSENT);
        places |=
            meta_place(which, offset < doc->length && offset < ELSEWHERE ? offset : ELSEWHERE);
    }
    return places;
}

/* Two threads may search at once; both find the same. */
static struct pl_node identity(struct pl_node object, unsigned which)
{
    struct pl_doc *doc = (struct pl_doc *)object.doc;
    if (object.at == NULL || object.at != doc->tape)
        return field(object, identity_names[which].ptr);
    uint64_t places = atomic_load_explicit(&doc->places, memory_order_relaxed);
    if (places == 0) {
        places = find_places(object);
        atomic_store_explicit(&doc->places, places, memory_order_relaxed);
    }
    uint16_t at = (uint16_t)(places >> (16 * which));
    if (at == ABSENT)
        return PL_NODE_MISSING;
    if (at == ELSEWHERE)
        return field(object, identity_names[which].ptr);
    return (struct pl_node){doc, tape_resolve(doc->base, doc->tape + at)};
}

struct pl_slice pl_meta_name(struct pl_node object, struct pl_scratch *scratch)
{
    return pl_node_str(identity(object, NAME), scratch);
}

struct pl_slice pl_meta_namespace(struct pl_node object, struct pl_scratch *scratch)
{
    return pl_node_str(identity(object, NAMESPACE), scratch);
}

struct pl_slice pl_meta_uid(struct pl_node object, struct pl_scratch *scratch)
{
    return pl_node_str(identity(object, UID), scratch);
}

struct pl_slice pl_meta_rv(struct pl_node object, struct pl_scratch *scratch)
{
    return pl_node_str(identity(object, VERSION), scratch);
}

static struct pl_node meta_version_of(struct pl_node object)
{
    struct pl_node rv = identity(object, VERSION);
    return pl_node_type(rv) == PL_STRING ? rv : PL_NODE_MISSING;
}

bool pl_meta_same_uid(struct pl_node a, struct pl_node b)
{
    struct pl_node x = identity(a, UID), y = identity(b, UID);
    struct pl_scratch of_x, of_y;
    if (pl_node_type(x) == PL_STRING && pl_node_type(y) == PL_STRING)
        return pl_node_equal(x, y);
    return pl_slice_eq(pl_node_str(x, &of_x), pl_node_str(y, &of_y));
}

void pl_meta_type(struct pl_node object, struct pl_node *api_version, struct pl_node *kind)
{
    struct pl_iter it = pl_iter(object);
    unsigned missing = 2;
    *api_version = *kind = PL_NODE_MISSING;
    if (pl_node_type(object) != PL_OBJECT)
        return;
    while (missing > 0 && pl_iter_next(&it)) {
        struct pl_node *found = it.key.len == 4 ? kind : it.key.len == 10 ? api_version : NULL;
        if (found == NULL || !pl_slice_eqz(it.key, found == kind ? "kind" : "apiVersion"))
            continue;
        *found = it.value;
        missing--;
    }
}

bool pl_meta_same_rv(struct pl_node a, struct pl_node b)
{
    return pl_node_equal(meta_version_of(a), meta_version_of(b));
}

/* ---- keys ---- */

int pl_meta_key(struct pl_node object, struct pl_buf *out, struct pl_err *err)
{
    struct pl_scratch scratch[2];
    struct pl_slice name = pl_meta_name(object, &scratch[0]);
    if (name.len == 0)
        return pl_err_set(err, PL_EINVAL, "the object has no metadata.name");
    pl_key_add(out, pl_meta_namespace(object, &scratch[1]), name);
    return 0;
}

void pl_meta_put_key(struct pl_node object, struct pl_buf *out)
{
    PL_IGNORE(pl_meta_key(object, out, NULL)); /* without a name it adds nothing */
}

int pl_key_split(struct pl_slice key, struct pl_slice *ns, struct pl_slice *name)
{
    const char *slash = pl_slice_chr(key, '/');
    if (slash == NULL) {
        *ns = pl_slice(NULL, 0);
        *name = key;
        return key.len == 0 ? PL_EINVAL : 0;
    }
    *ns = pl_slice(key.ptr, (size_t)(slash - key.ptr));
    *name = pl_slice(slash + 1, key.len - ns->len - 1);
    if (ns->len == 0 || name->len == 0 || pl_slice_chr(*name, '/') != NULL)
        return PL_EINVAL;
    return 0;
}

void pl_key_add(struct pl_buf *out, struct pl_slice ns, struct pl_slice name)
{
    pl_buf_reserve(out, ns.len + 1 + name.len);
    char *to = out->ptr + out->len;
    if (ns.len != 0) {
        memcpy(to, ns.ptr, ns.len);
        to += ns.len;
        *to++ = '/';
    }
    if (name.len != 0)
        memcpy(to, name.ptr, name.len);
    to[name.len] = '\0';
    out->len = (size_t)(to + name.len - out->ptr);
}

/* ---- the rest ---- */

int64_t pl_meta_generation(struct pl_node object)
{
    int64_t generation;
    return pl_node_int(field(object, "generation"), &generation) ? generation : 0;
}

bool pl_meta_is_deleting(struct pl_node object)
{
    return pl_node_type(field(object, "deletionTimestamp")) == PL_STRING;
}

bool pl_meta_has_finalizer(struct pl_node object, struct pl_slice name)
{
    struct pl_iter it = pl_iter(pl_node_dig(object, "metadata", "finalizers"));
    while (pl_iter_next(&it))
        if (pl_node_str_eq(it.value, name))
            return true;
    return false;
}

bool pl_meta_is_held(struct pl_node object)
{
    struct pl_node meta = pl_node_getz(object, "metadata");
    int64_t grace = 0;
    pl_node_int(pl_node_getz(meta, "deletionGracePeriodSeconds"), &grace);
    return grace > 0 || pl_node_len(pl_node_getz(meta, "finalizers")) > 0 ||
           pl_node_len(pl_node_dig(object, "spec", "finalizers")) > 0;
}

bool pl_meta_is_server_owned(struct pl_slice member)
{
    static const char names[][20] = {
        "managedFields", "resourceVersion", "generation", "creationTimestamp", "uid", "selfLink"};
    for (size_t i = 0; i < PL_ARRAY_LEN(names); i++)
        if (pl_slice_eqz(member, names[i]))
            return true;
    return false;
}

struct pl_node pl_meta_labels(struct pl_node object)
{
    return field(object, "labels");
}

struct pl_node pl_meta_annotations(struct pl_node object)
{
    return field(object, "annotations");
}

size_t pl_meta_owner_count(struct pl_node object)
{
    struct pl_node owners = field(object, "ownerReferences");
    return pl_node_type(owners) == PL_ARRAY ? pl_node_len(owners) : 0;
}

static void fill_owner(struct pl_node reference, struct pl_owner *owner)
{
    owner->api_version = pl_node_str(pl_node_getz(reference, "apiVersion"), &owner->scratch[0]);
    owner->kind = pl_node_str(pl_node_getz(reference, "kind"), &owner->scratch[1]);
    owner->name = pl_node_str(pl_node_getz(reference, "name"), &owner->scratch[2]);
    owner->uid = pl_node_str(pl_node_getz(reference, "uid"), &owner->scratch[3]);
    owner->controller = pl_node_bool(pl_node_getz(reference, "controller"));
}

bool pl_meta_owner(struct pl_node object, size_t index, struct pl_owner *owner)
{
    struct pl_node reference = pl_node_at(field(object, "ownerReferences"), index);
    if (pl_node_is_missing(reference))
        return false;
    fill_owner(reference, owner);
    return true;
}

bool pl_meta_controller(struct pl_node object, struct pl_owner *owner)
{
    struct pl_iter it = pl_iter(field(object, "ownerReferences"));
    while (pl_iter_next(&it)) {
        if (!pl_node_bool(pl_node_getz(it.value, "controller")))
            continue;
        fill_owner(it.value, owner);
        return true;
    }
    return false;
}

bool pl_rv_is_valid(struct pl_slice rv)
{
    if (rv.len == 0 || rv.ptr[0] == '0')
        return false;
    for (size_t i = 0; i < rv.len; i++)
        if ((unsigned char)(rv.ptr[i] - '0') > 9)
            return false;
    return true;
}

uint64_t pl_rv_number(struct pl_slice rv)
{
    uint64_t number = 0;
    if (!pl_rv_is_valid(rv) || rv.len > 19)
        return 0;
    for (size_t i = 0; i < rv.len; i++)
        number = number * 10 + (uint64_t)(rv.ptr[i] - '0');
    return number;
}

int pl_rv_compare(struct pl_slice a, struct pl_slice b)
{
    if (a.len != b.len)
        return a.len < b.len ? -1 : 1;
    return pl_slice_cmp(a, b);
}

/* RFC 6902. Operations change an overlay: an untouched value stays a position in the target or in
 * the patch; a touched one has its own list of children. The overlay is dropped when an operation
 * fails, so that no partial result remains.
 *
 * Copying shares positions, and so a patch of few bytes can multiply a document: the overlay, the
 * result and the work have limits. */
#include "object/patch.h"

#include "base/alloc.h"
#include "object/pointer.h"
#include "base/buf.h"
#include "value/build.h"
#include "value/scan.h"

#define MAX_OPERATIONS 10000
#define MAX_ENTRIES    (1u << 20) /* of the overlay, over all operations */
#define MAX_WORK       (1u << 27) /* children looked at or moved */

struct entry {
    struct pl_slice key;    /* in an object; borrowed from a document or from words */
    struct pl_node node;    /* the value while it is untouched; missing: null */
    struct entry *children; /* owned; the value once it is touched */
    size_t count, cap;
    enum pl_type type; /* PL_OBJECT or PL_ARRAY once touched, else PL_MISSING */
};

struct patcher {
    struct entry root;
    struct pl_slice *words; /* owned: the current pointer's words, then those of earlier ones */
    size_t word_count;
    size_t entries, work;
    struct pl_err *err;
};

/* A JSON pointer, split: words[first .. first + count). */
struct pointer {
    size_t first, count;
};

/* ---- the overlay ---- */

static void entry_deinit(struct entry *entry)
{
    for (size_t i = 0; i < entry->count; i++)
        entry_deinit(&entry->children[i]);
    pl_free(entry->children);
    entry->children = NULL;
    entry->count = entry->cap = 0;
    entry->type = PL_MISSING;
}

static struct entry untouched(struct pl_node node)
{
    return (struct entry){.node = node, .type = PL_MISSING};
}

static enum pl_type patch_json_type_of(const struct entry *entry)
{
    return entry->type != PL_MISSING ? entry->type : pl_node_type(entry->node);
}

static int patch_json_spend(struct patcher *p, size_t entries, size_t work)
{
    p->entries += entries;
    p->work += work;
    if (p->entries > MAX_ENTRIES || p->work > MAX_WORK)
        return pl_err_set(p->err, PL_ELIMIT, "the patch touches too much");
    return 0;
}

static int touch(struct patcher *p, struct entry *entry)
{
    enum pl_type type = pl_node_type(entry->node);
    if (entry->type != PL_MISSING || (type != PL_OBJECT && type != PL_ARRAY))
        return 0;
    size_t count = pl_node_len(entry->node);
    int rc = patch_json_spend(p, count + 1, count);
    if (rc != 0)
        return rc;
    struct pl_iter it = pl_iter(entry->node);
    entry->cap = count + 1;
    entry->children = pl_calloc(entry->cap, sizeof(*entry->children));
    entry->type = type;
    while (pl_iter_next(&it)) {
        struct entry *child = &entry->children[entry->count++];
        *child = untouched(it.value);
        child->key = it.key;
    }
    return 0;
}

static int patch_json_copy(struct patcher *p, const struct entry *from, struct entry *to)
{
    *to = *from;
    to->children = NULL;
    to->cap = to->count = 0;
    if (from->type == PL_MISSING)
        return 0;
    int rc = patch_json_spend(p, from->count + 1, from->count);
    if (rc != 0) {
        to->type = PL_MISSING;
        return rc;
    }
    to->cap = from->count + 1;
    to->children = pl_calloc(to->cap, sizeof(*to->children));
    while (rc == 0 && to->count < from->count) {
        rc = patch_json_copy(p, &from->children[to->count], &to->children[to->count]);
        to->count++;
    }
    return rc;
}

static int patch_json_insert(struct patcher *p, struct entry *parent, size_t at, struct entry value)
{
    int rc = patch_json_spend(p, 1, parent->count - at);
    if (rc != 0)
        return rc;
    if (parent->count == parent->cap) {
        parent->cap *= 2;
        parent->children =
            pl_reallocarray(parent->children, parent->cap, sizeof(*parent->children));
    }
    memmove(&parent->children[at + 1], &parent->children[at],
            (parent->count - at) * sizeof(*parent->children));
    parent->children[at] = value;
    parent->count++;
    return 0;
}

/* Removes the child and moves it into *value. */
static int extract(struct patcher *p, struct entry *parent, size_t at, struct entry *value)
{
    *value = parent->children[at];
    parent->count--;
    memmove(&parent->children[at], &parent->children[at + 1],
            (parent->count - at) * sizeof(*parent->children));
    return patch_json_spend(p, 0, parent->count - at);
}

/* ---- what it comes to ---- */

static bool fits_node(struct pl_node node, unsigned depth, size_t *left)
{
    struct pl_scratch scratch;
    struct pl_iter it = pl_iter(node);
    size_t size = pl_node_str(node, &scratch).len + pl_node_number(node, &scratch).len + 2;
    if (depth == 0 || size > *left)
        return false;
    *left -= size;
    while (pl_iter_next(&it)) {
        if (it.key.len > *left)
            return false;
        *left -= it.key.len;
        if (!fits_node(it.value, depth - 1, left))
            return false;
    }
    return true;
}

static bool patch_json_fits(const struct entry *entry, unsigned depth, size_t *left)
{
    if (entry->type == PL_MISSING)
        return fits_node(entry->node, depth, left);
    if (depth == 0)
        return false;
    for (size_t i = 0; i < entry->count; i++) {
        if (entry->children[i].key.len > *left)
            return false;
        *left -= entry->children[i].key.len;
        if (!patch_json_fits(&entry->children[i], depth - 1, left))
            return false;
    }
    return true;
}

static void write_entry(struct pl_build *b, const struct entry *entry)
{
    if (entry->type == PL_MISSING && pl_node_is_missing(entry->node)) {
        pl_build_null(b);
        return;
    }
    if (entry->type == PL_MISSING) {
        pl_build_node(b, entry->node);
        return;
    }
    if (entry->type == PL_OBJECT)
        pl_build_object(b);
    else
        pl_build_array(b);
    for (size_t i = 0; i < entry->count; i++) {
        if (entry->type == PL_OBJECT)
            pl_build_key(b, entry->children[i].key);
        write_entry(b, &entry->children[i]);
    }
    pl_build_end(b);
}

static struct pl_doc *patch_json_finish(const struct entry *entry, struct pl_err *err)
{
    size_t left = PL_SCAN_BYTES;
    if (!patch_json_fits(entry, PL_SCAN_DEPTH, &left)) {
        pl_err_set(err, PL_ELIMIT, "the patched document would be too large or too deep");
        return NULL;
    }
    struct pl_build *b = pl_build_create(NULL);
    write_entry(b, entry);
    return pl_build_close(b);
}

/* ---- pointers ---- */

static void add_word(struct patcher *p, struct pl_slice word)
{
    p->words = pl_reallocarray(p->words, p->word_count + 1, sizeof(*p->words));
    p->words[p->word_count++] = pl_slice(pl_memdup0(word.ptr, word.len), word.len);
}

static int parse_pointer(struct patcher *p, struct pl_node operation, const char *name,
                         struct pointer *pointer)
{
    struct pl_scratch scratch;
    struct pl_slice text = pl_node_str(pl_node_getz(operation, name), &scratch);
    *pointer = (struct pointer){.first = p->word_count};
    if (text.ptr == NULL)
        return pl_err_set(p->err, PL_ESYNTAX, "\"%s\" must be a JSON pointer", name);
    /* As in the API server: what stands before the first slash does not count. */
    const char *slash = pl_slice_chr(text, '/');
    if (slash == NULL && text.len != 0)
        return pl_err_set(p->err, PL_ESYNTAX, "\"%s\" must begin with '/'", name);
    if (slash != NULL)
        text = pl_slice(slash, text.len - (size_t)(slash - text.ptr));
    struct pl_buf word = PL_BUF_INIT;
    int rc;
    while ((rc = pl_pointer_next(&text, &word, p->err)) == 1)
        add_word(p, pl_slice(pl_buf_z(&word), word.len));
    pl_buf_deinit(&word);
    if (rc != 0)
        return rc;
    pointer->count = p->word_count - pointer->first;
    return patch_json_spend(p, 0, pointer->count);
}

static int no_such(struct patcher *p, struct pl_slice word)
{
    return pl_err_set(p->err, PL_EINVAL, "there is no \"%.*s\"", PL_FMT(word));
}

/* As in the API server: a negative index counts from the end. */
static int parse_index(struct patcher *p, struct pl_slice word, size_t len, size_t *index)
{
    size_t back;
    if (word.len > 1 && word.ptr[0] == '-' &&
        pl_pointer_index(pl_slice(word.ptr + 1, word.len - 1), &back) && back > 0 && back <= len) {
        *index = len - back;
        return 0;
    }
    return pl_pointer_index(word, index)
               ? 0
               : pl_err_set(p->err, PL_EINVAL, "\"%.*s\" is not an array index", PL_FMT(word));
}

/* The index of a child; count when there is none. */
static int patch_json_find(struct patcher *p, const struct entry *parent, struct pl_slice word,
                           size_t *at)
{
    if (parent->type == PL_ARRAY)
        return parse_index(p, word, parent->count, at);
    *at = 0;
    while (*at < parent->count && !pl_slice_eq(parent->children[*at].key, word))
        ++*at;
    return patch_json_spend(p, 0, *at);
}

static int find_existing(struct patcher *p, const struct entry *parent, struct pl_slice word,
                         size_t *at)
{
    int rc = patch_json_find(p, parent, word, at);
    return rc != 0 ? rc : *at >= parent->count ? no_such(p, word) : 0;
}

/* The touched container that holds the pointer's last step. */
static int find_parent(struct patcher *p, struct pointer pointer, struct entry **parent)
{
    struct entry *here = &p->root;
    for (size_t i = 0;; i++) {
        struct pl_slice word = p->words[pointer.first + i];
        enum pl_type type = patch_json_type_of(here);
        if (type != PL_OBJECT && type != PL_ARRAY)
            return pl_err_set(p->err, PL_EINVAL, "\"%.*s\" cannot be looked up in a %s",
                              PL_FMT(word), pl_type_name(type));
        size_t at;
        int rc = touch(p, here);
        *parent = here;
        if (rc != 0 || i + 1 == pointer.count)
            return rc;
        rc = find_existing(p, here, word, &at);
        if (rc != 0)
            return rc;
        here = &here->children[at];
    }
}

static struct pl_slice last_word(const struct patcher *p, struct pointer pointer)
{
    return p->words[pointer.first + pointer.count - 1];
}

static int patch_json_find_entry(struct patcher *p, struct pointer pointer, struct entry **found)
{
    size_t at = 0;
    *found = &p->root;
    if (pointer.count == 0)
        return 0;
    struct entry *parent = &p->root;
    int rc = find_parent(p, pointer, &parent);
    if (rc == 0)
        rc = find_existing(p, parent, last_word(p, pointer), &at);
    if (rc == 0)
        *found = &parent->children[at];
    return rc;
}

/* The same, but *found is NULL for an absent member of an object. */
static int find_or_none(struct patcher *p, struct pointer pointer, struct entry **found)
{
    struct entry *parent = &p->root;
    size_t at = 0;
    *found = NULL;
    if (pointer.count > 0) {
        int rc = find_parent(p, pointer, &parent);
        if (rc == 0)
            rc = patch_json_find(p, parent, last_word(p, pointer), &at);
        if (rc != 0 || (parent->type == PL_OBJECT && at == parent->count))
            return rc;
    }
    return patch_json_find_entry(p, pointer, found);
}

/* ---- operations ---- */

static void replace_entry(struct entry *entry, struct entry value)
{
    value.key = entry->key;
    entry_deinit(entry);
    *entry = value;
}

/* Takes value, even when it fails. */
static int patch_json_add(struct patcher *p, struct pointer pointer, struct entry value)
{
    struct entry *parent = &p->root;
    size_t at = 0;
    if (pointer.count == 0) {
        replace_entry(&p->root, value);
        return 0;
    }
    int rc = find_parent(p, pointer, &parent);
    struct pl_slice word = last_word(p, pointer);
    if (rc == 0 && parent->type == PL_ARRAY && pl_slice_eqz(word, "-"))
        at = parent->count;
    else if (rc == 0 && parent->type == PL_ARRAY)
        rc = parse_index(p, word, parent->count + 1, &at);
    else if (rc == 0)
        rc = patch_json_find(p, parent, word, &at);
    if (rc == 0 && at > parent->count)
        rc = no_such(p, word);
    if (rc == 0 && parent->type == PL_OBJECT && at < parent->count) {
        replace_entry(&parent->children[at], value);
        return 0;
    }
    value.key = word;
    if (rc == 0)
        rc = patch_json_insert(p, parent, at, value);
    if (rc != 0)
        entry_deinit(&value);
    return rc;
}

static int patch_json_take(struct patcher *p, struct pointer pointer, struct entry *value)
{
    struct entry *parent = &p->root;
    size_t at = 0;
    if (pointer.count == 0)
        return pl_err_set(p->err, PL_EINVAL, "the whole document cannot be removed");
    int rc = find_parent(p, pointer, &parent);
    if (rc == 0)
        rc = find_existing(p, parent, last_word(p, pointer), &at);
    return rc != 0 ? rc : extract(p, parent, at, value);
}

static int apply_remove(struct patcher *p, struct pointer path)
{
    struct entry value = untouched(PL_NODE_MISSING);
    int rc = patch_json_take(p, path, &value);
    entry_deinit(&value);
    return rc;
}

static bool is_inside(const struct patcher *p, struct pointer inner, struct pointer outer)
{
    if (inner.count <= outer.count)
        return false;
    for (size_t i = 0; i < outer.count; i++)
        if (!pl_slice_eq(p->words[inner.first + i], p->words[outer.first + i]))
            return false;
    return true;
}

static int apply_move(struct patcher *p, struct pointer from, struct pointer path)
{
    struct entry value = untouched(PL_NODE_MISSING), *found = &p->root;
    if (is_inside(p, path, from))
        return pl_err_set(p->err, PL_EINVAL, "a value cannot be moved into itself");
    if (from.count == 0 && path.count == 0)
        return 0;
    int rc = patch_json_find_entry(p, from, &found);
    if (rc == 0)
        rc = patch_json_take(p, from, &value);
    if (rc != 0) {
        entry_deinit(&value);
        return rc;
    }
    return patch_json_add(p, path, value);
}

static int apply_copy(struct patcher *p, struct pointer from, struct pointer path)
{
    struct entry value = untouched(PL_NODE_MISSING), *found = NULL;
    int rc = find_or_none(p, from, &found);
    if (rc == 0 && found != NULL)
        rc = patch_json_copy(p, found, &value);
    if (rc != 0) {
        entry_deinit(&value);
        return rc;
    }
    return patch_json_add(p, path, value);
}

static int equals(struct patcher *p, const struct entry *entry, struct pl_node value, bool *equal)
{
    if (entry->type == PL_MISSING) {
        *equal = pl_node_equal(entry->node, value);
        return 0;
    }
    struct pl_doc *doc = patch_json_finish(entry, p->err);
    if (doc == NULL)
        return PL_ELIMIT;
    *equal = pl_node_equal(pl_doc_root(doc), value);
    /* The bytes that were written for the comparison count as work. */
    int rc = patch_json_spend(p, 0, pl_doc_bytes(doc));
    pl_doc_unref(doc);
    return rc;
}

static int apply_test(struct patcher *p, struct pointer path, struct pl_node value)
{
    struct entry *parent = &p->root, *found = &p->root;
    size_t at = 0;
    bool equal = false;
    if (path.count != 0 && (pl_node_is_missing(value) || pl_node_type(value) == PL_NULL)) {
        /* As in the API server: an absent member of an object is equal to null in a test. */
        int rc = find_parent(p, path, &parent);
        if (rc == 0)
            rc = patch_json_find(p, parent, last_word(p, path), &at);
        if (rc != 0 || (parent->type == PL_OBJECT && at == parent->count))
            return rc;
    }
    int rc = patch_json_find_entry(p, path, &found);
    if (rc == 0)
        rc = equals(p, found, value, &equal);
    return rc != 0 || equal ? rc : pl_err_set(p->err, PL_EINVAL, "the value is different");
}

static int apply_replace(struct patcher *p, struct pointer path, struct pl_node value)
{
    struct entry *found = &p->root, *parent = NULL;
    size_t at = 0;
    if (path.count > 0) {
        /* As in the API server: an absent member of an object is added. */
        int rc = find_parent(p, path, &parent);
        if (rc == 0)
            rc = patch_json_find(p, parent, last_word(p, path), &at);
        if (rc != 0)
            return rc;
        if (parent->type == PL_OBJECT && at == parent->count)
            return patch_json_add(p, path, untouched(value));
    }
    int rc = patch_json_find_entry(p, path, &found);
    if (rc == 0)
        replace_entry(found, untouched(value));
    return rc;
}

static int apply_one(struct patcher *p, struct pl_node operation)
{
    struct pl_node op = pl_node_getz(operation, "op"), value = pl_node_getz(operation, "value");
    struct pointer path, from;
    int rc = parse_pointer(p, operation, "path", &path);
    if (rc != 0)
        return rc;
    if (pl_node_str_eq(op, pl_slice_z("remove")))
        return apply_remove(p, path);
    bool moves = pl_node_str_eq(op, pl_slice_z("move"));
    if (moves || pl_node_str_eq(op, pl_slice_z("copy"))) {
        rc = parse_pointer(p, operation, "from", &from);
        return rc != 0 ? rc : moves ? apply_move(p, from, path) : apply_copy(p, from, path);
    }
    bool adds = pl_node_str_eq(op, pl_slice_z("add"));
    bool replaces = pl_node_str_eq(op, pl_slice_z("replace"));
    if (!adds && !replaces && !pl_node_str_eq(op, pl_slice_z("test")))
        return pl_err_set(p->err, PL_ESYNTAX,
                          "\"op\" must be add, remove, replace, move, copy or test");
    if (adds)
        return patch_json_add(p, path, untouched(value));
    return replaces ? apply_replace(p, path, value) : apply_test(p, path, value);
}

static int apply_all(struct patcher *p, struct pl_node patch)
{
    struct pl_scratch scratch[2];
    struct pl_iter it = pl_iter(patch);
    if (pl_node_type(patch) != PL_ARRAY)
        return pl_err_set(p->err, PL_ESYNTAX, "a JSON patch must be an array, not %s",
                          pl_type_name(pl_node_type(patch)));
    if (pl_node_len(patch) > MAX_OPERATIONS)
        return pl_err_set(p->err, PL_ELIMIT, "a JSON patch has at most %d operations",
                          MAX_OPERATIONS);
    while (pl_iter_next(&it)) {
        int rc = apply_one(p, it.value);
        if (rc == 0)
            continue;
        struct pl_slice op = pl_node_str(pl_node_getz(it.value, "op"), &scratch[0]);
        struct pl_slice path = pl_node_str(pl_node_getz(it.value, "path"), &scratch[1]);
        pl_err_prefix(p->err, "operation %zu (%.*s %.*s)", it.index, PL_FMT(op), PL_FMT(path));
        return rc;
    }
    return 0;
}

struct pl_doc *pl_patch_json(struct pl_node target, struct pl_node patch, struct pl_err *err)
{
    struct patcher p = {.root = untouched(target), .err = err};
    struct pl_doc *doc = apply_all(&p, patch) == 0 ? patch_json_finish(&p.root, err) : NULL;
    entry_deinit(&p.root);
    for (size_t i = 0; i < p.word_count; i++)
        pl_free((char *)(uintptr_t)p.words[i].ptr);
    pl_free(p.words);
    return doc;
}

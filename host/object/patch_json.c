/* RFC 6902. Operations change an overlay (patch_overlay.h), which is dropped when one of them
 * fails, so that no partial result remains. */
#include "object/patch.h"

#include "base/buf.h"
#include "base/text.h"
#include "object/patch_overlay.h"
#include "object/pointer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPERATIONS 10000

struct patcher {
    struct pl_overlay overlay;
    struct pl_overlaid *root;
    struct pl_err *err;
};

/* A JSON pointer, split into words, which lie in the overlay's arena. */
struct pointer {
    struct pl_slice *words;
    size_t count;
};

/* Where a pointer leads. */
struct place {
    struct pl_overlaid *parent; /* touched; NULL: the place is the root */
    struct pl_slice word;       /* the last one */
    size_t index;               /* in a parent that is an array */
    struct pl_overlaid *value;  /* NULL: there is none */
};

/* ---- pointers ---- */

/* As in the API server: a "~" before anything but 0 and 1 stands for itself. */
static struct pl_slice tolerate_tildes(struct patcher *p, struct pl_slice text)
{
    if (pl_slice_chr(text, '~') == NULL)
        return text;
    struct pl_buf out = PL_BUF_INIT;
    for (size_t i = 0; i < text.len; i++) {
        bool is_escape = i + 1 < text.len && (text.ptr[i + 1] == '0' || text.ptr[i + 1] == '1');
        pl_buf_add_char(&out, text.ptr[i]);
        if (text.ptr[i] == '~' && !is_escape)
            pl_buf_add_char(&out, '0');
    }
    text = pl_arena_copy(&p->overlay.arena, pl_buf_slice(&out));
    pl_buf_deinit(&out);
    return text;
}

static int parse_words(struct patcher *p, struct pl_slice text, struct pointer *pointer)
{
    size_t most = 0;
    struct pl_buf word = PL_BUF_INIT;
    int rc;
    for (size_t i = 0; i < text.len; i++)
        most += text.ptr[i] == '/';
    pointer->words = pl_arena_alloc(&p->overlay.arena, most * sizeof(*pointer->words));
    while ((rc = pl_pointer_next(&text, &word, p->err)) == 1)
        pointer->words[pointer->count++] =
            pl_arena_copy(&p->overlay.arena, pl_slice(pl_buf_z(&word), word.len));
    pl_buf_deinit(&word);
    return rc != 0 ? rc : pl_overlay_spend(&p->overlay, 0, pointer->count);
}

static int parse_pointer(struct patcher *p, struct pl_node operation, const char *name,
                         struct pointer *pointer)
{
    struct pl_scratch scratch;
    struct pl_slice text = pl_node_str(pl_node_getz(operation, name), &scratch);
    *pointer = (struct pointer){.count = 0};
    if (text.ptr == NULL)
        return pl_err_set(p->err, PL_ESYNTAX, "\"%s\" must be a JSON pointer", name);
    /* As in the API server: what stands before the first slash does not count. */
    const char *slash = pl_slice_chr(text, '/');
    if (slash == NULL && text.len != 0)
        return pl_err_set(p->err, PL_ESYNTAX, "\"%s\" must begin with '/'", name);
    if (slash != NULL)
        text = pl_slice(slash, text.len - (size_t)(slash - text.ptr));
    return parse_words(p, tolerate_tildes(p, text), pointer);
}

static int no_such(struct patcher *p, struct pl_slice word)
{
    return pl_err_set(p->err, PL_EINVAL, "there is no \"%.*s\"", PL_FMT(word));
}

/* As in the API server: a sign and zeros may stand in front, and a negative index counts from the
 * end. */
static int parse_index(struct patcher *p, struct pl_slice word, size_t len, size_t *index)
{
    struct pl_slice digits = word;
    bool is_signed = word.len > 1 && (word.ptr[0] == '+' || word.ptr[0] == '-');
    if (is_signed)
        digits = pl_slice(word.ptr + 1, word.len - 1);
    while (digits.len > 1 && digits.ptr[0] == '0')
        digits = pl_slice(digits.ptr + 1, digits.len - 1);
    bool is_fine = pl_pointer_index(digits, index);
    if (is_fine && is_signed && word.ptr[0] == '-' && *index > 0) {
        is_fine = *index <= len;
        *index = len - *index;
    }
    return is_fine ? 0
                   : pl_err_set(p->err, PL_EINVAL, "\"%.*s\" is not an array index", PL_FMT(word));
}

/* The child of the place's parent; both kinds of containers. */
static int find_child(struct patcher *p, struct place *place)
{
    int rc = 0;
    if (place->parent->tree.type == PL_OBJECT) {
        place->value = pl_overlay_member(place->parent, place->word);
    } else {
        rc = parse_index(p, place->word, place->parent->count, &place->index);
        place->value = rc == 0 ? pl_overlay_element(place->parent, place->index) : NULL;
    }
    return rc;
}

/* Finds and touches the container that has, or would have, the last word's child. */
static int find_parent(struct patcher *p, struct pointer pointer, struct place *place)
{
    *place = (struct place){.value = p->root};
    for (size_t i = 0; i < pointer.count; i++) {
        int rc = i > 0 ? find_child(p, place) : 0;
        if (rc == 0 && place->value == NULL)
            rc = no_such(p, place->word);
        if (rc != 0)
            return rc;
        enum pl_type type = pl_overlay_type(place->value);
        place->word = pointer.words[i];
        if (type != PL_OBJECT && type != PL_ARRAY)
            return pl_err_set(p->err, PL_EINVAL, "\"%.*s\" cannot be looked up in a %s",
                              PL_FMT(place->word), pl_type_name(type));
        place->parent = place->value;
        rc = pl_overlay_touch(&p->overlay, place->parent);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* Finds the place; whether its value may be absent is the caller's matter. */
static int find_place(struct patcher *p, struct pointer pointer, struct place *place)
{
    int rc = find_parent(p, pointer, place);
    return rc != 0 || place->parent == NULL ? rc : find_child(p, place);
}

/* The same, but an array must have the element. */
static int find_member(struct patcher *p, struct pointer pointer, struct place *place)
{
    int rc = find_place(p, pointer, place);
    if (rc == 0 && place->value == NULL && place->parent->tree.type == PL_ARRAY)
        rc = no_such(p, place->word);
    return rc;
}

static int find_existing(struct patcher *p, struct pointer pointer, struct place *place)
{
    int rc = find_place(p, pointer, place);
    return rc == 0 && place->value == NULL ? no_such(p, place->word) : rc;
}

/* ---- operations ---- */

static struct pl_overlaid *patch_json_value(struct patcher *p, struct pl_node node)
{
    return pl_overlay_value(&p->overlay, node);
}

static int add_element(struct patcher *p, struct place *place, struct pl_overlaid *value)
{
    size_t count = place->parent->count;
    int rc = 0;
    if (pl_slice_eqz(place->word, "-"))
        place->index = count;
    else
        rc = parse_index(p, place->word, count + 1, &place->index);
    if (rc == 0 && place->index > count)
        rc = no_such(p, place->word);
    return rc != 0 ? rc : pl_overlay_insert(&p->overlay, place->parent, place->index, value);
}

static int patch_json_add(struct patcher *p, struct pointer pointer, struct pl_overlaid *value)
{
    struct place place;
    int rc = find_parent(p, pointer, &place);
    if (rc != 0)
        return rc;
    if (place.parent != NULL && place.parent->tree.type == PL_ARRAY)
        return add_element(p, &place, value);
    if (place.parent != NULL)
        place.value = pl_overlay_member(place.parent, place.word);
    if (place.value == NULL)
        return pl_overlay_add_member(&p->overlay, place.parent, place.word, value);
    *place.value = *value;
    return 0;
}

/* Removes the value. It keeps its content. */
static int patch_json_take(struct patcher *p, struct pointer pointer, struct pl_overlaid **value)
{
    struct place place;
    if (pointer.count == 0)
        return pl_err_set(p->err, PL_EINVAL, "the whole document cannot be removed");
    int rc = find_existing(p, pointer, &place);
    if (rc != 0)
        return rc;
    *value = place.value;
    if (place.parent->tree.type == PL_ARRAY)
        return pl_overlay_remove(&p->overlay, place.parent, place.index);
    pl_overlay_remove_member(place.parent, place.word);
    return 0;
}

static bool is_inside(struct pointer inner, struct pointer outer)
{
    if (inner.count <= outer.count)
        return false;
    for (size_t i = 0; i < outer.count; i++)
        if (!pl_slice_eq(inner.words[i], outer.words[i]))
            return false;
    return true;
}

static int apply_move(struct patcher *p, struct pointer from, struct pointer path)
{
    struct pl_overlaid *value;
    if (is_inside(path, from))
        return pl_err_set(p->err, PL_EINVAL, "a value cannot be moved into itself");
    if (from.count == 0 && path.count == 0)
        return 0;
    int rc = patch_json_take(p, from, &value);
    return rc != 0 ? rc : patch_json_add(p, path, value);
}

/* As in the API server: the copy of an absent member is null. */
static int apply_copy(struct patcher *p, struct pointer from, struct pointer path)
{
    struct place place;
    struct pl_overlaid *value = patch_json_value(p, PL_NODE_MISSING);
    int rc = find_member(p, from, &place);
    if (rc == 0 && place.value != NULL)
        rc = pl_overlay_copy(&p->overlay, place.value, &value);
    return rc != 0 ? rc : patch_json_add(p, path, value);
}

/* The digits of a small number, without an exponent: the fewest that read back the same. */
static void write_small(double value, char out[80])
{
    for (int digits = 6; digits < 30; digits++) {
        snprintf(out, 80, "%.*f", digits, value);
        if (strtod(out, NULL) == value)
            return;
    }
}

/* A number of the object as the API server writes it: 1.0 is 1, 1e-7 has no more digits. */
static struct pl_slice written_number(struct pl_node number, struct pl_slice text, char out[80])
{
    double value = pl_node_double(number), size = fabs(value);
    bool is_integer = true;
    for (size_t i = 0; i < text.len; i++)
        is_integer = is_integer && (pl_is_digit(text.ptr[i]) || text.ptr[i] == '-');
    if (is_integer)
        return text;
    if (value == floor(value) && size < 1e21)
        snprintf(out, 80, "%.0f", value);
    else if (size >= 1e-6 && size < 1e-4)
        write_small(value, out);
    else
        pl_text_of_double(value, out);
    char *zero = strstr(out, "e-0");
    if (zero != NULL)
        memmove(zero + 2, zero + 3, strlen(zero + 3) + 1);
    return pl_slice_z(out);
}

static bool is_same_number(struct pl_node a, struct pl_node b)
{
    struct pl_scratch one, two;
    char written[80];
    struct pl_slice text = pl_node_number(a, &one);
    if (a.doc != b.doc) /* the object's; else it came from the patch, too */
        text = written_number(a, text, written);
    return pl_slice_eq(text, pl_node_number(b, &two));
}

/* a: in the object, b: in the patch. kube-apiserver compares the texts of numbers. */
static bool has_same_numbers(struct pl_node a, struct pl_node b)
{
    if (pl_node_type(a) == PL_NUMBER)
        return is_same_number(a, b);
    struct pl_iter it = pl_iter(a), other = pl_iter(b);
    bool is_array = pl_node_type(a) == PL_ARRAY, same = true;
    while (same && pl_iter_next(&it)) {
        if (is_array)
            same = pl_iter_next(&other) && has_same_numbers(it.value, other.value);
        else if (pl_node_type(a) == PL_OBJECT)
            same = has_same_numbers(it.value, pl_node_get(b, it.key));
    }
    return same;
}

static int equals(struct patcher *p, const struct pl_overlaid *value, struct pl_node node,
                  bool *equal)
{
    if (value->tree.type == PL_MISSING) {
        *equal = pl_node_equal(value->node, node) && has_same_numbers(value->node, node);
        return 0;
    }
    struct pl_doc *doc = pl_overlay_finish(value, p->err);
    if (doc == NULL)
        return PL_ELIMIT;
    *equal = pl_node_equal(pl_doc_root(doc), node) && has_same_numbers(pl_doc_root(doc), node);
    /* The bytes that were written for the comparison count as work. */
    int rc = pl_overlay_spend(&p->overlay, 0, pl_doc_bytes(doc));
    pl_doc_unref(doc);
    return rc;
}

/* As in the API server: an absent member of an object is equal to null in a test. */
static int apply_test(struct patcher *p, struct pointer path, struct pl_node value)
{
    struct place place;
    bool equal = false, is_null = pl_node_is_missing(value) || pl_node_type(value) == PL_NULL;
    int rc = is_null ? find_member(p, path, &place) : find_existing(p, path, &place);
    if (rc == 0 && place.value == NULL)
        return 0;
    if (rc == 0)
        rc = equals(p, place.value, value, &equal);
    return rc != 0 || equal ? rc : pl_err_set(p->err, PL_EREFUSED, "the value is different");
}

/* As in the API server: an absent member of an object is added. */
static int apply_replace(struct patcher *p, struct pointer path, struct pl_node value)
{
    struct place place;
    int rc = find_member(p, path, &place);
    if (rc == 0 && place.value == NULL)
        return pl_overlay_add_member(&p->overlay, place.parent, place.word,
                                     patch_json_value(p, value));
    if (rc == 0)
        *place.value = *patch_json_value(p, value);
    return rc;
}

static int apply_one(struct patcher *p, struct pl_node operation)
{
    struct pl_node op = pl_node_getz(operation, "op"), value = pl_node_getz(operation, "value");
    struct pointer path, from;
    struct pl_overlaid *removed;
    int rc = parse_pointer(p, operation, "path", &path);
    if (rc != 0)
        return rc;
    if (pl_node_str_eq(op, pl_slice_z("remove")))
        return patch_json_take(p, path, &removed);
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
        return patch_json_add(p, path, patch_json_value(p, value));
    return replaces ? apply_replace(p, path, value) : apply_test(p, path, value);
}

static int apply_all(struct patcher *p, struct pl_node patch, size_t *failed)
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
        *failed = it.index;
        if (rc == 0)
            continue;
        struct pl_slice op = pl_node_str(pl_node_getz(it.value, "op"), &scratch[0]);
        struct pl_slice path = pl_node_str(pl_node_getz(it.value, "path"), &scratch[1]);
        pl_err_prefix(p->err, "operation %zu (%.*s %.*s)", it.index, PL_FMT(op), PL_FMT(path));
        return rc;
    }
    return 0;
}

struct pl_doc *pl_patch_json_at(struct pl_node target, struct pl_node patch, size_t *failed,
                                struct pl_err *err)
{
    struct patcher p = {.overlay = {.err = err}, .err = err};
    p.root = patch_json_value(&p, target);
    struct pl_doc *doc = apply_all(&p, patch, failed) == 0 ? pl_overlay_finish(p.root, err) : NULL;
    pl_overlay_deinit(&p.overlay);
    return doc;
}

struct pl_doc *pl_patch_json(struct pl_node target, struct pl_node patch, struct pl_err *err)
{
    size_t failed = 0;
    struct pl_doc *doc = pl_patch_json_at(target, patch, &failed, err);
    if (doc == NULL && err != NULL && err->code == PL_EREFUSED)
        err->code = PL_EINVAL;
    return doc;
}

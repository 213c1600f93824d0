/* Compares the effects of two runs of a key, for `reload --shadow`. Two effects are equal when
 * their results are. Times that mean "now" may differ by a moment, and the running run may have
 * defaults of the server that the candidate has not read. Values of Secrets never reach a report.
 */
#include "write/compare.h"

#include "base/utf8.h"
#include "format/units.h"
#include "object/diff.h"
#include "object/hide.h"
#include "object/path.h"
#include "value/write.h"

#include <string.h>

#define PATHS_MAX 32
#define VALUE_MAX 200
/* Maximal difference of two times that mean "now". */
#define NOW_NS ((uint64_t)(60 * PL_SECOND))

static bool docs_eq(const struct pl_doc *a, const struct pl_doc *b)
{
    return pl_node_equal(pl_doc_root(a), pl_doc_root(b));
}

/* ---- documents of two runs, one a little later than the other ---- */

static bool both_now(struct pl_node a, struct pl_node b)
{
    struct pl_scratch one, other;
    int64_t first, second;
    if (!pl_time_parse(pl_node_str(a, &one), &first) ||
        !pl_time_parse(pl_node_str(b, &other), &second))
        return false;
    uint64_t apart =
        first > second ? (uint64_t)first - (uint64_t)second : (uint64_t)second - (uint64_t)first;
    return apart <= NOW_NS;
}

/* Equal, except times that are nearly the same, such as a condition's time of change. more: b may
 * have members that a lacks. */
static bool is_alike(struct pl_node a, struct pl_node b, bool more)
{
    if (pl_node_equal(a, b) || both_now(a, b))
        return true;
    enum pl_type type = pl_node_type(a);
    bool enough = pl_node_len(a) == pl_node_len(b) || (more && type == PL_OBJECT);
    if (type != pl_node_type(b) || (type != PL_OBJECT && type != PL_ARRAY) || !enough)
        return false;
    for (struct pl_iter it = pl_iter(a); pl_iter_next(&it);) {
        struct pl_node other =
            it.key.ptr != NULL ? pl_node_get(b, it.key) : pl_node_at(b, it.index);
        if (!is_alike(it.value, other, more))
            return false;
    }
    return true;
}

static bool docs_alike(const struct pl_doc *a, const struct pl_doc *b)
{
    return is_alike(pl_doc_root(a), pl_doc_root(b), false);
}

bool pl_effect_eq(const struct pl_effect *running, const struct pl_effect *candidate)
{
    if (strcmp(running->verb, candidate->verb) != 0)
        return false;
    if (docs_alike(running->sent, candidate->sent))
        return true;
    if (!running->is_write || running->after == NULL || candidate->after == NULL)
        return false;
    bool defaulted = running->several && running->before == NULL && candidate->before == NULL;
    return is_alike(pl_doc_root(candidate->after), pl_doc_root(running->after), defaulted);
}

void pl_compare(const struct pl_capture *running, const struct pl_capture *candidate,
                pl_compare_fn differs, pl_compare_fn agrees, void *arg)
{
    for (size_t i = 0; i < pl_capture_count(candidate); i++) {
        const struct pl_effect *effect = pl_capture_at(candidate, i);
        const struct pl_effect *other =
            running != NULL ? pl_capture_find(running, effect->name) : NULL;
        if (running == NULL && !effect->is_write)
            continue;
        if (other != NULL && pl_effect_eq(other, effect))
            agrees(arg, other, effect);
        else
            differs(arg, other, effect);
    }
    for (size_t i = 0; running != NULL && i < pl_capture_count(running); i++) {
        const struct pl_effect *effect = pl_capture_at(running, i);
        if (pl_capture_find(candidate, effect->name) == NULL)
            differs(arg, effect, NULL);
    }
}

/* ---- as text ---- */

static void add_secret(struct pl_buf *out, struct pl_node node)
{
    struct pl_scratch scratch;
    if (pl_node_type(node) == PL_OBJECT) {
        bool first = true;
        pl_buf_add_char(out, '{');
        for (struct pl_iter it = pl_iter(node); pl_iter_next(&it); first = false) {
            pl_buf_add_z(out, first ? "" : ",");
            pl_write_str(out, it.key);
            pl_buf_add_char(out, ':');
            add_secret(out, it.value);
        }
        pl_buf_add_char(out, '}');
    } else if (!pl_node_is_missing(node)) {
        pl_buf_add_f(out, "<%zu bytes>", pl_node_str(node, &scratch).len);
    }
}

static bool hides(const struct pl_effect *effect, const char *path)
{
    return effect->is_secret &&
           (strncmp(path, "data", 4) == 0 || strncmp(path, "stringData", 10) == 0);
}

/* Cuts at the beginning of a character. */
static void compare_cut(struct pl_buf *text)
{
    if (text->len <= VALUE_MAX)
        return;
    text->len = pl_utf8_cut(pl_buf_slice(text), VALUE_MAX);
    pl_buf_add_z(text, "...");
}

static void write_hidden(struct pl_buf *text, struct pl_node value, const struct pl_secrets *hidden)
{
    struct pl_build *b = pl_build_create(NULL);
    pl_hide_build(b, value, hidden, false);
    pl_build_write(text, b, PL_WRITE_SORTED);
}

struct sides {
    const struct pl_effect *effect;
    const struct pl_secrets *hidden;
    struct pl_node old_node, new_node;
};

static void compare_build_value(struct pl_build *b, const char *name, struct pl_node value,
                                const struct sides *sides, bool secret)
{
    struct pl_buf text = PL_BUF_INIT;
    if (pl_node_is_missing(value))
        return;
    if (secret)
        add_secret(&text, value);
    else
        write_hidden(&text, value, sides->hidden);
    compare_cut(&text);
    pl_build_put_str(b, name, pl_buf_slice(&text));
    pl_buf_deinit(&text);
}

static void build_change(struct pl_build *b, const struct sides *sides, const char *text)
{
    struct pl_path *path = pl_path_parse(pl_slice_z(text), NULL);
    bool secret = hides(sides->effect, text);
    if (path == NULL)
        return;
    pl_build_object(b);
    pl_build_keyz(b, "path");
    pl_hide_text(b, pl_slice_z(text), sides->hidden);
    compare_build_value(b, "old", pl_path_find(path, sides->old_node), sides, secret);
    compare_build_value(b, "new", pl_path_find(path, sides->new_node), sides, secret);
    pl_build_end(b);
    pl_path_destroy(path);
}

static struct pl_doc *empty_object(void)
{
    struct pl_build *b = pl_build_create(NULL);
    pl_build_object(b);
    pl_build_end(b);
    return pl_build_close(b);
}

/* Chooses the documents to show: before and after if only one run did it; both results if both did,
 * or both requests if the results are unknown. */
static void compare_choose(struct sides *sides, const struct pl_effect *running,
                           const struct pl_effect *candidate)
{
    const struct pl_effect *one = candidate != NULL ? candidate : running;
    sides->effect = one;
    if (running != NULL && candidate != NULL) {
        bool made = running->after != NULL && candidate->after != NULL &&
                    !docs_eq(running->after, candidate->after);
        sides->old_node = pl_doc_root(made ? running->after : running->sent);
        sides->new_node = pl_doc_root(made ? candidate->after : candidate->sent);
        return;
    }
    bool made = one->before != NULL || one->after != NULL;
    sides->old_node = pl_doc_root(one->before);
    sides->new_node = pl_doc_root(made ? one->after : one->sent);
}

static void build_changes(struct pl_build *b, const struct pl_effect *running,
                          const struct pl_effect *candidate, const struct pl_secrets *hidden)
{
    struct sides sides = {.hidden = hidden};
    struct pl_paths paths = {0};
    struct pl_doc *empty = empty_object();
    compare_choose(&sides, running, candidate);
    bool whole =
        pl_node_type(sides.old_node) == PL_STRING || pl_node_type(sides.new_node) == PL_STRING ||
        pl_node_type(sides.old_node) == PL_ARRAY || pl_node_type(sides.new_node) == PL_ARRAY;
    if (!whole && pl_node_is_missing(sides.old_node))
        sides.old_node = pl_doc_root(empty);
    bool gone = pl_node_is_missing(sides.new_node);
    pl_build_keyz(b, "changes");
    pl_build_array(b);
    if (whole) {
        build_change(b, &sides, "");
    } else if (!gone) {
        pl_diff(sides.old_node, sides.new_node, PATHS_MAX, &paths);
        for (size_t i = 0; i < paths.count; i++)
            build_change(b, &sides, paths.items[i]);
    }
    pl_build_end(b);
    if (paths.cut) {
        pl_build_put_bool(b, "more", true);
    }
    pl_paths_deinit(&paths);
    pl_doc_unref(empty);
}

void pl_difference_build(struct pl_build *b, const struct pl_effect *running,
                         const struct pl_effect *candidate, const struct pl_secrets *hidden)
{
    const struct pl_effect *one = candidate != NULL ? candidate : running;
    pl_build_object(b);
    pl_build_keyz(b, "what");
    pl_hide_text(b, pl_slice_z(one->name), hidden);
    pl_build_put_strz(b, "candidate", candidate != NULL ? candidate->verb : "");
    pl_build_put_strz(b, "running", running != NULL ? running->verb : "");
    build_changes(b, running, candidate, hidden);
    if (one->note != NULL) {
        pl_build_put_strz(b, "note", one->note);
    }
    pl_build_end(b);
}

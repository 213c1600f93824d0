/* Documents as JSON text: compact, indented or with sorted names. Numbers are written as they were
 * read. Strings are valid UTF-8 already, so only quotes, backslashes and control characters need
 * escapes. It cannot fail. The recursion is as deep as the document, which the scanner and the
 * builder limit. */
#include "value/write.h"

#include "base/alloc.h"
#include "base/text.h"

#include <stdint.h>
#include <stdlib.h>

enum { INDENT = 2 };

static void add_escape(struct pl_buf *out, uint8_t c)
{
    static const char short_forms[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    for (const char *form = short_forms; *form != '\0'; form += 2) {
        if ((uint8_t)form[0] == c) {
            pl_buf_add_char(out, '\\');
            pl_buf_add_char(out, form[1]);
            return;
        }
    }
    pl_buf_add_f(out, "\\u%04x", c);
}

void pl_write_str(struct pl_buf *out, struct pl_slice text)
{
    pl_buf_reserve(out, text.len + 2);
    pl_buf_add_char(out, '"');
    for (size_t at = 0; at < text.len;) {
        size_t run = pl_text_plain(pl_slice(text.ptr + at, text.len - at));
        pl_buf_add(out, text.ptr + at, run);
        at += run;
        if (at < text.len)
            add_escape(out, (uint8_t)text.ptr[at++]);
    }
    pl_buf_add_char(out, '"');
}

struct member {
    struct pl_slice key;
    struct pl_node value;
};

struct writer {
    struct pl_buf *out;
    unsigned flags;
    size_t level;
};

static void write_node(struct writer *w, struct pl_node node);

static void new_line(struct writer *w)
{
    if ((w->flags & PL_WRITE_PRETTY) == 0)
        return;
    pl_buf_reserve(w->out, 1 + w->level * INDENT);
    pl_buf_add_char(w->out, '\n');
    for (size_t i = 0; i < w->level * INDENT; i++)
        pl_buf_add_char(w->out, ' ');
}

static void open_item(struct writer *w, size_t index)
{
    if (index > 0)
        pl_buf_add_char(w->out, ',');
    new_line(w);
}

static void write_member(struct writer *w, size_t index, struct pl_slice key, struct pl_node value)
{
    open_item(w, index);
    pl_write_str(w->out, key);
    pl_buf_add_char(w->out, ':');
    if (w->flags & PL_WRITE_PRETTY)
        pl_buf_add_char(w->out, ' ');
    write_node(w, value);
}

static int write_by_key(const void *a, const void *b)
{
    return pl_slice_cmp(((const struct member *)a)->key, ((const struct member *)b)->key);
}

static void write_sorted(struct writer *w, struct pl_node node)
{
    size_t count = 0;
    struct member *members = pl_reallocarray(NULL, pl_node_len(node), sizeof(*members));
    for (struct pl_iter it = pl_iter(node); pl_iter_next(&it);)
        members[count++] = (struct member){it.key, it.value};
    qsort(members, count, sizeof(*members), write_by_key);
    for (size_t i = 0; i < count; i++)
        write_member(w, i, members[i].key, members[i].value);
    pl_free(members);
}

static void write_box(struct writer *w, struct pl_node node, bool is_object)
{
    pl_buf_add_char(w->out, is_object ? '{' : '[');
    w->level++;
    if (is_object && (w->flags & PL_WRITE_SORTED)) {
        write_sorted(w, node);
    } else {
        for (struct pl_iter it = pl_iter(node); pl_iter_next(&it);) {
            if (is_object) {
                write_member(w, it.index, it.key, it.value);
            } else {
                open_item(w, it.index);
                write_node(w, it.value);
            }
        }
    }
    w->level--;
    if (pl_node_len(node) > 0)
        new_line(w);
    pl_buf_add_char(w->out, is_object ? '}' : ']');
}

static void write_node(struct writer *w, struct pl_node node)
{
    struct pl_scratch scratch;
    switch (pl_node_type(node)) {
    case PL_BOOL:
        pl_buf_add_z(w->out, pl_node_bool(node) ? "true" : "false");
        break;
    case PL_NUMBER:
        pl_buf_add_slice(w->out, pl_node_number(node, &scratch));
        break;
    case PL_STRING:
        pl_write_str(w->out, pl_node_str(node, &scratch));
        break;
    case PL_ARRAY:
        write_box(w, node, false);
        break;
    case PL_OBJECT:
        write_box(w, node, true);
        break;
    default:
        pl_buf_add(w->out, "null", 4);
        break;
    }
}

void pl_write(struct pl_buf *out, struct pl_node node, unsigned flags)
{
    struct writer w = {out, flags, 0};
    write_node(&w, node);
}

void pl_build_write(struct pl_buf *out, struct pl_build *b, unsigned flags)
{
    struct pl_doc *doc = pl_build_close(b);
    pl_write(out, pl_doc_root(doc), flags);
    pl_doc_unref(doc);
}

/* Lines are matched as difflib does: the longest common block first, then the lines before and
 * after it. Lines that are frequent in a long text begin no block. The number of lines has a limit,
 * and so has the number of comparisons: all lines after that are one change. */
#include "gotype/line_diff.h"

#include "base/alloc.h"
#include "base/buf.h"

#include <string.h>

#define MAX_LINES       2000
#define MAX_COMPARISONS ((size_t)16 << 20) /* some tens of milliseconds */
#define MANY            200                /* from here on, frequent lines are passed over */
#define CONTEXT         3

struct lines {
    struct pl_slice items[MAX_LINES];
    size_t count;
};

struct block {
    size_t a, b, len;
};

struct line_match {
    struct lines a, b;
    bool frequent[MAX_LINES]; /* of b */
    struct block blocks[MAX_LINES + 1];
    size_t count;
    size_t row[2][MAX_LINES + 1];
    size_t comparisons; /* so far */
};

static bool split(struct lines *lines, struct pl_slice text)
{
    lines->count = 0;
    for (size_t at = 0; at <= text.len;) {
        const char *end = memchr(text.ptr + at, '\n', text.len - at);
        size_t len = end != NULL ? (size_t)(end - text.ptr) - at : text.len - at;
        if (lines->count == MAX_LINES)
            return false;
        lines->items[lines->count++] = pl_slice(text.ptr + at, len);
        at += len + 1;
    }
    return true;
}

static void find_frequent(struct line_match *m)
{
    for (size_t i = 0; i < m->b.count && m->b.count >= MANY; i++) {
        size_t same = 0;
        for (size_t k = 0; k < m->b.count; k++)
            same += pl_slice_eq(m->b.items[i], m->b.items[k]);
        m->frequent[i] = same > m->b.count / 100 + 1;
    }
}

static bool same_line(const struct line_match *m, size_t a, size_t b)
{
    return pl_slice_eq(m->a.items[a], m->b.items[b]);
}

/* The longest block in these ranges; of equal ones the first. */
static struct block longest(struct line_match *m, struct block from, struct block to)
{
    struct block best = {from.a, from.b, 0};
    m->comparisons += (to.a - from.a) * (to.b - from.b);
    if (m->comparisons > MAX_COMPARISONS)
        return best;
    memset(m->row, 0, sizeof(m->row));
    for (size_t i = from.a; i < to.a; i++) {
        size_t *now = m->row[i & 1], *last = m->row[(i & 1) ^ 1];
        memset(now, 0, sizeof(m->row[0]));
        for (size_t k = from.b; k < to.b; k++) {
            if (m->frequent[k] || !same_line(m, i, k))
                continue;
            now[k + 1] = last[k] + 1;
            if (now[k + 1] > best.len)
                best = (struct block){i + 1 - now[k + 1], k + 1 - now[k + 1], now[k + 1]};
        }
    }
    while (best.a > from.a && best.b > from.b && same_line(m, best.a - 1, best.b - 1))
        best = (struct block){best.a - 1, best.b - 1, best.len + 1};
    while (best.a + best.len < to.a && best.b + best.len < to.b &&
           same_line(m, best.a + best.len, best.b + best.len))
        best.len++;
    return best;
}

static void match(struct line_match *m, struct block from, struct block to)
{
    struct block best = longest(m, from, to);
    if (best.len == 0)
        return;
    if (from.a < best.a && from.b < best.b)
        match(m, from, best);
    struct block *last = m->count > 0 ? &m->blocks[m->count - 1] : NULL;
    if (last != NULL && last->a + last->len == best.a && last->b + last->len == best.b)
        last->len += best.len;
    else
        m->blocks[m->count++] = best;
    struct block behind = {best.a + best.len, best.b + best.len, 0};
    if (behind.a < to.a && behind.b < to.b)
        match(m, behind, to);
}

/* ---- writing ---- */

static void add_hunk_range(struct pl_buf *out, char sign, size_t begin, size_t end)
{
    size_t len = end - begin;
    if (len == 1)
        pl_buf_add_f(out, "%c%zu", sign, begin + 1);
    else
        pl_buf_add_f(out, "%c%zu,%zu", sign, len == 0 ? begin : begin + 1, len);
}

static void add_lines(struct pl_buf *out, char sign, const struct lines *lines, size_t begin,
                      size_t end)
{
    for (size_t i = begin; i < end; i++)
        pl_buf_add_f(out, "%c%.*s\n", sign, PL_FMT(lines->items[i]));
}

/* The blocks from `first` on whose gaps are too small to be left out; returns the next first. */
static size_t add_hunk(struct pl_buf *out, const struct line_match *m, size_t first)
{
    size_t last = first + 1;
    while (last + 1 < m->count && m->blocks[last].len <= 2 * (size_t)CONTEXT)
        last++;
    const struct block *head = &m->blocks[first], *tail = &m->blocks[last];
    size_t before = head->len < CONTEXT ? head->len : CONTEXT;
    size_t behind = tail->len < CONTEXT ? tail->len : CONTEXT;
    pl_buf_add_z(out, "@@ ");
    add_hunk_range(out, '-', head->a + head->len - before, tail->a + behind);
    pl_buf_add_char(out, ' ');
    add_hunk_range(out, '+', head->b + head->len - before, tail->b + behind);
    pl_buf_add_z(out, " @@\n");
    add_lines(out, ' ', &m->a, head->a + head->len - before, head->a + head->len);
    for (size_t i = first; i < last; i++) {
        const struct block *is = &m->blocks[i], *next = &m->blocks[i + 1];
        add_lines(out, '-', &m->a, is->a + is->len, next->a);
        add_lines(out, '+', &m->b, is->b + is->len, next->b);
        add_lines(out, ' ', &m->a, next->a, next->a + (i + 1 < last ? next->len : behind));
    }
    return last;
}

struct pl_slice pl_line_diff(struct pl_arena *arena, struct pl_slice a, struct pl_slice b)
{
    struct line_match *m = PL_NEW(struct line_match);
    struct pl_buf out = PL_BUF_INIT;
    if (split(&m->a, a) && split(&m->b, b)) {
        find_frequent(m);
        m->blocks[m->count++] =
            (struct block){0, 0, 0}; /* so that a change has a block before it */
        match(m, (struct block){0, 0, 0}, (struct block){m->a.count, m->b.count, 0});
        struct block *end = &m->blocks[m->count - 1];
        if (end->a + end->len < m->a.count || end->b + end->len < m->b.count)
            m->blocks[m->count++] = (struct block){m->a.count, m->b.count, 0};
        for (size_t i = 0; i + 1 < m->count;)
            i = add_hunk(&out, m, i);
    }
    struct pl_slice text = pl_arena_copy(arena, pl_buf_slice(&out));
    pl_buf_deinit(&out);
    pl_free(m);
    return text;
}

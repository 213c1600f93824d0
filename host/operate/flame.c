/* A flame graph as SVG: a box a frame, as wide as the frame was seen often, callers below. A
 * frame's title has its name, its count and its share, and a viewer shows it under the pointer.
 * Text comes from scripts and is escaped. At most 64 levels, and boxes of less than half a point
 * are left out. */
#include "operate/flame.h"

#include "base/alloc.h"
#include "base/text.h"

#include <stdint.h>
#include <string.h>

#define WIDTH  1200.0
#define HEAD   28
#define ROW    17
#define LEVELS 64
#define LETTER 7.0 /* points a letter, about */

struct frame {
    struct frame *next, *first; /* owned: its sister, and its first child */
    struct pl_slice name;       /* borrowed from the stacks */
    uint64_t seen;
};

static struct frame *child_of(struct frame *parent, struct pl_slice name)
{
    struct frame **at = &parent->first;
    while (*at != NULL && pl_slice_cmp((*at)->name, name) < 0)
        at = &(*at)->next;
    if (*at == NULL || !pl_slice_eq((*at)->name, name)) {
        struct frame *made = PL_NEW(struct frame);
        made->name = name;
        made->next = *at;
        *at = made;
    }
    return *at;
}

static void free_frames(struct frame *frame)
{
    while (frame != NULL) {
        struct frame *next = frame->next;
        free_frames(frame->first);
        pl_free(frame);
        frame = next;
    }
}

static void add_stack(struct frame *root, struct pl_slice line)
{
    size_t end = line.len;
    while (end > 0 && line.ptr[end - 1] != ' ')
        end--;
    uint64_t seen = 0;
    for (size_t i = end; i < line.len && pl_is_digit(line.ptr[i]); i++)
        seen = seen * 10 + (uint64_t)(line.ptr[i] - '0');
    if (end < 2 || seen == 0 || seen > UINT32_MAX)
        return;
    root->seen += seen;
    struct frame *frame = root;
    size_t at = 0;
    for (int level = 1; level < LEVELS && at < end - 1; level++) {
        size_t from = at;
        while (at < end - 1 && line.ptr[at] != ';')
            at++;
        frame = child_of(frame, pl_slice(line.ptr + from, at - from));
        frame->seen += seen;
        at++;
    }
}

static int depth_of_frames(const struct frame *frame)
{
    int deepest = 0;
    for (const struct frame *child = frame->first; child != NULL; child = child->next) {
        int depth = depth_of_frames(child);
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest + 1;
}

static void flame_add_text(struct pl_buf *out, struct pl_slice text, size_t most)
{
    bool is_cut = text.len > most;
    for (size_t i = 0; i < (is_cut ? most - 2 : text.len); i++) {
        char c = text.ptr[i];
        if (c == '<' || c == '>' || c == '&' || c == '"')
            pl_buf_add_f(out, "&#%d;", c);
        else
            pl_buf_add_char(out, c >= ' ' && c < 0x7f ? c : '?');
    }
    if (is_cut)
        pl_buf_add_z(out, "..");
}

/* The same name has the same warm colour everywhere. */
static uint32_t colour_of(struct pl_slice name)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < name.len; i++)
        hash = (hash ^ (uint8_t)name.ptr[i]) * 16777619u;
    return (205 + hash % 50) << 16 | (80 + (hash >> 8) % 130) << 8 | (hash >> 16) % 60;
}

static void draw(struct pl_buf *out, const struct frame *frame, const struct frame *root, double x,
                 int level, int height)
{
    double width = WIDTH * (double)frame->seen / (double)root->seen;
    int y = height - (level + 1) * ROW - 4;
    if (width < 0.5)
        return;
    pl_buf_add_z(out, "<g><title>");
    flame_add_text(out, frame->name, 200);
    pl_buf_add_f(out,
                 " (%llu samples, %.1f %%)</title><rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" "
                 "height=\"%d\" fill=\"#%06x\" stroke=\"#fff\" stroke-width=\"0.5\"/>",
                 (unsigned long long)frame->seen, 100.0 * (double)frame->seen / (double)root->seen,
                 x, y, width, ROW - 1, colour_of(frame->name));
    size_t letters = (size_t)((width - 6) / LETTER * (width > 6));
    if (letters > 3) {
        pl_buf_add_f(out, "<text x=\"%.1f\" y=\"%d\">", x + 3, y + 12);
        flame_add_text(out, frame->name, letters);
        pl_buf_add_z(out, "</text>");
    }
    pl_buf_add_z(out, "</g>\n");
    for (const struct frame *child = frame->first; child != NULL; child = child->next) {
        draw(out, child, root, x, level + 1, height);
        x += WIDTH * (double)child->seen / (double)root->seen;
    }
}

void pl_flame_write(struct pl_slice stacks, const char *title, struct pl_buf *out)
{
    struct frame root = {.name = pl_slice_z("all")};
    for (size_t at = 0; at < stacks.len;) {
        const char *end = memchr(stacks.ptr + at, '\n', stacks.len - at);
        size_t len = end != NULL ? (size_t)(end - stacks.ptr) - at : stacks.len - at;
        add_stack(&root, pl_slice(stacks.ptr + at, len));
        at += len + 1;
    }
    int height = HEAD + depth_of_frames(&root) * ROW + 8;
    pl_buf_add_f(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%d\" viewBox=\"0 "
        "0 %.0f %d\" font-family=\"monospace\" font-size=\"11\">\n<rect width=\"100%%\" "
        "height=\"100%%\" fill=\"#fff\"/>\n<text x=\"4\" y=\"17\" font-size=\"13\">",
        WIDTH, height, WIDTH, height);
    flame_add_text(out, pl_slice_z(title), 160);
    pl_buf_add_z(out, "</text>\n");
    if (root.seen > 0)
        draw(out, &root, &root, 0, 0, height);
    pl_buf_add_z(out, "</svg>\n");
    free_frames(root.first);
}

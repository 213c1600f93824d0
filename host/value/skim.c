/* Text that was checked once and comes again with small differences. Two texts count as alike if
 * they differ only in plain characters inside strings: quotes, escapes, control characters and
 * bytes of UTF-8 sequences may not differ. So both have the same structure and both are valid.
 * Where they differ otherwise, parsing resumes from the last mark before that place. A mark has the
 * whole state of the parser. Learning a text costs as much as parsing it, so a text that keeps
 * changing is learned again only now and then. */
#include "value/skim.h"
#include "value/string_scan.h"

#include "base/alloc.h"

#include <string.h>

enum {
    PADDING = 32,
    MARK_GAP = 64,   /* bytes from one mark to the next */
    LEARN_EVERY = 8, /* misses: learning costs as much as parsing */
};

void pl_skim_deinit(struct skim *skim)
{
    pl_free(skim->text);
    pl_free(skim->free);
    pl_free(skim->mark);
    skim->text = NULL;
    skim->free = NULL;
    skim->mark = NULL;
}

/* State of a walk through the text. */
struct walk {
    struct skim *skim;
    uint32_t at, depth;
    uint64_t is_object;
};

static void enter(struct walk *w, bool is_object)
{
    if (w->depth < SKIM_DEPTH) {
        uint64_t bit = UINT64_C(1) << w->depth;
        w->is_object = is_object ? w->is_object | bit : w->is_object & ~bit;
    }
    w->depth++;
}

static void add_mark(struct walk *w)
{
    struct skim *skim = w->skim;
    uint32_t last = skim->marks > 0 ? skim->mark[skim->marks - 1].offset : 0;
    if (w->at + 1 - last < MARK_GAP || skim->marks == SKIM_MARKS || w->depth > SKIM_DEPTH)
        return;
    skim->mark[skim->marks++] = (struct skim_mark){w->at + 1, w->depth, w->is_object};
}

/* Marks the plain characters of the string that begins at w->at; leaves at on its end. */
static void walk_string(struct walk *w)
{
    const uint8_t *text = w->skim->text;
    for (w->at++; text[w->at] != '"'; w->at++) {
        if (text[w->at] == '\\') {
            /* Neither the escape nor the digits of a \u may differ: it may be half of a surrogate
             * pair. */
            w->at += text[w->at + 1] == 'u' ? 5 : 1;
        } else if (text[w->at] < 0x80) {
            w->skim->free[w->at / 16] |= (uint16_t)(1u << w->at % 16);
        }
    }
}

void pl_skim_learn(struct skim *skim, const uint8_t *text, size_t len)
{
    skim->misses = 0;
    if (len > SKIM_MAX)
        return;
    if (skim->text == NULL) {
        skim->text = pl_malloc(SKIM_MAX + PADDING);
        skim->free = pl_calloc(SKIM_MAX / 16 + 1, sizeof(*skim->free));
        skim->mark = pl_reallocarray(NULL, SKIM_MARKS, sizeof(*skim->mark));
    }
    memcpy(skim->text, text, len);
    memset(skim->text + len, 0, PADDING);
    memset(skim->free, 0, (len / 16 + 1) * sizeof(*skim->free));
    skim->len = (uint32_t)len;
    skim->marks = 0;
    struct walk w = {skim, 0, 0, 0};
    for (; w.at < len; w.at++) {
        uint8_t c = skim->text[w.at];
        if (c == '"')
            walk_string(&w);
        else if (c == '{' || c == '[')
            enter(&w, c == '{');
        else if (c == '}' || c == ']')
            w.depth--;
        else if (c == ',')
            add_mark(&w);
    }
}

/* The offset of the first relevant difference, len when there is none. */
static size_t alike(const struct skim *skim, const uint8_t *p, size_t len)
{
    for (size_t i = 0; i < len; i += 16) {
        unsigned differ = string_differ16(p + i, skim->text + i);
        if (differ == 0)
            continue;
        unsigned bad = differ & ~(unsigned)skim->free[i / 16];
        bad |= differ & string_odd16(p + i);
        if (bad != 0) {
            size_t at = i + (size_t)__builtin_ctz(bad);
            return at < len ? at : len;
        }
    }
    return len;
}

size_t pl_skim_match(struct skim *skim, const uint8_t *p, const uint8_t *end,
                     const struct skim_mark **mark)
{
    *mark = NULL;
    if (skim->text == NULL)
        return 0;
    size_t len = (size_t)(end - p) < skim->len ? (size_t)(end - p) : skim->len;
    size_t same = alike(skim, p, len);
    if (same == skim->len) {
        skim->misses = 0;
        return same;
    }
    for (uint32_t i = skim->marks; i > 0 && *mark == NULL; i--) {
        if (skim->mark[i - 1].offset <= same)
            *mark = &skim->mark[i - 1];
    }
    if (same < skim->len / 2)
        skim->misses++;
    else
        skim->misses = 0;
    return 0;
}

bool pl_skim_wants(const struct skim *skim)
{
    return skim->text == NULL || skim->misses % LEARN_EVERY == 1;
}

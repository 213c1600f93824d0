/* Documents to YAML in block style, laid out as kubectl prints it: two spaces a level,
 * and a list no deeper than the name it belongs to. */
#include "format/yaml.h"

#include "base/text.h"
#include "format/yaml_scalar.h"

/* libyaml reads a key without "? " only when it ends within 1024 characters. */
#define LONG_KEY 256

/* ---- strings ---- */

/* The code point at text.ptr[*i]; moves *i past it. The text is valid UTF-8. */
static unsigned next_char(struct pl_slice text, size_t *i)
{
    const unsigned char *p = (const unsigned char *)text.ptr + *i;
    unsigned more = *p >= 0xf0 ? 3 : *p >= 0xe0 ? 2 : *p >= 0xc0 ? 1 : 0;
    unsigned c = more == 3 ? *p & 7u : more == 2 ? *p & 15u : more == 1 ? *p & 31u : *p;
    for (unsigned k = 1; k <= more && *i + k < text.len; k++)
        c = c << 6 | (p[k] & 0x3fu);
    *i += more + 1;
    return c;
}

/* Characters that YAML takes only as escapes, or that end a line in some reader. */
static bool needs_escape(unsigned c)
{
    return c < 0x20 || (c >= 0x7f && c <= 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff ||
           c == 0xfffe || c == 0xffff;
}

static void yaml_encode_add_quoted(struct pl_buf *out, struct pl_slice text)
{
    pl_buf_add_char(out, '"');
    for (size_t i = 0; i < text.len;) {
        size_t start = i;
        unsigned c = next_char(text, &i);
        if (c == '"' || c == '\\')
            pl_buf_add_f(out, "\\%c", (char)c);
        else if (c == '\n')
            pl_buf_add_z(out, "\\n");
        else if (c == '\t')
            pl_buf_add_z(out, "\\t");
        else if (c == '\r')
            pl_buf_add_z(out, "\\r");
        else if (needs_escape(c))
            pl_buf_add_f(out, c < 0x100 ? "\\x%02x" : "\\u%04x", c);
        else
            pl_buf_add(out, text.ptr + start, i - start);
    }
    pl_buf_add_char(out, '"');
}

/* 12:30:45 and 2026-11-21 are strings here, but have other types for older readers. */
static bool looks_timed(struct pl_slice text)
{
    size_t digits = 0;
    bool colon = false, only = true;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        colon = colon || c == ':';
        only = only && (pl_is_digit(c) || strchr(":._+-", c) != NULL);
        digits += digits == i && pl_is_digit(c);
    }
    return (only && colon) || (digits == 4 && text.len > 4 && text.ptr[4] == '-');
}

/* Whether the text, without quotes, would be read back as the same string. */
static bool yaml_encode_is_plain(struct pl_slice text)
{
    static const char indicators[] = "?:,[]{}#&*!|>'\"%@`=~";
    struct pl_buf number = PL_BUF_INIT;
    if (text.len == 0 || text.ptr[0] == ' ' || text.ptr[text.len - 1] == ' ' ||
        text.ptr[0] == '\0' || strchr(indicators, text.ptr[0]) != NULL)
        return false;
    if (text.ptr[0] == '-' && (text.len == 1 || text.ptr[1] == ' '))
        return false;
    /* Document markers, where they could stand at the beginning of a line. */
    if (pl_text_begins(text, "---") || pl_text_begins(text, "..."))
        return false;
    for (size_t i = 0; i < text.len;) {
        size_t start = i;
        unsigned c = next_char(text, &i);
        char after = i < text.len ? text.ptr[i] : ' ', before = start ? text.ptr[start - 1] : ' ';
        if (needs_escape(c) || (c == ':' && after == ' ') || (c == '#' && before == ' '))
            return false;
    }
    bool is_string = pl_yaml_resolve(text, &number) == PL_YAML_STR;
    pl_buf_deinit(&number);
    return is_string && !looks_timed(text);
}

/* Text of several lines that a literal block preserves exactly. */
static bool is_block(struct pl_slice text)
{
    if (pl_slice_chr(text, '\n') == NULL)
        return false;
    bool has_text = false;
    for (size_t i = 0; i < text.len;) {
        unsigned c = next_char(text, &i);
        if (needs_escape(c) && c != '\n' && c != '\t')
            return false;
        has_text = has_text || (c != '\n' && c != ' ' && c != '\t');
    }
    /* Readers disagree on a block of only blank lines, and on one that begins with a tab. */
    return has_text && text.ptr[0] != '\t';
}

static void add_spaces(struct pl_buf *out, size_t count)
{
    pl_buf_add_f(out, "%*s", (int)count, "");
}

static void add_block(struct pl_buf *out, struct pl_slice text, size_t indent)
{
    bool ends = text.ptr[text.len - 1] == '\n';
    bool keeps = ends && text.len > 1 && text.ptr[text.len - 2] == '\n';
    pl_buf_add_char(out, '|');
    /* The reader finds the indentation in the first line unless that line begins with a blank. */
    if (text.ptr[0] == ' ' || text.ptr[0] == '\n')
        pl_buf_add_char(out, '2');
    pl_buf_add_z(out, keeps ? "+" : ends ? "" : "-");
    pl_buf_add_char(out, '\n');
    for (size_t i = 0; i < text.len;) {
        const char *end = memchr(text.ptr + i, '\n', text.len - i);
        size_t len = end != NULL ? (size_t)(end - text.ptr) - i : text.len - i;
        if (len != 0)
            add_spaces(out, indent);
        pl_buf_add(out, text.ptr + i, len);
        pl_buf_add_char(out, '\n');
        i += len + 1;
    }
}

/* ---- values ---- */

static void yaml_encode_add_map(struct pl_buf *out, struct pl_node node, size_t indent,
                                bool started);
static void add_list(struct pl_buf *out, struct pl_node node, size_t indent, bool started);

static bool is_nested(struct pl_node node)
{
    return pl_node_len(node) != 0;
}

/* Appends a scalar and a line break; indent is that of a block's lines. */
static void add_scalar(struct pl_buf *out, struct pl_node node, size_t indent)
{
    struct pl_scratch scratch;
    struct pl_slice text;
    switch (pl_node_type(node)) {
    case PL_STRING:
        text = pl_node_str(node, &scratch);
        if (indent != 0 && is_block(text)) {
            add_block(out, text, indent);
            return;
        }
        if (yaml_encode_is_plain(text))
            pl_buf_add_slice(out, text);
        else
            yaml_encode_add_quoted(out, text);
        break;
    case PL_NUMBER:
        pl_buf_add_slice(out, pl_node_number(node, &scratch));
        break;
    case PL_BOOL:
        pl_buf_add_z(out, pl_node_bool(node) ? "true" : "false");
        break;
    case PL_ARRAY:
        pl_buf_add_z(out, "[]");
        break;
    case PL_OBJECT:
        pl_buf_add_z(out, "{}");
        break;
    default:
        pl_buf_add_z(out, "null");
    }
    pl_buf_add_char(out, '\n');
}

static void yaml_encode_add_key(struct pl_buf *out, struct pl_slice key)
{
    if (yaml_encode_is_plain(key))
        pl_buf_add_slice(out, key);
    else
        yaml_encode_add_quoted(out, key);
}

static void yaml_encode_add_member(struct pl_buf *out, struct pl_slice key, struct pl_node value,
                                   size_t indent)
{
    size_t start = out->len;
    yaml_encode_add_key(out, key);
    bool is_long = out->len - start > LONG_KEY;
    if (is_long) {
        out->len = start;
        pl_buf_add_z(out, "? ");
        yaml_encode_add_key(out, key);
        pl_buf_add_char(out, '\n');
        add_spaces(out, indent);
    }
    pl_buf_add_char(out, ':');
    if (!is_nested(value)) {
        pl_buf_add_char(out, ' ');
        add_scalar(out, value, indent + 2);
        return;
    }
    pl_buf_add_char(out, '\n');
    if (pl_node_type(value) == PL_OBJECT)
        yaml_encode_add_map(out, value, indent + 2, false);
    else
        add_list(out, value, is_long ? indent + 2 : indent, false);
}

/* started: the first line is begun, after the "- " of a list. */
static void yaml_encode_add_map(struct pl_buf *out, struct pl_node node, size_t indent,
                                bool started)
{
    struct pl_iter it = pl_iter(node);
    while (pl_iter_next(&it)) {
        if (!started || it.index != 0)
            add_spaces(out, indent);
        yaml_encode_add_member(out, it.key, it.value, indent);
    }
}

static void add_list(struct pl_buf *out, struct pl_node node, size_t indent, bool started)
{
    struct pl_iter it = pl_iter(node);
    while (pl_iter_next(&it)) {
        if (!started || it.index != 0)
            add_spaces(out, indent);
        pl_buf_add_z(out, "- ");
        if (!is_nested(it.value))
            add_scalar(out, it.value, indent + 2);
        else if (pl_node_type(it.value) == PL_OBJECT)
            yaml_encode_add_map(out, it.value, indent + 2, true);
        else
            add_list(out, it.value, indent + 2, true);
    }
}

void pl_yaml_encode(struct pl_node node, struct pl_buf *out)
{
    if (!is_nested(node))
        add_scalar(out, node, 0);
    else if (pl_node_type(node) == PL_OBJECT)
        yaml_encode_add_map(out, node, 0, false);
    else
        add_list(out, node, 0, false);
}

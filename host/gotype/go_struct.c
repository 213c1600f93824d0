/* Go's internal structures, written from a table of their fields. The table (go_types.inc) is what
 * scripts/schemas writes: "T Name", then "SHOWN SENT FORM FLAGS" for each field. SENT is "-" when
 * clients cannot send it, and begins with '^' when they write it one level above. FORM: '*'
 * pointer,
 * '[' list, '{' map, "@Name" structure, a letter for scalars. Flag o: left out when empty. */
#include "gotype/go_struct.h"

#include "base/map.h"
#include "gotype/line_diff.h"

#include <string.h>

static const char types[] =
#include "gotype/go_types.inc"
    ;

struct go_field {
    struct pl_slice shown, sent, form;
    bool omits;
};

struct go_writer {
    struct pl_arena *arena;
    struct pl_buf *out;
    struct pl_map places; /* type -> its first field in `types` */
    bool indents;
};

static void find_types(struct pl_map *places)
{
    for (const char *at = types; at != NULL && *at != '\0';) {
        const char *end = strchr(at, '\n');
        if (end == NULL)
            return;
        if (at[0] == 'T' && at[1] == ' ')
            pl_map_put(places, pl_slice(at + 2, (size_t)(end - at - 2)),
                       (void *)(uintptr_t)(end + 1));
        at = end + 1;
    }
}

static bool next_field(const char **at, struct go_field *field)
{
    struct pl_slice *parts[] = {&field->shown, &field->sent, &field->form};
    const char *c = *at;
    if (*c == '\0' || (c[0] == 'T' && c[1] == ' '))
        return false;
    for (size_t i = 0; i < PL_ARRAY_LEN(parts); i++) {
        size_t len = strcspn(c, " ");
        *parts[i] = pl_slice(c, len);
        c += len + 1;
    }
    field->omits = *c == 'o';
    *at = strchr(c, '\n') + 1;
    return true;
}

/* ---- texts ---- */

static void new_line(struct go_writer *w, unsigned depth)
{
    if (!w->indents)
        return;
    pl_buf_add_char(w->out, '\n');
    for (unsigned i = 0; i < depth; i++)
        pl_buf_add_char(w->out, ' ');
}

/* Go escapes what would have a meaning in HTML. */
static void add_scalar(struct go_writer *w, const struct pl_tree *value)
{
    struct pl_buf text = PL_BUF_INIT;
    pl_tree_write(&text, value);
    for (size_t i = 0; i < text.len; i++)
        if (value->type == PL_STRING && strchr("<>&", text.ptr[i]) != NULL)
            pl_buf_add_f(w->out, "\\u%04x", (unsigned)text.ptr[i]);
        else
            pl_buf_add_char(w->out, text.ptr[i]);
    pl_buf_deinit(&text);
}

static void add_key(struct go_writer *w, struct pl_slice key, bool first, unsigned depth)
{
    if (!first)
        pl_buf_add_char(w->out, ',');
    new_line(w, depth);
    add_scalar(w, pl_tree_str(w->arena, key));
    pl_buf_add_z(w->out, w->indents ? ": " : ":");
}

static void add_end(struct go_writer *w, char end, bool empty, unsigned depth)
{
    if (!empty)
        new_line(w, depth);
    pl_buf_add_char(w->out, end);
}

/* ---- values ---- */

static void add_value(struct go_writer *w, struct pl_slice form, const struct pl_tree *value,
                      const struct pl_tree *above, unsigned depth);

static bool is_absent(const struct pl_tree *value)
{
    return value == NULL || value->type == PL_NULL;
}

static const struct pl_tree *sent_of(const struct go_field *field, const struct pl_tree *value,
                                     const struct pl_tree *above)
{
    if (field->sent.ptr[0] == '^')
        return pl_tree_get(above, pl_slice(field->sent.ptr + 1, field->sent.len - 1));
    if (field->sent.ptr[0] == '-')
        return NULL;
    return pl_tree_get(value, field->sent);
}

/* Fields of metadata stand in their object. */
static const struct pl_tree *in_metadata(const struct pl_tree *value, struct pl_slice name)
{
    return pl_tree_get(pl_tree_getz(value, "metadata"), name);
}

static void add_struct(struct go_writer *w, struct pl_slice type, const struct pl_tree *value,
                       const struct pl_tree *above, unsigned depth)
{
    const char *at = pl_map_get(&w->places, type);
    struct go_field field;
    bool empty = true;
    pl_buf_add_char(w->out, '{');
    while (at != NULL && next_field(&at, &field)) {
        const struct pl_tree *inner = sent_of(&field, value, above);
        if (field.omits && inner == NULL)
            inner = in_metadata(value, field.sent);
        bool nothing = is_absent(inner) || (inner->type == PL_STRING && inner->text.len == 0) ||
                       ((inner->type == PL_OBJECT || inner->type == PL_ARRAY) && inner->count == 0);
        if (field.omits && nothing && field.form.ptr[0] != '@')
            continue;
        add_key(w, field.shown, empty, depth + 1);
        add_value(w, field.form, inner, value, depth + 1);
        empty = false;
    }
    add_end(w, '}', empty, depth);
}

static void add_items(struct go_writer *w, struct pl_slice form, const struct pl_tree *value,
                      unsigned depth)
{
    bool is_map = form.ptr[0] == '{', empty = true;
    struct pl_slice inner = pl_slice(form.ptr + 1, form.len - 1);
    struct pl_tree *sorted = pl_tree_copy(w->arena, value);
    if (is_map)
        pl_tree_sort_members(sorted);
    pl_buf_add_char(w->out, is_map ? '{' : '[');
    PL_TREE_FOR(item, sorted)
    {
        if (is_map) {
            add_key(w, item->key, empty, depth + 1);
        } else {
            pl_buf_add_z(w->out, empty ? "" : ",");
            new_line(w, depth + 1);
        }
        add_value(w, inner, item->value, NULL, depth + 1);
        empty = false;
    }
    add_end(w, is_map ? '}' : ']', empty, depth);
}

static void add_zero(struct go_writer *w, char letter)
{
    static const struct {
        char letter;
        const char *text;
    } zeros[] = {{'s', "\"\""}, {'b', "false"}, {'n', "0"}, {'q', "\"0\""}, {'i', "0"}};
    for (size_t i = 0; i < PL_ARRAY_LEN(zeros); i++)
        if (zeros[i].letter == letter) {
            pl_buf_add_z(w->out, zeros[i].text);
            return;
        }
    pl_buf_add_z(w->out, "null");
}

static bool has_any_above(struct pl_slice form, const struct pl_tree *above)
{
    static const char names[][24] = {"hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace",
                                     "hostUsers"};
    for (size_t i = 0; pl_slice_eqz(form, "@PodSecurityContext") && i < PL_ARRAY_LEN(names); i++)
        if (!is_absent(pl_tree_getz(above, names[i])))
            return true;
    return false;
}

static void add_value(struct go_writer *w, struct pl_slice form, const struct pl_tree *value,
                      const struct pl_tree *above, unsigned depth)
{
    bool pointer = form.ptr[0] == '*';
    if (pointer)
        form = pl_slice(form.ptr + 1, form.len - 1);
    bool nothing = is_absent(value) && !(pointer && has_any_above(form, above));
    if (nothing && (pointer || form.ptr[0] == '[' || form.ptr[0] == '{'))
        pl_buf_add_z(w->out, "null");
    else if (form.ptr[0] == '@')
        add_struct(w, pl_slice(form.ptr + 1, form.len - 1), value, above, depth);
    else if (form.ptr[0] == '[' || form.ptr[0] == '{')
        add_items(w, form, value, depth);
    else if (nothing)
        add_zero(w, form.ptr[0]);
    else
        add_scalar(w, value);
}

static struct pl_slice shown(struct pl_arena *arena, const char *type, const struct pl_tree *value,
                             bool indents)
{
    struct pl_buf out = PL_BUF_INIT;
    struct go_writer w = {.arena = arena, .out = &out, .places = PL_MAP_INIT, .indents = indents};
    find_types(&w.places);
    add_value(&w, pl_slice_z(type), value, NULL, 0);
    struct pl_slice text = pl_arena_copy(arena, pl_buf_slice(&out));
    pl_map_deinit(&w.places);
    pl_buf_deinit(&out);
    return text;
}

struct pl_slice pl_go_struct(struct pl_arena *arena, const char *type, const struct pl_tree *value)
{
    return shown(arena, type, value, false);
}

struct pl_slice pl_go_struct_diff(struct pl_arena *arena, const char *type,
                                  const struct pl_tree *old, const struct pl_tree *value)
{
    return pl_line_diff(arena, shown(arena, type, old, true), shown(arena, type, value, true));
}

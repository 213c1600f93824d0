/* Makes a tree of JSON text that keeps duplicate members, which documents drop. The text was parsed
 * and its depth limited before, so only the end of the text is checked here. Strings are decoded;
 * numbers keep their text. */
#include "gotype/typed.h"

#include "base/map.h"
#include "value/scan.h"

#include <string.h>

struct reader {
    struct pl_arena *arena;
    const char *at, *end;
};

static void typed_parse_skip_space(struct reader *r)
{
    while (r->at < r->end && strchr(" \t\r\n", *r->at) != NULL)
        r->at++;
}

static bool typed_parse_take(struct reader *r, char c)
{
    typed_parse_skip_space(r);
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

/* Reads from the opening quote. A string with escapes is left to the scanner, which knows all of
 * them. */
static struct pl_slice read_string(struct reader *r)
{
    const char *begin = r->at++;
    bool plain = true;
    while (r->at < r->end && *r->at != '"') {
        plain = plain && *r->at != '\\';
        r->at += *r->at == '\\' && r->at + 1 < r->end ? 2 : 1;
    }
    struct pl_slice inner = pl_slice(begin + 1, (size_t)(r->at - begin - 1));
    r->at += r->at < r->end;
    if (plain)
        return pl_arena_copy(r->arena, inner);
    struct pl_doc *doc = pl_scan_text(pl_slice(begin, (size_t)(r->at - begin)),
                                      &(struct pl_scan_options){.replace_surrogates = true}, NULL);
    struct pl_scratch scratch;
    struct pl_slice text = pl_arena_copy(r->arena, pl_node_str(pl_doc_root(doc), &scratch));
    pl_doc_unref(doc);
    return text;
}

static struct pl_tree *typed_parse_make(struct reader *r, enum pl_type type)
{
    struct pl_tree *tree = pl_arena_alloc(r->arena, sizeof(*tree));
    tree->type = type;
    return tree;
}

/* Appends without a search for the same name: this file exists to keep duplicates. */
static void typed_parse_add(struct reader *r, struct pl_tree *to, struct pl_slice key,
                            struct pl_tree *value)
{
    struct pl_tree_item *item = pl_arena_alloc(r->arena, sizeof(*item));
    *item = (struct pl_tree_item){.key = key, .value = value, .prev = to->last};
    if (to->last != NULL)
        to->last->next = item;
    else
        to->first = item;
    to->last = item;
    to->count++;
}

static struct pl_tree *read_value(struct reader *r);

static struct pl_tree *read_members(struct reader *r, enum pl_type type, char close)
{
    struct pl_tree *tree = typed_parse_make(r, type);
    r->at++;
    while (r->at < r->end && !typed_parse_take(r, close)) {
        struct pl_slice key = pl_slice(NULL, 0);
        if (type == PL_OBJECT) {
            key = read_string(r);
            typed_parse_take(r, ':');
        }
        typed_parse_add(r, tree, key, read_value(r));
        typed_parse_take(r, ',');
        typed_parse_skip_space(r);
    }
    return tree;
}

static struct pl_tree *read_word(struct reader *r)
{
    const char *begin = r->at;
    while (r->at < r->end && strchr(",]} \t\r\n", *r->at) == NULL)
        r->at++;
    struct pl_slice word = pl_slice(begin, (size_t)(r->at - begin));
    if (pl_slice_eqz(word, "null"))
        return typed_parse_make(r, PL_NULL);
    if (pl_slice_eqz(word, "true") || pl_slice_eqz(word, "false"))
        return pl_tree_bool(r->arena, *begin == 't');
    struct pl_tree *number = typed_parse_make(r, PL_NUMBER);
    number->text = pl_arena_copy(r->arena, word);
    return number;
}

static struct pl_tree *read_value(struct reader *r)
{
    typed_parse_skip_space(r);
    if (r->at == r->end)
        return typed_parse_make(r, PL_NULL);
    if (*r->at == '{')
        return read_members(r, PL_OBJECT, '}');
    if (*r->at == '[')
        return read_members(r, PL_ARRAY, ']');
    if (*r->at != '"')
        return read_word(r);
    struct pl_tree *string = typed_parse_make(r, PL_STRING);
    string->text = read_string(r);
    return string;
}

struct pl_tree *pl_typed_parse(struct pl_arena *arena, struct pl_slice json)
{
    struct reader r = {arena, json.ptr, json.ptr + json.len};
    return read_value(&r);
}

/* ---- members that come twice ---- */

static void drop_twins(struct pl_arena *arena, struct pl_tree *value, struct pl_slice path,
                       struct pl_tree *strict);

static void drop_twin(struct pl_arena *arena, struct pl_tree *object, struct pl_tree_item *item,
                      struct pl_slice path, struct pl_tree *strict)
{
    pl_tree_unlink(object, item);
    if (strict == NULL)
        return;
    struct pl_slice text = pl_arena_f(arena, "duplicate field \"%.*s\"", PL_FMT(path));
    if (!pl_tree_has_text(strict, text))
        pl_tree_push(arena, strict, pl_tree_str(arena, text));
}

static void drop_twins_of(struct pl_arena *arena, struct pl_tree *object, struct pl_slice path,
                          struct pl_tree *strict)
{
    struct pl_map seen = PL_MAP_INIT;
    PL_TREE_FOR(item, object)
    {
        struct pl_slice inner = pl_arena_f(arena, "%.*s%s%.*s", PL_FMT(path),
                                           path.len > 0 ? "." : "", PL_FMT(item->key));
        struct pl_tree_item *before = pl_map_get(&seen, item->key);
        if (before != NULL)
            drop_twin(arena, object, before, inner, strict);
        pl_map_put(&seen, item->key, item);
        drop_twins(arena, item->value, inner, strict);
    }
    pl_map_deinit(&seen);
}

static void drop_twins(struct pl_arena *arena, struct pl_tree *value, struct pl_slice path,
                       struct pl_tree *strict)
{
    size_t i = 0;
    if (value->type == PL_OBJECT)
        drop_twins_of(arena, value, path, strict);
    else if (value->type == PL_ARRAY)
        PL_TREE_FOR(item, value)
        {
            struct pl_slice inner = pl_arena_f(arena, "%.*s[%zu]", PL_FMT(path), i++);
            drop_twins(arena, item->value, inner, strict);
        }
}

void pl_typed_drop_twins(struct pl_arena *arena, struct pl_tree *value, struct pl_tree *strict)
{
    drop_twins(arena, value, pl_slice("", 0), strict);
}

#include "value/selector.h"

#include "base/alloc.h"
#include "value/label.h"
#include "value/label_bloom.h"

#include <stdlib.h>

enum op {
    OP_EQUALS,
    OP_DOUBLE_EQUALS,
    OP_NOT_EQUALS,
    OP_IN,
    OP_NOT_IN,
    OP_EXISTS,
    OP_NOT_EXISTS,
    OP_GREATER,
    OP_LESS,
};

struct requirement {
    char *key;     /* owned */
    char **values; /* owned; sorted, each once */
    size_t count;
    enum op op;
    int64_t number; /* OP_GREATER, OP_LESS: the value */
    size_t order;   /* place in the text: requirements of one key keep their order */
};

struct pl_selector {
    struct requirement *items; /* owned; sorted by key */
    size_t count;
};

/* ---- requirements ---- */

static struct requirement *add(struct pl_selector *selector, struct pl_slice key, enum op op)
{
    selector->items =
        pl_reallocarray(selector->items, selector->count + 1, sizeof(*selector->items));
    struct requirement *item = &selector->items[selector->count];
    *item = (struct requirement){
        .key = pl_memdup0(key.ptr, key.len), .op = op, .order = selector->count};
    selector->count++;
    return item;
}

static int add_value(struct requirement *item, struct pl_slice value, struct pl_err *err)
{
    int rc = pl_label_check_value(value, err);
    if (rc != 0)
        return rc;
    /* Doubling at the powers of two keeps long value lists linear. */
    if ((item->count & (item->count - 1)) == 0)
        item->values =
            pl_reallocarray(item->values, item->count ? item->count * 2 : 1, sizeof(*item->values));
    item->values[item->count++] = pl_memdup0(value.ptr, value.len);
    return 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int by_key(const void *a, const void *b)
{
    const struct requirement *x = a, *y = b;
    int c = strcmp(x->key, y->key);
    return c ? c : (x->order > y->order) - (x->order < y->order);
}

static void sort_values(struct requirement *item)
{
    if (item->count < 2)
        return;
    qsort(item->values, item->count, sizeof(*item->values), by_text);
    size_t kept = 1;
    for (size_t i = 1; i < item->count; i++) {
        if (strcmp(item->values[i], item->values[kept - 1]) == 0)
            pl_free(item->values[i]);
        else
            item->values[kept++] = item->values[i];
    }
    item->count = kept;
}

/* What strconv.ParseInt takes in base 10. */
static bool parse_integer(struct pl_slice text, int64_t *value)
{
    bool negative = text.len != 0 && text.ptr[0] == '-';
    size_t i = text.len != 0 && (negative || text.ptr[0] == '+');
    int64_t sum = 0;
    if (i == text.len)
        return false;
    for (; i < text.len; i++) {
        int digit = text.ptr[i] - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_add_overflow(sum, negative ? -digit : digit, &sum))
            return false;
    }
    *value = sum;
    return true;
}

/* Once all values are there. */
static int finish(struct requirement *item, struct pl_err *err)
{
    bool ordered = item->op == OP_GREATER || item->op == OP_LESS;
    if (ordered && item->count != 0 && !parse_integer(pl_slice_z(item->values[0]), &item->number))
        return pl_err_set(err, PL_EINVAL, "\"%s\" is no integer: label \"%s\" is compared with %c",
                          item->values[0], item->key, item->op == OP_LESS ? '<' : '>');
    sort_values(item);
    return 0;
}

static struct pl_selector *sorted(struct pl_selector *selector)
{
    if (selector->count > 1)
        qsort(selector->items, selector->count, sizeof(*selector->items), by_key);
    return selector;
}

void pl_selector_destroy(struct pl_selector *selector)
{
    if (selector == NULL)
        return;
    for (size_t i = 0; i < selector->count; i++) {
        struct requirement *item = &selector->items[i];
        pl_free(item->key);
        for (size_t k = 0; k < item->count; k++)
            pl_free(item->values[k]);
        pl_free(item->values);
    }
    pl_free(selector->items);
    pl_free(selector);
}

/* ---- text ---- */

enum token_type {
    TOKEN_END,
    TOKEN_WORD,
    TOKEN_COMMA,
    TOKEN_OPEN,
    TOKEN_CLOSE,
    TOKEN_NOT,
    TOKEN_EQUALS,
    TOKEN_DOUBLE_EQUALS,
    TOKEN_NOT_EQUALS,
    TOKEN_GREATER,
    TOKEN_LESS,
};

struct token {
    enum token_type type;
    struct pl_slice text;
    size_t at;
};

struct parser {
    struct pl_slice text;
    size_t next;       /* where the token after the current one begins */
    struct token here; /* the current token */
    struct pl_selector *selector;
    struct pl_err *err;
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_symbol(char c)
{
    return c != '\0' && strchr("=!(),<>", c) != NULL;
}

static enum token_type symbol(struct pl_slice rest, size_t *len)
{
    bool equals = rest.len > 1 && rest.ptr[1] == '=';
    *len = 1;
    switch (rest.ptr[0]) {
    case '=':
        *len += equals;
        return equals ? TOKEN_DOUBLE_EQUALS : TOKEN_EQUALS;
    case '!':
        *len += equals;
        return equals ? TOKEN_NOT_EQUALS : TOKEN_NOT;
    case '(':
        return TOKEN_OPEN;
    case ')':
        return TOKEN_CLOSE;
    case ',':
        return TOKEN_COMMA;
    default:
        return rest.ptr[0] == '<' ? TOKEN_LESS : TOKEN_GREATER;
    }
}

static void advance(struct parser *p)
{
    while (p->next < p->text.len && is_space(p->text.ptr[p->next]))
        p->next++;
    struct pl_slice rest = pl_slice(p->text.ptr + p->next, p->text.len - p->next);
    size_t len = 0;
    enum token_type type = TOKEN_WORD;
    if (rest.len == 0)
        type = TOKEN_END;
    else if (is_symbol(rest.ptr[0]))
        type = symbol(rest, &len);
    else
        while (len < rest.len && !is_space(rest.ptr[len]) && !is_symbol(rest.ptr[len]))
            len++;
    p->here = (struct token){type, pl_slice(rest.ptr, len), p->next};
    p->next += len;
}

static int fail_at(struct pl_err *err, size_t offset)
{
    if (err != NULL)
        err->offset = (int64_t)offset;
    return PL_EINVAL;
}

static int unexpected(struct parser *p, const char *wanted)
{
    if (p->here.type == TOKEN_END)
        pl_err_set(p->err, PL_EINVAL, "the selector ends where %s must come", wanted);
    else
        pl_err_set(p->err, PL_EINVAL, "found '%.*s' where %s must come", PL_FMT(p->here.text),
                   wanted);
    return fail_at(p->err, p->here.at);
}

/* (a,b): empty values count, so "(a,)" is "a" and "", and "()" is "". */
static int parse_set(struct parser *p, struct requirement *item)
{
    if (p->here.type != TOKEN_OPEN)
        return unexpected(p, "'('");
    advance(p);
    for (;;) {
        struct token value = p->here;
        if (value.type == TOKEN_WORD)
            advance(p);
        else
            value.text.len = 0;
        if (add_value(item, value.text, p->err) != 0)
            return fail_at(p->err, value.at);
        if (p->here.type == TOKEN_CLOSE)
            break;
        if (p->here.type != TOKEN_COMMA)
            return unexpected(p, "',' or ')'");
        advance(p);
    }
    advance(p);
    return 0;
}

static int parse_exact(struct parser *p, struct requirement *item)
{
    struct token value = p->here;
    if (value.type == TOKEN_WORD)
        advance(p);
    else if (value.type == TOKEN_END || value.type == TOKEN_COMMA)
        value.text.len = 0;
    else
        return unexpected(p, "a value");
    return add_value(item, value.text, p->err) == 0 ? 0 : fail_at(p->err, value.at);
}

static bool binary_operator(const struct token *token, enum op *op)
{
    switch (token->type) {
    case TOKEN_EQUALS:
        *op = OP_EQUALS;
        return true;
    case TOKEN_DOUBLE_EQUALS:
        *op = OP_DOUBLE_EQUALS;
        return true;
    case TOKEN_NOT_EQUALS:
        *op = OP_NOT_EQUALS;
        return true;
    case TOKEN_GREATER:
        *op = OP_GREATER;
        return true;
    case TOKEN_LESS:
        *op = OP_LESS;
        return true;
    default:
        *op = pl_slice_eqz(token->text, "in") ? OP_IN : OP_NOT_IN;
        return token->type == TOKEN_WORD && (*op == OP_IN || pl_slice_eqz(token->text, "notin"));
    }
}

static int parse_requirement(struct parser *p)
{
    bool absent = p->here.type == TOKEN_NOT;
    if (absent)
        advance(p);
    struct token key = p->here;
    if (key.type != TOKEN_WORD)
        return unexpected(p, "a label key");
    if (pl_label_check_key(key.text, p->err) != 0)
        return fail_at(p->err, key.at);
    advance(p);
    if (absent || p->here.type == TOKEN_END || p->here.type == TOKEN_COMMA) {
        add(p->selector, key.text, absent ? OP_NOT_EXISTS : OP_EXISTS);
        return 0;
    }
    enum op op;
    if (!binary_operator(&p->here, &op))
        return unexpected(p, "one of = == != in notin > < or ','");
    advance(p);
    size_t value_at = p->here.at;
    struct requirement *item = add(p->selector, key.text, op);
    int rc = op == OP_IN || op == OP_NOT_IN ? parse_set(p, item) : parse_exact(p, item);
    if (rc == 0 && finish(item, p->err) != 0)
        rc = fail_at(p->err, value_at);
    return rc;
}

static int parse_all(struct parser *p)
{
    advance(p);
    while (p->here.type != TOKEN_END) {
        int rc = parse_requirement(p);
        if (rc != 0)
            return rc;
        if (p->here.type == TOKEN_END)
            return 0;
        if (p->here.type != TOKEN_COMMA)
            return unexpected(p, "',' or the end");
        advance(p);
        if (p->here.type == TOKEN_END)
            return unexpected(p, "a label key");
    }
    return 0;
}

struct pl_selector *pl_selector_parse(struct pl_slice text, struct pl_err *err)
{
    struct parser p = {.text = text, .selector = PL_NEW(struct pl_selector), .err = err};
    if (parse_all(&p) != 0) {
        pl_selector_destroy(p.selector);
        return NULL;
    }
    return sorted(p.selector);
}

/* ---- documents ---- */

static int add_map(struct pl_selector *selector, struct pl_node map, struct pl_err *err)
{
    struct pl_scratch scratch;
    if (pl_node_type(map) != PL_OBJECT)
        return pl_err_set(err, PL_EINVAL, "labels to match must be an object, not %s",
                          pl_type_name(pl_node_type(map)));
    struct pl_iter it = pl_iter(map);
    while (pl_iter_next(&it)) {
        if (pl_label_check_key(it.key, err) != 0)
            return PL_EINVAL;
        struct pl_slice value = pl_node_str(it.value, &scratch);
        if (value.ptr == NULL)
            return pl_err_set(err, PL_EINVAL, "label \"%.*s\" must be a string, not %s",
                              PL_FMT(it.key), pl_type_name(pl_node_type(it.value)));
        struct requirement *item = add(selector, it.key, OP_EQUALS);
        if (add_value(item, value, err) != 0 || finish(item, err) != 0)
            return PL_EINVAL;
    }
    return 0;
}

static int expression_operator(struct pl_node node, enum op *op, struct pl_err *err)
{
    static const struct {
        const char *name;
        enum op op;
    } names[] = {{"In", OP_IN},
                 {"NotIn", OP_NOT_IN},
                 {"Exists", OP_EXISTS},
                 {"DoesNotExist", OP_NOT_EXISTS}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        *op = names[i].op;
        if (pl_node_str_eq(node, pl_slice_z(names[i].name)))
            return 0;
    }
    return pl_err_set(err, PL_EINVAL,
                      "the operator of a match expression is In, NotIn, Exists or DoesNotExist");
}

static int add_values(struct requirement *item, struct pl_node values, struct pl_err *err)
{
    struct pl_scratch scratch;
    enum pl_type type = pl_node_type(values);
    if (type != PL_MISSING && type != PL_NULL && type != PL_ARRAY)
        return pl_err_set(err, PL_EINVAL, "values must be an array, not %s", pl_type_name(type));
    struct pl_iter it = pl_iter(values);
    while (pl_iter_next(&it)) {
        struct pl_slice value = pl_node_str(it.value, &scratch);
        if (value.ptr == NULL)
            return pl_err_set(err, PL_EINVAL, "values[%zu] must be a string, not %s", it.index,
                              pl_type_name(pl_node_type(it.value)));
        if (add_value(item, value, err) != 0)
            return PL_EINVAL;
    }
    bool wanted = item->op == OP_IN || item->op == OP_NOT_IN;
    if (wanted != (item->count != 0))
        return pl_err_set(err, PL_EINVAL,
                          wanted ? "In and NotIn need values"
                                 : "Exists and DoesNotExist take no values");
    return finish(item, err);
}

static int add_expression(struct pl_selector *selector, struct pl_node expression,
                          struct pl_err *err)
{
    struct pl_scratch scratch;
    enum op op;
    struct pl_slice key = pl_node_str(pl_node_getz(expression, "key"), &scratch);
    if (pl_label_check_key(key, err) != 0 ||
        expression_operator(pl_node_getz(expression, "operator"), &op, err) != 0)
        return PL_EINVAL;
    return add_values(add(selector, key, op), pl_node_getz(expression, "values"), err);
}

static int add_expressions(struct pl_selector *selector, struct pl_node list, struct pl_err *err)
{
    if (pl_node_type(list) != PL_ARRAY)
        return pl_err_set(err, PL_EINVAL, "matchExpressions must be an array, not %s",
                          pl_type_name(pl_node_type(list)));
    struct pl_iter it = pl_iter(list);
    while (pl_iter_next(&it)) {
        if (add_expression(selector, it.value, err) == 0)
            continue;
        pl_err_prefix(err, "matchExpressions[%zu]", it.index);
        return PL_EINVAL;
    }
    return 0;
}

static int add_selector(struct pl_selector *selector, struct pl_node node, struct pl_err *err)
{
    if (pl_node_type(node) != PL_OBJECT)
        return pl_err_set(err, PL_EINVAL, "a label selector must be an object, not %s",
                          pl_type_name(pl_node_type(node)));
    struct pl_iter it = pl_iter(node);
    while (pl_iter_next(&it)) {
        int rc = 0;
        bool null = pl_node_type(it.value) == PL_NULL;
        if (pl_slice_eqz(it.key, "matchLabels"))
            rc = null ? 0 : add_map(selector, it.value, err);
        else if (pl_slice_eqz(it.key, "matchExpressions"))
            rc = null ? 0 : add_expressions(selector, it.value, err);
        else
            rc = pl_err_set(err, PL_EINVAL,
                            "a label selector has matchLabels and matchExpressions, not \"%.*s\"",
                            PL_FMT(it.key));
        if (rc != 0)
            return rc;
    }
    return 0;
}

struct pl_selector *pl_selector_from_node(struct pl_node node, struct pl_err *err)
{
    struct pl_selector *selector = PL_NEW(struct pl_selector);
    if (add_selector(selector, node, err) == 0)
        return sorted(selector);
    pl_selector_destroy(selector);
    return NULL;
}

struct pl_selector *pl_selector_from_map(struct pl_node node, struct pl_err *err)
{
    struct pl_selector *selector = PL_NEW(struct pl_selector);
    if (add_map(selector, node, err) == 0)
        return sorted(selector);
    pl_selector_destroy(selector);
    return NULL;
}

/* ---- matching ---- */

static bool has_value(const struct requirement *item, struct pl_node label)
{
    if (item->count == 1)
        return pl_node_str_eq(label, pl_slice_z(item->values[0]));
    struct pl_scratch scratch;
    struct pl_slice text = pl_node_str(label, &scratch);
    size_t low = 0, high = item->count;
    while (text.ptr != NULL && low < high) {
        size_t middle = low + (high - low) / 2;
        int c = pl_slice_cmp(text, pl_slice_z(item->values[middle]));
        if (c == 0)
            return true;
        if (c < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

static bool matches_one(const struct requirement *item, struct pl_node label)
{
    bool exists = pl_node_type(label) == PL_STRING;
    struct pl_scratch scratch;
    int64_t number;
    switch (item->op) {
    case OP_EXISTS:
        return exists;
    case OP_NOT_EXISTS:
        return !exists;
    case OP_NOT_EQUALS:
    case OP_NOT_IN:
        return !exists || !has_value(item, label);
    case OP_GREATER:
    case OP_LESS:
        return exists && parse_integer(pl_node_str(label, &scratch), &number) &&
               (item->op == OP_LESS ? number < item->number : number > item->number);
    default:
        return exists && has_value(item, label);
    }
}

bool pl_selector_matches(const struct pl_selector *selector, struct pl_node labels)
{
    for (size_t i = 0; i < selector->count; i++)
        if (!matches_one(&selector->items[i], pl_node_getz(labels, selector->items[i].key)))
            return false;
    return true;
}

size_t pl_selector_hints(const struct pl_selector *selector)
{
    return selector->count + 2;
}

bool pl_selector_scans(const struct pl_selector *selector, struct pl_node object,
                       struct pl_hint *hints)
{
    struct pl_node metadata = pl_node_get_hinted(object, "metadata", hints++);
    struct pl_node labels = pl_node_get_hinted(metadata, "labels", hints++);
    pl_label_bloom_keep(object, labels);
    for (size_t i = 0; i < selector->count; i++)
        if (!matches_one(&selector->items[i],
                         pl_node_get_hinted(labels, selector->items[i].key, &hints[i])))
            return false;
    return true;
}

bool pl_selector_single(const struct pl_selector *selector, size_t *at, struct pl_slice *key,
                        struct pl_slice *value)
{
    while (*at < selector->count) {
        const struct requirement *item = &selector->items[(*at)++];
        bool is_one = item->op == OP_EQUALS || item->op == OP_DOUBLE_EQUALS || item->op == OP_IN;
        if (!is_one || item->count != 1)
            continue;
        *key = pl_slice_z(item->key);
        *value = pl_slice_z(item->values[0]);
        return true;
    }
    return false;
}

uint64_t pl_selector_bloom(const struct pl_selector *selector)
{
    uint64_t bits = 0;
    size_t at = 0;
    struct pl_slice key, value;
    while (pl_selector_single(selector, &at, &key, &value))
        bits |= pl_label_bloom(key, value);
    return bits;
}

bool pl_selector_is_empty(const struct pl_selector *selector)
{
    return selector->count == 0;
}

static void add_text(const struct requirement *item, struct pl_buf *out)
{
    static const char *const texts[] = {
        [OP_EQUALS] = "=",    [OP_DOUBLE_EQUALS] = "==", [OP_NOT_EQUALS] = "!=",
        [OP_IN] = " in (",    [OP_NOT_IN] = " notin (",  [OP_EXISTS] = "",
        [OP_NOT_EXISTS] = "", [OP_GREATER] = ">",        [OP_LESS] = "<",
    };
    if (item->op == OP_NOT_EXISTS)
        pl_buf_add_char(out, '!');
    pl_buf_add_z(out, item->key);
    pl_buf_add_z(out, texts[item->op]);
    for (size_t i = 0; i < item->count; i++) {
        if (i != 0)
            pl_buf_add_char(out, ',');
        pl_buf_add_z(out, item->values[i]);
    }
    if (item->op == OP_IN || item->op == OP_NOT_IN)
        pl_buf_add_char(out, ')');
}

void pl_selector_text(const struct pl_selector *selector, struct pl_buf *out)
{
    for (size_t i = 0; i < selector->count; i++) {
        if (i != 0)
            pl_buf_add_char(out, ',');
        add_text(&selector->items[i], out);
    }
}

/* Label selectors as texts: "app=web,env in (a,b)". */
#include "object/selector_make.h"

#include "base/alloc.h"
#include "object/label.h"

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
    size_t next;       /* beginning of the token after the current one */
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

static void selector_parse_advance(struct parser *p)
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

static int selector_parse_fail_at(struct pl_err *err, size_t offset)
{
    if (err != NULL)
        err->offset = (int64_t)offset;
    return PL_EINVAL;
}

/* In the API server's words; what is found at the end is ''. */
static int selector_parse_unexpected(struct parser *p, const char *wanted)
{
    pl_err_set(p->err, PL_ESYNTAX, "found '%.*s'%s expected: %s", PL_FMT(p->here.text),
               strcmp(wanted, "'('") == 0 ? "" : ",", wanted);
    selector_parse_fail_at(p->err, p->here.at);
    return PL_ESYNTAX;
}

/* (a,b): empty values count, so "(a,)" is "a" and "", and "()" is "". */
static int parse_set(struct parser *p, struct pl_requirement *item)
{
    if (p->here.type != TOKEN_OPEN)
        return selector_parse_unexpected(p, "'('");
    selector_parse_advance(p);
    bool is_first = true;
    for (;;) {
        struct token value = p->here;
        if (value.type == TOKEN_WORD)
            selector_parse_advance(p);
        else if (value.type == TOKEN_COMMA || value.type == TOKEN_CLOSE)
            value.text.len = 0;
        else
            return selector_parse_unexpected(p, is_first ? "',', ')' or identifier"
                                                         : "',', or identifier");
        is_first = false;
        if (pl_requirement_add_value(item, value.text, p->err) != 0)
            return selector_parse_fail_at(p->err, value.at);
        if (p->here.type == TOKEN_CLOSE)
            break;
        if (p->here.type != TOKEN_COMMA)
            return selector_parse_unexpected(p, "',' or ')'");
        selector_parse_advance(p);
    }
    selector_parse_advance(p);
    return 0;
}

static int parse_exact(struct parser *p, struct pl_requirement *item)
{
    struct token value = p->here;
    if (value.type == TOKEN_WORD)
        selector_parse_advance(p);
    else if (value.type == TOKEN_END || value.type == TOKEN_COMMA)
        value.text.len = 0;
    else
        return selector_parse_unexpected(p, "identifier");
    return pl_requirement_add_value(item, value.text, p->err) == 0
               ? 0
               : selector_parse_fail_at(p->err, value.at);
}

static bool binary_operator(const struct token *token, enum pl_selector_op *op)
{
    switch (token->type) {
    case TOKEN_EQUALS:
        *op = PL_OP_EQUALS;
        return true;
    case TOKEN_DOUBLE_EQUALS:
        *op = PL_OP_DOUBLE_EQUALS;
        return true;
    case TOKEN_NOT_EQUALS:
        *op = PL_OP_NOT_EQUALS;
        return true;
    case TOKEN_GREATER:
        *op = PL_OP_GREATER;
        return true;
    case TOKEN_LESS:
        *op = PL_OP_LESS;
        return true;
    default:
        *op = pl_slice_eqz(token->text, "in") ? PL_OP_IN : PL_OP_NOT_IN;
        return token->type == TOKEN_WORD && (*op == PL_OP_IN || pl_slice_eqz(token->text, "notin"));
    }
}

static int parse_requirement(struct parser *p)
{
    bool absent = p->here.type == TOKEN_NOT;
    if (absent)
        selector_parse_advance(p);
    struct token key = p->here;
    if (key.type != TOKEN_WORD)
        return selector_parse_unexpected(p, "identifier");
    if (pl_label_check_key(key.text, p->err) != 0)
        return selector_parse_fail_at(p->err, key.at);
    selector_parse_advance(p);
    if (absent || p->here.type == TOKEN_END || p->here.type == TOKEN_COMMA) {
        pl_selector_add(p->selector, key.text, absent ? PL_OP_NOT_EXISTS : PL_OP_EXISTS);
        return 0;
    }
    enum pl_selector_op op;
    if (!binary_operator(&p->here, &op))
        return selector_parse_unexpected(p, "in, notin, =, ==, !=, gt, lt");
    selector_parse_advance(p);
    size_t value_at = p->here.at;
    struct pl_requirement *item = pl_selector_add(p->selector, key.text, op);
    int rc = op == PL_OP_IN || op == PL_OP_NOT_IN ? parse_set(p, item) : parse_exact(p, item);
    if (rc == 0 && pl_requirement_finish(item, p->err) != 0)
        rc = selector_parse_fail_at(p->err, value_at);
    return rc;
}

static int parse_all(struct parser *p)
{
    selector_parse_advance(p);
    if (p->here.type != TOKEN_WORD && p->here.type != TOKEN_NOT && p->here.type != TOKEN_END)
        return selector_parse_unexpected(p, "!, identifier, or 'end of string'");
    while (p->here.type != TOKEN_END) {
        int rc = parse_requirement(p);
        if (rc != 0)
            return rc;
        if (p->here.type == TOKEN_END)
            return 0;
        if (p->here.type != TOKEN_COMMA)
            return selector_parse_unexpected(p, "',' or 'end of string'");
        selector_parse_advance(p);
        if (p->here.type != TOKEN_WORD && p->here.type != TOKEN_NOT)
            return selector_parse_unexpected(p, "identifier after ','");
    }
    return 0;
}

struct pl_selector *pl_selector_parse(struct pl_slice text, struct pl_err *err)
{
    struct parser p = {.text = text, .selector = PL_NEW(struct pl_selector), .err = err};
    return pl_selector_made(p.selector, parse_all(&p));
}

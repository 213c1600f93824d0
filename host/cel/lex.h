/* Tokens of an expression. Private to the parser. */
#pragma once

#include "cel/ast.h"

enum pl_cel_token {
    PL_CEL_T_END,
    PL_CEL_T_NAME,
    PL_CEL_T_INT,
    PL_CEL_T_UINT,
    PL_CEL_T_DOUBLE,
    PL_CEL_T_STRING,
    PL_CEL_T_BYTES,
    PL_CEL_T_SIGN, /* an operator or bracket: its one or two characters are in text */
    PL_CEL_T_WRONG,
};

struct pl_cel_lex {
    struct pl_arena *arena;
    struct pl_slice source;
    struct pl_cel_issues *issues;
    size_t at; /* offset after the token */
    enum pl_cel_token token;
    uint32_t start;       /* offset of the token */
    struct pl_slice text; /* as written; of strings and bytes: their value */
};

void pl_cel_lex_begin(struct pl_cel_lex *lex, struct pl_arena *arena, struct pl_slice source,
                      struct pl_cel_issues *issues);
void pl_cel_lex_next(struct pl_cel_lex *lex);
bool pl_cel_lex_is(const struct pl_cel_lex *lex, const char *sign);

/* The functions and operators that expressions may call. Each overload is a row: a name, a
 * signature, costs, and a function that computes it. Private to cel.
 *
 * In a signature each letter is a type; the result follows the colon. "ss:b" takes two strings and
 * gives a bool.
 *   b bool  i int  u uint  d double  s string  y bytes  n null  t timestamp  r duration  D dyn
 *   T type  Q quantity  U url  I ip  C cidr  F format  V semver  Z authorizer  P path check
 *   G group check  R resource check  E decision  A B any type, the same for each use
 *   Lx list of x  Mxy map of x to y  Ox optional of x */
#pragma once

#include "cel/eval.h"

#include <string.h>

/* `count` arguments, none of which is an error. */
typedef struct pl_cel pl_cel_fn(struct pl_cel_eval *eval, const struct pl_cel *args, size_t count);

/* The cost of a call without its arguments. */
enum pl_cel_cost {
    PL_CEL_COST_ONE,
    PL_CEL_COST_SELF, /* a tenth of the first argument's size */
    PL_CEL_COST_SELF_TWICE,
    PL_CEL_COST_LAST,       /* a tenth of the second argument's size */
    PL_CEL_COST_SMALLER,    /* a tenth of the smaller of two */
    PL_CEL_COST_SUM,        /* a tenth of both together */
    PL_CEL_COST_PRODUCT,    /* contains: the product of both tenths of sizes */
    PL_CEL_COST_REGEX,      /* size of the text times size of the regular expression */
    PL_CEL_COST_ELEMENTS,   /* each element of the first, and its length */
    PL_CEL_COST_IN,         /* each element of the second */
    PL_CEL_COST_RESULT,     /* a tenth of the result */
    PL_CEL_COST_FORMAT,     /* the regular expression of a named format */
    PL_CEL_COST_SETS,       /* each element of one list with each of the other */
    PL_CEL_COST_SETS_TWICE, /* the same, in both directions */
    PL_CEL_COST_COPY,       /* a new list, element by element */
    PL_CEL_COST_FLATTEN,    /* the same, for each level */
    PL_CEL_COST_SORT,       /* a new list, each element compared with each */
    PL_CEL_COST_SORT_TEXTS, /* the same, of strings or bytes */
    PL_CEL_COST_NET,        /* the bytes of two addresses */
    PL_CEL_COST_NET_IN_NET, /* the same, masked first */
    PL_CEL_COST_CHECK,      /* so high that an expression can afford only two */
};

#define PL_CEL_CHECK_COST 350000

/* The maximal size of a result, for estimates. */
enum pl_cel_result_size {
    PL_CEL_SIZE_NONE, /* not known */
    PL_CEL_SIZE_SELF, /* as large as the first argument */
    PL_CEL_SIZE_UP_TO_SELF,
    PL_CEL_SIZE_SUM,
    PL_CEL_SIZE_REPLACE,
    PL_CEL_SIZE_FOURFOLD,
    PL_CEL_SIZE_QUOTED,
    PL_CEL_SIZE_SPLIT, /* as the third argument, a literal, or else the first one's length */
    PL_CEL_SIZE_JOINED,
    PL_CEL_SIZE_RANGE,  /* of lists.range */
    PL_CEL_SIZE_SLICE,  /* between two literals */
    PL_CEL_SIZE_SQUARE, /* kube-apiserver takes the steps of sorting for the size */
};

struct pl_cel_function {
    const char *name; /* its signature follows the NUL: a row has few pointers */
    bool is_member;
    unsigned char cost; /* enum pl_cel_cost */
    unsigned char size; /* enum pl_cel_result_size */
    pl_cel_fn *fn;      /* NULL: eval.c evaluates it */
};

static inline const char *pl_cel_signature(const struct pl_cel_function *function)
{
    return function->name + strlen(function->name) + 1;
}

/* The rows of each library; a row without a name ends them. */
extern const struct pl_cel_function pl_cel_core_functions[];
extern const struct pl_cel_function pl_cel_convert_functions[];
extern const struct pl_cel_function pl_cel_time_functions[];
extern const struct pl_cel_function pl_cel_string_functions[];
extern const struct pl_cel_function pl_cel_list_functions[];
extern const struct pl_cel_function pl_cel_optional_functions[];
extern const struct pl_cel_function pl_cel_quantity_functions[];
extern const struct pl_cel_function pl_cel_net_functions[];
extern const struct pl_cel_function pl_cel_format_functions[];
extern const struct pl_cel_function pl_cel_semver_functions[];
extern const struct pl_cel_function pl_cel_authz_functions[];
extern const struct pl_cel_function pl_cel_patch_functions[];

/* All overloads of that name, either member functions or others; *count is 0 when there are none.
 * The array lives in the arena. */
const struct pl_cel_function *const *
pl_cel_function_rows(struct pl_arena *arena, struct pl_slice name, bool is_member, size_t *count);
bool pl_cel_function_exists(struct pl_slice name);
/* True when the overload accepts arguments of these types. *result is its result type, with A and B
 * replaced; it lives in the arena. */
bool pl_cel_function_takes(struct pl_arena *arena, const struct pl_cel_function *function,
                           const struct pl_cel_type *const *args, size_t count,
                           const struct pl_cel_type **result);
/* The same, by the kinds of the values. */
bool pl_cel_function_takes_values(const struct pl_cel_function *function, const struct pl_cel *args,
                                  size_t count);

/* ---- for the implementation of functions ---- */

/* Defines a function that only reads its arguments. */
#define PL_CEL_GETTER(fn_name, expression)                                                         \
    static struct pl_cel fn_name(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)    \
    {                                                                                              \
        PL_UNUSED(eval);                                                                           \
        PL_UNUSED(n);                                                                              \
        return expression;                                                                         \
    }
/* Rows: any function, a member function with a cost of one, and a function that parses a text. */
#define PL_CEL_ROW(name, signature, ...)                                                           \
    {                                                                                              \
        name "\0" signature, __VA_ARGS__                                                           \
    }
#define PL_CEL_MEMBER(name, signature, fn)                                                         \
    PL_CEL_ROW(name, signature, true, PL_CEL_COST_ONE, PL_CEL_SIZE_NONE, fn)
#define PL_CEL_READER(name, signature, fn)                                                         \
    PL_CEL_ROW(name, signature, false, PL_CEL_COST_SELF, PL_CEL_SIZE_NONE, fn)

pl_cel_fn pl_cel_ip_text;     /* of addresses and networks: string(ip) */
pl_cel_fn pl_cel_format_text; /* "%s".format(list) */

struct pl_cel pl_cel_no_overload(void);
/* True when the text has that named format ("dns1123Label"), which must exist. */
bool pl_cel_is_format(struct pl_cel_eval *eval, const char *name, struct pl_slice text);

/* ---- regular expressions (pattern.c) ---- */

/* As pl_regex_compile. The evaluation owns the result and keeps it until the next call with another
 * text; the text must live as long. */
const struct pl_regex *pl_cel_pattern(struct pl_cel_eval *eval, struct pl_slice text,
                                      struct pl_err *err);
/* The evaluation's. */
struct pl_regex_search *pl_cel_search(struct pl_cel_eval *eval);
/* As pl_regex_test. */
PL_MUST_USE int pl_cel_fits(struct pl_cel_eval *eval, const char *pattern, struct pl_slice text,
                            struct pl_err *err);

/* A text as a result: a copy of the buffer in the arena. Empties the buffer. */
struct pl_cel pl_cel_text_result(struct pl_cel_eval *eval, struct pl_buf *text);

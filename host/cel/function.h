/* The functions and operators that expressions may call. Each overload is a row: a name, a
 * signature, and what computes it. Private to cel.
 *
 * A signature is written in letters, arguments, a colon, the result: "ss:b" takes two strings and
 * gives a bool.
 *   b bool  i int  u uint  d double  s string  y bytes  n null  t timestamp  r duration  D dyn
 *   T type  Q quantity  U url  I ip  C cidr  F format  V semver  Z authorizer  P path check
 *   G group check  R resource check  E decision  A B any type, the same at each place
 *   Lx list of x  Mxy map of x to y  Ox optional of x */
#pragma once

#include "cel/eval.h"

/* count values, none of them an error. */
typedef struct pl_cel pl_cel_fn(struct pl_cel_eval *eval, const struct pl_cel *args, size_t count);

/* What a call costs beside its arguments, and how large its result can be. */
enum pl_cel_cost {
    PL_CEL_COST_ONE,
    PL_CEL_COST_SELF, /* a tenth of the first argument's size */
    PL_CEL_COST_SELF_TWICE,
    PL_CEL_COST_LAST,       /* a tenth of the second argument's size */
    PL_CEL_COST_SMALLER,    /* a tenth of the smaller of two */
    PL_CEL_COST_SUM,        /* a tenth of both together */
    PL_CEL_COST_PRODUCT,    /* contains: the product of both tenths */
    PL_CEL_COST_REGEX,      /* text by expression */
    PL_CEL_COST_ELEMENTS,   /* each element of the first, and what it is long */
    PL_CEL_COST_IN,         /* each element of the second */
    PL_CEL_COST_RESULT,     /* a tenth of the result, twice */
    PL_CEL_COST_FORMAT,     /* a named format's expression */
    PL_CEL_COST_SETS,       /* each element of one with each of the other */
    PL_CEL_COST_SETS_TWICE, /* both ways */
    PL_CEL_COST_COPY,       /* a new list, element by element */
    PL_CEL_COST_SORT,       /* a new list, each element with each */
    PL_CEL_COST_NET,        /* the bytes of two addresses */
    PL_CEL_COST_NET_IN_NET, /* the same, masked first */
    PL_CEL_COST_CHECK,      /* so high that an expression can afford two */
};

#define PL_CEL_CHECK_COST 350000

/* How large a result can be, for estimates. */
enum pl_cel_result_size {
    PL_CEL_SIZE_TYPE, /* what its type says */
    PL_CEL_SIZE_SELF, /* not larger than the first argument */
    PL_CEL_SIZE_SUM,
    PL_CEL_SIZE_REPLACE,
    PL_CEL_SIZE_FOURFOLD,
};

struct pl_cel_function {
    const char *name;
    const char *signature;
    bool is_member;
    enum pl_cel_cost cost;
    enum pl_cel_result_size size;
    pl_cel_fn *fn; /* NULL: the evaluation itself knows it */
};

/* The libraries' rows; the end of each has no name. */
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

/* All rows of that name, of member functions or of others; *count is 0 when there are none. The
 * array is the arena's. */
const struct pl_cel_function *const *
pl_cel_function_rows(struct pl_arena *arena, struct pl_slice name, bool is_member, size_t *count);
bool pl_cel_function_exists(struct pl_slice name);
/* Does a row take these arguments? What A and B stand for is found on the way; the result's type is
 * the arena's. */
bool pl_cel_function_takes(struct pl_arena *arena, const struct pl_cel_function *function,
                           const struct pl_cel_type *const *args, size_t count,
                           const struct pl_cel_type **result);
/* The same, by the kinds of values. */
bool pl_cel_function_takes_values(const struct pl_cel_function *function, const struct pl_cel *args,
                                  size_t count);

/* ---- for those who implement them ---- */

/* A function that only looks at its arguments. */
#define PL_CEL_GETTER(fn_name, expression)                                                         \
    static struct pl_cel fn_name(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)    \
    {                                                                                              \
        PL_UNUSED(eval);                                                                           \
        PL_UNUSED(n);                                                                              \
        return expression;                                                                         \
    }
/* Usual rows: a member function that costs one, and a function that reads a text. */
#define PL_CEL_MEMBER(name, signature, fn)                                                         \
    {                                                                                              \
        name, signature, true, PL_CEL_COST_ONE, PL_CEL_SIZE_TYPE, fn                               \
    }
#define PL_CEL_READER(name, signature, fn)                                                         \
    {                                                                                              \
        name, signature, false, PL_CEL_COST_SELF, PL_CEL_SIZE_TYPE, fn                             \
    }

pl_cel_fn pl_cel_ip_text;     /* of addresses and networks: string(ip) */
pl_cel_fn pl_cel_format_text; /* "%s".format(list) */

struct pl_cel pl_cel_no_overload(void);
/* Has the text that named format ("dns1123Label")? The format must exist. */
bool pl_cel_is_format(const char *name, struct pl_slice text);
/* A result's text, copied into the arena; takes what the buffer holds and empties it. */
struct pl_cel pl_cel_text_result(struct pl_cel_eval *eval, struct pl_buf *text);

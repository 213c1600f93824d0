/* CEL: expressions that are compiled once, checked against the types of their variables, and then
 * evaluated with limits. The language, the functions and the costs are those that Kubernetes 1.37
 * offers to x-kubernetes-validations, match conditions and admission policies, without time zones
 * by name.
 *
 * An expression cannot end the process, run for ever or reach anything but its variables: parsing
 * limits size and depth, and evaluation limits the cost. */
#pragma once

#include "base/err.h"
#include "cel/type.h"
#include "cel/value.h"

#define PL_CEL_TEXT          (64u << 10) /* bytes of an expression */
#define PL_CEL_DEPTH         64          /* levels of nesting */
#define PL_CEL_REQUEST_BYTES (3u << 20)  /* the largest request, which estimates assume */
#define PL_CEL_CALL_LIMIT    1000000     /* cost of one evaluation */
#define PL_CEL_MAX_VARS      16

struct pl_cel_program;

struct pl_cel_var {
    const char *name;               /* may be "one.two" */
    const struct pl_cel_type *type; /* NULL: dyn; must outlive the program */
};

/* Compiles. On failure returns NULL and appends the compiler's messages to why ("ERROR:
 * <input>:1:6: undefined field 'x'\n | ..."). vars are borrowed while the program lives; their
 * values are passed to the evaluation in the same order. The caller destroys the program. It is
 * immutable: several threads may evaluate it. */
struct pl_cel_program *pl_cel_compile(struct pl_slice text, const struct pl_cel_var *vars,
                                      size_t count, struct pl_buf *why);
/* The same for an expression that changes objects: it may make values of the types Object,
 * Object.some.path and JSONPatch, and call jsonpatch.escapeKey. */
struct pl_cel_program *pl_cel_compile_patch(struct pl_slice text, const struct pl_cel_var *vars,
                                            size_t count, struct pl_buf *why);
void pl_cel_program_destroy(struct pl_cel_program *program); /* accepts NULL */

/* The type of the expression's values. It lives as long as the program and the types of its
 * variables. */
const struct pl_cel_type *pl_cel_program_type(const struct pl_cel_program *program);
bool pl_cel_program_uses(const struct pl_cel_program *program, size_t var);
/* The highest cost of one evaluation, as far as the types give a bound; UINT64_MAX: there is none.
 */
uint64_t pl_cel_program_cost(const struct pl_cel_program *program);

/* Evaluates with one value for each variable. The result is a value or an error (pl_cel_is_error,
 * with a text). It lives in the arena, and as long as the memory of the values. The cost is added
 * to *cost. */
struct pl_cel pl_cel_evaluate(const struct pl_cel_program *program, struct pl_arena *arena,
                              const struct pl_cel *values, uint64_t limit, uint64_t *cost);
/* The text of the error of an evaluation that reached its limit. */
#define PL_CEL_OVER_LIMIT "operation cancelled: actual cost limit exceeded"

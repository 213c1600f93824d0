/* Compiles: parses, checks, estimates the cost. A program owns everything that it was made of and
 * never changes. */
#include "cel/ast.h"

#include "base/alloc.h"
#include "base/check.h"

static struct pl_cel_program *compile(struct pl_slice text, const struct pl_cel_var *vars,
                                      size_t count, bool makes_patches, struct pl_buf *why)
{
    PL_REQUIRE(count <= PL_CEL_MAX_VARS);
    struct pl_cel_program *program = PL_NEW(struct pl_cel_program);
    program->makes_patches = makes_patches;
    struct pl_slice copy = pl_arena_copy(&program->arena, text);
    struct pl_cel_issues issues = {.text = copy, .out = why};
    program->root = pl_cel_parse(&program->arena, copy, &issues);
    if (program->root == NULL || !pl_cel_check(program, vars, count, &issues)) {
        pl_cel_program_destroy(program);
        return NULL;
    }
    program->cost = pl_cel_estimate(program, count > 0 ? vars[0].type : NULL);
    return program;
}

struct pl_cel_program *pl_cel_compile(struct pl_slice text, const struct pl_cel_var *vars,
                                      size_t count, struct pl_buf *why)
{
    return compile(text, vars, count, false, why);
}

struct pl_cel_program *pl_cel_compile_patch(struct pl_slice text, const struct pl_cel_var *vars,
                                            size_t count, struct pl_buf *why)
{
    return compile(text, vars, count, true, why);
}

void pl_cel_program_destroy(struct pl_cel_program *program)
{
    if (program == NULL)
        return;
    pl_arena_deinit(&program->arena);
    pl_free(program);
}

const struct pl_cel_type *pl_cel_program_type(const struct pl_cel_program *program)
{
    return program->root->type;
}

bool pl_cel_program_uses(const struct pl_cel_program *program, size_t var)
{
    return var < program->var_count && (program->used >> var & 1) != 0;
}

uint64_t pl_cel_program_cost(const struct pl_cel_program *program)
{
    return program->cost;
}

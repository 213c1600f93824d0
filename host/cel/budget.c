/* The cost of an evaluation, and results that all functions share. Code that loops, copies or
 * compares without a fixed bound charges the cost first. */
#include "cel/function.h"

bool pl_cel_charge(struct pl_cel_eval *eval, uint64_t cost)
{
    eval->cost = cost > UINT64_MAX - eval->cost ? UINT64_MAX : eval->cost + cost;
    return eval->cost <= eval->limit;
}

struct pl_cel pl_cel_over_limit(void)
{
    return (struct pl_cel){.kind = PL_CEL_ERROR, .s = pl_slice_z(PL_CEL_OVER_LIMIT)};
}

struct pl_cel pl_cel_no_overload(void)
{
    return (struct pl_cel){.kind = PL_CEL_ERROR, .s = pl_slice_z("no such overload")};
}

struct pl_cel pl_cel_text_result(struct pl_cel_eval *eval, struct pl_buf *text)
{
    struct pl_cel value = pl_cel_string(pl_arena_copy(eval->arena, pl_buf_slice(text)));
    pl_buf_deinit(text);
    return value;
}

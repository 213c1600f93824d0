/* What PodDisruptionBudgets allow (`perilune dev --simulate`): their statuses are counted from the
 * Pods of their namespaces a second after a change. Evictions read them. One thread. */
#pragma once

#include "apicall/core.h"

struct pl_api_budgets;

/* The caller owns the result. */
struct pl_api_budgets *pl_api_budgets_create(struct pl_api *api);
void pl_api_budgets_destroy(struct pl_api_budgets *budgets);
/* Called for every event; writes nothing itself. */
void pl_api_budgets_note(struct pl_api_budgets *budgets, const struct pl_api_event *event);

/* The budget with a new status, for which its Pods are counted; NULL: its status is right. */
struct pl_tree *pl_api_budget_count(struct pl_api *api, struct pl_arena *arena,
                                    const struct pl_api_entry *entry);
/* Sets the condition DisruptionAllowed of the budget from the rest of its status. */
void pl_api_budget_set_condition(struct pl_arena *arena, struct pl_tree *budget,
                                 struct pl_tree *now);

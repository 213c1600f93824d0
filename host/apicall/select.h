/* Which objects a list, watch or deletecollection selects. */
#pragma once

#include "apicall/core.h"
#include "apicall/shard_select.h"
#include "object/selector.h"

struct pl_api_select {
    struct pl_selector *labels; /* owned; NULL: all */
    struct pl_fields *fields;   /* owned; NULL: all */
    struct pl_api_shards shards;
    char *ns, *name;   /* owned; NULL: all */
    unsigned zero;     /* fields that must be zero or absent, and those that must not; bits, see */
    unsigned non_zero; /* select.c */
};

/* Reads the request's parameters. -1 and the status if a selector is malformed or names a field
 * that this kind does not support. */
int pl_api_select_init(struct pl_api_select *select, struct pl_api_ctx *ctx);
void pl_api_select_deinit(struct pl_api_select *select);
bool pl_api_select_matches(const struct pl_api_select *select, struct pl_node object);

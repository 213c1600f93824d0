/* Which objects a list, watch or deletecollection is about. */
#pragma once

#include "apicall/core.h"
#include "apicall/shard_select.h"
#include "object/selector.h"

struct pl_api_select {
    struct pl_selector *labels; /* owned; NULL: all */
    struct pl_fields *fields;   /* owned; NULL: all */
    struct pl_api_shards shards;
    char *ns, *name; /* owned; NULL: all */
};

/* From the request's parameters; -1 and the status when a selector is bad or names
 * a field that this kind can't be selected by. */
int pl_api_select_init(struct pl_api_select *select, struct pl_api_ctx *ctx);
void pl_api_select_deinit(struct pl_api_select *select);
bool pl_api_select_matches(const struct pl_api_select *select, struct pl_node object);

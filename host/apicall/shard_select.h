/* shardSelector: selects the objects of a list, watch or deletecollection whose hash is in the
 * given ranges. The text is a small subset of CEL: shardRange(object.metadata.uid,
 * '0x0000000000000000', '0x8000000000000000') || ... */
#pragma once

#include "base/buf.h"
#include "base/slice.h"
#include "value/doc.h"

#include <stdbool.h>
#include <stdint.h>

/* All zeroes: selects everything. */
struct pl_api_shards {
    struct pl_api_shard_range {
        uint64_t start, last; /* inclusive */
    } * ranges;               /* owned */
    size_t count;
    bool by_namespace; /* else by uid */
    char *text;        /* owned: the selector as the server repeats it */
};

/* -1 and kube-apiserver's words appended to why. */
int pl_api_shards_parse(struct pl_api_shards *shards, struct pl_slice text, struct pl_buf *why);
void pl_api_shards_deinit(struct pl_api_shards *shards);
bool pl_api_shards_match(const struct pl_api_shards *shards, struct pl_node object);

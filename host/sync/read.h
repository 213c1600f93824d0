/* A live read: discovery, the check of scope, one request. I/O thread. */
#pragma once

#include "kube/client.h"

struct pl_site;
struct pl_read_op;

struct pl_read {
    enum pl_verb verb; /* GET or LIST */
    struct pl_kind kind;
    /* As in pl_call: instead of kind and name, with GET. Copied, as are the following fields. */
    struct pl_slice raw_path, headers;
    struct pl_slice ns, name, subresource, query, labels, fields, continue_token;
    int64_t limit;
    bool metadata_only, keep_managed_fields;
    bool takes_text;     /* as in pl_call */
    int64_t deadline_ns; /* monotonic; 0: the client's own limit */
};

/* on_answer comes exactly once, later; the operation lives until then and can be cancelled. Never
 * NULL. */
struct pl_read_op *pl_read_start(struct pl_site *site, const struct pl_read *read,
                                 pl_answer_fn on_answer, void *arg);
void pl_read_op_cancel(struct pl_read_op *op);

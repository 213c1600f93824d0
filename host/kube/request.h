/* The HTTP request of a call: method, URL, content types, body. Pure. */
#pragma once

#include "base/buf.h"
#include "kube/client.h"

struct pl_wire {
    const char *method;
    const char *content_type; /* NULL: no body */
    const char *accept;
    struct pl_buf url;     /* absolute, escaped */
    struct pl_buf body;    /* JSON */
    struct pl_buf headers; /* more: "name\0value\0..."; accept and content_type come first */
};

/* EINVAL when the call is invalid: a missing name, a namespace for a cluster-scoped kind, a name
 * that is not a path segment. The caller deinits in any case. */
PL_MUST_USE int pl_wire_of_call(struct pl_wire *wire, const char *server,
                                const struct pl_call *call, struct pl_err *err);
/* The page of a list after that of `wire` (rule 55): only the token identifies it. */
void pl_wire_of_next_page(struct pl_wire *next, const struct pl_wire *wire, struct pl_slice token);
PL_MUST_USE int pl_wire_of_watch(struct pl_wire *wire, const char *server,
                                 const struct pl_watch_call *call, struct pl_err *err);
void pl_wire_deinit(struct pl_wire *wire);

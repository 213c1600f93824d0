/* Pods in protobuf, which Go clients request by default: the messages of
 * k8s.io/api/core/v1/generated.proto, made from the objects' JSON. */
#pragma once

#include "load_data.h"

#define LOAD_PROTOBUF_TYPE "application/vnd.kubernetes.protobuf"

/* Makes the messages of all objects (pods), once; before, the kind has only JSON. Ends the process
 * at a member of an object that it has no field for. */
void load_protobuf_prepare(struct load_kind *kind);
static inline bool load_protobuf_is_ready(const struct load_kind *kind)
{
    return kind->messages != NULL;
}
void load_protobuf_deinit(struct load_kind *kind);

/* A list: its head, each item, and the end; `at` is what the head has returned. continues: "" at
 * the end of the list. */
size_t load_protobuf_begin_list(struct pl_buf *out, const struct load_kind *kind, uint64_t version,
                                const char *continues);
void load_protobuf_add_item(struct pl_buf *out, const struct load_kind *kind,
                            const struct load_object *object);
void load_protobuf_end_list(struct pl_buf *out, size_t at);
/* A frame of a watch. */
void load_protobuf_add_event(struct pl_buf *out, const struct load_kind *kind, const char *type,
                             const struct load_object *object);
void load_protobuf_add_bookmark(struct pl_buf *out, const struct load_kind *kind, uint64_t version,
                                bool ends_initial);

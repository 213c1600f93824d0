/* Bytes as protobuf of every built-in kind, and as JSON that is read by its type. Whatever one
 * direction accepts, the other must accept, too. The first byte chooses the kind. */
#include "gotype/proto.h"
#include "gotype/typed.h"
#include "value/scan.h"

#include <stdint.h>
#include <stdlib.h>

static void read_json(struct pl_slice text, struct pl_message type)
{
    struct pl_scan_options options = {.keep_managed_fields = true};
    struct pl_doc *doc = pl_scan_text(text, &options, NULL);
    struct pl_arena arena = {0};
    struct pl_typed t = {.arena = &arena};
    if (pl_node_type(pl_doc_root(doc)) == PL_OBJECT) {
        struct pl_tree *tree = pl_typed_parse(&arena, text);
        pl_typed_apply_error(&arena, tree, type);
        if (pl_typed_read(&t, tree, type) == 0)
            pl_typed_fill(&arena, tree, type);
    }
    pl_doc_unref(doc);
    pl_arena_deinit(&arena);
}

static void read_proto(struct pl_slice bytes, struct pl_message type)
{
    struct pl_arena arena = {0};
    struct pl_proto_envelope envelope;
    const char *why = NULL;
    if (pl_proto_open(bytes, &envelope))
        bytes = envelope.raw;
    struct pl_tree *tree = pl_proto_decode(&arena, type, bytes, &why);
    if ((tree == NULL) != (why != NULL))
        abort();
    if (tree != NULL) {
        struct pl_doc *doc = pl_tree_doc(tree, NULL);
        struct pl_buf out = PL_BUF_INIT;
        pl_proto_encode(&out, type, pl_doc_root(doc));
        if (pl_proto_decode(&arena, type, pl_buf_slice(&out), &why) == NULL)
            abort();
        pl_buf_deinit(&out);
        pl_doc_unref(doc);
    }
    pl_arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pl_message_kind kind;
    if (size == 0)
        return 0;
    pl_message_kind_at(data[0] % pl_message_kind_count(), &kind);
    struct pl_slice rest = pl_slice((const char *)data + 1, size - 1);
    read_proto(rest, kind.message);
    read_json(rest, kind.message);
    return 0;
}

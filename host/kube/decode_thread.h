/* A separate thread decodes large answers, while the loop's thread receives the following bytes and
 * stores earlier objects. The text is handed over in the pieces in which it arrived. The objects
 * come back in their order, some at a time, with a message to the loop.
 *
 * For a watch, that applies to the list that it begins with. After its first event that is not
 * ADDED, every piece is reported at once. As soon as the thread has no more pieces of that watch,
 * later bytes are decoded on the loop's thread, so that no event waits for another thread.
 *
 * All functions belong to the loop's thread. */
#pragma once

#include "kube/decode.h"

struct pl_decode_thread;
struct pl_decoding;

/* loop: borrowed for life. */
struct pl_decode_thread *pl_decode_thread_create(struct pl_loop *loop);
/* No answer may be under way: all clients that use it are destroyed. Accepts NULL. */
void pl_decode_thread_destroy(struct pl_decode_thread *thread);

/* One answer. */
struct pl_decoding_ops {
    /* Objects of a list, or events, with the enum pl_watch_type of each. The owner takes the
     * objects, but not the arrays. */
    void (*on_items)(void *owner, const struct pl_docs *items, const uint8_t *types);
    /* Only from the thread: token of the list's next page. Borrowed. */
    void (*on_token)(void *owner, struct pl_slice token);
    /* Only from the thread, for events: one could not be decoded; the owner must call
     * pl_decoding_end. */
    void (*on_broken)(void *owner);
    /* All bytes are decoded: the owner may use the decoder again. Called once, after
     * pl_decoding_end or inside it. */
    void (*on_end)(void *owner);
};

/* thread NULL: decodes on the loop's thread. ops and owner must live until the decoding is dropped.
 */
struct pl_decoding *pl_decoding_create(struct pl_decode_thread *thread,
                                       const struct pl_expected *expected,
                                       const struct pl_decoding_ops *ops, void *owner);
/* For pl_decoder_begin. From the first piece until on_end only its status may be read. It belongs
 * to the decoding. */
struct pl_decoder *pl_decoding_decoder(struct pl_decoding *decoding);
/* Like pl_decoder_feed, but an error may be reported with a later piece. Waits if the thread is far
 * behind. */
int pl_decoding_feed(struct pl_decoding *decoding, struct pl_slice piece);
/* No more bytes come. */
void pl_decoding_end(struct pl_decoding *decoding);
/* May be called at any time: there are no callbacks afterwards. Accepts NULL. */
void pl_decoding_drop(struct pl_decoding *decoding);

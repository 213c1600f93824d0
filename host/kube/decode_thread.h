/* Large answers become documents on a thread of their own, while the loop's thread receives what
 * follows and stores what came before. The text is handed over in the pieces in which it came, the
 * objects come back in their order, some at a time, with a message to the loop.
 *
 * Of a watch, that is the list it begins with. After its first event that is not ADDED every piece
 * is told of at once; and as soon as the thread has no more of it, what comes is decoded where it
 * arrives, so that no event waits for another thread.
 *
 * All functions belong to the loop's thread. */
#pragma once

#include "kube/decode.h"

struct pl_decode_thread;
struct pl_decoding;

/* loop: borrowed for life. */
struct pl_decode_thread *pl_decode_thread_create(struct pl_loop *loop);
/* Nothing may be under way: clients that use it are gone. Accepts NULL. */
void pl_decode_thread_destroy(struct pl_decode_thread *thread);

/* One answer. */
struct pl_decoding_ops {
    /* Objects of a list, or events, with the enum pl_watch_type of each. The objects are the
     * owner's, the arrays are not. */
    void (*on_items)(void *owner, const struct pl_docs *items, const uint8_t *types);
    /* Only on the thread: where the list's next page begins. Borrowed. */
    void (*on_token)(void *owner, struct pl_slice token);
    /* Only on the thread, of events: one could not be decoded; pl_decoding_end is to follow. */
    void (*on_broken)(void *owner);
    /* All that was fed is decoded: the decoder is the owner's again. Once, after pl_decoding_end,
     * perhaps inside of it. */
    void (*on_end)(void *owner);
};

/* thread NULL: the answer is decoded where it arrives. ops and owner must live until it is
 * dropped. */
struct pl_decoding *pl_decoding_create(struct pl_decode_thread *thread,
                                       const struct pl_expected *expected,
                                       const struct pl_decoding_ops *ops, void *owner);
/* For pl_decoder_begin; from the first piece until on_end only its status may be looked at. */
struct pl_decoder *pl_decoding_decoder(struct pl_decoding *decoding);
/* Like pl_decoder_feed, but an error may be told with a later piece. Waits where the thread has got
 * far behind. */
int pl_decoding_feed(struct pl_decoding *decoding, struct pl_slice piece);
/* Nothing more comes. */
void pl_decoding_end(struct pl_decoding *decoding);
/* At any time: nothing is called any more. Accepts NULL. */
void pl_decoding_drop(struct pl_decoding *decoding);

/* The thread that decodes lists and the beginnings of watches, to relieve the I/O thread.
 *
 * A decoding belongs to one thread at a time. While pieces of it are under way, the thread uses the
 * decoder. Once all are acknowledged and an event other than ADDED has come (`stays`), the I/O
 * thread decodes by itself, which saves the round trip for each event. Documents come back in the
 * order of their text.
 *
 * Waiting text is limited: a full queue makes the I/O thread wait, so that the server is not read
 * faster than its answers are decoded. A dropped decoding is freed when its end has come back. */
#include "kube/decode_thread.h"

#include "base/alloc.h"
#include "base/check.h"
#include "net/mailbox.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    MOST_QUEUED = 8 << 20,           /* limit of waiting text in bytes */
    ENOUGH_QUEUED = MOST_QUEUED / 2, /* after reaching the limit, more is accepted from here on */
    SOME_ITEMS = 256,                /* number of items that is worth a message */
};

enum { MSG_PIECE, MSG_PART, MSG_END, MSG_STOP };

struct pl_decode_thread {
    struct pl_mailbox *work;  /* MSG_PIECE, MSG_END, MSG_STOP */
    struct pl_mailbox *ready; /* MSG_PART, and MSG_END coming back */
    struct pl_msg stop;
    pthread_t thread;
    pthread_mutex_t lock; /* a leaf */
    pthread_cond_t room;
    size_t queued; /* under lock */
};

struct pl_decoding {
    struct pl_decode_thread *thread; /* NULL: decode on the loop's thread */
    struct pl_decoder decoder;       /* used by the thread that decodes */
    const struct pl_decoding_ops *ops;
    void *owner;
    struct pl_msg end;
    /* Used by the loop's thread. */
    size_t unacked; /* pieces that the thread may still be decoding */
    bool is_telling, is_ending, end_sent, is_dropped;
    bool stays; /* decode here once unacked is 0 */
    /* Used by the decode thread. */
    size_t decoded; /* pieces since the last message */
    bool told_token;
    _Atomic int code; /* reason to skip the rest: the first error, or PL_ECANCELED */
};

struct piece {
    struct pl_msg msg;
    struct pl_decoding *decoding;
    size_t len;
    char bytes[];
};

struct part {
    struct pl_msg msg;
    struct pl_decoding *decoding;
    size_t pieces; /* pieces decoded since the message before it */
    bool changes, is_broken;
    struct pl_docs items;
    struct pl_buf types;
    struct pl_buf token;
};

/* ---- on the thread ---- */

static void decode_thread_hand_over(struct pl_decode_thread *thread, struct pl_decoding *decoding)
{
    struct pl_decoder *decoder = &decoding->decoder;
    struct part *part = PL_NEW(struct part);
    part->msg.kind = MSG_PART;
    part->decoding = decoding;
    part->pieces = decoding->decoded;
    decoding->decoded = 0;
    part->changes = decoder->changes;
    part->is_broken = decoder->err.code != 0;
    part->items = decoder->items;
    decoder->items = (struct pl_docs){0};
    part->types = decoder->types;
    decoder->types = PL_BUF_INIT;
    if (!decoding->told_token)
        pl_buf_add_slice(&part->token, pl_buf_slice(&decoder->token));
    decoding->told_token = decoder->token.len > 0;
    pl_mailbox_send(thread->ready, &part->msg);
}

static void give_room(struct pl_decode_thread *thread, size_t len)
{
    pthread_mutex_lock(&thread->lock);
    bool was_much = thread->queued > ENOUGH_QUEUED;
    thread->queued -= len;
    bool has_room = was_much && thread->queued <= ENOUGH_QUEUED;
    pthread_mutex_unlock(&thread->lock);
    if (has_room)
        pthread_cond_signal(&thread->room);
}

static bool is_worth_telling(const struct pl_decoding *decoding)
{
    const struct pl_decoder *decoder = &decoding->decoder;
    if (decoder->expected.form == PL_FORM_EVENTS && (decoder->changes || decoder->err.code != 0))
        return true;
    return decoder->items.count >= SOME_ITEMS || (decoder->token.len > 0 && !decoding->told_token);
}

static void decode(struct pl_decode_thread *thread, struct piece *piece)
{
    struct pl_decoding *decoding = piece->decoding;
    int code = atomic_load_explicit(&decoding->code, memory_order_relaxed);
    if (code == 0)
        code = pl_decoder_feed(&decoding->decoder, pl_slice(piece->bytes, piece->len));
    if (code != 0)
        atomic_store_explicit(&decoding->code, code, memory_order_relaxed);
    give_room(thread, piece->len);
    pl_free(piece);
    decoding->decoded++;
    if (is_worth_telling(decoding))
        decode_thread_hand_over(thread, decoding);
}

static void decode_thread_end(struct pl_decode_thread *thread, struct pl_decoding *decoding)
{
    if (decoding->decoder.items.count > 0)
        decode_thread_hand_over(thread, decoding);
    pl_mailbox_send(thread->ready, &decoding->end);
}

static void *decode_thread_run(void *arg)
{
    struct pl_decode_thread *thread = arg;
    struct pl_list work;
    pl_list_init(&work);
    pthread_setname_np(pthread_self(), "decode");
    for (;;) {
        struct pl_link *link = pl_list_pop(&work);
        if (link == NULL) {
            pl_mailbox_wait(thread->work, &work, -1);
            continue;
        }
        struct pl_msg *msg = PL_CONTAINER_OF(link, struct pl_msg, link);
        if (msg->kind == MSG_STOP)
            return NULL;
        if (msg->kind == MSG_PIECE)
            decode(thread, PL_CONTAINER_OF(msg, struct piece, msg));
        else
            decode_thread_end(thread, PL_CONTAINER_OF(msg, struct pl_decoding, end));
    }
}

/* ---- on the loop ---- */

/* The thread has pieces of it, or its end. */
static bool is_shared(const struct pl_decoding *decoding)
{
    return decoding->unacked > 0 || decoding->end_sent;
}

static void decode_thread_destroy(struct pl_decoding *decoding)
{
    pl_decoder_reset(&decoding->decoder);
    pl_free(decoding);
}

/* False: it was dropped, and may be freed. */
static bool decode_thread_tell(struct pl_decoding *decoding, struct pl_docs *items,
                               const struct pl_buf *types)
{
    if (items->count > 0) {
        decoding->is_telling = true;
        decoding->ops->on_items(decoding->owner, items, (const uint8_t *)types->ptr);
        decoding->is_telling = false;
        items->count = 0;
    }
    if (decoding->is_dropped && !is_shared(decoding)) {
        decode_thread_destroy(decoding);
        return false;
    }
    return !decoding->is_dropped;
}

static void tell_part(struct pl_decoding *decoding, struct part *part)
{
    if (part->token.len > 0)
        decoding->ops->on_token(decoding->owner, pl_buf_slice(&part->token));
    if (decode_thread_tell(decoding, &part->items, &part->types) && part->is_broken &&
        !decoding->is_ending)
        decoding->ops->on_broken(decoding->owner);
}

static void on_part(struct part *part)
{
    struct pl_decoding *decoding = part->decoding;
    decoding->unacked -= part->pieces;
    decoding->stays = decoding->stays || part->changes;
    if (!decoding->is_dropped)
        tell_part(decoding, part);
    pl_docs_deinit(&part->items);
    pl_buf_deinit(&part->types);
    pl_buf_deinit(&part->token);
    pl_free(part);
}

static void on_decode_thread_end(struct pl_decoding *decoding)
{
    decoding->unacked = 0;
    decoding->end_sent = false;
    if (decoding->is_dropped)
        decode_thread_destroy(decoding);
    else
        decoding->ops->on_end(decoding->owner);
}

static void on_ready(void *arg, struct pl_list *messages)
{
    PL_UNUSED(arg);
    struct pl_link *link;
    while ((link = pl_list_pop(messages)) != NULL) {
        struct pl_msg *msg = PL_CONTAINER_OF(link, struct pl_msg, link);
        if (msg->kind == MSG_PART)
            on_part(PL_CONTAINER_OF(msg, struct part, msg));
        else
            on_decode_thread_end(PL_CONTAINER_OF(msg, struct pl_decoding, end));
    }
}

/* Waits so that the server is not read faster than its answers are decoded. */
static void take_room(struct pl_decode_thread *thread, size_t len)
{
    pthread_mutex_lock(&thread->lock);
    bool is_full = thread->queued > MOST_QUEUED;
    while (is_full && thread->queued > ENOUGH_QUEUED)
        pthread_cond_wait(&thread->room, &thread->lock);
    thread->queued += len;
    pthread_mutex_unlock(&thread->lock);
}

static int decode_here(struct pl_decoding *decoding, struct pl_slice text)
{
    struct pl_decoder *decoder = &decoding->decoder;
    int code = pl_decoder_feed(decoder, text);
    if (!decode_thread_tell(decoding, &decoder->items, &decoder->types))
        return PL_ECANCELED;
    pl_buf_clear(&decoder->types);
    return code;
}

int pl_decoding_feed(struct pl_decoding *decoding, struct pl_slice text)
{
    if (decoding->thread == NULL || (decoding->stays && !is_shared(decoding)))
        return decode_here(decoding, text);
    struct piece *piece = pl_malloc(sizeof *piece + text.len);
    *piece = (struct piece){.msg.kind = MSG_PIECE, .decoding = decoding, .len = text.len};
    memcpy(piece->bytes, text.ptr, text.len);
    decoding->unacked++;
    take_room(decoding->thread, text.len);
    pl_mailbox_send(decoding->thread->work, &piece->msg);
    return atomic_load_explicit(&decoding->code, memory_order_relaxed);
}

void pl_decoding_end(struct pl_decoding *decoding)
{
    decoding->is_ending = true;
    decoding->end_sent = is_shared(decoding);
    if (decoding->end_sent)
        pl_mailbox_send(decoding->thread->work, &decoding->end);
    else
        on_decode_thread_end(decoding);
}

void pl_decoding_drop(struct pl_decoding *decoding)
{
    if (decoding == NULL)
        return;
    if (!is_shared(decoding) && !decoding->is_telling) {
        decode_thread_destroy(decoding);
        return;
    }
    decoding->is_dropped = true;
    if (!is_shared(decoding))
        return; /* the caller that is telling handles it */
    atomic_store_explicit(&decoding->code, PL_ECANCELED, memory_order_relaxed);
    if (!decoding->is_ending)
        pl_decoding_end(decoding);
}

struct pl_decoder *pl_decoding_decoder(struct pl_decoding *decoding)
{
    return &decoding->decoder;
}

struct pl_decoding *pl_decoding_create(struct pl_decode_thread *thread,
                                       const struct pl_expected *expected,
                                       const struct pl_decoding_ops *ops, void *owner)
{
    struct pl_decoding *decoding = PL_NEW(struct pl_decoding);
    decoding->thread = thread;
    decoding->decoder.expected = *expected;
    pl_err_clear(&decoding->decoder.err);
    decoding->ops = ops;
    decoding->owner = owner;
    decoding->end.kind = MSG_END;
    return decoding;
}

struct pl_decode_thread *pl_decode_thread_create(struct pl_loop *loop)
{
    struct pl_decode_thread *thread = PL_NEW(struct pl_decode_thread);
    thread->work = pl_mailbox_create();
    thread->ready = pl_mailbox_create_for_loop(loop, on_ready, thread);
    thread->stop.kind = MSG_STOP;
    PL_REQUIRE(pthread_mutex_init(&thread->lock, NULL) == 0);
    PL_REQUIRE(pthread_cond_init(&thread->room, NULL) == 0);
    PL_REQUIRE(pthread_create(&thread->thread, NULL, decode_thread_run, thread) == 0);
    return thread;
}

void pl_decode_thread_destroy(struct pl_decode_thread *thread)
{
    struct pl_list left;
    if (thread == NULL)
        return;
    pl_mailbox_send(thread->work, &thread->stop);
    pthread_join(thread->thread, NULL);
    pl_list_init(&left);
    pl_mailbox_take(thread->ready, &left);
    on_ready(thread, &left); /* messages of dropped decodings */
    pl_mailbox_destroy(thread->work, NULL);
    pl_mailbox_destroy(thread->ready, NULL);
    pthread_mutex_destroy(&thread->lock);
    pthread_cond_destroy(&thread->room);
    pl_free(thread);
}

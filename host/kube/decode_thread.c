#include "kube/decode_thread.h"

#include "base/alloc.h"
#include "base/check.h"
#include "net/mailbox.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    MOST_QUEUED = 8 << 20, /* bytes of text that wait for the thread */
    SOME_ITEMS = 256,      /* are worth a message */
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
    struct pl_decode_thread *thread; /* NULL: in place */
    struct pl_decoder decoder;       /* whoever's turn it is */
    const struct pl_decoding_ops *ops;
    void *owner;
    struct pl_msg end;
    bool is_shared, is_ending, is_dropped; /* the loop's */
    bool told_token;                       /* the thread's */
    _Atomic int code; /* why what is left need not be decoded: the first error, or PL_ECANCELED */
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
    struct pl_docs items;
    struct pl_buf token;
};

/* ---- on the thread ---- */

static void hand_over(struct pl_decode_thread *thread, struct pl_decoding *decoding)
{
    struct pl_decoder *decoder = &decoding->decoder;
    struct part *part = PL_NEW(struct part);
    part->msg.kind = MSG_PART;
    part->decoding = decoding;
    part->items = decoder->items;
    decoder->items = (struct pl_docs){0};
    if (!decoding->told_token)
        pl_buf_add_slice(&part->token, pl_buf_slice(&decoder->token));
    decoding->told_token = decoder->token.len > 0;
    pl_mailbox_send(thread->ready, &part->msg);
}

static void give_room(struct pl_decode_thread *thread, size_t len)
{
    pthread_mutex_lock(&thread->lock);
    thread->queued -= len;
    pthread_mutex_unlock(&thread->lock);
    pthread_cond_signal(&thread->room);
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
    bool has_token = decoding->decoder.token.len > 0 && !decoding->told_token;
    if (decoding->decoder.items.count >= SOME_ITEMS || has_token)
        hand_over(thread, decoding);
}

static void end(struct pl_decode_thread *thread, struct pl_decoding *decoding)
{
    if (decoding->decoder.items.count > 0)
        hand_over(thread, decoding);
    pl_mailbox_send(thread->ready, &decoding->end);
}

static void *run(void *arg)
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
            end(thread, PL_CONTAINER_OF(msg, struct pl_decoding, end));
    }
}

/* ---- on the loop ---- */

static void destroy(struct pl_decoding *decoding)
{
    pl_decoder_reset(&decoding->decoder);
    pl_free(decoding);
}

static void on_part(struct part *part)
{
    struct pl_decoding *decoding = part->decoding;
    if (!decoding->is_dropped) {
        if (part->token.len > 0)
            decoding->ops->on_token(decoding->owner, pl_buf_slice(&part->token));
        decoding->ops->on_items(decoding->owner, &part->items);
        part->items.count = 0;
    }
    pl_docs_deinit(&part->items);
    pl_buf_deinit(&part->token);
    pl_free(part);
}

static void on_end(struct pl_decoding *decoding)
{
    decoding->is_shared = false;
    if (decoding->is_dropped)
        destroy(decoding);
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
            on_end(PL_CONTAINER_OF(msg, struct pl_decoding, end));
    }
}

/* The server is read no faster than its answers are decoded. */
static void take_room(struct pl_decode_thread *thread, size_t len)
{
    pthread_mutex_lock(&thread->lock);
    while (thread->queued > MOST_QUEUED)
        pthread_cond_wait(&thread->room, &thread->lock);
    thread->queued += len;
    pthread_mutex_unlock(&thread->lock);
}

static int decode_here(struct pl_decoding *decoding, struct pl_slice text)
{
    struct pl_decoder *decoder = &decoding->decoder;
    int code = pl_decoder_feed(decoder, text);
    if (decoder->items.count > 0)
        decoding->ops->on_items(decoding->owner, &decoder->items);
    decoder->items.count = 0;
    return code;
}

int pl_decoding_feed(struct pl_decoding *decoding, struct pl_slice text)
{
    if (decoding->thread == NULL)
        return decode_here(decoding, text);
    struct piece *piece = pl_malloc(sizeof *piece + text.len);
    *piece = (struct piece){.msg.kind = MSG_PIECE, .decoding = decoding, .len = text.len};
    memcpy(piece->bytes, text.ptr, text.len);
    decoding->is_shared = true;
    take_room(decoding->thread, text.len);
    pl_mailbox_send(decoding->thread->work, &piece->msg);
    return atomic_load_explicit(&decoding->code, memory_order_relaxed);
}

void pl_decoding_end(struct pl_decoding *decoding)
{
    decoding->is_ending = true;
    if (decoding->is_shared)
        pl_mailbox_send(decoding->thread->work, &decoding->end);
    else
        on_end(decoding);
}

void pl_decoding_drop(struct pl_decoding *decoding)
{
    if (decoding == NULL)
        return;
    if (!decoding->is_shared) {
        destroy(decoding);
        return;
    }
    decoding->is_dropped = true;
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
    PL_REQUIRE(pthread_create(&thread->thread, NULL, run, thread) == 0);
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
    on_ready(thread, &left); /* of what was dropped */
    pl_mailbox_destroy(thread->work, NULL);
    pl_mailbox_destroy(thread->ready, NULL);
    pthread_mutex_destroy(&thread->lock);
    pthread_cond_destroy(&thread->room);
    pl_free(thread);
}

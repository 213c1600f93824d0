/* Messages between threads. A message belongs to the sender until it is sent, and to the receiver
 * from then on; a mailbox allocates nothing for it.
 *
 * A sender pays for a wake-up only if the box was empty and its receiver sleeps. That is safe
 * because the receiver takes all messages at once, and because `watched` and `waiting` change under
 * the same lock as the list. `has_some` is only a hint for a receiver that spins. Waits use the
 * monotonic clock. */
#include "net/mailbox.h"

#include "base/alloc.h"
#include "net/awake.h"
#include "base/check.h"
#include "net/loop.h"

#include <uv.h>

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

struct pl_mailbox {
    pthread_mutex_t lock; /* a leaf: no callback or other lock while it is held */
    struct pl_list messages;
    /* A receiver with a loop. */
    struct pl_loop *loop; /* borrowed; NULL for a thread's box */
    struct pl_inbox inbox;
    bool watched; /* checked by the loop: senders need not wake it */
    uv_async_t async;
    pl_messages_fn on_messages;
    void *arg;
    /* A receiver that waits. */
    pthread_cond_t arrived;
    bool waiting; /* only then a sender needs the system call of a wake-up */
    struct pl_awake awake;
    _Atomic bool has_some; /* a hint, read without the lock */
};

static struct pl_mailbox *mailbox_create(void)
{
    struct pl_mailbox *box = PL_NEW(struct pl_mailbox);
    PL_REQUIRE(pthread_mutex_init(&box->lock, NULL) == 0);
    pl_list_init(&box->messages);
    return box;
}

static struct pl_mailbox *box_of(const struct pl_inbox *inbox)
{
    return PL_CONTAINER_OF(inbox, struct pl_mailbox, inbox);
}

static bool may_have_some(void *arg)
{
    struct pl_mailbox *box = arg;
    return atomic_load_explicit(&box->has_some, memory_order_relaxed);
}

static bool inbox_has_some(const struct pl_inbox *inbox)
{
    return may_have_some(box_of(inbox));
}

static void watch_inbox(struct pl_inbox *inbox, bool watched)
{
    struct pl_mailbox *box = box_of(inbox);
    pthread_mutex_lock(&box->lock);
    box->watched = watched;
    pthread_mutex_unlock(&box->lock);
}

static void mailbox_deliver(struct pl_inbox *inbox)
{
    struct pl_mailbox *box = box_of(inbox);
    struct pl_list taken;
    pl_list_init(&taken);
    if (pl_mailbox_take(box, &taken))
        box->on_messages(box->arg, &taken);
}

static void on_async_cb(uv_async_t *async)
{
    struct pl_mailbox *box = async->data;
    mailbox_deliver(&box->inbox);
}

struct pl_mailbox *pl_mailbox_create_for_loop(struct pl_loop *loop, pl_messages_fn on_messages,
                                              void *arg)
{
    struct pl_mailbox *box = mailbox_create();
    box->loop = loop;
    box->on_messages = on_messages;
    box->arg = arg;
    box->async.data = box;
    box->watched =
        pl_loop_is_stepped(loop); /* a stepped loop checks at each step, and is never woken */
    if (!box->watched)
        PL_REQUIRE(uv_async_init(pl_loop_uv(loop), &box->async, on_async_cb) == 0);
    box->inbox = (struct pl_inbox){
        .has_some = inbox_has_some, .watch = watch_inbox, .deliver = mailbox_deliver};
    pl_loop_add_inbox(loop, &box->inbox);
    return box;
}

struct pl_mailbox *pl_mailbox_create(void)
{
    struct pl_mailbox *box = mailbox_create();
    pthread_condattr_t attr;
    PL_REQUIRE(pthread_condattr_init(&attr) == 0);
    /* A change of the wall clock must not make a wait longer or shorter. */
    PL_REQUIRE(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0);
    PL_REQUIRE(pthread_cond_init(&box->arrived, &attr) == 0);
    pthread_condattr_destroy(&attr);
    pl_awake_init(&box->awake, pl_clock_system());
    return box;
}

static void mailbox_release(struct pl_mailbox *box)
{
    pthread_mutex_destroy(&box->lock);
    if (box->loop == NULL)
        pthread_cond_destroy(&box->arrived);
    pl_free(box);
}

static void on_mailbox_closed_cb(uv_handle_t *handle)
{
    mailbox_release(handle->data);
}

void pl_mailbox_destroy(struct pl_mailbox *box, void (*on_left)(struct pl_msg *msg))
{
    if (box == NULL)
        return;
    struct pl_list left;
    pl_list_init(&left);
    pl_mailbox_take(box, &left);
    struct pl_link *link;
    while ((link = pl_list_pop(&left)) != NULL) {
        if (on_left != NULL)
            on_left(PL_CONTAINER_OF(link, struct pl_msg, link));
    }
    if (box->loop == NULL) {
        mailbox_release(box);
        return;
    }
    bool stepped = pl_loop_is_stepped(box->loop);
    pl_loop_remove_inbox(&box->inbox);
    if (stepped)
        mailbox_release(box);
    else
        uv_close((uv_handle_t *)&box->async, on_mailbox_closed_cb);
}

void pl_mailbox_send(struct pl_mailbox *box, struct pl_msg *msg)
{
    pthread_mutex_lock(&box->lock);
    bool was_empty = pl_list_empty(&box->messages);
    pl_list_push(&box->messages, &msg->link);
    atomic_store_explicit(&box->has_some, true, memory_order_relaxed);
    bool wake = was_empty && (box->loop != NULL ? !box->watched : box->waiting);
    pthread_mutex_unlock(&box->lock);
    /* Outside the lock, so that the woken thread does not block on it. */
    if (wake && box->loop != NULL)
        uv_async_send(&box->async);
    else if (wake)
        pthread_cond_signal(&box->arrived);
}

static bool take_locked(struct pl_mailbox *box, struct pl_list *out)
{
    bool any = !pl_list_empty(&box->messages);
    pl_list_splice(out, &box->messages);
    atomic_store_explicit(&box->has_some, false, memory_order_relaxed);
    return any;
}

bool pl_mailbox_take(struct pl_mailbox *box, struct pl_list *out)
{
    pthread_mutex_lock(&box->lock);
    bool any = take_locked(box, out);
    pthread_mutex_unlock(&box->lock);
    return any;
}

static struct timespec deadline_in(int64_t timeout_ns)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += (time_t)(timeout_ns / PL_SECOND);
    at.tv_nsec += (long)(timeout_ns % PL_SECOND);
    if (at.tv_nsec >= PL_SECOND) {
        at.tv_sec++;
        at.tv_nsec -= (long)PL_SECOND;
    }
    return at;
}

bool pl_mailbox_wait(struct pl_mailbox *box, struct pl_list *out, int64_t timeout_ns)
{
    PL_REQUIRE(box->loop == NULL);
    struct timespec deadline = {0};
    if (timeout_ns > 0)
        deadline = deadline_in(timeout_ns);
    pl_awake_begin(&box->awake, may_have_some, box);
    pthread_mutex_lock(&box->lock);
    bool late = timeout_ns == 0;
    while (pl_list_empty(&box->messages) && !late) {
        box->waiting = true;
        if (timeout_ns < 0)
            pthread_cond_wait(&box->arrived, &box->lock);
        else
            late = pthread_cond_timedwait(&box->arrived, &box->lock, &deadline) != 0;
        box->waiting = false;
    }
    bool any = take_locked(box, out);
    pthread_mutex_unlock(&box->lock);
    pl_awake_end(&box->awake);
    return any;
}

/* The only way from thread to thread: intrusive messages, many senders, one receiver. The receiver
 * is woken only if the box was empty and it does not spin (net/awake.h). It takes all messages at
 * once and processes them without a lock. Senders give their messages away. */
#pragma once

#include "base/list.h"

#include <stdbool.h>
#include <stdint.h>

struct pl_loop;
struct pl_mailbox;

struct pl_msg {
    struct pl_link link; /* private */
    int kind;            /* the receiver's enum */
};

/* A box whose receiver is a loop: on_messages runs on its thread with all new messages. The
 * receiver owns the messages in the list. */
typedef void (*pl_messages_fn)(void *arg, struct pl_list *messages);
/* The caller owns the box. The loop must outlive it. */
struct pl_mailbox *pl_mailbox_create_for_loop(struct pl_loop *loop, pl_messages_fn on_messages,
                                              void *arg);
/* A box whose receiver is a thread without a loop (a lane): it calls pl_mailbox_wait. The caller
 * owns the box. */
struct pl_mailbox *pl_mailbox_create(void);
/* Called on the receiver's thread, when every sender has returned from its last send. Remaining
 * messages are given to on_left (may be NULL). The memory of a loop's box is freed after the next
 * turn. Accepts NULL. */
void pl_mailbox_destroy(struct pl_mailbox *box, void (*on_left)(struct pl_msg *msg));

/* Any thread. */
void pl_mailbox_send(struct pl_mailbox *box, struct pl_msg *msg);
/* Moves all messages to `out` without waiting; false when there was none. */
bool pl_mailbox_take(struct pl_mailbox *box, struct pl_list *out);
/* Waits for a message for at most timeout_ns (-1: for ever). False on timeout. */
bool pl_mailbox_wait(struct pl_mailbox *box, struct pl_list *out, int64_t timeout_ns);

#include "net/mailbox.h"

#include "base/alloc.h"
#include "base/base.h"
#include "net/loop.h"
#include "support/test.h"

#include <pthread.h>

struct note {
    struct pl_msg msg;
    int sender, number;
};

static void send_note(struct pl_mailbox *box, int sender, int number)
{
    struct note *note = PL_NEW(struct note);
    note->sender = sender;
    note->number = number;
    pl_mailbox_send(box, &note->msg);
}

#define SENDERS 4
#define NOTES   5000

/* Checks that each sender's notes come in its order, and frees them. */
struct reader {
    int next[SENDERS];
    int total, disorder, batches;
};

static void read_notes(struct reader *reader, struct pl_list *messages)
{
    struct pl_link *link;
    reader->batches++;
    while ((link = pl_list_pop(messages)) != NULL) {
        struct note *note = PL_CONTAINER_OF(link, struct note, msg.link);
        reader->disorder += note->number != reader->next[note->sender];
        reader->next[note->sender] = note->number + 1;
        reader->total++;
        pl_free(note);
    }
}

struct sender {
    pthread_t thread;
    struct pl_mailbox *box;
    int id;
};

static void *send_many(void *arg)
{
    struct sender *sender = arg;
    for (int i = 0; i < NOTES; i++)
        send_note(sender->box, sender->id, i);
    return NULL;
}

static void start_senders(struct sender *senders, struct pl_mailbox *box)
{
    for (int i = 0; i < SENDERS; i++) {
        senders[i] = (struct sender){.box = box, .id = i};
        REQUIRE(pthread_create(&senders[i].thread, NULL, send_many, &senders[i]) == 0);
    }
}

static void join_senders(struct sender *senders)
{
    for (int i = 0; i < SENDERS; i++)
        pthread_join(senders[i].thread, NULL);
}

TEST(a_thread_receives_everything_from_many_senders_in_their_order)
{
    struct pl_mailbox *box = pl_mailbox_create();
    struct sender senders[SENDERS];
    struct reader reader = {0};
    start_senders(senders, box);
    while (reader.total < SENDERS * NOTES) {
        struct pl_list messages;
        pl_list_init(&messages);
        if (!pl_mailbox_wait(box, &messages, 60 * PL_SECOND))
            break;
        read_notes(&reader, &messages);
    }
    join_senders(senders);
    CHECK_INT(reader.total, SENDERS * NOTES);
    CHECK_INT(reader.disorder, 0);
    pl_mailbox_destroy(box, NULL);
}

static void on_messages(void *arg, struct pl_list *messages)
{
    read_notes(arg, messages);
}

TEST(a_loop_receives_everything_from_many_senders_in_their_order)
{
    struct pl_loop *loop = pl_loop_create(pl_clock_system());
    struct reader reader = {0};
    struct pl_mailbox *box = pl_mailbox_create_for_loop(loop, on_messages, &reader);
    struct sender senders[SENDERS];
    start_senders(senders, box);
    while (reader.total < SENDERS * NOTES)
        pl_loop_turn(loop, -1);
    join_senders(senders);
    CHECK_INT(reader.disorder, 0);
    pl_mailbox_destroy(box, NULL);
    pl_loop_destroy(loop);
}

TEST(a_loop_takes_all_that_came_before_it_looked_in_one_batch)
{
    struct pl_loop *loop = pl_loop_create(pl_clock_system());
    struct reader reader = {0};
    struct pl_mailbox *box = pl_mailbox_create_for_loop(loop, on_messages, &reader);
    for (int i = 0; i < 100; i++)
        send_note(box, 0, i);
    CHECK_INT(reader.total, 0);
    pl_loop_turn(loop, -1);
    CHECK_INT(reader.total, 100);
    CHECK_INT(reader.batches, 1);
    send_note(box, 0, 100); /* the box was empty again: it wakes the loop again */
    pl_loop_turn(loop, -1);
    CHECK_INT(reader.total, 101);
    pl_mailbox_destroy(box, NULL);
    pl_loop_destroy(loop);
}

TEST(waiting_ends_at_the_timeout)
{
    struct pl_mailbox *box = pl_mailbox_create();
    const struct pl_clock *clock = pl_clock_system();
    struct pl_list messages;
    pl_list_init(&messages);
    CHECK(!pl_mailbox_wait(box, &messages, 0));
    int64_t start = pl_clock_mono(clock);
    CHECK(!pl_mailbox_wait(box, &messages, 2 * PL_MS));
    CHECK(pl_clock_mono(clock) - start >= 2 * PL_MS);
    CHECK(pl_list_empty(&messages));
    pl_mailbox_destroy(box, NULL);
}

TEST(waiting_returns_at_once_when_something_is_there)
{
    struct pl_mailbox *box = pl_mailbox_create();
    struct reader reader = {0};
    struct pl_list messages;
    pl_list_init(&messages);
    send_note(box, 0, 0);
    CHECK(pl_mailbox_wait(box, &messages, 0));
    send_note(box, 0, 1);
    CHECK(pl_mailbox_wait(box, &messages, -1));
    read_notes(&reader, &messages);
    CHECK_INT(reader.total, 2);
    CHECK_INT(reader.disorder, 0);
    CHECK(!pl_mailbox_take(box, &messages));
    pl_mailbox_destroy(box, NULL);
}

static int left;

static void on_left(struct pl_msg *msg)
{
    left++;
    pl_free(PL_CONTAINER_OF(msg, struct note, msg));
}

TEST(messages_left_inside_are_handed_back_when_the_box_goes)
{
    struct pl_loop *loop = pl_loop_create(pl_clock_system());
    struct reader reader = {0};
    struct pl_mailbox *boxes[] = {pl_mailbox_create_for_loop(loop, on_messages, &reader),
                                  pl_mailbox_create()};
    left = 0;
    for (int i = 0; i < 3; i++) {
        send_note(boxes[0], 0, i);
        send_note(boxes[1], 0, i);
    }
    pl_mailbox_destroy(boxes[0], on_left);
    pl_mailbox_destroy(boxes[1], on_left);
    CHECK_INT(left, 6);
    pl_loop_turn(loop, 0);
    CHECK_INT(reader.total, 0);
    pl_loop_destroy(loop);
}

struct ponger {
    struct pl_mailbox *inbox, *outbox;
};

static void *pong(void *arg)
{
    struct ponger *ponger = arg;
    struct pl_list messages;
    pl_list_init(&messages);
    for (int done = 0; done < 2000;) {
        pl_mailbox_wait(ponger->inbox, &messages, -1);
        struct pl_link *link;
        while ((link = pl_list_pop(&messages)) != NULL) {
            done++;
            pl_mailbox_send(ponger->outbox, PL_CONTAINER_OF(link, struct pl_msg, link));
        }
    }
    return NULL;
}

struct pinger {
    struct pl_mailbox *to;
    int round;
};

static void on_pong(void *arg, struct pl_list *messages)
{
    struct pinger *pinger = arg;
    struct pl_link *link;
    while ((link = pl_list_pop(messages)) != NULL) {
        if (++pinger->round < 2000)
            pl_mailbox_send(pinger->to, PL_CONTAINER_OF(link, struct pl_msg, link));
        else
            pl_free(PL_CONTAINER_OF(link, struct note, msg.link));
    }
}

TEST(no_wake_up_is_lost_between_a_loop_and_a_thread_that_sleep_in_turn)
{
    struct pl_loop *loop = pl_loop_create(pl_clock_system());
    struct pinger pinger = {0};
    struct ponger ponger = {.inbox = pl_mailbox_create(),
                            .outbox = pl_mailbox_create_for_loop(loop, on_pong, &pinger)};
    pthread_t thread;
    pinger.to = ponger.inbox;
    REQUIRE(pthread_create(&thread, NULL, pong, &ponger) == 0);
    send_note(ponger.inbox, 0, 0);
    while (pinger.round < 2000)
        pl_loop_turn(loop, -1);
    pthread_join(thread, NULL);
    pl_mailbox_destroy(ponger.inbox, NULL);
    pl_mailbox_destroy(ponger.outbox, NULL);
    pl_loop_destroy(loop);
}

TEST_MAIN()

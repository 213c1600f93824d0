/* Events of a table of states: what an answer's effects tell is answered after it, so that each
 * answer sees a state that is at rest. An event that waits already says it all: the queue never
 * holds more than one of each. One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PL_EVENT_QUEUE_MAX 32 /* events are numbers below */

struct pl_event_queue {
    bool busy;
    size_t count;
    uint8_t items[PL_EVENT_QUEUE_MAX];
};

/* True: the caller answers until pl_event_queue_next has no more. */
static inline bool pl_event_queue_add(struct pl_event_queue *queue, int event)
{
    bool busy = queue->busy;
    if (memchr(queue->items, event, queue->count) == NULL)
        queue->items[queue->count++] = (uint8_t)event;
    queue->busy = true;
    return !busy;
}

/* -1: no more. */
static inline int pl_event_queue_next(struct pl_event_queue *queue)
{
    queue->busy = queue->count > 0;
    if (!queue->busy)
        return -1;
    int event = queue->items[0];
    queue->count--;
    memmove(queue->items, queue->items + 1, queue->count);
    return event;
}

/* Events of a table of states. Events that an answer's effects cause are queued and answered after
 * it, so that each answer sees a state at rest. A repeated event adds nothing, so the queue never
 * holds more than one of each. One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PL_EVENT_QUEUE_MAX 32 /* events are less than this */

struct pl_event_queue {
    bool busy;
    size_t count;
    uint8_t items[PL_EVENT_QUEUE_MAX];
};

/* True: the caller has to answer events until pl_event_queue_next returns -1. */
static inline bool pl_event_queue_add(struct pl_event_queue *queue, int event)
{
    bool busy = queue->busy;
    if (memchr(queue->items, event, queue->count) == NULL)
        queue->items[queue->count++] = (uint8_t)event;
    queue->busy = true;
    return !busy;
}

/* -1: empty. */
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

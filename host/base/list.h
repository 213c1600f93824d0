/* Intrusive doubly linked list. A node is in at most one list; unlinking resets it. */
#pragma once

#include "base/base.h"

#include <stdbool.h>

struct pl_link {
    struct pl_link *next, *prev; /* NULL when in no list */
};

struct pl_list {
    struct pl_link head;
};

static inline void pl_list_init(struct pl_list *list)
{
    list->head.next = list->head.prev = &list->head;
}

static inline bool pl_list_empty(const struct pl_list *list)
{
    return list->head.next == &list->head;
}

static inline bool pl_link_is_linked(const struct pl_link *link)
{
    return link->next != NULL;
}

static inline void pl_link_insert(struct pl_link *link, struct pl_link *prev, struct pl_link *next)
{
    link->prev = prev;
    link->next = next;
    prev->next = link;
    next->prev = link;
}

static inline void pl_list_push(struct pl_list *list, struct pl_link *link)
{
    pl_link_insert(link, list->head.prev, &list->head);
}

static inline void pl_list_push_front(struct pl_list *list, struct pl_link *link)
{
    pl_link_insert(link, &list->head, list->head.next);
}

/* Does nothing for a node in no list. */
static inline void pl_link_unlink(struct pl_link *link)
{
    if (link->next == NULL)
        return;
    link->prev->next = link->next;
    link->next->prev = link->prev;
    link->next = link->prev = NULL;
}

/* The first node, which stays in the list; NULL when empty. Nodes belong to the caller. */
static inline struct pl_link *pl_list_first(const struct pl_list *list)
{
    return pl_list_empty(list) ? NULL : list->head.next;
}

/* The same, and unlinks it. */
static inline struct pl_link *pl_list_pop(struct pl_list *list)
{
    struct pl_link *link = pl_list_first(list);
    if (link != NULL)
        pl_link_unlink(link);
    return link;
}

/* Moves all nodes of `from` to the end of `to`, in constant time. */
static inline void pl_list_splice(struct pl_list *to, struct pl_list *from)
{
    if (pl_list_empty(from))
        return;
    struct pl_link *first = from->head.next, *last = from->head.prev;
    first->prev = to->head.prev;
    to->head.prev->next = first;
    last->next = &to->head;
    to->head.prev = last;
    pl_list_init(from);
}

/* The body may unlink the current node, but no other node. */
#define PL_LIST_FOR(link, list)                                                                    \
    for (struct pl_link *link = (list)->head.next, *link##_next = link->next;                      \
         link != &(list)->head; link = link##_next, link##_next = link->next)

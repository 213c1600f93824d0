#include "control/history.h"

#include "base/alloc.h"
#include "base/base.h"
#include "base/buf.h"

#include <string.h>

#define LIMIT      ((size_t)512 << 10)
#define KEY_BYTES  4096
#define DETAIL_MAX 512
#define OVERHEAD   (sizeof(struct pl_history_key) + 64) /* with what the map takes */

/* Records lie one behind the other: head, then the detail's text. */
struct head {
    int64_t at_ns, amount;
    uint16_t what, len;
};

struct pl_history_key {
    struct pl_link link;   /* in the history's used */
    struct pl_slice name;  /* the map's copy */
    struct pl_buf records; /* heads and texts, oldest first; unaligned */
    size_t count;
};

const char *pl_happening_name(enum pl_happening what)
{
    static const char *const names[] = {
        [PL_HAPPENED_EVENT] = "event",     [PL_HAPPENED_DROPPED] = "dropped",
        [PL_HAPPENED_QUEUED] = "queued",   [PL_HAPPENED_DELAYED] = "delayed",
        [PL_HAPPENED_PARKED] = "paused",   [PL_HAPPENED_STARTED] = "started",
        [PL_HAPPENED_CALLED] = "called",   [PL_HAPPENED_ENDED] = "ended",
        [PL_HAPPENED_FORGOT] = "forgotten"};
    return names[what];
}

void pl_history_init(struct pl_history *history, size_t limit)
{
    *history = (struct pl_history){.limit = limit > 0 ? limit : LIMIT};
    pl_list_init(&history->used);
}

static size_t size_of(const struct pl_history_key *entry)
{
    return OVERHEAD + entry->name.len + entry->records.cap;
}

static void forget(struct pl_history *history, struct pl_history_key *entry)
{
    history->bytes -= size_of(entry);
    pl_link_unlink(&entry->link);
    pl_map_remove(&history->keys, entry->name);
    pl_buf_deinit(&entry->records);
    pl_free(entry);
}

void pl_history_deinit(struct pl_history *history)
{
    struct pl_link *link;
    while ((link = pl_list_first(&history->used)) != NULL)
        forget(history, PL_CONTAINER_OF(link, struct pl_history_key, link));
    pl_map_deinit(&history->keys);
}

/* "controller key"; controllers' names hold no space. False when it does not fit. */
static bool make_name(char *room, size_t size, struct pl_slice controller, struct pl_slice key,
                      struct pl_slice *name)
{
    if (controller.len + 1 + key.len > size)
        return false;
    memcpy(room, controller.ptr, controller.len);
    room[controller.len] = ' ';
    memcpy(room + controller.len + 1, key.ptr, key.len);
    *name = pl_slice(room, controller.len + 1 + key.len);
    return true;
}

static struct pl_history_key *entry_of(struct pl_history *history, struct pl_slice name)
{
    struct pl_history_key *entry = pl_map_get(&history->keys, name);
    if (entry != NULL) {
        pl_link_unlink(&entry->link);
    } else {
        entry = PL_NEW(struct pl_history_key);
        pl_map_put(&history->keys, name, entry);
        entry->name = pl_map_key(&history->keys, name);
        history->bytes += size_of(entry);
    }
    pl_list_push(&history->used, &entry->link);
    return entry;
}

static void drop_oldest(struct pl_history_key *entry)
{
    struct head head;
    memcpy(&head, entry->records.ptr, sizeof head);
    pl_buf_drop_front(&entry->records, sizeof head + head.len);
    entry->count--;
}

static void append(struct pl_history_key *entry, const struct head *head,
                   const struct pl_slice *parts, size_t part_count)
{
    struct pl_buf *records = &entry->records;
    while (entry->count >= PL_HISTORY_LENGTH ||
           (entry->count > 0 && records->len + sizeof *head + head->len > KEY_BYTES))
        drop_oldest(entry);
    pl_buf_add(records, head, sizeof *head);
    size_t left = head->len;
    for (size_t i = 0; i < part_count && left > 0; i++) {
        size_t take = parts[i].len < left ? parts[i].len : left;
        pl_buf_add(records, parts[i].ptr, take);
        left -= take;
    }
    entry->count++;
}

void pl_history_add(struct pl_history *history, struct pl_slice controller, struct pl_slice key,
                    int64_t at_ns, enum pl_happening what, int64_t amount,
                    const struct pl_slice *parts, size_t part_count)
{
    char room[512];
    struct pl_slice name;
    if (!make_name(room, sizeof room, controller, key, &name))
        return;
    size_t len = 0;
    for (size_t i = 0; i < part_count; i++)
        len += parts[i].len;
    struct head head = {.at_ns = at_ns,
                        .amount = amount,
                        .what = (uint16_t)what,
                        .len = (uint16_t)(len < DETAIL_MAX ? len : DETAIL_MAX)};
    struct pl_history_key *entry = entry_of(history, name);
    history->bytes -= size_of(entry);
    append(entry, &head, parts, part_count);
    history->bytes += size_of(entry);
    while (history->bytes > history->limit && pl_list_first(&history->used) != &entry->link)
        forget(history,
               PL_CONTAINER_OF(pl_list_first(&history->used), struct pl_history_key, link));
}

void pl_history_each(const struct pl_history *history, struct pl_slice controller,
                     struct pl_slice key, pl_history_fn visit, void *arg)
{
    char room[512];
    struct pl_slice name;
    if (!make_name(room, sizeof room, controller, key, &name))
        return;
    const struct pl_history_key *entry = pl_map_get(&history->keys, name);
    size_t at = 0;
    while (entry != NULL && at < entry->records.len) {
        struct head head;
        memcpy(&head, entry->records.ptr + at, sizeof head);
        struct pl_happened happened = {
            .at_ns = head.at_ns,
            .what = (enum pl_happening)head.what,
            .amount = head.amount,
            .detail = pl_slice(entry->records.ptr + at + sizeof head, head.len)};
        visit(arg, &happened);
        at += sizeof head + head.len;
    }
}

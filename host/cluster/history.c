/* The records of a key lie in sequence in one block. A full block moves to a larger one. There are
 * limits for a key and for all keys together; the key that was quiet for longest is forgotten
 * first. */
#include "cluster/history.h"

#include "base/base.h"

#include <stdio.h>
#include <string.h>

#define LIMIT      ((size_t)512 << 10)
#define KEY_BYTES  4096
#define FIRST_CAP  128 /* usual size of the records from an event to the end of its run */
#define DETAIL_MAX 512
#define OVERHEAD   16                 /* memory of the table for a key */
#define SPACE      ((size_t)64 << 20) /* range of addresses */

/* Records lie in sequence: head, then the detail's text. */
struct head {
    int64_t at_ns, amount;
    uint16_t what, len;
};

struct pl_history_key {
    struct pl_keyed node; /* in the history's keys */
    struct pl_link link;  /* in the history's used */
    uint32_t count;
    uint32_t len, cap; /* of the records */
    char name[];       /* followed by the records: heads and texts, oldest first; unaligned */
};

const char *pl_happening_name(enum pl_happening what)
{
    static const char names[][12] = {
        [PL_HAPPENED_EVENT] = "event",     [PL_HAPPENED_DROPPED] = "dropped",
        [PL_HAPPENED_QUEUED] = "queued",   [PL_HAPPENED_DELAYED] = "delayed",
        [PL_HAPPENED_PARKED] = "paused",   [PL_HAPPENED_STARTED] = "started",
        [PL_HAPPENED_CALLED] = "called",   [PL_HAPPENED_ENDED] = "ended",
        [PL_HAPPENED_FORGOT] = "forgotten"};
    return names[what];
}

static size_t size_for(size_t name_len, size_t cap)
{
    return sizeof(struct pl_history_key) + name_len + cap;
}

static size_t history_size_of(const struct pl_history_key *entry)
{
    return size_for(entry->node.len, entry->cap);
}

static char *records_of(struct pl_history_key *entry)
{
    return entry->name + entry->node.len;
}

void pl_history_init(struct pl_history *history, size_t limit)
{
    *history = (struct pl_history){.limit = limit > 0 ? limit : LIMIT};
    pl_list_init(&history->used);
    pl_keyset_init(&history->keys, offsetof(struct pl_history_key, name));
    pl_slab_init(&history->memory, SPACE);
}

static void history_forget(struct pl_history *history, struct pl_history_key *entry)
{
    history->bytes -= history_size_of(entry) + OVERHEAD;
    pl_link_unlink(&entry->link);
    pl_keyset_remove(&history->keys, &entry->node);
    pl_slab_give(&history->memory, entry, history_size_of(entry));
}

void pl_history_clear(struct pl_history *history)
{
    struct pl_link *link;
    while ((link = pl_list_first(&history->used)) != NULL)
        history_forget(history, PL_CONTAINER_OF(link, struct pl_history_key, link));
}

void pl_history_deinit(struct pl_history *history)
{
    pl_history_clear(history);
    pl_keyset_deinit(&history->keys);
    pl_map_deinit(&history->calls);
    pl_slab_deinit(&history->memory);
}

/* "controller key"; controllers' names contain no space. False when it does not fit. */
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

static struct pl_history_key *history_find(const struct pl_history *history, struct pl_slice name,
                                           uint32_t hash)
{
    struct pl_keyed *node = pl_keyset_find(&history->keys, name, hash);
    return node != NULL ? PL_CONTAINER_OF(node, struct pl_history_key, node) : NULL;
}

/* Makes room for `more` bytes of records: a new entry for the name, or `old` in a larger block. */
static struct pl_history_key *history_make(struct pl_history *history, struct pl_slice name,
                                           uint32_t hash, struct pl_history_key *old, size_t more)
{
    size_t cap = old != NULL ? old->cap + old->cap / 2 : FIRST_CAP;
    size_t need = (old != NULL ? old->len : 0) + more;
    cap = cap < need ? need : cap;
    struct pl_history_key *entry = pl_slab_take(&history->memory, size_for(name.len, cap));
    *entry = (struct pl_history_key){.count = 0};
    memcpy(entry->name, name.ptr, name.len);
    if (old != NULL) {
        memcpy(entry->name + name.len, records_of(old), old->len);
        entry->count = old->count;
        entry->len = old->len;
        history_forget(history, old);
    }
    entry->cap = (uint32_t)cap;
    pl_keyset_insert(&history->keys, &entry->node, name.len, hash);
    pl_list_push(&history->used, &entry->link);
    history->bytes += history_size_of(entry) + OVERHEAD;
    return entry;
}

static void history_drop_oldest(struct pl_history_key *entry)
{
    struct head head;
    char *records = records_of(entry);
    memcpy(&head, records, sizeof head);
    size_t gone = sizeof head + head.len;
    memmove(records, records + gone, entry->len - gone);
    entry->len -= (uint32_t)gone;
    entry->count--;
}

static void history_append(struct pl_history_key *entry, const struct head *head,
                           const struct pl_slice *parts, size_t part_count)
{
    char *to = records_of(entry) + entry->len;
    memcpy(to, head, sizeof *head);
    to += sizeof *head;
    size_t left = head->len;
    for (size_t i = 0; i < part_count && left > 0; i++) {
        size_t take = parts[i].len < left ? parts[i].len : left;
        if (take > 0) /* an empty part may have no address */
            memcpy(to, parts[i].ptr, take);
        to += take;
        left -= take;
    }
    entry->len += (uint32_t)(sizeof *head + head->len);
    entry->count++;
}

/* The name's entry, with room for `more` bytes of records. */
static struct pl_history_key *entry_for(struct pl_history *history, struct pl_slice name,
                                        size_t more)
{
    uint32_t hash = pl_keyset_hash(name);
    struct pl_history_key *entry = history_find(history, name, hash);
    if (entry == NULL)
        return history_make(history, name, hash, NULL, more);
    while (entry->count >= PL_HISTORY_LENGTH || (entry->count > 0 && entry->len + more > KEY_BYTES))
        history_drop_oldest(entry);
    if (entry->len + more > entry->cap)
        return history_make(history, name, hash, entry, more);
    pl_link_unlink(&entry->link);
    pl_list_push(&history->used, &entry->link);
    return entry;
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
    struct pl_history_key *entry = entry_for(history, name, sizeof head + head.len);
    history_append(entry, &head, parts, part_count);
    while (history->bytes > history->limit && pl_list_first(&history->used) != &entry->link)
        history_forget(history,
                       PL_CONTAINER_OF(pl_list_first(&history->used), struct pl_history_key, link));
}

void pl_history_each(const struct pl_history *history, struct pl_slice controller,
                     struct pl_slice key, pl_history_fn visit, void *arg)
{
    char room[512];
    struct pl_slice name;
    if (!make_name(room, sizeof room, controller, key, &name))
        return;
    struct pl_history_key *entry = history_find(history, name, pl_keyset_hash(name));
    size_t at = 0;
    while (entry != NULL && at < entry->len) {
        const char *record = records_of(entry) + at;
        struct head head;
        memcpy(&head, record, sizeof head);
        struct pl_happened happened = {.at_ns = head.at_ns,
                                       .what = (enum pl_happening)head.what,
                                       .amount = head.amount,
                                       .detail = pl_slice(record + sizeof head, head.len)};
        visit(arg, &happened);
        at += sizeof head + head.len;
    }
}

/* ---- sorts of calls ---- */

#define CALLS_MAX 1000

/* The next word, up to a space; *rest is the text after it. */
static struct pl_slice next_word(struct pl_slice *rest)
{
    const char *space = pl_slice_chr(*rest, ' ');
    size_t len = space != NULL ? (size_t)(space - rest->ptr) : rest->len;
    struct pl_slice word = pl_slice(rest->ptr, len);
    size_t passed = space != NULL ? len + 1 : len;
    *rest = pl_slice(rest->ptr + passed, rest->len - passed);
    return word;
}

void pl_history_note_call(struct pl_history *history, struct pl_slice controller,
                          struct pl_slice what)
{
    struct pl_slice verb = next_word(&what), kind = next_word(&what);
    next_word(&what); /* the key */
    char name[512];
    if (kind.len == 0 || pl_slice_chr(kind, ':') != NULL || history->calls.count >= CALLS_MAX)
        return;
    int len = snprintf(name, sizeof name, "%.*s %.*s %.*s%s%.*s", PL_FMT(controller), PL_FMT(verb),
                       PL_FMT(kind), what.len > 0 ? " " : "", PL_FMT(what));
    struct pl_slice call = pl_slice(name, (size_t)len);
    if (len < (int)sizeof name && !pl_map_has(&history->calls, call))
        pl_map_put(&history->calls, call, history);
}

/* A list of causes for each waiting key. Lists are bounded; more causes are only counted. The paths
 * that an update changed are one block of memory. A run takes its key's list, and gives it back if
 * it does not begin. */
#include "event/causes.h"

#include "base/alloc.h"
#include "base/text.h"
#include "object/diff.h"

#include <string.h>

/* The causes of a key's next run. */
struct waiting {
    struct pl_keyed node;
    struct pl_cause_list list;
    char key[];
};

static struct waiting *waiting_of(struct pl_keyed *node)
{
    return PL_CONTAINER_OF(node, struct waiting, node);
}

static void free_cause(struct pl_cause *cause)
{
    pl_free(cause->key);
    pl_free(cause->changed);
}

void pl_cause_list_deinit(struct pl_cause_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free_cause(&list->items[i]);
    pl_free(list->items);
    *list = (struct pl_cause_list){0};
}

void pl_causes_init(struct pl_causes *causes)
{
    pl_keyset_init(&causes->by_key, offsetof(struct waiting, key));
}

void pl_causes_deinit(struct pl_causes *causes)
{
    size_t at = 0;
    struct pl_keyed *node;
    while ((node = pl_keyset_next(&causes->by_key, &at)) != NULL) {
        pl_cause_list_deinit(&waiting_of(node)->list);
        pl_free(waiting_of(node));
    }
    pl_keyset_deinit(&causes->by_key);
}

/* NULL when the key has the maximal number of causes. Only this function grows a list, so the
 * capacity is not stored. */
static struct pl_cause *causes_append(struct pl_cause_list *list)
{
    if (list->count == PL_CAUSES_MAX) {
        list->dropped++;
        return NULL;
    }
    if ((list->count & (list->count - 1)) == 0) /* capacity of 1, 2, 4, 8 */
        list->items = pl_reallocarray(list->items, list->count > 0 ? list->count * 2 : 1,
                                      sizeof(struct pl_cause));
    struct pl_cause *cause = &list->items[list->count++];
    *cause = (struct pl_cause){0};
    return cause;
}

static struct pl_cause_list *causes_find(const struct pl_causes *causes, struct pl_slice key,
                                         uint32_t hash)
{
    struct pl_keyed *node = pl_keyset_find(&causes->by_key, key, hash);
    return node != NULL ? &waiting_of(node)->list : NULL;
}

static struct pl_cause_list *causes_find_or_make(struct pl_causes *causes, struct pl_slice key)
{
    uint32_t hash = pl_keyset_hash(key);
    struct pl_cause_list *list = causes_find(causes, key, hash);
    if (list != NULL)
        return list;
    struct waiting *waiting = pl_malloc(sizeof(*waiting) + key.len);
    waiting->list = (struct pl_cause_list){0};
    memcpy(waiting->key, key.ptr, key.len);
    pl_keyset_insert(&causes->by_key, &waiting->node, key.len, hash);
    return &waiting->list;
}

static struct pl_cause *new_cause(struct pl_causes *causes, struct pl_slice key)
{
    return causes_append(causes_find_or_make(causes, key));
}

/* A reload may queue a key more than once; the repetition is no news. */
static bool has_reload(const struct pl_causes *causes, struct pl_slice key)
{
    const struct pl_cause_list *list = causes_find(causes, key, pl_keyset_hash(key));
    for (size_t i = 0; list != NULL && i < list->count; i++)
        if (list->items[i].type == PL_CAUSE_RELOAD)
            return true;
    return false;
}

void pl_causes_add(struct pl_causes *causes, struct pl_slice key, enum pl_cause_type type)
{
    if (type == PL_CAUSE_RELOAD && has_reload(causes, key))
        return;
    struct pl_cause *cause = new_cause(causes, key);
    if (cause != NULL)
        cause->type = type;
}

void pl_causes_add_channel(struct pl_causes *causes, struct pl_slice key, const char *channel)
{
    struct pl_cause *cause = new_cause(causes, key);
    if (cause == NULL)
        return;
    cause->type = PL_CAUSE_CHANNEL;
    cause->kind = channel;
}

bool pl_path_is_noise(struct pl_slice path)
{
    static const char prefixes[][28] = {"metadata.resourceVersion", "metadata.generation",
                                        "metadata.managedFields"};
    for (size_t i = 0; i < PL_ARRAY_LEN(prefixes); i++)
        if (pl_text_begins(path, prefixes[i]))
            return true;
    return false;
}

struct changed {
    struct pl_buf texts; /* each with its NUL */
    size_t seen, kept;
};

static bool see_change(void *arg, struct pl_slice path)
{
    struct changed *changed = arg;
    if (!pl_path_is_noise(path)) {
        pl_buf_add(&changed->texts, path.ptr, path.len + 1);
        changed->kept++;
    }
    return ++changed->seen < PL_CHANGED_MAX + 3 && changed->kept < PL_CHANGED_MAX;
}

/* One block: the list, and after it the texts. */
static char **changed_paths(const struct pl_event *event)
{
    struct changed changed = {.texts = PL_BUF_INIT};
    pl_diff_each(pl_doc_root(event->old), pl_doc_root(event->object), see_change, &changed);
    size_t list = (changed.kept + 1) * sizeof(char *);
    char **paths = pl_malloc(list + changed.texts.len), *text = (char *)paths + list;
    if (changed.kept > 0)
        memcpy(text, changed.texts.ptr, changed.texts.len);
    for (size_t i = 0; i < changed.kept; i++, text += strlen(text) + 1)
        paths[i] = text;
    paths[changed.kept] = NULL;
    pl_buf_deinit(&changed.texts);
    return paths;
}

enum pl_cause_type pl_cause_type_of(const struct pl_event *event)
{
    return event->type == PL_EVENT_DELETE   ? PL_CAUSE_DELETED
           : event->type == PL_EVENT_UPDATE ? PL_CAUSE_MODIFIED
                                            : PL_CAUSE_ADDED;
}

const char *pl_cause_type_name(enum pl_cause_type type)
{
    static const char names[][12] = {
        [PL_CAUSE_ADDED] = "ADDED",     [PL_CAUSE_MODIFIED] = "MODIFIED",
        [PL_CAUSE_DELETED] = "DELETED", [PL_CAUSE_RESYNC] = "RESYNC",
        [PL_CAUSE_REQUEUE] = "REQUEUE", [PL_CAUSE_RETRY] = "RETRY",
        [PL_CAUSE_RELOAD] = "RELOAD",   [PL_CAUSE_CHANNEL] = "CHANNEL"};
    return names[type];
}

const struct pl_cause *pl_causes_add_event(struct pl_causes *causes, struct pl_slice key,
                                           const struct pl_event *event, struct pl_slice object,
                                           const char *kind)
{
    struct pl_cause *cause = new_cause(causes, key);
    if (cause == NULL)
        return NULL;
    cause->type = pl_cause_type_of(event);
    cause->kind = kind;
    cause->key = pl_text_copy(object);
    if (event->type == PL_EVENT_UPDATE && event->old != NULL)
        cause->changed = changed_paths(event);
    return cause;
}

void pl_causes_take(struct pl_causes *causes, struct pl_slice key, struct pl_cause_list *out)
{
    struct pl_keyed *node = pl_keyset_find(&causes->by_key, key, pl_keyset_hash(key));
    *out = (struct pl_cause_list){0};
    if (node == NULL)
        return;
    *out = waiting_of(node)->list;
    pl_keyset_remove(&causes->by_key, node);
    pl_free(waiting_of(node));
}

void pl_causes_give_back(struct pl_causes *causes, struct pl_slice key, struct pl_cause_list *list)
{
    struct pl_cause_list since;
    pl_causes_take(causes, key, &since);
    list->dropped += since.dropped;
    for (size_t i = 0; i < since.count; i++) {
        struct pl_cause *cause = causes_append(list);
        if (cause != NULL)
            *cause = since.items[i];
        else
            free_cause(&since.items[i]);
    }
    pl_free(since.items);
    if (list->count > 0)
        *causes_find_or_make(causes, key) = *list;
    *list = (struct pl_cause_list){0};
}

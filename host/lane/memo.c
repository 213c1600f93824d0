/* One map from controller and key to documents, under one lock, shared by all lanes and
 * generations. Its size in bytes is limited; a value that does not fit is refused and the old one
 * stays. The lock is a leaf: only the map is called while it is held. */
#include "lane/memo.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/map.h"
#include "value/write.h"

#include <pthread.h>
#include <stdatomic.h>

struct memo {
    struct pl_doc *doc;
    size_t bytes;
};

struct pl_memos {
    atomic_int refs;
    pthread_mutex_t lock;
    struct pl_map by_key; /* "controller key"; controllers' names contain no space */
    size_t bytes;
};

struct pl_memos *pl_memos_create(void)
{
    struct pl_memos *memos = PL_NEW(struct pl_memos);
    atomic_init(&memos->refs, 1);
    pthread_mutex_init(&memos->lock, NULL);
    return memos;
}

struct pl_memos *pl_memos_ref(struct pl_memos *memos)
{
    atomic_fetch_add(&memos->refs, 1);
    return memos;
}

static void free_memo(struct memo *memo)
{
    if (memo == NULL)
        return;
    pl_doc_unref(memo->doc);
    pl_free(memo);
}

void pl_memos_unref(struct pl_memos *memos)
{
    if (memos == NULL || atomic_fetch_sub(&memos->refs, 1) != 1)
        return;
    size_t at = 0;
    struct pl_slice key;
    void *value;
    while (pl_map_next(&memos->by_key, &at, &key, &value))
        free_memo(value);
    pl_map_deinit(&memos->by_key);
    pthread_mutex_destroy(&memos->lock);
    pl_free(memos);
}

struct pl_doc *pl_memos_get(struct pl_memos *memos, const char *controller, const char *key)
{
    char *name = pl_format("%s %s", controller, key);
    pthread_mutex_lock(&memos->lock);
    struct memo *memo = pl_map_get(&memos->by_key, pl_slice_z(name));
    struct pl_doc *doc = memo != NULL ? pl_doc_ref(memo->doc) : NULL;
    pthread_mutex_unlock(&memos->lock);
    pl_free(name);
    return doc;
}

static size_t memo_size_of(struct pl_doc *doc)
{
    struct pl_buf text = PL_BUF_INIT;
    pl_write(&text, pl_doc_root(doc), PL_WRITE_SORTED);
    size_t size = text.len;
    pl_buf_deinit(&text);
    return size;
}

int pl_memos_put(struct pl_memos *memos, const char *controller, const char *key,
                 struct pl_doc *doc, struct pl_err *err)
{
    size_t bytes = doc != NULL ? memo_size_of(doc) : 0;
    if (bytes > PL_MEMO_BYTES)
        return pl_err_set(err, PL_ELIMIT, "it has %zu bytes as JSON, more than %zu", bytes,
                          PL_MEMO_BYTES);
    struct memo *fresh = NULL, *old = NULL;
    char *name = pl_format("%s %s", controller, key);
    if (doc != NULL) {
        fresh = PL_NEW(struct memo);
        *fresh = (struct memo){.doc = pl_doc_ref(doc), .bytes = bytes};
    }
    pthread_mutex_lock(&memos->lock);
    struct memo *known = pl_map_get(&memos->by_key, pl_slice_z(name));
    size_t rest = memos->bytes - (known != NULL ? known->bytes : 0);
    bool fits = rest + bytes <= PL_MEMOS_BYTES;
    if (fits && fresh != NULL)
        old = pl_map_put(&memos->by_key, pl_slice_z(name), fresh);
    else if (fits)
        old = pl_map_remove(&memos->by_key, pl_slice_z(name));
    else
        old = fresh;
    if (fits)
        memos->bytes = rest + bytes;
    pthread_mutex_unlock(&memos->lock);
    free_memo(old);
    pl_free(name);
    return fits ? 0
                : pl_err_set(err, PL_ELIMIT, "all memos together have more than %zu bytes",
                             PL_MEMOS_BYTES);
}

static bool memo_is_of(struct pl_slice key, struct pl_slice controller)
{
    return key.len > controller.len && key.ptr[controller.len] == ' ' &&
           memcmp(key.ptr, controller.ptr, controller.len) == 0;
}

/* Appends the controller's names, each ended by NUL. */
static void add_names_of(const struct pl_memos *memos, struct pl_slice controller,
                         struct pl_buf *out)
{
    size_t at = 0;
    struct pl_slice key;
    void *value;
    while (pl_map_next(&memos->by_key, &at, &key, &value)) {
        if (!memo_is_of(key, controller))
            continue;
        pl_buf_add_slice(out, key);
        pl_buf_add_char(out, '\0');
    }
}

/* One walk, then the removals: a walk for each removal would block others for minutes. */
void pl_memos_forget(struct pl_memos *memos, const char *controller)
{
    struct pl_buf names = PL_BUF_INIT;
    pthread_mutex_lock(&memos->lock);
    add_names_of(memos, pl_slice_z(controller), &names);
    for (size_t at = 0; at < names.len;) {
        struct pl_slice name = pl_slice_z(names.ptr + at);
        struct memo *memo = pl_map_remove(&memos->by_key, name);
        memos->bytes -= memo->bytes;
        free_memo(memo);
        at += name.len + 1;
    }
    pthread_mutex_unlock(&memos->lock);
    pl_buf_deinit(&names);
}

size_t pl_memos_count(struct pl_memos *memos)
{
    pthread_mutex_lock(&memos->lock);
    size_t count = memos->by_key.count;
    pthread_mutex_unlock(&memos->lock);
    return count;
}

/* A record of one run's effects outside the host: instead of carrying them out (a shadow), or in
 * addition (the run that is followed). A capture is also a view: it keeps objects as the run found
 * and changed them, in front of the caches. */
#include "write/capture.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/map.h"
#include "value/build.h"
#include "object/meta.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define VIEW_MAX 4096 /* limit of objects */

struct seen {
    struct pl_doc *doc;    /* counted; NULL: absent */
    struct pl_doc *newest; /* counted; the answer to the run's own last write; NULL: none */
    bool expected;         /* expected: the run has not looked yet */
};

struct pl_capture {
    atomic_int refs;
    struct pl_effect *effects; /* owned */
    size_t count, dropped, bytes;
    bool disturbed;
    struct pl_secrets hidden;
    pthread_mutex_t lock; /* protects the view; a leaf */
    struct pl_map view;   /* "kind key" -> struct seen, owned */
};

struct pl_capture *pl_capture_create(void)
{
    struct pl_capture *capture = PL_NEW(struct pl_capture);
    atomic_init(&capture->refs, 1);
    pthread_mutex_init(&capture->lock, NULL);
    return capture;
}

struct pl_capture *pl_capture_ref(struct pl_capture *capture)
{
    if (capture != NULL)
        atomic_fetch_add(&capture->refs, 1);
    return capture;
}

static void drop_documents(struct pl_effect *effect)
{
    pl_doc_unref(effect->before);
    pl_doc_unref(effect->after);
    pl_doc_unref(effect->sent);
}

void pl_capture_unref(struct pl_capture *capture)
{
    if (capture == NULL || atomic_fetch_sub(&capture->refs, 1) != 1)
        return;
    for (size_t i = 0; i < capture->count; i++) {
        drop_documents(&capture->effects[i]);
        pl_free(capture->effects[i].name);
    }
    pl_free(capture->effects);
    pl_secrets_clear(&capture->hidden);
    size_t at = 0;
    struct pl_slice key;
    void *value;
    while (pl_map_next(&capture->view, &at, &key, &value)) {
        pl_doc_unref(((struct seen *)value)->doc);
        pl_doc_unref(((struct seen *)value)->newest);
        pl_free(value);
    }
    pl_map_deinit(&capture->view);
    pthread_mutex_destroy(&capture->lock);
    pl_free(capture);
}

void pl_capture_hide(struct pl_capture *capture, const struct pl_secrets *secrets)
{
    pl_secrets_add_all(&capture->hidden, secrets);
}

const struct pl_secrets *pl_capture_hidden(const struct pl_capture *capture)
{
    return &capture->hidden;
}

/* ---- effects ---- */

static size_t capture_bytes_of(const struct pl_doc *doc)
{
    return doc != NULL ? pl_doc_bytes(doc) : 0;
}

static struct pl_effect *capture_find(const struct pl_capture *capture, const char *name)
{
    for (size_t i = 0; i < capture->count; i++)
        if (strcmp(capture->effects[i].name, name) == 0)
            return &capture->effects[i];
    return NULL;
}

/* A creation stays one, whatever is written to the object afterwards. */
static const char *joined_verb(const struct pl_effect *first, const struct pl_effect *next)
{
    return first->is_write && first->before == NULL && next->after != NULL && first->after != NULL
               ? first->verb
               : next->verb;
}

static void capture_join(struct pl_effect *effect, const struct pl_effect *next)
{
    effect->verb = joined_verb(effect, next);
    effect->several = true;
    pl_doc_unref(effect->after);
    pl_doc_unref(effect->sent);
    pl_doc_unref(next->before);
    effect->after = next->after;
    effect->sent = next->sent;
    effect->note = next->note != NULL ? next->note : effect->note;
}

void pl_capture_add(struct pl_capture *capture, const struct pl_effect *effect)
{
    struct pl_effect own = *effect, *known = capture_find(capture, effect->name);
    size_t bytes =
        capture_bytes_of(own.before) + capture_bytes_of(own.after) + capture_bytes_of(own.sent);
    if ((known == NULL && capture->count == PL_CAPTURE_EFFECTS) ||
        capture->bytes + bytes > PL_CAPTURE_BYTES) {
        capture->dropped++;
        drop_documents(&own);
        return;
    }
    capture->bytes += bytes;
    if (known != NULL) {
        capture_join(known, &own);
        return;
    }
    own.name = pl_strdup(effect->name);
    if (!pl_is_utf8(pl_slice_z(own.name))) /* a script's text */
        for (char *c = own.name; *c != '\0'; c++)
            *c = (unsigned char)*c < 0x80 ? *c : '?';
    capture->effects =
        pl_reallocarray(capture->effects, capture->count + 1, sizeof *capture->effects);
    capture->effects[capture->count++] = own;
}

size_t pl_capture_count(const struct pl_capture *capture)
{
    return capture->count;
}

const struct pl_effect *pl_capture_at(const struct pl_capture *capture, size_t i)
{
    return &capture->effects[i];
}

const struct pl_effect *pl_capture_find(const struct pl_capture *capture, const char *name)
{
    return capture_find(capture, name);
}

void pl_capture_disturb(struct pl_capture *capture)
{
    capture->disturbed = true;
}

bool pl_capture_is_disturbed(const struct pl_capture *capture)
{
    return capture->disturbed;
}

size_t pl_capture_dropped(const struct pl_capture *capture)
{
    return capture->dropped;
}

void pl_capture_note(struct pl_capture *capture, const char *verb, const char *name,
                     struct pl_slice sent)
{
    struct pl_effect effect = {.name = (char *)name, .verb = verb};
    if (sent.len > 0 && pl_is_utf8(sent)) {
        struct pl_build *b = pl_build_create(NULL);
        pl_build_str(b, sent);
        effect.sent = pl_build_close(b);
    }
    pl_capture_add(capture, &effect);
}

/* ---- the view ---- */

static void add_place(struct pl_buf *out, const struct pl_kind *kind, struct pl_slice key)
{
    char text[PL_KIND_TEXT];
    pl_buf_add_z(out, pl_kind_text(kind, text));
    pl_buf_add_char(out, ' ');
    pl_buf_add_slice(out, key);
}

/* Call it under the lock; takes a new reference. */
static void capture_show(struct pl_capture *capture, struct pl_slice place, struct pl_doc *doc,
                         bool first)
{
    struct seen *seen = pl_map_get(&capture->view, place);
    if ((seen != NULL && first && !seen->expected) ||
        (seen == NULL && capture->view.count >= VIEW_MAX))
        return;
    if (seen == NULL) {
        seen = PL_NEW(struct seen);
        pl_map_put(&capture->view, place, seen);
    }
    pl_doc_ref(doc);
    pl_doc_unref(seen->doc);
    seen->doc = doc;
    seen->expected = false;
}

void pl_capture_expect(struct pl_capture *capture, const struct pl_kind *kind, struct pl_slice key,
                       struct pl_doc *doc)
{
    struct pl_buf place = PL_BUF_INIT;
    add_place(&place, kind, key);
    pthread_mutex_lock(&capture->lock);
    struct seen *seen = pl_map_get(&capture->view, pl_buf_slice(&place));
    if (seen == NULL) {
        capture_show(capture, pl_buf_slice(&place), doc, true);
        seen = pl_map_get(&capture->view, pl_buf_slice(&place));
        if (seen != NULL)
            seen->expected = true;
    }
    pthread_mutex_unlock(&capture->lock);
    pl_buf_deinit(&place);
}

void pl_capture_show(struct pl_capture *capture, const struct pl_kind *kind, struct pl_slice key,
                     struct pl_doc *doc, bool first)
{
    struct pl_buf place = PL_BUF_INIT;
    add_place(&place, kind, key);
    pthread_mutex_lock(&capture->lock);
    capture_show(capture, pl_buf_slice(&place), doc, first);
    pthread_mutex_unlock(&capture->lock);
    pl_buf_deinit(&place);
}

bool pl_capture_sees(struct pl_capture *capture, const struct pl_kind *kind, struct pl_slice key,
                     struct pl_doc **doc)
{
    struct pl_buf place = PL_BUF_INIT;
    add_place(&place, kind, key);
    pthread_mutex_lock(&capture->lock);
    const struct seen *seen = pl_map_get(&capture->view, pl_buf_slice(&place));
    *doc = seen != NULL ? pl_doc_ref(seen->doc) : NULL;
    pthread_mutex_unlock(&capture->lock);
    pl_buf_deinit(&place);
    return seen != NULL;
}

void pl_capture_answered(struct pl_capture *capture, const struct pl_kind *kind,
                         struct pl_slice key, struct pl_doc *answer)
{
    struct pl_buf place = PL_BUF_INIT;
    add_place(&place, kind, key);
    pthread_mutex_lock(&capture->lock);
    struct seen *seen = pl_map_get(&capture->view, pl_buf_slice(&place));
    if (seen != NULL) {
        pl_doc_ref(answer);
        pl_doc_unref(seen->newest);
        seen->newest = answer;
    }
    pthread_mutex_unlock(&capture->lock);
    pl_buf_deinit(&place);
}

struct pl_doc *pl_capture_newest(struct pl_capture *capture, const struct pl_kind *kind,
                                 struct pl_slice key)
{
    struct pl_buf place = PL_BUF_INIT;
    add_place(&place, kind, key);
    pthread_mutex_lock(&capture->lock);
    const struct seen *seen = pl_map_get(&capture->view, pl_buf_slice(&place));
    struct pl_doc *doc = NULL;
    if (seen != NULL)
        doc = pl_doc_ref(seen->newest != NULL ? seen->newest : seen->doc);
    pthread_mutex_unlock(&capture->lock);
    pl_buf_deinit(&place);
    return doc;
}

void pl_capture_amend(struct pl_capture *capture, const struct pl_kind *kind, bool of_index,
                      struct pl_docs *docs)
{
    struct pl_buf place = PL_BUF_INIT;
    struct pl_slice key;
    void *value;
    size_t kept = 0, at = 0;
    add_place(&place, kind, pl_slice("", 0));
    size_t prefix = place.len;
    pthread_mutex_lock(&capture->lock);
    for (size_t i = 0; i < docs->count && capture->view.count > 0; i++) {
        place.len = prefix;
        pl_meta_put_key(pl_doc_root(docs->items[i]), &place);
        const struct seen *seen = pl_map_get(&capture->view, pl_buf_slice(&place));
        if (seen == NULL || (of_index && seen->doc != NULL)) {
            struct pl_doc *kept_doc = seen != NULL ? pl_doc_ref(seen->doc) : docs->items[i];
            if (seen != NULL)
                pl_doc_unref(docs->items[i]);
            docs->items[kept++] = kept_doc;
        } else {
            pl_doc_unref(docs->items[i]);
        }
    }
    if (capture->view.count > 0)
        docs->count = kept;
    while (!of_index && pl_map_next(&capture->view, &at, &key, &value)) {
        struct seen *seen = value;
        if (seen->doc != NULL && key.len > prefix && memcmp(key.ptr, place.ptr, prefix) == 0)
            pl_docs_add(docs, pl_doc_ref(seen->doc));
    }
    pthread_mutex_unlock(&capture->lock);
    pl_buf_deinit(&place);
}

void pl_capture_show_more(struct pl_capture *capture, struct pl_capture *later)
{
    size_t at = 0;
    struct pl_slice place;
    void *value;
    /* Both views belong to runs of one thread by now, or to none: two locks are never held
     * together. */
    struct pl_docs docs = {0};
    struct pl_buf places = PL_BUF_INIT;
    pthread_mutex_lock(&later->lock);
    while (pl_map_next(&later->view, &at, &place, &value)) {
        pl_docs_add(&docs, pl_doc_ref(((struct seen *)value)->doc));
        pl_buf_add(&places, place.ptr, place.len);
        pl_buf_add_char(&places, '\0');
    }
    pthread_mutex_unlock(&later->lock);
    pthread_mutex_lock(&capture->lock);
    const char *text = pl_buf_z(&places);
    for (size_t i = 0; i < docs.count; i++, text += strlen(text) + 1)
        capture_show(capture, pl_slice_z(text), docs.items[i], true);
    pthread_mutex_unlock(&capture->lock);
    pl_docs_deinit(&docs);
    pl_buf_deinit(&places);
}

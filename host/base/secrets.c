/* A bounded list, the oldest values first. Of the values that begin at one place of a text the
 * longest is cut out. Very short values are not kept, since they occur in most texts. If threads
 * share a list, its owner provides the lock. */
#include "base/secrets.h"

#include "base/alloc.h"
#include "base/buf.h"

#define SHORTEST 4    /* shorter values ("yes", "80") are ordinary words */
#define MOST     2000 /* number of values; the oldest are dropped beyond it */

bool pl_secrets_has(const struct pl_secrets *secrets, struct pl_slice text)
{
    for (size_t i = 0; i < secrets->count; i++) {
        if (pl_slice_eq(pl_slice(secrets->texts[i], secrets->lens[i]), text))
            return true;
    }
    return false;
}

static void secrets_drop_oldest(struct pl_secrets *secrets)
{
    pl_free(secrets->texts[0]);
    secrets->count--;
    memmove(secrets->texts, secrets->texts + 1, secrets->count * sizeof *secrets->texts);
    memmove(secrets->lens, secrets->lens + 1, secrets->count * sizeof *secrets->lens);
}

void pl_secrets_add(struct pl_secrets *secrets, struct pl_slice text)
{
    if (text.len < SHORTEST || pl_secrets_has(secrets, text))
        return;
    if (secrets->count == MOST)
        secrets_drop_oldest(secrets);
    if ((secrets->count & (secrets->count - 1)) == 0) { /* the capacity is a power of two */
        size_t room = secrets->count > 0 ? 2 * secrets->count : 1;
        secrets->texts = pl_reallocarray(secrets->texts, room, sizeof *secrets->texts);
        secrets->lens = pl_reallocarray(secrets->lens, room, sizeof *secrets->lens);
    }
    secrets->texts[secrets->count] = pl_memdup0(text.ptr, text.len);
    secrets->lens[secrets->count++] = text.len;
}

void pl_secrets_add_all(struct pl_secrets *secrets, const struct pl_secrets *more)
{
    for (size_t i = 0; i < more->count; i++)
        pl_secrets_add(secrets, pl_slice(more->texts[i], more->lens[i]));
}

void pl_secrets_add_found(struct pl_secrets *secrets, const struct pl_secrets *known,
                          struct pl_slice text)
{
    for (size_t i = 0; text.len > 0 && i < known->count; i++)
        if (memmem(text.ptr, text.len, known->texts[i], known->lens[i]) != NULL)
            pl_secrets_add(secrets, pl_slice(known->texts[i], known->lens[i]));
}

/* The first value in the text, the longest of those that begin there. */
static const char *find_first(const struct pl_secrets *secrets, struct pl_slice text, size_t *len)
{
    const char *first = NULL;
    for (size_t i = 0; i < secrets->count; i++) {
        const char *at = memmem(text.ptr, text.len, secrets->texts[i], secrets->lens[i]);
        if (at == NULL)
            continue;
        if (first == NULL || at < first || (at == first && secrets->lens[i] > *len)) {
            first = at;
            *len = secrets->lens[i];
        }
    }
    return first;
}

char *pl_secrets_mask(const struct pl_secrets *secrets, struct pl_slice text)
{
    struct pl_buf out = PL_BUF_INIT;
    size_t len = 0;
    const char *at;
    if (secrets->count == 0 || text.len == 0 || find_first(secrets, text, &len) == NULL)
        return NULL;
    while (text.len > 0 && (at = find_first(secrets, text, &len)) != NULL) {
        pl_buf_add(&out, text.ptr, (size_t)(at - text.ptr));
        pl_buf_add_f(&out, "<%zu bytes>", len);
        text = pl_slice(at + len, text.len - (size_t)(at + len - text.ptr));
    }
    pl_buf_add_slice(&out, text);
    return pl_buf_take(&out);
}

void pl_secrets_clear(struct pl_secrets *secrets)
{
    for (size_t i = 0; i < secrets->count; i++)
        pl_free(secrets->texts[i]);
    pl_free(secrets->texts);
    pl_free(secrets->lens);
    *secrets = (struct pl_secrets){.texts = NULL};
}

/* A bounded list, the oldest values first. Of the values that begin at one place of a text the
 * longest is cut out. Very short values are not kept, since they occur in most texts. If threads
 * share a list, its owner provides the lock. */
#include "base/secrets.h"

#include "base/alloc.h"
#include "base/buf.h"

#include <stdlib.h>

#define SHORTEST 4    /* shorter values ("yes", "80") are ordinary words */
#define MOST     2000 /* number of values; the oldest are dropped beyond it */

#define INDENT_MOST (size_t)8 /* of a block in YAML, which is even */

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
    secrets->has_lines = secrets->has_lines || memchr(text.ptr, '\n', text.len) != NULL;
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

/* A text in another form: byte i of it stands at[i] bytes after the text's start. */
struct form {
    char *text;
    size_t *at; /* one more than the bytes: the last is the text's length */
    size_t len;
};

static void form_init(struct form *form, struct pl_slice text)
{
    *form = (struct form){
        .text = pl_memdup0(text.ptr, text.len),
        .at = pl_reallocarray(NULL, text.len + 1, sizeof *form->at),
        .len = text.len,
    };
    for (size_t i = 0; i <= text.len; i++)
        form->at[i] = i;
}

static void form_deinit(struct form *form)
{
    pl_free(form->text);
    pl_free(form->at);
}

static void form_move(struct form *form, size_t from, size_t to, char c)
{
    form->text[to] = c;
    form->at[to] = form->at[from];
}

static void form_end(struct form *form, size_t len)
{
    form->at[len] = form->at[form->len];
    form->len = len;
}

/* The escape after a backslash, of JSON, YAML or Lua; returns its length. */
static size_t read_escape(struct pl_slice text, char *c)
{
    static const char shorts[] = "b\bf\fn\nr\rt\t";
    const char *found = text.ptr[0] != '\0' ? strchr(shorts, text.ptr[0]) : NULL;
    size_t digits = text.ptr[0] == 'u' ? 4 : text.ptr[0] == 'x' ? 2 : 0;
    char hex[5] = "", *end = hex;
    if (digits != 0 && digits < text.len) {
        memcpy(hex, text.ptr + 1, digits);
        unsigned long code = strtoul(hex, &end, 16);
        if (end == hex + digits && code < 0x80) {
            *c = (char)code;
            return 1 + digits;
        }
    }
    *c = found != NULL && (found - shorts) % 2 == 0 ? found[1] : text.ptr[0];
    return 1;
}

/* Resolves escapes. False: there are none. */
static bool form_unescape(struct form *form)
{
    size_t len = 0;
    if (memchr(form->text, '\\', form->len) == NULL)
        return false;
    for (size_t i = 0; i < form->len; len++) {
        char c = form->text[i];
        size_t used = 1;
        if (c == '\\' && i + 1 < form->len)
            used += read_escape(pl_slice(form->text + i + 1, form->len - i - 1), &c);
        form_move(form, i, len, c);
        i += used;
    }
    form_end(form, len);
    return true;
}

/* Removes the indentation of a block: up to so many spaces behind each end of a line. False: there
 * are none. */
static bool form_dedent(struct form *form, size_t spaces)
{
    size_t len = 0, begin = 0, all = form->len; /* begin: of the line, in the old text */
    for (size_t i = 0; i < all; i++) {
        bool cut = begin > 0 && i - begin < spaces && form->text[i] == ' ';
        if (begin > 0 && !cut)
            begin = 0;
        if (form->text[i] == '\n')
            begin = i + 1;
        if (!cut)
            form_move(form, i, len++, form->text[i]);
    }
    form_end(form, len);
    return len < all;
}

/* The text without what is a value in another form of it; NULL: the form has none. at: where each
 * of the form's bytes stands in the text; NULL: the form is the text itself. */
static char *mask_form(const struct pl_secrets *secrets, struct pl_slice text, struct pl_slice form,
                       const size_t *at)
{
    struct pl_buf out = PL_BUF_INIT;
    struct pl_slice rest = form;
    size_t len = 0, from = 0; /* from: in the text */
    const char *found;
    while (rest.len > 0 && (found = find_first(secrets, rest, &len)) != NULL) {
        size_t begin = (size_t)(found - form.ptr), end = begin + len;
        pl_buf_add(&out, text.ptr + from, (at != NULL ? at[begin] : begin) - from);
        pl_buf_add_f(&out, "<%zu bytes>", len);
        from = at != NULL ? at[end] : end;
        rest = pl_slice(found + len, form.len - end);
    }
    if (from == 0) {
        pl_buf_deinit(&out);
        return NULL;
    }
    pl_buf_add(&out, text.ptr + from, text.len - from);
    return pl_buf_take(&out);
}

/* Escapes in escapes: a JSON text is often a member of another. */
static char *mask_escaped(const struct pl_secrets *secrets, struct pl_slice text, int times)
{
    struct form form;
    form_init(&form, text);
    bool changed = true;
    for (int i = 0; i < times && changed; i++)
        changed = form_unescape(&form);
    char *masked =
        changed ? mask_form(secrets, text, pl_slice(form.text, form.len), form.at) : NULL;
    form_deinit(&form);
    return masked;
}

static char *mask_indented(const struct pl_secrets *secrets, struct pl_slice text, size_t spaces)
{
    struct form form;
    form_init(&form, text);
    char *masked = form_dedent(&form, spaces)
                       ? mask_form(secrets, text, pl_slice(form.text, form.len), form.at)
                       : NULL;
    form_deinit(&form);
    return masked;
}

/* Takes the old text, and gives the new one; NULL: the old one stays. */
static void take_masked(char **masked, struct pl_slice *text, char *next)
{
    if (next == NULL)
        return;
    pl_free(*masked);
    *masked = next;
    *text = pl_slice_z(next);
}

char *pl_secrets_mask(const struct pl_secrets *secrets, struct pl_slice text)
{
    char *masked = NULL;
    if (secrets->count == 0 || text.len == 0)
        return NULL;
    take_masked(&masked, &text, mask_form(secrets, text, text, NULL));
    for (int times = 1; times <= 2 && memchr(text.ptr, '\\', text.len) != NULL; times++)
        take_masked(&masked, &text, mask_escaped(secrets, text, times));
    for (size_t spaces = 2; spaces <= INDENT_MOST && secrets->has_lines; spaces += 2)
        if (memmem(text.ptr, text.len, "\n  ", 3) != NULL)
            take_masked(&masked, &text, mask_indented(secrets, text, spaces));
    return masked;
}

void pl_secrets_clear(struct pl_secrets *secrets)
{
    for (size_t i = 0; i < secrets->count; i++)
        pl_free(secrets->texts[i]);
    pl_free(secrets->texts);
    pl_free(secrets->lens);
    *secrets = (struct pl_secrets){.texts = NULL};
}

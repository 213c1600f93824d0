/* Named checks and the pages that show them, in the form of Kubernetes' own servers. Checks run for
 * each request, in the order of adding, and must be quick, since they run on the I/O thread.
 * Reasons may contain a script's text, so they are cut and put on one line; pages and exclusions
 * are limited. */
#include "serve/health.h"

#include "base/alloc.h"
#include "base/list.h"
#include "base/nearest.h"
#include "net/http_server.h"

#include <string.h>

#define SHOWN_MAX    1000 /* checks on one page */
#define REASON_MAX   2000 /* bytes */
#define EXCLUDED_MAX 100

struct check {
    struct pl_link link;
    enum pl_probe probe;
    const char *name; /* borrowed for life; NULL: a group */
    bool (*check)(void *arg, struct pl_buf *why);
    void (*each)(void *arg, struct pl_health_page *page);
    void *arg;
};

struct pl_health {
    struct pl_list checks;
};

struct verdict {
    char *name; /* owned, as is the next */
    char *why;  /* NULL: all is well */
    char *note; /* shown although the check passes; NULL: none */
    bool excluded;
};

struct pl_health_page {
    struct verdict *verdicts; /* owned array */
    size_t count;
};

struct pl_health *pl_health_create(void)
{
    struct pl_health *health = PL_NEW(struct pl_health);
    pl_list_init(&health->checks);
    return health;
}

void pl_health_destroy(struct pl_health *health)
{
    if (health == NULL)
        return;
    struct pl_link *link;
    while ((link = pl_list_pop(&health->checks)) != NULL)
        pl_free(PL_CONTAINER_OF(link, struct check, link));
    pl_free(health);
}

static void health_add(struct pl_health *health, const struct check *content)
{
    struct check *check = PL_NEW(struct check);
    *check = *content;
    pl_list_push(&health->checks, &check->link);
}

void pl_health_add(struct pl_health *health, enum pl_probe probe, const char *name,
                   bool (*check)(void *arg, struct pl_buf *why), void *arg)
{
    health_add(health, &(struct check){.probe = probe, .name = name, .check = check, .arg = arg});
}

void pl_health_add_group(struct pl_health *health, enum pl_probe probe,
                         void (*each)(void *arg, struct pl_health_page *page), void *arg)
{
    health_add(health, &(struct check){.probe = probe, .each = each, .arg = arg});
}

void pl_health_remove(struct pl_health *health, const void *arg)
{
    struct pl_link *next;
    for (struct pl_link *link = health->checks.head.next; link != &health->checks.head;
         link = next) {
        struct check *check = PL_CONTAINER_OF(link, struct check, link);
        next = link->next;
        if (check->arg != arg)
            continue;
        pl_link_unlink(link);
        pl_free(check);
    }
}

/* ---- asking ---- */

static char *one_line(const char *text)
{
    size_t len = strlen(text);
    char *copy = pl_memdup0(text, len < REASON_MAX ? len : REASON_MAX);
    for (char *p = copy; *p != '\0'; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            *p = ' ';
    return copy;
}

void pl_health_say(struct pl_health_page *page, const char *name, const char *why)
{
    if (page->count == SHOWN_MAX)
        return;
    page->verdicts = pl_reallocarray(page->verdicts, page->count + 1, sizeof(struct verdict));
    page->verdicts[page->count++] =
        (struct verdict){.name = one_line(name), .why = why != NULL ? one_line(why) : NULL};
}

void pl_health_note(struct pl_health_page *page, const char *name, const char *note)
{
    size_t before = page->count;
    pl_health_say(page, name, NULL);
    if (page->count > before)
        page->verdicts[before].note = one_line(note);
}

static void health_ask(const struct check *check, struct pl_health_page *page)
{
    if (check->name == NULL) {
        check->each(check->arg, page);
        return;
    }
    struct pl_buf why = PL_BUF_INIT;
    bool fine = check->check(check->arg, &why);
    pl_health_say(page, check->name,
                  fine          ? NULL
                  : why.len > 0 ? pl_buf_z(&why)
                                : "no reason given");
    pl_buf_deinit(&why);
}

static void ask_all(struct pl_health *health, enum pl_probe probe, struct pl_health_page *page)
{
    *page = (struct pl_health_page){0};
    pl_health_say(page, "ping", NULL); /* the answer itself is the check */
    PL_LIST_FOR (link, &health->checks) {
        const struct check *check = PL_CONTAINER_OF(link, struct check, link);
        if (check->probe == probe)
            health_ask(check, page);
    }
}

static void free_page(struct pl_health_page *page)
{
    for (size_t i = 0; i < page->count; i++) {
        pl_free(page->verdicts[i].name);
        pl_free(page->verdicts[i].why);
        pl_free(page->verdicts[i].note);
    }
    pl_free(page->verdicts);
}

static struct verdict *health_find(const struct pl_health_page *page, const char *name)
{
    for (size_t i = 0; i < page->count; i++)
        if (strcmp(page->verdicts[i].name, name) == 0)
            return &page->verdicts[i];
    return NULL;
}

/* ---- answering ---- */

/* The next "name=value" of a query; value is still escaped. */
static bool next_parameter(struct pl_slice *query, struct pl_slice *name, struct pl_slice *value)
{
    if (query->len == 0)
        return false;
    const char *end = pl_slice_chr(*query, '&');
    size_t len = end != NULL ? (size_t)(end - query->ptr) : query->len;
    const char *is = memchr(query->ptr, '=', len);
    size_t name_len = is != NULL ? (size_t)(is - query->ptr) : len;
    *name = pl_slice(query->ptr, name_len);
    *value = is != NULL ? pl_slice(is + 1, len - name_len - 1) : pl_slice("", 0);
    size_t used = len + (end != NULL);
    *query = pl_slice(query->ptr + used, query->len - used);
    return true;
}

/* Marks excluded checks; unknown names go to *unknown. */
static bool read_query(struct pl_slice query, struct pl_health_page *page, struct pl_buf *unknown)
{
    struct pl_slice name, value;
    bool verbose = false;
    for (size_t excluded = 0; next_parameter(&query, &name, &value);) {
        verbose |= pl_slice_eqz(name, "verbose");
        if (!pl_slice_eqz(name, "exclude") || ++excluded > EXCLUDED_MAX)
            continue;
        struct pl_buf text = PL_BUF_INIT;
        pl_url_unescape(value, true, &text);
        struct verdict *verdict = health_find(page, pl_buf_z(&text));
        char *line = one_line(pl_buf_z(&text));
        if (verdict != NULL)
            verdict->excluded = true;
        else
            pl_buf_add_f(unknown, "%s\"%s\"", unknown->len > 0 ? ", " : "", line);
        pl_free(line);
        pl_buf_deinit(&text);
    }
    return verbose;
}

static int answer_all(struct pl_health_page *page, const char *probe, struct pl_slice query,
                      struct pl_buf *body)
{
    struct pl_buf unknown = PL_BUF_INIT;
    bool failed = false, verbose = read_query(query, page, &unknown);
    for (size_t i = 0; i < page->count; i++)
        failed |= page->verdicts[i].why != NULL && !page->verdicts[i].excluded;
    if (!failed && !verbose) {
        pl_buf_add_z(body, "ok");
        pl_buf_deinit(&unknown);
        return 200;
    }
    for (size_t i = 0; i < page->count; i++) {
        const struct verdict *verdict = &page->verdicts[i];
        if (verdict->excluded)
            pl_buf_add_f(body, "[+]%s excluded: ok\n", verdict->name);
        else if (verdict->why == NULL)
            pl_buf_add_f(body, "[+]%s ok%s%s\n", verdict->name, verdict->note != NULL ? ": " : "",
                         verdict->note != NULL ? verdict->note : "");
        else
            pl_buf_add_f(body, "[-]%s failed: %s\n", verdict->name, verdict->why);
    }
    if (page->count == SHOWN_MAX)
        pl_buf_add_f(body, "warn: more than %d checks; the rest was not asked\n", SHOWN_MAX);
    if (unknown.len > 0)
        pl_buf_add_f(body, "warn: some health checks cannot be excluded: no matches for %s\n",
                     pl_buf_z(&unknown));
    pl_buf_add_f(body, "%s check %s\n", probe, failed ? "failed" : "passed");
    pl_buf_deinit(&unknown);
    return failed ? 500 : 200;
}

static void add_unknown(const struct pl_health_page *page, const char *probe, struct pl_slice name,
                        struct pl_buf *body)
{
    const char **names = pl_calloc(page->count, sizeof(char *)); /* "ping" is always there */
    for (size_t i = 0; i < page->count; i++)
        names[i] = page->verdicts[i].name;
    const char *best = pl_nearest(name, names, page->count);
    if (best != NULL)
        pl_buf_add_f(body, "no such check; did you mean %s?\n", best);
    else
        pl_buf_add_f(body, "no such check; /%s?verbose lists them\n", probe);
    pl_free(names);
}

static int answer_one(const struct pl_health_page *page, const char *probe, struct pl_slice wanted,
                      struct pl_buf *body)
{
    struct pl_buf name = PL_BUF_INIT;
    pl_url_unescape(wanted, false, &name);
    const struct verdict *verdict = health_find(page, pl_buf_z(&name));
    int status = verdict == NULL ? 404 : verdict->why != NULL ? 500 : 200;
    if (status == 200)
        pl_buf_add_f(body, "ok%s%s", verdict->note != NULL ? ": " : "",
                     verdict->note != NULL ? verdict->note : "");
    else if (status == 500)
        pl_buf_add_f(body, "internal server error: %s\n", verdict->why);
    else
        add_unknown(page, probe, pl_buf_slice(&name), body);
    pl_buf_deinit(&name);
    return status;
}

int pl_health_answer(struct pl_health *health, struct pl_slice path, struct pl_slice query,
                     struct pl_buf *body)
{
    static const char names[][8] = {[PL_PROBE_LIVE] = "healthz", [PL_PROBE_READY] = "readyz"};
    for (size_t i = 0; i < PL_ARRAY_LEN(names); i++) {
        size_t len = strlen(names[i]) + 1;
        if (path.len < len || memcmp(path.ptr + 1, names[i], len - 1) != 0 ||
            (path.len > len && path.ptr[len] != '/'))
            continue;
        struct pl_slice rest = pl_slice(path.ptr + len, path.len - len);
        struct pl_health_page page;
        ask_all(health, (enum pl_probe)i, &page);
        int status = rest.len <= 1
                         ? answer_all(&page, names[i], query, body)
                         : answer_one(&page, names[i], pl_slice(rest.ptr + 1, rest.len - 1), body);
        free_page(&page);
        return status;
    }
    pl_buf_add_z(body, "try /healthz or /readyz\n");
    return 404;
}

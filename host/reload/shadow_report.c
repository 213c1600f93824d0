/* The findings of a shadow: for each key the differences of its last comparison. A later comparison
 * of a key replaces the finding about the same effect; a key without differences is forgotten.
 * Keys, differences and bytes are limited, and those beyond the limits are counted. */
#include "reload/shadow_report.h"

#include "base/alloc.h"
#include "base/text.h"
#include "value/build.h"
#include "write/compare.h"

#include <stdlib.h>
#include <string.h>

#define COMPARED_MAX 200000 /* limit of distinct keys */

struct subject {
    char *controller, *key; /* owned */
    char *error;            /* owned: the candidate's error; NULL: none */
    struct difference {
        char *what;         /* owned */
        struct pl_doc *doc; /* owned */
        bool both;          /* both runs have the effect */
    } * differences;
    size_t count;
};

static void free_difference(struct pl_shadow_report *report, struct difference *difference)
{
    report->bytes -= pl_doc_bytes(difference->doc);
    pl_doc_unref(difference->doc);
    pl_free(difference->what);
}

static void free_subject(struct pl_shadow_report *report, struct subject *subject)
{
    for (size_t i = 0; i < subject->count; i++)
        free_difference(report, &subject->differences[i]);
    pl_free(subject->differences);
    pl_free(subject->error);
    pl_free(subject->controller);
    pl_free(subject->key);
    pl_free(subject);
}

void pl_shadow_report_deinit(struct pl_shadow_report *report)
{
    size_t at = 0;
    struct pl_slice key;
    void *value;
    while (pl_map_next(&report->subjects, &at, &key, &value))
        free_subject(report, value);
    pl_map_deinit(&report->subjects);
    pl_map_deinit(&report->compared);
    *report = (struct pl_shadow_report){.keys = 0};
}

/* ---- one comparison ---- */

struct adding {
    struct pl_shadow_report *report;
    struct subject *subject;  /* NULL: there is no room for it */
    struct pl_secrets hidden; /* owned: values of Secrets that either run has read */
};

static struct difference *shadow_report_find(const struct subject *subject, const char *what)
{
    for (size_t i = 0; subject != NULL && i < subject->count; i++)
        if (strcmp(subject->differences[i].what, what) == 0)
            return &subject->differences[i];
    return NULL;
}

static void shadow_report_forget(struct pl_shadow_report *report, struct subject *subject,
                                 const char *what)
{
    struct difference *difference = shadow_report_find(subject, what);
    if (difference == NULL)
        return;
    free_difference(report, difference);
    *difference = subject->differences[--subject->count];
}

static void shadow_report_differs(void *arg, const struct pl_effect *running,
                                  const struct pl_effect *candidate)
{
    struct adding *adding = arg;
    struct pl_shadow_report *report = adding->report;
    struct subject *subject = adding->subject;
    const char *what = candidate != NULL ? candidate->name : running->name;
    bool both = running != NULL && candidate != NULL;
    const struct difference *known = shadow_report_find(subject, what);
    /* If both runs had this effect, a later effect of only one follows from that difference. */
    if (known != NULL && known->both && !both)
        return;
    shadow_report_forget(report, subject, what);
    if (subject == NULL || report->bytes > PL_SHADOW_BYTES_MAX) {
        report->left_out++;
        return;
    }
    struct pl_build *b = pl_build_create(NULL);
    pl_difference_build(b, running, candidate, &adding->hidden);
    struct pl_doc *doc = pl_build_close(b);
    report->bytes += pl_doc_bytes(doc);
    subject->differences =
        pl_reallocarray(subject->differences, subject->count + 1, sizeof *subject->differences);
    subject->differences[subject->count++] =
        (struct difference){.what = pl_strdup(what), .doc = doc, .both = both};
}

static void agrees(void *arg, const struct pl_effect *running, const struct pl_effect *candidate)
{
    struct adding *adding = arg;
    PL_UNUSED(running);
    shadow_report_forget(adding->report, adding->subject, candidate->name);
}

static struct subject *subject_of(struct pl_shadow_report *report, const char *name,
                                  const char *controller, struct pl_slice key)
{
    struct subject *subject = pl_map_get(&report->subjects, pl_slice_z(name));
    if (subject != NULL || report->subjects.count >= PL_SHADOW_KEYS_MAX)
        return subject;
    subject = PL_NEW(struct subject);
    subject->controller = pl_strdup(controller);
    subject->key = pl_text_copy(key);
    pl_map_put(&report->subjects, pl_slice_z(name), subject);
    return subject;
}

static void set_error(struct adding *adding, const struct pl_rehearsed *rehearsed)
{
    const char *error = rehearsed->running_failed ? NULL : rehearsed->error;
    if (adding->subject == NULL) {
        adding->report->left_out += error != NULL;
        return;
    }
    pl_free(adding->subject->error);
    adding->subject->error = pl_strdup_or_null(error);
}

void pl_shadow_report_add(struct pl_shadow_report *report, const char *controller,
                          const struct pl_rehearsed *rehearsed)
{
    char *name = pl_format("%s %.*s", controller, PL_FMT(rehearsed->key));
    struct adding adding = {.report = report,
                            .subject = subject_of(report, name, controller, rehearsed->key)};
    if (report->compared.count >= COMPARED_MAX)
        report->keys++;
    else if (pl_map_put(&report->compared, pl_slice_z(name), report) == NULL)
        report->keys++;
    pl_secrets_add_all(&adding.hidden, pl_capture_hidden(rehearsed->candidate));
    if (rehearsed->running != NULL)
        pl_secrets_add_all(&adding.hidden, pl_capture_hidden(rehearsed->running));
    pl_compare(rehearsed->running, rehearsed->candidate, shadow_report_differs, agrees, &adding);
    report->left_out += pl_capture_dropped(rehearsed->candidate);
    set_error(&adding, rehearsed);
    if (adding.subject != NULL && adding.subject->count == 0 && adding.subject->error == NULL) {
        pl_map_remove(&report->subjects, pl_slice_z(name));
        free_subject(report, adding.subject);
    }
    pl_secrets_clear(&adding.hidden);
    pl_free(name);
}

/* ---- reporting ---- */

size_t pl_shadow_report_count(const struct pl_shadow_report *report)
{
    return report->subjects.count;
}

static struct pl_doc *line_of(const struct subject *subject)
{
    struct pl_build *b = pl_build_create(NULL);
    pl_build_object(b);
    pl_build_keyz(b, "type");
    pl_build_strz(b, "key");
    pl_build_put_text(b, "controller", pl_slice_z(subject->controller));
    pl_build_put_text(b, "key", pl_slice_z(subject->key));
    if (subject->error != NULL)
        pl_build_put_text(b, "error", pl_slice_z(subject->error));
    pl_build_keyz(b, "differences");
    pl_build_array(b);
    for (size_t i = 0; i < subject->count; i++)
        pl_build_node(b, pl_doc_root(subject->differences[i].doc));
    pl_build_end(b);
    pl_build_end(b);
    return pl_build_close(b);
}

static int shadow_report_by_name(const void *a, const void *b)
{
    const struct subject *one = *(const struct subject *const *)a;
    const struct subject *other = *(const struct subject *const *)b;
    int order = strcmp(one->controller, other->controller);
    return order != 0 ? order : strcmp(one->key, other->key);
}

void pl_shadow_report_each(const struct pl_shadow_report *report,
                           void (*line)(void *arg, struct pl_doc *line), void *arg)
{
    const struct subject **all = pl_calloc(report->subjects.count + 1, sizeof *all);
    size_t at = 0, count = 0;
    struct pl_slice key;
    void *value;
    while (pl_map_next(&report->subjects, &at, &key, &value))
        all[count++] = value;
    qsort(all, count, sizeof *all, shadow_report_by_name);
    for (size_t i = 0; i < count; i++) {
        struct pl_doc *doc = line_of(all[i]);
        line(arg, doc);
        pl_doc_unref(doc);
    }
    pl_free(all);
}

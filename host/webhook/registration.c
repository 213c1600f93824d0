/* Builds the documents from the declarations, always in the same order, so that equal declarations
 * give equal texts. Foreign changes are found in managedFields: entries of other managers that
 * touch our part, later than ours. */
#include "webhook/registration.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "base/hash.h"
#include "base/text.h"
#include "object/patch.h"
#include "value/build.h"
#include "value/write.h"

#include <stdio.h>
#include <string.h>

/* ---- parts of documents ---- */

static void put_texts(struct pl_build *b, const char *name, char *const *texts)
{
    pl_build_keyz(b, name);
    pl_build_array(b);
    for (size_t i = 0; texts != NULL && texts[i] != NULL; i++)
        pl_build_strz(b, texts[i]);
    pl_build_end(b);
}

static void put_one(struct pl_build *b, const char *name, const char *text)
{
    pl_build_keyz(b, name);
    pl_build_array(b);
    pl_build_strz(b, text);
    pl_build_end(b);
}

static void put_client(struct pl_build *b, const struct pl_registration_target *target,
                       const char *path)
{
    pl_build_keyz(b, "clientConfig");
    pl_build_object(b);
    if (target->url != NULL) {
        char *url = pl_format("%s%s", target->url, path);
        pl_build_put_strz(b, "url", url);
        pl_free(url);
    } else {
        pl_build_keyz(b, "service");
        pl_build_object(b);
        pl_build_put_strz(b, "namespace", target->ns);
        pl_build_put_strz(b, "name", target->name);
        pl_build_put_strz(b, "path", path);
        pl_build_put_int(b, "port", target->port);
        pl_build_end(b);
    }
    if (target->ca_pem != NULL) {
        struct pl_buf coded = PL_BUF_INIT;
        pl_base64_encode(pl_slice_z(target->ca_pem), &coded);
        pl_build_put_str(b, "caBundle", pl_buf_slice(&coded));
        pl_buf_deinit(&coded);
    }
    pl_build_end(b);
}

static void put_rules(struct pl_build *b, const struct pl_registration_entry *entry)
{
    const struct pl_hook_spec *spec = entry->spec;
    pl_build_keyz(b, "rules");
    pl_build_array(b);
    pl_build_object(b);
    put_one(b, "apiGroups", entry->kind->kind.group);
    put_one(b, "apiVersions", entry->kind->kind.version);
    put_texts(b, "operations", spec->operations);
    pl_build_keyz(b, "resources");
    pl_build_array(b);
    pl_build_strz(b, entry->plural);
    for (size_t i = 0; spec->subresources != NULL && spec->subresources[i] != NULL; i++) {
        char *text = pl_format("%s/%s", entry->plural, spec->subresources[i]);
        pl_build_strz(b, text);
        pl_free(text);
    }
    pl_build_end(b);
    pl_build_put_strz(b, "scope", "*");
    pl_build_end(b);
    pl_build_end(b);
}

/* ---- selectors: from canonical text to a LabelSelector ---- */

static void put_expression(struct pl_build *b, struct pl_slice key, const char *op,
                           struct pl_slice values)
{
    pl_build_object(b);
    pl_build_put_str(b, "key", key);
    pl_build_put_strz(b, "operator", op);
    if (values.ptr != NULL) {
        pl_build_keyz(b, "values");
        pl_build_array(b);
        while (values.ptr != NULL) {
            const char *comma = pl_slice_chr(values, ',');
            size_t len = comma != NULL ? (size_t)(comma - values.ptr) : values.len;
            pl_build_str(b, pl_slice(values.ptr, len));
            values = comma != NULL ? pl_slice(comma + 1, values.len - len - 1) : pl_slice(NULL, 0);
        }
        pl_build_end(b);
    }
    pl_build_end(b);
}

static bool registration_split(struct pl_slice term, const char *by, struct pl_slice *key,
                               struct pl_slice *value)
{
    const char *at = pl_text_find(term, by);
    if (at == NULL)
        return false;
    size_t before = (size_t)(at - term.ptr), skip = before + strlen(by);
    *key = pl_slice(term.ptr, before);
    *value = pl_slice(term.ptr + skip, term.len - skip);
    return true;
}

static struct pl_slice in_brackets(struct pl_slice text)
{
    return text.len >= 2 && text.ptr[0] == '(' ? pl_slice(text.ptr + 1, text.len - 2) : text;
}

/* A term of the canonical text: "a", "!a", "a=b", "a==b", "a!=b", "a in (b,c)", "a notin (b,c)".
 * Scripts can't declare "a<1" and "a>1". */
static void put_term(struct pl_build *b, struct pl_slice term)
{
    struct pl_slice key, value;
    if (registration_split(term, " notin ", &key, &value))
        put_expression(b, key, "NotIn", in_brackets(value));
    else if (registration_split(term, " in ", &key, &value))
        put_expression(b, key, "In", in_brackets(value));
    else if (registration_split(term, "!=", &key, &value))
        put_expression(b, key, "NotIn", value);
    else if (registration_split(term, "==", &key, &value) ||
             registration_split(term, "=", &key, &value))
        put_expression(b, key, "In", value);
    else if (term.len > 0 && term.ptr[0] == '!')
        put_expression(b, pl_slice(term.ptr + 1, term.len - 1), "DoesNotExist", pl_slice(NULL, 0));
    else
        put_expression(b, term, "Exists", pl_slice(NULL, 0));
}

static void put_selector(struct pl_build *b, const char *name, const char *text)
{
    if (text == NULL || *text == '\0')
        return;
    pl_build_keyz(b, name);
    pl_build_object(b);
    pl_build_keyz(b, "matchExpressions");
    pl_build_array(b);
    int depth = 0;
    const char *begin = text;
    for (const char *c = text;; c++) {
        depth += (*c == '(') - (*c == ')');
        if (*c != '\0' && (*c != ',' || depth > 0))
            continue;
        put_term(b, pl_slice(begin, (size_t)(c - begin)));
        if (*c == '\0')
            break;
        begin = c + 1;
    }
    pl_build_end(b);
    pl_build_end(b);
}

/* ---- documents ---- */

static void put_conditions(struct pl_build *b, const struct pl_hook_spec *spec)
{
    if (spec->condition_count == 0)
        return;
    pl_build_keyz(b, "matchConditions");
    pl_build_array(b);
    for (size_t i = 0; i < spec->condition_count; i++) {
        pl_build_object(b);
        pl_build_put_strz(b, "name", spec->conditions[i].name);
        pl_build_put_strz(b, "expression", spec->conditions[i].expression);
        pl_build_end(b);
    }
    pl_build_end(b);
}

static void put_webhook(struct pl_build *b, const struct pl_registration_entry *entry,
                        const struct pl_registration_target *target)
{
    const struct pl_hook_spec *spec = entry->spec;
    pl_build_object(b);
    pl_build_put_strz(b, "name", entry->kind->name);
    put_client(b, target, entry->kind->path);
    put_rules(b, entry);
    pl_build_put_strz(b, "failurePolicy", spec->ignore ? "Ignore" : "Fail");
    pl_build_put_strz(b, "matchPolicy", entry->kind->exact ? "Exact" : "Equivalent");
    put_selector(b, "namespaceSelector", spec->namespace_selector);
    put_selector(b, "objectSelector", spec->object_selector);
    put_conditions(b, spec);
    pl_build_put_strz(b, "sideEffects", spec->on_dry_run ? "NoneOnDryRun" : "None");
    pl_build_put_int(b, "timeoutSeconds", spec->timeout_s);
    put_one(b, "admissionReviewVersions", "v1");
    if (spec->sort == PL_HOOK_MUTATE)
        pl_build_put_strz(b, "reinvocationPolicy", spec->if_needed ? "IfNeeded" : "Never");
    pl_build_end(b);
}

static void registration_begin(struct pl_build *b, const char *api_version, const char *kind,
                               const char *name)
{
    pl_build_object(b);
    pl_build_put_strz(b, "apiVersion", api_version);
    pl_build_put_strz(b, "kind", kind);
    pl_build_keyz(b, "metadata");
    pl_build_object(b);
    pl_build_put_strz(b, "name", name);
    pl_build_end(b);
}

static struct pl_doc *registration_finish(struct pl_build *b)
{
    pl_build_end(b);
    return pl_build_close(b);
}

/* Takes the document. */
static struct pl_doc *with_mark(struct pl_doc *doc)
{
    static const char *const path[] = {"metadata", "annotations", PL_REGISTRATION_MARK};
    struct pl_buf text = PL_BUF_INIT;
    struct pl_build *b = pl_build_create(NULL);
    char mark[24];
    pl_write(&text, pl_doc_root(doc), PL_WRITE_SORTED);
    snprintf(mark, sizeof mark, "%016llx", (unsigned long long)pl_hash(text.ptr, text.len, 0));
    pl_build_strz(b, mark);
    struct pl_doc *value = pl_build_close(b);
    struct pl_doc *marked =
        pl_doc_with(pl_doc_root(doc), path, PL_ARRAY_LEN(path), pl_doc_root(value));
    pl_doc_unref(value);
    pl_doc_unref(doc);
    pl_buf_deinit(&text);
    return marked;
}

struct pl_doc *pl_registration_config(enum pl_hook_sort sort, const char *name,
                                      const struct pl_registration_entry *entries, size_t count,
                                      const struct pl_registration_target *target)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        used += entries[i].spec->sort == sort && entries[i].plural != NULL;
    if (used == 0)
        return NULL;
    struct pl_build *b = pl_build_create(NULL);
    registration_begin(b, "admissionregistration.k8s.io/v1",
                       sort == PL_HOOK_MUTATE ? "MutatingWebhookConfiguration"
                                              : "ValidatingWebhookConfiguration",
                       name);
    pl_build_keyz(b, "webhooks");
    pl_build_array(b);
    for (size_t i = 0; i < count; i++)
        if (entries[i].spec->sort == sort && entries[i].plural != NULL)
            put_webhook(b, &entries[i], target);
    pl_build_end(b);
    return with_mark(registration_finish(b));
}

struct pl_doc *pl_registration_conversion(const char *crd,
                                          const struct pl_registration_target *target)
{
    struct pl_build *b = pl_build_create(NULL);
    registration_begin(b, "apiextensions.k8s.io/v1", "CustomResourceDefinition", crd);
    if (target != NULL) {
        pl_build_keyz(b, "spec");
        pl_build_object(b);
        pl_build_keyz(b, "conversion");
        pl_build_object(b);
        pl_build_put_strz(b, "strategy", "Webhook");
        pl_build_keyz(b, "webhook");
        pl_build_object(b);
        put_client(b, target, "/convert");
        put_one(b, "conversionReviewVersions", "v1");
        pl_build_end(b);
        pl_build_end(b);
        pl_build_end(b);
    }
    struct pl_doc *doc = registration_finish(b);
    return target != NULL ? with_mark(doc) : doc;
}

/* ---- ownership ---- */

static bool is_crd(struct pl_node object)
{
    return pl_node_str_eq(pl_node_getz(object, "kind"), pl_slice_z("CustomResourceDefinition"));
}

struct pl_node pl_registration_part(struct pl_node object)
{
    return is_crd(object) ? pl_node_dig(object, "spec", "conversion")
                          : pl_node_getz(object, "webhooks");
}

/* True when the entry touches our part. */
static bool touches(struct pl_node entry, bool crd)
{
    struct pl_node fields = pl_node_getz(entry, "fieldsV1");
    struct pl_node part =
        crd ? pl_node_dig(fields, "f:spec", "f:conversion") : pl_node_getz(fields, "f:webhooks");
    return !pl_node_is_missing(part);
}

static bool is_replica(struct pl_node entry)
{
    return pl_node_str_eq(pl_node_getz(entry, "manager"), pl_slice_z(PL_REGISTRATION_MANAGER)) &&
           pl_node_str_eq(pl_node_getz(entry, "operation"), pl_slice_z("Apply"));
}

static void registration_time_of(struct pl_node object, char out[40])
{
    struct pl_iter it = pl_iter(pl_node_dig(object, "metadata", "managedFields"));
    out[0] = '\0';
    while (pl_iter_next(&it)) {
        struct pl_scratch scratch;
        if (is_replica(it.value))
            snprintf(out, 40, "%.*s",
                     PL_FMT(pl_node_str(pl_node_getz(it.value, "time"), &scratch)));
    }
}

/* True when another client has written it since we did. Others keep fields that they owned before
 * if both have the same value, so the time of their entry counts. */
static bool has_foreign(struct pl_node object, const char *since)
{
    struct pl_iter it = pl_iter(pl_node_dig(object, "metadata", "managedFields"));
    while (pl_iter_next(&it)) {
        struct pl_scratch scratch;
        struct pl_slice time = pl_node_str(pl_node_getz(it.value, "time"), &scratch);
        if (!is_replica(it.value) && touches(it.value, is_crd(object)) &&
            pl_slice_cmp(time, pl_slice_z(since)) >= 0)
            return true;
    }
    return false;
}

static void mark_of(struct pl_node object, char out[40])
{
    struct pl_scratch scratch;
    struct pl_node mark = pl_node_dig(object, "metadata", "annotations", PL_REGISTRATION_MARK);
    snprintf(out, 40, "%.*s", PL_FMT(pl_node_str(mark, &scratch)));
}

bool pl_registration_is_undone(const struct pl_registration_memory *memory, struct pl_node object)
{
    char mark[40], time[40];
    struct pl_node part = pl_registration_part(object);
    if (memory->accepted == NULL || pl_node_equal(part, pl_doc_root(memory->accepted)))
        return false;
    mark_of(object, mark);
    registration_time_of(object, time);
    return strcmp(mark, memory->mark) == 0 || mark[0] == '\0' || has_foreign(object, time);
}

void pl_registration_memory_deinit(struct pl_registration_memory *memory)
{
    pl_doc_unref(memory->accepted);
    *memory = (struct pl_registration_memory){.accepted = NULL};
}

void pl_registration_accept(struct pl_registration_memory *memory, struct pl_node object)
{
    pl_registration_memory_deinit(memory);
    struct pl_node part = pl_registration_part(object);
    struct pl_build *b = pl_build_create(NULL);
    pl_build_node(b, part); /* null if there is none */
    memory->accepted = pl_build_close(b);
    mark_of(object, memory->mark);
}

/* ---- of an earlier process, or under another name ---- */

static bool is_there(struct pl_node webhook, const struct pl_registration_target *target)
{
    struct pl_node client = pl_node_getz(webhook, "clientConfig");
    if (target->url != NULL) {
        struct pl_scratch scratch;
        struct pl_slice url = pl_node_str(pl_node_getz(client, "url"), &scratch);
        size_t len = strlen(target->url);
        return url.len > len && memcmp(url.ptr, target->url, len) == 0 && url.ptr[len] == '/';
    }
    struct pl_node service = pl_node_getz(client, "service");
    int64_t port = 443;
    pl_node_int(pl_node_getz(service, "port"), &port);
    return pl_node_str_eq(pl_node_getz(service, "namespace"), pl_slice_z(target->ns)) &&
           pl_node_str_eq(pl_node_getz(service, "name"), pl_slice_z(target->name)) &&
           port == target->port;
}

bool pl_registration_is_ours(struct pl_node config, const struct pl_registration_target *target)
{
    char time[40];
    registration_time_of(config, time);
    struct pl_node webhooks = pl_node_getz(config, "webhooks");
    struct pl_iter it = pl_iter(webhooks);
    bool all = time[0] != '\0' && pl_node_len(webhooks) > 0;
    while (all && pl_iter_next(&it))
        all = is_there(it.value, target);
    return all;
}

bool pl_registration_has_conversion(struct pl_node crd)
{
    struct pl_iter it = pl_iter(pl_node_dig(crd, "metadata", "managedFields"));
    while (pl_iter_next(&it))
        if (is_replica(it.value) && touches(it.value, true))
            return true;
    return false;
}

bool pl_registration_converts_here(struct pl_node crd, const struct pl_registration_target *target)
{
    return pl_registration_has_conversion(crd) &&
           is_there(pl_node_dig(crd, "spec", "conversion", "webhook"), target);
}

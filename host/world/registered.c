/* Every call checks all kinds and all handlers: wanted documents are applied, and applied ones that
 * are not wanted any more are removed. Applying an existing document changes nothing. */
#include "world/registered.h"

#include "apistore/registry.h"
#include "base/alloc.h"
#include "base/log.h"
#include "value/write.h"
#include "webhook/registration.h"

#include <string.h>

#define NAME "perilune-test"

static const char plurals[][72] = {
    [PL_HOOK_VALIDATE] = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    [PL_HOOK_MUTATE] = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    [PL_HOOK_CONVERT] = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
};

struct wanted {
    struct pl_registered *registered;
    struct pl_registration_entry
        *entries; /* owned, as are their texts, since types are made anew */
    size_t count;
};

static const struct pl_api_type *registered_type_of(const struct pl_api *api,
                                                    const struct pl_kind *kind)
{
    const struct pl_api_type *type = pl_api_registry_first(api->registry);
    while (type != NULL && (strcmp(type->kind, kind->kind) != 0 ||
                            !pl_api_type_has_group(type, pl_slice_z(kind->group))))
        type = type->next;
    return type;
}

static void add_entry(void *arg, const struct pl_hook_status *status)
{
    struct wanted *wanted = arg;
    const struct pl_api_type *type =
        registered_type_of(wanted->registered->api, &status->kind->kind);
    wanted->entries = pl_reallocarray(wanted->entries, wanted->count + 1, sizeof *wanted->entries);
    wanted->entries[wanted->count++] = (struct pl_registration_entry){
        status->spec, status->kind, type != NULL ? pl_strdup(type->plural) : NULL};
    if (type == NULL)
        wanted->registered->incomplete = true;
}

static void registered_apply(struct pl_registered *registered, enum pl_hook_sort sort,
                             const char *name, const struct pl_doc *doc)
{
    struct pl_buf body = PL_BUF_INIT;
    char *target =
        pl_format("%s/%s?fieldManager=" PL_REGISTRATION_MANAGER "&force=true", plurals[sort], name);
    pl_write(&body, pl_doc_root(doc), 0);
    int status = registered->request(registered->arg, "PATCH", target, pl_buf_slice(&body));
    if (status < 200 || status > 299)
        pl_log(PL_LOG_ERROR, "the webhooks can't be registered", pl_str("at", target),
               pl_int("status", status));
    pl_buf_deinit(&body);
    pl_free(target);
}

static void set_config(struct pl_registered *registered, enum pl_hook_sort sort,
                       const struct wanted *wanted)
{
    const struct pl_registration_target target = {.url = registered->url};
    struct pl_doc *doc =
        pl_registration_config(sort, NAME, wanted->entries, wanted->count, &target);
    bool *there = &registered->configs[sort == PL_HOOK_MUTATE];
    if (doc != NULL) {
        registered_apply(registered, sort, NAME, doc);
    } else if (*there) {
        char *at = pl_format("%s/" NAME, plurals[sort]);
        registered->request(registered->arg, "DELETE", at, pl_slice("", 0));
        pl_free(at);
    }
    *there = doc != NULL;
    pl_doc_unref(doc);
}

/* ---- conversions ---- */

static bool has_crd(char *const *crds, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(crds[i], name) == 0)
            return true;
    return false;
}

static void free_crds(char **crds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pl_free(crds[i]);
    pl_free(crds);
}

/* A CRD that does not exist any more needs no removal. */
static void registered_take_back(struct pl_registered *registered, const char *name)
{
    const char *dot = strchr(name, '.');
    if (dot == NULL || pl_api_registry_find_group(registered->api->registry, pl_slice_z(dot + 1),
                                                  pl_slice(name, (size_t)(dot - name))) == NULL)
        return;
    struct pl_doc *nothing = pl_registration_conversion(name, NULL);
    registered_apply(registered, PL_HOOK_CONVERT, name, nothing);
    pl_doc_unref(nothing);
}

static void set_conversions(struct pl_registered *registered, const struct wanted *wanted)
{
    const struct pl_registration_target target = {.url = registered->url};
    char **now = pl_calloc(wanted->count + 1, sizeof(char *));
    size_t count = 0;
    for (size_t i = 0; i < wanted->count; i++) {
        const struct pl_registration_entry *entry = &wanted->entries[i];
        if (entry->spec->sort == PL_HOOK_CONVERT && entry->plural != NULL)
            now[count++] = pl_format("%s.%s", entry->plural, entry->kind->kind.group);
    }
    for (size_t i = 0; i < registered->crd_count; i++)
        if (!has_crd(now, count, registered->crds[i]))
            registered_take_back(registered, registered->crds[i]);
    for (size_t i = 0; i < count; i++) {
        struct pl_doc *doc = pl_registration_conversion(now[i], &target);
        registered_apply(registered, PL_HOOK_CONVERT, now[i], doc);
        pl_doc_unref(doc);
    }
    free_crds(registered->crds, registered->crd_count);
    registered->crds = now;
    registered->crd_count = count;
}

void pl_registered_set(struct pl_registered *registered, const struct pl_hooks *hooks)
{
    struct wanted wanted = {.registered = registered};
    bool none = registered->crd_count == 0 && !registered->configs[0] && !registered->configs[1];
    registered->incomplete = false;
    if (hooks != NULL)
        pl_hooks_each(hooks, add_entry, &wanted);
    if (wanted.count == 0 && none)
        return;
    set_conversions(registered, &wanted);
    set_config(registered, PL_HOOK_VALIDATE, &wanted);
    set_config(registered, PL_HOOK_MUTATE, &wanted);
    for (size_t i = 0; i < wanted.count; i++)
        pl_free((char *)wanted.entries[i].plural);
    pl_free(wanted.entries);
}

void pl_registered_deinit(struct pl_registered *registered)
{
    free_crds(registered->crds, registered->crd_count);
}

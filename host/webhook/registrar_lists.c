/* What the registrar finds by lists: the CRDs whose conversion it registers, and registrations that
 * an earlier process has left, perhaps under another name. Those are ours if our manager applied
 * them and they have our address; others are not touched. Lists of CRDs are large, so the second
 * one asks for metadata alone and reads the CRDs that have our manager. */
#include "webhook/registrar_impl.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"
#include "kube/status.h"
#include "object/meta.h"

#include <stdio.h>

/* A request that ends with its answer. */
struct shot {
    struct pl_link link;
    struct pl_registrar *r; /* NULL: it is gone */
    struct pl_op *op;
    enum pl_hook_sort sort;
};

/* ---- single requests ---- */

static void fire(struct pl_registrar *r, enum pl_hook_sort sort, struct pl_call call,
                 pl_answer_fn on_answer)
{
    struct shot *shot = PL_NEW(struct shot);
    shot->r = r;
    shot->sort = sort;
    call.resource = pl_registrar_resource(sort);
    call.grace_period = -1;
    pl_list_push(&r->shots, &shot->link);
    shot->op = pl_client_start(pl_site_client(r->site), &call, on_answer, shot);
}

/* The registrar, or NULL; frees the shot. */
static struct pl_registrar *end_shot(struct shot *shot)
{
    struct pl_registrar *r = shot->r;
    pl_link_unlink(&shot->link);
    pl_free(shot);
    return r;
}

void pl_registrar_end_lists(struct pl_registrar *r)
{
    struct pl_link *link;
    while ((link = pl_list_pop(&r->shots)) != NULL) {
        struct shot *shot = PL_CONTAINER_OF(link, struct shot, link);
        shot->r = NULL;
        pl_op_cancel(shot->op);
    }
}

/* ---- strays ---- */

/* Whether the request for strays failed. The next look also covers its object. There is none when
 * the right is missing that only handlers need. */
static bool strays_failed(struct pl_registrar *r, enum pl_hook_sort sort, const struct pl_err *err)
{
    if (err == NULL)
        return false;
    if (pl_err_is_not_found(err))
        return true;
    if (pl_err_is_forbidden(err) && (r->entry_count == 0 || sort == PL_HOOK_CONVERT)) {
        pl_log(r->entry_count == 0 ? PL_LOG_INFO : PL_LOG_DEBUG,
               "webhooks that an earlier process has registered can't be looked for",
               pl_str("error", err->message));
        return true;
    }
    r->looked[sort] = false;
    pl_registrar_again(r);
    return true;
}

static void on_deleted(void *arg, const struct pl_answer *answer)
{
    struct shot *shot = arg;
    enum pl_hook_sort sort = shot->sort;
    struct pl_registrar *r = end_shot(shot);
    if (r != NULL)
        strays_failed(r, sort, answer->err);
}

static void on_stray(struct pl_registrar *r, enum pl_hook_sort sort, struct pl_node config)
{
    const struct pl_registration_target target = pl_registrar_target(r);
    struct pl_scratch scratch;
    struct pl_slice name = pl_meta_name(config, &scratch);
    if (!pl_registration_is_ours(config, &target))
        return;
    if (pl_slice_eqz(name, r->o.name)) {
        if (r->entry_count == 0) /* otherwise its item looks at it */
            pl_registrar_leave(r, sort, NULL, name);
        return;
    }
    pl_log(PL_LOG_INFO, "removing webhooks that were registered under another name",
           pl_strn("name", name));
    fire(r, sort, (struct pl_call){.verb = PL_VERB_DELETE, .name = name}, on_deleted);
}

static void on_strays(void *arg, const struct pl_answer *answer)
{
    struct shot *shot = arg;
    enum pl_hook_sort sort = shot->sort;
    struct pl_registrar *r = end_shot(shot);
    if (r == NULL || r->removed != NULL || strays_failed(r, sort, answer->err))
        return;
    for (size_t i = 0; answer->items != NULL && i < answer->items->count; i++)
        on_stray(r, sort, pl_doc_root(answer->items->items[i]));
}

/* ---- conversions that are not declared ---- */

static void registrar_kind_of(struct pl_node crd, struct pl_kind *out)
{
    struct pl_scratch s[2];
    struct pl_slice group = pl_node_str(pl_node_dig(crd, "spec", "group"), &s[0]);
    struct pl_slice kind = pl_node_str(pl_node_dig(crd, "spec", "names", "kind"), &s[1]);
    *out = (struct pl_kind){.group = ""};
    snprintf(out->group, sizeof out->group, "%.*s", PL_FMT(group));
    snprintf(out->kind, sizeof out->kind, "%.*s", PL_FMT(kind));
}

static void on_marked_crd(void *arg, const struct pl_answer *answer)
{
    struct pl_registrar *r = end_shot(arg);
    if (r == NULL || r->removed != NULL || strays_failed(r, PL_HOOK_CONVERT, answer->err))
        return;
    const struct pl_registration_target target = pl_registrar_target(r);
    struct pl_node crd = pl_doc_root(answer->doc);
    struct pl_scratch scratch;
    struct pl_kind kind;
    registrar_kind_of(crd, &kind);
    if (!pl_registration_converts_here(crd, &target) || pl_registrar_converts(r, &kind))
        return;
    pl_registrar_leave(r, PL_HOOK_CONVERT, &kind, pl_meta_name(crd, &scratch));
}

static void on_crd_strays(void *arg, const struct pl_answer *answer)
{
    struct pl_registrar *r = end_shot(arg);
    if (r == NULL || r->removed != NULL || strays_failed(r, PL_HOOK_CONVERT, answer->err))
        return;
    for (size_t i = 0; answer->items != NULL && i < answer->items->count; i++) {
        struct pl_node crd = pl_doc_root(answer->items->items[i]);
        struct pl_scratch scratch;
        struct pl_slice name = pl_meta_name(crd, &scratch);
        if (pl_registration_has_conversion(crd))
            fire(r, PL_HOOK_CONVERT,
                 (struct pl_call){.verb = PL_VERB_GET, .name = name, .keep_managed_fields = true},
                 on_marked_crd);
    }
}

void pl_registrar_look_for_strays(struct pl_registrar *r)
{
    for (int sort = PL_HOOK_VALIDATE; sort <= PL_HOOK_CONVERT; sort++) {
        bool crds = sort == PL_HOOK_CONVERT;
        const struct pl_call call = {
            .verb = PL_VERB_LIST, .keep_managed_fields = true, .metadata_only = crds};
        if (r->looked[sort])
            continue;
        r->looked[sort] = true;
        fire(r, sort, call, crds ? on_crd_strays : on_strays);
    }
}

/* ---- which CRD ---- */

static void name_crds(struct pl_registrar *r, const struct pl_docs *crds)
{
    for (struct pl_registrar_item *item = r->items; item != NULL; item = item->next) {
        for (size_t i = 0; item->sort == PL_HOOK_CONVERT && item->name == NULL && i < crds->count;
             i++) {
            struct pl_node crd = pl_doc_root(crds->items[i]);
            struct pl_scratch scratch;
            struct pl_slice name = pl_meta_name(crd, &scratch);
            struct pl_kind kind;
            registrar_kind_of(crd, &kind);
            if (pl_kind_eq_group(&kind, &item->kind))
                item->name = pl_text_copy(name);
        }
    }
}

static bool note_missing(struct pl_registrar *r, const char *why)
{
    bool any = false;
    for (size_t i = 0; i < r->entry_count; i++) {
        struct pl_registrar_entry *entry = &r->entries[i];
        if (entry->spec->sort != PL_HOOK_CONVERT)
            continue;
        bool missing = pl_registrar_item_of(r, PL_HOOK_CONVERT, &entry->kind->kind)->name == NULL;
        pl_registrar_note_unknown(entry, missing ? why : NULL);
        any = any || missing;
    }
    return any;
}

static void on_crds(void *arg, const struct pl_answer *answer)
{
    struct pl_registrar *r = end_shot(arg);
    if (r == NULL)
        return;
    r->finding = false;
    if (answer->err == NULL && answer->items != NULL)
        name_crds(r, answer->items);
    pl_registrar_want_all(r);
    if (note_missing(r,
                     answer->err != NULL ? answer->err->message : "there is no CRD of this kind"))
        pl_registrar_again(r);
}

/* One list for all of them. */
void pl_registrar_find_crds(struct pl_registrar *r)
{
    bool missing = false;
    for (size_t i = 0; i < r->entry_count; i++)
        if (r->entries[i].spec->sort == PL_HOOK_CONVERT)
            missing =
                pl_registrar_item_of(r, PL_HOOK_CONVERT, &r->entries[i].kind->kind)->name == NULL ||
                missing;
    if (!missing || r->finding)
        return;
    r->finding = true;
    fire(r, PL_HOOK_CONVERT, (struct pl_call){.verb = PL_VERB_LIST}, on_crds);
}

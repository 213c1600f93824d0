/* Reports findings of write_loops.c once: in the log, as an Event about the For object, by a
 * metric. For a field that is changed in turns, the object is read once more with its managers, to
 * name the other one. */
#include "control/controller_impl.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "object/meta.h"
#include "sync/read.h"
#include "write/recorder.h"

#include <string.h>

#define MANAGERS_MAX 256 /* limit of their names in bytes */

/* ---- marks ---- */

static uint64_t mark_of(struct pl_node object)
{
    struct pl_scratch a, b;
    struct pl_slice uid = pl_meta_uid(object, &a), rv = pl_meta_rv(object, &b);
    if (rv.len == 0)
        return 0;
    return pl_hash(rv.ptr, rv.len, pl_hash(uid.ptr, uid.len, 1)) | 1;
}

void pl_controller_run_wrote(struct pl_run *run, struct pl_node object)
{
    struct pl_controller *c = run->controller;
    uint64_t mark = mark_of(object);
    if (mark == 0 || c == NULL || run->edition->spec.task.form != PL_NO_TASK)
        return;
    if (c->loops == NULL)
        c->loops = pl_write_loops_create();
    pl_write_loops_wrote(c->loops, run->key, mark, pl_controller_now(c));
}

void pl_controller_heard(struct pl_subscription *subscription, struct pl_slice key,
                         const struct pl_event *event, const struct pl_cause *cause)
{
    struct pl_controller *c = subscription->controller;
    pl_write_loops_heard(c->loops, key, mark_of(pl_doc_root(event->object)),
                         cause != NULL ? cause->changed : NULL, subscription->cause_kind,
                         cause != NULL ? cause->key : NULL, pl_controller_now(c));
}

/* ---- telling ---- */

static void say_event(struct pl_controller *c, struct pl_slice key, bool fight, const char *note)
{
    struct pl_doc *object = pl_controller_for_object(c, key);
    struct pl_scratch uid, rv;
    char api_version[PL_KIND_TEXT];
    for (size_t i = 0; object != NULL && i < c->spec->source_count; i++) {
        const struct pl_source_spec *source = &c->spec->sources[i];
        struct pl_report report = {.warning = true,
                                   .reason = pl_slice_z(fight ? "FieldFight" : "HotLoop"),
                                   .note = pl_slice_z(note),
                                   .controller = pl_slice_z(c->name)};
        if (source->role != PL_SOURCE_FOR || source->cluster != NULL)
            continue;
        report.regarding = (struct pl_object_ref){
            .api_version = pl_slice_z(pl_kind_api_version(&source->kind, api_version)),
            .kind = pl_slice_z(source->kind.kind),
            .uid = pl_meta_uid(pl_doc_root(object), &uid),
            .rv = pl_meta_rv(pl_doc_root(object), &rv)};
        if (pl_key_split(key, &report.regarding.ns, &report.regarding.name) == 0)
            pl_recorder_event(pl_cluster_recorder(c->cluster), &report);
    }
    pl_doc_unref(object);
}

static void tell_loop(struct pl_controller *c, struct pl_slice key, const struct pl_loop *loop)
{
    char *note =
        pl_format("what controller %s writes wakes it again and again (%d runs in a row): %s",
                  c->name, loop->times, loop->fields);
    pl_log(PL_LOG_WARN, "hot loop: a key is queued by its own writes, again and again",
           pl_str("controller", c->name), pl_strn("key", key), pl_int("runs", loop->times),
           pl_str("fields", loop->fields));
    say_event(c, key, false, note);
    pl_free(note);
    if (c->metrics.on)
        pl_series_add(c->metrics.loops, 1);
}

/* ---- the other manager ---- */

struct asker {
    struct pl_link link;              /* in the controller's askers */
    struct pl_controller *controller; /* NULL: it was destroyed */
    char *key, *path, *kind, *object; /* owned */
    int times;
};

/* True when the entry manages the path ("spec.template.metadata.labels.app"). */
static bool manages(struct pl_node fields, const char *path)
{
    while (*path != '\0') {
        char name[256] = "f:";
        size_t len = strcspn(path, ".[");
        if (len + 3 > sizeof name)
            return false;
        memcpy(name + 2, path, len);
        name[2 + len] = '\0';
        fields = pl_node_getz(fields, name);
        if (pl_node_type(fields) != PL_OBJECT)
            return false;
        path += len;
        if (*path == '[') /* a list: the manager of any part of it */
            return true;
        path += *path == '.';
    }
    return true;
}

static void add_managers(struct pl_node object, const char *path, struct pl_buf *out)
{
    for (struct pl_iter it = pl_iter(pl_node_dig(object, "metadata", "managedFields"));
         pl_iter_next(&it);) {
        struct pl_scratch scratch;
        struct pl_slice name = pl_node_str(pl_node_getz(it.value, "manager"), &scratch);
        if (name.len > 0 && out->len + name.len + 2 < MANAGERS_MAX &&
            manages(pl_node_getz(it.value, "fieldsV1"), path))
            pl_buf_add_f(out, "%s%.*s", out->len > 0 ? ", " : "", PL_FMT(name));
    }
}

static void tell_fight(struct asker *asker, struct pl_doc *object)
{
    struct pl_controller *c = asker->controller;
    struct pl_buf managers = PL_BUF_INIT;
    if (object != NULL)
        add_managers(pl_doc_root(object), asker->path, &managers);
    const char *names = managers.len > 0 ? pl_buf_z(&managers) : "not known";
    char *note =
        pl_format("controller %s and somebody else change %s of %s %s in turns (%d); managers: %s",
                  c->name, asker->path, asker->kind, asker->object, asker->times, names);
    pl_log(PL_LOG_WARN, "fight: two writers change a field in turns", pl_str("controller", c->name),
           pl_str("key", asker->key), pl_str("kind", asker->kind), pl_str("object", asker->object),
           pl_str("fields", asker->path), pl_int("turns", asker->times), pl_str("managers", names));
    say_event(c, pl_slice_z(asker->key), true, note);
    pl_free(note);
    pl_buf_deinit(&managers);
    if (c->metrics.on)
        pl_series_add(c->metrics.fights, 1);
}

static void free_asker(struct asker *asker)
{
    pl_link_unlink(&asker->link);
    pl_free(asker->key);
    pl_free(asker->path);
    pl_free(asker->kind);
    pl_free(asker->object);
    pl_free(asker);
}

static void on_object(void *arg, const struct pl_answer *answer)
{
    struct asker *asker = arg;
    if (asker->controller != NULL)
        tell_fight(asker, answer->err == NULL ? answer->doc : NULL);
    free_asker(asker);
}

static struct pl_cluster *cluster_of(const struct pl_controller *c, const struct pl_kind *kind)
{
    for (size_t i = 0; i < c->spec->source_count; i++)
        if (c->spec->sources[i].cluster != NULL && pl_kind_eq(&c->spec->sources[i].kind, kind))
            return c->spec->sources[i].cluster;
    return c->cluster;
}

static void loop_report_ask(struct pl_controller *c, struct pl_slice key,
                            const struct pl_loop *loop)
{
    struct pl_err err;
    struct pl_read read = {.verb = PL_VERB_GET, .keep_managed_fields = true};
    pl_err_clear(&err);
    if (pl_kind_parse(pl_slice_z(loop->kind), &read.kind, &err) != 0 ||
        pl_key_split(pl_slice_z(loop->object), &read.ns, &read.name) != 0)
        return;
    struct asker *asker = PL_NEW(struct asker);
    *asker = (struct asker){.controller = c,
                            .key = pl_text_copy(key),
                            .path = pl_strdup(loop->fields),
                            .kind = pl_strdup(loop->kind),
                            .object = pl_strdup(loop->object),
                            .times = loop->times};
    pl_list_push(&c->askers, &asker->link);
    struct pl_site *site = pl_cluster_site(cluster_of(c, &read.kind));
    (void)pl_read_start(site, &read, on_object, asker); /* it ends by itself */
}

/* ---- a run begins ---- */

/* A requeue does not count: a run that asked for one in 30 s and is woken by an event at once has
 * both causes. A run that only the clock has caused has heard nothing. */
static bool may_be_own(enum pl_cause_type type)
{
    return type == PL_CAUSE_ADDED || type == PL_CAUSE_MODIFIED || type == PL_CAUSE_DELETED ||
           type == PL_CAUSE_REQUEUE;
}

void pl_controller_check_loops(struct pl_run *run)
{
    struct pl_controller *c = run->controller;
    struct pl_loop found;
    bool only_events = run->causes_dropped == 0;
    if (c->loops == NULL)
        return;
    for (size_t i = 0; i < run->cause_count; i++)
        only_events = only_events && may_be_own(run->causes[i].type);
    if (!pl_write_loops_begun(c->loops, run->key, only_events, pl_controller_now(c), &found))
        return;
    if (found.is_fight)
        loop_report_ask(c, run->key, &found);
    else
        tell_loop(c, run->key, &found);
}

void pl_controller_free_loops(struct pl_controller *c)
{
    PL_LIST_FOR (link, &c->askers) {
        PL_CONTAINER_OF(link, struct asker, link)->controller = NULL;
        pl_link_unlink(link);
    }
    pl_write_loops_destroy(c->loops);
}

/* Applies manifests before the host starts (`perilune dev`: manifests/ beside the scripts, then
 * those of -f). All files are read first. CRDs are applied before namespaces and those before the
 * rest, otherwise in the order of the files. A kind that is still unknown right after its CRD is
 * retried for a moment. The first failure ends it, with the name of the file and the number of the
 * document in it. */
#include "cli/apply.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"
#include "object/meta.h"
#include "object/patch.h"
#include "reload/config.h"
#include "value/build.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#define MANIFEST_LIMIT (16u << 20)
#define GIVE_UP_NS     (30 * PL_SECOND)
#define RETRY_NS       (100 * PL_MS)

struct manifest {
    struct pl_doc *doc; /* owned */
    char *source;       /* owned: the file, in it the document and the item of a list */
    int rank;           /* objects that others need come first */
    size_t order;
};

struct apply {
    struct pl_cluster *cluster;
    struct pl_loop *loop;
    struct manifest *items; /* owned */
    size_t count, at;
    struct pl_timer retry;
    int64_t give_up_at;
    bool done;
    int rc;
    struct pl_err *err;
};

/* ---- reading ---- */

static int rank_of(struct pl_node object)
{
    struct pl_scratch scratch;
    struct pl_slice kind = pl_node_str(pl_node_getz(object, "kind"), &scratch);
    return pl_slice_eqz(kind, "CustomResourceDefinition") ? 0
           : pl_slice_eqz(kind, "Namespace")              ? 1
                                                          : 2;
}

/* Leaves out the members that only servers set: `kubectl get -o yaml` writes it, too, and an apply
 * with it is refused. */
static struct pl_doc *without_servers_fields(struct pl_node object)
{
    static const char *const fields[] = {"uid", "resourceVersion", "generation",
                                         "creationTimestamp", "managedFields"};
    struct pl_doc *doc = pl_doc_from_node(object, NULL);
    for (size_t i = 0; i < PL_ARRAY_LEN(fields); i++) {
        const char *const path[] = {"metadata", fields[i]};
        struct pl_node metadata = pl_node_getz(pl_doc_root(doc), "metadata");
        if (pl_node_type(metadata) != PL_OBJECT ||
            pl_node_is_missing(pl_node_getz(metadata, fields[i])))
            continue;
        struct pl_doc *with = doc;
        doc = pl_doc_with(pl_doc_root(with), path, 2, PL_NODE_MISSING);
        pl_doc_unref(with);
    }
    return doc;
}

static void add_manifest(struct apply *apply, const char *source, struct pl_node object)
{
    apply->items = pl_reallocarray(apply->items, apply->count + 1, sizeof(*apply->items));
    apply->items[apply->count] = (struct manifest){
        without_servers_fields(object), pl_strdup(source), rank_of(object), apply->count};
    apply->count++;
}

/* Adds an object, or the items of a list, which `kubectl get -o yaml` writes. */
static int add_all(struct apply *apply, const char *source, struct pl_node object)
{
    struct pl_scratch scratch;
    struct pl_slice kind = pl_node_str(pl_node_getz(object, "kind"), &scratch);
    struct pl_node items = pl_node_getz(object, "items");
    bool ends = pl_text_ends(kind, "List");
    if (!ends || (kind.len > 4 && pl_node_is_missing(items))) {
        add_manifest(apply, source, object);
        return 0;
    }
    if (pl_node_type(items) != PL_ARRAY)
        return pl_err_set(apply->err, PL_EINVAL, "%s: %.*s needs items, an array of objects",
                          source, PL_FMT(kind));
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < pl_node_len(items); i++) {
        char *item = pl_format("%s: items[%zu]", source, i + 1);
        if (pl_node_type(pl_node_at(items, i)) == PL_OBJECT)
            rc = add_all(apply, item, pl_node_at(items, i));
        else
            rc = pl_err_set(apply->err, PL_EINVAL, "%s must be an object", item);
        pl_free(item);
    }
    return rc;
}

static int read_manifest(struct apply *apply, const char *path)
{
    struct pl_buf text = PL_BUF_INIT;
    struct pl_docs docs = {0};
    int rc = pl_read_file(path, MANIFEST_LIMIT, &text, apply->err);
    if (rc == 0 && (rc = pl_yaml_decode(pl_buf_slice(&text), &docs, apply->err)) != 0)
        pl_err_prefix(apply->err, "%s", path);
    for (size_t i = 0; rc == 0 && i < docs.count; i++) {
        char *source =
            docs.count > 1 ? pl_format("%s: document %zu", path, i + 1) : pl_strdup(path);
        rc = add_all(apply, source, pl_doc_root(docs.items[i]));
        pl_free(source);
    }
    pl_docs_deinit(&docs);
    pl_buf_deinit(&text);
    return rc;
}

static int is_manifest(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return dot != NULL && dot != entry->d_name &&
           (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0 || strcmp(dot, ".json") == 0);
}

static int read_path(struct apply *apply, const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return pl_err_set(apply->err, PL_EIO, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(info.st_mode))
        return read_manifest(apply, path);
    struct dirent **entries;
    int found = scandir(path, &entries, is_manifest, alphasort);
    if (found < 0)
        return pl_err_set(apply->err, PL_EIO, "%s: %s", path, strerror(errno));
    int rc = found == 0
                 ? pl_err_set(apply->err, PL_EINVAL, "%s: no .yaml or .json file in it", path)
                 : 0;
    for (int i = 0; i < found; i++) {
        char *file = pl_format("%s/%s", path, entries[i]->d_name);
        if (rc == 0)
            rc = read_manifest(apply, file);
        pl_free(file);
        free(entries[i]);
    }
    free(entries);
    return rc;
}

/* manifests/ beside the script, or in the folder of scripts; NULL: there is none with a manifest.
 */
static char *own_folder(const char *path)
{
    struct stat info;
    struct dirent **entries;
    bool folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    const char *slash = strrchr(path, '/');
    char *parent = folder          ? pl_strdup(path)
                   : slash == NULL ? pl_strdup(".")
                                   : pl_memdup0(path, (size_t)(slash - path));
    char *own = pl_format("%s/manifests", parent);
    pl_free(parent);
    int found = scandir(own, &entries, is_manifest, alphasort);
    for (int i = 0; i < found; i++)
        free(entries[i]);
    if (found >= 0)
        free(entries);
    if (found > 0)
        return own;
    pl_free(own);
    return NULL;
}

static int read_own(struct apply *apply, char *const *scripts)
{
    int rc = 0;
    for (; rc == 0 && scripts != NULL && *scripts != NULL; scripts++) {
        char *own = own_folder(*scripts);
        if (own != NULL)
            rc = read_path(apply, own);
        pl_free(own);
    }
    return rc;
}

static int by_rank(const void *a, const void *b)
{
    const struct manifest *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank - y->rank;
    return x->order < y->order ? -1 : 1;
}

/* ---- applying, one after the other ---- */

static void apply_finish(struct apply *apply, int rc)
{
    apply->rc = rc;
    apply->done = true;
}

static void apply_next(struct apply *apply);

static void on_apply_retry(struct pl_timer *timer)
{
    apply_next(PL_CONTAINER_OF(timer, struct apply, retry));
}

/* A kind may be unknown for a moment after its CRD was applied. */
static bool is_worth_another_try(struct apply *apply, const struct pl_err *err)
{
    return (err->code == PL_ENOTFOUND || err->status == 404) && apply->at > 0 &&
           pl_loop_now(apply->loop) < apply->give_up_at;
}

static void tell_applied(const struct pl_doc *doc)
{
    struct pl_node object = pl_doc_root(doc);
    struct pl_buf key = PL_BUF_INIT;
    struct pl_scratch scratch;
    pl_meta_put_key(object, &key);
    pl_log(PL_LOG_INFO, "applied",
           pl_strn("kind", pl_node_str(pl_node_getz(object, "kind"), &scratch)),
           pl_str("key", pl_buf_z(&key)));
    pl_buf_deinit(&key);
}

static void on_applied(void *arg, const struct pl_written *written)
{
    struct apply *apply = arg;
    struct manifest *item = &apply->items[apply->at];
    if (written->err == NULL) {
        tell_applied(written->object != NULL ? written->object : item->doc);
        apply->at++;
        apply->give_up_at = pl_loop_now(apply->loop) + GIVE_UP_NS;
        apply_next(apply);
    } else if (is_worth_another_try(apply, written->err)) {
        pl_timer_start(pl_loop_timers(apply->loop), &apply->retry, RETRY_NS, on_apply_retry);
    } else {
        *apply->err = *written->err;
        pl_err_prefix(apply->err, "%s", item->source);
        apply_finish(apply, apply->err->code);
    }
}

static void apply_next(struct apply *apply)
{
    if (apply->at == apply->count) {
        apply_finish(apply, 0);
        return;
    }
    struct manifest *item = &apply->items[apply->at];
    struct pl_node object = pl_doc_root(item->doc);
    struct pl_scratch ns, name;
    struct pl_write write = {
        .verb = PL_VERB_PATCH,
        .patch_type = PL_PATCH_APPLY,
        .ns = pl_meta_namespace(object, &ns),
        .name = pl_meta_name(object, &name),
        .body = item->doc,
        .force = true,
        .to_default = true,
        .force_write = true,
        .live = true,
        .field_manager = pl_slice_z("perilune-dev"),
        .grace_period = -1,
    };
    int rc = pl_kind_of(object, &write.kind, apply->err);
    if (rc == 0 && write.name.len == 0)
        rc = pl_err_set(apply->err, PL_EINVAL, "the object has no metadata.name");
    if (rc != 0) {
        pl_err_prefix(apply->err, "%s", item->source);
        apply_finish(apply, rc);
        return;
    }
    write.any_replica = true; /* they are this process's own writes, not those of a leader's runs */
    pl_gate_write(pl_cluster_gate(apply->cluster), &write, on_applied, apply);
}

int pl_apply_paths(char *const *scripts, char *const *paths, struct pl_cluster *cluster,
                   struct pl_loop *loop, struct pl_err *err)
{
    struct apply apply = {.cluster = cluster, .loop = loop, .err = err};
    apply.give_up_at = pl_loop_now(loop) + GIVE_UP_NS;
    int rc = read_own(&apply, scripts);
    for (; rc == 0 && paths != NULL && *paths != NULL; paths++)
        rc = read_path(&apply, *paths);
    if (rc == 0 && apply.count > 0) {
        qsort(apply.items, apply.count, sizeof(*apply.items), by_rank);
        apply_next(&apply);
        while (!apply.done)
            pl_loop_turn(loop, 1000);
        rc = apply.rc;
    }
    for (size_t i = 0; i < apply.count; i++) {
        pl_doc_unref(apply.items[i].doc);
        pl_free(apply.items[i].source);
    }
    pl_free(apply.items);
    return rc;
}

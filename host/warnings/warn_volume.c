/* Warnings about volumes: deprecated kinds, and files of a volume with overlapping paths, where one
 * hides the other. */
#include "warnings/warn_impl.h"

#include "object/tree.h"

#include <string.h>

#define FILES_MAX 500 /* limit of files of one volume that are compared */

static void warn_kind(struct pl_warned *w, const struct pl_spot *at, const struct pl_tree *volume)
{
    static const char *const kinds[][3] = {
        {"photonPersistentDisk", "photonPersistentDisk", "v1.11, non-functional in v1.16+"},
        {"gitRepo", "gitRepo", "v1.11, and disabled by default in v1.33+"},
        {"scaleIO", "scaleIO", "v1.16, non-functional in v1.22+"},
        {"flocker", "flocker", "v1.22, non-functional in v1.25+"},
        {"storageos", "storageOS", "v1.22, non-functional in v1.25+"},
        {"quobyte", "quobyte", "v1.22, non-functional in v1.25+"},
        {"glusterfs", "glusterfs", "v1.25, non-functional in v1.26+"},
        {"cephfs", "cephfs", "v1.28, non-functional in v1.31+"},
        {"rbd", "rbd", "v1.28, non-functional in v1.31+"}};
    for (size_t i = 0; i < PL_ARRAY_LEN(kinds); i++)
        if (pl_tree_getz(volume, kinds[i][0]) != NULL)
            pl_warn_at(w, PL_MEMBER(at, kinds[i][1]), "deprecated in %s", kinds[i][2]);
    const struct pl_tree *claim = pl_tree_dig(volume, "ephemeral.volumeClaimTemplate.spec");
    if (claim != NULL)
        pl_warn_claim_spec(w, PL_MEMBER(at, "ephemeral.volumeClaimTemplate.spec"), claim);
}

/* ---- paths that overlap ---- */

struct file {
    struct pl_slice path, source; /* source: in a projected volume; else empty */
};

struct files {
    struct pl_warned *w;
    struct pl_slice volume, kind; /* "Secret \"x\"" */
    struct file list[FILES_MAX];
    size_t count;
};

static struct pl_slice file_text(struct files *files, const struct file *file)
{
    if (file->source.len == 0)
        return pl_arena_f(files->w->places.arena, "\"%.*s\"", PL_FMT(file->path));
    return pl_arena_f(files->w->places.arena, "\"%.*s\" (%.*s)", PL_FMT(file->path),
                      PL_FMT(file->source));
}

/* True when they are equal, or `inner` is in the folder `outer`. */
static bool is_within(struct pl_slice inner, struct pl_slice outer)
{
    return inner.len >= outer.len && memcmp(inner.ptr, outer.ptr, outer.len) == 0 &&
           (inner.len == outer.len || inner.ptr[outer.len] == '/');
}

static void take_file(struct files *files, struct pl_slice path, struct pl_slice source)
{
    while (path.len > 0 && path.ptr[path.len - 1] == '/')
        path.len--;
    struct file file = {path, source};
    for (size_t i = 0; path.len > 0 && i < files->count; i++) {
        const struct file *other = &files->list[i];
        if (is_within(path, other->path) || is_within(other->path, path))
            pl_warn(files->w, "volume \"%.*s\" (%.*s): overlapping paths: %.*s with %.*s",
                    PL_FMT(files->volume), PL_FMT(files->kind), PL_FMT(file_text(files, &file)),
                    PL_FMT(file_text(files, other)));
    }
    if (path.len > 0 && files->count < FILES_MAX)
        files->list[files->count++] = file;
}

static void take_items(struct files *files, const struct pl_tree *items, struct pl_slice source)
{
    PL_EACH(item, items)
    take_file(files, pl_tree_text_at(item->value, "path"), source);
}

static void begin_files(struct files *files, struct pl_slice kind)
{
    files->kind = kind;
    files->count = 0;
}

static struct pl_slice kind_and_name(struct files *files, const char *kind, struct pl_slice name)
{
    return pl_arena_f(files->w->places.arena, "%s \"%.*s\"", kind, PL_FMT(name));
}

/* Adds the files of a source of a projected volume. */
static void take_source(struct files *files, const struct pl_tree *source)
{
    static const struct {
        char member[20], path[24], what[36];
    } certificates[] = {
        {"podCertificate", "certificateChainPath", "PodCertificate chain"},
        {"podCertificate", "keyPath", "PodCertificate key"},
        {"podCertificate", "credentialBundlePath", "PodCertificate credential bundle"},
        {"serviceAccountToken", "path", "ServiceAccountToken"},
    };
    const struct pl_tree *one;
    if (pl_is_empty(source))
        pl_warn(files->w, "volume \"%.*s\" (Projected) has no sources provided",
                PL_FMT(files->volume));
    if ((one = pl_tree_getz(source, "configMap")) != NULL)
        take_items(files, pl_tree_getz(one, "items"),
                   kind_and_name(files, "ConfigMap", pl_tree_text_at(one, "name")));
    else if ((one = pl_tree_getz(source, "secret")) != NULL)
        take_items(files, pl_tree_getz(one, "items"),
                   kind_and_name(files, "Secret", pl_tree_text_at(one, "name")));
    else if ((one = pl_tree_getz(source, "downwardAPI")) != NULL)
        take_items(files, pl_tree_getz(one, "items"), pl_slice_z("DownwardAPI"));
    else if ((one = pl_tree_getz(source, "clusterTrustBundle")) != NULL)
        take_file(
            files, pl_tree_text_at(one, "path"),
            kind_and_name(
                files, "ClusterTrustBundle",
                pl_tree_text_at(one, pl_tree_getz(one, "name") != NULL ? "name" : "signerName")));
    for (size_t i = 0; i < PL_ARRAY_LEN(certificates); i++) {
        one = pl_tree_getz(source, certificates[i].member);
        if (one != NULL)
            take_file(files, pl_tree_text_at(one, certificates[i].path),
                      pl_slice_z(certificates[i].what));
    }
}

static void warn_overlaps(struct files *files, const struct pl_tree *volume)
{
    struct pl_slice none = pl_slice("", 0);
    files->volume = pl_tree_text_at(volume, "name");
    begin_files(files,
                kind_and_name(files, "ConfigMap", pl_tree_text_at(volume, "configMap.name")));
    take_items(files, pl_tree_dig(volume, "configMap.items"), none);
    begin_files(files,
                kind_and_name(files, "Secret", pl_tree_text_at(volume, "secret.secretName")));
    take_items(files, pl_tree_dig(volume, "secret.items"), none);
    begin_files(files, pl_slice_z("DownwardAPI"));
    take_items(files, pl_tree_dig(volume, "downwardAPI.items"), none);
    begin_files(files, pl_slice_z("Projected"));
    PL_EACH(item, pl_tree_dig(volume, "projected.sources"))
    take_source(files, item->value);
}

void pl_warn_volumes(struct pl_warned *w, const struct pl_spot *at, const struct pl_tree *list)
{
    size_t i = 0;
    if (pl_is_empty(list))
        return;
    PL_EACH(item, list)
    warn_kind(w, PL_INDEX(at, i++), item->value);
    struct files *files = pl_arena_alloc(w->places.arena, sizeof *files);
    files->w = w;
    PL_EACH(item, list)
    warn_overlaps(files, item->value);
}

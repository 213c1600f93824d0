/* Every file of a generation, with its text, its stamp and its readers. A file is read once, so
 * that all lanes of a generation see one state of the disk. Changes are found by size, times and
 * inode first, then by the kept text. */
#include "lua/origin.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/map.h"
#include "base/text.h"
#include "lua/script.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>

#define PARTS_LIMIT 10000              /* limit of files of one generation */
#define TEXT_LIMIT  ((size_t)64 << 20) /* limit of kept texts in bytes */
#define SETTLED_NS  (2 * PL_SECOND)    /* the coarsest clock of a file system */

enum part_kind { PART_FILE, PART_MISSING, PART_UNREADABLE, PART_FOLDER };

struct part {
    enum part_kind kind;
    bool common;
    bool late;                  /* it was read at run time */
    bool settled;               /* an equal stamp means an equal text */
    struct pl_file_stamp stamp; /* of the file when it had this text; inode 0: unknown */
    bool has_digest;            /* of a text that is kept: it was asked for */
    uint8_t digest[PL_SHA256_BYTES];
    char *text; /* owned; of a folder its scripts, each ended by NUL; NULL: too large to keep. Lasts
                   as long as the origin */
    size_t len;
    char **uses; /* owned: paths that this script read */
    size_t use_count;
};

struct pl_origin {
    atomic_int refs;
    pthread_mutex_t lock; /* a leaf; protects all fields below */
    struct pl_map parts;  /* path -> struct part, owned */
    struct pl_map units;  /* unit -> struct part whose `uses` are its scripts, owned */
    size_t text_bytes;
    bool loaded; /* later reads are late */
};

struct pl_origin *pl_origin_create(void)
{
    struct pl_origin *origin = PL_NEW(struct pl_origin);
    atomic_init(&origin->refs, 1);
    pthread_mutex_init(&origin->lock, NULL);
    return origin;
}

struct pl_origin *pl_origin_ref(struct pl_origin *origin)
{
    atomic_fetch_add(&origin->refs, 1);
    return origin;
}

static void free_part(struct part *part)
{
    for (size_t i = 0; i < part->use_count; i++)
        pl_free(part->uses[i]);
    pl_free(part->uses);
    pl_free(part->text);
    pl_free(part);
}

static void free_parts(struct pl_map *parts)
{
    size_t at = 0;
    struct pl_slice key;
    void *value;
    while (pl_map_next(parts, &at, &key, &value))
        free_part(value);
    pl_map_deinit(parts);
}

void pl_origin_unref(struct pl_origin *origin)
{
    if (origin == NULL || atomic_fetch_sub(&origin->refs, 1) != 1)
        return;
    free_parts(&origin->parts);
    free_parts(&origin->units);
    pthread_mutex_destroy(&origin->lock);
    pl_free(origin);
}

/* ---- parts, under the lock ---- */

static struct part *part_of_locked(const struct pl_origin *origin, const char *path)
{
    return pl_map_get(&origin->parts, pl_slice_z(path));
}

static void add_use(struct part *part, const char *path)
{
    for (size_t i = 0; i < part->use_count; i++)
        if (strcmp(part->uses[i], path) == 0)
            return;
    part->uses = pl_reallocarray(part->uses, part->use_count + 1, sizeof *part->uses);
    part->uses[part->use_count++] = pl_strdup(path);
}

static void note_use_locked(struct pl_origin *origin, const char *reader, const char *path)
{
    struct part *part = reader != NULL ? part_of_locked(origin, reader) : NULL;
    if (part != NULL && strcmp(reader, path) != 0 && part_of_locked(origin, path) != NULL)
        add_use(part, path); /* beyond the limit it is neither a part nor a use */
}

static void set_digest(struct part *part, struct pl_slice text)
{
    pl_sha256(text, part->digest);
    part->has_digest = true;
}

/* The first call for a part decides its kind; NULL when there are too many. */
static struct part *add_part_locked(struct pl_origin *origin, const char *path, enum part_kind kind,
                                    struct pl_slice text)
{
    struct part *part = part_of_locked(origin, path);
    if (part != NULL || origin->parts.count >= PARTS_LIMIT)
        return part;
    part = PL_NEW(struct part);
    part->kind = kind;
    part->late = origin->loaded;
    bool has_text = kind == PART_FILE || kind == PART_FOLDER;
    if (has_text && origin->text_bytes + text.len <= TEXT_LIMIT) {
        part->text = pl_text_copy(text);
        part->len = text.len;
        origin->text_bytes += text.len;
    } else if (has_text) {
        set_digest(part, text);
    }
    pl_map_put(&origin->parts, pl_slice_z(path), part);
    return part;
}

/* ---- while scripts load and run ---- */

static bool recall(struct pl_origin *origin, const char *reader, const char *path,
                   struct pl_buf *out)
{
    pthread_mutex_lock(&origin->lock);
    const struct part *part = part_of_locked(origin, path);
    bool known = part != NULL && part->kind == PART_FILE && part->text != NULL;
    if (known) {
        pl_buf_add(out, part->text, part->len);
        note_use_locked(origin, reader, path);
    }
    pthread_mutex_unlock(&origin->lock);
    return known;
}

/* Another write within the same tick of the file system's clock would not change the stamp. So a
 * stamp is conclusive only if it was old when the file was read. */
static bool origin_is_settled(const struct pl_file_stamp *stamp, int64_t read_ns)
{
    int64_t newest = stamp->mtime_ns > stamp->ctime_ns ? stamp->mtime_ns : stamp->ctime_ns;
    return stamp->inode != 0 && newest + SETTLED_NS < read_ns;
}

static void set_stamp_locked(struct part *part, const struct pl_file_stamp *stamp, int64_t read_ns)
{
    part->stamp = *stamp;
    part->settled = origin_is_settled(stamp, read_ns);
}

/* stamp: NULL unless it is a file's, opened at read_ns (wall clock). True when the part is new. */
static bool origin_remember(struct pl_origin *origin, const char *reader, const char *path,
                            enum part_kind kind, struct pl_slice text,
                            const struct pl_file_stamp *stamp, int64_t read_ns)
{
    pthread_mutex_lock(&origin->lock);
    size_t known = origin->parts.count;
    struct part *part = add_part_locked(origin, path, kind, text);
    note_use_locked(origin, reader, path);
    bool is_new = origin->parts.count > known;
    if (is_new && kind == PART_FILE && stamp != NULL)
        set_stamp_locked(part, stamp, read_ns);
    pthread_mutex_unlock(&origin->lock);
    return is_new;
}

int pl_origin_read(struct pl_origin *origin, const char *reader, const char *path,
                   struct pl_buf *out, bool *is_new, struct pl_err *err)
{
    if (is_new != NULL)
        *is_new = false;
    if (recall(origin, reader, path, out))
        return 0;
    size_t before = out->len;
    struct pl_file_stamp stamp = {0};
    int64_t read_ns = pl_clock_wall(pl_clock_system());
    int failed = pl_script_read_stamped(path, out, &stamp, err);
    enum part_kind kind = failed == 0              ? PART_FILE
                          : failed == PL_ENOTFOUND ? PART_MISSING
                                                   : PART_UNREADABLE;
    struct pl_slice text = pl_slice(out->ptr + before, failed == 0 ? out->len - before : 0);
    bool added = origin_remember(origin, reader, path, kind, text, &stamp, read_ns);
    if (is_new != NULL)
        *is_new = added;
    return failed;
}

bool pl_origin_is_file(struct pl_origin *origin, const char *reader, const char *path)
{
    pthread_mutex_lock(&origin->lock);
    const struct part *part = part_of_locked(origin, path);
    bool known = part != NULL, is_file = known && part->kind == PART_FILE;
    if (known)
        note_use_locked(origin, reader, path);
    pthread_mutex_unlock(&origin->lock);
    if (known)
        return is_file;
    struct stat info;
    if (stat(path, &info) == 0 && S_ISREG(info.st_mode))
        return true;
    origin_remember(origin, reader, path, PART_MISSING, pl_slice("", 0), NULL, 0);
    return false;
}

static void join_names(char *const *files, struct pl_buf *out)
{
    for (; *files != NULL; files++)
        pl_buf_add(out, *files, strlen(*files) + 1);
}

static char **split_names(struct pl_slice names)
{
    char **files = PL_NEW(char *);
    size_t count = 0;
    for (size_t at = 0; at < names.len; at += strlen(names.ptr + at) + 1) {
        files = pl_reallocarray(files, count + 2, sizeof *files);
        files[count++] = pl_strdup(names.ptr + at);
        files[count] = NULL;
    }
    return files;
}

char **pl_origin_find(struct pl_origin *origin, const char *path, struct pl_err *err)
{
    char **files = NULL;
    char *name = pl_format("%s/", path); /* distinct from a file of that name */
    pthread_mutex_lock(&origin->lock);
    const struct part *part = part_of_locked(origin, name);
    if (part != NULL && part->len > 0)
        files = split_names(pl_slice(part->text, part->len));
    pthread_mutex_unlock(&origin->lock);
    if (files == NULL) { /* finding none is remembered too */
        struct pl_buf names = PL_BUF_INIT;
        files = pl_script_find(path, err);
        if (files != NULL)
            join_names(files, &names);
        origin_remember(origin, NULL, name, PART_FOLDER, pl_buf_slice(&names), NULL, 0);
        pl_buf_deinit(&names);
    }
    pl_free(name);
    return files;
}

void pl_origin_add_common(struct pl_origin *origin, const char *path, struct pl_slice text)
{
    pthread_mutex_lock(&origin->lock);
    struct part *part = add_part_locked(origin, path, PART_FILE, text);
    if (part != NULL)
        part->common = true;
    pthread_mutex_unlock(&origin->lock);
}

void pl_origin_add_missing(struct pl_origin *origin, const char *path)
{
    origin_remember(origin, NULL, path, PART_MISSING, pl_slice("", 0), NULL, 0);
}

void pl_origin_add_scripts(struct pl_origin *origin, const char *path, char *const *files)
{
    struct pl_buf names = PL_BUF_INIT;
    char *name = pl_format("%s/", path);
    join_names(files, &names);
    origin_remember(origin, NULL, name, PART_FOLDER, pl_buf_slice(&names), NULL, 0);
    pl_free(name);
    pl_buf_deinit(&names);
}

void pl_origin_add_unit(struct pl_origin *origin, const char *unit, const char *path)
{
    pthread_mutex_lock(&origin->lock);
    struct part *part = pl_map_get(&origin->units, pl_slice_z(unit));
    if (part == NULL && origin->units.count < PARTS_LIMIT) {
        part = PL_NEW(struct part);
        pl_map_put(&origin->units, pl_slice_z(unit), part);
    }
    if (part != NULL)
        add_use(part, path);
    pthread_mutex_unlock(&origin->lock);
}

void pl_origin_seal(struct pl_origin *origin)
{
    pthread_mutex_lock(&origin->lock);
    origin->loaded = true;
    pthread_mutex_unlock(&origin->lock);
}

/* ---- the disk ---- */

static bool is_text(struct pl_slice text, const struct part *part)
{
    uint8_t digest[PL_SHA256_BYTES];
    if (part->text != NULL)
        return text.len == part->len && memcmp(part->text, text.ptr ? text.ptr : "", text.len) == 0;
    pl_sha256(text, digest);
    return memcmp(digest, part->digest, sizeof digest) == 0;
}

static void restamp(struct pl_origin *origin, const char *path, const struct pl_file_stamp *stamp,
                    int64_t read_ns)
{
    pthread_mutex_lock(&origin->lock);
    struct part *part = part_of_locked(origin, path);
    if (part != NULL)
        set_stamp_locked(part, stamp, read_ns);
    pthread_mutex_unlock(&origin->lock);
}

static bool is_same_stamp(const struct pl_file_stamp *a, const struct pl_file_stamp *b)
{
    return pl_file_stamp_eq(a, b) && a->ctime_ns == b->ctime_ns;
}

/* Checks the folder entry first, and the text only if that is not conclusive. */
static bool file_is(struct pl_origin *origin, const char *path, const struct part *part)
{
    struct pl_file_stamp stamp = pl_file_stamp(path);
    if (part->settled && is_same_stamp(&stamp, &part->stamp))
        return true;
    if (part->stamp.inode != 0 && stamp.size != part->stamp.size)
        return false;
    struct pl_buf text = PL_BUF_INIT;
    int64_t read_ns = pl_clock_wall(pl_clock_system());
    bool same = pl_script_read_stamped(path, &text, &stamp, NULL) == 0 &&
                is_text(pl_buf_slice(&text), part);
    if (same)
        restamp(origin, path, &stamp, read_ns);
    pl_buf_deinit(&text);
    return same;
}

static bool folder_is(const char *path, const struct part *part)
{
    char *folder = pl_memdup0(path, strlen(path) - 1);
    char **files = pl_script_find(folder, NULL);
    struct pl_buf names = PL_BUF_INIT;
    if (files != NULL)
        join_names(files, &names);
    bool same = is_text(pl_buf_slice(&names), part);
    pl_buf_deinit(&names);
    pl_texts_free(files);
    pl_free(folder);
    return same;
}

static bool is_readable(const char *path)
{
    struct pl_buf text = PL_BUF_INIT;
    bool readable = pl_script_read(path, &text, NULL) == 0;
    pl_buf_deinit(&text);
    return readable;
}

static bool is_as_read(struct pl_origin *origin, const char *path, const struct part *part)
{
    struct stat info;
    switch (part->kind) {
    case PART_FILE:
        return file_is(origin, path, part);
    case PART_FOLDER:
        return folder_is(path, part);
    case PART_MISSING:
        return stat(path, &info) != 0 || !S_ISREG(info.st_mode);
    case PART_UNREADABLE:
        return !is_readable(path);
    }
    return false;
}

/* A copy of each part, so that the disk is read without the lock. */
struct copy {
    char *path;       /* owned */
    struct part part; /* without its uses; the origin owns its text */
};

static struct copy *copy_parts(struct pl_origin *origin, size_t *count)
{
    size_t at = 0;
    struct pl_slice key;
    void *value;
    *count = 0;
    pthread_mutex_lock(&origin->lock);
    struct copy *copies = pl_calloc(origin->parts.count + 1, sizeof *copies);
    while (pl_map_next(&origin->parts, &at, &key, &value)) {
        struct copy *copy = &copies[(*count)++];
        copy->path = pl_text_copy(key);
        copy->part = *(const struct part *)value;
        copy->part.uses = NULL;
    }
    pthread_mutex_unlock(&origin->lock);
    return copies;
}

static void free_copies(struct copy *copies, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pl_free(copies[i].path);
    pl_free(copies);
}

bool pl_origin_is_current(struct pl_origin *origin, char **path)
{
    size_t count;
    struct copy *copies = copy_parts(origin, &count);
    bool same = true;
    for (size_t i = 0; i < count && same; i++) {
        same = is_as_read(origin, copies[i].path, &copies[i].part);
        if (!same && path != NULL)
            *path = pl_strdup(copies[i].path);
    }
    free_copies(copies, count);
    return same;
}

/* Appends "reader\0path\0" for each file that a script read at run time. */
static void add_late(struct pl_origin *origin, struct pl_buf *out)
{
    size_t at = 0;
    struct pl_slice reader;
    void *value;
    pthread_mutex_lock(&origin->lock);
    while (pl_map_next(&origin->parts, &at, &reader, &value)) {
        const struct part *script = value;
        for (size_t i = 0; i < script->use_count; i++) {
            const struct part *used = part_of_locked(origin, script->uses[i]);
            if (used == NULL || !used->late)
                continue;
            pl_buf_add(out, reader.ptr, reader.len + 1);
            pl_buf_add(out, script->uses[i], strlen(script->uses[i]) + 1);
        }
    }
    pthread_mutex_unlock(&origin->lock);
}

static bool has_part(struct pl_origin *origin, const char *path)
{
    pthread_mutex_lock(&origin->lock);
    bool known = part_of_locked(origin, path) != NULL;
    pthread_mutex_unlock(&origin->lock);
    return known;
}

void pl_origin_carry_over(struct pl_origin *now, struct pl_origin *before)
{
    struct pl_buf late = PL_BUF_INIT;
    add_late(before, &late);
    for (size_t at = 0; at < late.len;) {
        const char *reader = late.ptr + at, *path = reader + strlen(reader) + 1;
        struct pl_buf text = PL_BUF_INIT;
        at = (size_t)(path + strlen(path) + 1 - late.ptr);
        if (has_part(now, reader))
            PL_IGNORE(
                pl_origin_read(now, reader, path, &text, NULL, NULL)); /* gone: it has changed */
        pl_buf_deinit(&text);
    }
    pl_buf_deinit(&late);
}

/* ---- comparing ---- */

/* Adds everything that a script reads, itself included. */
static void reach_locked(const struct pl_origin *origin, const char *path, struct pl_map *seen)
{
    if (pl_map_has(seen, pl_slice_z(path)))
        return;
    pl_map_put(seen, pl_slice_z(path), seen);
    const struct part *part = part_of_locked(origin, path);
    for (size_t i = 0; part != NULL && i < part->use_count; i++)
        reach_locked(origin, part->uses[i], seen);
}

/* The names of the map, sorted; the map owns them. */
static char **sorted_names(const struct pl_map *map)
{
    char **names = pl_calloc(map->count + 1, sizeof *names);
    size_t at = 0, count = 0;
    struct pl_slice key;
    void *value;
    while (pl_map_next(map, &at, &key, &value))
        names[count++] = (char *)key.ptr;
    qsort(names, count, sizeof *names, pl_text_order);
    return names;
}

static void digest_locked(const struct pl_origin *origin, const struct pl_map *paths,
                          char out[2 * PL_SHA256_BYTES + 1])
{
    struct pl_buf all = PL_BUF_INIT;
    char **names = sorted_names(paths);
    for (char **name = names; *name != NULL; name++) {
        struct part *part = part_of_locked(origin, *name);
        if (part == NULL)
            continue;
        if (part->text != NULL && !part->has_digest)
            set_digest(part, pl_slice(part->text, part->len));
        pl_buf_add(&all, *name, strlen(*name) + 1);
        pl_buf_add_char(&all, (char)('0' + part->kind));
        pl_buf_add(&all, part->digest, sizeof part->digest);
    }
    pl_free(names);
    pl_sha256_hex(pl_buf_slice(&all), out);
    pl_buf_deinit(&all);
}

void pl_origin_unit_digest(struct pl_origin *origin, const char *unit,
                           char out[2 * PL_SHA256_BYTES + 1])
{
    struct pl_map seen = PL_MAP_INIT;
    size_t at = 0;
    struct pl_slice key;
    void *value;
    out[0] = '\0';
    pthread_mutex_lock(&origin->lock);
    const struct part *part = pl_map_get(&origin->units, pl_slice_z(unit));
    for (size_t i = 0; part != NULL && i < part->use_count; i++)
        reach_locked(origin, part->uses[i], &seen);
    while (pl_map_next(&origin->parts, &at, &key, &value))
        if (((const struct part *)value)->common)
            pl_map_put(&seen, key, &seen);
    if (part != NULL)
        digest_locked(origin, &seen, out);
    pthread_mutex_unlock(&origin->lock);
    pl_map_deinit(&seen);
}

bool pl_origin_unit_changed(struct pl_origin *before, struct pl_origin *now, const char *unit)
{
    char a[2 * PL_SHA256_BYTES + 1], b[2 * PL_SHA256_BYTES + 1];
    pl_origin_unit_digest(before, unit, a);
    pl_origin_unit_digest(now, unit, b);
    return a[0] == '\0' || strcmp(a, b) != 0;
}

void pl_origin_digest(struct pl_origin *origin, char out[2 * PL_SHA256_BYTES + 1])
{
    pthread_mutex_lock(&origin->lock);
    digest_locked(origin, &origin->parts, out);
    pthread_mutex_unlock(&origin->lock);
}

void pl_origin_each(struct pl_origin *origin,
                    void (*visit)(void *arg, const char *path, bool is_folder), void *arg)
{
    size_t count;
    struct copy *copies = copy_parts(origin, &count);
    for (size_t i = 0; i < count; i++) {
        bool is_folder = copies[i].part.kind == PART_FOLDER;
        if (is_folder)
            copies[i].path[strlen(copies[i].path) - 1] = '\0';
        visit(arg, copies[i].path, is_folder);
    }
    free_copies(copies, count);
}

/* The data folder. Each change is one transaction of the write-ahead log: the object's row and one
 * row of the history. It is committed before the answer goes out, so a process that is killed at
 * any moment has lost nothing that it answered. The log is not synchronised with the disk at each
 * commit: a power failure may lose the last changes, but it never leaves half of a change.
 *
 * The database is locked while it is open, so that two servers never share a folder. After a failed
 * write nothing is written any more: the caller refuses writes and says why. The history is cut
 * from time to time, so that the folder does not grow without limit. */
#include "apistore/disk.h"

#include "apistore/sqlite.h"
#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT       1     /* version of the tables */
#define EVENTS_MAX   20000 /* kept, so that watches can resume */
#define EVENTS_SLACK 1000  /* events beyond that until the next cut */

enum statement { BEGIN, PUT, REMOVE, RECORD, COMMIT, CUT, VERSION, STATEMENTS };

static const char *const texts[STATEMENTS] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [PUT] =
        "INSERT OR REPLACE INTO objects (grp, plural, name, rv, doc) VALUES (?1, ?2, ?3, ?4, ?5)",
    [REMOVE] = "DELETE FROM objects WHERE grp = ?1 AND plural = ?2 AND name = ?3",
    [RECORD] = "INSERT INTO events (grp, plural, name, rv, doc, old, change) "
               "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    [COMMIT] = "COMMIT",
    [CUT] = "DELETE FROM events WHERE rv <= ?4",
    [VERSION] = "INSERT OR REPLACE INTO facts (name, value) VALUES ('version', ?4)",
};

struct pl_api_disk {
    struct pl_sqlite api;
    sqlite3 *db;
    sqlite3_stmt *statements[STATEMENTS];
    char *path;    /* owned */
    char *failure; /* owned; NULL: none */
    uint64_t version;
    unsigned since_cut;
};

/* ---- opening ---- */

static int disk_fail(struct pl_api_disk *disk, struct pl_err *err)
{
    const char *why = disk->db != NULL ? disk->api.errmsg(disk->db) : "out of memory";
    if (strstr(why, "locked") != NULL)
        why = "another server has it open";
    return pl_err_set(err, PL_EIO, "%s: %s", disk->path, why);
}

static int disk_run(struct pl_api_disk *disk, const char *sql, struct pl_err *err)
{
    return disk->api.exec(disk->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : disk_fail(disk, err);
}

/* The first column of the first row; 0 if there is none. */
static int64_t disk_number(struct pl_api_disk *disk, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int64_t value = 0;
    if (disk->api.prepare_v2(disk->db, sql, -1, &statement, NULL) == SQLITE_OK &&
        disk->api.step(statement) == SQLITE_ROW)
        value = disk->api.column_int64(statement, 0);
    disk->api.finalize(statement);
    return value;
}

/* SQLite gives its other files the modes of the database. */
static int make_file(const char *folder, const char *path, struct pl_err *err)
{
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        return pl_err_set(err, PL_EIO, "%s: %s", folder, strerror(errno));
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return pl_err_set(err, PL_EIO, "%s: %s", path, strerror(errno));
    close(fd);
    return 0;
}

static int make_tables(struct pl_api_disk *disk, struct pl_err *err)
{
    static const char tables[] =
        "BEGIN IMMEDIATE;"
        "CREATE TABLE IF NOT EXISTS objects (grp TEXT NOT NULL, plural TEXT NOT NULL,"
        " name TEXT NOT NULL, rv INTEGER NOT NULL, doc TEXT NOT NULL,"
        " PRIMARY KEY (grp, plural, name));"
        "CREATE TABLE IF NOT EXISTS events (rv INTEGER PRIMARY KEY, change INTEGER NOT NULL,"
        " grp TEXT NOT NULL, plural TEXT NOT NULL, name TEXT NOT NULL, doc TEXT NOT NULL, old "
        "TEXT);"
        "CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value BLOB NOT NULL);"
        "PRAGMA user_version = 1;"
        "COMMIT;";
    int64_t format = disk_number(disk, "PRAGMA user_version");
    if (format > FORMAT)
        return pl_err_set(err, PL_EINVAL,
                          "%s: it was written by a newer version (format %" PRId64 ", here %d)",
                          disk->path, format, FORMAT);
    return disk_run(disk, tables, err);
}

static int prepare_all(struct pl_api_disk *disk, struct pl_err *err)
{
    for (int i = 0; i < STATEMENTS; i++)
        if (disk->api.prepare_v2(disk->db, texts[i], -1, &disk->statements[i], NULL) != SQLITE_OK)
            return disk_fail(disk, err);
    return 0;
}

static uint64_t newest(struct pl_api_disk *disk)
{
    static const char sources[][48] = {"SELECT max(rv) FROM objects", "SELECT max(rv) FROM events",
                                       "SELECT value FROM facts WHERE name = 'version'"};
    int64_t version = 0;
    for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++) {
        int64_t one = disk_number(disk, sources[i]);
        version = one > version ? one : version;
    }
    return (uint64_t)version;
}

static int open_database(struct pl_api_disk *disk, const char *folder, struct pl_err *err)
{
    int rc = pl_sqlite_load(&disk->api, err);
    if (rc == 0)
        rc = make_file(folder, disk->path, err);
    if (rc != 0)
        return rc;
    if (disk->api.open_v2(disk->path, &disk->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                          NULL) != SQLITE_OK)
        return disk_fail(disk, err);
    rc = disk_run(disk,
                  "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL;"
                  "PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 67108864;",
                  err);
    if (rc == 0)
        rc = make_tables(disk, err);
    if (rc == 0)
        rc = prepare_all(disk, err);
    if (rc == 0)
        disk->version = newest(disk);
    return rc;
}

struct pl_api_disk *pl_api_disk_open(const char *folder, struct pl_err *err)
{
    struct pl_api_disk *disk = PL_NEW(struct pl_api_disk);
    disk->path = pl_format("%s/perilune.db", folder);
    if (open_database(disk, folder, err) == 0)
        return disk;
    pl_api_disk_close(disk);
    return NULL;
}

void pl_api_disk_close(struct pl_api_disk *disk)
{
    if (disk == NULL)
        return;
    for (int i = 0; i < STATEMENTS; i++)
        if (disk->statements[i] != NULL)
            disk->api.finalize(disk->statements[i]);
    if (disk->db != NULL)
        disk->api.close_v2(disk->db);
    pl_sqlite_unload(&disk->api);
    pl_free(disk->path);
    pl_free(disk->failure);
    pl_free(disk);
}

/* ---- reading ---- */

static struct pl_slice disk_text_of(struct pl_api_disk *disk, sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)disk->api.column_text(statement, column);
    return pl_slice(text, text != NULL ? (size_t)disk->api.column_bytes(statement, column) : 0);
}

static int disk_each(struct pl_api_disk *disk, const char *sql, const char *parameter,
                     int (*on_row)(void *arg, const struct pl_api_disk_row *row,
                                   struct pl_err *err),
                     void *arg, struct pl_err *err)
{
    sqlite3_stmt *statement = NULL;
    if (disk->api.prepare_v2(disk->db, sql, -1, &statement, NULL) != SQLITE_OK)
        return disk_fail(disk, err);
    if (parameter != NULL)
        disk->api.bind_text(statement, 1, parameter, -1, SQLITE_STATIC);
    int step, rc = 0;
    while (rc == 0 && (step = disk->api.step(statement)) != SQLITE_DONE) {
        if (step != SQLITE_ROW) {
            rc = disk_fail(disk, err);
            break;
        }
        struct pl_api_disk_row row = {
            .group = disk_text_of(disk, statement, 0),
            .plural = disk_text_of(disk, statement, 1),
            .key = disk_text_of(disk, statement, 2),
            .rv = (uint64_t)disk->api.column_int64(statement, 3),
            .text = disk_text_of(disk, statement, 4),
            .old = disk_text_of(disk, statement, 5),
            .change = disk->api.column_int(statement, 6),
        };
        rc = on_row(arg, &row, err);
    }
    disk->api.finalize(statement);
    return rc;
}

int pl_api_disk_read(struct pl_api_disk *disk, const char *first,
                     const struct pl_api_disk_reader *reader, void *arg, struct pl_err *err)
{
    int rc =
        disk_each(disk, "SELECT grp, plural, name, rv, doc, NULL, 0 FROM objects WHERE plural = ?1",
                  first, reader->on_object, arg, err);
    if (rc == 0)
        rc = disk_each(disk,
                       "SELECT grp, plural, name, rv, doc, NULL, 0 FROM objects WHERE plural != ?1",
                       first, reader->on_object, arg, err);
    if (rc == 0)
        rc = disk_each(disk,
                       "SELECT grp, plural, name, rv, doc, old, change FROM events ORDER BY rv",
                       NULL, reader->on_event, arg, err);
    return rc;
}

uint64_t pl_api_disk_version(const struct pl_api_disk *disk)
{
    return disk->version;
}

/* ---- writing ---- */

const char *pl_api_disk_failure(const struct pl_api_disk *disk)
{
    return disk->failure;
}

static void keep_failure(struct pl_api_disk *disk)
{
    disk->failure = pl_format("%s: %s", disk->path, disk->api.errmsg(disk->db));
    disk->api.exec(disk->db, "ROLLBACK", NULL, NULL, NULL);
}

static void disk_bind(struct pl_api_disk *disk, sqlite3_stmt *statement, int at,
                      struct pl_slice text)
{
    if (text.ptr != NULL)
        disk->api.bind_text(statement, at, text.ptr, (int)text.len, SQLITE_STATIC);
}

static bool execute(struct pl_api_disk *disk, enum statement which,
                    const struct pl_api_disk_row *row)
{
    sqlite3_stmt *statement = disk->statements[which];
    if (row != NULL) {
        disk_bind(disk, statement, 1, row->group);
        disk_bind(disk, statement, 2, row->plural);
        disk_bind(disk, statement, 3, row->key);
        disk->api.bind_int64(statement, 4, (int64_t)row->rv);
        disk_bind(disk, statement, 5, row->text);
        if (which == RECORD) {
            disk->api.bind_text(statement, 6, row->old.ptr, (int)row->old.len, SQLITE_STATIC);
            disk->api.bind_int64(statement, 7, row->change);
        }
    }
    bool done = disk->api.step(statement) == SQLITE_DONE;
    disk->api.reset(statement);
    return done;
}

static bool disk_cut(struct pl_api_disk *disk, uint64_t version)
{
    if (++disk->since_cut < EVENTS_SLACK || version <= EVENTS_MAX)
        return true;
    disk->since_cut = 0;
    return execute(disk, CUT, &(struct pl_api_disk_row){.rv = version - EVENTS_MAX});
}

void pl_api_disk_write(struct pl_api_disk *disk, const struct pl_api_disk_row *row,
                       bool is_deletion)
{
    if (disk->failure != NULL)
        return;
    if (execute(disk, BEGIN, NULL) && execute(disk, is_deletion ? REMOVE : PUT, row) &&
        execute(disk, RECORD, row) && disk_cut(disk, row->rv) && execute(disk, COMMIT, NULL))
        disk->version = row->rv;
    else
        keep_failure(disk);
}

void pl_api_disk_forget_events(struct pl_api_disk *disk, struct pl_slice group,
                               struct pl_slice plural)
{
    sqlite3_stmt *statement = NULL;
    static const char sql[] = "DELETE FROM events WHERE grp = ?1 AND plural = ?2";
    if (disk->failure != NULL)
        return;
    bool done = disk->api.prepare_v2(disk->db, sql, -1, &statement, NULL) == SQLITE_OK;
    if (done) {
        disk_bind(disk, statement, 1, group);
        disk_bind(disk, statement, 2, plural);
        done = disk->api.step(statement) == SQLITE_DONE;
    }
    if (!done)
        keep_failure(disk);
    disk->api.finalize(statement);
}

void pl_api_disk_compact(struct pl_api_disk *disk, uint64_t version)
{
    struct pl_api_disk_row row = {.rv = version};
    if (disk->failure != NULL)
        return;
    if (!execute(disk, BEGIN, NULL) || !execute(disk, VERSION, &row) || !execute(disk, CUT, &row) ||
        !execute(disk, COMMIT, NULL))
        keep_failure(disk);
}

/* ---- facts ---- */

bool pl_api_disk_get(struct pl_api_disk *disk, const char *name, void *out, size_t size)
{
    sqlite3_stmt *statement = NULL;
    bool found = false;
    if (disk->api.prepare_v2(disk->db, "SELECT value FROM facts WHERE name = ?1", -1, &statement,
                             NULL) == SQLITE_OK) {
        disk->api.bind_text(statement, 1, name, -1, SQLITE_STATIC);
        found = disk->api.step(statement) == SQLITE_ROW &&
                (size_t)disk->api.column_bytes(statement, 0) == size;
        if (found)
            memcpy(out, disk->api.column_blob(statement, 0), size);
    }
    disk->api.finalize(statement);
    return found;
}

void pl_api_disk_put(struct pl_api_disk *disk, const char *name, const void *value, size_t size)
{
    sqlite3_stmt *statement = NULL;
    static const char sql[] = "INSERT OR REPLACE INTO facts (name, value) VALUES (?1, ?2)";
    if (disk->failure != NULL)
        return;
    bool done = disk->api.prepare_v2(disk->db, sql, -1, &statement, NULL) == SQLITE_OK;
    if (done) {
        disk->api.bind_text(statement, 1, name, -1, SQLITE_STATIC);
        disk->api.bind_blob(statement, 2, value, (int)size, SQLITE_STATIC);
        done = disk->api.step(statement) == SQLITE_DONE;
    }
    if (!done)
        keep_failure(disk);
    disk->api.finalize(statement);
}

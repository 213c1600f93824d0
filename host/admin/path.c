/* Paths of admin sockets. A folder that others can write to could contain another user's socket, so
 * a folder is used only if it is ours and no one else can write to it. Hosts are found by the pids
 * in the names of sockets; sockets of ended processes are skipped, and removed by the next host. */
#include "admin/path.h"

#include "base/buf.h"
#include "net/line_server.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NEW_SECONDS 60

static int choose_folder(char out[PL_ADMIN_PATH], struct pl_err *err)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR"), *tmp = getenv("TMPDIR");
    int len = runtime != NULL && runtime[0] == '/'
                  ? snprintf(out, PL_ADMIN_PATH, "%s/perilune", runtime)
                  : snprintf(out, PL_ADMIN_PATH, "%s/perilune-%u",
                             tmp != NULL && tmp[0] == '/' ? tmp : "/tmp", (unsigned)getuid());
    if (len + (int)sizeof("/4194304.sock") > PL_ADMIN_PATH)
        return pl_err_set(err, PL_ELIMIT, "%s: too long for a socket's address", out);
    return 0;
}

/* A folder that others may write to could hold a socket that is not ours. */
static int check_folder(const char *path, struct pl_err *err)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return pl_err_set(err, PL_ENOTFOUND, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode) || st.st_uid != getuid() || (st.st_mode & 022) != 0)
        return pl_err_set(err, PL_EREFUSED,
                          "%s must be a folder of yours that nobody else can write to", path);
    return 0;
}

/* The pid in "123.sock"; 0: another name. */
static pid_t pid_in(const char *name)
{
    char *end;
    long pid = strtol(name, &end, 10);
    return end != name && strcmp(end, ".sock") == 0 && pid > 0 ? (pid_t)pid : 0;
}

static bool path_in(const char *folder, const char *name, char out[PL_ADMIN_PATH])
{
    int len = snprintf(out, PL_ADMIN_PATH, "%s/%s", folder, name);
    return len < PL_ADMIN_PATH;
}

/* 0: no host, or a socket that one has left behind. Its pid would be useless: it may belong to
 * another process by now, or to another container. */
static pid_t host_at(const char *folder, const char *name)
{
    char path[PL_ADMIN_PATH];
    pid_t pid = pid_in(name);
    return pid != 0 && path_in(folder, name, path) && pl_line_is_served(path) ? pid : 0;
}

/* A killed host leaves its socket behind. A new one does not listen for a moment. */
static bool is_leftover(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISSOCK(st.st_mode) &&
           time(NULL) - st.st_mtime > NEW_SECONDS && !pl_line_is_served(path);
}

static void remove_leftovers(const char *folder)
{
    char path[PL_ADMIN_PATH];
    DIR *dir = opendir(folder);
    struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL)
        if (pid_in(entry->d_name) != 0 && path_in(folder, entry->d_name, path) && is_leftover(path))
            (void)unlink(path);
    if (dir != NULL)
        closedir(dir);
}

int pl_admin_path_make(char out[PL_ADMIN_PATH], struct pl_err *err)
{
    int rc = choose_folder(out, err);
    if (rc == 0 && mkdir(out, 0700) != 0 && errno != EEXIST)
        rc = pl_err_set(err, PL_EIO, "%s: %s", out, strerror(errno));
    if (rc == 0)
        rc = check_folder(out, err);
    if (rc == 0)
        remove_leftovers(out);
    size_t len = strlen(out);
    if (rc == 0)
        snprintf(out + len, PL_ADMIN_PATH - len, "/%ld.sock", (long)getpid());
    return rc;
}

static size_t list_hosts(const char *folder, pid_t wanted, pid_t *found, struct pl_buf *names)
{
    DIR *dir = opendir(folder);
    size_t count = 0;
    struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        pid_t pid = host_at(folder, entry->d_name);
        if (pid == 0 || (wanted != 0 && pid != wanted))
            continue;
        pl_buf_add_f(names, "%s%ld", count > 0 ? ", " : "", (long)pid);
        *found = pid;
        count++;
    }
    if (dir != NULL)
        closedir(dir);
    return count;
}

int pl_admin_path_find(pid_t pid, char out[PL_ADMIN_PATH], struct pl_err *err)
{
    struct pl_buf names = PL_BUF_INIT;
    pid_t found = 0;
    size_t count = 0;
    int rc = choose_folder(out, err);
    if (rc == 0 && access(out, F_OK) == 0) {
        rc = check_folder(out, err);
        count = rc == 0 ? list_hosts(out, pid, &found, &names) : 0;
    }
    if (rc == 0 && count == 0 && pid != 0)
        rc = pl_err_set(err, PL_ENOTFOUND, "no host with pid %ld has a socket in %s", (long)pid,
                        out);
    else if (rc == 0 && count == 0)
        rc = pl_err_set(err, PL_ENOTFOUND,
                        "no host is running (no socket in %s); --admin-socket names another", out);
    else if (rc == 0 && count > 1)
        rc = pl_err_set(err, PL_ENOTFOUND, "several hosts are running: choose with --pid (%s)",
                        pl_buf_z(&names));
    size_t len = strlen(out);
    if (rc == 0)
        snprintf(out + len, PL_ADMIN_PATH - len, "/%ld.sock", (long)found);
    pl_buf_deinit(&names);
    return rc;
}

/* Reads files whole, up to a limit, and writes to open ones. Nothing is remembered: a stamp tells a
 * caller whether to read again. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE 4096

/* Room for the whole file and one byte more, with which the next read finds the end. A file may
 * grow meanwhile, and those of /proc say that they are empty. */
static void reserve_for(int fd, struct pl_buf *out)
{
    struct stat st;
    bool is_small =
        fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && st.st_size < 16 * PIECE;
    pl_buf_reserve(out, is_small ? (size_t)st.st_size + 1 : PIECE);
}

static int read_all(int fd, const char *path, size_t max, struct pl_buf *out, struct pl_err *err)
{
    size_t start = out->len;
    reserve_for(fd, out);
    for (;;) {
        if (out->cap - out->len <= 1)
            pl_buf_reserve(out, PIECE);
        ssize_t n = read(fd, out->ptr + out->len, out->cap - out->len - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return pl_err_set(err, PL_EIO, "cannot read %s: %s", path, strerror(errno));
        if (n == 0)
            return 0;
        out->len += (size_t)n;
        out->ptr[out->len] = '\0';
        if (out->len - start > max)
            return pl_err_set(err, PL_ELIMIT, "%s is larger than %zu bytes", path, max);
    }
}

int pl_file_read(const char *path, size_t max, struct pl_buf *out, struct pl_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return pl_err_set(err, PL_EIO, "cannot read %s: %s", path, strerror(errno));
    size_t start = out->len;
    int code = read_all(fd, path, max, out, err);
    close(fd);
    if (code == 0)
        return 0;
    out->len = start;
    if (out->ptr != NULL)
        out->ptr[start] = '\0';
    return code;
}

bool pl_file_put(int fd, struct pl_slice text)
{
    while (text.len > 0) {
        ssize_t n = write(fd, text.ptr, text.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        text = pl_slice(text.ptr + n, text.len - (size_t)n);
    }
    return true;
}

bool pl_file_is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int64_t ns_of(struct timespec at)
{
    return (int64_t)at.tv_sec * PL_SECOND + at.tv_nsec;
}

struct pl_file_stamp pl_file_stamp_of(const struct stat *st)
{
    return (struct pl_file_stamp){
        .device = st->st_dev,
        .inode = st->st_ino,
        .size = (uint64_t)st->st_size,
        .mtime_ns = ns_of(st->st_mtim),
        .ctime_ns = ns_of(st->st_ctim),
    };
}

struct pl_file_stamp pl_file_stamp(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return (struct pl_file_stamp){0};
    return pl_file_stamp_of(&st);
}

bool pl_file_stamp_eq(const struct pl_file_stamp *a, const struct pl_file_stamp *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->mtime_ns == b->mtime_ns;
}

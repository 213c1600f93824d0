/* Small files: configuration, certificates, tokens. Synchronous; any thread. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

/* Appends the whole content. Returns ELIMIT for more than max bytes, EIO for other failures, with a
 * message that names the file. Appends nothing on failure. */
PL_MUST_USE int pl_file_read(const char *path, size_t max, struct pl_buf *out, struct pl_err *err);

/* Writes all of the text, from the descriptor's place on. False: it failed, and errno says why; a
 * part may have been written. */
PL_MUST_USE bool pl_file_put(int fd, struct pl_slice text);

bool pl_file_is_folder(const char *path); /* or a symbolic link to one */

struct stat;

/* Identity and times of a file. They change when the file is written or replaced (also through a
 * symbolic link). */
struct pl_file_stamp {
    uint64_t device, inode, size; /* all 0 if there is no such file */
    int64_t mtime_ns;
    int64_t ctime_ns; /* changes even if mtime is set back; pl_file_stamp_eq ignores it */
};

struct pl_file_stamp pl_file_stamp(const char *path);
struct pl_file_stamp pl_file_stamp_of(const struct stat *st);
bool pl_file_stamp_eq(const struct pl_file_stamp *a, const struct pl_file_stamp *b);

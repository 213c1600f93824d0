/* The file of --config, and files that are read as a whole. Any thread. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "value/doc.h"

/* Appends the text of --config, as far as it could be read. */
PL_MUST_USE int pl_config_read(const char *path, struct pl_buf *text, struct pl_err *err);
/* Decodes that text, read from path: one YAML mapping, or NULL when it is empty. */
PL_MUST_USE int pl_config_decode(const char *path, struct pl_slice text, struct pl_doc **config,
                                 struct pl_err *err);
/* The file's content, at most `limit` bytes. 0 or EIO/ELIMIT with the reason. */
PL_MUST_USE int pl_read_file(const char *path, size_t limit, struct pl_buf *out,
                             struct pl_err *err);

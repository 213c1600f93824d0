/* SQLite, loaded when the first data folder is opened. A process without one never maps the
 * library. */
#pragma once

#include "base/err.h"

#include <sqlite3.h>

/* The functions that we use, by their names without "sqlite3_". */
/* clang-format off */
#define PL_SQLITE_CALLS(X) \
    X(open_v2) X(close_v2) X(exec) X(prepare_v2) X(step) X(reset) X(finalize) X(bind_text) \
    X(bind_blob) X(bind_int64) X(column_text) X(column_blob) X(column_bytes) X(column_int64) \
    X(column_int) X(errmsg)
/* clang-format on */

struct pl_sqlite {
    void *library; /* owned; from dlopen */
#define PL_SQLITE_FIELD(name) __typeof__(&sqlite3_##name) name;
    PL_SQLITE_CALLS(PL_SQLITE_FIELD)
#undef PL_SQLITE_FIELD
};

/* EIO if the library is missing; err names its package. */
PL_MUST_USE int pl_sqlite_load(struct pl_sqlite *sqlite, struct pl_err *err);
/* Accepts a structure of zeroes. */
void pl_sqlite_unload(struct pl_sqlite *sqlite);

#include "apistore/sqlite.h"

#include <dlfcn.h>
#include <string.h>

#define LIBRARY "libsqlite3.so.0"

static int sqlite_find(struct pl_sqlite *sqlite, const char *name, void *field, size_t size,
                       struct pl_err *err)
{
    void *call = dlsym(sqlite->library, name);
    if (call == NULL)
        return pl_err_set(err, PL_EIO, LIBRARY " has no %s: it is too old", name);
    memcpy(field, &call,
           size); /* converts an object pointer to a function pointer, as POSIX allows */
    return 0;
}

int pl_sqlite_load(struct pl_sqlite *sqlite, struct pl_err *err)
{
    *sqlite = (struct pl_sqlite){.library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL)};
    if (sqlite->library == NULL)
        return pl_err_set(err, PL_EIO, "a data folder needs SQLite: install libsqlite3-0 (%s)",
                          dlerror());
#define LOAD(name)                                                                                 \
    if (sqlite_find(sqlite, "sqlite3_" #name, &sqlite->name, sizeof(sqlite->name), err) != 0)      \
        return PL_EIO;
    PL_SQLITE_CALLS(LOAD)
#undef LOAD
    return 0;
}

void pl_sqlite_unload(struct pl_sqlite *sqlite)
{
    if (sqlite->library != NULL)
        dlclose(sqlite->library);
    *sqlite = (struct pl_sqlite){0};
}

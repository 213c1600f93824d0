#include "lane/barred.h"

#include "base/alloc.h"
#include "base/map.h"

#include <string.h>

struct pl_barred {
    int refs;
    struct pl_map digests; /* what is barred -> digest of the code, owned */
};

struct pl_barred *pl_barred_create(void)
{
    struct pl_barred *barred = PL_NEW(struct pl_barred);
    barred->refs = 1;
    return barred;
}

struct pl_barred *pl_barred_ref(struct pl_barred *barred)
{
    barred->refs++;
    return barred;
}

void pl_barred_unref(struct pl_barred *barred)
{
    if (barred == NULL || --barred->refs > 0)
        return;
    size_t at = 0;
    struct pl_slice key;
    void *digest;
    while (pl_map_next(&barred->digests, &at, &key, &digest))
        pl_free(digest);
    pl_map_deinit(&barred->digests);
    pl_free(barred);
}

void pl_barred_add(struct pl_barred *barred, const char *what, const char *digest)
{
    struct pl_slice key = pl_slice_z(what);
    if (barred->digests.count < PL_BARRED_MAX || pl_map_has(&barred->digests, key))
        pl_free(pl_map_put(&barred->digests, key, pl_strdup(digest)));
}

bool pl_barred_has(struct pl_barred *barred, const char *what, const char *digest)
{
    const char *known = pl_map_get(&barred->digests, pl_slice_z(what));
    if (known == NULL)
        return false;
    if (strcmp(known, digest) == 0)
        return true;
    pl_free(pl_map_remove(&barred->digests, pl_slice_z(what)));
    return false;
}

size_t pl_barred_count(const struct pl_barred *barred)
{
    return barred->digests.count;
}

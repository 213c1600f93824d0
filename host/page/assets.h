/* The files of the page, which the build puts into the program (host/page/files). */
#pragma once

#include "base/slice.h"

#include <stdbool.h>

struct pl_asset {
    const char *path, *type;
    bool for_everybody; /* served without the token */
    const unsigned char *bytes;
    size_t len;
};

/* The file at that path, a constant; NULL: there is none. */
const struct pl_asset *pl_asset_find(struct pl_slice path);
/* The file that a client without a token gets instead of the page. A constant. */
const struct pl_asset *pl_asset_sign_in(void);

/* Access control of the page: a pure decision about one request's headers. Any thread. */
#pragma once

#include "base/slice.h"

#include <stdbool.h>

#define PL_PAGE_TOKEN 64 /* hexadecimal digits */

struct pl_page_access {
    char token[PL_PAGE_TOKEN + 1];
    char cookie[32];   /* the cookie's name; it contains the port, since cookies ignore ports */
    const char *bound; /* the host of the listener, borrowed; "": every address */
    bool loopback;     /* only requests with a loopback Host are answered */
};

/* Headers of a request; NULL: missing. */
struct pl_page_caller {
    const char *host, *origin, *cookie, *authorization;
    bool acts; /* it is an action */
};

enum pl_page_verdict {
    PL_PAGE_WELCOME,
    PL_PAGE_FOREIGN_HOST,   /* the Host is not ours: a rebound name */
    PL_PAGE_FOREIGN_ORIGIN, /* another site's script sent it */
    PL_PAGE_NO_TOKEN,
    PL_PAGE_NO_HEADER, /* an action with only the cookie */
};

/* Makes the token. EIO when there is no randomness. */
int pl_page_access_init(struct pl_page_access *access, const char *bound, int port);
/* Checks only Host and Origin: for public files. */
enum pl_page_verdict pl_page_access_look(const struct pl_page_access *access,
                                         const struct pl_page_caller *caller);
/* Checks the token, too. */
enum pl_page_verdict pl_page_access_check(const struct pl_page_access *access,
                                          const struct pl_page_caller *caller);

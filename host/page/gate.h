/* Who may see the page: a pure decision about one request's headers. Any thread. */
#pragma once

#include "base/slice.h"

#include <stdbool.h>

#define PL_PAGE_TOKEN 64 /* hexadecimal digits */

struct pl_page_gate {
    char token[PL_PAGE_TOKEN + 1];
    char cookie[32];   /* the cookie's name; one a port, as cookies do not tell ports apart */
    const char *bound; /* the host that the page is bound to, borrowed; "": every address */
    bool loopback;     /* only requests whose Host is loopback's are answered */
};

/* Of a request; NULL: it has no such header. */
struct pl_page_caller {
    const char *host, *origin, *cookie, *authorization;
    bool acts; /* it changes something */
};

enum pl_page_verdict {
    PL_PAGE_WELCOME,
    PL_PAGE_FOREIGN_HOST,   /* the Host is not one of ours: a name that was rebound to us */
    PL_PAGE_FOREIGN_ORIGIN, /* another site's script asks */
    PL_PAGE_NO_TOKEN,
    PL_PAGE_NO_HEADER, /* an action that has the cookie alone */
};

/* Makes the token. EIO when there is no randomness. */
int pl_page_gate_init(struct pl_page_gate *gate, const char *bound, int port);
/* Is this an address of loopback, or localhost? Without brackets. */
bool pl_page_is_loopback(struct pl_slice host);
/* The Host and the Origin alone: for what everybody may see. */
enum pl_page_verdict pl_page_gate_look(const struct pl_page_gate *gate,
                                       const struct pl_page_caller *caller);
/* The token, too. */
enum pl_page_verdict pl_page_gate_check(const struct pl_page_gate *gate,
                                        const struct pl_page_caller *caller);

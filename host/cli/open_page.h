/* Opens the page for a browser, and prints its address. I/O thread. */
#pragma once

#include "page/page.h"

/* Prints the address with the token on stdout, never into the log. The caller owns *page. */
PL_MUST_USE int pl_open_page(const struct pl_page_options *options, struct pl_page **page,
                             struct pl_err *err);

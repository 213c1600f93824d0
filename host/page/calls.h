/* The calls under /api: each answers its exchange once, now or later. I/O thread. */
#pragma once

#include "net/http_server.h"
#include "page/page.h"
#include "page/record.h"

struct pl_page_calls {
    struct pl_page_options o;
    struct pl_record record;
    struct pl_list trees; /* calls that still walk a store */
};

/* options: copied. */
void pl_page_calls_init(struct pl_page_calls *calls, const struct pl_page_options *options);
/* Walking calls are answered with an error; the admin answers the others. */
void pl_page_calls_deinit(struct pl_page_calls *calls);

/* Whether this path is an action, which changes something. */
bool pl_page_call_acts(struct pl_slice path);
void pl_page_call(struct pl_page_calls *calls, struct pl_exchange *exchange);
/* Answers with the headers of all answers of the page. */
void pl_page_reply(struct pl_exchange *exchange, int status, const char *type,
                   struct pl_slice body);
/* cookie: value of Set-Cookie; NULL: none. */
void pl_page_reply_with(struct pl_exchange *exchange, int status, const char *type,
                        struct pl_slice body, const char *cookie);

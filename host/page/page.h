/* The page of `perilune dev`: controllers, objects, timelines, reloads, a shadow's differences and
 * the log of this host, for a browser on the same machine. I/O thread.
 *
 *   GET  /, /page.js, /page.css, /icon.svg, /sign-in.js
 *   POST /session                                            sets the cookie for who has the token
 *   GET  /api/status, /api/queue, /api/why?kind=&key=       as the admin socket answers them
 *   GET  /api/objects?controller=&filter=&after=            page/owners.h
 *   GET  /api/log, /api/reloads, /api/shadow, each ?from=N  page/ring.h
 *   POST /api/reload, /api/requeue, /api/pause, /api/resume  as the admin socket takes them
 *
 * Answers of /api are {"ok": true, "result": ...} or {"ok": false, "error": "..."}. */
#pragma once

#include "admin/admin.h"
#include "reload/shadow.h"
#include "serve/bind_address.h"

struct pl_page;

struct pl_page_options {
    struct pl_loop *loop; /* borrowed for life, like the following fields */
    struct pl_admin *admin;
    struct pl_manager *manager;
    struct pl_cluster *cluster;
    struct pl_reload *reload;
    struct pl_shadow *shadow;
    struct pl_bind_address address; /* not off */
};

/* Listens. NULL and err when the address is not available, or there is no randomness for a token.
 * The caller owns the page. */
struct pl_page *pl_page_create(const struct pl_page_options *options, struct pl_err *err);
/* Destroy it before everything that it borrows. Accepts NULL. */
void pl_page_destroy(struct pl_page *page);
/* The address to open, with the token in its fragment. */
void pl_page_url(const struct pl_page *page, struct pl_buf *out);
/* Whether other machines can reach it. */
bool pl_page_is_open_to_network(const struct pl_page *page);

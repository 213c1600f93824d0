/* The page's server: access control and files; calls.c answers requests under /api.
 *
 * access.c checks the request's headers before any answer. Requests have a deadline and a size
 * limit, and the number of connections is limited, since every program of this machine can reach
 * the port. */
#include "page/page.h"

#include "base/alloc.h"
#include "page/assets.h"
#include "page/calls.h"
#include "page/access.h"

#include <stdio.h>
#include <string.h>

#define MAX_BODY        4096
#define MAX_CONNECTIONS 64
#define DEADLINE_MS     10000
#define IDLE_MS         75000

struct pl_page {
    struct pl_page_options o;
    struct pl_page_access access;
    struct pl_page_calls calls;
    struct pl_server *server;
};

static void reply_asset(struct pl_exchange *exchange, int status, const struct pl_asset *asset)
{
    pl_page_reply(exchange, status, asset->type, pl_slice((const char *)asset->bytes, asset->len));
}

static void page_refuse(struct pl_exchange *exchange, enum pl_page_verdict verdict)
{
    static const struct {
        int status;
        const char *text;
    } answers[] = {
        [PL_PAGE_FOREIGN_HOST] = {403, "this page can only be reached by a loopback address\n"},
        [PL_PAGE_FOREIGN_ORIGIN] = {403, "this page does not answer requests from other sites\n"},
        [PL_PAGE_NO_TOKEN] = {401,
                              "open the address that perilune has printed: it has the token\n"},
        [PL_PAGE_NO_HEADER] = {403, "an action needs the token as a header, too: "
                                    "\"Authorization: Bearer TOKEN\"\n"},
    };
    if (verdict == PL_PAGE_NO_TOKEN && pl_slice_eqz(pl_exchange_path(exchange), "/"))
        reply_asset(exchange, answers[verdict].status, pl_asset_sign_in());
    else
        pl_page_reply(exchange, answers[verdict].status, "text/plain; charset=utf-8",
                      pl_slice_z(answers[verdict].text));
}

/* The server and not the page sets it, so that the next request certainly has it. The page can read
 * it, and sends its value as a header with each action. */
static void reply_session(const struct pl_page *page, struct pl_exchange *exchange)
{
    char cookie[sizeof page->access.cookie + PL_PAGE_TOKEN + 32];
    snprintf(cookie, sizeof cookie, "%s=%s; SameSite=Strict; Path=/", page->access.cookie,
             page->access.token);
    pl_page_reply_with(exchange, 200, "application/json", pl_slice_z("{\"ok\":true}"), cookie);
}

static void on_request(void *arg, struct pl_exchange *exchange)
{
    struct pl_page *page = arg;
    struct pl_slice path = pl_exchange_path(exchange);
    const struct pl_asset *asset = pl_asset_find(path);
    const struct pl_page_caller caller = {
        .host = pl_exchange_header(exchange, "host"),
        .origin = pl_exchange_header(exchange, "origin"),
        .cookie = pl_exchange_header(exchange, "cookie"),
        .authorization = pl_exchange_header(exchange, "authorization"),
        .acts = pl_slice_eqz(path, "/session") || pl_page_call_acts(path),
    };
    bool for_everybody = asset != NULL && asset->for_everybody;
    enum pl_page_verdict verdict = for_everybody ? pl_page_access_look(&page->access, &caller)
                                                 : pl_page_access_check(&page->access, &caller);
    if (verdict != PL_PAGE_WELCOME)
        page_refuse(exchange, verdict);
    else if (asset != NULL)
        reply_asset(exchange, 200, asset);
    else if (pl_slice_eqz(path, "/session"))
        reply_session(page, exchange);
    else
        pl_page_call(&page->calls, exchange);
}

struct pl_page *pl_page_create(const struct pl_page_options *options, struct pl_err *err)
{
    static const struct pl_server_ops ops = {on_request};
    struct pl_page *page = PL_NEW(struct pl_page);
    page->o = *options;
    const char *host = page->o.address.host;
    const struct pl_server_options server = {
        .host = *host != '\0' ? host : NULL,
        .port = options->address.port,
        .max_body = MAX_BODY,
        .request_deadline_ms = DEADLINE_MS,
        .idle_ms = IDLE_MS,
        .max_connections = MAX_CONNECTIONS,
    };
    page->server = pl_server_create(options->loop, &server, &ops, page, err);
    if (page->server == NULL) {
        pl_free(page);
        return NULL;
    }
    if (pl_page_access_init(&page->access, host, pl_server_port(page->server)) != 0) {
        pl_err_set(err, PL_EIO, "a token can't be made: no randomness");
        pl_server_destroy(page->server);
        pl_free(page);
        return NULL;
    }
    pl_page_calls_init(&page->calls, &page->o);
    return page;
}

void pl_page_destroy(struct pl_page *page)
{
    if (page == NULL)
        return;
    pl_page_calls_deinit(&page->calls);
    pl_server_destroy(page->server);
    pl_free(page);
}

void pl_page_url(const struct pl_page *page, struct pl_buf *out)
{
    struct pl_bind_address shown = page->o.address;
    char where[300];
    if (shown.host[0] == '\0' || strcmp(shown.host, "0.0.0.0") == 0)
        snprintf(shown.host, sizeof shown.host, "127.0.0.1");
    else if (strcmp(shown.host, "::") == 0)
        snprintf(shown.host, sizeof shown.host, "::1");
    pl_bind_address_text(&shown, pl_server_port(page->server), where, sizeof where);
    pl_buf_add_f(out, "http://%s/#token=%s", where, page->access.token);
}

bool pl_page_is_open_to_network(const struct pl_page *page)
{
    return !page->access.loopback;
}

/* The meaning of failures of the server. Its answer is a Status document, or any text of a proxy in
 * between. Both become an error with the HTTP status, a reason and a message that is valid UTF-8 on
 * one line.
 *
 * Later decisions use the status and the reason, never the message. Old servers and proxies send
 * only a text for two errors: too old a version (F9) and too large a version (rule 57). Only this
 * file looks at the text, once. */
#include "kube/status.h"

#include "base/text.h"
#include "value/build.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Some servers say "too large resource version" only in a cause (rule 57). This reason keeps that
 * fact, since later only the error record is available. */
#define TOO_LARGE_RV "ResourceVersionTooLarge"

#define RETRY_AFTER_MAX_S 999999999 /* limit for the header */

static const struct {
    int status;
    char reason[24];
} reasons[] = {
    {400, "BadRequest"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "NotFound"},
    {405, "MethodNotAllowed"},
    {406, "NotAcceptable"},
    {409, "Conflict"},
    {410, "Gone"},
    {413, "RequestEntityTooLarge"},
    {415, "UnsupportedMediaType"},
    {422, "Invalid"},
    {429, "TooManyRequests"},
    {500, "InternalError"},
    {503, "ServiceUnavailable"},
    {504, "Timeout"},
};

static const char *status_reason_of(int status)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(reasons); i++) {
        if (reasons[i].status == status)
            return reasons[i].reason;
    }
    return "Unknown";
}

static int status_of(struct pl_slice reason)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(reasons); i++) {
        if (pl_slice_eqz(reason, reasons[i].reason))
            return reasons[i].status;
    }
    if (pl_slice_eqz(reason, "AlreadyExists"))
        return 409;
    return pl_slice_eqz(reason, "Expired") ? 410 : 0;
}

static void set_reason(struct pl_err *err, struct pl_slice reason)
{
    snprintf(err->reason, sizeof err->reason, "%.*s", PL_FMT(reason));
}

static bool has_cause(struct pl_node status, const char *reason)
{
    struct pl_iter it = pl_iter(pl_node_dig(status, "details", "causes"));
    while (pl_iter_next(&it)) {
        if (pl_node_str_eq(pl_node_getz(it.value, "reason"), pl_slice_z(reason)))
            return true;
    }
    return false;
}

/* An answer without code and reason, as some proxies and old servers send it (F9). Only here is the
 * text used for a decision. */
static int guess_status(struct pl_slice message)
{
    if (pl_text_find(message, "too old resource version") != NULL ||
        pl_text_find(message, "event in requested index is outdated and cleared") != NULL)
        return 410;
    return 500;
}

static void fill_from_status(struct pl_node status, int http_status, struct pl_err *err)
{
    struct pl_scratch scratch[2];
    struct pl_slice message = pl_node_str(pl_node_getz(status, "message"), &scratch[0]);
    struct pl_slice reason = pl_node_str(pl_node_getz(status, "reason"), &scratch[1]);
    int64_t code = 0, seconds;
    pl_node_int(pl_node_getz(status, "code"), &code);
    if (http_status == 0)
        http_status = code >= 100 && code < 600 ? (int)code : status_of(reason);
    if (http_status == 0)
        http_status = guess_status(message);
    pl_err_set(err, PL_EAPI, "%.*s", PL_FMT(message));
    if (message.len == 0)
        pl_err_set(err, PL_EAPI, "the API server answered %d %s", http_status,
                   status_reason_of(http_status));
    err->status = http_status;
    set_reason(err, reason.len > 0 ? reason : pl_slice_z(status_reason_of(http_status)));
    if (has_cause(status, TOO_LARGE_RV))
        set_reason(err, pl_slice_z(TOO_LARGE_RV));
    if (pl_node_int(pl_node_dig(status, "details", "retryAfterSeconds"), &seconds) && seconds > 0)
        err->retry_after_ms = (seconds < RETRY_AFTER_MAX_S ? seconds : RETRY_AFTER_MAX_S) * 1000;
}

/* The text of a proxy or a load balancer, made fit for one line of a log. */
static void clean_text(struct pl_slice raw, char *out, size_t size)
{
    size_t len = 0, i;
    bool space = false, utf8 = pl_is_utf8(raw);
    for (i = 0; i < raw.len && len + 2 < size; i++) {
        unsigned char c = (unsigned char)raw.ptr[i];
        if (c <= ' ' || c == 0x7f) {
            space = len > 0;
            continue;
        }
        if (space)
            out[len++] = ' ';
        space = false;
        out[len++] = c >= 0x80 && !utf8 ? '?' : (char)c;
    }
    while (i < raw.len && len > 0 && (out[len - 1] & 0x80) != 0)
        len--; /* the cut may have split a character */
    out[len] = '\0';
}

static bool is_html(struct pl_slice raw)
{
    while (raw.len > 0 && (unsigned char)raw.ptr[0] <= ' ')
        raw = pl_slice(raw.ptr + 1, raw.len - 1);
    return (raw.len >= 5 && strncasecmp(raw.ptr, "<html", 5) == 0) ||
           (raw.len >= 9 && strncasecmp(raw.ptr, "<!doctype", 9) == 0);
}

static void fill_from_text(int status, struct pl_slice raw, struct pl_err *err)
{
    char text[256];
    clean_text(raw, text, sizeof text);
    if (is_html(raw))
        pl_err_set(err, PL_EAPI, "HTTP %d with an HTML page, not from an API server: %s", status,
                   text);
    else if (text[0] != '\0')
        pl_err_set(err, PL_EAPI, "HTTP %d: %s", status, text);
    else if (status == 414 || status == 431)
        pl_err_set(err, PL_EAPI, "HTTP %d: path, query or headers are too long for the server",
                   status);
    else
        pl_err_set(err, PL_EAPI, "HTTP %d %s without a message", status, status_reason_of(status));
    err->status = status;
    set_reason(err, pl_slice_z(status_reason_of(status)));
}

void pl_status_to_err(int status, struct pl_node body, struct pl_slice raw, struct pl_err *err)
{
    if (pl_node_str_eq(pl_node_getz(body, "kind"), pl_slice_z("Status")))
        fill_from_status(body, status, err);
    else
        fill_from_text(status, raw, err);
}

void pl_status_event_to_err(struct pl_node status, struct pl_err *err)
{
    fill_from_status(status, 0, err);
}

static bool is_api(const struct pl_err *err)
{
    return err != NULL && err->code == PL_EAPI;
}

static bool has_reason(const struct pl_err *err, const char *reason)
{
    return is_api(err) && strcmp(err->reason, reason) == 0;
}

bool pl_err_is_not_found(const struct pl_err *err)
{
    return has_reason(err, "NotFound") || (is_api(err) && err->status == 404);
}

bool pl_err_is_conflict(const struct pl_err *err)
{
    return is_api(err) && err->status == 409 && !has_reason(err, "AlreadyExists");
}

bool pl_err_is_already_exists(const struct pl_err *err)
{
    return has_reason(err, "AlreadyExists");
}

bool pl_err_is_forbidden(const struct pl_err *err)
{
    return has_reason(err, "Forbidden") || (is_api(err) && err->status == 403);
}

bool pl_err_is_unauthorized(const struct pl_err *err)
{
    return has_reason(err, "Unauthorized") || (is_api(err) && err->status == 401);
}

bool pl_err_is_invalid(const struct pl_err *err)
{
    return has_reason(err, "Invalid") || (is_api(err) && err->status == 422);
}

bool pl_err_is_too_many_requests(const struct pl_err *err)
{
    return has_reason(err, "TooManyRequests") || (is_api(err) && err->status == 429);
}

bool pl_err_is_expired(const struct pl_err *err)
{
    return has_reason(err, "Expired") || has_reason(err, "Gone") ||
           (is_api(err) && err->status == 410);
}

bool pl_err_is_too_large_rv(const struct pl_err *err)
{
    /* Servers 1.17.0 to 1.18.5 send no cause; rule 57 goes by their text. */
    return has_reason(err, TOO_LARGE_RV) ||
           (has_reason(err, "Timeout") &&
            strstr(err->message, "Too large resource version") != NULL);
}

bool pl_err_is_no_shard_selector(const struct pl_err *err)
{
    static const char refusal[] = "invalid shard selector";
    return err != NULL && err->code == PL_EAPI &&
           (err->status == 400 ||
            (err->status == 500 && strncmp(err->message, refusal, sizeof refusal - 1) == 0));
}

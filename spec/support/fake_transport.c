#include "support/fake_transport.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static struct fake_request *request_of(struct pl_link *link)
{
    return PL_CONTAINER_OF(link, struct fake_request, link);
}

static void finish(struct fake_request *request)
{
    struct pl_timers *timers = request->net->timers;
    pl_timer_stop(timers, &request->ending);
    pl_timer_stop(timers, &request->deadline);
    pl_timer_stop(timers, &request->silence);
    pl_link_unlink(&request->link);
    pl_list_push(&request->net->taken, &request->link);
    request->done = true;
    request->done_code = request->err.code;
    request->net->open_count--;
    request->ops->on_done(request->arg, request->err.code ? &request->err : NULL);
}

static void on_ending(struct pl_timer *timer)
{
    finish(PL_CONTAINER_OF(timer, struct fake_request, ending));
}

/* The request ends at the next run of the timers; the first reason counts. */
static void end_later(struct fake_request *request, int code, const char *reason)
{
    if (request->done || request->err.code != 0)
        return;
    pl_err_set(&request->err, code, "%s", reason != NULL ? reason : pl_code_text(code));
    if (reason != NULL)
        snprintf(request->err.reason, sizeof request->err.reason, "%s", reason);
    pl_timer_start(request->net->timers, &request->ending, 0, on_ending);
}

static void on_deadline(struct pl_timer *timer)
{
    end_later(PL_CONTAINER_OF(timer, struct fake_request, deadline), PL_ETIMEOUT, NULL);
}

static void on_silence(struct pl_timer *timer)
{
    end_later(PL_CONTAINER_OF(timer, struct fake_request, silence), PL_ETIMEOUT, "Silence");
}

static void heard(struct fake_request *request)
{
    if (request->request.silence_ms > 0)
        pl_timer_start(request->net->timers, &request->silence, request->request.silence_ms * PL_MS,
                       on_silence);
}

static void copy_request(struct fake_request *copy, const struct pl_http_request *request)
{
    copy->request = *request;
    copy->method = pl_strdup(request->method);
    copy->url = pl_strdup(request->url);
    const char *host = strstr(copy->url, "://");
    host = host != NULL ? host + 3 : copy->url;
    copy->path = strchr(host, '/');
    if (copy->path == NULL)
        copy->path = host + strlen(host);
    copy->header_count = request->header_count;
    copy->headers = pl_calloc(request->header_count + 1, sizeof *copy->headers);
    for (size_t i = 0; i < request->header_count; i++) {
        copy->headers[i].name = pl_strdup(request->headers[i].name);
        copy->headers[i].value = pl_strdup(request->headers[i].value);
    }
    pl_buf_add_slice(&copy->body, request->body);
}

static struct pl_http_call *start(void *self, const struct pl_http_request *request,
                                  const struct pl_http_ops *ops, void *arg)
{
    struct fake_transport *net = self;
    struct fake_request *copy = PL_NEW(struct fake_request);
    copy->net = net;
    copy->ops = ops;
    copy->arg = arg;
    copy_request(copy, request);
    pl_list_push(&net->started, &copy->link);
    net->start_count++;
    net->open_count++;
    if (request->timeout_ms > 0)
        pl_timer_start(net->timers, &copy->deadline, request->timeout_ms * PL_MS, on_deadline);
    heard(copy);
    if (net->refuse_everything.code != 0)
        end_later(copy, net->refuse_everything.code, net->refuse_everything.reason);
    return (struct pl_http_call *)copy;
}

static void cancel(void *self, struct pl_http_call *call)
{
    PL_UNUSED(self);
    struct fake_request *request = (struct fake_request *)call;
    PL_REQUIRE(!request->done); /* the request must not be used after on_done */
    request->canceled = true;
    request->err.code = 0; /* a cancel replaces an end that was not delivered yet */
    end_later(request, PL_ECANCELED, NULL);
}

static void send_more(void *self, struct pl_http_call *call, struct pl_slice bytes)
{
    PL_UNUSED(self);
    pl_buf_add_slice(&((struct fake_request *)call)->said, bytes);
}

void fake_transport_init(struct fake_transport *net, struct pl_timers *timers)
{
    *net = (struct fake_transport){.timers = timers};
    pl_list_init(&net->started);
    pl_list_init(&net->taken);
}

static void free_request(struct fake_request *request)
{
    struct pl_timers *timers = request->net->timers;
    pl_timer_stop(timers, &request->ending);
    pl_timer_stop(timers, &request->deadline);
    pl_timer_stop(timers, &request->silence);
    for (size_t i = 0; i < request->header_count; i++) {
        pl_free((char *)request->headers[i].name);
        pl_free((char *)request->headers[i].value);
    }
    pl_free(request->headers);
    pl_buf_deinit(&request->body);
    pl_buf_deinit(&request->said);
    pl_free(request->method);
    pl_free(request->url);
    pl_free(request);
}

void fake_transport_deinit(struct fake_transport *net)
{
    struct pl_link *link;
    pl_list_splice(&net->taken, &net->started);
    while ((link = pl_list_pop(&net->taken)) != NULL)
        free_request(request_of(link));
}

struct pl_transport fake_transport(struct fake_transport *net)
{
    static const struct pl_transport_ops ops = {start, cancel, send_more};
    return (struct pl_transport){&ops, net};
}

void fake_transport_down(struct fake_transport *net, int code, const char *reason)
{
    pl_err_clear(&net->refuse_everything);
    net->refuse_everything.code = code;
    snprintf(net->refuse_everything.reason, sizeof net->refuse_everything.reason, "%s",
             reason != NULL ? reason : "");
}

static bool is_wanted(const struct fake_request *request, const char *method, const char *prefix)
{
    return request->err.code == 0 && (method == NULL || strcmp(request->method, method) == 0) &&
           strncmp(request->path, prefix, strlen(prefix)) == 0;
}

static struct fake_request *take(struct fake_transport *net, const char *method, const char *prefix)
{
    PL_LIST_FOR (link, &net->started) {
        struct fake_request *request = request_of(link);
        if (!is_wanted(request, method, prefix))
            continue;
        if (request->request.may_send != NULL &&
            !request->request.may_send(request->request.may_send_arg)) {
            end_later(request, PL_EREFUSED, NULL);
            continue;
        }
        pl_link_unlink(link);
        pl_list_push(&net->taken, link);
        return request;
    }
    return NULL;
}

struct fake_request *fake_next(struct fake_transport *net)
{
    return take(net, NULL, "");
}

struct fake_request *fake_take(struct fake_transport *net, const char *method,
                               const char *path_prefix)
{
    struct fake_request *request = take(net, method, path_prefix);
    if (request != NULL)
        return request;
    fprintf(stderr, "no request %s %s... was started; waiting are:\n", method, path_prefix);
    PL_LIST_FOR (link, &net->started) {
        struct fake_request *other = request_of(link);
        fprintf(stderr, "  %s %s%s\n", other->method, other->path,
                other->canceled ? " (canceled)" : "");
    }
    return NULL;
}

const char *fake_header(const struct fake_request *request, const char *name)
{
    for (size_t i = 0; i < request->header_count; i++) {
        if (strcasecmp(request->headers[i].name, name) == 0)
            return request->headers[i].value;
    }
    return NULL;
}

static void unescape(struct pl_slice text, struct pl_buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned code;
        if (text.ptr[i] == '%' && i + 2 < text.len && sscanf(text.ptr + i + 1, "%2x", &code) == 1) {
            pl_buf_add_char(out, (char)code);
            i += 2;
        } else {
            pl_buf_add_char(out, text.ptr[i] == '+' ? ' ' : text.ptr[i]);
        }
    }
}

bool fake_query(const struct fake_request *request, const char *name, struct pl_buf *value)
{
    const char *at = strchr(request->path, '?');
    size_t name_len = strlen(name);
    while (at != NULL) {
        at++;
        size_t len = strcspn(at, "&");
        if (len >= name_len && memcmp(at, name, name_len) == 0 &&
            (len == name_len || at[name_len] == '=')) {
            size_t skip = len == name_len ? len : name_len + 1;
            pl_buf_clear(value);
            unescape(pl_slice(at + skip, len - skip), value);
            return true;
        }
        at = strchr(at, '&');
    }
    return false;
}

static bool is_open(const struct fake_request *request)
{
    return !request->done && request->err.code == 0;
}

static void respond(struct fake_request *request, int status, const struct pl_http_header *headers,
                    size_t header_count)
{
    struct pl_http_response response = {status, headers, header_count};
    request->responded = true;
    heard(request);
    if (request->ops->on_response != NULL)
        request->ops->on_response(request->arg, &response);
}

void fake_begin_with(struct fake_request *request, int status, const struct pl_http_header *headers,
                     size_t header_count)
{
    if (is_open(request) && !request->responded)
        respond(request, status, headers, header_count);
}

void fake_begin(struct fake_request *request, int status)
{
    const struct pl_http_header json = {"content-type", "application/json"};
    if (is_open(request) && !request->responded)
        respond(request, status, &json, 1);
}

void fake_stream_bytes(struct fake_request *request, struct pl_slice piece)
{
    fake_begin(request, 200);
    if (!is_open(request)) /* on_response may have canceled */
        return;
    heard(request);
    int code = request->ops->on_body(request->arg, piece);
    if (code != 0)
        end_later(request, code, NULL);
}

void fake_stream(struct fake_request *request, const char *piece)
{
    fake_stream_bytes(request, pl_slice_z(piece));
}

void fake_end(struct fake_request *request)
{
    fake_begin(request, 200);
    if (is_open(request))
        finish(request);
}

void fake_reply_with(struct fake_request *request, int status, const struct pl_http_header *headers,
                     size_t header_count, struct pl_slice body)
{
    if (!is_open(request))
        return;
    respond(request, status, headers, header_count);
    if (body.len > 0)
        fake_stream_bytes(request, body);
    if (is_open(request))
        finish(request);
}

void fake_reply(struct fake_request *request, int status, const char *body)
{
    const struct pl_http_header json = {"content-type", "application/json"};
    fake_reply_with(request, status, &json, 1, pl_slice_z(body));
}

void fake_fail(struct fake_request *request, int code, const char *reason)
{
    if (!is_open(request))
        return;
    pl_err_set(&request->err, code, "%s", reason != NULL ? reason : pl_code_text(code));
    if (reason != NULL)
        snprintf(request->err.reason, sizeof request->err.reason, "%s", reason);
    finish(request);
}

/* Sets the options of a request's easy handle: URL, headers, TLS.
 *
 * Names and values of headers are checked, since a line break in one would begin another header.
 * curl must add nothing by itself: no Expect, no content type, no system CAs beside a given CA.
 * Certificates are passed as bytes and not as paths, because curl would cache files and notice a
 * rotation late. */
#include "net/http_call.h"
#include "net/http_server.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/text.h"
#include "net/http_trust.h"

#include <string.h>
#include <strings.h>

#define URL_MAX            (1u << 20) /* bytes */
#define SHOWN_MAX          200        /* bytes of a malformed URL, in a message */
#define PEM_MAX            (4u << 20)
#define NAME_MAX_BYTES     255u
#define SET(option, value) PL_REQUIRE(curl_easy_setopt(call->easy, (option), (value)) == CURLE_OK)

static bool http_describe_is_token(const char *text)
{
    size_t len = 0;
    for (char c; (c = text[len]) != '\0'; len++) {
        bool word = pl_is_alnum(c);
        if (!word && strchr("!#$%&'*+-.^_`|~", c) == NULL)
            return false;
    }
    return len > 0;
}

static bool is_one_line(const char *text)
{
    return strpbrk(text, "\r\n") == NULL;
}

/* Only curl states the length of a request: contradictory lengths are two requests to some servers.
 */
static bool is_framing(const char *name)
{
    return strcasecmp(name, "content-length") == 0 || strcasecmp(name, "transfer-encoding") == 0;
}

static bool has_header(const struct pl_http_request *request, const char *name)
{
    for (size_t i = 0; i < request->header_count; i++) {
        if (strcasecmp(request->headers[i].name, name) == 0)
            return true;
    }
    return false;
}

static void http_describe_add_line(struct pl_http_call *call, const char *line)
{
    struct curl_slist *list = curl_slist_append(call->header_list, line);
    PL_REQUIRE(list != NULL);
    call->header_list = list;
}

static bool set_headers(struct pl_http_call *call, const struct pl_http_request *request)
{
    struct pl_buf line = PL_BUF_INIT;
    for (size_t i = 0; i < request->header_count; i++) {
        const struct pl_http_header *header = &request->headers[i];
        bool framing = is_framing(header->name);
        if (framing || !http_describe_is_token(header->name) || !is_one_line(header->value)) {
            pl_http_call_fail(call, PL_EINVAL, "",
                              framing
                                  ? "a header sets the length of the request, which the host does"
                                  : "a header is malformed");
            pl_buf_deinit(&line);
            return false;
        }
        pl_buf_clear(&line);
        /* For "name:" curl removes the header, and for "name;" it sends an empty one. */
        pl_buf_add_z(&line, header->name);
        pl_buf_add_z(&line, header->value[0] == '\0' ? ";" : ": ");
        pl_buf_add_z(&line, header->value);
        http_describe_add_line(call, pl_buf_z(&line));
    }
    pl_buf_deinit(&line);
    http_describe_add_line(call, "Expect:"); /* waiting for "100 Continue" costs a round trip */
    if (!has_header(request, "content-type"))
        http_describe_add_line(call,
                               "Content-Type:"); /* otherwise curl would declare a body as a form */
    return true;
}

static void set_blob(struct pl_http_call *call, CURLoption option, const char *text)
{
    if (text == NULL)
        return;
    struct curl_blob blob = {(void *)text, strlen(text), CURL_BLOB_COPY};
    SET(option, &blob);
}

static void set_tls(struct pl_http_call *call, const struct pl_tls_options *tls)
{
    SET(CURLOPT_SSL_CTX_FUNCTION, pl_http_trust);
    const char *system = tls == NULL || tls->ca_pem == NULL ? pl_http_ca_file() : NULL;
    if (system != NULL)
        SET(CURLOPT_CAINFO, system);
    if (tls == NULL)
        return; /* a proxy's, and https without options */
    /* As blobs: curl would cache files and notice a rotation late. */
    set_blob(call, CURLOPT_CAINFO_BLOB, tls->ca_pem);
    if (tls->ca_pem != NULL)
        SET(CURLOPT_CAPATH, NULL); /* only that CA, not also the system's */
    set_blob(call, CURLOPT_SSLCERT_BLOB, tls->cert_pem);
    set_blob(call, CURLOPT_SSLKEY_BLOB, tls->key_pem);
    if (tls->insecure) {
        SET(CURLOPT_SSL_VERIFYPEER, 0L);
        SET(CURLOPT_SSL_VERIFYHOST, 0L);
    }
}

/* The path and query, if curl may send them verbatim; else NULL. */
static const char *target_of(const struct pl_http_request *request, bool via_proxy)
{
    const char *authority = strstr(request->url, "://");
    if (authority == NULL || via_proxy)
        return NULL; /* a proxy may need the whole URL */
    const char *target = authority + 3 + strcspn(authority + 3, "/?#");
    if (*target != '/')
        return NULL;
    for (const char *p = target; *p != '\0'; p++)
        if (*p <= ' ' || *p >= 0x7f || *p == '#')
            return NULL;
    return target;
}

/* curl reads "http:///x" as "http://x". */
static bool lacks_host(const char *url)
{
    const char *authority = strstr(url, "://");
    return authority != NULL && (authority[3] == '\0' || strchr("/?#", authority[3]) != NULL);
}

/* For messages about a URL that is none. Its query and its user may be secrets. */
static char *quote_url(const struct pl_http_call *call)
{
    struct pl_slice url = pl_slice_z(call->url != NULL ? call->url : "");
    size_t len = call->url != NULL ? strcspn(call->url, "?#") : 0;
    char *masked = pl_secrets_mask(&call->secrets, pl_slice(url.ptr, len));
    char *quoted = pl_format("\"%.*s\"", len < SHOWN_MAX ? (int)len : SHOWN_MAX,
                             masked != NULL ? masked : url.ptr);
    pl_free(masked);
    return quoted;
}

const char *pl_http_call_where(struct pl_http_call *call)
{
    if (call->where == NULL) {
        CURLU *url = curl_url();
        char *host = NULL, *port = NULL;
        bool ok = call->url != NULL && !lacks_host(call->url) &&
                  curl_url_set(url, CURLUPART_URL, call->url, CURLU_PATH_AS_IS) == CURLUE_OK &&
                  curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
                  curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK;
        call->where = ok ? pl_format("%s:%s", host, port) : quote_url(call);
        curl_free(host);
        curl_free(port);
        curl_url_cleanup(url);
    }
    return call->where;
}

/* curl takes the name for SNI and verification from the URL. So the URL gets that name, the
 * connection goes to the real host, and the Host header names the real host. */
static bool set_server_name(struct pl_http_call *call, const char *server_name)
{
    const char *where = pl_http_call_where(call);
    const char *port = *where != '"' ? strrchr(where, ':') : NULL;
    CURLU *url = curl_url();
    char *changed = NULL;
    bool ok = port != NULL &&
              curl_url_set(url, CURLUPART_URL, call->url, CURLU_PATH_AS_IS) == CURLUE_OK &&
              curl_url_set(url, CURLUPART_HOST, server_name, 0) == CURLUE_OK &&
              curl_url_get(url, CURLUPART_URL, &changed, 0) == CURLUE_OK;
    curl_url_cleanup(url);
    if (!ok) {
        pl_http_call_fail(call, PL_EINVAL, "",
                          port == NULL ? "the URL is malformed"
                                       : "the TLS server name is malformed");
        return false;
    }
    SET(CURLOPT_URL, changed);
    curl_free(changed);
    char *lead = pl_format("%s%s:%s", server_name, port, where);
    call->connect_to = curl_slist_append(NULL, lead);
    pl_free(lead);
    SET(CURLOPT_CONNECT_TO, call->connect_to);
    char *line = pl_format("Host: %s", where);
    http_describe_add_line(call, line);
    pl_free(line);
    return true;
}

/* curl parses and rebuilds a URL several times for each request, character by character. So it gets
 * the URL's beginning, and the rest separately. */
static bool set_url(struct pl_http_call *call, const struct pl_http_request *request)
{
    const char *target = target_of(request, call->via_proxy);
    size_t len = target != NULL ? (size_t)(target - request->url) : strlen(request->url);
    call->url = pl_memdup0(request->url, len);
    if (lacks_host(request->url)) {
        pl_free(call->url);
        call->url = pl_strdup(request->url);
        pl_http_call_fail(call, PL_EINVAL, "", "the URL names no host");
        return false;
    }
    if (target != NULL)
        SET(CURLOPT_REQUEST_TARGET, target);
    if (request->tls != NULL && request->tls->server_name != NULL)
        return set_server_name(call, request->tls->server_name);
    SET(CURLOPT_URL, call->url);
    return true;
}

static void set_route(struct pl_http_call *call, const struct pl_http_request *request)
{
    SET(CURLOPT_NOPROXY,
        ""); /* values of this and the next option must not come from the environment */
    if (!call->via_proxy) {
        SET(CURLOPT_PROXY, "");
    } else if (strncasecmp(request->proxy, "socks5://", 9) == 0) {
        /* As in kubectl: the proxy resolves the name, which may not exist here. */
        char *remote = pl_format("socks5h://%s", request->proxy + 9);
        SET(CURLOPT_PROXY, remote);
        pl_free(remote);
    } else {
        SET(CURLOPT_PROXY, request->proxy);
    }
    SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    if (request->unix_socket != NULL)
        SET(CURLOPT_UNIX_SOCKET_PATH, request->unix_socket);
    if (request->user_password != NULL) {
        SET(CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        SET(CURLOPT_USERPWD, request->user_password);
    }
    if (strncasecmp(request->url, "https:", 6) == 0) {
        SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
        SET(CURLOPT_PIPEWAIT, 1L); /* many watches over one connection */
    } else {
        SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    }
    if (request->fresh_connection) {
        SET(CURLOPT_FRESH_CONNECT, 1L);
        SET(CURLOPT_DNS_CACHE_TIMEOUT, 0L);
    }
}

/* Also hides the password alone. */
static void hide_userinfo(struct pl_http_call *call, const char *url)
{
    struct pl_slice info = pl_url_userinfo(pl_slice_z(url != NULL ? url : ""));
    const char *colon = pl_slice_chr(info, ':');
    pl_secrets_add(&call->secrets, info);
    if (colon != NULL)
        pl_secrets_add(&call->secrets,
                       pl_slice(colon + 1, (size_t)(info.ptr + info.len - colon) - 1));
}

/* curl has a limit for texts, and setting a longer one fails. */
static bool is_within(struct pl_http_call *call, const char *what, const char *text, size_t most)
{
    size_t len = text != NULL ? strlen(text) : 0;
    if (len <= most)
        return true;
    char *message = pl_format("the %s has %zu bytes; it may have %zu", what, len, most);
    pl_http_call_fail(call, PL_ELIMIT, "", message);
    pl_free(message);
    return false;
}

static bool are_within(struct pl_http_call *call, const struct pl_http_request *request)
{
    const struct pl_tls_options *tls = request->tls;
    if (!is_within(call, "URL", request->url, URL_MAX) ||
        !is_within(call, "method", request->method, NAME_MAX_BYTES) ||
        !is_within(call, "proxy's URL", request->proxy, URL_MAX))
        return false;
    return tls == NULL || (is_within(call, "CA", tls->ca_pem, PEM_MAX) &&
                           is_within(call, "certificate", tls->cert_pem, PEM_MAX) &&
                           is_within(call, "key", tls->key_pem, PEM_MAX) &&
                           is_within(call, "TLS server name", tls->server_name, NAME_MAX_BYTES));
}

bool pl_http_call_describe(struct pl_http_call *call, const struct pl_http_request *request)
{
    call->via_proxy = request->proxy != NULL && request->proxy[0] != '\0';
    hide_userinfo(call, request->url);
    hide_userinfo(call, request->proxy);
    if (!are_within(call, request))
        return false;
    if (!http_describe_is_token(request->method)) {
        pl_http_call_fail(call, PL_EINVAL, "", "the method is malformed");
        return false;
    }
    if (!set_url(call, request) || !set_headers(call, request))
        return false;
    set_tls(call, request->tls);
    set_route(call, request);
    SET(CURLOPT_HTTPHEADER, call->header_list);
    return true;
}

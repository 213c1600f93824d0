/* From curl's result to our error. Callers decide about retries by code and reason, so each reason
 * must have one meaning: ConnectionRefused and Unreachable (nothing was sent), NotProcessed (the
 * server did not process it), ConnectionReset (it may have been processed), Timeout, TLS, DNS,
 * Proxy.
 *
 * curl's code does not distinguish these; refine looks at errno, at the phase that was reached and,
 * if there is no other way, at curl's text. The message names the method and the host; curl's text
 * follows in brackets. */
#include "net/http_call.h"
#include "net/http_trust.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The meaning of a curl code for decisions about retries, and the beginning of the message. */
struct meaning {
    CURLcode result;
    int code;
    const char *reason, *words;
};

#define NETWORK PL_ENETWORK
static const struct meaning meanings[] = {
    {CURLE_COULDNT_RESOLVE_HOST, NETWORK, "DNS", "the host's address was not found"},
    {CURLE_COULDNT_RESOLVE_PROXY, NETWORK, "DNS", "the proxy's address was not found"},
    {CURLE_COULDNT_CONNECT, NETWORK, "Unreachable", "cannot connect"},
    {CURLE_PROXY, NETWORK, "Proxy", "the proxy failed"},
    {CURLE_SSL_CONNECT_ERROR, NETWORK, "TLS", "TLS failed"},
    {CURLE_PEER_FAILED_VERIFICATION, NETWORK, "TLS", "the server's certificate is not trusted"},
    {CURLE_SSL_CERTPROBLEM, NETWORK, "TLS", "the client certificate can't be used"},
    {CURLE_SSL_CIPHER, NETWORK, "TLS", "TLS failed"},
    {CURLE_SSL_CACERT_BADFILE, NETWORK, "TLS", "the CA certificates can't be used"},
    {CURLE_SSL_ISSUER_ERROR, NETWORK, "TLS", "the server's certificate is not trusted"},
    {CURLE_SSL_ENGINE_NOTFOUND, NETWORK, "TLS", "TLS failed"},
    {CURLE_SSL_PINNEDPUBKEYNOTMATCH, NETWORK, "TLS", "the server's certificate is not trusted"},
    {CURLE_SSL_CLIENTCERT, NETWORK, "TLS", "the server wants a client certificate"},
    {CURLE_SEND_ERROR, NETWORK, "ConnectionReset", "the connection was lost while sending"},
    {CURLE_SEND_FAIL_REWIND, NETWORK, "ConnectionReset",
     "the connection was lost; the server may have carried out the request"},
    {CURLE_RECV_ERROR, NETWORK, "ConnectionReset", "the connection was lost"},
    {CURLE_GOT_NOTHING, NETWORK, "ConnectionReset", "the connection was closed without an answer"},
    {CURLE_PARTIAL_FILE, NETWORK, "ConnectionReset",
     "the connection was closed in the middle of the answer"},
    {CURLE_HTTP2, NETWORK, "ConnectionReset", "the HTTP/2 connection failed"},
    {CURLE_HTTP2_STREAM, NETWORK, "ConnectionReset", "the HTTP/2 stream was reset"},
    {CURLE_WEIRD_SERVER_REPLY, NETWORK, "Protocol", "the answer is not HTTP"},
    {CURLE_UNSUPPORTED_PROTOCOL, NETWORK, "Protocol", "the answer is not HTTP"},
    {CURLE_BAD_CONTENT_ENCODING, NETWORK, "Protocol", "the answer's encoding is malformed"},
    {CURLE_URL_MALFORMAT, PL_EINVAL, "", "the URL is malformed"},
};

static bool http_error_was_cut(const char *detail)
{
    return strstr(detail, "SSL_ERROR_SYSCALL") != NULL || strstr(detail, "reset by peer") != NULL ||
           strstr(detail, "Broken pipe") != NULL;
}

/* Refines the table's meaning by other information from curl. */
static void refine(struct meaning *meaning, const struct pl_http_call *call)
{
    long os_errno = 0, connect_code = 0;
    curl_easy_getinfo(call->easy, CURLINFO_OS_ERRNO, &os_errno);
    curl_easy_getinfo(call->easy, CURLINFO_HTTP_CONNECTCODE, &connect_code);
    bool lost = strcmp(meaning->reason, "ConnectionReset") == 0;
    if (lost && call->turn != NULL && call->turn->flooded) {
        meaning->words = "the server keeps sending data that is not an answer";
    } else if (lost && strstr(call->error, "SSL routines") != NULL) {
        /* With TLS 1.3 a server refuses a client's certificate after its handshake. */
        meaning->reason = "TLS";
        meaning->words = "the server ended TLS";
    } else if (lost && call->unseen) {
        meaning->reason = "NotProcessed";
        meaning->words = "the server closed the connection before it processed the request";
    } else if (strstr(call->error, PL_HTTP_NO_NAMES) != NULL) {
        meaning->words =
            "the server's certificate has only a common name: it needs the host's name "
            "or address as a subject alternative name";
    } else if (meaning->result == CURLE_SSL_CONNECT_ERROR && http_error_was_cut(call->error)) {
        meaning->reason = "ConnectionReset"; /* an error of the network and not of TLS */
        meaning->words = "the connection was lost while TLS was set up";
    } else if (meaning->result == CURLE_COULDNT_CONNECT && call->no_descriptors) {
        meaning->words = "cannot connect: too many open files";
    } else if (meaning->result == CURLE_COULDNT_CONNECT && os_errno == ECONNREFUSED) {
        meaning->reason = "ConnectionRefused";
        meaning->words = "connection refused";
    } else if (call->via_proxy && connect_code != 0 && connect_code / 100 != 2) {
        meaning->reason = "Proxy";
        meaning->words = "the proxy refused";
    }
}

static struct meaning meaning_of(const struct pl_http_call *call, CURLcode result)
{
    struct meaning meaning = {result, NETWORK, "Protocol", "the request failed"};
    for (size_t i = 0; i < PL_ARRAY_LEN(meanings); i++) {
        if (meanings[i].result == result)
            meaning = meanings[i];
    }
    refine(&meaning, call);
    return meaning;
}

static struct meaning meaning_of_timeout(const struct pl_http_call *call)
{
    curl_off_t ready_us = 0;
    curl_easy_getinfo(call->easy, CURLINFO_PRETRANSFER_TIME_T, &ready_us);
    if (ready_us == 0 && !call->responded)
        return (struct meaning){CURLE_OPERATION_TIMEDOUT, PL_ETIMEOUT, "ConnectTimeout",
                                "no connection in time"};
    return (struct meaning){CURLE_OPERATION_TIMEDOUT, PL_ETIMEOUT, "Timeout", "no answer in time"};
}

void pl_http_error(struct pl_err *err, struct pl_http_call *call, CURLcode result)
{
    struct meaning meaning =
        result == CURLE_OPERATION_TIMEDOUT ? meaning_of_timeout(call) : meaning_of(call, result);
    const char *detail = call->error[0] != '\0' ? call->error : curl_easy_strerror(result);
    char *masked = pl_secrets_mask(&call->secrets, pl_slice_z(detail));
    pl_err_set(err, meaning.code, "%s %s%s: %s (%s)", call->method, pl_http_call_where(call),
               call->via_proxy ? " through a proxy" : "", meaning.words,
               masked != NULL ? masked : detail);
    pl_free(masked);
    snprintf(err->reason, sizeof err->reason, "%s", meaning.reason);
}

#include "serve/bind_address.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int pl_bind_address_parse(const char *text, struct pl_bind_address *out, struct pl_err *err)
{
    *out = (struct pl_bind_address){.off = strcmp(text, "0") == 0};
    if (out->off)
        return 0;
    const char *colon = strrchr(text, ':'), *host = text;
    size_t len = colon != NULL ? (size_t)(colon - text) : 0;
    char *end = NULL;
    long port = colon != NULL && pl_is_digit(colon[1]) ? strtol(colon + 1, &end, 10) : -1;
    bool brackets = len >= 2 && text[0] == '[' && text[len - 1] == ']';
    if (brackets) {
        host++;
        len -= 2;
    }
    if (port < 0 || port > 65535 || *end != '\0' || len >= sizeof(out->host) ||
        (!brackets && memchr(host, ':', len) != NULL))
        return pl_err_set(err, PL_EINVAL,
                          "\"%.100s\" is not an address: it must be HOST:PORT, :PORT or 0 (off)",
                          text);
    memcpy(out->host, host, len);
    out->port = (int)port;
    return 0;
}

int pl_bind_address_choose(const char *text, int port, bool in_cluster, struct pl_bind_address *out,
                           struct pl_err *err)
{
    if (text != NULL)
        return pl_bind_address_parse(text, out, err);
    *out = (struct pl_bind_address){.port = port, .is_default = !in_cluster};
    snprintf(out->host, sizeof(out->host), "%s", in_cluster ? "" : "127.0.0.1");
    return 0;
}

void pl_bind_address_text(const struct pl_bind_address *address, int port, char *out, size_t size)
{
    bool brackets = strchr(address->host, ':') != NULL;
    snprintf(out, size, "%s%s%s:%d", brackets ? "[" : "", address->host, brackets ? "]" : "", port);
}

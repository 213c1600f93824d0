/* One pass checks every byte; then the text is cut at its separators. The rules are those of RFC
 * 3986, without its lenient forms. */
#include "format/url.h"

#include "base/text.h"
#include "format/ip.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_hex(char c)
{
    return isxdigit((unsigned char)c) != 0;
}

int pl_url_check_escapes(struct pl_slice text, struct pl_err *err)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '%' &&
            (text.len - i < 3 || !is_hex(text.ptr[i + 1]) || !is_hex(text.ptr[i + 2])))
            return pl_err_set(err, PL_EINVAL,
                              "byte %zu: %% must be followed by two hexadecimal digits", i + 1);
    }
    return 0;
}

/* Checks that every byte may occur in a URL, and that "%" has two digits. */
static bool check_bytes(struct pl_slice text, struct pl_err *err)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c <= ' ' || c > '~' || strchr("\"<>\\^`{|}", c) != NULL) {
            pl_err_set(err, PL_EINVAL, "byte %zu (0x%02x) must be escaped", i + 1, c);
            return false;
        }
    }
    return pl_url_check_escapes(text, err) == 0;
}

static bool is_scheme(struct pl_slice text)
{
    if (text.len == 0 || !pl_is_letter(text.ptr[0]))
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (!pl_is_alnum(text.ptr[i]) && strchr("+-.", text.ptr[i]) == NULL)
            return false;
    return true;
}

/* Cuts the text at the first of these bytes; returns the rest after it, or ptr NULL. */
static struct pl_slice url_cut(struct pl_slice *text, const char *at)
{
    for (size_t i = 0; i < text->len; i++) {
        if (strchr(at, text->ptr[i]) == NULL)
            continue;
        struct pl_slice rest = pl_slice(text->ptr + i + 1, text->len - i - 1);
        text->len = i;
        return rest;
    }
    return pl_slice(NULL, 0);
}

static int read_port(struct pl_slice text, struct pl_url *url, struct pl_err *err)
{
    int value = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (!pl_is_digit(text.ptr[i]) || i == 5)
            return pl_err_set(err, PL_EINVAL, "the port must be a number up to 65535");
        value = value * 10 + (text.ptr[i] - '0');
    }
    if (value > 65535)
        return pl_err_set(err, PL_EINVAL, "the port must be a number up to 65535");
    url->port = text.len > 0 ? value : -1; /* "host:" has no port */
    return 0;
}

static int read_brackets(struct pl_slice text, struct pl_url *url, struct pl_err *err)
{
    struct pl_slice inside = pl_slice(text.ptr + 1, text.len - 1);
    struct pl_slice behind = url_cut(&inside, "]");
    struct pl_ip ip;
    if (behind.ptr == NULL || pl_slice_chr(inside, ':') == NULL ||
        pl_ip_parse(inside, &ip, NULL) != 0 || ip.is_network)
        return pl_err_set(err, PL_EINVAL, "the brackets must hold an IPv6 address");
    if (behind.len > 0 && behind.ptr[0] != ':')
        return pl_err_set(err, PL_EINVAL, "\"]\" must be followed by a port or the path");
    url->host = inside;
    return behind.len > 0 ? read_port(pl_slice(behind.ptr + 1, behind.len - 1), url, err) : 0;
}

/* What may stand in a host, escaped or not: letters, digits, "-._~!$&'()*+,;=" and bytes over 0x7f.
 * A reader that decodes an escaped "/" or "@" first would see another host. */
static int check_host_escapes(struct pl_slice host, struct pl_err *err)
{
    for (size_t i = 0; i < host.len; i++) {
        if (host.ptr[i] != '%')
            continue;
        char digits[3] = {host.ptr[i + 1], host.ptr[i + 2], '\0'};
        long c = strtol(digits, NULL, 16);
        if (c < 0x80 && !isalnum((int)c) && (c == 0 || strchr("-._~!$&'()*+,;=", (int)c) == NULL))
            return pl_err_set(err, PL_EINVAL, "the host must not have \"%%%s\" in it", digits);
    }
    return 0;
}

/* True if some reader may take the last label, decoded, for a number: digits, or "0x7f". */
static bool ends_in_number(struct pl_slice host)
{
    size_t len = 0;
    bool digits = true, hex = true;
    for (size_t i = 0; i < host.len; i++) {
        char c = host.ptr[i];
        if (c == '%') {
            char escaped[3] = {host.ptr[i + 1], host.ptr[i + 2], '\0'};
            c = (char)strtol(escaped, NULL, 16);
            i += 2;
        }
        if (c == '.') {
            bool ends = i + 1 >= host.len; /* the dot at the end of an absolute name */
            len = ends ? len : 0;
            digits = hex = !ends || digits;
            continue;
        }
        digits = digits && pl_is_digit(c);
        hex = hex && (len == 0 ? c == '0' : len == 1 ? (c | 0x20) == 'x' : is_hex(c));
        len++;
    }
    return len > 0 && (digits || (hex && len > 1));
}

/* Programs read "127.1" and "0x7f.0.0.1" as an address, or as a name. */
static int check_host_number(struct pl_slice host, struct pl_err *err)
{
    struct pl_ip ip;
    if (!ends_in_number(host) || (pl_ip_parse(host, &ip, NULL) == 0 && !ip.is_network))
        return 0;
    return pl_err_set(err, PL_EINVAL,
                      "the host ends with a number, but is not an address such as 10.0.0.1");
}

static int read_authority(struct pl_slice text, struct pl_url *url, struct pl_err *err)
{
    const char *at = pl_slice_chr(text, '@');
    if (at != NULL) {
        url->user = pl_slice(text.ptr, (size_t)(at - text.ptr));
        url->password = url_cut(&url->user, ":");
        text = pl_slice(at + 1, text.len - (size_t)(at - text.ptr) - 1);
    }
    if (text.len > 0 && text.ptr[0] == '[')
        return read_brackets(text, url, err);
    struct pl_slice port = url_cut(&text, ":");
    for (size_t i = 0; i < text.len; i++)
        if (strchr("@[]", text.ptr[i]) != NULL)
            return pl_err_set(err, PL_EINVAL, "the host must not have \"%c\" in it", text.ptr[i]);
    url->host = text;
    if (check_host_escapes(text, err) != 0 || check_host_number(text, err) != 0)
        return PL_EINVAL;
    if (text.len == 0 && (port.ptr != NULL || at != NULL))
        return pl_err_set(err, PL_EINVAL, "there is no host");
    return read_port(port, url, err);
}

/* Browsers find a host in URLs of these schemes however many slashes there are. */
static bool always_has_host(struct pl_slice scheme)
{
    static const char names[][8] = {"http", "https", "ws", "wss", "ftp"};
    for (size_t i = 0; i < PL_ARRAY_LEN(names); i++)
        if (scheme.len == strlen(names[i]) && strncasecmp(scheme.ptr, names[i], scheme.len) == 0)
            return true;
    return false;
}

int pl_url_parse(struct pl_slice text, struct pl_url *url, struct pl_err *err)
{
    *url = (struct pl_url){.port = -1};
    if (text.len > PL_URL_MAX)
        return pl_err_set(err, PL_EINVAL, "more than 64 KiB");
    if (text.len == 0)
        return pl_err_set(err, PL_EINVAL, "the text is empty");
    if (!check_bytes(text, err))
        return PL_EINVAL;
    url->fragment = url_cut(&text, "#");
    url->query = url_cut(&text, "?");
    const char *colon = pl_slice_chr(text, ':');
    url->scheme = pl_slice(text.ptr, colon != NULL ? (size_t)(colon - text.ptr) : 0);
    if (!is_scheme(url->scheme))
        return pl_err_set(err, PL_EINVAL, "it must begin with a scheme such as https:");
    struct pl_slice rest = pl_slice(colon + 1, text.len - url->scheme.len - 1);
    bool needs_host = always_has_host(url->scheme);
    if (!pl_text_begins(rest, "//")) {
        url->path = rest;
        return needs_host ? pl_err_set(err, PL_EINVAL, "%.*s: must be followed by //",
                                       (int)url->scheme.len, url->scheme.ptr)
                          : 0;
    }
    rest = pl_slice(rest.ptr + 2, rest.len - 2);
    size_t len = 0;
    while (len < rest.len && rest.ptr[len] != '/')
        len++;
    url->path = pl_slice(rest.ptr + len, rest.len - len);
    if (needs_host && len == 0)
        return pl_err_set(err, PL_EINVAL, "there is no host");
    return read_authority(pl_slice(rest.ptr, len), url, err);
}

/* The checks that keep out other sites and other users of this machine.
 *
 * A browser sends requests to loopback for any site that it shows. So the Host must be loopback's,
 * which a rebound name is not; the Origin must be the page's own; every request needs the token;
 * and an action needs it as a header, which another site's form or image cannot send. Tokens are
 * compared in constant time. */
#include "page/access.h"

#include "base/rand.h"
#include "format/ip.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- hosts ---- */

static bool access_is_address(struct pl_slice host, struct pl_ip *ip)
{
    return pl_ip_parse(host, ip, NULL) == 0 && !ip->is_network;
}

/* True for an address of loopback, or localhost; without brackets. */
static bool page_is_loopback(struct pl_slice host)
{
    static const char localhost[] = "localhost";
    static const unsigned char one[16] = {[15] = 1};
    struct pl_ip ip;
    if (host.len == strlen(localhost) && strncasecmp(host.ptr, localhost, host.len) == 0)
        return true;
    if (!access_is_address(host, &ip))
        return false;
    return ip.len == 4 ? ip.bytes[0] == 127 : memcmp(ip.bytes, one, sizeof one) == 0;
}

int pl_page_access_init(struct pl_page_access *access, const char *bound, int port)
{
    *access =
        (struct pl_page_access){.bound = bound, .loopback = page_is_loopback(pl_slice_z(bound))};
    if (pl_rand_hex(access->token, PL_PAGE_TOKEN) != 0)
        return PL_EIO;
    snprintf(access->cookie, sizeof access->cookie, "perilune-%d", port);
    return 0;
}

/* "127.0.0.1:80" -> "127.0.0.1", "[::1]:80" -> "::1". Empty when it is malformed. */
static struct pl_slice without_port(const char *text)
{
    const char *end = *text == '[' ? strchr(text, ']') : strchr(text, ':');
    if (*text == '[')
        return end != NULL ? pl_slice(text + 1, (size_t)(end - text - 1)) : pl_slice_z("");
    return pl_slice(text, end != NULL ? (size_t)(end - text) : strlen(text));
}

/* Without loopback: the address or name of the listener, or any address; a name may be rebound. */
static bool is_ours(const struct pl_page_access *access, struct pl_slice host)
{
    struct pl_ip ip;
    if (page_is_loopback(host))
        return true;
    return !access->loopback && (access_is_address(host, &ip) || pl_slice_eqz(host, access->bound));
}

/* An Origin is "http://" and the Host. */
static bool is_same_origin(const struct pl_page_caller *caller)
{
    static const char scheme[] = "http://";
    size_t len = strlen(scheme);
    return caller->origin == NULL || (strncasecmp(caller->origin, scheme, len) == 0 &&
                                      strcasecmp(caller->origin + len, caller->host) == 0);
}

/* ---- the token ---- */

static bool access_is_token(const struct pl_page_access *access, struct pl_slice text)
{
    unsigned char differs = 0;
    if (text.len != PL_PAGE_TOKEN)
        return false;
    for (size_t i = 0; i < PL_PAGE_TOKEN; i++)
        differs |= (unsigned char)(text.ptr[i] ^ access->token[i]);
    return differs == 0;
}

static bool has_header(const struct pl_page_access *access, const char *authorization)
{
    static const char scheme[] = "Bearer ";
    size_t len = strlen(scheme);
    return authorization != NULL && strncasecmp(authorization, scheme, len) == 0 &&
           access_is_token(access, pl_slice_z(authorization + len));
}

/* "a=1; perilune-80=TOKEN; b=2" */
static bool has_cookie(const struct pl_page_access *access, const char *cookie)
{
    size_t len = strlen(access->cookie);
    for (const char *at = cookie; at != NULL && *at != '\0';) {
        at += strspn(at, " ;");
        size_t size = strcspn(at, ";");
        if (size > len && strncmp(at, access->cookie, len) == 0 && at[len] == '=' &&
            access_is_token(access, pl_slice(at + len + 1, size - len - 1)))
            return true;
        at += size;
    }
    return false;
}

enum pl_page_verdict pl_page_access_look(const struct pl_page_access *access,
                                         const struct pl_page_caller *caller)
{
    if (caller->host == NULL || !is_ours(access, without_port(caller->host)))
        return PL_PAGE_FOREIGN_HOST;
    return is_same_origin(caller) ? PL_PAGE_WELCOME : PL_PAGE_FOREIGN_ORIGIN;
}

enum pl_page_verdict pl_page_access_check(const struct pl_page_access *access,
                                          const struct pl_page_caller *caller)
{
    enum pl_page_verdict verdict = pl_page_access_look(access, caller);
    if (verdict != PL_PAGE_WELCOME || has_header(access, caller->authorization))
        return verdict;
    if (!has_cookie(access, caller->cookie))
        return PL_PAGE_NO_TOKEN;
    return caller->acts ? PL_PAGE_NO_HEADER : PL_PAGE_WELCOME;
}

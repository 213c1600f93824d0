/* Takes the host from the headers Host and Origin and compares names case-insensitively. A header
 * that cannot be parsed is refused. */
#include "apicall/caller.h"

#include "base/text.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define MAX_NAME 256

/* Empty, or ":80". */
static bool is_port(struct pl_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (i == 0 ? text.ptr[i] != ':' : !pl_is_digit(text.ptr[i]))
            return false;
    }
    return true;
}

/* "[::1]:80" -> "::1", "localhost:80" -> "localhost"; empty: malformed. */
static struct pl_slice without_port(struct pl_slice authority)
{
    const char *end = authority.ptr + authority.len, *host = authority.ptr, *stop;
    bool brackets = authority.len > 0 && *host == '[';
    stop = memchr(host, brackets ? ']' : ':', authority.len);
    if (brackets && stop == NULL)
        return pl_slice("", 0);
    stop = stop == NULL ? end : stop;
    host += brackets;
    const char *port = stop + brackets;
    return is_port(pl_slice(port, (size_t)(end - port))) ? pl_slice(host, (size_t)(stop - host))
                                                         : pl_slice("", 0);
}

/* AF_INET, AF_INET6 or 0, and the address' bytes. */
static int address_of(struct pl_slice host, unsigned char bytes[16])
{
    char text[MAX_NAME];
    if (host.len >= sizeof(text))
        return 0;
    memcpy(text, host.ptr, host.len);
    text[host.len] = '\0';
    if (inet_pton(AF_INET, text, bytes) == 1)
        return AF_INET;
    return inet_pton(AF_INET6, text, bytes) == 1 ? AF_INET6 : 0;
}

static bool caller_is_name(struct pl_slice host, const char *name)
{
    return strlen(name) == host.len && strncasecmp(host.ptr, name, host.len) == 0;
}

bool pl_api_host_is_loopback(struct pl_slice host)
{
    unsigned char bytes[16];
    static const unsigned char one[16] = {[15] = 1};
    int family = host.len > 0 ? address_of(host, bytes) : 0;
    if (family == AF_INET)
        return bytes[0] == 127;
    return family == AF_INET6 ? memcmp(bytes, one, sizeof(one)) == 0
                              : caller_is_name(host, "localhost");
}

static bool is_every_address(const char *bound)
{
    return *bound == '\0' || strcmp(bound, "0.0.0.0") == 0 || strcmp(bound, "::") == 0;
}

bool pl_api_host_is_ours(const char *bound, struct pl_slice authority)
{
    struct pl_slice host = without_port(authority);
    char own[MAX_NAME] = "";
    unsigned char bytes[16];
    if (host.len == 0)
        return false;
    if (pl_api_host_is_loopback(host) || caller_is_name(host, bound))
        return true;
    if (!is_every_address(bound))
        return false;
    return address_of(host, bytes) != 0 ||
           (gethostname(own, sizeof(own) - 1) == 0 && caller_is_name(host, own));
}

bool pl_api_caller_is_allowed(const char *bound, const char *host, const char *origin)
{
    if (host != NULL && !pl_api_host_is_ours(bound, pl_slice_z(host)))
        return false;
    if (origin == NULL)
        return true;
    const char *authority = strstr(origin, "://");
    return authority != NULL && pl_api_host_is_ours(bound, pl_slice_z(authority + 3));
}

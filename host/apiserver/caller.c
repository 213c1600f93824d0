#include "apiserver/caller.h"

#include "base/base.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define MAX_NAME 256

/* "[::1]:80" -> "::1", "localhost:80" -> "localhost" */
static struct pl_slice without_port(struct pl_slice authority)
{
    if (authority.len > 0 && authority.ptr[0] == '[') {
        const char *end = memchr(authority.ptr, ']', authority.len);
        return end == NULL ? pl_slice("", 0)
                           : pl_slice(authority.ptr + 1, (size_t)(end - authority.ptr) - 1);
    }
    const char *colon = memchr(authority.ptr, ':', authority.len);
    return colon == NULL ? authority : pl_slice(authority.ptr, (size_t)(colon - authority.ptr));
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

static bool is_name(struct pl_slice host, const char *name)
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
    return family == AF_INET6 ? memcmp(bytes, one, sizeof(one)) == 0 : is_name(host, "localhost");
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
    if (pl_api_host_is_loopback(host) || is_name(host, bound))
        return true;
    if (!is_every_address(bound))
        return false;
    return address_of(host, bytes) != 0 ||
           (gethostname(own, sizeof(own) - 1) == 0 && is_name(host, own));
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

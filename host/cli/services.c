/* Addresses of Services from the command line.
 *
 * The embedded API server runs no pods, so its user says where a Service leads. The table is
 * complete before the server starts and then only read: the server's thread needs no lock. */
#include "cli/services.h"

#include "base/alloc.h"
#include "base/text.h"

#include <string.h>

#define PORT 443

struct pl_service_place {
    char *ns, *name; /* owned */
    int port;
    const char *where; /* borrowed: "HOST:PORT" */
};

static bool read_port(const char *text, size_t len, int *port)
{
    long value = 0;
    for (size_t i = 0; i < len && value <= 65535; i++) {
        if (!pl_is_digit(text[i]))
            return false;
        value = value * 10 + (text[i] - '0');
    }
    *port = (int)value;
    return len > 0 && value >= 1 && value <= 65535;
}

int pl_service_parse(const char *flag, const char *text, size_t len, char **ns, char **name,
                     int *port, struct pl_err *err)
{
    const char *colon = memchr(text, ':', len);
    size_t end = colon != NULL ? (size_t)(colon - text) : len;
    const char *slash = memchr(text, '/', end);
    size_t first = slash != NULL ? (size_t)(slash - text) : 0;
    *port = PORT;
    if (colon != NULL && !read_port(colon + 1, len - end - 1, port))
        return pl_err_set(err, PL_EINVAL, "--%s: \"%.100s\" has no port from 1 to 65535", flag,
                          text);
    if (slash == NULL || first == 0 || first + 1 == end ||
        memchr(slash + 1, '/', end - first - 1) != NULL)
        return pl_err_set(err, PL_EINVAL, "--%s takes NAMESPACE/NAME[:PORT]%s, not \"%.200s\"",
                          flag, strcmp(flag, "service") == 0 ? "=HOST:PORT" : "", text);
    *ns = pl_memdup0(text, first);
    *name = pl_memdup0(slash + 1, end - first - 1);
    return 0;
}

static int read_place(const char *text, struct pl_service_place *out, struct pl_err *err)
{
    const char *equals = strchr(text, '=');
    const char *colon = equals != NULL ? strrchr(equals, ':') : NULL;
    int port;
    if (colon == NULL || colon == equals + 1 || !read_port(colon + 1, strlen(colon + 1), &port) ||
        strpbrk(equals + 1, "/ @?#") != NULL)
        return pl_err_set(err, PL_EINVAL,
                          "--service takes NAMESPACE/NAME[:PORT]=HOST:PORT, not \"%.200s\"", text);
    out->where = equals + 1;
    return pl_service_parse("service", text, (size_t)(equals - text), &out->ns, &out->name,
                            &out->port, err);
}

int pl_services_read(char *const *texts, struct pl_services *out, struct pl_err *err)
{
    size_t count = 0;
    while (texts != NULL && texts[count] != NULL)
        count++;
    *out = (struct pl_services){.places = pl_calloc(count + 1, sizeof(*out->places))};
    for (size_t i = 0; i < count; i++) {
        int rc = read_place(texts[i], &out->places[i], err);
        if (rc != 0)
            return rc;
        out->count++;
    }
    return 0;
}

void pl_services_deinit(struct pl_services *services)
{
    for (size_t i = 0; i < services->count; i++) {
        pl_free(services->places[i].ns);
        pl_free(services->places[i].name);
    }
    pl_free(services->places);
}

bool pl_services_find(void *arg, const struct pl_api_service *service, struct pl_buf *where)
{
    const struct pl_services *services = arg;
    for (size_t i = 0; i < services->count; i++) {
        const struct pl_service_place *place = &services->places[i];
        if (place->port != service->port || strcmp(place->ns, service->ns) != 0 ||
            strcmp(place->name, service->name) != 0)
            continue;
        pl_buf_add_z(where, place->where);
        return true;
    }
    return false;
}

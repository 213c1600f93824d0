/* Addresses of Services for the embedded API server: --service NS/NAME[:PORT]=HOST:PORT. Read on
 * the main thread; after that unchanged, and used by the server's thread. */
#pragma once

#include "apiserver/api.h"

struct pl_services {
    struct pl_service_place *places; /* owned */
    size_t count;
};

/* texts: NULL-terminated; NULL: none. EINVAL with the reason. Deinit in both cases. */
PL_MUST_USE int pl_services_read(char *const *texts, struct pl_services *out, struct pl_err *err);
void pl_services_deinit(struct pl_services *services);
/* For pl_api_services, with the services as arg. */
bool pl_services_find(void *arg, const struct pl_api_service *service, struct pl_buf *where);

/* Parses "NS/NAME[:PORT]" up to len; the caller frees the texts. Also for --webhook-service. */
PL_MUST_USE int pl_service_parse(const char *flag, const char *text, size_t len, char **ns,
                                 char **name, int *port, struct pl_err *err);

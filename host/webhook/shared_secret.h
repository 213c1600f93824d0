/* Certificates that replicas share through a Secret of type Opaque (tls.crt, tls.key, ca.crt,
 * ca.key): whoever finds none makes them, whoever finds them due renews them, and everybody takes
 * what is there. Written by create, and by update with its version: two replicas never both win.
 * What somebody broke is made anew. I/O thread. */
#pragma once

#include "kube/client.h"
#include "webhook/certificates.h"

struct pl_shared_secret;

struct pl_shared_secret_options {
    struct pl_client *client; /* borrowed until it is closed, as are the timers */
    struct pl_timers *timers;
    const char *ns, *name;    /* copied */
    const char *const *names; /* what the certificate is for; borrowed for life */
    /* They are others now. Borrowed for the call. */
    void (*changed)(void *arg, const struct pl_certificates *now);
    void *arg;
};

struct pl_shared_secret *pl_shared_secret_create(const struct pl_shared_secret_options *options);
void pl_shared_secret_close(struct pl_shared_secret *secret); /* accepts NULL */

/* ---- documents; pure ---- */

/* What a Secret holds; members that are missing or malformed are NULL. */
struct pl_certificates pl_shared_secret_read(struct pl_node secret);
/* The Secret with these; before: as it is now, or missing. A document of its own. */
struct pl_doc *pl_shared_secret_make(struct pl_node before, const char *ns, const char *name,
                                     const struct pl_certificates *certificates);

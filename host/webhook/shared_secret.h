/* Certificates that replicas share through a Secret of type Opaque (tls.crt, tls.key, ca.crt,
 * ca.key). A replica that finds none makes them, a replica that finds them due renews them, and all
 * use the stored ones. They are written by create, and by update with the version, so two replicas
 * never both succeed. Invalid content is replaced, other keys stay. A Secret that has only other
 * keys, or has another type and cannot be used, belongs to somebody else: it is not written. I/O
 * thread. */
#pragma once

#include "kube/client.h"
#include "webhook/certificates.h"

struct pl_shared_secret;

struct pl_shared_secret_options {
    struct pl_client *client; /* borrowed until it is closed, like the timers */
    struct pl_timers *timers;
    const char *ns, *name;    /* copied */
    const char *const *names; /* names of the certificate; borrowed for life */
    /* The certificates have changed. Borrowed for the call. */
    void (*changed)(void *arg, const struct pl_certificates *now);
    void *arg;
};

/* The caller owns the result and ends it with pl_shared_secret_close. */
struct pl_shared_secret *pl_shared_secret_create(const struct pl_shared_secret_options *options);
void pl_shared_secret_close(struct pl_shared_secret *secret); /* accepts NULL */

/* The Secret belongs to somebody else, so its certificates are neither used nor made. */
bool pl_shared_secret_is_foreign(const struct pl_shared_secret *secret);

/* ---- documents; pure ---- */

/* The content of a Secret; missing and malformed members are NULL. */
struct pl_certificates pl_shared_secret_read(struct pl_node secret);
/* The Secret with these certificates; before: the current one, whose other keys stay, or missing.
 * An independent document; the caller owns a reference. */
struct pl_doc *pl_shared_secret_make(struct pl_node before, const char *ns, const char *name,
                                     const struct pl_certificates *certificates);

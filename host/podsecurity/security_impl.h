/* Shared by the checks of the Pod Security Standards. Private to this folder. */
#pragma once

#include "valid/check.h"
#include "podsecurity/security.h"

/* Different texts in the order in which they were added. */
struct pl_names {
    struct pl_tree *list; /* NULL while there are none */
};

/* A Pod that is checked. */
struct pl_secured {
    struct pl_arena *arena;
    const struct pl_tree *pod, *spec;
    int minor;
    struct pl_slice reason, detail; /* result of the last check; reason empty: the Pod passes */
};

void pl_names_add(struct pl_secured *s, struct pl_names *names, struct pl_slice text);
size_t pl_names_count(const struct pl_names *names);
void pl_names_sort(struct pl_secured *s, struct pl_names *names);
/* "a", "b" in quotes. */
struct pl_slice pl_names_quoted(struct pl_secured *s, const struct pl_names *names);
/* a, b */
struct pl_slice pl_names_plain(struct pl_secured *s, const struct pl_names *names);
/* `one` if there is one name, else `several`. */
const char *pl_names_plural(const struct pl_names *names, const char *one, const char *several);
/* containers "a", "b" */
struct pl_slice pl_names_containers(struct pl_secured *s, const struct pl_names *names);
/* pod and containers "a" */
struct pl_slice pl_names_setters(struct pl_secured *s, bool pod, const struct pl_names *names);

/* The Pod fails the check. */
void pl_secured_fail(struct pl_secured *s, const char *reason, struct pl_slice detail);

/* Calls the function for all containers (init, normal, ephemeral) and adds the names of those for
 * which it returns true. */
typedef bool pl_container_fn(struct pl_secured *s, const struct pl_tree *container, void *arg);
void pl_secured_each(struct pl_secured *s, pl_container_fn *asked, void *arg,
                     struct pl_names *found);
/* securityContext.member of a container or of the pod's spec: a part of it, or NULL. */
const struct pl_tree *pl_secured_context(const struct pl_tree *owner, const char *member);
bool pl_secured_windows(const struct pl_secured *s);
/* hostUsers: false. */
bool pl_secured_mapped(const struct pl_secured *s);

/* ---- checks; a check that the Pod passes sets nothing ---- */

typedef void pl_security_check(struct pl_secured *s);

pl_security_check pl_secure_app_armor, pl_secure_capabilities, pl_secure_host_namespaces,
    pl_secure_host_paths, pl_secure_host_ports, pl_secure_probes, pl_secure_privileged,
    pl_secure_proc_mount, pl_secure_selinux, pl_secure_seccomp, pl_secure_sysctls,
    pl_secure_windows, pl_secure_escalation, pl_secure_no_capabilities, pl_secure_non_root,
    pl_secure_user, pl_secure_volumes, pl_secure_some_seccomp;

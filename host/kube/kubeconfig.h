/* The API server's address and our credentials: kubeconfig files (merged), contexts, in-cluster.
 * Reading is synchronous and happens at start; kube/credentials.h handles later changes (token
 * files, exec plugins). Any thread; each pl_kubeconfig is used by one thread at a time. */
#pragma once

#include "base/err.h"
#include "net/http.h"

#include <stdbool.h>

struct pl_exec_plugin {
    char *command; /* owned */
    char **args;   /* owned, NULL-terminated */
    char **env;    /* owned "NAME=value", NULL-terminated: the host's, changed by the entry's */
    char *api_version;
    char *install_hint; /* NULL: none */
    bool provide_cluster_info;
    char *cluster_config; /* JSON of the cluster's extension for plugins; NULL: none */
};

struct pl_kubeconfig {
    char *source;  /* for messages: the file(s), "in-cluster" or "--server"; all texts are owned */
    char *context; /* NULL: none */
    char *server;  /* "https://host:port/prefix" without a trailing slash */
    char *ns;      /* the context's namespace, NULL: none */
    char *ca_pem, *cert_pem, *key_pem; /* inline data or the files' content; NULL: none */
    char *ca_file, *cert_file,
        *key_file; /* the files they came from, for re-reading; NULL: inline */
    char *server_name;
    bool insecure;
    char *proxy;      /* proxy-url, else from HTTPS_PROXY/HTTP_PROXY and NO_PROXY; NULL: none */
    char *token;      /* with a token_file: its content at load */
    char *token_file; /* wins over token, re-read when it changes */
    char *username, *password;
    char *impersonate_user, *impersonate_uid;
    char **impersonate_groups;   /* NULL-terminated; NULL: none */
    struct pl_exec_plugin *exec; /* NULL: none */
};

struct pl_kubeconfig_options {
    const char *files;          /* --kubeconfig; NULL: $KUBECONFIG, in-cluster, ~/.kube/config */
    const char *context;        /* --context; NULL: current-context */
    const char *server;         /* --server; NULL: the cluster's */
    const char *const *environ; /* "NAME=value", NULL-terminated */
    const char *root;           /* tests: put in front of /var/run/secrets/...; NULL: "" */
};

/* 0, or an error that names the file, the context and the remedy. The caller deinits. */
PL_MUST_USE int pl_kubeconfig_load(const struct pl_kubeconfig_options *options,
                                   struct pl_kubeconfig *config, struct pl_err *err);
/* The same for a text of another author (a Secret's): it may name neither files nor programs of
 * this machine. source: its name for messages. */
PL_MUST_USE int pl_kubeconfig_parse(struct pl_slice text, const char *source,
                                    const struct pl_kubeconfig_options *options,
                                    struct pl_kubeconfig *config, struct pl_err *err);
void pl_kubeconfig_deinit(struct pl_kubeconfig *config);

/* One parsed request: path, parameters, the Accept header. */
#pragma once

#include "net/http.h"
#include "object/tree.h"
#include "schema/status.h"

#include <stdbool.h>
#include <stdint.h>

/* The request as it arrived, borrowed for the call. Absent headers are NULL. */
struct pl_api_call {
    const char *method;
    struct pl_slice path, query; /* still escaped */
    const char *accept, *content_type, *user_agent, *authorization, *host, *origin, *if_none_match;
    const char *upgrade, *ws_key, *ws_protocol; /* headers of a WebSocket handshake; NULL: none */
    const struct pl_http_header *impersonate;   /* Impersonate-* headers, unchanged */
    size_t impersonate_count;
    struct pl_slice body;
};

enum pl_api_form { PL_API_PLAIN, PL_API_TABLE, PL_API_PARTIAL };

enum pl_api_body {
    PL_API_JSON,
    PL_API_YAML,
    PL_API_PROTOBUF,
    PL_API_MERGE,
    PL_API_JSON_PATCH,
    PL_API_STRATEGIC,
    PL_API_APPLY,
    PL_API_UNKNOWN_BODY
};

struct pl_api_request {
    struct pl_api_call call;
    bool is_resource; /* the path is /api/v1/... or /apis/G/V/... with a resource */
    struct pl_slice group, version, resource, ns, name, subresource; /* unescaped */
    bool is_watch_path;                                              /* /api/v1/watch/... */
    size_t depth; /* number of path segments after /api/v1 or /apis/G/V */
    enum pl_api_form form;
    bool wants_partial_list; /* with PL_API_PARTIAL: PartialObjectMetadataList */
    bool is_yaml_answer;
    bool wants_whole;    /* discovery as one document */
    bool has_other_form; /* only forms are accepted that this server does not have */
    bool takes_proto;    /* and prefers it to `form` */
    enum pl_api_form proto_form;
    bool takes_nothing_else;
    bool is_proto_answer; /* set when the type is known (protobuf.h) */
    bool is_pretty;
    enum pl_api_body body_form;

    /* parameters; empty when absent */
    struct pl_slice label_selector, field_selector, shard_selector, resource_version, version_match,
        next, include; /* includeObject: "", "Metadata", "Object", "None" */
    struct pl_slice field_manager, field_validation, propagation;
    struct pl_slice dry; /* dryRun as it was sent */
    bool watch, bookmarks, dry_run, force, has_force, ignore_unreadable;
    bool has_send_initial, send_initial;
    bool has_orphan, orphan;  /* orphanDependents */
    int64_t limit, timeout_s; /* 0: none */
    bool has_grace;
    int64_t grace_s;
};

/* Fills `out`; its texts live in the status' arena. 0, or -1 with the status filled in. */
int pl_api_request_parse(struct pl_api_request *request, const struct pl_api_call *call,
                         struct pl_api_status *status);
/* -1, with 406: the server has none of the forms that the client accepts. */
int pl_api_fail_form(struct pl_api_status *status);
/* 406: -1. */
int pl_api_fail_media_type(const struct pl_api_request *request, struct pl_api_status *status);
/* The field manager of writes: the parameter, or the user agent up to "/". */
struct pl_slice pl_api_request_manager(const struct pl_api_request *request);
/* The verb of a request for a resource: get list watch create update patch delete deletecollection;
 * "" if its method fits none. Literals. */
const char *pl_api_verb(const struct pl_api_request *request);

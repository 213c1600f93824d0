/* Where in a document the texts stand that a veil hides: values of Secrets, in objects, lists,
 * requests and patches; tokens that the API server has made; credentials in headers of requests to
 * other servers. No state. */
#pragma once

#include "value/doc.h"

/* Where a node is. */
enum pl_place {
    PL_PLACE_OTHER,
    PL_PLACE_ROOT,        /* of an argument or a result */
    PL_PLACE_SECRET,      /* a Secret, a list of Secrets, or a request that writes one */
    PL_PLACE_METADATA,    /* of a Secret */
    PL_PLACE_ANNOTATIONS, /* of a Secret */
    PL_PLACE_DATA,        /* a map of values in base64 */
    PL_PLACE_PLAIN_DATA,  /* a map of values */
    PL_PLACE_HEADERS,     /* of a request to another server */
    PL_PLACE_ISSUED,      /* a TokenRequest or a TokenReview */
    PL_PLACE_TOKEN,       /* the part of it that holds the token */
    PL_PLACE_CODED,       /* a text to hide, in base64 */
    PL_PLACE_VALUE,       /* a text to hide */
    PL_PLACE_APPLIED,     /* a text to hide: the last applied configuration of a Secret */
};

/* The place of a node, from what it says itself. place: where it was found. */
enum pl_place pl_place_of(struct pl_node node, enum pl_place place);
/* The place of a member of an object. place: the object's, from pl_place_of. */
enum pl_place pl_place_of_member(struct pl_node object, enum pl_place place, struct pl_slice key,
                                 struct pl_node value);
/* True for a variable of the environment that is a secret, by its name ("API_KEY"), or since its
 * value is a URL with a password. */
bool pl_place_is_secret_variable(struct pl_slice name, struct pl_slice value);

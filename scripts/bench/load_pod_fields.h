/* The protobuf fields of the load server's pods, with the numbers of
 * k8s.io/api/core/v1/generated.proto and of the files that it imports. */
#pragma once

#include <stdint.h>

/* What a member of the JSON is in its message. */
enum load_field_type {
    FIELD_LEFT_OUT,
    FIELD_TEXT,
    FIELD_NUMBER,
    FIELD_FLAG,
    FIELD_TIME,
    FIELD_MESSAGE,
    FIELD_TEXTS,           /* a map */
    FIELD_QUANTITIES,      /* a map */
    FIELD_NUMBER_NOT_TEXT, /* IntOrString; only numbers occur */
    FIELD_JSON,            /* a message that holds the value's text */
};

struct load_field {
    const char *name;
    uint8_t number;
    uint8_t within; /* a message around it that JSON does not show, by its field; or 0 */
    enum load_field_type type;
    const struct load_field *fields; /* FIELD_MESSAGE: up to one without a name */
};

extern const struct load_field load_pod_fields[];

/* The names of verbs, as RBAC, logs and metrics know them. */
#include "kube/client.h"

#include "base/check.h"

const char *pl_verb_name(enum pl_verb verb)
{
    switch (verb) {
    case PL_VERB_GET:
        return "get";
    case PL_VERB_LIST:
        return "list";
    case PL_VERB_CREATE:
        return "create";
    case PL_VERB_UPDATE:
        return "update";
    case PL_VERB_PATCH:
        return "patch";
    case PL_VERB_DELETE:
        return "delete";
    case PL_VERB_DELETE_COLLECTION:
        return "deletecollection";
    }
    PL_UNREACHABLE();
}

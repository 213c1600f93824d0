/* The version and the commit from the build. */
#include "serve/version.h"

#ifndef PL_COMMIT
#define PL_COMMIT "unknown"
#endif

const char *pl_version(void)
{
    return PL_VERSION;
}

const char *pl_version_commit(void)
{
    return PL_COMMIT;
}

const char *pl_user_agent(void)
{
    return "perilune/" PL_VERSION;
}

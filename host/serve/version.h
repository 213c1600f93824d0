/* The version of this binary. */
#pragma once

const char *pl_version(void);        /* "0.1.0" */
const char *pl_version_commit(void); /* "abc1234", or "unknown" */
const char *pl_user_agent(void);     /* "perilune/0.1.0", the User-Agent */

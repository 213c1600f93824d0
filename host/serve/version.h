/* The version of this binary. */
#pragma once

/* "0.1.0"; a literal, as both texts below. */
const char *pl_version(void);
const char *pl_version_commit(void); /* "abc1234", or "unknown" */
const char *pl_user_agent(void);     /* "perilune/0.1.0", the User-Agent */

#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

void pl_check_failed(const char *what, const char *file, int line)
{
    fprintf(stderr, "perilune: broken invariant at %s:%d: %s\n", file, line, what);
    abort();
}

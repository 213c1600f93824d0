#include "event/remote_spec.h"

#include "base/alloc.h"

void pl_remote_spec_deinit(struct pl_remote_spec *spec)
{
    pl_free(spec->name);
    pl_free(spec->kubeconfig);
    pl_free(spec->context);
    pl_free(spec->secret_ns);
    pl_free(spec->secret_name);
    pl_free(spec->secret_key);
}

#include "write/gate_op.h"

#include <stdarg.h>
#include <stdio.h>

int pl_gate_refuse(struct pl_err *err, const char *rule, const char *fmt, ...)
{
    char message[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    pl_err_set(err, PL_EREFUSED, "%s", message);
    snprintf(err->reason, sizeof err->reason, "%s", rule);
    return PL_EREFUSED;
}

const struct pl_controller_spec *pl_gate_writer(const struct pl_gate_op *op)
{
    const struct pl_writer *writer = op->w.edition != NULL ? op->w.edition : op->w.controller;
    return writer != NULL ? writer->spec : NULL;
}

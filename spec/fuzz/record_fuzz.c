/* A record's file with arbitrary content. */
#include "record/reader.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pl_reader reader;
    struct pl_err err;
    pl_err_clear(&err);
    PL_IGNORE(pl_reader_parse(&reader, pl_slice((const char *)data, size), &err));
    pl_reader_deinit(&reader);
    return 0;
}

#include "control/trouble.h"

#include "base/check.h"

#include <string.h>

#define FIELDS_MAX 4
#define SAY_AGAIN  (60 * PL_SECOND)

static bool is_another(const struct pl_err *a, const struct pl_err *b)
{
    return a->code != b->code || a->status != b->status || strcmp(a->reason, b->reason) != 0;
}

bool pl_trouble_note(struct pl_trouble *trouble, const struct pl_err *err, int64_t now_ns,
                     const char *message, const struct pl_field *fields, size_t count)
{
    bool first = !pl_trouble_is_on(trouble);
    /* Messages carry ports and durations that differ each time, so that other words alone
     * must not make a line a retry. */
    bool say = first || is_another(&trouble->err, err) ||
               (strcmp(trouble->err.message, err->message) != 0 &&
                now_ns - trouble->logged_ns >= SAY_AGAIN);
    if (first) {
        trouble->since_ns = now_ns;
        trouble->failures = 0;
    }
    trouble->err = *err;
    trouble->failures++;
    if (!say)
        return false;
    trouble->logged_ns = now_ns;
    PL_REQUIRE(count <= FIELDS_MAX);
    struct pl_field all[FIELDS_MAX + 1];
    for (size_t i = 0; i < count; i++)
        all[i] = fields[i];
    all[count] = pl_str("error", err->message);
    pl_log_fields(PL_LOG_WARN, message, all, count + 1);
    return true;
}

void pl_trouble_end(struct pl_trouble *trouble, int64_t now_ns, const char *message,
                    const struct pl_field *fields, size_t count)
{
    if (!pl_trouble_is_on(trouble))
        return;
    PL_REQUIRE(count <= FIELDS_MAX);
    struct pl_field all[FIELDS_MAX + 2];
    for (size_t i = 0; i < count; i++)
        all[i] = fields[i];
    all[count] = pl_int("failures", trouble->failures);
    all[count + 1] = pl_num("seconds", (double)(now_ns - trouble->since_ns) / (double)PL_SECOND);
    pl_log_fields(PL_LOG_INFO, message, all, count + 2);
    *trouble = (struct pl_trouble){0};
}

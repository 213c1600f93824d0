/* The kind of a trouble is its code, its status and its reason. Within one kind the same message is
 * not repeated, and other messages are logged at most once a minute, as they contain ports and
 * durations. Every failure is counted. */
#include "sync/trouble.h"

#include "base/check.h"
#include "base/hash.h"

#include <string.h>

#define FIELDS_MAX 4
#define SAY_AGAIN  (60 * PL_SECOND)

static uint64_t kind_of(const struct pl_err *err)
{
    uint64_t kind = pl_hash(err->reason, strlen(err->reason), 0);
    return kind ^ ((uint64_t)(uint32_t)err->code << 32) ^ (uint64_t)err->status;
}

/* Messages contain ports and durations that differ each time, so a different message alone must not
 * cause a log line at each retry. */
static bool is_worth_saying(struct pl_trouble *trouble, const struct pl_err *err, int64_t now_ns)
{
    uint64_t kind = kind_of(err), words = pl_hash(err->message, strlen(err->message), 0);
    unsigned place = trouble->next_said % PL_TROUBLE_KINDS;
    bool said = false;
    for (unsigned i = 0; i < PL_TROUBLE_KINDS && i < trouble->next_said; i++) {
        if (trouble->said[i].kind != kind)
            continue;
        if (trouble->said[i].words == words || now_ns - trouble->said[i].at_ns < SAY_AGAIN)
            return false;
        said = true;
        place = i;
    }
    trouble->next_said += !said;
    trouble->said[place].kind = kind;
    trouble->said[place].words = words;
    trouble->said[place].at_ns = now_ns;
    return true;
}

void pl_trouble_count(struct pl_trouble *trouble, const struct pl_err *err, int64_t now_ns)
{
    if (!pl_trouble_is_on(trouble)) {
        trouble->since_ns = now_ns;
        trouble->failures = 0;
    }
    trouble->err = *err;
    trouble->failures++;
}

bool pl_trouble_note(struct pl_trouble *trouble, const struct pl_err *err, int64_t now_ns,
                     const char *message, const struct pl_field *fields, size_t count)
{
    pl_trouble_count(trouble, err, now_ns);
    if (!is_worth_saying(trouble, err, now_ns))
        return false;
    PL_REQUIRE(count <= FIELDS_MAX);
    struct pl_field all[FIELDS_MAX + 1];
    for (size_t i = 0; i < count; i++)
        all[i] = fields[i];
    all[count] = pl_str("error", err->message);
    pl_log_fields(PL_LOG_WARN, message, all, count + 1);
    trouble->told = true;
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
    if (trouble->told)
        pl_log_fields(PL_LOG_INFO, message, all, count + 2);
    *trouble = (struct pl_trouble){0};
}

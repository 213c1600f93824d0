/* A question has one answerer and is answered once. The asker may end before the answer comes; then
 * the answer has no effect. */
#include "event/question.h"

#include "base/alloc.h"

#include <string.h>

static struct pl_asked *asked_of(struct pl_question *question)
{
    return PL_CONTAINER_OF(question, struct pl_asked, q);
}

void pl_asked_init(struct pl_asked *asked, const struct pl_event *event,
                   void (*done)(struct pl_asked *asked))
{
    *asked = (struct pl_asked){.done = done};
    asked->q.event = *event;
    pl_doc_ref(event->object);
    pl_doc_ref(event->old);
}

void pl_asked_reset(struct pl_asked *asked)
{
    for (size_t i = 0; i < asked->value_count; i++) {
        pl_free(asked->values[i].index);
        pl_buf_deinit(&asked->values[i].values.text);
    }
    pl_free(asked->values);
    pl_free(asked->verdicts);
    pl_free(asked->map_failure);
    pl_free(asked->traceback);
    asked->values = NULL;
    asked->verdicts = NULL;
    asked->map_failure = asked->traceback = NULL;
    asked->value_count = asked->verdict_count = 0;
    pl_requests_clear(&asked->requests);
}

void pl_asked_deinit(struct pl_asked *asked)
{
    pl_asked_reset(asked);
    pl_requests_deinit(&asked->requests);
    pl_doc_unref(asked->q.event.object);
    pl_doc_unref(asked->q.event.old);
}

enum pl_verdict pl_asked_verdict(void *arg, int leaf, const struct pl_event *event)
{
    const struct pl_asked *asked = arg;
    PL_UNUSED(event);
    for (size_t i = asked->verdict_count; i-- > 0;)
        if (asked->verdicts[i].leaf == leaf)
            return asked->verdicts[i].pass ? PL_VERDICT_PASS : PL_VERDICT_DROP;
    return PL_VERDICT_PASS;
}

/* ---- the answerer's side ---- */

void pl_question_verdict(struct pl_question *question, int leaf, bool pass)
{
    struct pl_asked *asked = asked_of(question);
    asked->verdicts =
        pl_reallocarray(asked->verdicts, asked->verdict_count + 1, sizeof(struct pl_asked_leaf));
    asked->verdicts[asked->verdict_count++] = (struct pl_asked_leaf){leaf, pass};
}

void pl_question_request(struct pl_question *question, struct pl_slice ns, struct pl_slice name)
{
    pl_requests_add(&asked_of(question)->requests, ns, name);
}

void pl_question_value(struct pl_question *question, const char *index, struct pl_slice value)
{
    struct pl_asked *asked = asked_of(question);
    size_t i = 0;
    while (i < asked->value_count && strcmp(asked->values[i].index, index) != 0)
        i++;
    if (i == asked->value_count) {
        asked->values =
            pl_reallocarray(asked->values, ++asked->value_count, sizeof(struct pl_asked_values));
        asked->values[i] = (struct pl_asked_values){.index = pl_strdup(index)};
    }
    pl_values_add(&asked->values[i].values, value);
}

void pl_question_map_failed(struct pl_question *question, const char *message,
                            const char *traceback)
{
    struct pl_asked *asked = asked_of(question);
    pl_free(asked->map_failure);
    pl_free(asked->traceback);
    asked->map_failure = pl_strdup(message != NULL ? message : "the map function failed");
    asked->traceback = pl_strdup_or_null(traceback);
}

void pl_question_done(struct pl_question *question)
{
    struct pl_asked *asked = asked_of(question);
    asked->done(asked);
}

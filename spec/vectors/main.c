/* Reads scenarios from standard input, one a line, and answers each with one line. */
#include "driver.h"

#include "base/alloc.h"
#include "base/log.h"
#include "value/scan.h"
#include "value/write.h"

#include <stdio.h>
#include <stdlib.h>

static const struct component *const components[] = {
    &store_component,       &deltafifo_component,  &workqueue_component, &priorityqueue_component,
    &ratelimiter_component, &predicates_component, &handlers_component,  &leaderelection_component,
};

static const struct component *component_of(struct pl_slice name)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(components); i++)
        if (pl_slice_eqz(name, components[i]->name))
            return components[i];
    return NULL;
}

/* Moving the clock at once must equal moving it in small steps: what happens on the way
 * happens at its own instant. */
static void advance(const struct component *component, void *self, struct clock *clock,
                    int64_t by_ns)
{
    int64_t target = clock->now_ns + by_ns, due;
    while (component->next_due != NULL && component->next_due(self, &due) && due <= target) {
        if (due > clock->now_ns)
            clock->now_ns = due;
        component->settle(self);
    }
    clock->now_ns = target;
}

static void run_step(const struct component *component, void *self, struct clock *clock,
                     struct pl_node step, struct pl_build *out)
{
    struct pl_scratch room;
    struct pl_slice op = pl_node_str(pl_node_getz(step, "op"), &room);
    if (pl_slice_eqz(op, "advance")) {
        advance(component, self, clock, duration_of(pl_node_getz(step, "by"), 0));
        pl_build_null(out);
    } else {
        component->step(self, op, step, out);
    }
    if (component->settle != NULL)
        component->settle(self);
}

static void run_steps(const struct component *component, void *self, struct clock *clock,
                      struct pl_node steps, struct pl_build *out)
{
    pl_build_keyz(out, "results");
    pl_build_array(out);
    struct pl_iter it = pl_iter(steps);
    while (pl_iter_next(&it))
        run_step(component, self, clock, it.value, out);
    pl_build_end(out);
    component->destroy(self);
}

static struct pl_doc *answer(struct pl_node scenario)
{
    struct pl_scratch room;
    struct pl_slice name = pl_node_str(pl_node_getz(scenario, "component"), &room);
    const struct component *component = component_of(name);
    struct clock clock = {0};
    const char *skip = "not available yet";
    void *self = NULL;
    if (component != NULL)
        self = component->create(&clock, pl_node_getz(scenario, "options"), &skip);
    struct pl_build *out = pl_build_create(NULL);
    pl_build_object(out);
    pl_build_keyz(out, "name");
    pl_build_node(out, pl_node_getz(scenario, "name"));
    if (self != NULL)
        run_steps(component, self, &clock, pl_node_getz(scenario, "steps"), out);
    else
        put_member_str(out, "skip", pl_slice_z(skip));
    pl_build_end(out);
    return pl_build_close(out);
}

static bool answer_line(struct pl_slice line)
{
    struct pl_err err;
    struct pl_doc *scenario = pl_scan_text(line, &(struct pl_scan_options){0}, &err);
    if (scenario == NULL) {
        fprintf(stderr, "not a scenario: %s\n", err.message);
        return false;
    }
    struct pl_doc *doc = answer(pl_doc_root(scenario));
    struct pl_buf text = PL_BUF_INIT;
    pl_write(&text, pl_doc_root(doc), PL_WRITE_COMPACT);
    puts(pl_buf_z(&text));
    fflush(stdout);
    pl_buf_deinit(&text);
    pl_doc_unref(doc);
    pl_doc_unref(scenario);
    return true;
}

int main(void)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t len;
    int status = 0;
    pl_log_configure(PL_LOG_ERROR + 1, false, 2); /* scenarios provoke what need not be read */
    while ((len = getline(&line, &cap, stdin)) > 0)
        if (line[0] == '{' && !answer_line(pl_slice(line, (size_t)len)))
            status = 1;
    free(line);
    return status;
}

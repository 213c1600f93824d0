/* The authorizer: the attributes that a check asks about, checks that are refused before, and that
 * an expression can afford only two checks. */
#include "cel/authz.h"
#include "cel/cel.h"

#include "support/test.h"

#include <string.h>

struct asked {
    struct pl_cel_authorizer by;
    struct pl_buf log; /* what was asked, one a line */
};

static void add(struct pl_buf *log, const char *name, struct pl_slice text)
{
    if (text.len > 0)
        pl_buf_add_f(log, "%s=%.*s ", name, PL_FMT(text));
}

static struct pl_cel_decision answer(void *arg, const struct pl_cel_check *check,
                                     struct pl_slice verb)
{
    struct asked *asked = arg;
    add(&asked->log, "account", check->account);
    add(&asked->log, "of", check->account_ns);
    add(&asked->log, "path", check->path);
    add(&asked->log, "group", check->group);
    add(&asked->log, "resource", check->resource);
    add(&asked->log, "sub", check->subresource);
    add(&asked->log, "ns", check->ns);
    add(&asked->log, "name", check->name);
    add(&asked->log, "fields", check->field_selector);
    add(&asked->log, "labels", check->label_selector);
    pl_buf_add_f(&asked->log, "%.*s\n", PL_FMT(verb));
    bool is_allowed = pl_slice_eqz(verb, "get"), is_broken = pl_slice_eqz(verb, "break");
    return (struct pl_cel_decision){.allowed = is_allowed,
                                    .reason = pl_slice_z(is_allowed ? "because" : ""),
                                    .error = pl_slice_z(is_broken ? "broken" : "")};
}

static void check(const char *expression, const char *want, const char *log)
{
    static const struct pl_cel_type authorizer = {.kind = PL_CEL_AUTHORIZER},
                                    resource = {.kind = PL_CEL_RESOURCE_CHECK};
    static const struct pl_cel_var vars[] = {{"authorizer", &authorizer},
                                             {"authorizer.requestResource", &resource}};
    struct asked asked = {.log = PL_BUF_INIT};
    struct pl_arena arena = {0};
    struct pl_buf why = PL_BUF_INIT;
    uint64_t cost = 0;
    asked.by = (struct pl_cel_authorizer){.decide = answer, .arg = &asked};
    const struct pl_cel_check own = {.by = &asked.by, .resource = pl_slice_z("maps")};
    const struct pl_cel values[] = {pl_cel_authorizer_value(&arena, &asked.by),
                                    pl_cel_resource_check_value(&arena, &own)};
    struct pl_cel_program *program = pl_cel_compile(pl_slice_z(expression), vars, 2, &why);
    if (program == NULL) {
        TEST_FAIL("%s: %s", expression, pl_buf_z(&why));
    } else {
        struct pl_cel got = pl_cel_evaluate(program, &arena, values, PL_CEL_CALL_LIMIT, &cost);
        struct pl_slice shown =
            got.kind == PL_CEL_BOOL ? pl_slice_z(got.b ? "true" : "false") : got.s;
        if (!pl_slice_eqz(shown, want))
            TEST_FAIL("%s: %.*s", expression, PL_FMT(shown));
        CHECK_STR(pl_buf_z(&asked.log), log);
    }
    pl_cel_program_destroy(program);
    pl_arena_deinit(&arena);
    pl_buf_deinit(&why);
    pl_buf_deinit(&asked.log);
}

TEST(a_check_says_what_was_put_together)
{
    check("authorizer.path('/healthz').check('get').allowed()", "true", "path=/healthz get\n");
    check("authorizer.group('apps').resource('deployments').subresource('scale').namespace('x')"
          ".name('y').fieldSelector('a=b').labelSelector('c').check('update').allowed()",
          "false",
          "group=apps resource=deployments sub=scale ns=x name=y fields=a=b labels=c update\n");
    check("authorizer.serviceAccount('ns', 'a.b').group('').resource('pods').check('get').reason()",
          "because", "account=a.b of=ns resource=pods get\n");
    check("authorizer.group('').resource('pods').name('x').name('').check('break').error()",
          "broken", "resource=pods break\n");
    check("authorizer.requestResource.namespace('z').check('break').errored()", "true",
          "resource=maps ns=z break\n");
}

TEST(a_step_leaves_what_it_came_from_alone)
{
    check("[authorizer.group('a')].all(g, g.resource('b').name('c').check('get').allowed() && "
          "g.resource('d').check('get').allowed())",
          "true", "group=a resource=b name=c get\ngroup=a resource=d get\n");
}

TEST(what_cannot_be_asked_is_an_error)
{
    check("authorizer.path(' ').check('get').allowed()", "path must not be empty", "");
    check("authorizer.group('').resource('\\t').check('get').allowed()",
          "resource must not be empty", "");
    check("authorizer.serviceAccount('a.b', 'c').path('/').check('get').allowed()",
          "Invalid service account namespace", "");
    check("authorizer.serviceAccount('a', 'C').path('/').check('get').allowed()",
          "Invalid service account name", "");
    check("authorizer == authorizer", "no such overload", "");
    check("authorizer.path('/').check('x').errored() || authorizer.path('/').check('y').errored() "
          "|| authorizer.path('/').check('z').errored()",
          PL_CEL_OVER_LIMIT, "path=/ x\npath=/ y\n");
}

TEST_MAIN()

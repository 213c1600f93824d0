/* perilune repl: evaluates Lua in a running host, which can read its caches. */
#include "base/base.h"
#include "operate/operate.h"
#include "operate/show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct pl_flag table[] = {
    PL_ADMIN_FLAGS,
    {.name = "execute",
     .letter = 'e',
     .metavar = "LUA",
     .help = "evaluate this text and exit (default: read standard input, line by line)"},
};

struct repl {
    struct pl_admin_client client;
    int64_t session; /* 0: none yet */
    bool failed;     /* the last line failed */
    bool ended;
};

static int repl_evaluate(struct repl *repl, const char *text, struct pl_err *err)
{
    struct pl_scratch scratch;
    struct pl_build *request = pl_admin_request_begin("repl");
    if (repl->session != 0) {
        pl_build_put_int(request, "session", repl->session);
    }
    pl_build_keyz(request, "text");
    if (!pl_is_utf8(pl_slice_z(text))) {
        pl_build_destroy(request);
        return pl_err_set(err, PL_EINVAL, "the text to evaluate must be UTF-8");
    }
    pl_build_strz(request, text);
    struct pl_doc *answer = pl_admin_ask(&repl->client, request, err);
    if (answer == NULL)
        return err->code;
    struct pl_node root = pl_doc_root(answer);
    struct pl_slice said = pl_show_text(root, "text", &scratch);
    repl->session = pl_show_int(root, "session");
    repl->failed = pl_node_bool(pl_node_getz(root, "failed"));
    repl->ended = pl_node_bool(pl_node_getz(root, "ended"));
    if (said.len > 0)
        fprintf(repl->failed ? stderr : stdout, "%.*s\n", PL_FMT(said));
    pl_doc_unref(answer);
    return fflush(stdout) == 0 ? 0 : pl_err_set(err, PL_EIO, "the answer could not be written");
}

static int converse(struct repl *repl, struct pl_err *err)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t len;
    int rc = 0;
    bool person = isatty(STDIN_FILENO);
    while (rc == 0 && !repl->ended) {
        if (person) {
            fputs("> ", stdout);
            fflush(stdout);
        }
        len = getline(&line, &room, stdin);
        if (len < 0)
            break;
        if (len > 0 && line[len - 1] == '\n')
            line[--len] = '\0';
        if (len > 0)
            rc = repl_evaluate(repl, line, err);
    }
    if (person)
        putchar('\n');
    free(line);
    return rc;
}

static void close_session(struct repl *repl)
{
    struct pl_err err;
    if (repl->session == 0 || repl->ended)
        return;
    struct pl_build *request = pl_admin_request_begin("repl");
    pl_build_put_int(request, "session", repl->session);
    pl_build_put_bool(request, "close", true);
    pl_doc_unref(pl_admin_ask(&repl->client, request, &err));
}

int pl_command_repl(const struct pl_command *self, int argc, char *const *argv)
{
    struct pl_flags flags;
    struct pl_err err;
    pl_err_clear(&err);
    struct repl repl = {.client = {.fd = -1}};
    int exit_code = PL_EXIT_OK;
    if (pl_command_flags(self, &flags, table, PL_ARRAY_LEN(table), argc, argv, &exit_code)) {
        const char *text = pl_flags_text(&flags, "execute");
        int rc = pl_admin_connect(&repl.client, &flags, &err);
        if (rc == 0)
            rc = text != NULL ? repl_evaluate(&repl, text, &err) : converse(&repl, &err);
        close_session(&repl);
        if (rc != 0)
            exit_code = pl_admin_failed(self, &err);
        else if (repl.failed)
            exit_code = PL_EXIT_FAILURE;
        pl_admin_disconnect(&repl.client);
    }
    pl_flags_deinit(&flags);
    return exit_code;
}

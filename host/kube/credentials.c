/* The identity, computed anew for each request. Files are checked before every request and read
 * when their stamp has changed; a token's file is also read after a minute (rule 153), since a
 * stamp may be wrong.
 *
 * An unreadable, empty or incomplete file never replaces working credentials: a token must look
 * like one, a CA must be a whole bundle, a certificate and a key must belong together.
 *
 * An identity is immutable and counted: requests under way keep theirs. An exec plugin runs once
 * for all waiting callers, with a deadline, and does not run again for a second after a failure.
 * Tokens and keys are wiped before their memory is freed. */
#include "kube/credentials.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "crypto/pem.h"
#include "kube/exec_plugin.h"
#include "kube/kubeconfig_impl.h"
#include "kube/proxy.h"
#include "net/process.h"

#include <stdio.h>

#define TOKEN_AGE_NS     (60 * PL_SECOND) /* rule 153 */
#define PLUGIN_TIMEOUT_S 60
#define SAID_MAX         ((size_t)64 << 10) /* limit of its stderr in the log */
#define SAID_LINE        1000
/* A plugin that fails, or gives credentials that expire soon, does not run for each request. */
#define PLUGIN_REST_NS (1 * PL_SECOND)
/* Files that do not belong together are not parsed for each request. */
#define PAIR_REST_NS (1 * PL_SECOND)
/* The next credentials are requested this long before the current ones expire; the current ones are
 * used meanwhile. */
#define RENEWAL_NS (5 * PL_SECOND)

/* A file that may be replaced at any time, and its last content. */
struct watched {
    const char *path; /* borrowed from the config; NULL: there is none */
    struct pl_file_stamp stamp;
    char *content; /* owned; NULL: none */
};

struct pl_credentials {
    const struct pl_kubeconfig *config;
    const struct pl_clock *clock;
    struct pl_loop *loop;
    struct pl_waits *waits_registry;
    struct pl_identity *current; /* a reference; NULL before the plugin's answer */
    bool https, warned;

    struct watched ca, cert, key, token;
    int64_t pair_broken_ns; /* time when cert and key did not belong together; 0: they do */
    int64_t token_read_ns;

    struct pl_exec_answer answer; /* of the plugin's last successful run */
    bool answer_rejected;
    struct pl_process *process; /* NULL: the plugin does not run */
    struct pl_buf said;         /* its stderr, until it has ended; lines */
    struct pl_wait plugin_wait;
    struct pl_list waits; /* struct pl_credentials_wait */
    struct pl_err plugin_err;
    int64_t plugin_ended_ns; /* end of its last run, with any result */
};

/* ---- identities ---- */

static struct pl_identity *identity_ref(struct pl_identity *identity)
{
    identity->refs++;
    return identity;
}

void pl_identity_unref(struct pl_identity *identity)
{
    if (identity == NULL || --identity->refs > 0)
        return;
    pl_text_wipe(identity->key);
    pl_text_wipe(identity->authorization);
    pl_text_wipe(identity->user_password);
    pl_free(identity->ca);
    pl_free(identity->cert);
    pl_free(identity);
}

/* A token with a line break would end the header. */
static bool credentials_is_token(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text <= ' ' || *text > '~')
            return false;
    }
    return true;
}

static const char *token_of(const struct pl_credentials *c)
{
    if (c->config->exec != NULL)
        return c->answer.token;
    return c->token.content != NULL ? c->token.content : c->config->token;
}

/* Logged once: someone on the network path could read the credentials. */
static void warn_about_exposure(struct pl_credentials *c)
{
    if (c->warned || (c->https && !c->config->insecure))
        return;
    c->warned = true;
    pl_log(PL_LOG_WARN,
           c->https ? "credentials are sent to a server whose certificate is not verified"
                    : "credentials are sent without encryption",
           pl_str("server", c->config->server));
}

static void set_identity(struct pl_credentials *c)
{
    struct pl_identity *identity = PL_NEW(struct pl_identity);
    bool plugin_cert = c->answer.cert_pem != NULL;
    const char *token = token_of(c);
    identity->refs = 1;
    identity->ca = pl_strdup_or_null(c->ca.content);
    identity->cert = pl_strdup_or_null(plugin_cert ? c->answer.cert_pem : c->cert.content);
    identity->key = pl_strdup_or_null(plugin_cert ? c->answer.key_pem : c->key.content);
    identity->options = (struct pl_tls_options){
        .ca_pem = identity->ca,
        .cert_pem = identity->cert,
        .key_pem = identity->key,
        .server_name = c->config->server_name,
        .insecure = c->config->insecure,
    };
    identity->tls = c->https ? &identity->options : NULL;
    if (token != NULL)
        identity->authorization = pl_format("Bearer %s", token);
    else if (c->config->username != NULL)
        identity->user_password =
            pl_format("%s:%s", c->config->username, c->config->password ? c->config->password : "");
    if (identity->authorization != NULL || identity->user_password != NULL)
        warn_about_exposure(c);
    pl_identity_unref(c->current);
    c->current = identity;
}

/* ---- files ---- */

/* The file's current content, and its stamp before reading; NULL: it is unreadable or empty. */
static char *read_now(const char *path, struct pl_file_stamp *stamp)
{
    struct pl_buf content = PL_BUF_INIT;
    struct pl_err err;
    *stamp = pl_file_stamp(path);
    if (pl_file_read(path, PL_KUBECONFIG_BYTES, &content, &err) == 0 && content.len > 0)
        return pl_buf_take(&content);
    pl_buf_deinit(&content);
    return NULL;
}

/* Takes the content; true when it has changed. */
static bool credentials_take(struct watched *file, char *content, const struct pl_file_stamp *stamp)
{
    bool changed = file->content == NULL || strcmp(file->content, content) != 0;
    file->stamp = *stamp;
    pl_text_wipe(file->content);
    file->content = content;
    return changed;
}

/* True when the content has changed. If the file is unreadable or incomplete, the old content stays
 * in use and the file is checked again at the next request. */
static bool reread(struct watched *file, bool (*is_whole)(const char *content))
{
    struct pl_file_stamp stamp;
    char *content = read_now(file->path, &stamp);
    if (content != NULL && is_whole(content))
        return credentials_take(file, content, &stamp);
    pl_text_wipe(content);
    return false;
}

static bool credentials_has_changed(const struct watched *file)
{
    struct pl_file_stamp stamp;
    if (file->path == NULL)
        return false;
    stamp = pl_file_stamp(file->path);
    return stamp.inode != 0 && !pl_file_stamp_eq(&stamp, &file->stamp);
}

/* Certificate and key are written one after the other, and may be missing for a while. Until they
 * belong together again, the last matching pair stays in use (F42). */
static bool refresh_pair(struct pl_credentials *c)
{
    struct watched *files[] = {&c->cert, &c->key};
    struct pl_file_stamp stamps[2];
    char *contents[2] = {NULL, NULL};
    int64_t now = pl_clock_mono(c->clock);
    bool broken_lately = c->pair_broken_ns != 0 && now - c->pair_broken_ns < PAIR_REST_NS;
    if (broken_lately || (!credentials_has_changed(&c->cert) && !credentials_has_changed(&c->key)))
        return false;
    for (int i = 0; i < 2; i++)
        contents[i] = files[i]->path != NULL ? read_now(files[i]->path, &stamps[i])
                                             : pl_strdup_or_null(files[i]->content);
    bool changed = false;
    bool is_pair =
        contents[0] != NULL && contents[1] != NULL && pl_pem_is_pair(contents[0], contents[1]);
    c->pair_broken_ns = is_pair ? 0 : now;
    for (int i = 0; i < 2; i++) {
        if (is_pair && files[i]->path != NULL)
            changed = credentials_take(files[i], contents[i], &stamps[i]) || changed;
        else
            pl_text_wipe(contents[i]);
    }
    return changed;
}

static bool is_token_file(const char *content)
{
    size_t len = strcspn(content, " \t\r\n");
    for (size_t i = 0; i < len; i++) {
        if (content[i] < '!' || content[i] > '~')
            return false;
    }
    return len > 0;
}

static bool refresh_token(struct pl_credentials *c)
{
    if (c->token.path == NULL)
        return false;
    char *old = pl_strdup_or_null(c->token.content);
    c->token_read_ns = pl_clock_mono(c->clock);
    bool changed = reread(&c->token, is_token_file);
    if (changed) {
        c->token.content[strcspn(c->token.content, " \t\r\n")] = '\0';
        changed = old == NULL || strcmp(old, c->token.content) != 0;
    }
    pl_text_wipe(old);
    return changed;
}

static void refresh_files(struct pl_credentials *c)
{
    bool changed = false;
    bool token_is_old = pl_clock_mono(c->clock) - c->token_read_ns >= TOKEN_AGE_NS;
    if (credentials_has_changed(&c->ca))
        changed = reread(&c->ca, pl_pem_is_bundle) || changed;
    changed = refresh_pair(c) || changed;
    if (c->token.path != NULL && (token_is_old || credentials_has_changed(&c->token)))
        changed = refresh_token(c) || changed;
    if (changed && c->current != NULL) {
        pl_log(PL_LOG_INFO, "credentials were read again", pl_str("from", c->config->source));
        set_identity(c);
    }
}

/* ---- the plugin ---- */

static void tell_all(struct pl_credentials *c, const struct pl_err *err)
{
    struct pl_list waiting; /* a callback may ask again */
    struct pl_link *link;
    pl_list_init(&waiting);
    pl_list_splice(&waiting, &c->waits);
    struct pl_identity *identity = err == NULL ? identity_ref(c->current) : NULL;
    struct pl_err copy;
    if (err != NULL)
        copy = *err;
    while ((link = pl_list_pop(&waiting)) != NULL) {
        struct pl_credentials_wait *wait = PL_CONTAINER_OF(link, struct pl_credentials_wait, link);
        wait->ready(wait, identity != NULL ? identity_ref(identity) : NULL,
                    err != NULL ? &copy : NULL);
    }
    pl_identity_unref(identity);
}

static int take_answer(struct pl_credentials *c, struct pl_slice output, struct pl_err *err)
{
    struct pl_exec_answer answer;
    int code = pl_exec_answer_parse(output, c->config->exec->api_version, &answer, err);
    if (code == 0 && answer.token != NULL && !credentials_is_token(answer.token))
        code = pl_err_set(err, PL_EINVAL,
                          "the plugin's token has characters that a token cannot have");
    if (code != 0) {
        pl_exec_answer_deinit(&answer);
        return code;
    }
    pl_exec_answer_deinit(&c->answer);
    c->answer = answer;
    c->answer_rejected = false;
    set_identity(c);
    return 0;
}

/* ---- the plugin's stderr ---- */

static void on_plugin_line(void *arg, struct pl_slice line)
{
    struct pl_credentials *c = arg;
    if (c->said.len + line.len >= SAID_MAX)
        return;
    pl_buf_add_slice(&c->said, line);
    pl_buf_add_char(&c->said, '\n');
}

/* Logs the plugin's stderr at its end. It may quote the very credentials that it gives, which are
 * known only then. Adds the last line to the error. */
static void tell_said(struct pl_credentials *c, struct pl_slice output, struct pl_err *failure)
{
    struct pl_secrets secrets = {.count = 0};
    pl_exec_add_secrets(c->config->exec, output, &secrets);
    if (c->answer.token != NULL)
        pl_secrets_add(&secrets, pl_slice_z(c->answer.token));
    char *masked = pl_secrets_mask(&secrets, pl_buf_slice(&c->said));
    const char *text = masked != NULL ? masked : pl_buf_z(&c->said);
    size_t len = 0;
    for (const char *line = text; *line != '\0'; line += len + 1) {
        len = strcspn(line, "\n");
        struct pl_slice shown = pl_slice(line, len < SAID_LINE ? len : SAID_LINE);
        pl_log(PL_LOG_WARN, "stderr of another program",
               pl_str("program", c->config->exec->command), pl_strn("line", shown));
        if (failure != NULL && line[len + 1] == '\0') {
            struct pl_err before = *failure;
            pl_err_set(failure, before.code, "%s: %.*s", before.message, PL_FMT(shown));
        }
    }
    pl_free(masked);
    pl_buf_deinit(&c->said);
    pl_secrets_clear(&secrets);
}

static void on_plugin_done(void *arg, struct pl_slice output, const struct pl_err *err)
{
    struct pl_credentials *c = arg;
    const struct pl_exec_plugin *plugin = c->config->exec;
    struct pl_err failure;
    c->process = NULL;
    c->plugin_ended_ns = pl_clock_mono(c->clock);
    pl_wait_end(&c->plugin_wait);
    if (err != NULL)
        failure = *err;
    tell_said(c, output, err != NULL ? &failure : NULL);
    if (err == NULL && take_answer(c, output, &failure) == 0) {
        c->plugin_err.code = 0;
        tell_all(c, NULL);
        return;
    }
    bool missing = err != NULL && strncmp(err->message, "cannot run", 10) == 0;
    pl_err_set(&c->plugin_err, PL_ENETWORK, "credentials by exec plugin %s: %s%s%s",
               plugin->command, failure.message, missing && plugin->install_hint ? "; " : "",
               missing && plugin->install_hint ? plugin->install_hint : "");
    snprintf(c->plugin_err.reason, sizeof c->plugin_err.reason, "Credentials");
    failure = c->plugin_err;
    tell_all(c, &failure);
}

static void run_plugin(struct pl_credentials *c)
{
    const struct pl_exec_plugin *plugin = c->config->exec;
    struct pl_buf info = PL_BUF_INIT;
    size_t count = 0;
    pl_buf_add_z(&info, "KUBERNETES_EXEC_INFO=");
    pl_exec_info(c->config, &info);
    while (plugin->env != NULL && plugin->env[count] != NULL)
        count++;
    const char **env = pl_calloc(count + 2, sizeof *env);
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (strncmp(plugin->env[i], "KUBERNETES_EXEC_INFO=", 21) != 0)
            env[used++] = plugin->env[i];
    }
    env[used] = info.ptr;
    if (c->waits_registry != NULL)
        pl_wait_begin(c->waits_registry, &c->plugin_wait, "exec plugin", plugin->command,
                      PLUGIN_TIMEOUT_S * PL_SECOND);
    c->process = pl_process_start(c->loop,
                                  &(struct pl_process_options){
                                      .file = plugin->command,
                                      .args = (const char *const *)plugin->args,
                                      .env = env,
                                      .on_line = on_plugin_line,
                                      .timeout_ms = PLUGIN_TIMEOUT_S * 1000,
                                  },
                                  on_plugin_done, c);
    pl_free(env);
    pl_buf_deinit(&info);
}

/* Whether the plugin's credentials will still be valid after that time. */
static bool answer_is_good(const struct pl_credentials *c, int64_t after_ns)
{
    return c->current != NULL && !c->answer_rejected &&
           (c->answer.expires_ns == INT64_MAX ||
            pl_clock_wall(c->clock) < c->answer.expires_ns - after_ns);
}

static bool plugin_rests(const struct pl_credentials *c)
{
    return c->process == NULL && pl_clock_mono(c->clock) - c->plugin_ended_ns < PLUGIN_REST_NS;
}

/* Early enough, so that no request has to wait. A failure is reported to the next caller that needs
 * credentials. */
static void renew_early(struct pl_credentials *c)
{
    if (!answer_is_good(c, RENEWAL_NS) && c->process == NULL && !plugin_rests(c))
        run_plugin(c);
}

/* ---- life ---- */

static int credentials_check(const struct pl_credentials_options *options, struct pl_err *err)
{
    const struct pl_kubeconfig *config = options->config;
    if (config->exec != NULL && options->loop == NULL)
        return pl_err_set(err, PL_EINVAL, "%s: an exec plugin needs an event loop", config->source);
    if (config->token != NULL && !credentials_is_token(config->token))
        return pl_err_set(err, PL_EINVAL, "%s: the token has characters that a token cannot have",
                          config->source);
    return 0;
}

/* Without a stamp: the file may have changed since the configuration was loaded. */
static struct watched watch_file(const char *path, const char *content)
{
    return (struct watched){.path = path, .content = pl_strdup_or_null(content)};
}

struct pl_credentials *pl_credentials_create(const struct pl_credentials_options *options,
                                             struct pl_err *err)
{
    const struct pl_kubeconfig *config = options->config;
    struct pl_server_name server;
    if (credentials_check(options, err) != 0)
        return NULL;
    struct pl_credentials *c = PL_NEW(struct pl_credentials);
    c->config = config;
    c->clock = options->clock;
    c->loop = options->loop;
    c->waits_registry = options->waits;
    c->https = pl_server_name_parse(config->server, &server) && server.https;
    pl_list_init(&c->waits);
    c->ca = watch_file(config->ca_file, config->ca_pem);
    c->cert = watch_file(config->cert_file, config->cert_pem);
    c->key = watch_file(config->key_file, config->key_pem);
    c->token = watch_file(config->token_file, config->token_file ? config->token : NULL);
    c->token_read_ns = pl_clock_mono(c->clock);
    if (config->exec == NULL)
        set_identity(c);
    return c;
}

void pl_credentials_destroy(struct pl_credentials *c)
{
    if (c == NULL)
        return;
    struct pl_err err;
    pl_err_set(&err, PL_ECANCELED, "canceled");
    tell_all(c, &err);
    PL_REQUIRE(pl_list_empty(&c->waits));
    if (c->process != NULL)
        pl_process_cancel(c->process);
    pl_buf_deinit(&c->said);
    pl_wait_end(&c->plugin_wait);
    pl_identity_unref(c->current);
    pl_exec_answer_deinit(&c->answer);
    pl_free(c->ca.content);
    pl_free(c->cert.content);
    pl_text_wipe(c->key.content);
    pl_text_wipe(c->token.content);
    pl_free(c);
}

int pl_credentials_get(struct pl_credentials *c, struct pl_identity **identity,
                       struct pl_credentials_wait *wait, struct pl_err *err)
{
    *identity = NULL;
    refresh_files(c);
    if (c->config->exec == NULL || answer_is_good(c, 0)) {
        *identity = identity_ref(c->current);
        if (c->config->exec != NULL)
            renew_early(c);
        return 0;
    }
    if (c->plugin_err.code != 0 && plugin_rests(c)) {
        if (err != NULL)
            *err = c->plugin_err;
        return c->plugin_err.code;
    }
    pl_list_push(&c->waits, &wait->link);
    if (c->process == NULL)
        run_plugin(c);
    return PL_EAGAIN;
}

void pl_credentials_unwait(struct pl_credentials_wait *wait)
{
    pl_link_unlink(&wait->link);
}

bool pl_credentials_reject(struct pl_credentials *c, const struct pl_identity *identity)
{
    if (identity != c->current)
        return true; /* another request reported this before, and there are newer credentials */
    if (c->config->exec != NULL) {
        c->answer_rejected = true;
        return true;
    }
    if (!refresh_token(c))
        return false;
    set_identity(c);
    return true;
}

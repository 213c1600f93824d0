/* perilune status: what a running host is and does. */
#include "base/base.h"
#include "cli/admin_client.h"
#include "value/write.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct pl_flag table[] = {
    PL_ADMIN_FLAGS,
    {.name = "output",
     .letter = 'o',
     .type = PL_FLAG_CHOICE,
     .choices = "text|json",
     .fallback = "text",
     .help = "form of the answer"},
    {.name = "watch", .letter = 'w', .type = PL_FLAG_SWITCH, .help = "again each second"},
};

static struct pl_slice text_of(struct pl_node object, const char *key, struct pl_scratch *scratch)
{
    return pl_node_str(pl_node_getz(object, key), scratch);
}

static int64_t int_of(struct pl_node object, const char *key)
{
    int64_t value = 0;
    pl_node_int(pl_node_getz(object, key), &value);
    return value;
}

/* ---- as text ---- */

static void print_lead(struct pl_node root)
{
    struct pl_scratch s[3];
    struct pl_node lead = pl_node_getz(root, "lead");
    if (pl_node_is_missing(lead))
        return;
    struct pl_slice holder = text_of(lead, "holder", &s[0]);
    printf("lead        %s: lease %.*s is held by %.*s\n",
           pl_node_bool(pl_node_getz(lead, "leading")) ? "leading" : "standby",
           PL_FMT(text_of(lead, "lease", &s[1])),
           PL_FMT(holder.len > 0 ? holder : pl_slice_z("nobody")));
}

static void print_generation(struct pl_node root)
{
    struct pl_scratch s[2];
    struct pl_node scripts = pl_node_getz(root, "scripts");
    if (pl_node_is_missing(scripts))
        return;
    printf("generation  %lld, digest %.*s\n", (long long)int_of(scripts, "generation"),
           PL_FMT(text_of(scripts, "digest", &s[0])));
    struct pl_slice refused = text_of(scripts, "refused", &s[1]);
    if (refused.len > 0)
        printf("refused     %.*s\n", PL_FMT(refused));
}

static void print_controller(struct pl_node controller)
{
    struct pl_scratch s[4];
    printf("%-24.*s %-9.*s %8lld %8lld %8lld %8lld %8lld\n",
           PL_FMT(text_of(controller, "name", &s[0])), PL_FMT(text_of(controller, "state", &s[1])),
           (long long)int_of(controller, "in_flight"), (long long)int_of(controller, "ready"),
           (long long)int_of(controller, "delayed"), (long long)int_of(controller, "paused"),
           (long long)int_of(controller, "failing"));
    struct pl_node error = pl_node_getz(controller, "last_error");
    if (!pl_node_is_missing(error))
        printf("  last error %.0f s ago, %.*s: %.*s\n",
               pl_node_double(pl_node_getz(error, "seconds_ago")),
               PL_FMT(text_of(error, "key", &s[2])), PL_FMT(text_of(error, "message", &s[3])));
}

static void print_source(struct pl_node source)
{
    struct pl_scratch s[2];
    struct pl_slice trouble = text_of(source, "trouble", &s[1]);
    printf("%-48.*s %-8s %8lld\n", PL_FMT(text_of(source, "source", &s[0])),
           pl_node_bool(pl_node_getz(source, "synced")) ? "synced" : "syncing",
           (long long)int_of(source, "objects"));
    if (trouble.len > 0)
        printf("  %.*s\n", PL_FMT(trouble));
}

static void print_wait(struct pl_node wait)
{
    struct pl_scratch s[3];
    struct pl_slice endless = text_of(wait, "no_deadline", &s[2]);
    printf("  %.*s of %.*s for %.1f s, ", PL_FMT(text_of(wait, "name", &s[0])),
           PL_FMT(text_of(wait, "owner", &s[1])), pl_node_double(pl_node_getz(wait, "seconds")));
    if (endless.len > 0)
        printf("%.*s\n", PL_FMT(endless));
    else
        printf("at most %.1f s\n", pl_node_double(pl_node_getz(wait, "at_most_seconds")));
}

static void each(struct pl_node root, const char *key, void (*print)(struct pl_node node))
{
    struct pl_iter it = pl_iter(pl_node_getz(root, key));
    while (pl_iter_next(&it))
        print(it.value);
}

static void print_text(struct pl_node root)
{
    struct pl_scratch s[2];
    printf("perilune %.*s, pid %lld, server %.*s\n", PL_FMT(text_of(root, "version", &s[0])),
           (long long)int_of(root, "pid"), PL_FMT(text_of(root, "server", &s[1])));
    print_lead(root);
    print_generation(root);
    printf("\n%-24s %-9s %8s %8s %8s %8s %8s\n", "CONTROLLER", "STATE", "RUNNING", "READY",
           "DELAYED", "PAUSED", "FAILING");
    each(root, "controllers", print_controller);
    printf("\n%-48s %-8s %8s\n", "SOURCE", "STATE", "OBJECTS");
    each(root, "sources", print_source);
    if (pl_node_len(pl_node_getz(root, "waits")) > 0)
        printf("\nWAITS\n");
    each(root, "waits", print_wait);
}

static int show(struct pl_admin_client *client, const struct pl_flags *flags, struct pl_err *err)
{
    struct pl_doc *status = pl_admin_ask(client, pl_admin_request_begin("status"), err);
    if (status == NULL)
        return err->code;
    if (strcmp(pl_flags_text(flags, "output"), "json") == 0) {
        struct pl_buf text = PL_BUF_INIT;
        pl_write(&text, pl_doc_root(status),
                 pl_flags_switch(flags, "watch") ? PL_WRITE_COMPACT : PL_WRITE_PRETTY);
        puts(pl_buf_z(&text));
        pl_buf_deinit(&text);
    } else {
        print_text(pl_doc_root(status));
    }
    pl_doc_unref(status);
    return fflush(stdout) == 0 ? 0 : pl_err_set(err, PL_EIO, "the answer could not be written");
}

int pl_command_status(const struct pl_command *self, int argc, char *const *argv)
{
    struct pl_flags flags;
    struct pl_admin_client client = {.fd = -1};
    struct pl_err err;
    pl_err_clear(&err);
    int exit_code = PL_EXIT_OK;
    if (pl_command_flags(self, &flags, table, PL_ARRAY_LEN(table), argc, argv, &exit_code)) {
        bool watch = pl_flags_switch(&flags, "watch");
        int rc = pl_admin_connect(&client, &flags, &err);
        do {
            if (rc == 0)
                rc = show(&client, &flags, &err);
        } while (rc == 0 && watch && sleep(1) == 0);
        if (rc != 0)
            exit_code = pl_admin_failed(self, &err);
        pl_admin_disconnect(&client);
    }
    pl_flags_deinit(&flags);
    return exit_code;
}

/* perilune status: shows the state of a running host. */
#include "base/base.h"
#include "operate/operate.h"
#include "operate/show.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct pl_flag table[] = {
    PL_ADMIN_FLAGS,
    PL_OUTPUT_FLAG,
    {.name = "watch", .letter = 'w', .type = PL_FLAG_SWITCH, .help = "show it again every second"},
};

/* ---- as text ---- */

static void print_lead(struct pl_node root)
{
    struct pl_scratch scratch;
    struct pl_node lead = pl_node_getz(root, "lead");
    if (!pl_node_is_missing(lead))
        printf("%.*s\n", PL_FMT(pl_show_text(lead, "description", &scratch)));
}

static void print_generation(struct pl_node root)
{
    struct pl_scratch s[2];
    struct pl_node scripts = pl_node_getz(root, "scripts");
    if (pl_node_is_missing(scripts))
        return;
    printf("generation  %lld, digest %.*s\n", (long long)pl_show_int(scripts, "generation"),
           PL_FMT(pl_show_text(scripts, "digest", &s[0])));
    struct pl_slice refused = pl_show_text(scripts, "refused", &s[1]);
    if (refused.len > 0)
        printf("refused     %.*s\n", PL_FMT(refused));
}

static void print_loop(struct pl_node loop)
{
    struct pl_scratch s[5];
    struct pl_slice object = pl_show_text(loop, "object", &s[4]);
    printf("  %.*s of %.*s, %lld times: %.*s", PL_FMT(pl_show_text(loop, "what", &s[0])),
           PL_FMT(pl_show_text(loop, "key", &s[1])), (long long)pl_show_int(loop, "times"),
           PL_FMT(pl_show_text(loop, "fields", &s[2])));
    if (object.len > 0)
        printf(" of %.*s %.*s", PL_FMT(pl_show_text(loop, "object_kind", &s[3])), PL_FMT(object));
    printf("\n");
}

static void print_tuned(struct pl_node controller)
{
    static const char names[][20] = {"workers", "retry_base_seconds", "retry_max_seconds",
                                     "retry_qps"};
    struct pl_node tuned = pl_node_getz(controller, "tuned");
    if (pl_node_is_missing(tuned))
        return;
    printf("  tuned for %.0f s more:", pl_node_double(pl_node_getz(tuned, "left_seconds")));
    for (size_t i = 0; i < PL_ARRAY_LEN(names); i++)
        if (!pl_node_is_missing(pl_node_getz(tuned, names[i])))
            printf(" %s %g", names[i], pl_node_double(pl_node_getz(tuned, names[i])));
    printf("\n");
}

static void print_cluster(struct pl_node cluster)
{
    struct pl_scratch s[4];
    struct pl_slice server = pl_show_text(cluster, "server", &s[1]);
    struct pl_slice trouble = pl_show_text(cluster, "trouble", &s[2]);
    printf("cluster     %.*s at %.*s (%.*s)%s%.*s\n", PL_FMT(pl_show_text(cluster, "name", &s[0])),
           PL_FMT(server.len > 0 ? server : pl_slice_z("an unknown server")),
           PL_FMT(pl_show_text(cluster, "from", &s[3])), trouble.len > 0 ? ": " : "",
           PL_FMT(trouble));
}

static void print_controller(struct pl_node controller)
{
    struct pl_scratch s[4];
    printf(
        "%-24.*s %-9.*s %8lld %8lld %8lld %8lld %8lld %8lld\n",
        PL_FMT(pl_show_text(controller, "name", &s[0])),
        PL_FMT(pl_show_text(controller, "state", &s[1])),
        (long long)pl_show_int(controller, "in_flight"),
        (long long)pl_show_int(controller, "ready"), (long long)pl_show_int(controller, "delayed"),
        (long long)pl_show_int(controller, "paused"), (long long)pl_show_int(controller, "waiting"),
        (long long)pl_show_int(controller, "failing"));
    struct pl_node error = pl_node_getz(controller, "last_error");
    if (!pl_node_is_missing(error))
        printf("  last error %.0f s ago, %.*s: %.*s\n",
               pl_node_double(pl_node_getz(error, "seconds_ago")),
               PL_FMT(pl_show_text(error, "key", &s[2])),
               PL_FMT(pl_show_text(error, "message", &s[3])));
    print_tuned(controller);
    for (struct pl_iter it = pl_iter(pl_node_getz(controller, "loops")); pl_iter_next(&it);)
        print_loop(it.value);
}

static void print_source(struct pl_node source)
{
    struct pl_scratch s[2];
    struct pl_slice trouble = pl_show_text(source, "trouble", &s[1]);
    printf("%-48.*s %-8s %8lld\n", PL_FMT(pl_show_text(source, "source", &s[0])),
           pl_node_bool(pl_node_getz(source, "synced")) ? "synced" : "syncing",
           (long long)pl_show_int(source, "objects"));
    if (trouble.len > 0)
        printf("  %.*s\n", PL_FMT(trouble));
}

static void print_wait(struct pl_node wait)
{
    struct pl_scratch s[3];
    struct pl_slice endless = pl_show_text(wait, "no_deadline", &s[2]);
    if (pl_slice_eqz(pl_show_text(wait, "name", &s[0]), "watch"))
        return; /* every source has one; -o json shows them */
    printf("  %.*s of %.*s for %.1f s, ", PL_FMT(pl_show_text(wait, "name", &s[0])),
           PL_FMT(pl_show_text(wait, "owner", &s[1])),
           pl_node_double(pl_node_getz(wait, "seconds")));
    if (endless.len > 0)
        printf("%.*s\n", PL_FMT(endless));
    else
        printf("at most %.1f s\n", pl_node_double(pl_node_getz(wait, "at_most_seconds")));
}

static void print_webhook(struct pl_node hook)
{
    struct pl_scratch s[2];
    printf("%-40.*s %-40.*s %8lld %8lld %8lld %8lld\n", PL_FMT(pl_show_text(hook, "name", &s[0])),
           PL_FMT(pl_show_text(hook, "path", &s[1])), (long long)pl_show_int(hook, "in_flight"),
           (long long)pl_show_int(hook, "requests"), (long long)pl_show_int(hook, "denied"),
           (long long)pl_show_int(hook, "errors"));
}

/* A message of an API server may have several lines. */
static void print_refusal(struct pl_slice text)
{
    if (text.len == 0)
        return;
    printf("            not registered: ");
    for (size_t i = 0; i < text.len; i++)
        putchar(text.ptr[i] == '\n' ? ' ' : text.ptr[i]);
    putchar('\n');
}

static void print_webhook_server(struct pl_node root)
{
    struct pl_scratch s;
    struct pl_node server = pl_node_getz(root, "webhook_server");
    int64_t expiry = pl_show_int(server, "certificate_expiry");
    char ends[64] = "";
    struct tm parts;
    time_t at = (time_t)expiry;
    if (pl_node_is_missing(server))
        return;
    if (expiry > 0 && gmtime_r(&at, &parts) != NULL)
        strftime(ends, sizeof ends, ", certificate ends %Y-%m-%d %H:%MZ", &parts);
    struct pl_slice address = pl_show_text(server, "address", &s);
    printf("\nwebhooks    %.*s%s\n", PL_FMT(address.len > 0 ? address : pl_slice_z("not served")),
           ends);
    print_refusal(pl_show_text(server, "not_registered", &s));
    printf("%-40s %-40s %8s %8s %8s %8s\n", "WEBHOOK", "PATH", "RUNNING", "REQUESTS", "DENIED",
           "ERRORS");
}

static void status_each(struct pl_node root, const char *key, void (*print)(struct pl_node node))
{
    struct pl_iter it = pl_iter(pl_node_getz(root, key));
    while (pl_iter_next(&it))
        print(it.value);
}

/* Only problems: Events that users will not find. */
static void print_events(struct pl_node root)
{
    struct pl_node events = pl_node_getz(root, "events");
    long long dropped = (long long)pl_show_int(events, "dropped");
    if (dropped > 0)
        printf("events      %lld dropped, %lld waiting\n", dropped,
               (long long)pl_show_int(events, "waiting"));
}

static void print_shard(struct pl_node shard)
{
    struct pl_scratch s[2];
    struct pl_slice holder = pl_show_text(shard, "holder", &s[0]);
    char keys[24] = "-";
    if (!pl_node_is_missing(pl_node_getz(shard, "keys")))
        snprintf(keys, sizeof keys, "%lld", (long long)pl_show_int(shard, "keys"));
    printf("%-8lld %-56.*s %-10.*s %8s %8.0f\n", (long long)pl_show_int(shard, "shard"),
           PL_FMT(holder.len > 0 ? holder : pl_slice_z("nobody")),
           PL_FMT(pl_show_text(shard, "state", &s[1])), keys,
           pl_node_double(pl_node_getz(shard, "seconds")));
}

static void print_member(struct pl_node member)
{
    struct pl_scratch s;
    const char *note = pl_node_bool(pl_node_getz(member, "expired"))   ? "expired"
                       : pl_node_bool(pl_node_getz(member, "leaving")) ? "leaving"
                       : pl_node_bool(pl_node_getz(member, "this"))    ? "this one"
                                                                       : "";
    printf("%-65.*s %-10s %8lld %8.1f\n", PL_FMT(pl_show_text(member, "id", &s)), note,
           (long long)pl_show_int(member, "shards"),
           pl_node_double(pl_node_getz(member, "seconds")));
}

static void print_shards(struct pl_node root)
{
    struct pl_scratch s;
    struct pl_slice advice = pl_show_text(root, "shard_advice", &s);
    if (pl_node_is_missing(pl_node_getz(root, "shards")))
        return;
    printf("\n%-8s %-56s %-10s %8s %8s\n", "SHARD", "HOLDER", "STATE", "KEYS", "SECONDS");
    status_each(root, "shards", print_shard);
    printf("\n%-65s %-10s %8s %8s\n", "MEMBER", "STATE", "SHARDS", "SEEN");
    status_each(root, "members", print_member);
    if (advice.len > 0)
        printf("%.*s\n", PL_FMT(advice));
}

static void status_print_text(struct pl_node root)
{
    struct pl_scratch s[2];
    printf("perilune %.*s, pid %lld, server %.*s\n", PL_FMT(pl_show_text(root, "version", &s[0])),
           (long long)pl_show_int(root, "pid"), PL_FMT(pl_show_text(root, "server", &s[1])));
    print_lead(root);
    print_generation(root);
    print_events(root);
    for (struct pl_iter it = pl_iter(pl_node_getz(root, "clusters")); pl_iter_next(&it);)
        print_cluster(it.value);
    printf("\n%-24s %-9s %8s %8s %8s %8s %8s %8s\n", "CONTROLLER", "STATE", "RUNNING", "READY",
           "DELAYED", "PAUSED", "WAITING", "FAILING");
    status_each(root, "controllers", print_controller);
    print_shards(root);
    print_webhook_server(root);
    status_each(root, "webhooks", print_webhook);
    printf("\n%-48s %-8s %8s\n", "SOURCE", "STATE", "OBJECTS");
    status_each(root, "sources", print_source);
    if (pl_node_len(pl_node_getz(root, "waits")) > 0)
        printf("\nWAITS (without watches)\n");
    status_each(root, "waits", print_wait);
}

static int status_show(struct pl_admin_client *client, const struct pl_flags *flags,
                       struct pl_err *err)
{
    struct pl_doc *status = pl_admin_ask(client, pl_admin_request_begin("status"), err);
    if (status == NULL)
        return err->code;
    int rc = pl_show(flags, pl_doc_root(status), status_print_text, err);
    pl_doc_unref(status);
    return rc;
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
                rc = status_show(&client, &flags, &err);
        } while (rc == 0 && watch && sleep(1) == 0);
        if (rc != 0)
            exit_code = pl_admin_failed(self, &err);
        pl_admin_disconnect(&client);
    }
    pl_flags_deinit(&flags);
    return exit_code;
}

/* perilune why KIND NAMESPACE/NAME: shows the history of a key and its current wait. */
#include "base/base.h"
#include "operate/operate.h"
#include "operate/show.h"

#include <stdio.h>
#include <string.h>

static const struct pl_flag table[] = {
    PL_ADMIN_FLAGS,
    PL_OUTPUT_FLAG,
};

static void print_happened(struct pl_node happened)
{
    struct pl_scratch s[2];
    printf("  %9.1f s ago  %-9.*s %.*s", pl_node_double(pl_node_getz(happened, "seconds_ago")),
           PL_FMT(pl_show_text(happened, "what", &s[0])),
           PL_FMT(pl_show_text(happened, "detail", &s[1])));
    double seconds = pl_node_double(pl_node_getz(happened, "seconds"));
    if (seconds != 0)
        printf(" (%.3f s)", seconds);
    printf("\n");
}

static void print_key(struct pl_node key)
{
    struct pl_scratch s[5];
    int64_t failures = 0;
    printf("controller %.*s, key %.*s, %s\n", PL_FMT(pl_show_text(key, "controller", &s[0])),
           PL_FMT(pl_show_text(key, "key", &s[1])),
           pl_node_bool(pl_node_getz(key, "cached")) ? "cached" : "not in the cache");
    struct pl_slice waits = pl_show_text(key, "waits_for", &s[2]);
    if (waits.len > 0)
        printf("waiting: %.*s\n", PL_FMT(waits));
    else
        printf("idle: it waits only for the next event\n");
    if (pl_node_int(pl_node_getz(key, "failures"), &failures))
        printf("failed %lld times in a row: %.*s\n", (long long)failures,
               PL_FMT(pl_show_text(key, "last_error", &s[3])));
    struct pl_iter it = pl_iter(pl_node_getz(key, "history"));
    while (pl_iter_next(&it))
        print_happened(it.value);
    if (it.index == 0 && pl_node_len(pl_node_getz(key, "history")) == 0)
        printf("  no history\n");
}

static void why_print_text(struct pl_node root)
{
    struct pl_iter it = pl_iter(pl_node_getz(root, "keys"));
    bool any = false;
    while (pl_iter_next(&it)) {
        printf("%s", any ? "\n" : "");
        print_key(it.value);
        any = true;
    }
    if (!any)
        printf("the object queues no key: it is not in the cache, or no handler maps it\n");
}

static struct pl_build *why_request(const struct pl_flags *flags)
{
    struct pl_build *request = pl_admin_request_begin("why");
    pl_build_put_strz(request, "kind", flags->paths[0]);
    pl_build_put_strz(request, "key", flags->paths[1]);
    return request;
}

int pl_command_why(const struct pl_command *self, int argc, char *const *argv)
{
    struct pl_flags flags;
    struct pl_err err;
    pl_err_clear(&err);
    int exit_code = PL_EXIT_OK;
    if (pl_command_flags(self, &flags, table, PL_ARRAY_LEN(table), argc, argv, &exit_code)) {
        if (flags.path_count != 2)
            exit_code = pl_command_misuse(self, "it takes a kind and a key");
        else if (pl_show_ask(&flags, why_request(&flags), why_print_text, &err) != 0)
            exit_code = pl_admin_failed(self, &err);
    }
    pl_flags_deinit(&flags);
    return exit_code;
}

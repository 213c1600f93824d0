#include "support/test.h"

#include "base/base.h"
#include "base/buf.h"
#include "command/flags.h"
#include "value/build.h"
#include "value/scan.h"
#include "value/write.h"

static const struct pl_flag table[] = {
    {.name = "context", .metavar = "NAME", .help = "a text"},
    {.name = "namespace", .metavar = "NS", .help = "texts", .repeatable = true},
    {.name = "filename", .letter = 'f', .metavar = "PATH", .help = "short", .repeatable = true},
    {.name = "dry-run", .letter = 'd', .type = PL_FLAG_SWITCH, .help = "a switch"},
    {.name = "wait", .type = PL_FLAG_SWITCH, .fallback = "true", .help = "a switch that is on"},
    {.name = "lanes",
     .type = PL_FLAG_INTEGER,
     .fallback = "1",
     .least = 1,
     .metavar = "N",
     .help = "n"},
    {.name = "qps", .type = PL_FLAG_NUMBER, .fallback = "0", .metavar = "N", .help = "n"},
    {.name = "timeout", .type = PL_FLAG_DURATION, .fallback = "30s", .metavar = "D", .help = "d"},
    {.name = "some", .type = PL_FLAG_INTEGER, .least = 2, .most = 600, .metavar = "N", .help = "n"},
    {.name = "share", .type = PL_FLAG_NUMBER, .most = 1, .metavar = "N", .help = "n"},
    {.name = "for",
     .type = PL_FLAG_DURATION,
     .least = PL_SECOND,
     .most = 3600 * PL_SECOND,
     .metavar = "D",
     .help = "d"},
    {.name = "grace", .type = PL_FLAG_DURATION, .most = 3600 * PL_SECOND, .help = "d"},
    {.name = "memory", .type = PL_FLAG_SIZE, .fallback = "512MiB", .metavar = "S", .help = "s"},
    {.name = "room",
     .type = PL_FLAG_SIZE,
     .least = 3 << 20,
     .most = 5 << 20,
     .metavar = "S",
     .help = "s"},
    {.name = "format", .type = PL_FLAG_CHOICE, .choices = "text|json", .help = "c"},
    {.name = "lead", .of = "run|dev", .type = PL_FLAG_SWITCH, .help = "of others"},
    {.name = "late", .with = "lead|format", .type = PL_FLAG_SWITCH, .help = "with one of them"},
    {.name = "later", .with = "lead|nowhere", .type = PL_FLAG_SWITCH, .help = "with one of others"},
    {.name = "many", .of = "run|rbac|manifests|status|dev", .help = "of many"},
    {.name = "object", .names = PL_NAMES_NAME, .not_in_file = true, .help = "a name"},
    {.name = "space", .names = PL_NAMES_NAMESPACE, .help = "a namespace"},
    {.name = "secret", .names = PL_NAMES_OBJECT, .help = "both"},
    {.name = "service", .names = PL_NAMES_SERVICE, .help = "both, and a port"},
    {.name = "manifest", .of = "dev", .letter = 'm', .metavar = "PATH", .help = "of another"},
};

static struct pl_err err;

static int parse_as(struct pl_flags *flags, const char *command, const char *const *environment,
                    const char *const *words)
{
    const struct pl_flag_table own = {table, PL_ARRAY_LEN(table), command};
    int count = 0;
    while (words[count] != NULL)
        count++;
    pl_err_clear(&err);
    return pl_flags_parse(flags, &own, count, (char *const *)words, environment, &err);
}

static int parse(struct pl_flags *flags, const char *const *environment, const char *const *words)
{
    return parse_as(flags, NULL, environment, words);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
static const char *const nothing[] = {NULL};

static void refused(const char *const *words, const char *part)
{
    struct pl_flags flags;
    CHECK_INT(parse(&flags, NULL, words), PL_EINVAL);
    if (strstr(err.message, part) == NULL)
        TEST_FAIL("\"%s\" is not in \"%s\"", part, err.message);
    pl_flags_deinit(&flags);
}

static void checked(const char *command, const char *const *environment, const char *const *words,
                    const char *expected)
{
    struct pl_flags flags;
    CHECK_INT(parse_as(&flags, command, environment, words), 0);
    CHECK_INT(pl_flags_check(&flags, &err), expected != NULL ? PL_EINVAL : 0);
    CHECK_STR(err.message, expected != NULL ? expected : "");
    pl_flags_deinit(&flags);
}

TEST(a_flag_that_says_nothing_without_another_is_refused)
{
    const char *const by_environment[] = {"PERILUNE_LEAD=true", NULL};
    const char *const alone[] = {"PERILUNE_LATE=true", NULL};
    checked("run", NULL, WORDS("--late"), "--late goes with --lead or --format");
    checked("run", NULL, WORDS("--late", "--no-lead"), "--late goes with --lead or --format");
    checked("check", NULL, WORDS("--late"), "--late goes with --lead or --format");
    checked("run", NULL, WORDS("--late", "--lead"), NULL);
    checked("run", NULL, WORDS("--late", "--format", "json"), NULL);
    checked("run", by_environment, WORDS("--late"), NULL);
    checked("run", alone, nothing, NULL);
    checked("run", NULL, WORDS("--no-late"), NULL);
    checked("run", NULL, WORDS("--later"), "--later goes with --lead or --nowhere");
    checked("check", NULL, WORDS("--later"), NULL); /* which has neither */
}

TEST(numbers_that_do_not_fit_say_what_does)
{
    refused(WORDS("--lanes", "0"), "--lanes: \"0\": it must be a whole number of at least 1");
    refused(WORDS("--lanes", "2.5"), "it must be a whole number of at least 1");
    refused(WORDS("--qps", "-1"), "it must be a number of at least 0");
    refused(WORDS("--qps", "inf"), "it must be a number of at least 0");
    refused(WORDS("--qps", "nan"), "it must be a number of at least 0");
    refused(WORDS("--qps", "1e999"), "it must be a number of at least 0");
    refused(WORDS("--timeout", "9999999h"), "it is longer than 292 years");
    refused(WORDS("--timeout", "1w"), "it must be a duration such as 30s");
    refused(WORDS("--timeout", "-1s"), "it must be a duration such as 30s");
    refused(WORDS("--some", "1"), "--some: \"1\": it must be a whole number from 2 to 600");
    refused(WORDS("--some", "601"), "it must be a whole number from 2 to 600");
    refused(WORDS("--some", "99999999999999999999"), "it must be a whole number from 2 to 600");
    refused(WORDS("--share", "1.1"), "it must be a number from 0 to 1");
    refused(WORDS("--memory", "0"), "--memory: \"0\": it must be a size such as 512MiB");
    refused(WORDS("--room", "3145727"), "--room: \"3145727\": it must be a size of at least 3MiB");
    refused(WORDS("--room", "x"), "it must be a size of at least 3MiB");
    refused(WORDS("--room", "5242881"), "it must be a size of at least 3MiB and at most 5MiB");
    refused(WORDS("--room", "99EiB"), "it must be a size of at least 3MiB and at most 5MiB");
    refused(WORDS("--for", "999ms"), "--for: \"999ms\": it must be from 1s to 1h");
    refused(WORDS("--for", "1h1s"), "it must be from 1s to 1h");
    refused(WORDS("--for", "9999999h"), "it must be from 1s to 1h");
    refused(WORDS("--grace", "2h"), "it must be from 0s to 1h");
    refused(WORDS("--for", "x"), "it must be a duration such as 30s");
}

TEST(the_limits_themselves_fit)
{
    struct pl_flags flags;
    CHECK_INT(parse(&flags, NULL, WORDS("--some", "600", "--share", "1", "--for", "1h")), 0);
    CHECK_INT(pl_flags_integer(&flags, "some"), 600);
    CHECK_INT(pl_flags_duration(&flags, "for"), 3600 * PL_SECOND);
    pl_flags_deinit(&flags);
    CHECK_INT(parse(&flags, NULL,
                    WORDS("--some", "2", "--share", "0", "--for", "1s", "--grace", "0s", "--room",
                          "3MiB")),
              0);
    CHECK_INT(pl_flags_size(&flags, "room"), 3 << 20);
    pl_flags_deinit(&flags);
    CHECK_INT(parse(&flags, NULL, WORDS("--room", "5MiB")), 0);
    pl_flags_deinit(&flags);
}

TEST(without_words_the_defaults_hold)
{
    struct pl_flags flags;
    CHECK_INT(parse(&flags, NULL, nothing), 0);
    CHECK(pl_flags_text(&flags, "context") == NULL);
    CHECK(!pl_flags_switch(&flags, "dry-run"));
    CHECK(pl_flags_switch(&flags, "wait"));
    CHECK_INT(pl_flags_integer(&flags, "lanes"), 1);
    CHECK_INT(pl_flags_duration(&flags, "timeout"), 30 * PL_SECOND);
    CHECK_INT(pl_flags_size(&flags, "memory"), 512 << 20);
    CHECK(pl_flags_all(&flags, "namespace") == NULL);
    pl_flags_deinit(&flags);
}

TEST(flags_and_paths_come_in_any_order_and_both_forms)
{
    struct pl_flags flags;
    CHECK_INT(parse(&flags, NULL,
                    WORDS("a.lua", "--lanes", "3", "b.lua", "--timeout=1m30s", "--dry-run", "c.lua",
                          "--no-wait", "-f", "x", "-fy", "--", "--d.lua")),
              0);
    CHECK_INT(flags.path_count, 4);
    CHECK_STR(flags.paths[2], "c.lua"); /* a switch never takes the next argument */
    CHECK_STR(flags.paths[3], "--d.lua");
    CHECK_INT(pl_flags_integer(&flags, "lanes"), 3);
    CHECK_INT(pl_flags_duration(&flags, "timeout"), 90 * PL_SECOND);
    CHECK(pl_flags_switch(&flags, "dry-run"));
    CHECK(!pl_flags_switch(&flags, "wait"));
    CHECK_STR(pl_flags_all(&flags, "filename")[1], "y");
    pl_flags_deinit(&flags);
}

TEST(a_letter_stands_for_its_flag_in_every_form)
{
    struct pl_flags flags;
    CHECK_INT(parse(&flags, NULL, WORDS("-f=x", "-fy", "-f", "z", "-d", "a.lua")), 0);
    CHECK_STR(pl_flags_all(&flags, "filename")[0], "x");
    CHECK_STR(pl_flags_all(&flags, "filename")[1], "y");
    CHECK_STR(pl_flags_all(&flags, "filename")[2], "z");
    CHECK(pl_flags_switch(&flags, "dry-run"));
    CHECK_INT(flags.path_count, 1); /* a switch never takes the next argument */
    pl_flags_deinit(&flags);
    CHECK_INT(parse(&flags, NULL, WORDS("-d", "--lanes", "2", "-d=false")), 0);
    CHECK_INT(pl_flags_integer(&flags, "lanes"), 2);
    CHECK(!pl_flags_switch(&flags, "dry-run"));
    pl_flags_deinit(&flags);
    refused(WORDS("-d=maybe"), "-d: \"maybe\": it must be true or false");
    refused(WORDS("-f"), "-f needs a value (PATH)");
}

TEST(the_last_of_a_flag_wins_unless_it_repeats)
{
    struct pl_flags flags;
    CHECK_INT(
        parse(&flags, NULL, WORDS("--lanes=2", "--lanes=4", "--namespace=a", "--namespace", "b")),
        0);
    CHECK_INT(pl_flags_integer(&flags, "lanes"), 4);
    char *const *all = pl_flags_all(&flags, "namespace");
    CHECK_STR(all[0], "a");
    CHECK_STR(all[1], "b");
    CHECK(all[2] == NULL);
    pl_flags_deinit(&flags);
}

TEST(words_beat_the_environment_which_beats_the_file)
{
    struct pl_flags flags;
    const char *const environment[] = {"PERILUNE_LANES=5", "PERILUNE_DRY_RUN=true",
                                       "PERILUNE_NAMESPACE=a,b", NULL};
    CHECK_INT(parse(&flags, environment, WORDS("--lanes", "7")), 0);
    CHECK_INT(pl_flags_integer(&flags, "lanes"), 7);
    CHECK(pl_flags_switch(&flags, "dry-run"));
    CHECK_STR(pl_flags_all(&flags, "namespace")[1], "b");
    struct pl_doc *file =
        pl_scan_text(pl_slice_z("{\"lanes\":9,\"dry-run\":false,\"qps\":2.5,\"filename\":[\"m\"]}"),
                     &(struct pl_scan_options){0}, &err);
    REQUIRE(file != NULL);
    CHECK_INT(pl_flags_merge(&flags, pl_doc_root(file), "c.yaml", &err), 0);
    CHECK_INT(pl_flags_integer(&flags, "lanes"), 7);
    CHECK(pl_flags_switch(&flags, "dry-run"));
    CHECK(pl_flags_number(&flags, "qps") > 2.4);
    CHECK_STR(pl_flags_all(&flags, "filename")[0], "m");
    pl_doc_unref(file);
    pl_flags_deinit(&flags);
}

TEST(mistakes_name_the_flag_and_what_to_do)
{
    refused(WORDS("--lane", "2"), "did you mean --lanes?");
    refused(WORDS("--zzzzzzz"), "--help lists them");
    refused(WORDS("-x"), "-x");
    refused(WORDS("--lanes"), "needs a value (N)");
    refused(WORDS("--lanes", "0"), "--lanes");
    refused(WORDS("--lanes", "2x"), "\"2x\"");
    refused(WORDS("--timeout", "soon"), "duration");
    refused(WORDS("--timeout=-1s"), "duration");
    refused(WORDS("--memory", "big"), "512MiB");
    refused(WORDS("--format", "xml"), "text|json");
    refused(WORDS("--format", "tex"), "text|json");
    refused(WORDS("--dry-run=maybe"), "true or false");
    refused(WORDS("--no-lanes"), "unknown flag");
    refused(WORDS("-m"), "-m needs a value (PATH)");
    refused(WORDS("--on-wait"), "unknown flag --on-wait"); /* only "no-" is a prefix */
    refused(WORDS("--context="), "empty");
}

TEST(a_mistake_in_the_file_or_environment_names_its_place)
{
    struct pl_flags flags;
    const char *const environment[] = {"PERILUNE_LANES=none", NULL};
    CHECK_INT(parse(&flags, environment, nothing), PL_EINVAL);
    CHECK(strstr(err.message, "PERILUNE_LANES") != NULL);
    pl_flags_deinit(&flags);

    CHECK_INT(parse(&flags, NULL, nothing), 0);
    struct pl_doc *file =
        pl_scan_text(pl_slice_z("{\"lanse\":9}"), &(struct pl_scan_options){0}, &err);
    REQUIRE(file != NULL);
    CHECK_INT(pl_flags_merge(&flags, pl_doc_root(file), "c.yaml", &err), PL_EINVAL);
    CHECK(strstr(err.message, "c.yaml: flags: unknown flag \"lanse\"") != NULL);
    CHECK(strstr(err.message, "did you mean --lanes?") != NULL);
    pl_doc_unref(file);
    pl_flags_deinit(&flags);
}

TEST(a_later_mistake_names_the_place_of_the_value)
{
    struct pl_flags flags;
    const char *const environment[] = {"PERILUNE_SPACE=a", NULL};
    struct pl_doc *file =
        pl_scan_text(pl_slice_z("{\"many\":\"b\"}"), &(struct pl_scan_options){0}, &err);
    REQUIRE(file != NULL);
    CHECK_INT(parse(&flags, environment, WORDS("--context=x", "-f", "y")), 0);
    CHECK_INT(pl_flags_merge(&flags, pl_doc_root(file), "c.yaml", &err), 0);
    static const char *const names[][2] = {{"context", "--context: no"},
                                           {"filename", "-f: no"},
                                           {"space", "PERILUNE_SPACE: no"},
                                           {"many", "c.yaml: flags.many: no"}};
    for (size_t i = 0; i < PL_ARRAY_LEN(names); i++) {
        int want = i == 3 ? PL_ESYNTAX : PL_EINVAL;
        pl_err_set(&err, PL_EINVAL, "no");
        CHECK_INT(pl_flags_blame(&flags, names[i][0], &err), want);
        CHECK_INT(err.code, want);
        CHECK_STR(err.message, names[i][1]);
    }
    pl_doc_unref(file);
    pl_flags_deinit(&flags);
}

TEST(a_text_of_the_file_has_any_length_and_no_nul)
{
    struct pl_flags flags;
    char json[2048];
    snprintf(json, sizeof(json), "{\"context\":\"%01000d\"}", 0);
    struct pl_doc *file = pl_scan_text(pl_slice_z(json), &(struct pl_scan_options){0}, &err);
    REQUIRE(file != NULL);
    CHECK_INT(parse(&flags, NULL, nothing), 0);
    CHECK_INT(pl_flags_merge(&flags, pl_doc_root(file), "c.yaml", &err), 0);
    CHECK_INT(strlen(pl_flags_text(&flags, "context")), 1000);
    pl_doc_unref(file);
    pl_flags_deinit(&flags);

    file =
        pl_scan_text(pl_slice_z("{\"space\":\"a\\u0000b\"}"), &(struct pl_scan_options){0}, &err);
    REQUIRE(file != NULL);
    CHECK_INT(parse(&flags, NULL, nothing), 0);
    CHECK_INT(pl_flags_merge(&flags, pl_doc_root(file), "c.yaml", &err), PL_EINVAL);
    CHECK_STR(err.message, "c.yaml: flags.space must not contain the character NUL");
    pl_doc_unref(file);
    pl_flags_deinit(&flags);
}

TEST(names_of_objects_are_names)
{
    static const char *const good[] = {
        "--object=a",
        "--object=a-b.c0",
        "--space=0-a",
        "--secret=a/b.c",
        "--service=a/b",
        "--service=a/b:1",
        "--service=a-1/b-2:65535",
    };
    static const char *const bad[][2] = {
        {"--object=Bad_N", "--object: \"Bad_N\": it must be an object's name such as my-app"},
        {"--object=a..b", "an object's name"},
        {"--object=a.-b", "an object's name"},
        {"--object=.a", "an object's name"},
        {"--object=a-", "an object's name"},
        {"--object=", "it must not be empty"},
        {"--space=a.b", "it must be a namespace's name such as my-app"},
        {"--secret=foo", "--secret: \"foo\": it must be NAMESPACE/NAME such as my-app/certs"},
        {"--secret=a/b/c", "NAMESPACE/NAME"},
        {"--secret=/b", "NAMESPACE/NAME"},
        {"--secret=a/", "NAMESPACE/NAME"},
        {"--secret=a.b/c", "NAMESPACE/NAME"},
        {"--service=A_/b", "it must be NAMESPACE/NAME[:PORT] such as my-app/hooks:443"},
        {"--service=a/b.c", "NAMESPACE/NAME[:PORT]"},
        {"--service=a/b:", "NAMESPACE/NAME[:PORT]"},
        {"--service=a/b:0", "NAMESPACE/NAME[:PORT]"},
        {"--service=a/b:+1", "NAMESPACE/NAME[:PORT]"},
        {"--service=a/b:65536", "NAMESPACE/NAME[:PORT]"},
        {"--service=a/b:1:2", "NAMESPACE/NAME[:PORT]"},
    };
    struct pl_flags flags;
    for (size_t i = 0; i < PL_ARRAY_LEN(good); i++) {
        CHECK_INT(parse(&flags, NULL, WORDS(good[i])), 0);
        pl_flags_deinit(&flags);
    }
    for (size_t i = 0; i < PL_ARRAY_LEN(bad); i++) {
        CHECK_INT(parse(&flags, NULL, WORDS(bad[i][0])), PL_EINVAL);
        if (strstr(err.message, bad[i][1]) == NULL)
            TEST_FAIL("\"%s\" is not what \"%s\" says", bad[i][1], err.message);
        pl_flags_deinit(&flags);
    }
}

TEST(a_file_sets_no_flag_that_only_others_may_set)
{
    struct pl_flags flags;
    struct pl_doc *file =
        pl_scan_text(pl_slice_z("{\"object\":\"b\"}"), &(struct pl_scan_options){0}, &err);
    REQUIRE(file != NULL);
    CHECK_INT(parse(&flags, NULL, WORDS("--object=a")), 0);
    CHECK_INT(pl_flags_merge(&flags, pl_doc_root(file), "c.yaml", &err), PL_EINVAL);
    CHECK_STR(err.message, "c.yaml: flags.object: only the command line and the environment can "
                           "set it");
    pl_doc_unref(file);
    pl_flags_deinit(&flags);
}

TEST(help_is_asked_for_in_two_ways)
{
    static const char *const words[] = {"--help", "-h"};
    for (size_t i = 0; i < PL_ARRAY_LEN(words); i++) {
        struct pl_flags flags;
        CHECK_INT(parse(&flags, NULL, WORDS(words[i])), 0);
        CHECK(flags.help);
        pl_flags_deinit(&flags);
    }
}

TEST(set_flags_and_defaults_become_members_of_their_types)
{
    struct pl_flags flags;
    struct pl_buf text = PL_BUF_INIT;
    REQUIRE(parse(&flags, NULL,
                  WORDS("--namespace", "a", "--namespace", "b", "--dry-run", "--some", "7",
                        "--share", "0.5", "--grace", "1m", "--format", "json")) == 0);
    struct pl_build *b = pl_build_create(NULL);
    pl_build_object(b);
    pl_flags_build(b, &flags);
    pl_build_end(b);
    pl_build_write(&text, b, PL_WRITE_COMPACT);
    CHECK_STR(pl_buf_z(&text),
              "{\"namespace\":[\"a\",\"b\"],\"dry-run\":true,\"wait\":true,\"lanes\":1,\"qps\":0,"
              "\"timeout\":30,\"some\":7,\"share\":0.5,\"grace\":60,\"memory\":536870912,"
              "\"format\":\"json\"}");
    pl_buf_deinit(&text);
    pl_flags_deinit(&flags);
}

TEST(help_shows_every_flag_that_works)
{
    struct pl_buf text = PL_BUF_INIT;
    pl_flags_help(&text, &(struct pl_flag_table){table, PL_ARRAY_LEN(table), NULL});
    CHECK(strstr(pl_buf_z(&text), "-f, --filename PATH") != NULL);
    CHECK(strstr(pl_buf_z(&text), "(default 512MiB)") != NULL);
    CHECK(strstr(pl_buf_z(&text), "--elect") == NULL);
    pl_buf_deinit(&text);
}

TEST(help_shows_a_command_its_own_flags)
{
    static const char *const commands[] = {"run", "dev", "check"};
    for (size_t i = 0; i < PL_ARRAY_LEN(commands); i++) {
        struct pl_buf text = PL_BUF_INIT;
        pl_flags_help(&text, &(struct pl_flag_table){table, PL_ARRAY_LEN(table), commands[i]});
        CHECK(strstr(pl_buf_z(&text), "--context") != NULL);
        CHECK((strstr(pl_buf_z(&text), "--lead") != NULL) == (i < 2));
        CHECK((strstr(pl_buf_z(&text), "--manifest") != NULL) == (i == 1));
        pl_buf_deinit(&text);
    }
}

TEST(a_flag_of_other_commands_says_whose_it_is)
{
    static const char *const given[][2] = {
        {"--lead", "--lead is a flag of `perilune run` and `perilune dev`"},
        {"--no-lead", "--no-lead is a flag of `perilune run` and `perilune dev`"},
        {"--lead=true", "--lead is a flag of `perilune run` and `perilune dev`"},
        {"--manifest=x", "--manifest is a flag of `perilune dev`"},
        {"-mx", "-m is a flag of `perilune dev`"},
        {"--many=x", "--many is a flag of `perilune run`, `perilune rbac`, `perilune manifests`, "
                     "`perilune status` and `perilune dev`; --help lists "},
        {"--laed", "unknown flag --laed"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(given); i++) {
        struct pl_flags flags;
        CHECK_INT(parse_as(&flags, "check", NULL, WORDS(given[i][0])), PL_EINVAL);
        if (strstr(err.message, given[i][1]) == NULL || strstr(err.message, "did you mean"))
            TEST_FAIL("\"%s\" is not what \"%s\" says", err.message, given[i][1]);
        pl_flags_deinit(&flags);
    }
    struct pl_flags flags;
    CHECK_INT(parse_as(&flags, "dev", NULL, WORDS("--lead", "-m", "x")), 0);
    CHECK(pl_flags_switch(&flags, "lead"));
    CHECK_STR(pl_flags_text(&flags, "manifest"), "x");
    pl_flags_deinit(&flags);
}

TEST(environment_and_file_may_speak_to_other_commands)
{
    struct pl_flags flags;
    const char *const environment[] = {"PERILUNE_LEAD=perhaps", "PERILUNE_LANES=3", NULL};
    CHECK_INT(parse_as(&flags, "check", environment, nothing), 0);
    CHECK_INT(pl_flags_integer(&flags, "lanes"), 3);
    struct pl_scan_options options = {0};
    struct pl_doc *file =
        pl_scan_text(pl_slice_z("{\"lead\":true,\"manifest\":\"x\"}"), &options, &err);
    CHECK_INT(pl_flags_merge(&flags, pl_doc_root(file), "c.yaml", &err), 0);
    CHECK(!pl_flags_switch(&flags, "lead"));
    CHECK(pl_flags_text(&flags, "manifest") == NULL);
    pl_doc_unref(file);
    file = pl_scan_text(pl_slice_z("{\"lead\":\"perhaps\"}"), &options, &err);
    CHECK_INT(pl_flags_merge(&flags, pl_doc_root(file), "c.yaml", &err), PL_EINVAL);
    pl_doc_unref(file);
    pl_flags_deinit(&flags);
}

TEST_MAIN()

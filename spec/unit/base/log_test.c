#include "base/log.h"

#include "base/base.h"
#include "support/test.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

static char line[4096];

/* Runs one call with the log in a pipe; the time stamp (24 characters) is removed. */
#define LOGGED(json, ...)                                                                          \
    (open_log(PL_LOG_DEBUG, json), pl_log(__VA_ARGS__), read_log((json) ? 7 + 24 + 1 : 25))

static int fds[2];

static void open_log(enum pl_log_level level, bool json)
{
    REQUIRE(pipe(fds) == 0);
    pl_log_configure(level, json, fds[1]);
}

static const char *read_log(size_t skip)
{
    close(fds[1]);
    ssize_t got = read(fds[0], line, sizeof(line) - 1);
    close(fds[0]);
    pl_log_configure(PL_LOG_INFO, false, STDERR_FILENO);
    if (got <= 0)
        return "";
    line[got] = '\0';
    return (size_t)got > skip ? line + skip : line;
}

TEST(text_lines_name_level_message_and_fields)
{
    CHECK_STR(LOGGED(false, PL_LOG_INFO, "watch ended", pl_str("kind", "v1/Pod"), pl_int("n", -3),
                     pl_bool("ok", true), pl_num("s", 0.5)),
              "info  watch ended kind=v1/Pod n=-3 ok=true s=0.5\n");
}

TEST(values_that_would_confuse_are_quoted)
{
    CHECK_STR(LOGGED(false, PL_LOG_WARN, "m", pl_str("a", "two words"), pl_str("b", ""),
                     pl_str("c", "x=\"y\"")),
              "warn  m a=\"two words\" b=\"\" c=\"x=\\\"y\\\"\"\n");
}

TEST(long_texts_go_below_their_line)
{
    CHECK_STR(LOGGED(false, PL_LOG_ERROR, "failed", pl_str("trace", "one\n  two"), pl_int("n", 1)),
              "error failed n=1\n    one\n      two\n");
}

TEST(no_text_passes_for_a_line_of_the_log_or_drives_the_terminal)
{
    CHECK_STR(LOGGED(false, PL_LOG_INFO, "a\n2026 error \x1b[31m", pl_str("k", "v\n\x1b]0;t\x07")),
              "info  a\n    2026 error \\u001b[31m\n    v\n    \\u001b]0;t\\u0007\n");
}

TEST(bytes_that_are_no_utf8_are_replaced)
{
    CHECK_STR(LOGGED(false, PL_LOG_INFO, "a\xff z", pl_str("k", "v\xc3\xa4\xc3")),
              "info  a\xef\xbf\xbd z k=v\xc3\xa4\xef\xbf\xbd\n");
    CHECK_STR(LOGGED(true, PL_LOG_INFO, "a\xff", pl_str("\xfe", "v\xed\xa0\x80")),
              "\",\"level\":\"info\",\"msg\":\"a\xef\xbf\xbd\",\"\xef\xbf\xbd\":"
              "\"v\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"}\n" +
                  1);
}

TEST(control_characters_of_two_bytes_do_not_drive_the_terminal_either)
{
    CHECK_STR(LOGGED(false, PL_LOG_INFO,
                     "a\xc2\x9b"
                     "31m\xc2\xa0",
                     pl_str("k", "v\xc2\x9dx")),
              "info  a\\u009b31m\xc2\xa0 k=\"v\\u009dx\"\n");
}

TEST(names_of_fields_pass_for_nothing_else)
{
    CHECK_STR(LOGGED(false, PL_LOG_INFO, "m", pl_str("a b=c\nx", "y"), pl_str("", "z")),
              "info  m \"a b=c\\nx\"=y \"\"=z\n");
}

TEST(json_lines_are_json)
{
    CHECK_STR(LOGGED(true, PL_LOG_DEBUG, "a \"b\"\n", pl_str("k", "v\x01"), pl_num("inf", INFINITY),
                     pl_json("o", pl_slice_z("{\"x\":[1]}"))),
              "\",\"level\":\"debug\",\"msg\":\"a \\\"b\\\"\\n\",\"k\":\"v\\u0001\",\"inf\":null,"
              "\"o\":{\"x\":[1]}}\n" +
                  1);
}

TEST(what_is_below_the_level_is_dropped)
{
    open_log(PL_LOG_WARN, false);
    CHECK(!pl_log_enabled(PL_LOG_INFO) && pl_log_enabled(PL_LOG_WARN));
    pl_log(PL_LOG_INFO, "no");
    CHECK_STR(read_log(0), "");
}

TEST(levels_have_names)
{
    enum pl_log_level level = PL_LOG_DEBUG;
    CHECK(pl_log_parse_level("error", &level) && level == PL_LOG_ERROR);
    CHECK(pl_log_parse_level("debug", &level) && level == PL_LOG_DEBUG);
    CHECK(!pl_log_parse_level("verbose", &level));
}

TEST(lines_that_could_not_be_written_are_counted_and_told_later)
{
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    REQUIRE(full >= 0);
    pl_log_configure(PL_LOG_INFO, false, full);
    for (int i = 0; i < 3; i++)
        pl_log(PL_LOG_INFO, "nobody reads this");
    pl_log_configure(PL_LOG_INFO, false, STDERR_FILENO);
    close(full);
    const char *text = LOGGED(false, PL_LOG_INFO, "room again");
    CHECK(strncmp(text, "info  room again\n", 17) == 0);
    const char *second = strchr(text, '\n') + 1 + 25;
    CHECK_STR(second, "warn  log lines were lost lines=3 error=\"No space left on device\"\n");
    CHECK_STR(LOGGED(false, PL_LOG_INFO, "and"), "info  and\n");
}

TEST(a_line_after_a_torn_one_stands_alone)
{
    char big[8192] = {0};
    memset(big, 'x', sizeof big - 1);
    open_log(PL_LOG_INFO, false);
    fcntl(fds[1], F_SETPIPE_SZ, 4096);
    fcntl(fds[1], F_SETFL, O_NONBLOCK);
    pl_log(PL_LOG_INFO, big);
    REQUIRE(read(fds[0], line, sizeof line) == 4096);
    pl_log(PL_LOG_INFO, "next");
    const char *text = read_log(0);
    CHECK_INT(text[0], '\n');
    CHECK(strncmp(text + 1 + 25, "info  next\n", 11) == 0);
}

TEST(a_reader_that_does_not_read_stops_nobody)
{
    char big[10000] = {0}; /* three pages of the pipe's sixteen: the sixth line is torn */
    memset(big, 'x', sizeof big - 1);
    open_log(PL_LOG_INFO, false);
    for (int i = 0; i < 1000; i++)
        pl_log(PL_LOG_INFO, big);
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    char drain[4096];
    while (read(fds[0], drain, sizeof drain) > 0)
        ;
    pl_log(PL_LOG_INFO, "read again");
    const char *text = read_log(0);
    CHECK(strstr(text, "\n") == text); /* the torn line ends here */
    CHECK(strstr(text, "info  read again\n") != NULL);
    CHECK(strstr(text, "log lines were lost lines=9") != NULL);
}

static void on_tick(int signum)
{
    PL_UNUSED(signum);
}

/* The watchdog interrupts lanes with signals, and other signals interrupt the I/O thread. */
TEST(signals_do_not_make_room_in_a_pipe_that_nobody_reads)
{
    struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 10000}, {0, 10000}}, never = {{0, 0}, {0, 0}};
    char big[10000] = {0};
    memset(big, 'x', sizeof big - 1);
    open_log(PL_LOG_INFO, false);
    REQUIRE(sigaction(SIGALRM, &action, NULL) == 0);
    REQUIRE(setitimer(ITIMER_REAL, &often, NULL) == 0);
    for (int i = 0; i < 1000; i++)
        pl_log(PL_LOG_INFO, big);
    REQUIRE(setitimer(ITIMER_REAL, &never, NULL) == 0);
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    char drain[4096];
    while (read(fds[0], drain, sizeof drain) > 0)
        ;
    pl_log(PL_LOG_INFO, "read again");
    CHECK(strstr(read_log(0), "log lines were lost lines=9") != NULL);
}

#define WRITERS 4

static void *write_much(void *arg)
{
    char text[3000] = {0};
    memset(text, 'y', sizeof text - 1);
    for (int i = 0; i < 2000; i++)
        pl_log(PL_LOG_INFO, text);
    return arg;
}

/* With room for one line, one thread writes. */
TEST(threads_that_log_at_once_are_not_held_up_by_each_others_lines)
{
    pthread_t threads[WRITERS];
    open_log(PL_LOG_INFO, false);
    fcntl(fds[1], F_SETPIPE_SZ, 8192);
    for (int i = 0; i < WRITERS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, write_much, NULL) == 0);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    char drain[4096];
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    while (read(fds[0], drain, sizeof drain) > 0)
        ;
    pl_log(PL_LOG_INFO, "read again");
    CHECK(strstr(read_log(0), "log lines were lost") != NULL);
}

TEST_MAIN()

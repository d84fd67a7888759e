#include <ctype.h>
#include <fcntl.h>
#include <math.h>
#include <sys/prctl.h>
#include <time.h>

#include "report/prometheus.h"

#include "../test.h"

static struct metrics *m;

static void setup(void)
{
    m = metrics_new();
}

static void teardown(void)
{
    metrics_free(m);
}

/* The page up to the process figures, which are other ones each time. */
static char *page_of(void)
{
    struct buf b = {0};
    metrics_print(m, &b);
    char *page = buf_take(&b), *process = strstr(page, "# HELP process_");
    ck_assert_ptr_nonnull(process);
    *process = '\0';
    return page;
}

static void expect_page(const char *want)
{
    cleanup(mem_free_ptr) char *have = page_of();
    ck_assert_str_eq(have, want);
}

static struct metric *counter(const char *name, const char *help, const char *labels)
{
    return metrics_register(m, METRIC_COUNTER, name, help, labels);
}

static struct metric *gauge(const char *name, const char *help, const char *labels)
{
    return metrics_register(m, METRIC_GAUGE, name, help, labels);
}

static struct metric *histogram(const char *name, const char *help, const char *labels)
{
    return metrics_register(m, METRIC_HISTOGRAM, name, help, labels);
}

FIXTURE(setup, teardown)

TEST(counters_and_gauges)
{
    struct metric *plain = counter("plain_total", "No labels.", "");
    struct metric *labelled = counter("http_requests_total", "Three.", "target,method,code");
    struct metric *level = gauge("in_sync", "One or none.", "");
    metric_add(plain, 1, NULL);
    metric_add(plain, 2.5, NULL);
    metric_add(labelled, 1, "haproxy", "GET", "200", NULL);
    metric_add(labelled, 1, "haproxy", "GET", "503", NULL);
    metric_add(labelled, 1, "haproxy", "GET", "200", NULL);
    metric_set(level, 1, NULL);
    metric_add(level, -3, NULL);
    expect_page("# HELP haproxy_k8s_sync_plain_total No labels.\n"
                "# TYPE haproxy_k8s_sync_plain_total counter\n"
                "haproxy_k8s_sync_plain_total 3.5\n"
                "# HELP haproxy_k8s_sync_http_requests_total Three.\n"
                "# TYPE haproxy_k8s_sync_http_requests_total counter\n"
                "haproxy_k8s_sync_http_requests_total{target=\"haproxy\",method=\"GET\",code=\"200\"} 2\n"
                "haproxy_k8s_sync_http_requests_total{target=\"haproxy\",method=\"GET\",code=\"503\"} 1\n"
                "# HELP haproxy_k8s_sync_in_sync One or none.\n"
                "# TYPE haproxy_k8s_sync_in_sync gauge\n"
                "haproxy_k8s_sync_in_sync -2\n");
    ck_assert_double_eq(metric_value(labelled, "haproxy", "GET", "200", NULL), 2);
    ck_assert_double_eq(metric_value(labelled, "haproxy", "GET", "404", NULL), 0);
}

/* Behind the labels that a line has, in front of `le`. */
TEST(a_label_of_all_lines)
{
    struct metric *plain = counter("plain_total", "No labels.", "");
    struct metric *labelled = gauge("in_sync", "One or none.", "target");
    struct metric *seconds = histogram("seconds", "How long.", "");
    metric_add(plain, 1, NULL);
    metrics_label(m, "cluster", "east\"1");
    metric_set(labelled, 1, "a", NULL);
    metric_observe(seconds, 1, NULL);
    struct buf b = {0};
    metrics_print(m, &b);
    const char *lines[] = {"\nhaproxy_k8s_sync_plain_total{cluster=\"east\\\"1\"} 1\n",
                           "\nhaproxy_k8s_sync_in_sync{target=\"a\",cluster=\"east\\\"1\"} 1\n",
                           "\nhaproxy_k8s_sync_seconds_bucket{cluster=\"east\\\"1\",le=\"0.5\"} 0\n",
                           "\nhaproxy_k8s_sync_seconds_count{cluster=\"east\\\"1\"} 1\n",
                           "\nprocess_open_fds{cluster=\"east\\\"1\"} "};
    for (size_t i = 0; i < array_len(lines); i++)
        ck_assert_msg(strstr(buf_str(&b), lines[i]) != NULL, "no %s in %s", lines[i], buf_str(&b));
    ck_assert_double_eq(metric_value(labelled, "a", NULL), 1);
    metrics_forget(m, "target", "a");
    ck_assert_double_eq(metric_value(labelled, "a", NULL), 0);
    buf_fini(&b);
}

TEST(without_labels_there_from_the_start)
{
    counter("a_total", "A.", "");
    counter("b_total", "B.", "result");
    expect_page("# HELP haproxy_k8s_sync_a_total A.\n# TYPE haproxy_k8s_sync_a_total counter\n"
                "haproxy_k8s_sync_a_total 0\n"
                "# HELP haproxy_k8s_sync_b_total B.\n# TYPE haproxy_k8s_sync_b_total counter\n");
    metrics_free(NULL);
}

TEST(escaping)
{
    struct metric *x = gauge("x", "A \\ and \"quotes\"\nand a line.", "l");
    metric_set(x, 1, "a\\b\"c\nd", NULL);
    metric_set(x, 2, "} 7\nforged 1", NULL);
    expect_page("# HELP haproxy_k8s_sync_x A \\\\ and \"quotes\"\\nand a line.\n"
                "# TYPE haproxy_k8s_sync_x gauge\n"
                "haproxy_k8s_sync_x{l=\"a\\\\b\\\"c\\nd\"} 1\n"
                "haproxy_k8s_sync_x{l=\"} 7\\nforged 1\"} 2\n");
}

TEST(values_are_utf8_and_bounded)
{
    char text[400];
    struct metric *x = gauge("long", "X.", "l*");
    metric_set(x, 1, "a\xff z", NULL);
    ck_assert_double_eq(metric_value(x, "a? z", NULL), 1);
    memset(text, 'a', sizeof(text));
    memcpy(text + 119, "\xc3\xa9", 3); /* would be cut in the middle */
    metric_set(x, 1, text, NULL);
    text[119] = '\0';
    ck_assert_double_eq(metric_value(x, text, NULL), 1);
}

TEST(missing_values_are_empty)
{
    struct metric *x = gauge("x", "X.", "a,b,c,d");
    metric_set(x, 1, "1", NULL);
    metric_set(x, 2, "1", "2", "3", "4", NULL);
    expect_page("# HELP haproxy_k8s_sync_x X.\n# TYPE haproxy_k8s_sync_x gauge\n"
                "haproxy_k8s_sync_x{a=\"1\",b=\"\",c=\"\",d=\"\"} 1\n"
                "haproxy_k8s_sync_x{a=\"1\",b=\"2\",c=\"3\",d=\"4\"} 2\n");
}

/* What a peer chooses is one label of one metric, and costs nothing of what else is shown. */
TEST(a_peer_cannot_make_them_grow)
{
    struct metric *x = counter("x_total", "X.", "target,code*");
    struct metric *only = counter("y_total", "Y.", "code*");
    for (unsigned i = 0; i < 1000; i++) {
        cleanup(mem_free_ptr) char *value = mem_printf("%u", i);
        metric_add(x, 1, "bad", value, NULL);
        metric_add(only, 1, value, NULL);
    }
    metric_add(x, 1, "bad", "0", NULL);
    metric_add(x, 1, "bad", "20", NULL);
    metric_add(x, 1, "bad\",code=\"1", "0", NULL);
    ck_assert_double_eq(metric_value(x, "bad", "0", NULL), 2);
    ck_assert_double_eq(metric_value(x, "bad", "19", NULL), 1);
    ck_assert_double_eq(metric_value(x, "bad", "20", NULL), 0);
    ck_assert_double_eq(metric_value(x, "bad", "other", NULL), 981);
    ck_assert_double_eq(metric_value(only, "other", NULL), 980);
    for (unsigned i = 0; i < 100; i++) {
        cleanup(mem_free_ptr) char *target = mem_printf("good%u", i);
        metric_add(x, 1, target, "200", NULL);
        ck_assert_double_eq(metric_value(x, target, "200", NULL), 1);
    }
}

/* The largest configuration: 64 backends on 16 HAProxies. */
TEST(nothing_that_is_configured_is_left_out)
{
    static const char *const gauges[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n"};
    for (size_t g = 0; g < array_len(gauges); g++) {
        struct metric *x = gauge(gauges[g], "X.", "target,backend");
        for (unsigned b = 0; b < 64; b++)
            for (unsigned t = 0; t < 16; t++) {
                cleanup(mem_free_ptr) char *backend = mem_printf("backend-of-a-long-name-%u", b);
                cleanup(mem_free_ptr) char *target = mem_printf("https://haproxy-%u.example.com:5555", t);
                metric_set(x, 1 + 16 * b + t, target, backend, NULL);
            }
        ck_assert_double_eq(metric_value(x, "https://haproxy-15.example.com:5555", "backend-of-a-long-name-63", NULL),
                            1024);
    }
    cleanup(mem_free_ptr) char *page = page_of();
    size_t lines = 0, comments = 2 * array_len(gauges);
    for (const char *at = page; *at != '\0'; at++)
        lines += *at == '\n';
    ck_assert_uint_eq(lines - comments, array_len(gauges) * 1024);
}

/* They may differ at their end alone. */
TEST(values_that_are_long_are_whole)
{
    char one[400], two[400];
    struct metric *x = gauge("x", "X.", "target");
    memset(one, 'a', sizeof(one));
    one[sizeof(one) - 1] = '\0';
    memcpy(two, one, sizeof(one));
    two[sizeof(two) - 2] = 'b';
    metric_set(x, 1, one, NULL);
    metric_set(x, 2, two, NULL);
    ck_assert_double_eq(metric_value(x, one, NULL), 1);
    ck_assert_double_eq(metric_value(x, two, NULL), 2);
}

TEST(one_line_goes_and_may_come_back)
{
    struct metric *x = gauge("x", "X.", "a,b");
    metric_set(x, 1, "one", "b", NULL);
    metric_set(x, 2, "two", "b", NULL);
    metric_remove(x, "one", "b", NULL);
    metric_remove(x, "none", "b", NULL);
    expect_page("# HELP haproxy_k8s_sync_x X.\n# TYPE haproxy_k8s_sync_x gauge\n"
                "haproxy_k8s_sync_x{a=\"two\",b=\"b\"} 2\n");
    metric_set(x, 3, "one", "b", NULL);
    ck_assert_double_eq(metric_value(x, "one", "b", NULL), 3);
}

TEST(what_is_cleared_is_gone_and_may_come_back)
{
    struct metric *x = gauge("of_targets", "help", "a");
    metric_set(x, 1, "one", NULL);
    metric_set(x, 2, "two", NULL);
    metric_clear(x);
    expect_page("# HELP haproxy_k8s_sync_of_targets help\n# TYPE haproxy_k8s_sync_of_targets gauge\n");
    metric_set(x, 3, "two", NULL);
    ck_assert(metric_value(x, "two", NULL) == 3 && metric_value(x, "one", NULL) == 0);
}

TEST(all_lines_of_a_value_go)
{
    struct metric *a = counter("a_total", "A.", "target"), *b = counter("b_total", "B.", "method,target,code*"),
                  *c = counter("c_total", "C.", "backend");
    const char *other = "x\",target=\"u\"";
    metric_add(a, 1, "u", NULL);
    metric_add(a, 1, "u2", NULL);
    metric_add(a, 1, other, NULL);
    metric_add(b, 1, "GET", "u", "200", NULL);
    metric_add(b, 1, "u", "GET", "200", NULL);
    metric_add(c, 1, "u", NULL);
    metrics_forget(m, "target", "u");
    ck_assert_double_eq(metric_value(a, "u", NULL), 0);
    ck_assert_double_eq(metric_value(b, "GET", "u", "200", NULL), 0);
    ck_assert_double_eq(metric_value(a, "u2", NULL), 1);
    ck_assert_double_eq(metric_value(a, other, NULL), 1);
    ck_assert_double_eq(metric_value(b, "u", "GET", "200", NULL), 1);
    ck_assert_double_eq(metric_value(c, "u", NULL), 1);
    metrics_forget(m, "target", other);
    ck_assert_double_eq(metric_value(a, other, NULL), 0);
}

TEST(a_counter_only_counts_up)
{
    struct metric *x = counter("x_total", "X.", "");
    metric_add(x, 2, NULL);
    metric_add(x, -1, NULL);
    metric_add(x, NAN, NULL);
    metric_set(x, -1, NULL);
    ck_assert_double_eq(metric_value(x, NULL), 2);
}

TEST(numbers)
{
    static const struct {
        double in;
        const char *out;
    } cases[] = {{0, "0"},
                 {-1, "-1"},
                 {0.1, "0.1"},
                 {1763723000.25, "1763723000.25"},
                 {123456789012345.0, "123456789012345"},
                 {1e18, "1e+18"},
                 {1.0 / 3.0, "0.33333333333333331"},
                 {INFINITY, "+Inf"},
                 {-INFINITY, "-Inf"},
                 {NAN, "NaN"}};
    struct metric *x = gauge("x", "X.", "");
    for (size_t i = 0; i < array_len(cases); i++) {
        metric_set(x, cases[i].in, NULL);
        cleanup(mem_free_ptr) char *have = page_of();
        cleanup(mem_free_ptr) char *want = mem_printf("\nhaproxy_k8s_sync_x %s\n", cases[i].out);
        ck_assert_msg(strstr(have, want) != NULL, "%s in %s", want, have);
    }
}

TEST(histograms)
{
    struct metric *x = histogram("took_seconds", "How long.", "what");
    metric_observe(x, 0.0005, "a", NULL);
    metric_observe(x, 0.001, "a", NULL); /* the bound is in */
    metric_observe(x, 0.3, "a", NULL);
    metric_observe(x, 60, "a", NULL);
    metric_observe(x, 61, "a", NULL);
    metric_observe(x, NAN, "a", NULL);
    static const char *const bounds[] = {"0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25",
                                         "0.5",   "1",      "2.5",   "5",    "10",    "30",   "60",  "+Inf"};
    cleanup(buf_fini) struct buf page = {0};
    buf_add(&page, "# HELP haproxy_k8s_sync_took_seconds How long.\n# TYPE haproxy_k8s_sync_took_seconds histogram\n");
    for (size_t i = 0; i < array_len(bounds); i++)
        buf_printf(&page, "haproxy_k8s_sync_took_seconds_bucket{what=\"a\",le=\"%s\"} %d\n", bounds[i],
                   i < 8    ? 2
                   : i < 14 ? 3
                   : i < 15 ? 4
                            : 5);
    buf_add(&page, "haproxy_k8s_sync_took_seconds_sum{what=\"a\"} 121.3015\n"
                   "haproxy_k8s_sync_took_seconds_count{what=\"a\"} 5\n");
    expect_page(buf_str(&page));
    ck_assert_double_eq(metric_value(x, "a", NULL), 5);
}

TEST(a_histogram_without_labels)
{
    struct metric *x = histogram("took_seconds", "How long.", "");
    metric_observe(x, 2, NULL);
    cleanup(mem_free_ptr) char *page = page_of();
    ck_assert_ptr_nonnull(strstr(page, "\nhaproxy_k8s_sync_took_seconds_bucket{le=\"1\"} 0\n"));
    ck_assert_ptr_nonnull(strstr(page, "\nhaproxy_k8s_sync_took_seconds_bucket{le=\"2.5\"} 1\n"));
    ck_assert_ptr_nonnull(strstr(page, "\nhaproxy_k8s_sync_took_seconds_sum 2\n"));
}

struct scrape {
    struct metric *a, *b;
    double value;
};

static void on_scrape(void *arg)
{
    struct scrape *s = arg;
    metric_set(s->a, s->value, NULL);
    metric_set(s->b, 2, NULL);
}

TEST(gauges_are_set_at_each_scrape)
{
    struct scrape s = {gauge("a", "A.", ""), gauge("b", "B.", ""), 1};
    metrics_on_scrape(m, on_scrape, &s);
    for (unsigned i = 0; i < 3; i++) {
        s.value = i;
        cleanup(mem_free_ptr) char *page = page_of(), *want = mem_printf("\nhaproxy_k8s_sync_a %u\n", i);
        ck_assert_ptr_nonnull(strstr(page, want));
        ck_assert_ptr_nonnull(strstr(page, "\nhaproxy_k8s_sync_b 2\n"));
    }
}

static double figure(const char *page, const char *name)
{
    cleanup(mem_free_ptr) char *start = mem_printf("\n%s ", name);
    const char *at = strstr(page, start);
    ck_assert_msg(at != NULL, "%s is missing", name);
    return strtod(at + strlen(start), NULL);
}

TEST(process_figures)
{
    cleanup(buf_fini) struct buf b = {0};
    int fds = 0;
    prctl(PR_SET_NAME, "a) 1 (b", 0, 0, 0); /* stands in the middle of what is parsed */
    for (int fd = 0; fd < 1024; fd++)
        fds += fcntl(fd, F_GETFD) >= 0;
    metrics_print(m, &b);
    const char *page = buf_str(&b);
    ck_assert_double_eq(figure(page, "process_open_fds"), fds);
    double age = difftime(time(NULL), (time_t)figure(page, "process_start_time_seconds"));
    ck_assert_msg(age > -2 && age < 3600, "started %f s ago", age);
    ck_assert_double_ge(figure(page, "process_cpu_seconds_total"), 0);
    ck_assert_double_gt(figure(page, "process_resident_memory_bytes"), 100e3);
    ck_assert_double_gt(figure(page, "process_virtual_memory_bytes"), figure(page, "process_resident_memory_bytes"));
}

/* Each line is "# HELP NAME ...", "# TYPE NAME ..." or NAME[{...}] NUMBER, and each sample follows its TYPE. */
TEST(every_line_is_exposition_text)
{
    metric_observe(histogram("h_seconds", "H.", "a"), 1, "x y\"{}", NULL);
    metric_set(gauge("g", "G.", "a,b"), 1.5, "", "\n", NULL);
    cleanup(buf_fini) struct buf b = {0};
    metrics_print(m, &b);
    char *rest = b.data, type_of[100] = "";
    unsigned samples = 0;
    ck_assert_msg(b.data[b.len - 1] == '\n', "the last line ends");
    b.data[b.len - 1] = '\0';
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        if (str_has_prefix(line, "# HELP "))
            continue;
        if (str_has_prefix(line, "# TYPE ")) {
            snprintf(type_of, sizeof(type_of), "%.*s", (int)strcspn(line + 7, " "), line + 7);
            continue;
        }
        ck_assert_msg(str_has_prefix(line, type_of), "\"%s\" is not of %s", line, type_of);
        const char *number = strrchr(line, ' ');
        char *end;
        ck_assert_msg(number != NULL && (isdigit((unsigned char)number[1]) || number[1] == '-'), "\"%s\"", line);
        strtod(number + 1, &end);
        ck_assert_msg(*end == '\0', "\"%s\"", line);
        samples++;
    }
    ck_assert_uint_ge(samples, 20);
}

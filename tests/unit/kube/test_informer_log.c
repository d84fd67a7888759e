/* src/kube/informer_log: what watches of one API server say when it is away. */
#include <unistd.h>

#include "kube/informer_log.h"
#include "kube/outage.h"

#include "../test.h"

static int ends[2];
static struct log to;
static struct kube_outage outage;
static struct informer_log nodes, services;

static void begin(void)
{
    ck_assert_int_eq(pipe(ends), 0);
    to = (struct log){.level = LOG_LEVEL_INFO, .fd = ends[1]};
    kube_outage_init(&outage, "https://api:6443");
    informer_log_init(&nodes, &to, &outage, "nodes", NULL, NULL);
    informer_log_init(&services, &to, &outage, "services", "ns/web", NULL);
}

static void end(void)
{
    close(ends[0]);
    close(ends[1]);
}

static void lose(struct informer_log *l, const char *reason, bool synced, uint64_t now_ms)
{
    struct watch w = {.reason = reason, .synced = synced};
    snprintf(w.detail, sizeof(w.detail), "it was %s", reason);
    informer_log_step(l, WATCH_CONTACT_LOST, &w, now_ms);
}

static void find(struct informer_log *l, uint64_t now_ms)
{
    const struct watch w = {.contact = true};
    informer_log_step(l, WATCH_CONTACT_BACK, &w, now_ms);
}

/* The lines since the last call, without what stands before their message. */
static char *said(void)
{
    char text[4000];
    struct buf out = {0};
    ck_assert_int_eq(write(ends[1], "\n", 1), 1);
    ssize_t len = read(ends[0], text, sizeof(text) - 1);
    ck_assert_int_gt(len, 0);
    text[len] = '\0';
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        const char *message = strstr(line, "msg=");
        if (message != NULL)
            buf_printf(&out, "%s\n", message);
    }
    return buf_take(&out);
}

#define AWAY "msg=\"no contact with the Kubernetes API; keeping the last state\" "

FIXTURE(begin, end)

TEST(one_says_it_for_all)
{
    lose(&nodes, "unreachable", true, 1000);
    lose(&services, "unreachable", true, 1001);
    lose(&nodes, "unreachable", true, 2000);
    cleanup(mem_free_ptr) char *lost = said();
    ck_assert_str_eq(lost, AWAY "server=https://api:6443 reason=unreachable error=\"it was unreachable\"\n");
    find(&services, 4000);
    find(&nodes, 4001);
    cleanup(mem_free_ptr) char *back = said();
    ck_assert_str_eq(back, "msg=\"contact with the Kubernetes API recovered\" server=https://api:6443 "
                           "away_ms=3000.0\n");
}

TEST(it_is_said_again_after_a_minute)
{
    lose(&nodes, "unreachable", true, 1000);
    lose(&services, "unreachable", true, 30000);
    cleanup(mem_free_ptr) char *first = said();
    lose(&services, "unreachable", true, 61001);
    cleanup(mem_free_ptr) char *again = said();
    ck_assert_str_eq(again, AWAY "server=https://api:6443 reason=unreachable error=\"it was unreachable\" "
                                 "repeated=1\n");
}

TEST(a_cut_before_it_is_no_line_of_its_own)
{
    lose(&nodes, "lost", true, 1000);
    lose(&services, "closed", true, 1001);
    lose(&services, "unreachable", true, 2000);
    lose(&nodes, "unreachable", true, 2001);
    cleanup(mem_free_ptr) char *lost = said();
    ck_assert_str_eq(lost, AWAY "server=https://api:6443 reason=unreachable error=\"it was unreachable\"\n");
    lose(&nodes, "unreachable", true, 2500);
    find(&services, 4000);
    find(&nodes, 4001);
    cleanup(mem_free_ptr) char *back = said();
    ck_assert_str_eq(back, "msg=\"contact with the Kubernetes API recovered\" server=https://api:6443 "
                           "away_ms=2000.0\n");
}

/* What is one watch's alone names it. */
TEST(what_is_not_the_server)
{
    lose(&nodes, "lost", true, 1000); /* once, which the next request explains */
    lose(&nodes, "lost", true, 1000);
    lose(&services, "silent", true, 1001);
    cleanup(mem_free_ptr) char *lost = said();
    ck_assert_str_eq(lost, AWAY "resource=nodes reason=lost error=\"it was lost\"\n" AWAY
                                "resource=services service=ns/web reason=silent error=\"it was silent\"\n");
    find(&nodes, 2000);
    find(&services, 3000);
    cleanup(mem_free_ptr) char *back = said();
    ck_assert_ptr_nonnull(strstr(back, "recovered\" resource=nodes away_ms=1000.0\n"));
    ck_assert_ptr_nonnull(strstr(back, "recovered\" resource=services service=ns/web away_ms="));
}

/* Of the same trouble of two the second is of debug level, and so is that it is over. */
TEST(the_same_words_for_both)
{
    lose(&nodes, "no_answer", true, 1000);
    lose(&services, "no_answer", true, 1001);
    lose(&services, "no_answer", true, 30000);
    cleanup(mem_free_ptr) char *lost = said();
    ck_assert_str_eq(lost, AWAY "resource=nodes reason=no_answer error=\"it was no_answer\"\n");
    find(&services, 31000);
    find(&nodes, 32000);
    cleanup(mem_free_ptr) char *back = said();
    ck_assert_str_eq(back, "msg=\"contact with the Kubernetes API recovered\" resource=nodes away_ms=31000.0\n");
}

/* It was away, and then it refused this one: the outage is not what ends with that. */
TEST(another_trouble_after_it)
{
    lose(&nodes, "unauthorized", false, 1000);
    lose(&nodes, "forbidden", false, 2000);
    cleanup(mem_free_ptr) char *lost = said();
    ck_assert_ptr_nonnull(strstr(lost, "server=https://api:6443 reason=unauthorized"));
    ck_assert_ptr_nonnull(strstr(lost, "resource=nodes reason=forbidden"));
}

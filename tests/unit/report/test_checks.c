/* src/report/checks: how all stands, as /readyz, /status and systemd have it. */

#include "base/text.h"
#include "report/checks.h"

#include "../test.h"

static struct checks checks;

static void teardown(void)
{
    checks_fini(&checks);
}

static void add(enum check_state state, const char *name, const char *reason, const char *hint)
{
    checks_add(&checks, state, mem_strdup(name), mem_strdup(reason), mem_strdup(hint));
}

/* "[+]name: reason" of each line; what is no such line is left out. */
static void add_lines(const char *lines)
{
    for (; *lines != '\0'; lines += strcspn(lines, "\n"), lines += *lines == '\n') {
        if (lines[0] != '[' || lines[1] == '\0')
            continue;
        cleanup(mem_free_ptr) char *name = mem_strndup(lines + 3, strcspn(lines, "\n") - 3);
        char *reason = strstr(name, ": ");
        if (reason != NULL)
            *reason = '\0';
        add(lines[1] == '+' ? CHECK_OK : CHECK_FAIL, name, reason != NULL ? reason + 2 : NULL, NULL);
    }
}

FIXTURE(NULL, teardown)

TEST(lines)
{
    cleanup(buf_fini) struct buf page = {0};
    checks_print(&checks, &page);
    ck_assert_str_eq(buf_str(&page), "");
    add(CHECK_OK, "watch nodes", "synced, 5 objects", NULL);
    add(CHECK_FAIL, "watch services", "not synced: 403", "grant it");
    add(CHECK_WARN, "target http://lb1:5555 backend be", "in sync, paused", NULL);
    add(CHECK_FAIL, "stopping", NULL, NULL);
    checks_print(&checks, &page);
    ck_assert_str_eq(buf_str(&page), "[+]watch nodes: synced, 5 objects\n"
                                     "[-]watch services: not synced: 403; grant it\n"
                                     "[+]target http://lb1:5555 backend be: in sync, paused\n"
                                     "[-]stopping\n");
    cleanup(mem_free_ptr) char *text = checks_text(&checks.list[1]), *none = checks_text(&checks.list[3]);
    ck_assert_str_eq(text, "not synced: 403; grant it");
    ck_assert_str_eq(none, "");
}

TEST(one_is_found_by_its_name)
{
    add_lines("[+]target http://a:1 backend be2: two\n[-]target http://a:1 backend be: one\n"
              "[+]target http://b:1 backend be: other\n");
    ck_assert_str_eq(checks_find(&checks, "target http://a:1 backend be")->reason, "one");
    ck_assert_str_eq(checks_find(&checks, "target http://a:1 backend be2")->reason, "two");
    ck_assert_str_eq(checks_find(&checks, "target http://b:1 backend be")->reason, "other");
    ck_assert_ptr_null(checks_find(&checks, "target http://b:1 backend be2"));
    ck_assert_ptr_null(checks_find(&checks, "target http://a:1 backend b"));
}

TEST(one_line)
{
    static const struct {
        const char *lines, *summary;
    } rows[] = {
        {"", "calm"},
        {"[+]a: b\n", "calm"},
        {"[+]a: b\n[-]c: d\n", "c: d"},
        {"[-]stopping\n", "stopping"},
        {"[-]a: b\n[+]c: d\n[-]e: f\n[-]g: h\n", "a: b (and 2 more)"},
    };
    for (size_t i = 0; i < array_len(rows); i++) {
        add_lines(rows[i].lines);
        cleanup(mem_free_ptr) char *line = checks_summary(&checks, "calm");
        ck_assert_str_eq(line, rows[i].summary);
        checks_fini(&checks);
    }
}

TEST(what_is_worth_more_words)
{
    add(CHECK_OK, "a", "fine", NULL);
    add(CHECK_WARN, "b", "in step", "and paused");
    add(CHECK_WARN, "c", "held", NULL);
    cleanup(mem_free_ptr) char *line = checks_summary(&checks, "calm"), *status = checks_status(&checks, true);
    ck_assert_str_eq(line, "in step; and paused");
    ck_assert_str_eq(status, "ready");
    add(CHECK_FAIL, "d", "no", NULL);
    cleanup(mem_free_ptr) char *failed = checks_summary(&checks, "calm");
    ck_assert_str_eq(failed, "d: no");
}

static const struct row {
    bool ready;
    const char *page;
    const char *line;
} states[] = {
    {true, "", "ready"},
    {true, "[+]watch nodes: synced, 3 objects\n[+]target a backend b: in step\n", "ready"},
    {false, "", "not ready"},
    {false, "[+]watch nodes: synced\n", "not ready"},
    {false, "[-]watch nodes: not synced: no connection\n", "not ready: watch nodes: not synced: no connection"},
    {false, "[-]the last line has no end", "not ready: the last line has no end"},
    {false, "[+]a\n[-]b: c\n[+]d\n", "not ready: b: c"},
    {false, "[-]a\n[+]b\n[-]c\n[-]d\n", "not ready: a (and 2 more, see /readyz)"},
    {false, "[+]says [-]x\n[-]y says [-]z\n", "not ready: y says [-]z"},
    {false, "\n\n[-]a\n", "not ready: a"},
    {false, "[-][-]a\n", "not ready: [-]a"},
    {false, "[-]\n", "not ready: "},
    {false, "[-]one\x1b[31m\ttab\n", "not ready: one\\x1b[31m\\x09tab"},
    {false, "[-]\xff\n", "not ready: \\xff"},
};

TEST_EACH(as_systemd_shows_it, array_len(states))
{
    const struct row *r = &states[_i];
    add_lines(r->page);
    cleanup(mem_free_ptr) char *line = checks_status(&checks, r->ready);
    ck_assert_str_eq(line, r->line);
}

TEST(the_first_line_is_shown)
{
    add(CHECK_FAIL, "a", "HAProxy says\n[ALERT] no", NULL);
    cleanup(mem_free_ptr) char *line = checks_status(&checks, false);
    ck_assert_str_eq(line, "not ready: a: HAProxy says");
}

/* Wherever the cut falls, it falls between two characters. */
TEST(long_ones_are_cut)
{
    for (size_t before = 0; before < 4; before++) {
        struct buf name = {0};
        buf_addn(&name, "xxxx", before);
        for (int i = 0; i < 1000; i++)
            buf_add(&name, "\xe2\x82\xac");
        checks_add(&checks, CHECK_FAIL, buf_take(&name), NULL, NULL);
        add(CHECK_FAIL, "another", NULL, NULL);
        cleanup(mem_free_ptr) char *line = checks_status(&checks, false);
        ck_assert_uint_le(strlen(line), CHECKS_STATUS_MAX_BYTES);
        ck_assert_uint_ge(strlen(line), CHECKS_STATUS_MAX_BYTES / 2);
        ck_assert(text_is_utf8(line));
        ck_assert_ptr_nonnull(strstr(line, "\xe2\x82\xac... (and 1 more"));
        checks_fini(&checks);
    }
}

TEST(names)
{
    static const char *const wanted[] = {"in_sync", "changing", "not_written", "removal_delayed", "waiting", "problem"};
    for (int i = STATUS_IN_SYNC; i <= STATUS_PROBLEM; i++)
        ck_assert_str_eq(status_state_name(i), wanted[i]);
}

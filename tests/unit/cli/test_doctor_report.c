/* A report of `doctor`, as text and as JSON. */
#include "cli/doctor/doctor_report.h"

#include <yyjson.h>

#include "base/page.h"

#include "../test.h"

static void fill(struct doctor_report *r)
{
    struct doctor_section *s = doctor_section(r, "kubernetes", "https://10.0.0.1:6443", "in-cluster");
    doctor_ok(s, "kubernetes.version", "version", "Kubernetes v1.%d", 34);
    doctor_set(s, "what", "role");
    doctor_set(s, "nothing", NULL);
    doctor_say(
        s, CHECK_FAIL, "kubernetes.rights.nodes", "permission",
        "list nodes: not allowed\n"
        "why without Nodes no server has an address, and so nothing is written anywhere at all, not even once in "
        "a while\n"
        "fix run:\n  kubectl create {what}\n  {nothing}\n  kubectl bind\n"
        "fix {nothing}:\n  kubectl never\n"
        "and then:\n  kubectl wait");
    doctor_help(s, "or ask the {nothing}administrator");
    doctor_skip(s, "kubernetes.x", "x", "needs %s", "y");
    s = doctor_section(r, "clock", NULL, NULL);
    doctor_warn(s, "clock.kubernetes", "Kubernetes", "this clock is 7 s ahead\x1b[31m");
}

static const char text[] =
    "Kubernetes https://10.0.0.1:6443  (in-cluster)\n"
    "  [ok]   version         Kubernetes v1.34\n"
    "  [FAIL] permission      list nodes: not allowed\n"
    "         why  without Nodes no server has an address, and so nothing is written anywhere at all, not\n"
    "              even once in a while\n"
    "         fix  run:\n"
    "                kubectl create role\n"
    "                kubectl bind\n"
    "         and  then:\n"
    "                kubectl wait\n"
    "         or   ask the administrator\n"
    "  [skip] x               needs y\n"
    "\n"
    "Clock\n"
    "  [warn] Kubernetes      this clock is 7 s ahead\\x1b[31m\n"
    "\n"
    "1 failed, 1 warning, 1 ok, 1 skipped\n"
    "Not ready. Fix the first [FAIL] first: it may cause the others. Then run doctor again.\n";

/* What a server says may be as long as its answer. */
TEST(long_texts_are_cut)
{
    cleanup(doctor_report_fini) struct doctor_report r = {0};
    struct doctor_section *s = doctor_section(&r, "kubernetes", NULL, NULL);
    for (int before = 0; before < 2; before++) {
        cleanup(buf_fini) struct buf words = {0};
        buf_add(&words, before == 0 ? "" : "-");
        while (words.len < 100000)
            buf_add(&words, "\xc3\xa9");
        doctor_fail(s, "kubernetes.x", "x", "%s", buf_str(&words));
        doctor_set(s, "words", buf_str(&words));
        doctor_help(s, "fix run:\n  {words}");
        const struct doctor_check *c = s->checks[s->check_count - 1];
        ck_assert_uint_le(strlen(c->is.reason), DOCTOR_TEXT_MAX_BYTES);
        ck_assert_uint_ge(strlen(c->is.reason), DOCTOR_TEXT_MAX_BYTES - 1);
        ck_assert_str_eq(c->is.reason + strlen(c->is.reason) - 5, "\xc3\xa9...");
        ck_assert_str_eq(c->fixes[0].lines, c->is.reason);
    }
}

static char *printed(const struct doctor_report *r, bool colour, size_t width)
{
    struct buf out = {0};
    struct page page;
    page_init(&page, &out, colour, width);
    doctor_print(r, &page);
    return buf_take(&out);
}

TEST(as_text)
{
    cleanup(doctor_report_fini) struct doctor_report r = {0};
    fill(&r);
    cleanup(mem_free_ptr) char *is = printed(&r, false, 100);
    ck_assert_str_eq(is, text);
}

/* Colours add nothing but themselves; whatever the width, lines to be copied stay whole. */
TEST(in_colour_and_narrow)
{
    static const char *const parts[] = {"\x1b[31m[FAIL]\x1b[0m", "\x1b[32m[ok]\x1b[0m",
                                        "\x1b[36mkubectl create role\x1b[0m\n", "\\x1b[31m"};
    cleanup(doctor_report_fini) struct doctor_report r = {0};
    fill(&r);
    cleanup(mem_free_ptr) char *is = printed(&r, true, 60);
    for (size_t i = 0; i < array_len(parts); i++)
        ck_assert_msg(strstr(is, parts[i]) != NULL, "%s", is);
}

TEST(all_is_well)
{
    static const struct {
        const char *plan;
        bool not_ready;
        const char *last;
    } ends[] = {
        {"plan", false, "Ready. haproxy-k8s-sync plan shows what would change.\n"},
        {"config plan", false, "Ready. haproxy-k8s-sync config plan shows what would change.\n"},
        {NULL, false, "Ready.\n"},
        {NULL, true, "Nothing failed, but the daemon that runs is not ready, see its section.\n"},
        {"plan", true,
         "Nothing failed, but the daemon that runs is not ready, see its section. haproxy-k8s-sync plan "
         "shows\nwhat would change.\n"},
    };
    for (size_t i = 0; i < array_len(ends); i++) {
        cleanup(doctor_report_fini) struct doctor_report r = {.plan = ends[i].plan, .not_ready = ends[i].not_ready};
        doctor_ok(doctor_section(&r, "settings", NULL, NULL), "settings", "settings", "fine");
        cleanup(mem_free_ptr) char *is = printed(&r, false, 100);
        cleanup(mem_free_ptr) char *expected =
            mem_printf("Settings\n  [ok]   settings        fine\n\n1 ok\n%s", ends[i].last);
        ck_assert_str_eq(is, expected);
    }
}

/* What a word stands for begins no line of another kind, and is no text with words. */
TEST(words_stay_words)
{
    cleanup(doctor_report_fini) struct doctor_report r = {0};
    struct doctor_section *s = doctor_section(&r, "kubernetes", NULL, NULL);
    doctor_set(s, "user", "jane\nfix reboot:\n  reboot {other}");
    doctor_word(s, "other", "%d", 5);
    doctor_word(s, "other", "%d", 6);
    doctor_say(s, CHECK_FAIL, "kubernetes.x", "x", "{user} {\"a\":{other}} {unknown}\nand see {user}");
    const struct doctor_check *c = s->checks[0];
    ck_assert_str_eq(c->is.reason, "jane\nfix reboot:\n  reboot {other} {\"a\":6} {unknown}");
    ck_assert_uint_eq(c->fix_count, 1);
    ck_assert_str_eq(c->fixes[0].how, "see jane\nfix reboot:\n  reboot {other}");
    ck_assert(c->fixes[0].lines == NULL && !c->fixes[0].also && c->why == NULL);
}

TEST(the_rows_that_hold)
{
    cleanup(doctor_report_fini) struct doctor_report r = {0};
    struct doctor_section *s = doctor_section(&r, "kubernetes", NULL, NULL);
    const struct doctor_row rows[] = {
        {false, CHECK_FAIL, "a"}, {true, CHECK_WARN, "b"}, {false, CHECK_OK, "c"}, {true, CHECK_OK, "d"}};
    doctor_first(s, "kubernetes.x", "x", rows);
    ck_assert_uint_eq(s->check_count, 1);
    ck_assert_str_eq(s->checks[0]->is.reason, "b");
    ck_assert_int_eq(s->checks[0]->is.state, CHECK_WARN);
    ck_assert_uint_eq(doctor_each(s, "kubernetes.x", "x", rows), 2);
    ck_assert_uint_eq(s->check_count, 3);
    ck_assert_str_eq(s->checks[2]->is.reason, "d");
}

static yyjson_val *check_at(yyjson_doc *doc, size_t i)
{
    return yyjson_arr_get(yyjson_obj_get(yyjson_doc_get_root(doc), "checks"), i);
}

static const char *text_at(yyjson_val *obj, const char *key)
{
    return yyjson_get_str(yyjson_obj_get(obj, key));
}

TEST(as_json)
{
    cleanup(doctor_report_fini) struct doctor_report r = {0};
    cleanup(buf_fini) struct buf out = {0};
    fill(&r);
    doctor_print_json(&r, &out);
    yyjson_doc *doc = yyjson_read(buf_str(&out), out.len, 0);
    yyjson_val *root = yyjson_doc_get_root(doc), *counts = yyjson_obj_get(root, "counts"), *fail = check_at(doc, 1);
    ck_assert_str_eq(text_at(root, "status"), "fail");
    ck_assert_uint_eq(yyjson_get_uint(yyjson_obj_get(counts, "fail")), 1);
    ck_assert_uint_eq(yyjson_get_uint(yyjson_obj_get(counts, "ok")), 1);
    ck_assert_uint_eq(yyjson_get_uint(yyjson_obj_get(counts, "warn")), 1);
    ck_assert_uint_eq(yyjson_get_uint(yyjson_obj_get(counts, "skip")), 1);
    ck_assert_str_eq(text_at(fail, "id"), "kubernetes.rights.nodes");
    ck_assert_str_eq(text_at(fail, "section"), "kubernetes");
    ck_assert_str_eq(text_at(fail, "subject"), "https://10.0.0.1:6443");
    ck_assert_str_eq(text_at(fail, "label"), "permission");
    ck_assert_str_eq(text_at(fail, "status"), "fail");
    ck_assert_str_eq(text_at(fail, "found"), "list nodes: not allowed");
    yyjson_val *fixes = yyjson_obj_get(fail, "fixes"), *first = yyjson_arr_get(fixes, 0);
    ck_assert_uint_eq(yyjson_arr_size(fixes), 3);
    ck_assert_str_eq(text_at(first, "how"), "run");
    ck_assert_str_eq(yyjson_get_str(yyjson_arr_get(yyjson_obj_get(first, "lines"), 1)), "kubectl bind");
    ck_assert(!yyjson_get_bool(yyjson_obj_get(first, "also")));
    ck_assert(yyjson_get_bool(yyjson_obj_get(yyjson_arr_get(fixes, 1), "also")));
    ck_assert_uint_eq(yyjson_arr_size(yyjson_obj_get(yyjson_arr_get(fixes, 2), "lines")), 0);
    ck_assert(yyjson_is_null(yyjson_obj_get(check_at(doc, 0), "why")));
    ck_assert(yyjson_is_null(yyjson_obj_get(check_at(doc, 3), "subject")));
    ck_assert_ptr_null(strchr(buf_str(&out), '\x1b'));
    yyjson_doc_free(doc);
}

TEST(bytes_that_are_no_text)
{
    cleanup(doctor_report_fini) struct doctor_report r = {0};
    cleanup(buf_fini) struct buf out = {0};
    doctor_ok(doctor_section(&r, "haproxy", "x\xff", NULL), "haproxy.version", "version", "\xfe \x7f");
    doctor_print_json(&r, &out);
    ck_assert_ptr_nonnull(strstr(buf_str(&out), "\"x\\\\xff\""));
    ck_assert_ptr_nonnull(strstr(buf_str(&out), "\\\\xfe"));
    ck_assert_ptr_null(strchr(buf_str(&out), '\x7f'));
}

TEST(exit_status)
{
    cleanup(doctor_report_fini) struct doctor_report r = {0};
    struct doctor_section *s = doctor_section(&r, "settings", NULL, NULL);
    ck_assert_int_eq(doctor_status(&r), 0);
    doctor_warn(s, "a", "a", "a");
    doctor_skip(s, "a", "a", "a");
    ck_assert_int_eq(doctor_status(&r), 0);
    doctor_fail(s, "a", "a", "a");
    ck_assert_int_eq(doctor_status(&r), 1);
    r.settings_failed = true;
    ck_assert_int_eq(doctor_status(&r), 78);
}

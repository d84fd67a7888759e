#include "cli/doctor/doctor_print.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/doctor/doctor_report.h"
#include "base/page.h"
#include "json/write.h"

#define MARGIN 2
#define LABEL_COLUMN 9
#define FOUND_COLUMN 25
#define WHY_COLUMN 9
#define TEXT_COLUMN 14

static const struct {
    const char *text;
    enum page_ink ink;
} marks[] = {
    [CHECK_OK] = {"[ok]", INK_GREEN},
    [CHECK_WARN] = {"[warn]", INK_YELLOW},
    [CHECK_FAIL] = {"[FAIL]", INK_RED},
    [CHECK_SKIP] = {"[skip]", INK_DIM},
};

static const char *title_of(const char *kind)
{
    static const struct {
        const char *kind, *title;
    } titles[] = {{"settings", "Settings"}, {"kubernetes", "Kubernetes"}, {"service", "Service"},
                  {"haproxy", "HAProxy"},   {"backend", "Backend"},       {"proxy", "PROXY protocol, backend"},
                  {"spiffe", "SPIFFE"},     {"clock", "Clock"},           {"templates", "Templates"},
                  {"etcd", "etcd"},         {"daemon", "Daemon"}};
    for (size_t i = 0; i < array_len(titles); i++)
        if (str_eq(titles[i].kind, kind))
            return titles[i].title;
    return kind;
}

static void print_title(const struct doctor_section *s, struct page *p)
{
    page_put(p, INK_BOLD, title_of(s->kind));
    if (s->subject != NULL) {
        page_to(p, p->column + 1);
        page_put(p, INK_BOLD, s->subject);
    }
    if (s->remark != NULL) {
        page_to(p, p->column + 2);
        cleanup(mem_free_ptr) char *remark = mem_printf("(%s)", s->remark);
        page_flow(p, INK_DIM, remark);
    }
    page_end_line(p);
}

/* As they are, whatever the width: they are to be copied. */
static void print_lines(const char *lines, struct page *p)
{
    for (const char *at = lines; *at != '\0';) {
        size_t len = strcspn(at, "\n");
        cleanup(mem_free_ptr) char *line = mem_strndup(at, len);
        page_to(p, TEXT_COLUMN + 2);
        page_put(p, INK_CYAN, line);
        page_end_line(p);
        at += len + (at[len] == '\n');
    }
}

static void print_note(const char *word, const char *text, struct page *p)
{
    page_to(p, WHY_COLUMN);
    page_put(p, INK_DIM, word);
    page_to(p, TEXT_COLUMN);
    page_flow_line(p, INK_PLAIN, text);
}

static void print_check(const struct doctor_check *c, struct page *p)
{
    page_to(p, MARGIN);
    page_put(p, marks[c->is.state].ink, marks[c->is.state].text);
    page_to(p, LABEL_COLUMN);
    page_put(p, c->is.state == CHECK_SKIP ? INK_DIM : INK_PLAIN, c->is.name);
    page_to(p, FOUND_COLUMN);
    page_flow_line(p, c->is.state == CHECK_SKIP ? INK_DIM : INK_PLAIN, c->is.reason);
    if (c->why != NULL)
        print_note("why", c->why, p);
    for (size_t i = 0; i < c->fix_count; i++) {
        cleanup(mem_free_ptr) char *how = mem_printf("%s%s", c->fixes[i].how, c->fixes[i].lines != NULL ? ":" : "");
        print_note(i == 0 ? "fix" : c->fixes[i].also ? "and" : "or", how, p);
        if (c->fixes[i].lines != NULL)
            print_lines(c->fixes[i].lines, p);
    }
}

static void print_counts(const struct doctor_report *r, struct page *p)
{
    static const struct {
        enum check_state mark;
        const char *word;
    } order[] = {{CHECK_FAIL, "failed"}, {CHECK_WARN, "warning"}, {CHECK_OK, "ok"}, {CHECK_SKIP, "skipped"}};
    bool any = false;
    for (size_t i = 0; i < array_len(order); i++) {
        size_t count = doctor_count(r, order[i].mark);
        if (count == 0)
            continue;
        page_put(p, INK_PLAIN, any ? ", " : "");
        page_printf(p, marks[order[i].mark].ink, "%zu %s%s", count, order[i].word,
                    order[i].mark == CHECK_WARN && count != 1 ? "s" : "");
        any = true;
    }
}

static void print_verdict(const struct doctor_report *r, struct page *p)
{
    bool failed = doctor_count(r, CHECK_FAIL) > 0;
    print_counts(r, p);
    page_end_line(p);
    page_flow_line(p, failed ? INK_RED : INK_GREEN,
                   failed ? "Not ready. Fix the first [FAIL] first: it may cause the others. Then run doctor again."
                          : "Ready. haproxy-k8s-sync plan shows what would change.");
}

void doctor_print(const struct doctor_report *r, struct page *p)
{
    for (size_t i = 0; i < r->section_count; i++) {
        const struct doctor_section *s = r->sections[i];
        print_title(s, p);
        for (size_t k = 0; k < s->check_count; k++)
            print_check(s->checks[k], p);
        page_end_line(p);
    }
    print_verdict(r, p);
}

/* ---- JSON ---- */

static void put_lines(struct yyjson_mut_doc *doc, struct yyjson_mut_val *obj, const char *lines)
{
    struct yyjson_mut_val *list = json_put_list(doc, obj, "lines");
    for (const char *at = lines; at != NULL && *at != '\0';) {
        size_t len = strcspn(at, "\n");
        cleanup(mem_free_ptr) char *line = mem_strndup(at, len);
        json_add(list, json_text(doc, line));
        at += len + (at[len] == '\n');
    }
}

static void put_fixes(struct yyjson_mut_doc *doc, struct yyjson_mut_val *obj, const struct doctor_check *c)
{
    struct yyjson_mut_val *list = json_put_list(doc, obj, "fixes");
    for (size_t i = 0; i < c->fix_count; i++) {
        struct yyjson_mut_val *fix = json_add_object(doc, list);
        json_put_text(doc, fix, "how", c->fixes[i].how);
        put_lines(doc, fix, c->fixes[i].lines);
        json_put_bool(doc, fix, "also", c->fixes[i].also);
    }
}

static void add_check(struct yyjson_mut_doc *doc, struct yyjson_mut_val *list, const struct doctor_section *s,
                      const struct doctor_check *c)
{
    struct yyjson_mut_val *obj = json_add_object(doc, list);
    json_put_text(doc, obj, "id", c->id);
    json_put_text(doc, obj, "section", s->kind);
    json_put_text(doc, obj, "subject", s->subject);
    json_put_text(doc, obj, "label", c->is.name);
    json_put_text(doc, obj, "status", check_state_word(c->is.state));
    json_put_text(doc, obj, "found", c->is.reason);
    json_put_text(doc, obj, "why", c->why);
    put_fixes(doc, obj, c);
}

void doctor_print_json(const struct doctor_report *r, struct buf *out)
{
    struct yyjson_mut_val *root;
    struct yyjson_mut_doc *doc = json_new(&root);
    enum check_state worst = doctor_count(r, CHECK_WARN) > 0 ? CHECK_WARN : CHECK_OK;
    if (doctor_status(r) != 0)
        worst = CHECK_FAIL;
    json_put_text(doc, root, "status", check_state_word(worst));
    struct yyjson_mut_val *counts = json_put_object(doc, root, "counts");
    for (enum check_state m = CHECK_OK; m < CHECK_STATES; m++)
        json_put_count(doc, counts, check_state_word(m), doctor_count(r, m));
    struct yyjson_mut_val *checks = json_put_list(doc, root, "checks");
    for (size_t s = 0; s < r->section_count; s++)
        for (size_t i = 0; i < r->sections[s]->check_count; i++)
            add_check(doc, checks, r->sections[s], r->sections[s]->checks[i]);
    json_write(doc, true, out);
    buf_add(out, "\n");
    json_free(doc);
}

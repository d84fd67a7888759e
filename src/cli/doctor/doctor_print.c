#include "cli/doctor/doctor_print.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/doctor/doctor_report.h"
#include "base/page.h"

#define MARGIN 2
#define LABEL_COLUMN 9
#define FOUND_COLUMN 25
#define WHY_COLUMN 9
#define TEXT_COLUMN 14

static const struct {
    const char *text;
    enum page_ink ink;
} marks[] = {
    [DOCTOR_OK] = {"[ok]", INK_GREEN},
    [DOCTOR_WARN] = {"[warn]", INK_YELLOW},
    [DOCTOR_FAIL] = {"[FAIL]", INK_RED},
    [DOCTOR_SKIP] = {"[skip]", INK_DIM},
};

static const char *title_of(const char *kind)
{
    static const struct {
        const char *kind, *title;
    } titles[] = {{"settings", "Settings"}, {"kubernetes", "Kubernetes"}, {"service", "Service"},
                  {"haproxy", "HAProxy"},   {"backend", "Backend"},       {"proxy", "PROXY protocol, backend"},
                  {"clock", "Clock"}};
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
    page_flow(p, INK_PLAIN, text);
    page_end_line(p);
}

static void print_check(const struct doctor_check *c, struct page *p)
{
    page_to(p, MARGIN);
    page_put(p, marks[c->mark].ink, marks[c->mark].text);
    page_to(p, LABEL_COLUMN);
    page_put(p, c->mark == DOCTOR_SKIP ? INK_DIM : INK_PLAIN, c->label);
    page_to(p, FOUND_COLUMN);
    page_flow(p, c->mark == DOCTOR_SKIP ? INK_DIM : INK_PLAIN, c->found);
    page_end_line(p);
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
        enum doctor_mark mark;
        const char *word;
    } order[] = {{DOCTOR_FAIL, "failed"}, {DOCTOR_WARN, "warning"}, {DOCTOR_OK, "ok"}, {DOCTOR_SKIP, "skipped"}};
    bool any = false;
    for (size_t i = 0; i < array_len(order); i++) {
        size_t count = doctor_count(r, order[i].mark);
        if (count == 0)
            continue;
        page_put(p, INK_PLAIN, any ? ", " : "");
        page_printf(p, marks[order[i].mark].ink, "%zu %s%s", count, order[i].word,
                    order[i].mark == DOCTOR_WARN && count != 1 ? "s" : "");
        any = true;
    }
}

static void print_verdict(const struct doctor_report *r, struct page *p)
{
    bool failed = doctor_count(r, DOCTOR_FAIL) > 0;
    print_counts(r, p);
    page_end_line(p);
    page_flow(p, failed ? INK_RED : INK_GREEN,
              failed ? "Not ready. Mend the first [FAIL] first, others may come from it; then run doctor again."
                     : "All that a sync needs is there. haproxy-k8s-sync plan shows what it would do.");
    page_end_line(p);
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

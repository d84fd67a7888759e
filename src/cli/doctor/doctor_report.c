#include "cli/doctor/doctor_report.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/page.h"
#include "base/text.h"
#include "json/write.h"
#include "settings/settings.h"

#define MARGIN 2
#define LABEL_COLUMN 9
#define FOUND_COLUMN 25
#define WHY_COLUMN 9
#define TEXT_COLUMN 14

/* ---- life ---- */

void doctor_report_fini(struct doctor_report *r)
{
    for (size_t i = 0; i < r->section_count; i++) {
        struct doctor_section *s = r->sections[i];
        for (size_t k = 0; k < s->check_count; k++) {
            struct doctor_check *c = s->checks[k];
            for (size_t f = 0; f < c->fix_count; f++) {
                mem_free_all(c->fixes[f].how, c->fixes[f].lines);
            }
            free(c->fixes);
            check_fini(&c->is);
            mem_free_all(c->why, c);
        }
        for (size_t k = 0; k < s->word_count; k++)
            free(s->words[k].value);
        mem_free_all(s->checks, s->words, s->subject, s->remark, s);
    }
    free(r->sections);
    *r = (struct doctor_report){0};
}

struct doctor_section *doctor_section(struct doctor_report *r, const char *kind, const char *subject,
                                      const char *remark)
{
    struct doctor_section *s = mem_alloc(sizeof(*s));
    *s = (struct doctor_section){.kind = kind, .subject = mem_strdup(subject), .remark = mem_strdup(remark)};
    r->sections = mem_resize(r->sections, r->section_count + 1, sizeof(struct doctor_section *));
    r->sections[r->section_count++] = s;
    return s;
}

/* ---- words ---- */

void doctor_set(struct doctor_section *s, const char *name, const char *value)
{
    size_t i = 0;
    while (i < s->word_count && !str_eq(s->words[i].name, name))
        i++;
    if (i == s->word_count) {
        s->words = mem_resize(s->words, s->word_count + 1, sizeof(s->words[0]));
        s->words[s->word_count++] = (struct doctor_word){.name = name};
    }
    char *copy = mem_strdup(value != NULL ? value : "");
    free(s->words[i].value);
    s->words[i].value = copy;
}

void doctor_word(struct doctor_section *s, const char *name, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    cleanup(mem_free_ptr) char *value = mem_vprintf(fmt, ap);
    va_end(ap);
    doctor_set(s, name, value);
}

void doctor_set_if(struct doctor_section *s, const char *name, const char *before, const char *value, const char *after)
{
    cleanup(mem_free_ptr) char *all = value != NULL ? mem_printf("%s%s%s", before, value, after) : NULL;
    doctor_set(s, name, all);
}

/* NULL: len bytes of text begin with no {word} of the section. */
static const struct doctor_word *word_at(const struct doctor_section *s, const char *text, size_t len)
{
    for (size_t i = 0; i < s->word_count; i++) {
        size_t name = strlen(s->words[i].name);
        if (len >= name + 2 && text[0] == '{' && memcmp(text + 1, s->words[i].name, name) == 0 && text[1 + name] == '}')
            return &s->words[i];
    }
    return NULL;
}

/* The text with what its words stand for, which is not searched for words. Allocates. */
static char *text_with_words(const struct doctor_section *s, const char *text, size_t len)
{
    cleanup(buf_fini) struct buf out = {0};
    for (size_t at = 0; at < len;) {
        const struct doctor_word *w = word_at(s, text + at, len - at);
        if (w != NULL)
            buf_add(&out, w->value);
        else
            buf_addn(&out, text + at, 1);
        at += w != NULL ? strlen(w->name) + 2 : 1;
    }
    return text_shown(buf_str(&out), TEXT_AS_IS, DOCTOR_TEXT_MAX_BYTES);
}

/* ---- checks ---- */

static void add_check(struct doctor_section *s, enum check_state state, const char *id, const char *name, char *reason)
{
    struct doctor_check *c = mem_alloc(sizeof(*c));
    *c = (struct doctor_check){.id = id, .is = {.name = mem_strdup(name), .state = state, .reason = reason}};
    s->checks = mem_resize(s->checks, s->check_count + 1, sizeof(struct doctor_check *));
    s->checks[s->check_count++] = c;
}

void doctor_add(struct doctor_section *s, enum check_state state, const char *id, const char *name, const char *reason,
                ...)
{
    va_list ap;
    va_start(ap, reason);
    cleanup(mem_free_ptr) char *text = mem_vprintf(reason, ap);
    va_end(ap);
    add_check(s, state, id, name, text_shown(text, TEXT_AS_IS, DOCTOR_TEXT_MAX_BYTES));
}

void doctor_say(struct doctor_section *s, enum check_state state, const char *id, const char *name, const char *text)
{
    size_t len = strcspn(text, "\n");
    add_check(s, state, id, name, text_with_words(s, text, len));
    doctor_help(s, text + len + (text[len] == '\n'));
}

void doctor_help(struct doctor_section *s, const char *lines)
{
    struct doctor_check *c = s->checks[s->check_count - 1];
    struct doctor_fix *fix = NULL; /* the last one; NULL: it was left out */
    for (const char *at = lines, *next; *at != '\0'; at = next) {
        size_t len = strcspn(at, "\n");
        next = at + len + (at[len] == '\n');
        bool copied = str_has_prefix(at, "  "), with_lines = !copied && str_has_prefix(next, "  ");
        size_t begin = copied ? 2 : strcspn(at, " ") + 1;
        cleanup(mem_free_ptr) char *text =
            text_with_words(s, at + begin, len - begin - (with_lines && at[len - 1] == ':'));
        if (copied && fix != NULL && *text != '\0') {
            cleanup(mem_free_ptr) char *before = fix->lines;
            fix->lines = before != NULL ? mem_printf("%s\n%s", before, text) : mem_strdup(text);
        } else if (str_has_prefix(at, "why ")) {
            free(c->why);
            c->why = *text != '\0' ? mem_strdup(text) : NULL;
        } else if (!copied && *text != '\0') {
            bool also = c->fix_count > 0 && str_has_prefix(at, "and ");
            c->fixes = mem_resize(c->fixes, c->fix_count + 1, sizeof(c->fixes[0]));
            fix = &c->fixes[c->fix_count++];
            *fix = (struct doctor_fix){.how = mem_strdup(text), .also = also};
        } else if (!copied) {
            fix = NULL;
        }
    }
}

size_t doctor_judge(struct doctor_section *s, const char *id, const char *name, const struct doctor_row *rows,
                    size_t count, size_t most)
{
    size_t said = 0;
    for (size_t i = 0; i < count && said < most; i++) {
        if (!rows[i].holds)
            continue;
        doctor_say(s, rows[i].state, id, name, rows[i].text);
        said++;
    }
    return said;
}

size_t doctor_count(const struct doctor_report *r, enum check_state state)
{
    size_t count = 0;
    for (size_t s = 0; s < r->section_count; s++)
        for (size_t i = 0; i < r->sections[s]->check_count; i++)
            count += r->sections[s]->checks[i]->is.state == state;
    return count;
}

int doctor_status(const struct doctor_report *r)
{
    if (r->settings_failed)
        return SETTINGS_EXIT_CODE;
    return doctor_count(r, CHECK_FAIL) > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* ---- as text ---- */

static const struct {
    const char *text;
    enum page_ink ink;
} marks[] = {
    [CHECK_OK] = {"[ok]", INK_GREEN},
    [CHECK_WARN] = {"[warn]", INK_YELLOW},
    [CHECK_FAIL] = {"[FAIL]", INK_RED},
    [CHECK_SKIP] = {"[skip]", INK_DIM},
};

static void print_title(const struct doctor_section *s, struct page *p)
{
    static const struct {
        const char *kind, *title;
    } titles[] = {{"settings", "Settings"}, {"kubernetes", "Kubernetes"}, {"service", "Service"},
                  {"haproxy", "HAProxy"},   {"backend", "Backend"},       {"proxy", "PROXY protocol, backend"},
                  {"spiffe", "SPIFFE"},     {"clock", "Clock"},           {"templates", "Templates"},
                  {"etcd", "etcd"},         {"daemon", "Daemon"}};
    const char *title = s->kind;
    for (size_t i = 0; i < array_len(titles); i++)
        title = str_eq(titles[i].kind, s->kind) ? titles[i].title : title;
    page_put(p, INK_BOLD, title);
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

static void print_note(const char *word, const char *text, struct page *p)
{
    page_to(p, WHY_COLUMN);
    page_put(p, INK_DIM, word);
    page_to(p, TEXT_COLUMN);
    page_flow_line(p, INK_PLAIN, text);
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
    page_end_line(p);
}

void doctor_print(const struct doctor_report *r, struct page *p)
{
    for (size_t i = 0; i < r->section_count; i++) {
        const struct doctor_section *s = r->sections[i];
        print_title(s, p);
        for (size_t k = 0; k < s->check_count; k++) {
            const struct doctor_check *c = s->checks[k];
            enum page_ink ink = c->is.state == CHECK_SKIP ? INK_DIM : INK_PLAIN;
            page_to(p, MARGIN);
            page_put(p, marks[c->is.state].ink, marks[c->is.state].text);
            page_to(p, LABEL_COLUMN);
            page_put(p, ink, c->is.name);
            page_to(p, FOUND_COLUMN);
            page_flow_line(p, ink, c->is.reason);
            if (c->why != NULL)
                print_note("why", c->why, p);
            for (size_t f = 0; f < c->fix_count; f++) {
                cleanup(mem_free_ptr) char *how =
                    mem_printf("%s%s", c->fixes[f].how, c->fixes[f].lines != NULL ? ":" : "");
                print_note(f == 0 ? "fix" : c->fixes[f].also ? "and" : "or", how, p);
                /* As they are, whatever the width: they are to be copied. */
                for (const char *at = c->fixes[f].lines; at != NULL && *at != '\0';) {
                    size_t len = strcspn(at, "\n");
                    cleanup(mem_free_ptr) char *line = mem_strndup(at, len);
                    page_to(p, TEXT_COLUMN + 2);
                    page_put(p, INK_CYAN, line);
                    page_end_line(p);
                    at += len + (at[len] == '\n');
                }
            }
        }
        page_end_line(p);
    }
    print_counts(r, p);
    bool failed = doctor_count(r, CHECK_FAIL) > 0;
    cleanup(mem_free_ptr) char *last =
        failed ? mem_strdup("Not ready. Fix the first [FAIL] first: it may cause the others. Then run doctor again.")
               : mem_printf("%s%s%s%s",
                            r->not_ready ? "Nothing failed, but the daemon that runs is not ready, see its section."
                                         : "Ready.",
                            r->plan != NULL ? " haproxy-k8s-sync " : "", r->plan != NULL ? r->plan : "",
                            r->plan != NULL ? " shows what would change." : "");
    page_flow_line(p, failed ? INK_RED : r->not_ready ? INK_YELLOW : INK_GREEN, last);
}

/* ---- as JSON ---- */

static void put_check(struct yyjson_mut_doc *doc, struct yyjson_mut_val *list, const struct doctor_section *s,
                      const struct doctor_check *c)
{
    struct yyjson_mut_val *obj = json_add_object(doc, list);
    json_fields(doc, obj, json_str("id", c->id), json_str("section", s->kind), json_str("subject", s->subject),
                json_str("label", c->is.name), json_str("status", check_state_word(c->is.state)),
                json_str("found", c->is.reason), json_str("why", c->why));
    struct yyjson_mut_val *fixes = json_put_list(doc, obj, "fixes");
    for (const struct doctor_fix *f = c->fixes; f < c->fixes + c->fix_count; f++) {
        struct yyjson_mut_val *fix = json_add_object(doc, fixes);
        json_fields(doc, fix, json_str("how", f->how));
        struct yyjson_mut_val *lines = json_put_list(doc, fix, "lines");
        for (const char *at = f->lines; at != NULL && *at != '\0';) {
            size_t len = strcspn(at, "\n");
            cleanup(mem_free_ptr) char *line = mem_strndup(at, len);
            json_add(lines, json_text(doc, line));
            at += len + (at[len] == '\n');
        }
        json_fields(doc, fix, json_bool("also", f->also));
    }
}

void doctor_print_json(const struct doctor_report *r, struct buf *out)
{
    struct yyjson_mut_val *root;
    struct yyjson_mut_doc *doc = json_new(&root);
    enum check_state worst = doctor_count(r, CHECK_WARN) > 0 ? CHECK_WARN : CHECK_OK;
    if (doctor_status(r) != 0)
        worst = CHECK_FAIL;
    json_fields(doc, root, json_str("status", check_state_word(worst)));
    struct yyjson_mut_val *counts = json_put_object(doc, root, "counts");
    for (enum check_state m = CHECK_OK; m < CHECK_STATES; m++)
        json_fields(doc, counts, json_uint(check_state_word(m), doctor_count(r, m)));
    struct yyjson_mut_val *checks = json_put_list(doc, root, "checks");
    for (size_t s = 0; s < r->section_count; s++)
        for (size_t i = 0; i < r->sections[s]->check_count; i++)
            put_check(doc, checks, r->sections[s], r->sections[s]->checks[i]);
    json_print(doc, out);
}

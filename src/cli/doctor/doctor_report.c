#include "cli/doctor/doctor_report.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "settings/settings.h"

/* ---- life ---- */

static void check_free(struct doctor_check *c)
{
    for (size_t i = 0; i < c->fix_count; i++) {
        free(c->fixes[i].how);
        free(c->fixes[i].lines);
    }
    free(c->fixes);
    check_fini(&c->is);
    free(c->why);
    free(c);
}

static void section_free(struct doctor_section *s)
{
    for (size_t i = 0; i < s->check_count; i++)
        check_free(s->checks[i]);
    free(s->checks);
    free(s->subject);
    free(s->remark);
    free(s);
}

void doctor_report_fini(struct doctor_report *r)
{
    for (size_t i = 0; i < r->section_count; i++)
        section_free(r->sections[i]);
    free(r->sections);
    *r = (struct doctor_report){0};
}

/* ---- making one ---- */

static char *text_of(const char *fmt, va_list ap) printf_like(1, 0);
static char *text_of(const char *fmt, va_list ap)
{
    cleanup(mem_free_ptr) char *text = mem_vprintf(fmt, ap);
    return text_shown(text, TEXT_AS_IS, DOCTOR_TEXT_MAX_BYTES);
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

struct doctor_check *doctor_add(struct doctor_section *s, enum check_state state, const char *id, const char *name,
                                const char *reason, ...)
{
    struct doctor_check *c = mem_alloc(sizeof(*c));
    va_list ap;
    va_start(ap, reason);
    *c = (struct doctor_check){.id = id,
                               .is = {.name = mem_strdup(name), .state = state, .reason = text_of(reason, ap)}};
    va_end(ap);
    s->checks = mem_resize(s->checks, s->check_count + 1, sizeof(struct doctor_check *));
    s->checks[s->check_count++] = c;
    return c;
}

void doctor_why(struct doctor_check *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    free(c->why);
    c->why = text_of(fmt, ap);
    va_end(ap);
}

static struct doctor_fix *add_fix(struct doctor_check *c)
{
    c->fixes = mem_resize(c->fixes, c->fix_count + 1, sizeof(c->fixes[0]));
    c->fixes[c->fix_count] = (struct doctor_fix){0};
    return &c->fixes[c->fix_count++];
}

void doctor_fix(struct doctor_check *c, const char *how, const char *lines, ...)
{
    struct doctor_fix *f = add_fix(c);
    va_list ap;
    va_start(ap, lines);
    f->how = mem_strdup(how);
    f->lines = text_of(lines, ap);
    va_end(ap);
}

void doctor_advice(struct doctor_check *c, const char *fmt, ...)
{
    struct doctor_fix *f = add_fix(c);
    va_list ap;
    va_start(ap, fmt);
    f->how = text_of(fmt, ap);
    va_end(ap);
}

void doctor_also(struct doctor_check *c)
{
    if (c->fix_count > 1)
        c->fixes[c->fix_count - 1].also = true;
}

/* ---- reading it ---- */

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

/* What checks a section has, as text: "fail label: found", with the why and the fixes in lines of their own. */
#pragma once

#include "../test.h"

#include "cli/doctor/doctor_report.h"

struct doctored {
    struct doctor_report report;
    struct doctor_section *section;
};

static inline struct doctored doctored_new(void)
{
    struct doctored d = {0};
    d.section = doctor_section(&d.report, "kubernetes", NULL, NULL);
    return d;
}

static inline void doctored_fini(struct doctored *d)
{
    doctor_report_fini(&d->report);
}

static inline char *section_text(const struct doctor_section *s)
{
    cleanup(buf_fini) struct buf text = {0};
    for (size_t i = 0; i < s->check_count; i++) {
        const struct doctor_check *c = s->checks[i];
        buf_printf(&text, "%s %s: %s\n", check_state_word(c->is.state), c->is.name, c->is.reason);
        if (c->why != NULL)
            buf_printf(&text, "  why %s\n", c->why);
        for (size_t k = 0; k < c->fix_count; k++) {
            /* What joins it to the one before stands in front of it. */
            ck_assert_msg(strncmp(c->fixes[k].how, "and ", 4) != 0 && strncmp(c->fixes[k].how, "or ", 3) != 0, "%s",
                          c->fixes[k].how);
            buf_printf(&text, "  %s %s%s%s\n", c->fixes[k].also ? "and" : "fix", c->fixes[k].how,
                       c->fixes[k].lines != NULL ? "\n" : "", c->fixes[k].lines != NULL ? c->fixes[k].lines : "");
        }
    }
    /* A word that the section does not know stays as it is. */
    for (const char *at = buf_str(&text); (at = strchr(at, '{')) != NULL; at++)
        ck_assert_msg(at[1 + strspn(at + 1, "abcdefghijklmnopqrstuvwxyz-")] != '}', "%s", at);
    return buf_take(&text);
}

/* Whether the section's text has that, white space aside. */
static inline void expect_text(const struct doctored *d, const char *wanted)
{
    cleanup(mem_free_ptr) char *text = section_text(d->section);
    ck_assert_msg(strstr(text, wanted) != NULL, "no \"%s\" in:\n%s", wanted, text);
}

static inline void expect_no_text(const struct doctored *d, const char *unwanted)
{
    cleanup(mem_free_ptr) char *text = section_text(d->section);
    ck_assert_msg(strstr(text, unwanted) == NULL, "\"%s\" in:\n%s", unwanted, text);
}

static inline void expect_mark(const struct doctored *d, const char *id, enum check_state mark)
{
    for (size_t i = 0; i < d->section->check_count; i++) {
        const struct doctor_check *c = d->section->checks[i];
        if (strcmp(c->id, id) == 0) {
            ck_assert_msg(c->is.state == mark, "%s: %s: %s", id, check_state_word(c->is.state), c->is.reason);
            return;
        }
    }
    ck_abort_msg("no check %s", id);
}

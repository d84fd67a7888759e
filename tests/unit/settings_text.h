/* Parses environments and asks what was said about them. */
#pragma once

#include "test.h"

#include "settings/parse.h"
#include "settings/settings.h"

/* Credentials that are fine, so that a test of something else sees only what it is about. */
#define LOGIN "HAPROXY_DATAPLANE_USERNAME=u", "HAPROXY_DATAPLANE_PASSWORD=p"

struct parsed {
    struct settings settings;
    struct settings_findings report;
    size_t plain; /* warnings of a password over http:// that were taken out of the report */
    int rc;
};

/* The default URL has one in each report with a LOGIN; what they are is a test of its own (test_dataplanes). */
static inline size_t take_plain(struct settings_findings *report)
{
    size_t kept = 0, taken;
    for (size_t i = 0; i < report->count; i++)
        if (strstr(report->list[i].text, "unencrypted over the network") == NULL)
            report->list[kept++] = report->list[i];
        else
            free(report->list[i].text);
    taken = report->count - kept;
    report->count = kept;
    return taken;
}

static inline void parsed_fini(struct parsed *p)
{
    settings_fini(&p->settings);
    settings_findings_fini(&p->report);
}

/* What holds whatever is parsed: one clean line each, counted right, and nothing left of a refused environment. */
static inline void check_invariants(const struct parsed *p)
{
    static const struct settings nothing;
    size_t errors = 0;
    for (size_t i = 0; i < p->report.count; i++) {
        const char *text = p->report.list[i].text;
        errors += p->report.list[i].is_error ? 1 : 0;
        ck_assert_uint_gt(strlen(text), 0);
        for (const char *c = text; *c != '\0'; c++)
            ck_assert_msg(*c >= 0x20 && *c < 0x7f, "not printable: %s", text);
    }
    ck_assert_uint_eq(errors, p->report.error_count);
    ck_assert_int_eq(p->rc, errors > 0 ? -1 : 0);
    if (p->rc != 0)
        ck_assert_mem_eq(&p->settings, &nothing, sizeof(nothing));
}

/* environ's type allows for changing the strings; nobody does. */
static inline struct parsed parse_env(const char *const *env)
{
    struct parsed p = {.plain = 0};
    memset(&p.settings, 0xa5, sizeof(p.settings));
    p.rc = settings_parse((char *const *)env, &p.settings, &p.report);
    check_invariants(&p);
    p.plain = take_plain(&p.report);
    return p;
}

#define parse(...) parse_env((const char *[]){__VA_ARGS__, NULL})

static inline char *all_text(const struct parsed *p)
{
    struct buf out = {0};
    for (size_t i = 0; i < p->report.count; i++)
        buf_printf(&out, "%s: %s\n", p->report.list[i].is_error ? "error" : "warning", p->report.list[i].text);
    return buf_take(&out);
}

static inline void assert_silent(const struct parsed *p)
{
    cleanup(mem_free_ptr) char *text = all_text(p);
    ck_assert_msg(p->rc == 0 && p->report.count == 0, "expected no finding:\n%s", text);
}

static inline void assert_says(const struct parsed *p, const char *what)
{
    cleanup(mem_free_ptr) char *text = all_text(p);
    ck_assert_msg(strstr(text, what) != NULL, "expected \"%s\" in:\n%s", what, text);
}

static inline void assert_does_not_say(const struct parsed *p, const char *what)
{
    cleanup(mem_free_ptr) char *text = all_text(p);
    ck_assert_msg(strstr(text, what) == NULL, "expected no \"%s\" in:\n%s", what, text);
}

static inline char *printed(const struct settings *c)
{
    struct buf out = {0};
    settings_print(c, &out);
    return buf_take(&out);
}

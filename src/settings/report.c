#include "settings/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "settings/settings.h"
#include "settings/url.h"

#define SHOWN_BYTES 120

static void add(struct settings_report *r, bool is_error, const char *fmt, va_list ap) printf_like(3, 0);

static void add(struct settings_report *r, bool is_error, const char *fmt, va_list ap)
{
    char *text = NULL;
    if (vasprintf(&text, fmt, ap) < 0)
        abort();
    r->findings = mem_resize(r->findings, r->count + 1, sizeof(*r->findings));
    r->findings[r->count++] = (struct settings_finding){.is_error = is_error, .text = text};
    r->error_count += is_error ? 1 : 0;
}

void report_error(struct settings_report *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add(r, true, fmt, ap);
    va_end(ap);
}

void report_warning(struct settings_report *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add(r, false, fmt, ap);
    va_end(ap);
}

void report_quote(struct buf *out, const char *s)
{
    size_t shown = text_cut(s, SHOWN_BYTES);
    buf_add(out, "\"");
    text_addn(out, s, shown, TEXT_ASCII, TEXT_WHOLE);
    buf_add(out, "\"");
    if (s[shown] != '\0')
        buf_printf(out, "... (%zu bytes)", strlen(s));
}

char *report_quoted(const char *s)
{
    struct buf out;
    buf_init(&out, 0);
    report_quote(&out, s);
    return buf_take(&out);
}

bool report_is_delicate(const char *value)
{
    return strstr(value, "://") != NULL || strchr(value, '@') != NULL;
}

char *report_name_value(const char *name, const char *value)
{
    cleanup(mem_free_ptr) char *safe = report_is_delicate(value) ? url_masked(value) : mem_strdup(value);
    cleanup(mem_free_ptr) char *quoted = report_quoted(safe);
    return mem_printf("%s=%s", name, quoted);
}

void settings_report_fini(struct settings_report *r)
{
    for (size_t i = 0; i < r->count; i++)
        free(r->findings[i].text);
    free(r->findings);
    *r = (struct settings_report){0};
}

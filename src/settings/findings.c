#include "settings/findings.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "settings/url.h"

#define SHOWN_BYTES 120

void finding_add(struct settings_findings *found, bool is_error, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *text = mem_vprintf(fmt, ap);
    va_end(ap);
    found->list = mem_resize(found->list, found->count + 1, sizeof(*found->list));
    found->list[found->count++] = (struct settings_finding){.is_error = is_error, .text = text};
    found->error_count += is_error ? 1 : 0;
}

void finding_quote(struct buf *out, const char *s)
{
    size_t shown = text_cut(s, SHOWN_BYTES);
    buf_add(out, "\"");
    text_addn(out, s, shown, TEXT_ASCII, TEXT_WHOLE);
    buf_add(out, "\"");
    if (s[shown] != '\0')
        buf_printf(out, "... (%zu bytes)", strlen(s));
}

char *finding_quoted(const char *s)
{
    struct buf out = {0};
    finding_quote(&out, s);
    return buf_take(&out);
}

void finding_plain_password(struct settings_findings *found, const char *row, const char *url)
{
    cleanup(mem_free_ptr) char *shown = finding_name_value(row, url);
    if (!str_has_prefix(url, "https://") && !url_is_local(url))
        finding_warning(found,
                        "%s: the password is sent there unencrypted over the network: expected an https URL, or an "
                        "address of this machine",
                        shown);
}

bool finding_is_delicate(const char *value)
{
    return strstr(value, "://") != NULL || strchr(value, '@') != NULL;
}

char *finding_name_value(const char *name, const char *value)
{
    cleanup(mem_free_ptr) char *safe = finding_is_delicate(value) ? url_masked(value) : mem_strdup(value);
    cleanup(mem_free_ptr) char *quoted = finding_quoted(safe);
    return mem_printf("%s=%s", name, quoted);
}

void settings_findings_fini(struct settings_findings *found)
{
    for (size_t i = 0; i < found->count; i++)
        free(found->list[i].text);
    free(found->list);
    *found = (struct settings_findings){0};
}

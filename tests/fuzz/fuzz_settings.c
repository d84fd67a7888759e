/*
 * Any environment: one entry a line. Whatever it is, findings are clean lines, counted right, and settings that were
 * taken are the same after they were printed and parsed again.
 */
#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "settings/parse.h"
#include "settings/settings.h"
#include "fuzz.h"

#define ENTRIES_MAX 128

/* Cuts text into lines and gives them as an environment. Entries that name files to be read are left out: what is on the
 * machine must not matter. */
static void split(char *text, char **env)
{
    size_t count = 0;
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL && count < ENTRIES_MAX;) {
        char *remark = NULL;
        for (char *p = line; (p = strstr(p, "  # ")) != NULL; p++)
            remark = p;
        if (remark != NULL)
            *remark = '\0';
        if (strstr(line, "_FILE=") == NULL)
            env[count++] = line;
    }
    env[count] = NULL;
}

static void check_report(const struct settings_findings *r, int rc)
{
    size_t errors = 0;
    for (size_t i = 0; i < r->count; i++) {
        check(r->list[i].text[0] != '\0');
        for (const char *p = r->list[i].text; *p != '\0'; p++)
            check(*p >= 0x20 && *p < 0x7f);
        errors += r->list[i].is_error ? 1 : 0;
    }
    check(errors == r->error_count);
    check((rc != 0) == (errors > 0));
}

/* What check-config prints, up to its remarks. */
static char *print(const struct settings *c)
{
    struct buf out, bare;
    buf_init(&out, 0);
    buf_init(&bare, 0);
    settings_print(c, &out);
    char *text = buf_take(&out), *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        char *remark = strstr(line, "  # ");
        for (char *p = remark; p != NULL && (p = strstr(p + 1, "  # ")) != NULL;)
            remark = p;
        buf_addn(&bare, line, remark != NULL ? (size_t)(remark - line) : strlen(line));
        buf_add(&bare, "\n");
    }
    free(text);
    return buf_take(&bare);
}

static int parse(const char *text, struct settings *ret)
{
    char *env[ENTRIES_MAX + 1], *copy = mem_strdup(text);
    struct settings_findings report;
    split(copy, env);
    int rc = settings_parse(env, ret, &report);
    check_report(&report, rc);
    settings_findings_fini(&report);
    free(copy);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup(mem_free_ptr) char *text = mem_strndup((const char *)data, size);
    cleanup(settings_fini) struct settings first, again = {0};
    if (parse(text, &first) != 0)
        return 0;
    cleanup(mem_free_ptr) char *printed = print(&first);
    check(parse(printed, &again) == 0);
    cleanup(mem_free_ptr) char *printed_again = print(&again);
    check(str_eq(printed, printed_again));
    return 0;
}

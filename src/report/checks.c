#include "report/checks.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"

const char *status_state_name(enum status_state s)
{
    static const char *const names[] = {[STATUS_IN_STEP] = "in_step",
                                        [STATUS_CHANGING] = "changing",
                                        [STATUS_HOLDING] = "holding",
                                        [STATUS_WAITING] = "waiting",
                                        [STATUS_PROBLEM] = "problem"};
    return names[s];
}

static bool is_mark(const char *line)
{
    return str_has_prefix(line, "[+]") || str_has_prefix(line, "[-]");
}

static void add(struct status_checks *c, bool ok, const char *line, size_t len)
{
    cleanup(mem_free_ptr) char *whole = mem_strndup(line, len);
    const char *colon = strstr(whole, ": ");
    size_t subject = colon != NULL ? (size_t)(colon - whole) : len;
    c->list = mem_resize(c->list, c->count + 1, sizeof(c->list[0]));
    c->list[c->count++] = (struct status_check){
        .ok = ok, .subject = mem_strndup(whole, subject), .text = mem_strdup(colon != NULL ? colon + 2 : "")};
}

/* What HAProxy says may have several lines. */
static void go_on(struct status_checks *c, const char *line, size_t len)
{
    if (c->count == 0 || len == 0)
        return;
    struct status_check *last = &c->list[c->count - 1];
    char *text = mem_printf("%s\n%.*s", last->text, (int)len, line);
    free(last->text);
    last->text = text;
}

void status_checks_parse(struct status_checks *c, const char *readiness)
{
    *c = (struct status_checks){0};
    for (const char *line = readiness; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        if (is_mark(line))
            add(c, line[1] == '+', line + 3, len - 3);
        else
            go_on(c, line, len);
        line += len + (line[len] == '\n');
    }
}

void status_checks_fini(struct status_checks *c)
{
    for (size_t i = 0; i < c->count; i++) {
        free(c->list[i].subject);
        free(c->list[i].text);
    }
    free(c->list);
    *c = (struct status_checks){0};
}

const struct status_check *status_checks_of(const struct status_checks *c, const char *url, const char *backend)
{
    cleanup(mem_free_ptr) char *subject = mem_printf("target %s backend %s", url, backend);
    for (size_t i = 0; i < c->count; i++)
        if (str_eq(c->list[i].subject, subject))
            return &c->list[i];
    return NULL;
}

char *status_checks_summary(const struct status_checks *c, const char *calm)
{
    const struct status_check *first = NULL;
    size_t more = 0;
    for (size_t i = 0; i < c->count; i++) {
        if (c->list[i].ok)
            continue;
        more += first != NULL;
        first = first != NULL ? first : &c->list[i];
    }
    if (first == NULL)
        return mem_strdup(calm);
    struct buf text;
    buf_init(&text, 0);
    buf_printf(&text, "%s%s%s", first->subject, first->text[0] != '\0' ? ": " : "", first->text);
    if (more > 0)
        buf_printf(&text, " (and %zu more)", more);
    return buf_take(&text);
}

#include "report/checks.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"

const char *check_state_word(enum check_state s)
{
    static const char *const words[] = {
        [CHECK_OK] = "ok", [CHECK_WARN] = "warn", [CHECK_FAIL] = "fail", [CHECK_SKIP] = "skip"};
    return words[s];
}

void checks_add(struct checks *c, enum check_state state, char *name, char *reason, char *hint)
{
    c->list = mem_resize(c->list, c->count + 1, sizeof(c->list[0]));
    c->list[c->count++] = (struct check){.name = name, .state = state, .reason = reason, .hint = hint};
}

void check_fini(struct check *c)
{
    mem_free_all(c->name, c->reason, c->hint);
}

void checks_fini(struct checks *c)
{
    for (size_t i = 0; i < c->count; i++)
        check_fini(&c->list[i]);
    free(c->list);
    *c = (struct checks){0};
}

const struct check *checks_find(const struct checks *c, const char *name)
{
    for (size_t i = 0; i < c->count; i++)
        if (str_eq(c->list[i].name, name))
            return &c->list[i];
    return NULL;
}

const struct check *checks_failed(const struct checks *c, size_t *ret_more)
{
    const struct check *first = NULL;
    size_t more = 0;
    for (size_t i = 0; i < c->count; i++) {
        if (c->list[i].state != CHECK_FAIL)
            continue;
        more += first != NULL;
        first = first != NULL ? first : &c->list[i];
    }
    if (ret_more != NULL)
        *ret_more = more;
    return first;
}

char *checks_text(const struct check *c)
{
    return mem_printf("%s%s%s", c->reason != NULL ? c->reason : "", c->hint != NULL ? "; " : "",
                      c->hint != NULL ? c->hint : "");
}

char *checks_line(const struct check *c)
{
    cleanup(mem_free_ptr) char *text = checks_text(c);
    return mem_printf("%s%s%s", c->name, text[0] != '\0' ? ": " : "", text);
}

void checks_print(const struct checks *c, struct buf *out)
{
    for (size_t i = 0; i < c->count; i++) {
        cleanup(mem_free_ptr) char *line = checks_line(&c->list[i]);
        buf_printf(out, "[%c]%s\n", c->list[i].state == CHECK_FAIL ? '-' : '+', line);
    }
}

char *checks_summary(const struct checks *c, const char *calm)
{
    size_t more;
    const struct check *first = checks_failed(c, &more);
    if (first != NULL) {
        cleanup(mem_free_ptr) char *line = checks_line(first);
        return more == 0 ? mem_strdup(line) : mem_printf("%s (and %zu more)", line, more);
    }
    for (size_t i = 0; i < c->count; i++)
        if (c->list[i].state == CHECK_WARN)
            return checks_text(&c->list[i]);
    return mem_strdup(calm);
}

char *checks_status(const struct checks *c, bool ready)
{
    size_t more;
    const struct check *first = checks_failed(c, &more);
    if (ready || first == NULL)
        return mem_strdup(ready ? "ready" : "not ready");
    cleanup(mem_free_ptr) char *line = checks_line(first);
    line[strcspn(line, "\n")] = '\0';
    cleanup(mem_free_ptr) char *text = text_shown(line, TEXT_TERMINAL, CHECKS_STATUS_MAX_BYTES - 64);
    return more == 0 ? mem_printf("not ready: %s", text)
                     : mem_printf("not ready: %s (and %zu more, see /readyz)", text, more);
}

const char *status_state_name(enum status_state s)
{
    static const char *const names[] = {
        [STATUS_IN_SYNC] = "in_sync",         [STATUS_CHANGING] = "changing",
        [STATUS_NOT_WRITTEN] = "not_written", [STATUS_REMOVAL_DELAYED] = "removal_delayed",
        [STATUS_WAITING] = "waiting",         [STATUS_PROBLEM] = "problem"};
    return names[s];
}

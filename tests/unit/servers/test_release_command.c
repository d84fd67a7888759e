/* src/servers/release_command: what is removed where a backend is given up. */

#include "base/shared_text.h"
#include "servers/release_command.h"

#include "../test.h"

/* Of a line "n1", "n1-" (in maintenance), "n1!" (backup); what runs: "n1=drain". */
static struct backend_server line_of(const char *word)
{
    size_t len = strcspn(word, "-!");
    cleanup(mem_free_ptr) char *name = mem_strndup(word, len);
    return (struct backend_server){
        .name = shared_text(name), .maintenance = word[len] == '-', .backup = word[len] == '!'};
}

static void backend_of(const char *words, struct backend *ret)
{
    cleanup(mem_free_ptr) char *text = mem_strdup(words);
    char *rest = text;
    backend_init(ret);
    ret->name = mem_strdup("be");
    ret->exists = true;
    ret->servers = mem_array(10, sizeof(ret->servers[0]));
    for (char *word; (word = strsep(&rest, " ")) != NULL;)
        if (*word != '\0')
            ret->servers[ret->server_count++] = line_of(word);
}

static void runtime_of(const char *words, struct runtime *ret)
{
    cleanup(mem_free_ptr) char *text = mem_strdup(words);
    char *rest = text;
    runtime_init(ret);
    ret->readable = true;
    ret->servers = mem_array(10, sizeof(ret->servers[0]));
    for (char *word; (word = strsep(&rest, " ")) != NULL;) {
        char *state = word;
        const char *name = strsep(&state, "=");
        if (*name == '\0')
            continue;
        struct runtime_server *s = &ret->servers[ret->count++];
        s->name = shared_text(name);
        s->admin = strcmp(state, "drain") == 0   ? RUNTIME_DRAIN
                   : strcmp(state, "maint") == 0 ? RUNTIME_MAINT
                                                 : RUNTIME_READY;
    }
    runtime_sort(ret);
}

/* "-n2 =n3 (n4 keeps 1 others 1": removed, undrained, an operator's. */
static char *plan_text(const struct release_plan *p)
{
    struct buf out = {0};
    if (p->refused != NULL)
        buf_add(&out, "refused ");
    for (size_t i = 0; i < p->removed_count; i++)
        buf_printf(&out, "-%s ", p->removed[i].name);
    for (size_t i = 0; i < p->undrained_count; i++)
        buf_printf(&out, "=%s ", p->undrained[i]);
    for (size_t i = 0; i < p->by_operator_count; i++)
        buf_printf(&out, "(%s ", p->by_operator[i]);
    buf_printf(&out, "keeps %zu others %zu%s", p->kept, p->others, release_plan_is_empty(p) ? " empty" : "");
    return out.data;
}

static const struct row {
    const char *lines, *runs;
    bool servers;
    const char *plan;
} rows[] = {
    {"n1 n2- n3-", "n1=ready n2=maint n3=maint", false, "-n2 -n3 keeps 1 others 0"},
    {"n1 n2", "n1=ready n2=ready", false, "keeps 2 others 0 empty"},
    {"n1 n2", "n1=ready n2=drain", false, "=n2 keeps 2 others 0"},
    {"n1 n2", "n1=ready n2=maint", false, "(n2 keeps 2 others 0 empty"},
    {"n1 n2-", "n1=ready n2=drain", false, "-n2 keeps 1 others 0"},
    {"n1 n2- sorry! keep1-", "n1=ready", false, "-n2 keeps 1 others 2"},
    {"n1- n2-", "", false, "refused keeps 0 others 0"},
    {"n1- n2- sorry!", "", false, "refused keeps 0 others 0"},
    {"n1- n2- keep1", "", false, "-n1 -n2 keeps 0 others 1"},
    {"n1- keep1-", "", false, "refused keeps 0 others 0"},
    {"n1- n2-", "", true, "-n1 -n2 keeps 0 others 0"},
    {"n1 n2- sorry! keep1", "n1=drain", true, "-n1 -n2 keeps 0 others 2"},
    {"sorry!", "", false, "keeps 0 others 1 empty"},
    {"", "", true, "keeps 0 others 0 empty"},
};

TEST_EACH(what_is_removed, array_len(rows))
{
    const struct row *r = &rows[_i];
    static char keep[] = "keep*";
    char *globs[] = {keep};
    const struct diff_rules rules = {.keep_servers = globs, .keep_count = 1};
    struct backend backend;
    struct runtime runtime;
    struct release_plan plan;
    backend_of(r->lines, &backend);
    runtime_of(r->runs, &runtime);
    release_plan_make(&backend, &runtime, &rules, r->servers, &plan);
    cleanup(mem_free_ptr) char *text = plan_text(&plan);
    ck_assert_str_eq(text, r->plan);
    release_plan_fini(&plan);
    ck_assert_ptr_null(plan.removed);
    backend_fini(&backend);
    runtime_fini(&runtime);
}

/* A write would damage what the API does not show. */
TEST(a_line_that_a_write_would_damage)
{
    struct backend backend;
    struct runtime runtime;
    const struct diff_rules rules = {0};
    for (int shown = 0; shown < 2; shown++) {
        struct release_plan plan;
        backend_of("n1 n2-", &backend);
        runtime_init(&runtime);
        backend.unsupported = mem_array(1, sizeof(backend.unsupported[0]));
        backend.unsupported[backend.unsupported_count++] = (struct backend_unsupported_line){
            .line = 7, .text = mem_strdup("server x"), .reason = mem_strdup("no address"), .only_shown = shown == 1};
        release_plan_make(&backend, &runtime, &rules, false, &plan);
        if (shown == 0)
            ck_assert_str_eq(plan.refused, "line 7 of haproxy.cfg would be damaged by a write (server x): no address");
        else
            ck_assert_uint_eq(plan.removed_count, 1);
        release_plan_fini(&plan);
        backend_fini(&backend);
        runtime_fini(&runtime);
    }
}

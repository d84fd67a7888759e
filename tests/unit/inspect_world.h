/*
 * A report of `plan` and `explain` made by hand: what HAProxy has and what is wanted as text (see backend_text.h), the plan by
 * the real code.
 */
#ifndef TESTS_INSPECT_WORLD_H
#define TESTS_INSPECT_WORLD_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/objects.h"
#include "sync/inspect_print.h"
#include "sync/inspect_report.h"
#include "sync/page.h"

#include "backend_text.h"

#define WORLD_BACKENDS 3

struct inspect_world {
    struct inspect_report report;
    struct plan_rules rules;
    struct mapping_rules mapping;
    struct service_port ports[2];
    struct service service; /* NodePort, policy Local, port https */
    bool dirty;
};

static inline void world_init(struct inspect_world *w)
{
    static char https[] = "https", http[] = "http", web[] = "web";
    *w = (struct inspect_world){
        .rules = {.max_loss_percent = 100, .brake_ms = 30000},
        .mapping = {.namespace = "ingress", .service = "web", .port = "https"},
        .ports = {{.name = http, .number = 80, .node_port = 30080}, {.name = https, .number = 443, .node_port = 30443}},
        .service = {.name = web, .type = SERVICE_NODE_PORT, .local = true, .port_count = 2},
    };
    w->service.ports = w->ports;
    w->report.backends = mem_array(WORLD_BACKENDS, sizeof(w->report.backends[0]));
    w->report.rules = &w->rules.diff;
}

static inline void world_fini(struct inspect_world *w)
{
    inspect_report_fini(&w->report);
}

/* The backend is there, but what is in HAProxy is not known yet: world_see or world_unseen follows. */
static inline struct inspect_backend *world_add(struct inspect_world *w, const char *name, const char *wish)
{
    ck_assert_uint_lt(w->report.count, WORLD_BACKENDS);
    struct inspect_backend *b = &w->report.backends[w->report.count++];
    *b = (struct inspect_backend){.name = name,
                                  .rules = &w->mapping,
                                  .service_state = INSPECT_SERVICE_KNOWN,
                                  .service = &w->service,
                                  .explanation = {.state = SERVER_OUT}};
    backend_init(&b->actual);
    text_wish(&b->wish, wish);
    return b;
}

static inline void world_see(struct inspect_world *w, struct inspect_backend *b, const char *actual)
{
    struct brake brake = {0};
    text_backend(&b->actual, b->name, actual);
    b->seen = true;
    plan_make(&b->actual, &b->wish, &w->rules, w->dirty, &brake, 1000, &b->plan);
}

static inline void world_unseen(struct inspect_backend *b, const char *why)
{
    error_set(&b->unseen, ERROR_RETRY, "%s", why);
}

static inline void world_wait(struct inspect_backend *b, enum desired_state state, const char *problem)
{
    b->wish.state = state;
    free(b->wish.problem);
    b->wish.problem = mem_strdup(problem);
}

static inline struct desired_skip *world_skip(struct inspect_backend *b, const char *subject, const char *reason)
{
    struct desired *d = &b->wish;
    d->skips = mem_resize(d->skips, d->skip_count + 1, sizeof(d->skips[0]));
    struct desired_skip *s = &d->skips[d->skip_count++];
    *s = (struct desired_skip){.subject = mem_strdup(subject), .reason = mem_strdup(reason)};
    return s;
}

/* What a printer gives. */
static inline char *world_print(const struct inspect_world *w,
                                void (*print)(const struct inspect_report *r, struct page *p), bool colour)
{
    struct buf out;
    struct page p;
    buf_init(&out, 0);
    page_init(&p, &out, colour, 0);
    print(&w->report, &p);
    return buf_take(&out);
}

static inline void world_expect(const struct inspect_world *w,
                                void (*print)(const struct inspect_report *r, struct page *p), const char *text)
{
    cleanup(mem_free_ptr) char *is = world_print(w, print, false);
    ck_assert_msg(str_eq(is, text), "it is\n%s\nnot\n%s", is, text);
}

#endif

/*
 * A report of `plan` and `explain` made by hand: what HAProxy has and the desired state as text (backend_text.h), the
 * plan by the real code.
 */
#pragma once

#include "model/objects.h"
#include "servers/change/parking.h"
#include "daemon/inspect/inspect_print.h"
#include "daemon/inspect/inspect_report.h"
#include "base/page.h"

#include "../../backend_text.h"

#define WORLD_BACKENDS 3
#define WORLD_TARGETS 3

struct inspect_world {
    struct inspect_report report;
    struct plan_rules rules;
    uint64_t park_ttl_ms; /* 0 at first */
    uint64_t now_ms;
    const char *gone;                            /* Kubernetes has no node of that name; NULL: it has all */
    void (*remember)(struct inspect_backend *b); /* what one that runs knows besides; NULL: nothing */
    struct mapping_rules mapping;
    struct service_port ports[2];
    struct service service; /* NodePort, policy Local, port https */
};

static inline bool world_node_exists(const void *arg, const char *server)
{
    const struct inspect_world *w = arg;
    return !str_eq(server, w->gone);
}

/* With one HAProxy, "http://lb1:5555"; report.target_count makes it several. */
static inline void world_init(struct inspect_world *w)
{
    static char https[] = "https", http[] = "http", web[] = "web";
    static const char *const urls[WORLD_TARGETS] = {"http://lb1:5555", "http://lb2:5555", "unix:/run/lb3.sock"};
    *w = (struct inspect_world){
        .rules = {.max_loss_percent = 100, .loss_window_ms = 30000},
        .now_ms = 1000,
        .mapping = {.namespace = "ingress", .service = "web", .port = "https"},
        .ports = {{.name = http, .number = 80, .node_port = 30080}, {.name = https, .number = 443, .node_port = 30443}},
        .service = {.name = web, .type = SERVICE_NODE_PORT, .local = true, .port_count = 2},
    };
    w->service.ports = w->ports;
    inspect_report_init(&w->report, WORLD_TARGETS, WORLD_BACKENDS);
    w->report.mapping_count = 0;
    w->report.target_count = 1;
    w->report.rules = &w->rules;
    w->report.node_exists = world_node_exists;
    w->report.node_arg = w;
    for (size_t i = 0; i < WORLD_TARGETS; i++) {
        w->report.targets[i].url = urls[i];
        for (size_t k = 0; k < WORLD_BACKENDS; k++) {
            backend_init(&w->report.targets[i].backends[k].actual);
            runtime_init(&w->report.targets[i].backends[k].runtime);
        }
    }
}

static inline void world_begin_anew(struct inspect_backend *b)
{
    plan_fini(&b->plan);
    plan_fini(&b->first);
    route_fini(&b->choice);
    admin_states_fini(&b->memory);
    parking_free((struct parking *)b->in.parking);
    loss_limit_fini(&b->losses);
    free(b->reloads);
    b->in.parking = NULL;
    b->reloads = NULL;
}

static inline void world_fini(struct inspect_world *w)
{
    w->report.mapping_count = WORLD_BACKENDS;
    w->report.target_count = WORLD_TARGETS;
    for (size_t i = 0; i < WORLD_TARGETS * WORLD_BACKENDS; i++) {
        struct inspect_backend *b = &w->report.targets[i / WORLD_BACKENDS].backends[i % WORLD_BACKENDS];
        world_begin_anew(b);
        backend_fini(&b->actual);
        runtime_fini(&b->runtime);
    }
    inspect_report_fini(&w->report);
}

static inline struct inspect_target *world_target(struct inspect_world *w)
{
    return &w->report.targets[0];
}

static inline struct inspect_mapping *world_mapping(const struct inspect_backend *b)
{
    return (struct inspect_mapping *)b->of;
}

/* The same backend in another HAProxy. */
static inline struct inspect_backend *world_in(struct inspect_world *w, size_t target, const struct inspect_backend *b)
{
    return &w->report.targets[target].backends[b->of - w->report.mappings];
}

/* The backend is there, but what is in HAProxy is not known yet: world_see or world_unseen follows. */
static inline struct inspect_backend *world_add(struct inspect_world *w, const char *name, const char *desired)
{
    ck_assert_uint_lt(w->report.mapping_count, WORLD_BACKENDS);
    struct inspect_mapping *m = &w->report.mappings[w->report.mapping_count];
    m->backend = name;
    m->rules = &w->mapping;
    m->service_state = INSPECT_SERVICE_KNOWN;
    m->service = &w->service;
    struct desired d;
    text_desired(&d, desired);
    m->desired = desired_share(&d);
    for (size_t t = 0; t < WORLD_TARGETS; t++)
        w->report.targets[t].backends[w->report.mapping_count].desired = m->desired;
    return &world_target(w)->backends[w->report.mapping_count++];
}

static inline struct desired *world_desired(const struct inspect_backend *b)
{
    return (struct desired *)b->of->desired;
}

/* As a daemon that starts has it. */
static inline void world_begin(const struct inspect_world *w, const struct inspect_target *t, struct inspect_backend *b)
{
    struct parking *parking = w->park_ttl_ms > 0 ? parking_new(w->park_ttl_ms) : NULL;
    const enum desired_state state = b->desired->state;
    if (parking != NULL)
        parking_refresh(parking, &b->actual, b->desired, &w->rules.diff, world_node_exists, w, w->now_ms);
    if (b->actual.exists && (state == DESIRED_OK || state == DESIRED_EMPTY))
        admin_states_refresh(&b->memory, &b->actual, &b->runtime, b->desired, &w->rules.diff, WORKER_SAME);
    b->in = (struct backend_decision_input){.at = {.actual = &b->actual,
                                                   .runtime = &b->runtime,
                                                   .desired = b->desired,
                                                   .memory = &b->memory,
                                                   .open = b->runtime.readable},
                                            .rules = &w->rules,
                                            .parking = parking,
                                            .file_problem = t->file_problem,
                                            .loss_limit = &b->losses,
                                            .now_ms = w->now_ms,
                                            .dirty = t->dirty};
    if (w->remember != NULL)
        w->remember(b);
}

static inline void world_decide(struct inspect_world *w)
{
    for (size_t t = 0; t < w->report.target_count; t++) {
        struct inspect_target *target = &w->report.targets[t];
        for (size_t m = 0; m < w->report.mapping_count; m++) {
            world_begin_anew(&target->backends[m]);
            world_begin(w, target, &target->backends[m]);
        }
        inspect_decide(&w->report, target);
    }
}

/* One that HAProxy runs as its line says, or otherwise: "n1 ready", "n2 drain", "n3 maint"; where no line is, at
 * 10.9.9.9:9. */
static inline void world_add_running(struct inspect_backend *b, char *words)
{
    struct runtime *r = &b->runtime;
    const char *name = strsep(&words, " ");
    const struct backend_server *line = backend_find(&b->actual, name);
    ck_assert_msg(str_eq(words, "ready") || str_eq(words, "drain") || str_eq(words, "maint"), "state \"%s\"", words);
    r->servers = mem_resize(r->servers, r->count + 1, sizeof(r->servers[0]));
    r->servers[r->count++] = (struct runtime_server){.name = shared_text(name),
                                                     .address = shared_text(line != NULL ? line->address : "10.9.9.9"),
                                                     .port = line != NULL ? line->port : 9,
                                                     .weight = -1,
                                                     .admin = str_eq(words, "ready")   ? RUNTIME_READY
                                                              : str_eq(words, "drain") ? RUNTIME_DRAIN
                                                                                       : RUNTIME_MAINT};
}

/* running: "n1 ready; n2 drain"; "!why": that cannot be read; NULL: it was not read. */
static inline void world_see_running(struct inspect_world *w, struct inspect_backend *b, const char *actual,
                                     const char *running)
{
    backend_fini(&b->actual);
    runtime_fini(&b->runtime);
    text_backend(&b->actual, b->of->backend, actual);
    b->seen = true;
    if (running != NULL && running[0] == '!') {
        b->runtime.why = mem_strdup(running + 1);
    } else if (running != NULL) {
        cleanup(mem_free_ptr) char *copy = mem_strdup(running);
        char *rest = copy;
        b->runtime.readable = true;
        for (char *words; (words = strsep(&rest, ";")) != NULL;)
            world_add_running(b, words + (words[0] == ' '));
        runtime_sort(&b->runtime);
    }
    world_decide(w);
}

static inline void world_see(struct inspect_world *w, struct inspect_backend *b, const char *actual)
{
    world_see_running(w, b, actual, NULL);
}

static inline void world_unseen(struct inspect_backend *b, const char *why)
{
    error_set(&b->unseen, ERROR_RETRY, "%s", why);
}

static inline void world_wait(struct inspect_backend *b, enum desired_state state, const char *problem)
{
    struct desired *desired = world_desired(b);
    desired->state = state;
    free(desired->problem);
    desired->problem = mem_strdup(problem);
}

static inline struct desired_skip *world_skip(struct inspect_backend *b, const char *subject, const char *reason)
{
    struct desired *d = world_desired(b);
    return desired_add_skip(d, mem_strdup(subject), mem_strdup(reason), NULL);
}

/* What a printer gives. */
static inline char *world_print(const struct inspect_world *w,
                                void (*print)(const struct inspect_report *r, struct page *p), bool colour)
{
    struct buf out = {0};
    struct page p;
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

#define WORLD_HEADING "backend be  <-  Service ingress/web port https  (NodePort, policy Local, nodePort 30443)\n"

static struct inspect_world w;

static inline void world_set_up(void)
{
    world_init(&w);
}

static inline void world_tear_down(void)
{
    world_fini(&w);
}

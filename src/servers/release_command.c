#include "servers/release_command.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/change.h"
#include "haproxy/driver.h"
#include "haproxy/instance.h"

#define DRAIN_ENDS "it is released"

/* ---- the plan ---- */

void release_plan_make(const struct backend *actual, const struct runtime *runtime, const struct diff_rules *rules,
                       bool servers, struct release_plan *ret)
{
    struct release_plan p = {0};
    size_t at = 0, count = actual->server_count;
    p.removed = mem_array(count, sizeof(p.removed[0]));
    p.undrained = mem_array(count, sizeof(p.undrained[0]));
    p.by_operator = mem_array(count, sizeof(p.by_operator[0]));
    for (size_t i = 0; i < count; i++) {
        const struct backend_server *line = &actual->servers[i];
        if (diff_server_is_foreign(line, rules, NULL)) {
            p.others++;
            p.others_live += !line->backup && !line->maintenance;
        } else if (servers || line->maintenance) {
            backend_server_copy(&p.removed[p.removed_count++], line);
        } else {
            p.kept++;
            const struct runtime_server *runs = runtime->readable ? runtime_find_next(runtime, line->name, &at) : NULL;
            if (runs != NULL && runs->admin == RUNTIME_DRAIN)
                p.undrained[p.undrained_count++] = mem_strdup(line->name);
            else if (runs != NULL && runs->admin == RUNTIME_MAINT)
                p.by_operator[p.by_operator_count++] = mem_strdup(line->name);
        }
    }
    char *refused = NULL;
    for (size_t i = 0; i < actual->unsupported_count && refused == NULL; i++)
        if (!actual->unsupported[i].only_shown)
            refused =
                mem_printf("line %u of haproxy.cfg would be damaged by a write (%s): %s", actual->unsupported[i].line,
                           actual->unsupported[i].text, actual->unsupported[i].reason);
    if (refused == NULL && !servers && p.kept == 0 && p.others_live == 0 && p.removed_count > 0)
        refused = mem_printf("no server of backend %s is live, and %zu %s parked: without them it would have none. To "
                             "remove them all the same: haproxy-k8s-sync release --servers",
                             actual->name, p.removed_count, p.removed_count == 1 ? "is" : "are");
    if (refused != NULL) {
        release_plan_fini(&p);
        p.refused = refused;
    }
    *ret = p;
}

void release_plan_fini(struct release_plan *p)
{
    for (size_t i = 0; i < p->removed_count; i++)
        backend_server_fini(&p->removed[i]);
    for (size_t i = 0; i < p->undrained_count; i++)
        free((char *)p->undrained[i]);
    for (size_t i = 0; i < p->by_operator_count; i++)
        free((char *)p->by_operator[i]);
    mem_free_all(p->removed, p->undrained, p->by_operator, p->refused);
    *p = (struct release_plan){0};
}

bool release_plan_is_empty(const struct release_plan *p)
{
    return p->refused == NULL && p->removed_count == 0 && p->undrained_count == 0;
}

/* ---- the engine ---- */

struct release_backend {
    const char *name;
    struct instance_backend *at;
    struct release_plan plan;
    bool read;
    char *failed;   /* NULL: not */
    size_t in_hand; /* lines that the transaction in hand removes */
    size_t removed, undrained;
    size_t drains;     /* that there were */
    bool commanded;    /* they were ended by commands, once: those that are left end by a reload */
    unsigned readings; /* are needed until what the commands came to is seen */
};

struct release {
    struct release_options options;
    struct instance *instance;
    struct release_backend *backends, *end;
    struct engine_claim *claims;
    struct engine engine;
};

static void release_attach(void *self, struct instance *in)
{
    struct release *r = self;
    r->instance = in;
    for (struct release_backend *b = r->backends; b < r->end; b++)
        b->at = instance_backend(in, b->name);
}

static void release_fail(struct release_backend *b, const char *what, const char *why)
{
    free(b->failed);
    b->failed = mem_printf("%s%s%s", what, *what != '\0' ? ": " : "", why);
}

static bool release_is_wanted(const void *self)
{
    (void)self;
    return true;
}

static bool release_writes(const void *self)
{
    const struct release *r = self;
    return r->options.writes;
}

/* Drains end first: a reload would end them, too, but only one that comes. They have ended once that is read back. */
static void release_decide_backend(const struct release *r, struct release_backend *b, struct engine_wants *ret_wants)
{
    const struct instance_view v = instance_view(r->instance);
    b->read = true;
    release_plan_fini(&b->plan);
    if (b->at->unreadable.kind != ERROR_NONE) {
        release_fail(b, "haproxy.cfg cannot be read", b->at->unreadable.message);
        return;
    }
    release_plan_make(&b->at->actual, &b->at->runtime, &r->options.rules, r->options.servers, &b->plan);
    if (b->plan.refused != NULL)
        release_fail(b, "", b->plan.refused);
    else if (v.file_problem != NULL && b->plan.removed_count > 0)
        release_fail(b, "haproxy.cfg is not written to", v.file_problem);
    if (b->failed != NULL || !r->options.writes)
        return;
    if (b->at->runtime.readable) {
        b->drains = b->plan.undrained_count > b->drains ? b->plan.undrained_count : b->drains;
        b->undrained = b->drains - b->plan.undrained_count;
    }
    if (!instance_commanded(r->instance, b->at)) {
        ret_wants->waits = true;
    } else if (b->readings > 0) {
        ret_wants->reading = true;
    } else if (release_plan_is_empty(&b->plan)) {
        return;
    } else if (b->plan.undrained_count > 0 && !b->commanded && instance_runtime_usable(r->instance, b->at)) {
        struct runtime_command *list = mem_array(b->plan.undrained_count, sizeof(list[0]));
        for (size_t i = 0; i < b->plan.undrained_count; i++)
            list[i] = (struct runtime_command){.name = b->plan.undrained[i], .state = RUNTIME_READY, .why = DRAIN_ENDS};
        b->commanded = true;
        instance_command(r->instance, b->at, list, b->plan.undrained_count, 0);
        free(list);
        ret_wants->waits = true;
    } else if (b->plan.removed_count == 0) {
        ret_wants->reload = v.may_write && v.may_begin;
        ret_wants->waits = true;
    } else if (!v.file_allows || !v.may_write || v.gathers) {
        ret_wants->waits = true;
    } else {
        ret_wants->transaction = true;
    }
}

static void release_decide(void *self, struct engine_wants *ret_wants)
{
    struct release *r = self;
    for (struct release_backend *b = r->backends; b < r->end; b++)
        release_decide_backend(r, b, ret_wants);
}

static bool release_manages(const void *self, const struct instance_backend *b, const struct backend_server *line)
{
    const struct release *r = self;
    (void)b;
    return !diff_server_is_foreign(line, &r->options.rules, NULL);
}

/* ---- the transaction ---- */

static void release_collect(void *self)
{
    struct release *r = self;
    for (struct release_backend *b = r->backends; b < r->end; b++) {
        struct error err = {0};
        b->in_hand = 0;
        if (b->failed != NULL || b->plan.removed_count == 0)
            continue;
        struct change *list = mem_array(b->plan.removed_count, sizeof(list[0]));
        for (size_t k = 0; k < b->plan.removed_count; k++)
            list[k] =
                (struct change){.kind = CHANGE_REMOVE_SERVER, .backend = &b->at->actual, .server = &b->plan.removed[k]};
        if (instance_change(r->instance, b->at, list, b->plan.removed_count, &err) == 0)
            b->in_hand = b->plan.removed_count;
        else
            release_fail(b, "the transaction cannot be made", err.message);
        free(list);
    }
}

static bool release_may_change(const void *self, const char *kind, const char *name, const char *first,
                               const char *second)
{
    const struct release *r = self;
    if (!str_eq(kind, "backend") || !str_eq(first, "server"))
        return false;
    for (const struct release_backend *b = r->backends; b < r->end; b++) {
        for (size_t k = 0; str_eq(name, b->name) && k < b->plan.removed_count; k++)
            if (str_eq(second, b->plan.removed[k].name))
                return true;
    }
    return false;
}

static void release_committed(void *self, const struct written *w)
{
    struct release *r = self;
    (void)w;
    for (struct release_backend *b = r->backends; b < r->end; b++) {
        b->removed += b->in_hand;
        b->in_hand = 0;
    }
}

static void release_rejected(void *self, const char *what, const struct error *err)
{
    struct release *r = self;
    for (struct release_backend *b = r->backends; b < r->end; b++)
        if (b->in_hand > 0)
            release_fail(b, what, err->message);
}

static void release_reload_failed(void *self, bool lost)
{
    struct release *r = self;
    const char *why = instance_view(r->instance).reload_problem;
    for (struct release_backend *b = r->backends; b < r->end && !lost; b++)
        release_fail(b, "HAProxy could not load it", why != NULL ? why : "it does not say why");
}

static void release_command_done(void *self, const struct instance_backend *at, const struct runtime_command *c,
                                 bool crossed, uint64_t took_us, uint64_t event_us)
{
    struct release *r = self;
    struct release_backend *b = r->backends;
    while (b < r->end && b->at != at)
        b++;
    (void)c;
    (void)took_us;
    (void)event_us;
    if (b < r->end)
        b->readings = crossed ? 2 : 1; /* the one under way may have been before it */
}

static bool release_runtime_read(void *self, bool other_worker)
{
    struct release *r = self;
    (void)other_worker;
    for (struct release_backend *b = r->backends; b < r->end; b++)
        b->readings -= b->readings > 0;
    return false;
}

static const struct engine_ops release_ops = {
    .name = "release",
    .attach = release_attach,
    .has_desired = release_is_wanted,
    .runtime_read = release_runtime_read,
    .may_write = release_writes,
    .decide = release_decide,
    .manages = release_manages,
    .collect = release_collect,
    .may_change = release_may_change,
    .committed = release_committed,
    .rejected = release_rejected,
    .reload_failed = release_reload_failed,
    .command_done = release_command_done,
};

/* ---- life ---- */

struct release *release_new(const struct release_options *options)
{
    struct release *r = mem_alloc(sizeof(*r));
    r->options = *options;
    r->backends = mem_array(options->backend_count, sizeof(r->backends[0]));
    r->end = r->backends + options->backend_count;
    r->claims = mem_array(options->backend_count, sizeof(r->claims[0]));
    for (size_t i = 0; i < options->backend_count; i++) {
        r->backends[i].name = options->backends[i];
        r->claims[i] = (struct engine_claim){.backend = options->backends[i], .parts = ENGINE_SERVERS};
    }
    r->engine =
        (struct engine){.ops = &release_ops, .self = r, .claims = r->claims, .claim_count = options->backend_count};
    return r;
}

void release_free(struct release *r)
{
    if (r == NULL)
        return;
    for (struct release_backend *b = r->backends; b < r->end; b++) {
        release_plan_fini(&b->plan);
        free(b->failed);
    }
    mem_free_all(r->backends, r->claims, r);
}

const struct engine *release_engine(const struct release *r)
{
    return &r->engine;
}

struct release_view release_view(const struct release *r, size_t backend)
{
    const struct release_backend *b = &r->backends[backend];
    const struct instance_view v = instance_view(r->instance);
    bool settled = v.fresh && v.last_reload_known && v.reload != RELOAD_PENDING && !v.dirty &&
                   instance_commanded(r->instance, b->at) && b->readings == 0;
    enum release_state state = b->failed != NULL                            ? RELEASE_FAILED
                               : !b->read                                   ? RELEASE_UNKNOWN
                               : release_plan_is_empty(&b->plan) && settled ? RELEASE_DONE
                                                                            : RELEASE_TO_DO;
    return (struct release_view){.backend = b->name,
                                 .state = state,
                                 .why = b->failed,
                                 .exists = b->at->actual.exists,
                                 .plan = &b->plan,
                                 .removed = b->removed,
                                 .undrained = b->undrained};
}

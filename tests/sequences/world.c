#include "world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "loss.h"
#include "haproxy/dataplane/driver.h"
#include "haproxy/local/driver.h"

#define STEPS_AT_ONE_MOMENT 2000
#define RESYNC_MS 30000
#define STOP_US 30000000
#define LIE_US 5000000 /* until the daemon has repaired it */

struct world *world;

/* ---- what stands in for the clock, the timers, the kernel's dice and the client ---- */

#define VIRTUAL_TIME world
#include "../virtual_time.h"
#include "../unit/api_about.h"

/* The same stream is to be the same again. */
ssize_t getrandom(void *ret, size_t bytes, unsigned flags)
{
    (void)flags;
    memset(ret, 7, bytes);
    return (ssize_t)bytes;
}

void dataplane_send(struct dataplane_client *c, const char *method, const char *path, const char *json,
                    void (*on_answer)(void *arg, const struct dataplane_answer *a), void *arg)
{
    api_send(c, method, path, json, NULL, on_answer, arg);
}

void dataplane_send_bytes(struct dataplane_client *c, const char *method, const char *path, const char *content_type,
                          const char *body, size_t len, void (*on_answer)(void *arg, const struct dataplane_answer *a),
                          void *arg)
{
    (void)content_type;
    (void)len;
    dataplane_send(c, method, path, body, on_answer, arg);
}

void dataplane_send_text(struct dataplane_client *c, const char *path, const char *actions, const char *head,
                         const char *text, size_t len, void (*on_answer)(void *arg, const struct dataplane_answer *a),
                         void *arg)
{
    (void)len;
    cleanup(mem_free_ptr) char *body = mem_join(head, text);
    api_send(c, "POST", path, body, actions, on_answer, arg);
}

char *dataplane_answer_take(const struct dataplane_answer *a)
{
    return mem_strndup(a->body, a->body_len);
}

bool dataplane_busy(const struct dataplane_client *c)
{
    return c->request.busy;
}

void dataplane_cancel(struct dataplane_client *c)
{
    api_cancel(c);
}

/* Two backends are read one after the other. */
struct dataplane_client *dataplane_client_twin(const struct dataplane_client *c)
{
    (void)c;
    return NULL;
}

void dataplane_client_free(struct dataplane_client *c)
{
    (void)c;
}

bool dataplane_credentials_refused(struct dataplane_client *c)
{
    (void)c;
    return false;
}

const char *dataplane_client_url(const struct dataplane_client *c)
{
    return c->api->url;
}

const char *dataplane_client_user(const struct dataplane_client *c)
{
    (void)c;
    return NULL;
}

const char *dataplane_client_password(const struct dataplane_client *c)
{
    (void)c;
    return NULL;
}

/* ---- words ---- */

void violate(struct world *w, const char *invariant, const char *fmt, ...)
{
    va_list ap;
    char text[2000];
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    dprintf(w->verdict_fd, "%s\n%s (event %u, at %.3f s)\n", invariant, text, w->step, (double)w->now_us / 1e6);
    _exit(1);
}

void world_say(const struct world *w, const char *fmt, ...)
{
    va_list ap;
    if (!w->chatty)
        return;
    printf("%10.3f ", (double)w->now_us / 1e6);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    printf("\n");
    fflush(stdout);
}

/* ---- Kubernetes' part of the daemon ---- */

const struct want *want_find(const struct world *w, size_t backend, const char *name)
{
    for (size_t i = 0; i < w->want_counts[backend]; i++)
        if (strcmp(w->wants[backend][i].name, name) == 0)
            return &w->wants[backend][i];
    return NULL;
}

static struct want *set_want(struct world *w, size_t backend, const char *name, int state, bool announced)
{
    struct want *at = (struct want *)(uintptr_t)want_find(w, backend, name);
    if (at == NULL && w->want_counts[backend] == SERVERS_MAX)
        violate(w, "room", "more servers are wanted than the model has room for");
    if (at == NULL) {
        at = &w->wants[backend][w->want_counts[backend]++];
        snprintf(at->name, NAME_BYTES, "%s", name);
        at->state = WANT_OUT;
        at->since_us = 0;
    }
    if ((int)at->state != state || at->since_us == 0) {
        at->since_us = w->now_us;
        at->since = w->readings;
    }
    at->state = (unsigned)state;
    at->announced = announced;
    return at;
}

static void take_wants(struct world *w, size_t backend)
{
    const struct desired *d = &w->desired_states[backend];
    if (d->state != DESIRED_OK && d->state != DESIRED_EMPTY)
        return;
    if (d->state == DESIRED_OK && (w->empty_since[backend] != UINT_MAX || w->wanted_since[backend] == 0))
        w->wanted_since[backend] = w->readings;
    size_t live = 0;
    for (size_t i = 0; i < d->server_count; i++)
        live += d->servers[i].state == SERVER_LIVE;
    if (live > 0) {
        w->none_live_since[backend] = UINT_MAX;
        w->none_live_since_us[backend] = UINT64_MAX;
    } else if (w->none_live_since[backend] == UINT_MAX) {
        w->none_live_since[backend] = w->readings;
        w->none_live_since_us[backend] = w->now_us;
    }
    if (d->state != DESIRED_EMPTY)
        w->empty_since[backend] = UINT_MAX;
    else if (w->empty_since[backend] == UINT_MAX)
        w->empty_since[backend] = w->readings;
    for (size_t i = 0; i < w->want_counts[backend]; i++) {
        const char *name = w->wants[backend][i].name;
        const struct desired_skip *out = desired_why_out(d, name + strlen(own_prefix()));
        if (desired_find(d, name) == NULL)
            (void)set_want(w, backend, name, WANT_OUT, out != NULL && out->announced);
    }
    for (size_t i = 0; i < d->server_count; i++) {
        const struct desired_server *is = &d->servers[i];
        struct want *want = set_want(w, backend, is->name, is->state == SERVER_LIVE ? WANT_LIVE : WANT_DRAINING, false);
        snprintf(want->address, NAME_BYTES, "%s", is->address);
        want->port = is->port;
    }
}

static void take_due(struct world *w, uint64_t due_ms)
{
    if (due_ms != 0 && (w->due_ms == 0 || due_ms < w->due_ms))
        w->due_ms = due_ms;
}

void world_read(struct world *w)
{
    bool any = false;
    w->due_ms = 0;
    w->readings++;
    if (w->settings.whole != 0)
        return;
    for (size_t i = 0; i < OURS; i++) {
        cleanup(desired_unref_ptr) const struct desired *shared = cluster_desired(&w->cluster, i, w->now_us / 1000);
        take_due(w, shared->due_ms);
        desired_fini(&w->desired_states[i]);
        desired_copy(&w->desired_states[i], shared);
        clusters_name(&w->desired_states[i]);
        take_wants(w, i);
        if (w->targets != NULL && mapping_state_take(&w->states[i], shared)) {
            loss_reported(w, i);
            targets_set_desired(w->targets, i, shared, "an event", w->now_us);
            any = true;
        }
    }
    if (any)
        targets_apply(w->targets);
}

/* ---- the daemon ---- */

static struct driver *driver_of(struct world *w, struct api *a)
{
    const struct local_driver_options options = {.helper = &a->local.file,
                                                 .commands = w->settings.routes != 0 ? &a->local.commands : NULL,
                                                 .file = a->url,
                                                 .has_master = true,
                                                 .has_stats = w->settings.local != LOCAL_MASTER,
                                                 .by_master = true,
                                                 .takes_turns = w->settings.clusters != 0};
    if (w->settings.local != LOCAL_NONE)
        return local_driver_new(NULL, &options);
    return dataplane_driver_new(NULL, &a->file, w->settings.routes != 0 ? &a->runtime : NULL);
}

void daemon_start(struct world *w)
{
    static char glob[] = "keep*";
    static char *const keep[] = {glob};
    struct driver *drivers[TARGETS_MAX];
    w->start_us = 0;
    if (w->targets != NULL)
        return;
    metric_table_init(&w->metrics, "0");
    w->history = history_new();
    for (size_t i = 0; i < w->settings.targets; i++)
        drivers[i] = driver_of(w, &w->apis[i]);
    const struct targets_options options = {
        .configuration = whole_begin(w),
        .servers = {.backends = conf_backends,
                    .backend_count = w->settings.whole != 0 ? 0 : OURS,
                    .rules = {.diff = {.keep_servers = keep,
                                       .keep_count = 1,
                                       .allow_empty = w->settings.empty != 0,
                                       .adopt = (enum adopt)w->settings.adopt,
                                       .server_name_format = w->settings.clusters != 0 ? CLUSTER_FORMAT : NULL,
                                       .cluster = w->settings.clusters != 0 ? CLUSTER_NAME : NULL,
                                       .create_backend = w->settings.create != 0},
                              .dry_run = w->settings.dry != 0,
                              .max_loss_percent = w->settings.limit,
                              .loss_window_ms = RESYNC_MS},
                    .park_ttl_ms = (uint64_t)w->settings.park_s * 1000,
                    .node_exists = cluster_has_node,
                    .node_arg = &w->cluster},
        .instance = {.resync_period_ms = RESYNC_MS, .metrics = &w->metrics, .history = w->history, .log = &w->log},
    };
    struct error err;
    for (size_t i = 0; i < w->settings.targets; i++) {
        w->apis[i].shown_version = -1, w->apis[i].local.excused_us = w->now_us, w->apis[i].local.owes = false;
        memset(w->apis[i].looked, 0, sizeof(w->apis[i].looked));
    }
    cluster_forget_states(&w->cluster);
    w->life++;
    for (size_t i = 0; i < OURS; i++) {
        w->mappings[i] = (struct mapping){.backend = conf_backends[i]};
        mapping_state_init(&w->states[i], &w->mappings[i]);
        w->want_counts[i] = 0;
        w->empty_since[i] = w->none_live_since[i] = UINT_MAX;
        w->none_live_since_us[i] = UINT64_MAX;
    }
    loss_forget(w);
    w->targets = targets_new(NULL, &options, drivers, w->settings.targets, &err);
    targets_start(w->targets);
    world_read(w);
    whole_give(w);
}

static void leave_states(struct world *w)
{
    for (size_t t = 0; t < w->settings.targets; t++) {
        struct api *a = &w->apis[t];
        api_leave_states(a);
        for (size_t i = 0; i < array_len(a->transactions); i++)
            a->transactions[i].lost = a->transactions[i].lost || !a->transactions[i].foreign;
    }
}

void daemon_kill(struct world *w)
{
    if (w->targets == NULL)
        return;
    targets_free(w->targets);
    whole_end(w);
    for (size_t i = 0; i < w->settings.targets; i++)
        local_drop(&w->apis[i]);
    leave_states(w);
    w->targets = NULL;
    for (size_t i = 0; i < OURS; i++)
        mapping_state_fini(&w->states[i]);
    metric_table_fini(&w->metrics);
    history_free(w->history);
}

static void on_stopped(void *arg)
{
    ((struct world *)arg)->stopped = true;
}

void daemon_stop(struct world *w)
{
    if (w->targets == NULL)
        return;
    uint64_t end_us = w->now_us + STOP_US;
    w->stopped = false;
    w->stop_us = w->now_us;
    targets_stop(w->targets, on_stopped, w);
    while (!w->stopped && w->now_us < end_us)
        world_pass(w, 100000);
    /* A check of a file that hangs is left behind by the daemon after 4 s, which is not the targets' to do. */
    if (!w->stopped && w->settings.whole == 0)
        violate(w, "ends", "the daemon does not end within 30 s");
    w->stop_us = 0;
    daemon_kill(w);
}

/* ---- time ---- */

static void go_to(struct world *w, uint64_t us)
{
    if (us <= w->now_us) {
        if (++w->at_one_moment > STEPS_AT_ONE_MOMENT)
            violate(w, "pauses", "a loop without a pause");
        return;
    }
    w->now_us = us;
    w->at_one_moment = 0;
}

/* What HAProxy does not have though its API said so, the next daemon cannot know. */
static bool is_lied_to(const struct world *w)
{
    for (size_t i = 0; i < w->settings.targets; i++)
        if (w->apis[i].lied_us > w->apis[i].reloaded_us && w->now_us < w->apis[i].lied_us + LIE_US)
            return true;
    return false;
}

static void die_if_due(struct world *w)
{
    if (w->dies && w->targets != NULL && w->stop_us == 0 && !is_lied_to(w)) {
        world_say(w, "the daemon dies");
        daemon_kill(w);
        w->start_us = w->now_us + (uint64_t)w->dies_for_s * 1000000 + 1;
    }
    w->dies = false;
}

/* The next thing that happens by itself, if it does before the end. */
static bool happen(struct world *w, uint64_t end_us)
{
    uint64_t next = UINT64_MAX;
    struct api *api = NULL;
    for (size_t i = 0; i < w->settings.targets; i++) {
        uint64_t at = api_next_us(&w->apis[i]);
        if (at < next) {
            next = at;
            api = &w->apis[i];
        }
    }
    struct timer *t = virtual_next_timer(UINT64_MAX);
    bool timer = t != NULL && t->due_ms * 1000 < next;
    next = timer ? t->due_ms * 1000 : next;
    bool look = w->due_ms != 0 && w->due_ms * 1000 < next;
    next = look ? w->due_ms * 1000 : next;
    bool starts = w->start_us != 0 && w->start_us < next;
    next = starts ? w->start_us : next;
    if (next > end_us)
        return false;
    go_to(w, next);
    if (starts) {
        daemon_start(w);
    } else if (look) {
        world_read(w);
    } else if (timer) {
        t->due_ms = 0;
        t->fn(t->arg);
    } else {
        api_happen(api);
    }
    check_step(w);
    die_if_due(w);
    return true;
}

void world_pass(struct world *w, uint64_t us)
{
    uint64_t end_us = w->now_us + us;
    while (happen(w, end_us))
        ;
    w->now_us = end_us;
    w->at_one_moment = 0;
}

void world_open(struct world *w, const struct settings *s, int verdict_fd, bool chatty)
{
    api_about_version = s->adds != 0 ? "v3.4.0" : "v3.1.0";
    memset(w, 0, sizeof(*w));
    world = w;
    w->settings = *s;
    w->verdict_fd = verdict_fd;
    w->chatty = chatty;
    w->log = (struct log){.level = LOG_LEVEL_DEBUG, .fd = chatty ? STDOUT_FILENO : -1};
    w->now_us = 1000000000;
    cluster_init(&w->cluster, s);
    for (size_t i = 0; i < s->targets; i++)
        api_init(&w->apis[i], w, i);
    for (size_t i = 0; i < OURS; i++)
        desired_init(&w->desired_states[i]);
    loss_open(w);
    whole_open(w);
    daemon_start(w);
    for (size_t i = 0; i < s->targets && s->another != 0; i++)
        check_adopted(&w->apis[i]);
}

void world_close(struct world *w)
{
    daemon_kill(w);
    loss_close(w);
    whole_close(w);
    for (size_t i = 0; i < OURS; i++)
        desired_fini(&w->desired_states[i]);
    for (size_t i = 0; i < w->settings.targets; i++)
        api_fini(&w->apis[i]);
    cluster_fini(&w->cluster);
}

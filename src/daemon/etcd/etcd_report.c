#include "daemon/etcd/etcd_report.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "configuration/configuration.h"
#include "configuration/culprits.h"
#include "configuration/load_balancer.h"
#include "daemon/etcd/etcd_access.h"
#include "daemon/etcd/etcd_source.h"
#include "etcd/client.h"
#include "host/timer.h"
#include "settings/settings.h"

#define SETTLE_MS 200
#define RETRY_MS 5000
#define BEHIND_MS 3000 /* less is on the way, and worth no write */
#define KEEP_ALIVE_MS (ETCD_REPORT_LEASE_S * 1000 / 3)

struct etcd_report {
    const struct daemon *in;
    struct etcd_client *client;
    const struct etcd_source *source;
    const struct configuration *configuration; /* NULL: it says nothing */
    struct timer timer;
    struct etcd_call *call; /* one at a time; NULL: none */
    char *name, *key;
    int64_t lease;       /* 0: none */
    uint64_t kept_ms;    /* when it was last kept alive; monotonic */
    char *said, *to_say; /* values: that lies there, that is on its way; NULL: none */
    bool accepted;       /* what the source has */
    char *refused;       /* why it is; NULL: it is not */
    enum load_balancer_state state;
    int64_t since_ms;
    bool again;  /* something happened while a call was under way */
    bool failed; /* logged */
};

/* ---- what there is to say ---- */

static void report_fill(const struct etcd_report *r, struct load_balancer *l)
{
    const struct settings *settings = r->in->settings;
    size_t count = settings_haproxy_count(settings);
    l->name = mem_strdup(r->name);
    l->version = etcd_source_version(r->source);
    l->haproxies = mem_array(count, sizeof(l->haproxies[0]));
    for (size_t i = 0; i < count; i++) {
        /* The worst of them, and why. */
        struct configuration_view v = configuration_view(r->configuration, i);
        bool failed = str_eq(v.state, "rejected") || v.failure != NULL || v.withdrawn != NULL || v.away;
        enum load_balancer_state state = failed                                       ? LOAD_BALANCER_FAILED
                                         : str_eq(v.state, "applied") && !v.overtaken ? LOAD_BALANCER_IN_SYNC
                                                                                      : LOAD_BALANCER_BEHIND;
        const char *reason = v.reason != NULL     ? v.reason
                             : v.evidence != NULL ? v.evidence
                             : v.away             ? "HAProxy does not answer"
                                                  : "";
        const char *runs = v.runs != NULL ? v.runs : "";
        l->haproxies[l->haproxy_count++] = mem_strdup(settings_haproxy_name(settings, i));
        if (i == 0 && strlen(runs) < sizeof(l->sha256))
            memcpy(l->sha256, runs, strlen(runs) + 1);
        else if (!str_eq(l->sha256, runs))
            l->sha256[0] = '\0';
        if (i == 0 || state > l->state) {
            l->state = state;
            free(l->reason);
            l->reason = mem_strdup(state == LOAD_BALANCER_IN_SYNC ? "" : reason);
        }
    }
    const char *problem = etcd_source_problem(r->source);
    l->accepted = problem == NULL && r->accepted;
    l->refused = mem_strdup(problem == NULL && r->refused != NULL ? r->refused : "");
    if (problem != NULL) {
        l->state = LOAD_BALANCER_FAILED;
        free(l->reason);
        l->reason = mem_strdup(problem);
    }
}

/* ---- saying it ---- */

/* What lies there is not known any more. */
static void report_forget(struct etcd_report *r)
{
    free(r->said);
    r->said = NULL;
}

static void report_rest(struct etcd_report *r, uint64_t ms)
{
    timer_set(&r->timer, r->again ? SETTLE_MS : ms);
    r->again = false;
}

static void report_fail(struct etcd_report *r, const struct error *err)
{
    if (!r->failed)
        log_warn(r->in->log, "cannot write the state of this load balancer to etcd", log_str("key", r->key),
                 log_str("error", err->message));
    r->failed = true;
    r->again = false;
    report_rest(r, RETRY_MS);
}

static void report_on_put(void *arg, bool succeeded, int64_t revision, const struct error *err)
{
    struct etcd_report *r = arg;
    (void)succeeded, (void)revision;
    r->call = NULL;
    if (err != NULL) {
        if (err->kind != ERROR_RETRY) /* the lease may be gone */
            r->lease = 0;
        report_fail(r, err);
        return;
    }
    r->failed = false;
    r->said = r->to_say;
    r->to_say = NULL;
    report_rest(r, KEEP_ALIVE_MS);
}

static void report_on_lease(void *arg, int64_t id, int64_t ttl_s, const struct error *err)
{
    struct etcd_report *r = arg;
    r->call = NULL;
    if (err != NULL) {
        report_fail(r, err);
        return;
    }
    r->kept_ms = clock_mono_ms();
    if (ttl_s <= 0) { /* it ended: the key went with it */
        r->lease = 0;
        report_forget(r);
        report_rest(r, 0);
        return;
    }
    r->lease = id;
    report_rest(r, r->said == NULL ? 0 : KEEP_ALIVE_MS);
}

static void report_go_on(void *arg)
{
    struct etcd_report *r = arg;
    uint64_t now = clock_mono_ms();
    if (r->configuration == NULL || r->call != NULL)
        return;
    if (r->lease == 0) {
        report_forget(r);
        r->call = etcd_lease_grant(r->client, ETCD_REPORT_LEASE_S, report_on_lease, r);
        return;
    }
    cleanup(load_balancer_fini) struct load_balancer l = {0};
    struct buf text = {0};
    report_fill(r, &l);
    if (r->since_ms == 0 || l.state != r->state)
        r->since_ms = (int64_t)clock_wall_ms();
    r->state = l.state;
    l.since_ms = r->since_ms;
    load_balancer_print(&l, &text);
    free(r->to_say);
    r->to_say = buf_take(&text);
    uint64_t behind_ms = clock_wall_ms() - (uint64_t)r->since_ms;
    if (r->state == LOAD_BALANCER_BEHIND && behind_ms < BEHIND_MS && !r->accepted) {
        timer_set(&r->timer, BEHIND_MS - behind_ms);
    } else if (!str_eq(r->said, r->to_say)) {
        const struct etcd_put put = {
            .key = r->key, .value = r->to_say, .value_len = strlen(r->to_say), .lease = r->lease};
        report_forget(r); /* it may be carried out, whatever is answered */
        r->call = etcd_txn(r->client, &(struct etcd_txn){.puts = &put, .put_count = 1}, report_on_put, r);
    } else if (now - r->kept_ms >= KEEP_ALIVE_MS) {
        r->call = etcd_lease_keep_alive(r->client, r->lease, report_on_lease, r);
    } else {
        timer_set(&r->timer, KEEP_ALIVE_MS - (now - r->kept_ms));
    }
}

/* ---- life ---- */

struct etcd_report *etcd_report_new(const struct daemon *in, struct etcd_client *client,
                                    const struct etcd_source *source)
{
    struct etcd_report *r = mem_alloc(sizeof(*r));
    *r = (struct etcd_report){.in = in, .client = client, .source = source, .name = etcd_own_name(in->settings)};
    r->key = etcd_key(in->settings, "status/", r->name);
    timer_init(&r->timer, in->base, report_go_on, r);
    return r;
}

void etcd_report_free(struct etcd_report *r)
{
    if (r == NULL)
        return;
    etcd_call_cancel(r->call);
    timer_fini(&r->timer);
    mem_free_all(r->name, r->key, r->said, r->to_say, r->refused, r);
}

void etcd_report_lead(struct etcd_report *r, const struct configuration *c)
{
    if (r == NULL)
        return;
    r->configuration = c;
    if (c != NULL) {
        timer_set(&r->timer, SETTLE_MS);
        return;
    }
    etcd_call_cancel(r->call);
    r->call = NULL;
    report_forget(r); /* who leads then says something else there */
    timer_cancel(&r->timer);
}

void etcd_report_poke(struct etcd_report *r, const struct culprits_verdict *v)
{
    if (r == NULL)
        return;
    free(r->refused);
    r->refused = mem_strdup(v != NULL && !v->accepted ? v->why : NULL);
    r->accepted = v != NULL && v->accepted;
    if (r->configuration == NULL)
        return;
    if (r->call != NULL)
        r->again = true;
    else
        timer_set_sooner(&r->timer, SETTLE_MS);
}

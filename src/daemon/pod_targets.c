#include "daemon/pod_targets.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "daemon/clients.h"
#include "daemon/source.h"
#include "daemon/targets.h"
#include "haproxy/dataplane/driver.h"
#include "host/timer.h"
#include "model/objects.h"
#include "report/checks.h"
#include "settings/kubeconfig/kubeconfig.h"
#include "settings/settings.h"
#include "template/set.h"

#define RETRY_MS 5000

/* One that is to be a target. */
struct pod_entry {
    char *pod; /* "ns/name" */
    char *url;
    char *identity; /* of this pod at this address */
    bool added;     /* to the targets */
};

struct pod_list {
    struct pod_entry *list;
    size_t count;
};

/* The connections of one that is a target: freed after it. */
struct pod_link {
    struct clients *clients;
    struct dataplane_client *file;
};

struct pod_targets {
    const struct daemon *in;
    struct clients *clients;
    const struct clients_hooks *hooks;
    const char *namespace;           /* of targets that name none: the template set's, or this pod's; NULL: not known */
    struct template_targets follows; /* port 0: nothing yet */
    struct source source;
    struct pod_list pods;
    size_t left_out; /* beyond POD_TARGETS_MAX */
    struct timer compare;
    struct targets *targets; /* NULL: another replica leads */
};

/* ---- lists ---- */

static void pod_entry_fini(struct pod_entry *e)
{
    mem_free_all(e->pod, e->url, e->identity);
}

static void pod_list_fini(struct pod_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        pod_entry_fini(&l->list[i]);
    free(l->list);
}

static int pod_entry_compare(const void *a, const void *b)
{
    return strcmp(((const struct pod_entry *)a)->pod, ((const struct pod_entry *)b)->pod);
}

/* ---- the pods that there are ---- */

struct pod_search {
    const struct template_targets *targets;
    struct pod_list found;
};

static void pod_search_take(void *arg, const void *object)
{
    struct pod_search *s = arg;
    const struct pod *p = object;
    if (!p->running || p->terminating || p->address == NULL)
        return;
    bool six = strchr(p->address, ':') != NULL;
    struct pod_entry e = {.pod = mem_strdup(p->name),
                          .url = mem_printf("%s://%s%s%s:%u", s->targets->https ? "https" : "http", six ? "[" : "",
                                            p->address, six ? "]" : "", s->targets->port)};
    e.identity = mem_printf("%s (pod %s, %s)", e.url, p->name, p->uid);
    s->found.list = mem_resize(s->found.list, s->found.count + 1, sizeof(s->found.list[0]));
    s->found.list[s->found.count++] = e;
}

/* In the order of their names; of two at one address (hostNetwork) the first. */
static struct pod_list pod_targets_search(const struct pod_targets *p, size_t *ret_left_out)
{
    struct pod_search s = {.targets = &p->follows};
    struct pod_list kept = {0};
    *ret_left_out = 0;
    cache_each(p->source.cache, pod_search_take, &s);
    if (s.found.count > 0)
        qsort(s.found.list, s.found.count, sizeof(s.found.list[0]), pod_entry_compare);
    kept.list = mem_array(s.found.count, sizeof(kept.list[0]));
    for (size_t i = 0; i < s.found.count; i++) {
        bool fits = kept.count < POD_TARGETS_MAX;
        for (size_t k = 0; k < kept.count; k++)
            fits = fits && !str_eq(kept.list[k].url, s.found.list[i].url);
        if (fits) {
            kept.list[kept.count++] = s.found.list[i];
            continue;
        }
        pod_entry_fini(&s.found.list[i]);
        ++*ret_left_out;
    }
    free(s.found.list);
    return kept;
}

/* ---- from pods to targets ---- */

static void pod_targets_on_gone(void *arg)
{
    struct pod_link *l = arg;
    clients_remove(l->clients, l->file);
    free(l);
}

static int pod_targets_connect(struct pod_targets *p, const struct pod_entry *e, struct error *err)
{
    struct clients_dataplane d;
    if (clients_add(p->in->base, p->clients, p->in->settings, e->url, p->hooks, p->in->log, &d, err) != 0)
        return -1;
    struct pod_link *link = mem_alloc(sizeof(*link));
    *link = (struct pod_link){.clients = p->clients, .file = d.file};
    const struct target_addition a = {.driver = dataplane_driver_new(p->in->base, d.file, d.runtime),
                                      .pod = e->pod,
                                      .identity = e->identity,
                                      .gone = pod_targets_on_gone,
                                      .arg = link};
    if (targets_add(p->targets, &a, err) == 0)
        return 0;
    pod_targets_on_gone(link);
    return -1;
}

static void pod_targets_add_all(struct pod_targets *p)
{
    for (size_t i = 0; p->targets != NULL && i < p->pods.count; i++) {
        struct pod_entry *e = &p->pods.list[i];
        struct error err = {0};
        if (e->added)
            continue;
        e->added = pod_targets_connect(p, e, &err) == 0;
        if (e->added) {
            log_info(p->in->log, "HAProxy pod is a target now", log_str("pod", e->pod), log_str("target", e->url));
            continue;
        }
        log_error(p->in->log, "HAProxy pod cannot be a target; tried again", log_str("pod", e->pod),
                  log_str("target", e->url), log_str("error", err.message));
        timer_set(&p->compare, RETRY_MS);
    }
}

/* First those that are gone: another one may have their address. */
static void pod_targets_compare(void *arg)
{
    struct pod_targets *p = arg;
    if (p->follows.port == 0 || !source_status(&p->source).synced)
        return; /* what was there stays */
    size_t left_out;
    struct pod_list now = pod_targets_search(p, &left_out);
    for (size_t i = 0; i < p->pods.count; i++) {
        const struct pod_entry *was = &p->pods.list[i];
        struct pod_entry *same = NULL;
        for (size_t k = 0; k < now.count && same == NULL; k++)
            same = str_eq(now.list[k].identity, was->identity) ? &now.list[k] : NULL;
        if (same != NULL) {
            same->added = was->added;
        } else if (p->targets != NULL && was->added) {
            log_info(p->in->log, "HAProxy pod is no target any more", log_str("pod", was->pod),
                     log_str("target", was->url));
            targets_remove(p->targets, was->identity);
        }
    }
    if (left_out > p->left_out)
        log_warn(p->in->log, "HAProxy pods are left out: too many, or several at one address",
                 log_int("pods", (int64_t)left_out), log_int("most", POD_TARGETS_MAX));
    p->left_out = left_out;
    pod_list_fini(&p->pods);
    p->pods = now;
    pod_targets_add_all(p);
}

void pod_targets_lead(struct pod_targets *p, struct targets *t)
{
    if (p == NULL)
        return;
    p->targets = t;
    for (size_t i = 0; i < p->pods.count; i++)
        p->pods.list[i].added = false;
    pod_targets_add_all(p);
}

/* ---- what is followed ---- */

/* No request may be started where they come from. */
static void pod_targets_on_changed(void *arg, const char *cause, uint64_t received_us)
{
    struct pod_targets *p = arg;
    (void)cause, (void)received_us;
    timer_set(&p->compare, 0);
}

static int pod_targets_check(const struct pod_targets *p, const struct template_targets *t, struct error *err)
{
    const struct settings *s = p->in->settings;
    bool pods = settings_haproxies_are_pods(s);
    if (t->port == 0 && pods)
        return error_set(
            err, ERROR_INVALID,
            "it has no targets, and neither HAPROXY_DATAPLANE_URL nor HAPROXY_CONFIG_FILE is set: expected one "
            "of the three, where HAProxy is");
    if (t->port == 0)
        return 0;
    if (!pods)
        return error_set(err, ERROR_INVALID,
                         "it has targets (pods), and %s is set: expected one of the two, where HAProxy is",
                         s->local.file != NULL ? "HAPROXY_CONFIG_FILE" : "HAPROXY_DATAPLANE_URL");
    if (!t->https && s->spire_socket != NULL)
        return error_set(err, ERROR_INVALID,
                         "targets: scheme: expected https, as SPIRE_AGENT_SOCKET is set: without TLS no SPIFFE ID is "
                         "checked");
    if (t->namespace == NULL && p->namespace == NULL)
        return error_set(err, ERROR_INVALID, "targets: namespace: expected that of the pods; the daemon is in no pod");
    return 0;
}

static void pod_targets_drop(struct pod_targets *p)
{
    source_fini(&p->source);
    p->source = (struct source){0};
    mem_free_all(p->follows.namespace, p->follows.label_selector);
    p->follows = (struct template_targets){0};
}

int pod_targets_follow(struct pod_targets *p, const struct template_targets *t, struct error *err)
{
    if (p == NULL)
        return 0;
    if (pod_targets_check(p, t, err) != 0)
        return -1;
    const char *namespace = t->namespace != NULL ? t->namespace : p->namespace;
    struct template_targets *f = &p->follows;
    if (t->port == 0 || (f->port == t->port && f->https == t->https && str_eq(f->namespace, namespace) &&
                         str_eq(f->label_selector, t->label_selector)))
        return 0;
    pod_targets_drop(p);
    *f = (struct template_targets){.namespace = mem_strdup(namespace),
                                   .label_selector = mem_strdup(t->label_selector),
                                   .port = t->port,
                                   .https = t->https};
    p->source =
        (struct source){.scope = f->namespace, .metrics = p->in->metrics, .changed = pod_targets_on_changed, .arg = p};
    const struct informer_options options = {
        .resource = &kube_pods, .namespace = f->namespace, .label_selector = f->label_selector, .scope = f->namespace};
    source_init(&p->source, p->in->base, p->in->kube, p->in->log, &options, NULL);
    informer_start(p->source.informer);
    return 0;
}

bool pod_targets_ready(const struct pod_targets *p, struct checks *checks)
{
    if (p == NULL || p->follows.port == 0)
        return true;
    bool ready = source_ready(&p->source, true, checks);
    if (ready)
        checks_add(checks, p->pods.count > 0 && p->left_out == 0 ? CHECK_OK : CHECK_WARN, mem_strdup("HAProxy pods"),
                   mem_printf("%zu of %s in %s run%s", p->pods.count, p->follows.label_selector, p->follows.namespace,
                              p->left_out > 0 ? "; others are left out, see the log" : ""),
                   p->pods.count == 0 ? mem_strdup("see targets of the template set, and whether its pods run") : NULL);
    return ready;
}

/* ---- life ---- */

struct pod_targets *pod_targets_new(const struct daemon *in, struct clients *clients, const struct clients_hooks *hooks)
{
    const char *of_set = in->settings->template_from.namespace;
    struct pod_targets *p = mem_alloc(sizeof(*p));
    *p = (struct pod_targets){
        .in = in, .clients = clients, .hooks = hooks, .namespace = of_set != NULL ? of_set : in->access->namespace};
    timer_init(&p->compare, in->base, pod_targets_compare, p);
    return p;
}

void pod_targets_free(struct pod_targets *p)
{
    if (p == NULL)
        return;
    pod_targets_drop(p);
    pod_list_fini(&p->pods);
    timer_fini(&p->compare);
    free(p);
}

void pod_targets_poke(struct pod_targets *p)
{
    if (p == NULL || p->follows.port == 0)
        return;
    informer_poke(p->source.informer);
    timer_set(&p->compare, 0);
}

void pod_targets_stop(struct pod_targets *p)
{
    if (p == NULL)
        return;
    timer_cancel(&p->compare);
    if (p->follows.port != 0)
        informer_stop(p->source.informer);
}

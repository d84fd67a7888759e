#include "daemon/services/services_source.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "configuration/document.h"
#include "configuration/file_source.h"
#include "daemon/config/config_source.h"
#include "daemon/host_memory.h"
#include "daemon/quarantine.h"
#include "daemon/services/service_document.h"
#include "daemon/services/service_secrets.h"
#include "daemon/services/service_rows.h"
#include "daemon/source.h"
#include "daemon/template/remarks.h"
#include "haproxy/storage_files.h"
#include "host/timer.h"
#include "json/write.h"
#include "kube/resource.h"
#include "model/service_slices.h"
#include "report/checks.h"
#include "report/metric_table.h"
#include "services/plan.h"
#include "settings/settings.h"

#define REFRACTORY_MS 100
#define SECRETS_WAIT_MS 200
#define ORIGIN "annotated Services"

enum watched { SERVICES, NODES, SLICES, WATCHED };

struct services_source {
    struct services_source_options options;
    const struct daemon *in;
    const struct settings *settings;
    char *prefix_dot; /* "haproxy-kubefigurator." */
    struct annotated_prefixes prefixes;
    struct kube_resource resource;
    struct source watches[WATCHED];
    struct service_slices *of_slices;
    struct service_rows *rows;
    struct service_secrets *secrets;
    struct service_binds binds; /* of the last composition */
    struct file_source *file;   /* NULL: nothing stands before */
    struct buf before;          /* what it has */
    bool before_read;
    struct remarks *remarks;
    struct timer compose;
    uint64_t composed_ms; /* monotonic; 0: never */
    uint64_t began_us;    /* this time */
    char *given;          /* the text that was given last; NULL: none, or it failed since */
    char given_files[DIGEST_SHA256_HEX_BYTES];
    bool given_trial;
    char *problem; /* why it failed last; NULL: it did not */
    size_t count, served, refused;
    bool owners_recalled;
    struct service_owners owners; /* of the last composition; */
    struct service_owners next;   /* once that is accepted, where it gives something up; else empty */
    struct cache *kept; /* of annotated_services: as they were when they were accepted, of those that changed since */
    struct yyjson_mut_doc *report; /* service_report_new of the last composition */
};

/* ---- what is there ---- */

struct services_gathered {
    const void **list;
    size_t count;
    struct annotated_service *as_before; /* of the list those that are made as they were */
    size_t before_count;
    struct service_owners held; /* namespaces with a Service that is left out */
};

static struct cache *services_cache(const struct services_source *s)
{
    return s->watches[SERVICES].cache;
}

static void gather(void *arg, const void *object)
{
    struct services_gathered *g = arg;
    g->list[g->count++] = object;
}

static struct services_gathered gather_all(const struct services_source *s)
{
    const struct cache *c = services_cache(s);
    struct services_gathered g = {.list = mem_array(cache_count(c), sizeof(g.list[0]))};
    cache_each(c, gather, &g);
    return g;
}

static void gathered_fini(struct services_gathered *g)
{
    mem_free_all(g->list, g->as_before);
    service_owners_fini(&g->held);
}

/* Those that HAProxy refuses as they are get the annotations back that were accepted; their ports and endpoints are those of now. */
static void gather_before(const struct services_source *s, struct services_gathered *g)
{
    g->as_before = mem_array(cache_count(s->kept), sizeof(g->as_before[0]));
    for (size_t i = 0; i < g->count; i++) {
        const struct annotated_service *now = g->list[i], *was = cache_find(s->kept, now->service.name);
        const enum culprits_form form = culprits_form(quarantine_culprits(s->options.quarantine), now->service.name);
        if (form == CULPRITS_LEFT_OUT) {
            cleanup(mem_free_ptr) char *namespace = mem_strndup(now->service.name, strcspn(now->service.name, "/"));
            service_owners_set(&g->held, namespace, "");
        }
        if (form != CULPRITS_AS_BEFORE || was == NULL)
            continue;
        struct annotated_service *one = &g->as_before[g->before_count++];
        *one = *now;
        one->annotations = was->annotations;
        one->annotation_count = was->annotation_count;
        g->list[i] = one;
    }
}

/* ---- remarks ---- */

/* Takes the text. */
static struct remark remark_of(const struct service *of, char *text)
{
    const char *slash = strchr(of->name, '/');
    return (struct remark){.api_version = mem_strdup("v1"),
                           .kind = mem_strdup("Service"),
                           .namespace = slash != NULL ? mem_strndup(of->name, (size_t)(slash - of->name)) : NULL,
                           .name = mem_strdup(slash != NULL ? slash + 1 : of->name),
                           .uid = mem_strdup(of->uid),
                           .text = text};
}

static void report_remarks(struct services_source *s, const struct services_gathered *services,
                           const struct services_plan *p)
{
    struct remark *list = mem_array(p->remark_count + services->before_count, sizeof(list[0]));
    size_t count = 0;
    for (size_t i = 0; i < p->remark_count; i++) {
        list[count] = remark_of(&p->remarks[i].service->service, mem_strdup(p->remarks[i].text));
        list[count++].left_out = p->remarks[i].refused;
    }
    for (size_t i = 0; i < services->before_count; i++) {
        const struct service *of = &services->as_before[i].service;
        char *why = quarantine_why(s->options.quarantine, of->name, true);
        if (why == NULL) /* it is only suspected */
            continue;
        list[count] = remark_of(of, why);
        list[count++].as_before = true;
    }
    remarks_replace(s->remarks, list, count);
}

/* ---- from them to a configuration ---- */

static bool has_certificate(void *arg, const char *name)
{
    const struct services_source *s = arg;
    cleanup(mem_free_ptr) char *path = mem_printf("%s/%s", s->settings->services_certificates_dir, name);
    return access(path, F_OK) == 0;
}

static bool has_secret(void *arg, const char *name, const char *service, struct buf *why)
{
    const struct services_source *s = arg;
    if (s->settings->config_target == SETTINGS_TARGET_ETCD) { /* older consumers take the text alone, and no keys */
        buf_add(why, "keys are not published by etcd; name a file that lies on the load balancers");
        return false;
    }
    cleanup(mem_free_ptr) char *namespace = mem_strndup(service, strcspn(service, "/"));
    return service_secrets_use(s->secrets, name, namespace, why);
}

static bool is_taken(void *arg, const char *place, uint16_t port, struct buf *by)
{
    const struct services_source *s = arg;
    return service_binds_taken(&s->binds, place, port, by);
}

static bool is_withheld(void *arg, const char *service, char **ret_why)
{
    const struct services_source *s = arg;
    if (culprits_form(quarantine_culprits(s->options.quarantine), service) != CULPRITS_LEFT_OUT)
        return false;
    *ret_why = quarantine_why(s->options.quarantine, service, false);
    return true;
}

static struct services_rules services_rules_of(const struct services_source *s)
{
    const struct settings *settings = s->settings;
    return (struct services_rules){
        .options = {.cluster = settings->cluster_name,
                    .ports = settings->services_ports.list,
                    .port_count = settings->services_ports.count,
                    .addresses = settings->services_addresses.list,
                    .address_count = settings->services_addresses.count,
                    .secret_namespaces = settings->services_secret_namespaces.list,
                    .secret_namespace_count = settings->services_secret_namespaces.count},
        .prefix = settings->annotation_prefix,
        .incumbents = &s->owners,
        .namespaces = settings->services_namespaces.list,
        .namespace_count = settings->services_namespaces.count,
        .any_owner = settings->host_ownership == SETTINGS_HOSTS_OF_ANY,
        .shared_hosts = settings->shared_hosts.list,
        .shared_host_count = settings->shared_hosts.count,
        .unprotected = settings->foreign_protection == SETTINGS_FOREIGN_WARN,
        /* Those of a HAProxy elsewhere cannot be seen from here. */
        .has_certificate = settings->local.file != NULL ? has_certificate : NULL,
        .has_secret = has_secret,
        .is_taken = is_taken,
        .withheld = is_withheld,
        .arg = (void *)s,
    };
}

/* Reported once. */
static void services_fail(struct services_source *s, const char *why)
{
    struct error err = {0};
    if (str_eq(s->problem, why))
        return;
    free(s->problem);
    s->problem = mem_strdup(why);
    free(s->given);
    s->given = NULL;
    error_set(&err, ERROR_INVALID, ORIGIN ": %s", why);
    s->options.failed(s->options.arg, &err);
}

/* ---- what HAProxy refuses ---- */

/* "namespace/name" of the Secret that an annotation's value names. Allocates; NULL: it names none that it may name. */
static char *services_secret(const struct services_source *s, const char *service, const char *value)
{
    cleanup(buf_fini) struct buf why = {0};
    cleanup(mem_free_ptr) char *namespace = mem_strndup(service, strcspn(service, "/"));
    struct option_rules rules = services_rules_of(s).options;
    rules.namespace = namespace;
    return service_option_secret(value, &rules, &why);
}

/* Of what a Service says of its ports, and of the Secrets that it names. */
static uint64_t services_hash(const struct services_source *s, const struct annotated_service *of)
{
    uint64_t h = HASH_START;
    for (size_t i = 0; i < of->annotation_count; i++) {
        const char *value = of->annotations[i].value;
        h = hash_string(hash_string(h, of->annotations[i].name), value);
        cleanup(mem_free_ptr) char *key = services_secret(s, of->service.name, value);
        if (key == NULL)
            continue;
        uint64_t of_secret = service_secrets_hash(s->secrets, key);
        h = hash_bytes(h, (const char *)&of_secret, sizeof(of_secret));
    }
    for (size_t i = 0; i < of->service.port_count; i++) {
        const struct service_port *p = &of->service.ports[i];
        cleanup(mem_free_ptr) char *text = mem_printf("%s %u %u", p->name, p->number, p->node_port);
        h = hash_string(h, text);
    }
    return h;
}

static void each_secret(const struct services_source *s, const struct annotated_service *of,
                        void (*fn)(const struct services_source *s, const char *secret, const char *service))
{
    for (size_t i = 0; i < of->annotation_count; i++) {
        cleanup(mem_free_ptr) char *key = services_secret(s, of->service.name, of->annotations[i].value);
        if (key != NULL)
            fn(s, key, of->service.name);
    }
}

static void keep_secret(const struct services_source *s, const char *secret, const char *service)
{
    (void)service;
    service_secrets_keep(s->secrets, secret);
}

static void services_see(const struct services_source *s, const struct annotated_service *of)
{
    const char *name = of->service.name;
    if (!quarantine_see(s->options.quarantine, name, services_hash(s, of)))
        return;
    const struct annotated_service *was = cache_past(services_cache(s), name);
    was = was != NULL ? was : of;
    each_secret(s, was, keep_secret);
    cache_put_copy(s->kept, was);
}

/* What a last good form needs is watched on. */
static void use_kept_secret(const struct services_source *s, const char *secret, const char *service)
{
    cleanup(buf_fini) struct buf why = {0};
    (void)has_secret((void *)(uintptr_t)s, secret, service, &why);
    service_secrets_hold(s->secrets, secret);
}

static void use_kept_secrets(void *arg, const void *object)
{
    each_secret(arg, object, use_kept_secret);
}

static void show_secret(const struct services_source *s, const char *secret, const char *service)
{
    (void)service;
    service_secrets_show(s->secrets, secret);
}

static void show_kept_secret(const struct services_source *s, const char *secret, const char *service)
{
    size_t len = strcspn(service, "/") + 1;
    service_secrets_show_kept(s->secrets, secret, strncmp(secret, service, len) == 0);
}

/* A Secret that Services of several namespaces may name is as it was before for all of them, or for none. */
static void show_secrets(const struct services_source *s, const struct services_gathered *g)
{
    for (size_t i = 0; i < g->count; i++) {
        const struct annotated_service *one = g->list[i];
        if (culprits_form(quarantine_culprits(s->options.quarantine), one->service.name) == CULPRITS_AS_IT_IS)
            each_secret(s, one, show_secret);
    }
    for (size_t i = 0; i < g->before_count; i++)
        each_secret(s, &g->as_before[i], show_kept_secret);
}

/* Last good forms that are none any more. */
struct services_stale {
    const struct quarantine *q;
    const char **names;
    size_t count;
};

static void gather_stale(void *arg, const void *object)
{
    const struct annotated_service *of = object;
    struct services_stale *stale = arg;
    if (!culprits_has_former(quarantine_culprits(stale->q), of->service.name))
        stale->names[stale->count++] = of->service.name;
}

/* Whether any is left out. What only a load can refuse is a listener: who brings one is suspected first. */
static bool services_search(struct services_source *s, const struct services_gathered *services,
                            const struct services_plan *p)
{
    struct quarantine *q = s->options.quarantine;
    quarantine_begin(q);
    for (size_t i = 0; i < p->route_count; i++) {
        cleanup(mem_free_ptr) char *at = services_place(&p->routes[i]);
        if (!p->routes[i].refused && service_owners_find(&s->owners, at) == NULL)
            services_see(s, p->routes[i].service);
    }
    for (size_t i = 0; i < services->count; i++)
        services_see(s, services->list[i]);
    quarantine_end(q);
    cache_forget_past(services_cache(s));
    service_secrets_forget_past(s->secrets);
    struct services_stale stale = {.q = q, .names = mem_array(cache_count(s->kept), sizeof(stale.names[0]))};
    cache_each(s->kept, gather_stale, &stale);
    for (size_t i = 0; i < stale.count; i++)
        (void)cache_delete(s->kept, stale.names[i]);
    free(stale.names);
    return culprits_leaves_any_out(quarantine_culprits(q));
}

static void services_make(struct services_source *s, const struct services_plan *p)
{
    cleanup(buf_fini) struct buf text = {0};
    cleanup(storage_files_fini) struct storage_files files = {0};
    char hash[DIGEST_SHA256_HEX_BYTES];
    const struct service_document document = {
        .settings = s->settings, .secrets = s->secrets, .rows = s->rows, .now_ms = s->composed_ms};
    buf_add(&text, buf_str(&s->before));
    if (service_document_make(&document, p, &files, &text) != 0) {
        static const char why[] =
            "their host names, paths and certificates are more than the files of a HAProxy may have; "
            "what runs stays";
        services_fail(s, why);
        quarantine_refuse(s->options.quarantine, why);
        return;
    }
    /* The operator's default certificate is in each document of a search, also in one without a port that shows it: no
     * object is to blame for it. */
    const char *certificate = s->settings->services_default_certificate;
    bool shown = certificate == NULL || !culprits_leaves_any_out(quarantine_culprits(s->options.quarantine));
    for (size_t i = 0; i < p->frontend_count && !shown; i++)
        shown = p->frontends[i].served->options.tls && !p->frontends[i].served->redirect;
    if (!shown)
        buf_printf(&text,
                   "backend k8s-service_default\n    server certificate 127.0.0.1:1 ssl verify none crt %s disabled\n",
                   certificate);
    log_debug(s->in->log, "configuration made of annotated Services", log_int("ports", s->served),
              log_int("computed", service_rows_view(s->rows).computed),
              log_us_as_ms("took_ms", clock_mono_us() - s->began_us));
    storage_files_hash(&files, hash);
    free(s->problem);
    s->problem = NULL;
    bool trial = culprits_trial(quarantine_culprits(s->options.quarantine));
    if (str_eq(s->given, buf_str(&text)) && str_eq(s->given_files, hash) && s->given_trial == trial) {
        quarantine_gives(s->options.quarantine, true);
        return;
    }
    s->given_trial = trial;
    free(s->given);
    s->given = mem_strdup(buf_str(&text));
    memcpy(s->given_files, hash, sizeof(hash));
    if (s->options.made(s->options.arg, ORIGIN, buf_str(&text), text.len, &files) == 0)
        return;
    free(s->given);
    s->given = NULL;
}

/* What was given up goes now. */
static void services_settle_owners(void *source)
{
    struct services_source *s = source;
    cleanup(buf_fini) struct buf before = {0}, now = {0};
    if (s->next.all == NULL || !quarantine_settled(s->options.quarantine))
        return;
    service_owners_print(&s->owners, &before);
    service_owners_print(&s->next, &now);
    service_owners_fini(&s->owners);
    s->owners = s->next;
    s->next = (struct service_owners){0};
    host_memory_keep(s->options.hosts, buf_str(&before), buf_str(&now));
}

/* Takes those of a plan. What a Service gives up by a change stays its own until that is accepted. */
static void services_keep_owners(struct services_source *s, struct service_owners *of)
{
    cleanup(buf_fini) struct buf before = {0}, now = {0};
    service_owners_print(&s->owners, &before);
    service_owners_print(of, &now);
    service_owners_fini(&s->next);
    if (culprits_may_go_back(quarantine_culprits(s->options.quarantine))) {
        s->next = *of;
        service_owners_read(&s->owners, buf_str(&now));
        service_owners_read(&s->owners, buf_str(&before));
        buf_clear(&now);
        service_owners_print(&s->owners, &now);
    } else {
        service_owners_fini(&s->owners);
        s->owners = *of;
    }
    *of = (struct service_owners){0};
    host_memory_keep(s->options.hosts, buf_str(&before), buf_str(&now));
}

static void services_recall_owners(struct services_source *s)
{
    cleanup(mem_free_ptr) char *owners = host_memory_recall(s->options.hosts);
    service_owners_fini(&s->next);
    service_owners_fini(&s->owners);
    service_owners_read(&s->owners, owners);
    s->owners_recalled = true;
}

static void services_compose(void *arg)
{
    struct services_source *s = arg;
    const struct settings *settings = s->settings;
    for (size_t i = 0; i < WATCHED; i++)
        if (!source_status(&s->watches[i]).synced)
            return;
    if ((s->file != NULL && !s->before_read) || !host_memory_known(s->options.hosts))
        return;
    uint64_t hold_ms = quarantine_hold_ms(s->options.quarantine);
    if (hold_ms > 0) {
        timer_set_sooner(&s->compose, hold_ms);
        return;
    }
    if (!s->owners_recalled)
        services_recall_owners(s);
    s->composed_ms = clock_mono_ms();
    s->began_us = clock_mono_us();
    services_settle_owners(s);
    struct services_gathered services = gather_all(s);
    struct services_rules rules = services_rules_of(s);
    struct services_plan plan;
    service_binds_read(&s->binds, settings, &s->before);
    service_secrets_begin(s->secrets);
    services_plan_make((const struct annotated_service *const *)services.list, services.count, &rules, &plan);
    cache_each(s->kept, use_kept_secrets, s);
    service_secrets_end(s->secrets);
    if (!service_secrets_settled(
            s->secrets)) { /* it calls back when they are read; that they cannot be is noticed so */
        services_plan_fini(&plan);
        gathered_fini(&services);
        timer_set_sooner(&s->compose, SECRETS_WAIT_MS);
        return;
    }
    if (services_search(s, &services, &plan)) {
        services_plan_fini(&plan);
        gather_before(s, &services);
        show_secrets(s, &services);
        rules.held = &services.held;
        services_plan_make((const struct annotated_service *const *)services.list, services.count, &rules, &plan);
    }
    report_remarks(s, &services, &plan);
    s->count = services.count;
    s->served = s->refused = 0;
    for (size_t i = 0; i < plan.route_count; i++)
        s->served += !plan.routes[i].refused && !plan.routes[i].redirect;
    for (size_t i = 0; i < plan.remark_count; i++)
        s->refused += plan.remarks[i].refused;
    json_free(s->report);
    s->report = service_report_new(&plan);
    if (s->served > 0 || settings->allow_empty || culprits_trial(quarantine_culprits(s->options.quarantine))) {
        services_make(s, &plan);
    } else {
        cleanup(mem_free_ptr) char *why =
            mem_printf("%s the label %s (SERVICES_LABEL)%s; what runs stays (ALLOW_EMPTY=true: nothing is served then)",
                       services.count == 0 ? "no Service has" : "none of the Services with", settings->services_label,
                       services.count == 0 ? "" : " can be served, see the log or their Events");
        services_fail(s, why);
        quarantine_keep_none(s->options.quarantine);
    }
    services_keep_owners(s, &plan.owners);
    services_plan_fini(&plan);
    gathered_fini(&services);
    uint64_t due_ms = service_rows_due_ms(s->rows), now_ms = clock_mono_ms();
    if (due_ms != 0)
        timer_set_sooner(&s->compose, due_ms > now_ms ? due_ms - now_ms : 0);
    timer_set_sooner(&s->compose, settings->resync_period_ms); /* certificates come and go */
}

/* ---- what comes ---- */

static void services_is_changed(void *source)
{
    struct services_source *s = source;
    uint64_t now = clock_mono_ms(), free_at = s->composed_ms + REFRACTORY_MS;
    timer_set_sooner(&s->compose, s->composed_ms == 0 || now >= free_at ? 0 : free_at - now);
}

/* From inside libcurl. */
static void services_on_object(void *arg, const char *cause, uint64_t received_us)
{
    struct services_source *s = arg;
    (void)received_us;
    log_debug(s->in->log, "objects of annotated Services changed", log_str("cause", cause));
    services_is_changed(s);
}

static bool take_slices(void *arg, const struct sink_change *change, size_t *ret_count)
{
    struct service_slices *to = arg;
    switch (change->step) {
    case SINK_BEGIN:
        service_slices_begin(to);
        return false;
    case SINK_PUT:
        return service_slices_put(to, change->object);
    case SINK_REMOVE:
        return service_slices_delete(to, change->name);
    case SINK_KEEP:
        service_slices_keep(to, change->name);
        return false;
    case SINK_ABORT:
        service_slices_abort(to);
        return false;
    case SINK_END:
        return service_slices_end(to, ret_count);
    case SINK_FORGET:
        service_slices_forget(to);
        return false;
    }
    return false;
}

static void services_on_nodes(void *arg, const char *cause, uint64_t received_us)
{
    struct services_source *s = arg;
    service_rows_nodes_changed(s->rows);
    services_on_object(s, cause, received_us);
}

static void services_on_owners(void *arg)
{
    struct services_source *s = arg;
    s->owners_recalled = false;
    services_is_changed(s);
}

static void services_on_file(void *arg, const char *bytes, size_t len, const char *hash, struct storage_files *files)
{
    struct services_source *s = arg;
    (void)hash, (void)files;
    buf_clear(&s->before);
    buf_addn(&s->before, bytes, len);
    s->before_read = true;
    services_is_changed(s);
}

static void services_on_file_failed(void *arg, const struct error *err)
{
    struct services_source *s = arg;
    free(s->given);
    s->given = NULL; /* it is given again once the file can be read */
    s->options.failed(s->options.arg, err);
}

/* ---- life ---- */

static void services_source_free(void *source)
{
    struct services_source *s = source;
    service_rows_free(s->rows);
    for (size_t i = 0; i < WATCHED; i++)
        source_fini(&s->watches[i]);
    service_slices_free(s->of_slices);
    file_source_free(s->file);
    service_secrets_free(s->secrets);
    service_binds_fini(&s->binds);
    json_free(s->report);
    remarks_free(s->remarks);
    service_owners_fini(&s->owners);
    service_owners_fini(&s->next);
    cache_free(s->kept);
    timer_fini(&s->compose);
    buf_fini(&s->before);
    mem_free_all(s->prefix_dot, s->given, s->problem, s);
}

/* What runs, where its file is on this machine. Where it cannot be read, or is not this program's, nothing is known of before. */
static void services_source_start(void *source)
{
    struct services_source *s = source;
    cleanup(buf_fini) struct buf text;
    buf_init(&text, DOCUMENT_MAX_BYTES);
    if (s->settings->local.file != NULL && buf_read_file(&text, s->settings->local.file) == 0)
        service_rows_recall(s->rows, buf_str(&text));
    if (s->file != NULL)
        file_source_start(s->file);
    for (size_t i = 0; i < WATCHED; i++)
        informer_start(s->watches[i].informer);
}

static void services_source_stop(void *source)
{
    struct services_source *s = source;
    timer_cancel(&s->compose);
    for (size_t i = 0; i < WATCHED; i++)
        informer_stop(s->watches[i].informer);
    service_secrets_stop(s->secrets);
}

static void services_source_poke(void *source)
{
    struct services_source *s = source;
    if (s->file != NULL)
        file_source_poke(s->file);
    for (size_t i = 0; i < WATCHED; i++)
        informer_poke(s->watches[i].informer);
    service_secrets_poke(s->secrets);
    services_is_changed(s);
}

struct services_source *services_source_new(const struct services_source_options *options, struct error *err)
{
    static const struct file_source_callbacks of_file = {.changed = services_on_file,
                                                         .failed = services_on_file_failed};
    const struct daemon *in = options->in;
    const struct settings *settings = in->settings;
    const struct file_source_options file = {.path = settings->config_file,
                                             .max_bytes = DOCUMENT_MAX_BYTES,
                                             .reread_ms = settings->resync_period_ms,
                                             .once = !settings->config_file_watch};
    struct services_source *s = mem_alloc(sizeof(*s));
    *s = (struct services_source){.options = *options, .in = in, .settings = settings};
    if (settings->config_file != NULL && (s->file = file_source_new(in->base, &file, &of_file, s, err)) == NULL) {
        free(s);
        return NULL;
    }
    timer_init(&s->compose, in->base, services_compose, s);
    s->remarks = remarks_new(REMARKS_OF_ANNOTATIONS, in->log);
    s->secrets = service_secrets_new(in, options->known, services_is_changed, s);
    s->prefix_dot = mem_printf("%s.", settings->annotation_prefix);
    s->prefixes = (struct annotated_prefixes){{SERVICES_OWN_PREFIX, s->prefix_dot}};
    s->resource = kube_annotated_services(&s->prefixes);
    s->of_slices = service_slices_new();
    const struct informer_sink sink = {.take = take_slices, .arg = s->of_slices};
    const struct informer_options watches[WATCHED] = {
        [SERVICES] = {.resource = &s->resource, .label_selector = settings->services_label},
        [NODES] = {.resource = &kube_nodes, .label_selector = settings->nodes_watched},
        [SLICES] = {.resource = &kube_service_slices}};
    for (size_t i = 0; i < WATCHED; i++) {
        s->watches[i] = (struct source){
            .metrics = in->metrics, .changed = i == NODES ? services_on_nodes : services_on_object, .arg = s};
        source_init(&s->watches[i], in->base, in->kube, in->log, &watches[i], i == SLICES ? &sink : NULL);
    }
    s->kept = cache_new(&annotated_service_record);
    s->report = service_report_new(&(struct services_plan){0});
    if (options->quarantine != NULL)
        cache_keep_past(services_cache(s));
    quarantine_listen(options->quarantine, services_is_changed, services_settle_owners, s);
    host_memory_listen(options->hosts, services_on_owners, s);
    s->rows = service_rows_new(settings, s->watches[NODES].cache, s->of_slices, in->log);
    return s;
}

static void services_source_lead(void *source, bool leads, struct events *events)
{
    (void)leads;
    remarks_tell_to(((struct services_source *)source)->remarks, events);
}

static void services_source_measure(const void *source)
{
    const struct services_source *s = source;
    struct metric *ports = s->in->metrics->annotated_ports;
    const struct service_rows_view rows = service_rows_view(s->rows);
    metric_set(ports, (double)s->served, "served", NULL);
    metric_set(ports, (double)s->refused, "refused", NULL);
    metric_set(ports, (double)rows.delayed, "removal_delayed", NULL);
    metric_set(ports, (double)rows.kept, "no_endpoint", NULL);
}

static bool services_source_ready(const void *source, struct checks *checks)
{
    const struct services_source *s = source;
    bool all = true;
    for (size_t i = 0; i < WATCHED; i++)
        all = source_ready(&s->watches[i], true, checks) && all;
    all = service_secrets_ready(s->secrets, checks) && all;
    service_rows_check(s->rows, checks);
    return all;
}

const struct source_ops services_source_ops = {.free = services_source_free,
                                               .start = services_source_start,
                                               .stop = services_source_stop,
                                               .poke = services_source_poke,
                                               .lead = services_source_lead,
                                               .measure = services_source_measure,
                                               .ready = services_source_ready};

/* ---- for people ---- */

struct services_view services_source_view(const struct services_source *s)
{
    const struct service_rows_view rows = service_rows_view(s->rows);
    return (struct services_view){.services = s->count,
                                  .served = s->served,
                                  .refused = s->refused,
                                  .report = s->report,
                                  .remarks = s->remarks,
                                  .problem = s->problem,
                                  .no_endpoint = rows.kept,
                                  .delayed = rows.delayed};
}

bool services_source_explain(const struct services_source *s, const char *name, struct buf *out)
{
    const struct annotated_service *found = NULL;
    struct services_gathered services = gather_all(s);
    gather_before(s, &services);
    for (size_t i = 0; i < services.count && found == NULL; i++) {
        const struct annotated_service *one = services.list[i];
        found = str_eq(one->service.name, name) ? one : NULL;
    }
    if (found == NULL) {
        gathered_fini(&services);
        return false;
    }
    struct services_rules rules = services_rules_of(s);
    struct services_plan plan;
    rules.held = &services.held;
    services_plan_make((const struct annotated_service *const *)services.list, services.count, &rules, &plan);
    services_explain(&plan, found, &rules, out);
    for (size_t i = 0; i < plan.route_count; i++)
        if (plan.routes[i].service == found && !plan.routes[i].refused && !plan.routes[i].redirect)
            service_rows_explain(s->rows, &plan.routes[i], out);
    services_plan_fini(&plan);
    gathered_fini(&services);
    return true;
}

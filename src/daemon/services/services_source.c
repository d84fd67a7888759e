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
#include "daemon/quarantine.h"
#include "daemon/services/service_binds.h"
#include "daemon/services/service_files.h"
#include "daemon/services/service_report.h"
#include "daemon/services/service_secrets.h"
#include "daemon/services/service_rows.h"
#include "daemon/services/slices_sink.h"
#include "daemon/source.h"
#include "daemon/state_text.h"
#include "daemon/template/remarks.h"
#include "haproxy/storage_files.h"
#include "host/timer.h"
#include "kube/client.h"
#include "kube/resource.h"
#include "model/service_slices.h"
#include "report/checks.h"
#include "report/telemetry.h"
#include "services/plan.h"
#include "settings/settings.h"

#define REFRACTORY_MS 100
#define SECRETS_WAIT_MS 200
#define ORIGIN "annotated Services"
#define HEADER "# By haproxy-k8s-sync, of annotated Services: what is changed here is lost.\n"
#define NOTHING "userlist k8s-service_none\n" /* a configuration has a section */

struct services_source {
    struct services_source_options options;
    struct services_source_callbacks callbacks;
    void *arg;
    char *prefix_dot; /* "haproxy-kubefigurator." */
    struct annotated_prefixes prefixes;
    struct kube_resource resource;
    struct source services, nodes, slices;
    struct service_slices *of_slices;
    struct service_rows *rows;
    struct kube_client_listener listener;
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
    char *said; /* why it failed last; NULL: it did not */
    size_t count, served, refused;
    struct service_owners owners; /* of the last composition; */
    struct service_owners next;   /* once that is accepted, where it gives something up; else empty */
    struct cache *kept; /* of annotated_services: as they were when they were accepted, of those that changed since */
    struct service_report report;
};

/* ---- what is there ---- */

struct services_gathered {
    const void **list;
    size_t count;
    struct annotated_service *as_before; /* of the list those that are made as they were */
    size_t before_count;
    struct service_owners held; /* namespaces with a Service that is left out */
};

static void gather(void *arg, const void *object)
{
    struct services_gathered *g = arg;
    g->list[g->count++] = object;
}

static struct services_gathered gather_all(const struct services_source *s)
{
    const struct cache *c = s->services.cache;
    struct services_gathered g = {.list = mem_array(cache_count(c), sizeof(g.list[0]))};
    cache_each(c, gather, &g);
    return g;
}

static void gathered_fini(struct services_gathered *g)
{
    free(g->list);
    free(g->as_before);
    service_owners_fini(&g->held);
}

/* Those that HAProxy refuses as they are get the annotations back that were accepted; their ports and endpoints are those of now. */
static void gather_before(const struct services_source *s, struct services_gathered *g)
{
    g->as_before = mem_array(cache_count(s->kept), sizeof(g->as_before[0]));
    for (size_t i = 0; i < g->count; i++) {
        const struct annotated_service *now = g->list[i], *was = cache_find(s->kept, now->service.name);
        const enum culprits_form form = quarantine_form(s->options.quarantine, now->service.name);
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

/* Last good forms that are none any more. */
struct services_stale {
    const struct quarantine *q;
    const char **names;
    size_t count;
};

/* What a print asks for. */
struct services_asked {
    struct service_rows *rows;
    const struct service_paths *paths;
};

static void print_servers(void *arg, const struct service_route *r, struct buf *out)
{
    const struct services_asked *a = arg;
    service_rows_print(a->rows, r, out);
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

static void tell_remarks(struct services_source *s, const struct services_gathered *services,
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

static bool services_synced(const struct services_source *s)
{
    return source_status(&s->services).synced && source_status(&s->nodes).synced && source_status(&s->slices).synced &&
           (s->file == NULL || s->before_read);
}

static bool has_certificate(void *arg, const char *name)
{
    const struct services_source *s = arg;
    cleanup(mem_free_ptr) char *path = mem_printf("%s/%s", s->options.settings->services_certificates_dir, name);
    return access(path, F_OK) == 0;
}

/* Older consumers take the text alone, and no keys. */
static bool services_are_published(const struct services_source *s)
{
    return s->options.settings->config_target == SETTINGS_TARGET_ETCD;
}

static bool has_secret(void *arg, const char *name, const char *service, struct buf *why)
{
    const struct services_source *s = arg;
    if (services_are_published(s)) {
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
    if (quarantine_form(s->options.quarantine, service) != CULPRITS_LEFT_OUT)
        return false;
    *ret_why = quarantine_why(s->options.quarantine, service, false);
    return true;
}

static struct services_rules services_rules_of(const struct services_source *s)
{
    const struct settings *settings = s->options.settings;
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

static char *path_of_secret(void *arg, const char *name)
{
    const struct services_asked *a = arg;
    return service_paths_secret(a->paths, name);
}

/* The operator's default certificate is in each document of a search, also in one without a port that shows it: no object is to blame for it. */
static void services_print_default(const struct services_source *s, const struct services_plan *p, struct buf *text)
{
    const char *certificate = s->options.settings->services_default_certificate;
    bool shown = certificate == NULL || !quarantine_leaves_any_out(s->options.quarantine);
    for (size_t i = 0; i < p->frontend_count && !shown; i++)
        shown = p->frontends[i].served->options.tls && !p->frontends[i].served->redirect;
    if (!shown)
        buf_printf(text,
                   "backend k8s-service_default\n    server certificate 127.0.0.1:1 ssl verify none crt %s disabled\n",
                   certificate);
}

/* haproxy.cfg and its files; the certificates of Secrets first, whose paths others have. */
static int services_make_all(const struct services_source *s, const struct services_plan *p,
                             struct storage_files *files, struct buf *text)
{
    const struct settings *settings = s->options.settings;
    cleanup(service_paths_fini) struct service_paths paths;
    service_paths_init(&paths, &settings->local, files);
    struct services_asked asked = {.rows = s->rows, .paths = &paths};
    const struct services_print how = {.certificates = settings->services_certificates_dir,
                                       .maps = services_are_published(s) ? NULL : paths.folders[STORAGE_MAP],
                                       .lists = paths.folders[STORAGE_GENERAL],
                                       .default_certificate = settings->services_default_certificate,
                                       .trusted = settings->trusted_proxies.list,
                                       .trusted_count = settings->trusted_proxies.count,
                                       .secret = path_of_secret,
                                       .servers = print_servers,
                                       .arg = &asked};
    int status = service_secrets_add_files(s->secrets, p, files);
    if (status == 0)
        status = service_files_add(files, p, &how);
    if (status == 0) {
        buf_add(text, buf_str(&s->before));
        if (text->len > 0 && text->data[text->len - 1] != '\n')
            buf_add(text, "\n");
        buf_add(text, s->served == 0 && s->before.len == 0 ? HEADER NOTHING : HEADER);
        service_rows_begin(s->rows, s->composed_ms);
        services_plan_print(p, &how, text);
        services_print_default(s, p, text);
        service_rows_end(s->rows);
        log_debug(s->options.log, "configuration made of annotated Services", log_int("ports", s->served),
                  log_int("computed", service_rows_view(s->rows).computed),
                  log_us_as_ms("took_ms", clock_mono_us() - s->began_us));
    }
    return status;
}

/* Told once. */
static void services_fail(struct services_source *s, const char *why)
{
    struct error err = {0};
    if (s->said != NULL && str_eq(s->said, why))
        return;
    free(s->said);
    s->said = mem_strdup(why);
    free(s->given);
    s->given = NULL;
    error_set(&err, ERROR_INVALID, ORIGIN ": %s", why);
    s->callbacks.failed(s->arg, &err);
}

/* ---- what HAProxy refuses ---- */

/* "namespace/name" of the Secret that an annotation's value names. Allocates; NULL: it names none. */
static char *services_secret(const char *service, const char *value)
{
    static const char by_secret[] = "secret:";
    const char *secret = value + strlen(by_secret);
    if (!str_has_prefix(value, by_secret))
        return NULL;
    return strchr(secret, '/') != NULL ? mem_strdup(secret)
                                       : mem_printf("%.*s/%s", (int)strcspn(service, "/"), service, secret);
}

/* Of what a Service says of its ports, and of the Secrets that it names. */
static uint64_t services_hash(const struct services_source *s, const struct annotated_service *of)
{
    uint64_t h = HASH_START;
    for (size_t i = 0; i < of->annotation_count; i++) {
        const char *value = of->annotations[i].value;
        h = hash_string(hash_string(h, of->annotations[i].name), value);
        cleanup(mem_free_ptr) char *key = services_secret(of->service.name, value);
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
        cleanup(mem_free_ptr) char *key = services_secret(of->service.name, of->annotations[i].value);
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
    const struct annotated_service *was = cache_past(s->services.cache, name);
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

static void show_kept_secret(const struct services_source *s, const char *secret, const char *service)
{
    (void)service;
    service_secrets_show_kept(s->secrets, secret);
}

static void gather_stale(void *arg, const void *object)
{
    const struct annotated_service *of = object;
    struct services_stale *stale = arg;
    if (!quarantine_has_former(stale->q, of->service.name))
        stale->names[stale->count++] = of->service.name;
}

static void services_drop_kept(struct services_source *s)
{
    struct services_stale stale = {.q = s->options.quarantine,
                                   .names = mem_array(cache_count(s->kept), sizeof(stale.names[0]))};
    cache_each(s->kept, gather_stale, &stale);
    for (size_t i = 0; i < stale.count; i++)
        (void)cache_delete(s->kept, stale.names[i]);
    free(stale.names);
}

/* Whether any is left out. What only a load can refuse is a listener: who brings one is suspected first. */
static bool services_search(struct services_source *s, const struct services_gathered *services,
                            const struct services_plan *p)
{
    quarantine_begin(s->options.quarantine);
    for (size_t i = 0; i < p->route_count; i++) {
        cleanup(mem_free_ptr) char *at = services_place(&p->routes[i]);
        if (!p->routes[i].refused && service_owners_find(&s->owners, at) == NULL)
            services_see(s, p->routes[i].service);
    }
    for (size_t i = 0; i < services->count; i++)
        services_see(s, services->list[i]);
    quarantine_end(s->options.quarantine);
    cache_forget_past(s->services.cache);
    service_secrets_forget_past(s->secrets);
    services_drop_kept(s);
    return quarantine_leaves_any_out(s->options.quarantine);
}

static void services_make(struct services_source *s, const struct services_plan *p)
{
    cleanup(buf_fini) struct buf text = {0};
    cleanup(storage_files_fini) struct storage_files files = {0};
    char hash[DIGEST_SHA256_HEX_BYTES];
    if (services_make_all(s, p, &files, &text) != 0) {
        static const char why[] =
            "their host names, paths and certificates are more than the files of a HAProxy may have; "
            "what runs stays";
        services_fail(s, why);
        quarantine_refuse(s->options.quarantine, why);
        return;
    }
    storage_files_hash(&files, hash);
    free(s->said);
    s->said = NULL;
    bool trial = quarantine_trial(s->options.quarantine);
    if (s->given != NULL && str_eq(s->given, buf_str(&text)) && str_eq(s->given_files, hash) &&
        s->given_trial == trial) {
        quarantine_gives(s->options.quarantine, true);
        return;
    }
    s->given_trial = trial;
    free(s->given);
    s->given = mem_strdup(buf_str(&text));
    memcpy(s->given_files, hash, sizeof(hash));
    if (s->callbacks.made(s->arg, ORIGIN, buf_str(&text), text.len, &files) == 0)
        return;
    free(s->given);
    s->given = NULL;
}

/* Takes those of a plan. What a Service gives up by a change stays its own until that is accepted. */
static void services_keep_owners(struct services_source *s, struct service_owners *of)
{
    cleanup(buf_fini) struct buf before = {0}, now = {0};
    service_owners_print(&s->owners, &before);
    service_owners_print(of, &now);
    service_owners_fini(&s->next);
    if (quarantine_may_go_back(s->options.quarantine)) {
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
    state_text_keep(s->options.settings->state_dir, s->options.state_fd, STATE_HOST_OWNERS, buf_str(&before),
                    buf_str(&now), s->options.log);
}

static void services_compose(void *arg)
{
    struct services_source *s = arg;
    const struct settings *settings = s->options.settings;
    if (!services_synced(s))
        return;
    uint64_t hold_ms = quarantine_hold_ms(s->options.quarantine);
    if (hold_ms > 0) {
        timer_set_sooner(&s->compose, hold_ms);
        return;
    }
    s->composed_ms = clock_mono_ms();
    s->began_us = clock_mono_us();
    if (s->next.all != NULL && quarantine_settled(s->options.quarantine)) {
        service_owners_fini(&s->owners);
        s->owners = s->next;
        s->next = (struct service_owners){0};
    }
    struct services_gathered services = gather_all(s);
    struct services_rules rules = services_rules_of(s);
    struct services_plan plan;
    service_binds_read(&s->binds, settings, &s->before);
    service_secrets_begin(s->secrets);
    services_plan_make((const struct annotated_service *const *)services.list, services.count, &rules, &plan);
    cache_each(s->kept, use_kept_secrets, s);
    service_secrets_end(s->secrets);
    if (!service_secrets_settled(s->secrets)) { /* it tells when they are read; that they cannot be is seen so */
        services_plan_fini(&plan);
        gathered_fini(&services);
        timer_set_sooner(&s->compose, SECRETS_WAIT_MS);
        return;
    }
    if (services_search(s, &services, &plan)) {
        services_plan_fini(&plan);
        gather_before(s, &services);
        for (size_t i = 0; i < services.before_count; i++)
            each_secret(s, &services.as_before[i], show_kept_secret);
        rules.held = &services.held;
        services_plan_make((const struct annotated_service *const *)services.list, services.count, &rules, &plan);
    }
    tell_remarks(s, &services, &plan);
    s->count = services.count;
    s->served = s->refused = 0;
    for (size_t i = 0; i < plan.route_count; i++)
        s->served += !plan.routes[i].refused && !plan.routes[i].redirect;
    for (size_t i = 0; i < plan.remark_count; i++)
        s->refused += plan.remarks[i].refused;
    service_report_take(&s->report, &plan);
    if (s->served > 0 || settings->allow_empty || quarantine_trial(s->options.quarantine)) {
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

static void services_is_changed(struct services_source *s)
{
    uint64_t now = clock_mono_ms(), free_at = s->composed_ms + REFRACTORY_MS;
    timer_set_sooner(&s->compose, s->composed_ms == 0 || now >= free_at ? 0 : free_at - now);
}

/* ---- what comes ---- */

/* From inside libcurl. */
static void services_on_object(void *arg, const char *cause)
{
    struct services_source *s = arg;
    log_debug(s->options.log, "objects of annotated Services changed", log_str("cause", cause));
    services_is_changed(s);
}

static void services_on_changed(void *arg, const char *cause, uint64_t received_us)
{
    (void)received_us;
    services_on_object(arg, cause);
}

static void services_on_secret(void *arg)
{
    services_is_changed(arg);
}

static void services_on_nodes(void *arg, const char *cause, uint64_t received_us)
{
    struct services_source *s = arg;
    (void)received_us;
    service_rows_nodes_changed(s->rows);
    services_on_object(s, cause);
}

static void services_on_moved(void *arg)
{
    (void)arg;
}

static void services_on_credentials(void *arg)
{
    services_source_poke(arg);
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
    s->callbacks.failed(s->arg, err);
}

static int services_make_file(struct services_source *s, struct event_base *base, struct error *err)
{
    static const struct file_source_callbacks callbacks = {.changed = services_on_file,
                                                           .failed = services_on_file_failed};
    const struct settings *settings = s->options.settings;
    const struct file_source_options options = {.path = settings->config_file,
                                                .max_bytes = DOCUMENT_MAX_BYTES,
                                                .reread_ms = settings->resync_period_ms,
                                                .once = !settings->config_file_watch};
    if (settings->config_file == NULL)
        return 0;
    s->file = file_source_new(base, &options, &callbacks, s, err);
    return s->file != NULL ? 0 : -1;
}

/* What runs, where its file is on this machine. Where it cannot be read, or is not ours, nothing is known of before. */
static void services_recall(struct services_source *s)
{
    cleanup(buf_fini) struct buf text;
    buf_init(&text, DOCUMENT_MAX_BYTES);
    cleanup(mem_free_ptr) char *owners =
        state_text_recall(s->options.settings->state_dir, STATE_HOST_OWNERS, s->options.log);
    service_owners_read(&s->owners, owners);
    if (s->options.settings->local.file != NULL && buf_read_file(&text, s->options.settings->local.file) == 0)
        service_rows_recall(s->rows, buf_str(&text));
}

/* ---- life ---- */

static void services_watch(struct services_source *s, struct source *of, struct event_base *base,
                           const struct informer_options *options, const struct informer_sink *sink)
{
    *of = (struct source){
        .telemetry = s->options.telemetry, .changed = services_on_changed, .moved = services_on_moved, .arg = s};
    source_init(of, base, s->options.kube, s->options.log, options, sink);
}

struct services_source *services_source_new(struct event_base *base, const struct services_source_options *options,
                                            const struct services_source_callbacks *callbacks, void *arg,
                                            struct error *err)
{
    struct services_source *s = mem_alloc(sizeof(*s));
    const struct settings *settings = options->settings;
    s->options = *options;
    s->callbacks = *callbacks;
    s->arg = arg;
    timer_init(&s->compose, base, services_compose, s);
    s->remarks = remarks_new(REMARKS_OF_ANNOTATIONS, options->log);
    const struct service_secrets_options secrets = {.kube = options->kube,
                                                    .known = options->known,
                                                    .local = settings->local.file != NULL ? &settings->local : NULL,
                                                    .telemetry = options->telemetry,
                                                    .log = options->log};
    s->secrets = service_secrets_new(base, &secrets, services_on_secret, s);
    if (services_make_file(s, base, err) != 0) {
        services_source_free(s);
        return NULL;
    }
    s->prefix_dot = mem_printf("%s.", settings->annotation_prefix);
    s->prefixes = (struct annotated_prefixes){{SERVICES_OWN_PREFIX, s->prefix_dot}};
    s->resource = kube_annotated_services(&s->prefixes);
    const struct informer_options services = {.resource = &s->resource, .label_selector = settings->services_label},
                                  nodes = {.resource = &kube_nodes, .label_selector = settings->nodes_watched},
                                  slices = {.resource = &kube_service_slices};
    s->of_slices = service_slices_new();
    const struct informer_sink sink = slices_sink(s->of_slices);
    services_watch(s, &s->services, base, &services, NULL);
    services_watch(s, &s->nodes, base, &nodes, NULL);
    services_watch(s, &s->slices, base, &slices, &sink);
    s->nodes.changed = services_on_nodes;
    s->kept = cache_new(&annotated_service_record);
    if (options->quarantine != NULL)
        cache_keep_past(s->services.cache);
    quarantine_listen(options->quarantine, services_on_secret, s);
    s->rows = service_rows_new(settings, s->nodes.cache, s->of_slices, options->log);
    s->listener = (struct kube_client_listener){.on_credentials = services_on_credentials, .arg = s};
    kube_client_on_credentials(options->kube, &s->listener);
    return s;
}

void services_source_free(struct services_source *s)
{
    if (s == NULL)
        return;
    if (s->prefix_dot != NULL)
        kube_client_forget_listener(&s->listener);
    service_rows_free(s->rows);
    source_fini(&s->services);
    source_fini(&s->nodes);
    source_fini(&s->slices);
    service_slices_free(s->of_slices);
    file_source_free(s->file);
    service_secrets_free(s->secrets);
    service_binds_fini(&s->binds);
    service_report_fini(&s->report);
    remarks_free(s->remarks);
    service_owners_fini(&s->owners);
    service_owners_fini(&s->next);
    cache_free(s->kept);
    timer_fini(&s->compose);
    buf_fini(&s->before);
    free(s->prefix_dot);
    free(s->given);
    free(s->said);
    free(s);
}

void services_source_start(struct services_source *s)
{
    if (s == NULL)
        return;
    services_recall(s);
    if (s->file != NULL)
        file_source_start(s->file);
    informer_start(s->services.informer);
    informer_start(s->nodes.informer);
    informer_start(s->slices.informer);
}

void services_source_stop(struct services_source *s)
{
    if (s == NULL)
        return;
    timer_cancel(&s->compose);
    informer_stop(s->services.informer);
    informer_stop(s->nodes.informer);
    service_secrets_stop(s->secrets);
    informer_stop(s->slices.informer);
}

void services_source_poke(struct services_source *s)
{
    if (s == NULL)
        return;
    if (s->file != NULL)
        file_source_poke(s->file);
    informer_poke(s->services.informer);
    informer_poke(s->nodes.informer);
    service_secrets_poke(s->secrets);
    informer_poke(s->slices.informer);
    services_is_changed(s);
}

void services_source_tell_to(struct services_source *s, struct events *events)
{
    if (s != NULL)
        remarks_tell_to(s->remarks, events);
}

void services_source_measure(const struct services_source *s)
{
    if (s == NULL)
        return;
    struct metric *ports = s->options.telemetry->annotated_ports;
    const struct service_rows_view rows = service_rows_view(s->rows);
    metric_set(ports, (double)s->served, "served", NULL);
    metric_set(ports, (double)s->refused, "refused", NULL);
    metric_set(ports, (double)rows.delayed, "removal_delayed", NULL);
    metric_set(ports, (double)rows.kept, "no_endpoint", NULL);
}

bool services_source_ready(const struct services_source *s, struct checks *checks)
{
    if (s == NULL)
        return true;
    bool all = source_ready(&s->services, true, checks);
    all = source_ready(&s->nodes, true, checks) && all;
    all = source_ready(&s->slices, true, checks) && all;
    all = service_secrets_ready(s->secrets, checks) && all;
    service_rows_check(s->rows, checks);
    return all;
}

struct services_view services_source_view(const struct services_source *s)
{
    const struct service_rows_view rows = service_rows_view(s->rows);
    return (struct services_view){.services = s->count,
                                  .served = s->served,
                                  .refused = s->refused,
                                  .report = &s->report,
                                  .remarks = s->remarks,
                                  .problem = s->said,
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

#include "cli/doctor/doctor.h"

#include <event2/event.h>
#include <stdlib.h>

#include "base/mem.h"
#include "settings/parse.h"
#include "settings/settings.h"
#include "settings/table.h"
#include "settings/kubeconfig/kubeconfig.h"
#include "kube/client.h"
#include "net/http.h"
#include "net/spiffe.h"
#include "daemon/clients.h"
#include "daemon/template/template_source.h"
#include "cli/doctor/doctor_daemon.h"
#include "cli/doctor/doctor_dataplane.h"
#include "cli/doctor/doctor_etcd.h"
#include "cli/doctor/doctor_haproxy.h"
#include "cli/doctor/doctor_kubernetes.h"
#include "cli/doctor/doctor_names.h"
#include "cli/doctor/doctor_proxy.h"
#include "cli/doctor/doctor_report.h"
#include "cli/doctor/doctor_service.h"
#include "cli/doctor/doctor_spiffe.h"
#include "cli/doctor/doctor_templates.h"
#include "cli/doctor_local/doctor_local.h"
#include "cli/inspect.h"
#include "cli/inspect_report.h"

struct doctor {
    struct event_base *base;
    struct settings *settings;
    const struct doctor_options *options;
    struct doctor_report *report;
    struct clients clients; /* the Data Plane clients as in settings, some of them NULL */
    struct error no_kube, no_dataplanes, no_local;
    struct doctor_kubernetes kubernetes;
    struct doctor_section *kubernetes_section; /* of the report */
    struct doctor_dataplane *dataplanes;       /* as in settings */
    struct doctor_local local;
    struct doctor_etcd etcd;
    struct doctor_daemon daemon;
    size_t asking; /* requests without an answer yet */
};

/* ---- clients ---- */

static void make_dataplanes(struct doctor *d)
{
    static const struct clients_hooks hooks = {0};
    struct clients *c = &d->clients;
    c->dataplanes = mem_array(d->settings->dataplane_count, sizeof(c->dataplanes[0]));
    c->dataplane_count = d->settings->dataplane_count;
    if (clients_dataplane_tls(d->settings, d->options->log, &c->dataplane_tls, &d->no_dataplanes) != 0)
        return;
    clients_spiffe(d->base, d->settings, &hooks, d->options->log, c);
    clients_settle(d->base, c);
    for (size_t i = 0; i < c->dataplane_count; i++) {
        c->dataplanes[i].file =
            clients_dataplane(d->base, c, &d->settings->dataplanes[i], &hooks, d->options->log, &d->no_dataplanes);
    }
}

static void make_clients(struct doctor *d)
{
    static const struct clients_hooks hooks = {0};
    cleanup(mem_free_ptr) char *agent = mem_printf("haproxy-k8s-sync/%s", d->options->version);
    if (clients_local(d->base, d->settings, &hooks, &d->clients, &d->no_local) != 0)
        clients_free(&d->clients); /* it says why */
    d->clients.http = http_new(d->base, agent, &d->no_kube);
    if (d->clients.http == NULL)
        abort(); /* out of memory */
    if (d->settings->proxy_from_environment)
        http_use_proxy_variables(d->clients.http);
    if (d->options->access == NULL)
        d->no_kube = *d->options->no_access;
    else if (settings_need_kubernetes(d->settings))
        d->clients.kube = kube_client_new(d->clients.http, d->options->access, d->options->log, &d->no_kube);
    make_dataplanes(d);
}

/* ---- requests, side by side ---- */

static void on_asked(void *arg)
{
    struct doctor *d = arg;
    if (--d->asking == 0)
        event_base_loopbreak(d->base);
}

static void ask_all(struct doctor *d)
{
    d->dataplanes = mem_array(d->settings->dataplane_count, sizeof(d->dataplanes[0]));
    if (d->clients.kube != NULL) {
        d->asking++;
        doctor_kubernetes_start(&d->kubernetes, d->base, d->clients.kube, d->settings, d->options->access->namespace,
                                d->options->timeout_ms, on_asked, d);
    }
    for (size_t i = 0; i < d->clients.dataplane_count; i++) {
        if (d->clients.dataplanes[i].file == NULL)
            continue;
        d->asking++;
        doctor_dataplane_start(&d->dataplanes[i], d->base, d->clients.dataplanes[i].file, d->options->timeout_ms,
                               on_asked, d);
    }
    if (d->clients.local_commands != NULL) {
        d->asking++;
        doctor_local_start(&d->local, d->base, d->settings, d->clients.local_file, d->options->timeout_ms, on_asked, d);
    }
    if (settings_use_etcd(d->settings))
        d->asking += doctor_etcd_start(&d->etcd, d->base, d->clients.http, d->settings, d->options->timeout_ms,
                                       d->options->log, on_asked, d);
    d->asking += doctor_daemon_start(&d->daemon, d->base, d->settings, d->options->timeout_ms, on_asked, d);
    if (d->asking > 0)
        event_base_dispatch(d->base);
}

/* ---- the read, and the sections ---- */

static void add_kubernetes(struct doctor *d)
{
    const struct kube_access *access = d->options->access;
    struct doctor_section *s = doctor_section(d->report, "kubernetes", access != NULL ? access->server : NULL, NULL);
    doctor_kubernetes_report(&d->kubernetes, access, d->clients.kube == NULL ? &d->no_kube : NULL, d->settings, s);
    d->kubernetes_section = s;
}

/* The target of the report is NULL where that HAProxy was not read. */
static const struct inspect_target *target_of(const struct doctor *d, const struct inspect_report *seen, size_t at)
{
    size_t target = 0;
    for (size_t i = 0; i < at; i++)
        target += doctor_dataplane_usable(&d->dataplanes[i]);
    return doctor_dataplane_usable(&d->dataplanes[at]) ? &seen->targets[target] : NULL;
}

static void add_haproxy(struct doctor *d, const struct inspect_report *seen, size_t at)
{
    const struct settings_dataplane *of = &d->settings->dataplanes[at];
    const struct doctor_haproxy_input in = {.settings = d->settings,
                                            .of = of,
                                            .asked = &d->dataplanes[at],
                                            .no_client = &d->no_dataplanes,
                                            .tls = d->clients.dataplane_tls,
                                            .spiffe = d->clients.spiffe,
                                            .seen = seen,
                                            .target = target_of(d, seen, at)};
    struct doctor_section *s = doctor_section(d->report, "haproxy", of->url, NULL);
    doctor_haproxy_report(&in, s);
    doctor_states_report(&in, s);
    for (size_t i = 0; in.target != NULL && i < seen->mapping_count; i++)
        doctor_backend_report(&in, &in.target->backends[i], d->report);
}

static void add_clock(struct doctor *d)
{
    struct doctor_section *s = doctor_section(d->report, "clock", NULL, NULL);
    doctor_clock_report_kernel(doctor_clock_synchronised(), s);
    if (settings_need_kubernetes(d->settings))
        doctor_clock_report_skew("clock.kubernetes", "Kubernetes", "the API server", &d->kubernetes.skew, s);
    for (size_t i = 0; i < d->settings->dataplane_count; i++)
        doctor_clock_report_skew("clock.haproxy", "HAProxy", d->settings->dataplanes[i].url, &d->dataplanes[i].skew, s);
}

/* The one on this machine. */
static void add_local(struct doctor *d, const struct inspect_report *seen)
{
    struct doctor_section *s = doctor_section(d->report, "haproxy", d->settings->local.file, NULL);
    if (d->clients.local_commands == NULL) {
        doctor_fail(s, "haproxy.helper", "helper", "%s", d->no_local.message);
        return;
    }
    const struct doctor_haproxy_input in = {.settings = d->settings, .seen = seen, .target = &seen->targets[0]};
    doctor_local_report(&d->local, in.target, s);
    doctor_states_report(&in, s);
    for (size_t i = 0; i < seen->mapping_count; i++)
        doctor_backend_report(&in, &in.target->backends[i], d->report);
}

static void add_service(struct doctor *d, const struct inspect_report *seen, size_t at)
{
    const struct inspect_mapping *m = &seen->mappings[at];
    cleanup(doctor_names_fini) struct doctor_names names = {0};
    if (m->service_state == INSPECT_SERVICE_ABSENT)
        doctor_names_find(&names, d->base, d->clients.kube, m->rules->namespace, m->rules->service);
    doctor_service_report(seen, at, d->settings, &names, d->report);
}

static void on_refresh(void *arg, const struct inspect_report *seen)
{
    struct doctor *d = arg;
    if (d->kubernetes_section != NULL)
        doctor_kubernetes_report_missing(&seen->missing, d->report, d->kubernetes_section);
    if (seen->sources == NULL)
        doctor_services_report_unread(seen, d->report);
    for (size_t i = 0; seen->sources != NULL && i < seen->mapping_count; i++)
        add_service(d, seen, i);
    if (d->clients.spiffe != NULL)
        doctor_spiffe_report(d->clients.spiffe,
                             doctor_section(d->report, "spiffe", spiffe_state(d->clients.spiffe).socket, NULL));
    for (size_t i = 0; i < d->settings->dataplane_count; i++)
        add_haproxy(d, seen, i);
    if (d->settings->local.file != NULL)
        add_local(d, seen);
    doctor_proxy_report(d->base, seen, d->settings, d->report);
}

static void add_templates(struct doctor *d)
{
    const struct template_source_options options = {
        .settings = d->settings, .kube = d->clients.kube, .state_fd = -1, .log = d->options->log};
    const char *lacks = !doctor_kubernetes_usable(&d->kubernetes) ? "needs Kubernetes"
                        : doctor_rights_denied(&d->kubernetes.rights, DOCTOR_TEMPLATES)
                            ? "not read, see the permissions"
                            : NULL;
    if (lacks != NULL)
        doctor_skip(doctor_section(d->report, "templates", NULL, NULL), "templates.set", "set", "%s", lacks);
    else
        doctor_templates(d->base, &options, d->options->timeout_ms, d->report);
}

static void look(struct doctor *d)
{
    const struct doctor_reply *rights = &d->kubernetes.rights_reply;
    const struct inspect_options options = {.timeout_ms = d->options->timeout_ms,
                                            .refusals_count = rights->asked && rights->error.kind == ERROR_NONE,
                                            .checks = true,
                                            .show = on_refresh,
                                            .arg = d};
    struct clients usable = {.http = d->clients.http};
    if (d->clients.local_commands != NULL) {
        usable.local_file = d->clients.local_file;
        usable.local_commands = d->clients.local_commands;
    }
    usable.kube = doctor_kubernetes_usable(&d->kubernetes) ? d->clients.kube : NULL;
    usable.dataplanes = mem_array(d->clients.dataplane_count, sizeof(usable.dataplanes[0]));
    for (size_t i = 0; i < d->clients.dataplane_count; i++)
        if (doctor_dataplane_usable(&d->dataplanes[i]))
            usable.dataplanes[usable.dataplane_count++] = (struct clients_dataplane){
                .file = d->clients.dataplanes[i].file, .runtime = d->clients.dataplanes[i].file}; /* it only reads */
    inspect_refresh(d->base, d->settings, &usable, d->options->log, &options);
    free(usable.dataplanes);
}

/* ---- the settings ---- */

static void report_findings(const struct settings_findings *findings, struct doctor_section *s)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct settings_finding *f = &findings->list[i];
        if (f->is_error)
            doctor_fail(s, "settings", "setting", "%s", f->text);
        else
            doctor_warn(s, "settings", "setting", "%s", f->text);
    }
}

static void report_settings(const struct settings *settings, const struct settings_findings *findings,
                            const char *version, struct doctor_section *s)
{
    doctor_ok(s, "settings.program", "program", "haproxy-k8s-sync %s", version);
    report_findings(findings, s);
    if (settings == NULL) {
        struct doctor_check *c = doctor_skip(s, "settings.others", "everything else", "needs valid settings");
        doctor_fix(c, "list all settings", "haproxy-k8s-sync help settings");
        return;
    }
    cleanup(buf_fini) struct buf services = {0};
    settings_print_mappings(settings, &services);
    if (settings->config_source == SETTINGS_CONFIG_FILE)
        buf_printf(&services, "the whole haproxy.cfg with %s", settings->config_file);
    if (settings->config_source == SETTINGS_CONFIG_SECRET)
        buf_printf(&services, "the whole haproxy.cfg with key %s of Secret %s/%s", settings->config_secret_key,
                   settings->config_secret_namespace, settings->config_secret_name);
    if (settings->config_source == SETTINGS_CONFIG_TEMPLATE) {
        buf_add(&services, "the whole haproxy.cfg with templates of ");
        settings_print_template_from(settings, &services);
    }
    if (settings->config_source == SETTINGS_CONFIG_SERVICES)
        buf_printf(&services, "the whole haproxy.cfg with Services that have the label %s", settings->services_label);
    if (settings->config_source == SETTINGS_CONFIG_ETCD)
        buf_printf(&services, "the whole haproxy.cfg with %s in etcd", settings->etcd.path);
    doctor_ok(s, "settings", "settings", "%u set, the others at their defaults; keeps in sync: %s",
              setting_count_given(settings), buf_str(&services));
    if (settings->config_target == SETTINGS_TARGET_ETCD)
        doctor_ok(s, "settings.target", "HAProxy",
                  "none is written to: the configuration is published in etcd for load balancers, which doctor does "
                  "not check");
    if (settings_haproxies_are_pods(settings))
        doctor_ok(s, "settings.pods", "HAProxy", "pods, by `targets` of the template set; doctor does not check them");
    if (settings->dry_run) {
        struct doctor_check *c = doctor_warn(s, "settings.dry-run", "DRY_RUN", "is true: the daemon writes nothing");
        doctor_why(c, "it only logs what it would change");
        doctor_fix(c, "let it write", "DRY_RUN=false");
    }
}

/* ---- life ---- */

static void end(struct doctor *d)
{
    doctor_kubernetes_fini(&d->kubernetes);
    doctor_local_fini(&d->local);
    doctor_etcd_fini(&d->etcd);
    doctor_daemon_fini(&d->daemon);
    for (size_t i = 0; i < d->settings->dataplane_count; i++)
        doctor_dataplane_fini(&d->dataplanes[i]);
    free(d->dataplanes);
    clients_free(&d->clients);
}

void doctor_run(struct event_base *base, struct settings *settings, const struct doctor_options *options,
                struct doctor_report *ret)
{
    struct doctor d = {.base = base, .settings = settings, .options = options, .report = ret};
    *ret = (struct doctor_report){.settings_failed = settings == NULL};
    report_settings(settings, options->findings, options->version, doctor_section(ret, "settings", NULL, NULL));
    if (settings == NULL)
        return;
    make_clients(&d);
    ask_all(&d);
    if (settings_need_kubernetes(settings))
        add_kubernetes(&d);
    if (settings->config_source == SETTINGS_CONFIG_TEMPLATE)
        add_templates(&d);
    if (settings_use_etcd(settings))
        doctor_etcd_report(&d.etcd, ret);
    look(&d);
    doctor_daemon_report(&d.daemon, options->version, ret);
    add_clock(&d);
    end(&d);
}

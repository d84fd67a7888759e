#include "cli/doctor/doctor.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "cli/doctor/doctor_parts.h"
#include "cli/doctor/doctor_report.h"
#include "cli/inspect.h"
#include "daemon/inspect/inspect_report.h"
#include "daemon/clients.h"
#include "kube/client.h"
#include "net/http.h"
#include "settings/parse.h"
#include "settings/settings.h"
#include "settings/table.h"

/* What the parts keep. */
struct answers {
    struct doctor *doctor;
    struct doctor_kubernetes kubernetes;
    struct doctor_section *kubernetes_section;
    struct doctor_dataplane **dataplanes; /* as in settings */
    struct local_facts local;
};

/* ---- asking ---- */

static void make_clients(struct doctor *d)
{
    static const struct clients_hooks hooks = {0};
    struct settings *settings = d->settings;
    struct clients *c = &d->clients;
    cleanup(mem_free_ptr) char *agent = mem_printf("haproxy-k8s-sync/%s", d->options->version);
    if (clients_local(d->base, settings, &hooks, c, &d->no_local) != 0)
        clients_free(c); /* it says why */
    c->http = http_new(d->base, agent, &d->no_kube);
    if (c->http == NULL)
        abort(); /* out of memory */
    if (d->options->access == NULL)
        d->no_kube = *d->options->no_access;
    else if (settings_need_kubernetes(settings))
        c->kube = kube_client_new(c->http, d->options->access, d->options->log, &d->no_kube);
    c->dataplanes = mem_array(settings->dataplane_count, sizeof(c->dataplanes[0]));
    c->dataplane_count = settings->dataplane_count;
    if (clients_dataplane_tls(settings, d->options->log, &c->dataplane_tls, &d->no_dataplanes) != 0)
        return;
    clients_spiffe(d->base, settings, &hooks, d->options->log, c);
    clients_settle(d->base, c);
    for (size_t i = 0; i < c->dataplane_count; i++)
        c->dataplanes[i].file =
            clients_dataplane(d->base, c, &settings->dataplanes[i], &hooks, d->options->log, &d->no_dataplanes);
}

/* ---- the settings ---- */

static void report_settings(const struct settings *settings, const struct settings_findings *findings,
                            const char *version, struct doctor_section *s)
{
    doctor_ok(s, "settings.program", "program", "haproxy-k8s-sync %s", version);
    for (size_t i = 0; i < findings->count; i++)
        doctor_add(s, findings->list[i].is_error ? CHECK_FAIL : CHECK_WARN, "settings", "setting", "%s",
                   findings->list[i].text);
    if (settings == NULL) {
        doctor_skip(s, "settings.others", "everything else", "needs valid settings");
        doctor_help(s, "fix list all settings:\n  haproxy-k8s-sync help settings");
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
    if (settings->dry_run)
        doctor_say(s, CHECK_WARN, "settings.dry-run", "DRY_RUN",
                   "is true: the daemon writes nothing\n"
                   "why it only logs what it would change\n"
                   "fix let it write:\n  DRY_RUN=false");
}

/* ---- what was read as `plan` reads it ---- */

static void report_haproxies(const struct answers *a, const struct inspect_report *seen)
{
    const struct doctor *d = a->doctor;
    size_t target = 0; /* those that were not read have none */
    for (size_t i = 0; i < d->settings->dataplane_count; i++) {
        const struct settings_dataplane *of = &d->settings->dataplanes[i];
        struct doctor_section *s = doctor_section(d->report, "haproxy", of->url, NULL);
        const struct inspect_target *t = doctor_dataplane_usable(a->dataplanes[i]) ? &seen->targets[target] : NULL;
        target += t != NULL;
        doctor_dataplane_report(a->dataplanes[i], d, of, seen, t, s);
        doctor_backends_report(d, of, seen, t, s);
    }
    if (d->settings->local.file == NULL)
        return;
    struct doctor_section *s = doctor_section(d->report, "haproxy", d->settings->local.file, NULL);
    if (d->clients.local_commands == NULL) {
        doctor_fail(s, "haproxy.helper", "helper", "%s", d->no_local.message);
        return;
    }
    local_judge(&a->local, d->settings, &seen->targets[0], (int64_t)(clock_wall_ms() / 1000), s);
    doctor_backends_report(d, NULL, seen, &seen->targets[0], s);
}

static void on_refresh(void *arg, const struct inspect_report *seen)
{
    const struct answers *a = arg;
    struct doctor *d = a->doctor;
    if (a->kubernetes_section != NULL)
        doctor_kubernetes_report_missing(&seen->missing, d->report, a->kubernetes_section);
    doctor_services_report(seen, d);
    if (d->clients.spiffe != NULL)
        doctor_spiffe_report(d->clients.spiffe, d->report);
    report_haproxies(a, seen);
    doctor_proxy_report(seen, d);
}

static void refresh(struct answers *a)
{
    struct doctor *d = a->doctor;
    const struct doctor_reply *rights = &a->kubernetes.rights_reply;
    const struct inspect_options options = {.timeout_ms = d->options->timeout_ms,
                                            .refusals_count = rights->asked && rights->error.kind == ERROR_NONE,
                                            .checks = true,
                                            .show = on_refresh,
                                            .arg = a};
    struct clients usable = {.http = d->clients.http};
    if (d->clients.local_commands != NULL) {
        usable.local_file = d->clients.local_file;
        usable.local_commands = d->clients.local_commands;
    }
    usable.kube = doctor_kubernetes_usable(&a->kubernetes) ? d->clients.kube : NULL;
    usable.dataplanes = mem_array(d->clients.dataplane_count, sizeof(usable.dataplanes[0]));
    for (size_t i = 0; i < d->clients.dataplane_count; i++)
        if (doctor_dataplane_usable(a->dataplanes[i]))
            usable.dataplanes[usable.dataplane_count++] = (struct clients_dataplane){
                .file = d->clients.dataplanes[i].file, .runtime = d->clients.dataplanes[i].file}; /* it only reads */
    inspect_refresh(d->base, d->settings, &usable, d->options->log, &options);
    free(usable.dataplanes);
}

/* ---- all of it ---- */

void doctor_run(struct event_base *base, struct settings *settings, const struct doctor_options *options,
                struct doctor_report *ret)
{
    struct doctor d = {.base = base, .settings = settings, .options = options, .report = ret};
    struct answers a = {.doctor = &d};
    *ret = (struct doctor_report){.settings_failed = settings == NULL};
    report_settings(settings, options->findings, options->version, doctor_section(ret, "settings", NULL, NULL));
    if (settings == NULL)
        return;
    /* What is rendered, or published in etcd, no command reads as the daemon does. */
    ret->plan = settings->config_target == SETTINGS_TARGET_ETCD ? NULL
                : settings->mapping_count > 0                   ? "plan"
                : settings->config_file != NULL                 ? "config plan"
                                                                : NULL;
    make_clients(&d);
    a.dataplanes = mem_array(settings->dataplane_count, sizeof(a.dataplanes[0]));
    for (size_t i = 0; i < d.clients.dataplane_count; i++)
        a.dataplanes[i] = doctor_dataplane_start(&d, d.clients.dataplanes[i].file);
    if (d.clients.kube != NULL)
        doctor_kubernetes_ask(&a.kubernetes, &d);
    if (d.clients.local_commands != NULL)
        doctor_local_ask(&a.local, &d);
    for (size_t i = 0; i < d.clients.dataplane_count; i++)
        doctor_dataplane_wait(a.dataplanes[i]);
    if (settings_need_kubernetes(settings))
        a.kubernetes_section = doctor_kubernetes_report(&a.kubernetes, &d);
    if (settings->config_source == SETTINGS_CONFIG_TEMPLATE)
        doctor_templates_report(&d, &a.kubernetes);
    if (settings_use_etcd(settings))
        doctor_etcd_report(&d);
    refresh(&a);
    doctor_daemon_report(&d);
    struct doctor_section *clock = doctor_section(ret, "clock", NULL, NULL);
    doctor_clock_report_kernel(doctor_clock_synchronised(), clock);
    if (settings_need_kubernetes(settings))
        doctor_clock_report_skew("clock.kubernetes", "Kubernetes", "the API server", &a.kubernetes.skew, clock);
    for (size_t i = 0; i < settings->dataplane_count; i++)
        doctor_clock_report_skew("clock.haproxy", "HAProxy", settings->dataplanes[i].url,
                                 doctor_dataplane_skew(a.dataplanes[i]), clock);
    doctor_kubernetes_fini(&a.kubernetes);
    local_facts_fini(&a.local);
    for (size_t i = 0; i < settings->dataplane_count; i++)
        doctor_dataplane_free(a.dataplanes[i]);
    free(a.dataplanes);
    clients_free(&d.clients);
}

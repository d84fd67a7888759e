#include "settings/settings.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "settings/secrets/credentials.h"
#include "settings/dataplanes.h"
#include "settings/environment.h"
#include "settings/fields.h"
#include "settings/report.h"
#include "settings/services.h"
#include "settings/unknown.h"

/* A mistake that explains itself better than `expected` would: NULL for none. */
static const char *explain_text(const struct setting *f, const char *value)
{
    size_t len = strlen(value);
    if (!f->is_list && (isspace((unsigned char)value[0]) || isspace((unsigned char)value[len - 1])))
        return "there is white space around the value";
    if (len >= 2 && (value[0] == '"' || value[0] == '\'') && value[len - 1] == value[0])
        return "the quotes are part of the value; leave them out";
    return NULL;
}

static void refuse(const struct setting *f, const char *value, const char *why, struct settings_report *report)
{
    cleanup(mem_free_ptr) char *shown = report_name_value(f->name, value);
    report_error(report, "%s: expected %s%s%s", shown, f->expected, str_empty(why) ? "" : "; ", why);
}

static void parse_value(const struct setting *f, const char *value, struct settings *c, struct settings_report *report)
{
    cleanup(buf_fini) struct buf note;
    buf_init(&note, 0);
    if (f->parse(value, c, &note) != 0) {
        const char *why = explain_text(f, value);
        refuse(f, value, why != NULL ? why : buf_str(&note), report);
    } else if (note.len > 0) {
        cleanup(mem_free_ptr) char *shown = report_name_value(f->name, value);
        report_warning(report, "%s: %s", shown, buf_str(&note));
    }
}

static bool is_injected(char *const *env, const struct setting *f, const char *value, struct settings_report *report)
{
    if (!environment_is_injected(env, f->name, value))
        return false;
    cleanup(mem_free_ptr) char *shown = report_name_value(f->name, value);
    report_warning(report,
                   "%s: this comes from a Kubernetes Service of that name, not from you, and is ignored; set "
                   "enableServiceLinks: false in the pod's spec",
                   shown);
    return true;
}

static void parse_field(char *const *env, enum setting_id id, struct settings *c, struct settings_report *report)
{
    const struct setting *f = setting(id);
    const char *value = environment_get(env, f->name);
    if (str_empty(value) || is_injected(env, f, value, report))
        value = NULL;
    if (value != NULL)
        c->given |= (uint64_t)1 << id;
    else
        value = f->fallback;
    if (value != NULL)
        parse_value(f, value, c, report);
}

void settings_wipe_environment(char *const *env)
{
    for (int i = 0; i < SETTINGS_FIELD_COUNT; i++) {
        const struct setting *f = setting((enum setting_id)i);
        size_t len = strlen(f->name);
        for (char *const *at = env; f->or_file && *at != NULL; at++)
            if (strncmp(*at, f->name, len) == 0 && (*at)[len] == '=')
                explicit_bzero(*at + len + 1, strlen(*at + len + 1));
    }
}

int settings_parse(char *const *env, struct settings *ret, struct settings_report *report)
{
    struct settings c = {0};
    *report = (struct settings_report){0};
    for (int i = 0; i < SETTINGS_FIELD_COUNT; i++)
        if (!setting((enum setting_id)i)->or_file)
            parse_field(env, (enum setting_id)i, &c, report);
    credentials_parse(env, &c, report);
    services_parse(&c, report);
    if (report->error_count == 0 && c.park_nodes && c.park_ttl_ms == 0)
        report_warning(report, "PARK_NODES=true is of no effect with PARK_TTL=0, which parks nothing");
    if (report->error_count == 0 && c.leader_elect && c.dry_run)
        report_warning(report,
                       "LEADER_ELECT=true is of no effect with DRY_RUN=true: the Lease is for those that write");
    if (report->error_count == 0 && c.emit_events && c.dry_run)
        report_warning(report,
                       "EMIT_EVENTS=true is of no effect with DRY_RUN=true, with which nothing happens to HAProxy");
    if (report->error_count == 0 && !c.leader_elect &&
        (!str_eq(c.lease_name, setting(SETTINGS_LEASE_NAME)->fallback) || c.lease_namespace != NULL))
        report_warning(report, "LEASE_NAME and LEASE_NAMESPACE are of no effect without LEADER_ELECT=true");
    dataplanes_check_tls(&c, report);
    unknown_report(env, report);
    if (report->error_count > 0) {
        enum log_format format = c.log_format;
        settings_fini(&c);
        *ret = c;
        ret->log_format = format; /* the errors are logged in the form that was asked for */
        return -1;
    }
    *ret = c;
    return 0;
}

void settings_fini(struct settings *c)
{
    char *const strings[] = {c->ingress_namespace,
                             c->ingress_service,
                             c->ingress_port,
                             c->ingress_services,
                             c->node_selector,
                             c->dataplane_credentials_file,
                             c->backend_name,
                             c->balance,
                             c->adv_check,
                             c->kubeconfig,
                             c->listen_host,
                             c->dataplane_ca_file,
                             c->dataplane_cert_file,
                             c->dataplane_key_file,
                             c->dataplane_server_name,
                             c->lease_name,
                             c->lease_namespace};
    services_fini(c);
    dataplanes_fini(c);
    for (size_t i = 0; i < array_len(strings); i++)
        free(strings[i]);
    for (size_t i = 0; i < c->keep_server_count; i++)
        free(c->keep_servers[i]);
    free(c->keep_servers);
    free(c->server_name_format);
    secret_fini(&c->dataplane_username);
    secret_fini(&c->dataplane_password);
    secret_fini(&c->dataplane_token);
    *c = (struct settings){0};
}

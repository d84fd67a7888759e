/* What `doctor` says of etcd. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rfc3339.h"
#include "base/str.h"
#include "daemon/etcd/etcd_access.h"
#include "net/tls_files.h"
#include "settings/settings.h"
#include "cli/doctor/doctor_connection.h"
#include "cli/doctor/doctor_etcd_members.h"
#include "cli/doctor/doctor_report.h"

#define PERMISSION_DENIED 403 /* of the gateway, for gRPC's PERMISSION_DENIED */

/* ---- one member ---- */

static struct doctor_peer peer_of(const struct doctor_etcd *d, const struct doctor_etcd_member *m)
{
    const struct settings_etcd *e = &d->settings->etcd;
    const struct tls_files *tls = etcd_access_files(d->access);
    bool secure = str_has_prefix(m->endpoint.base_url, "https://");
    return (struct doctor_peer){
        .kind = DOCTOR_PEER_ETCD,
        .url = m->endpoint.base_url,
        .proxy = d->settings->proxy_from_environment ? "a proxy may be in between (PROXY_FROM_ENVIRONMENT)" : NULL,
        .ca_setting = "ETCD_CA_FILE",
        .cert_setting = secure && e->cert_file == NULL ? "ETCD_CERT_FILE and ETCD_KEY_FILE" : NULL,
        .refused_why = "nothing listens at that address; by default etcd listens at localhost alone "
                       "(--listen-client-urls)",
        .look = "systemctl status etcd; ss -ltnp | grep etcd",
        .now_s = (int64_t)(clock_wall_ms() / 1000),
        .ca_s = secure ? tls_files_ca_not_after_s(tls) : INT64_MAX,
        .client_s = secure ? tls_files_client_not_after_s(tls) : INT64_MAX,
        .server_s = m->server_not_after_s};
}

/* Below 3.4; not of what is no version. */
static bool is_old(const char *version)
{
    uint64_t major, minor;
    size_t first = strcspn(version, ".");
    const char *rest = version[first] == '.' ? version + first + 1 : "";
    cleanup(mem_free_ptr) char *of_major = mem_strndup(version, first),
                               *of_minor = mem_strndup(rest, strcspn(rest, "."));
    return str_parse_uint(of_major, UINT32_MAX, &major) == 0 && str_parse_uint(of_minor, UINT32_MAX, &minor) == 0 &&
           (major < 3 || (major == 3 && minor < 4));
}

static void report_version(const struct doctor_etcd_member *m, struct doctor_section *s)
{
    static const char id[] = "etcd.version", label[] = "version";
    if (m->version == NULL) {
        struct doctor_check *c = doctor_fail(s, id, label, "no etcd answers at this URL: %s", m->error.message);
        doctor_why(c, "something else listens there, or it is etcd's port for its peers (2380)");
        doctor_fix(c, "see what answers", "curl -s -i -m 5 %s/version | head -n 20", m->endpoint.base_url);
    } else if (is_old(m->version)) {
        struct doctor_check *c = doctor_fail(s, id, label, "etcd %s", m->version);
        doctor_why(c, "haproxy-k8s-sync needs 3.4 or newer, whose gateway has the requests that it sends");
        doctor_advice(c, "upgrade etcd");
    } else {
        doctor_ok(s, id, label, "etcd %s", m->version);
    }
}

/* True: it is one that can be asked. */
static bool report_member(const struct doctor_etcd *d, size_t at, struct doctor_report *r)
{
    const struct doctor_etcd_member *m = &d->members[at];
    struct doctor_section *s = doctor_section(r, "etcd", m->endpoint.base_url, NULL);
    const struct doctor_peer peer = peer_of(d, m);
    if (!doctor_connection_report(&peer, &m->connection, m->status == 0 ? &m->error : NULL, s)) {
        doctor_skip(s, "etcd.version", "version", "needs a connection");
        return false;
    }
    report_version(m, s);
    return m->version != NULL;
}

/* ---- what lies there ---- */

static void refused(const struct doctor_etcd *d, const struct error *why, struct doctor_section *s)
{
    const struct settings_etcd *e = &d->settings->etcd;
    if (why->http_status == PERMISSION_DENIED) {
        struct doctor_check *c = doctor_fail(s, "etcd.path", "path", "%s", why->message);
        bool writes = d->settings->config_target == SETTINGS_TARGET_ETCD;
        const char *role = writes ? "producer" : "load-balancer", *right = writes ? "readwrite" : "read";
        cleanup(mem_free_ptr) char *status =
            writes ? mem_strdup("")
                   : mem_printf("\netcdctl role grant-permission %s --prefix=true readwrite %s/status/", role, e->path);
        doctor_why(c, "a producer writes ETCD_PATH and below it; a load balancer reads it, and writes below status/");
        doctor_fix(c, "as root of etcd, grant it with a role",
                   "etcdctl role add %s\netcdctl role grant-permission %s %s %s\netcdctl role grant-permission %s "
                   "--prefix=true %s %s/%s\netcdctl user grant-role %s %s",
                   role, role, right, e->path, role, right, e->path, status, e->user != NULL ? e->user : "USER", role);
        return;
    }
    struct doctor_check *c = doctor_fail(s, "etcd.credentials", "credentials", "%s", why->message);
    doctor_fix(c, "set a user of etcd and its password",
               "ETCD_USER=%s\nETCD_PASSWORD_FILE=/etc/haproxy-k8s-sync/etcd/password",
               e->user != NULL ? e->user : "sync");
    doctor_fix(c, "as root of etcd, see its users, and set the password anew",
               "etcdctl user list\netcdctl user passwd %s", e->user != NULL ? e->user : "sync");
}

static void report_foreign(const struct doctor_etcd *d, struct doctor_section *s)
{
    static const char id[] = "etcd.published", label[] = "published";
    struct doctor_check *c;
    if (d->manifest.is_there && !d->is_manifest)
        c = doctor_fail(s, id, label, "what lies at %s/manifest is no manifest: %s", d->settings->etcd.path,
                        d->no_manifest.message);
    else if (d->manifest.is_there)
        c = doctor_fail(s, id, label, "the cluster %s publishes there (its producer: %s), and CLUSTER_NAME is %s",
                        d->there.cluster, d->there.producer, d->settings->cluster_name);
    else
        c = doctor_fail(s, id, label, "the key has a value but no manifest below it: another program uses it");
    doctor_why(c, "%s",
               d->settings->config_target == SETTINGS_TARGET_ETCD
                   ? "the producer does not overwrite it: nothing is published"
                   : "HAProxy keeps what it runs");
    doctor_fix(c, "see what lies there", "etcdctl get --prefix --keys-only %s", d->settings->etcd.path);
    doctor_advice(c, "set another ETCD_PATH, the same one for the producer and its load balancers");
}

static void report_empty(const struct doctor_etcd *d, struct doctor_section *s)
{
    static const char id[] = "etcd.published", label[] = "published";
    if (d->settings->config_target == SETTINGS_TARGET_ETCD) {
        doctor_ok(s, id, label, "nothing yet");
        return;
    }
    struct doctor_check *c = doctor_warn(s, id, label, "nothing yet");
    doctor_why(c,
               "HAProxy keeps what it runs until a producer publishes (CONFIG_TARGET=etcd), with the same ETCD_PATH");
    doctor_fix(c, "see which paths there are", "etcdctl get --prefix --keys-only / | grep '/manifest$'");
}

static void report_published(const struct doctor_etcd *d, struct doctor_section *s)
{
    const struct published_manifest *m = &d->there;
    const char *ours = d->settings->config_target == SETTINGS_TARGET_ETCD ? d->settings->cluster_name : NULL;
    char when[RFC3339_BYTES];
    if (!d->manifest.is_there && !d->plain.is_there) {
        report_empty(d, s);
        return;
    }
    if (!d->is_manifest || (ours != NULL && !str_empty(m->cluster) && !str_eq(m->cluster, ours))) {
        report_foreign(d, s);
        return;
    }
    rfc3339_format(m->published_ms * 1000, 0, when);
    doctor_ok(s, "etcd.published", "published", "version %" PRIu64 "%s%s, by %s at %s", m->version,
              str_empty(m->cluster) ? "" : " of cluster ", m->cluster, m->producer, when);
}

static void report_path(const struct doctor_etcd *d, bool any, struct doctor_section *s)
{
    const struct settings_etcd *e = &d->settings->etcd;
    const struct error *why = d->plain.error.kind != ERROR_NONE ? &d->plain.error : &d->manifest.error;
    bool read = why->kind == ERROR_NONE, knows = read || why->http_status == PERMISSION_DENIED;
    if (!any && !read) {
        doctor_skip(s, "etcd.path", "path", "needs a member of etcd that answers");
        return;
    }
    if (knows && e->user != NULL)
        doctor_ok(s, "etcd.credentials", "credentials", "user %s, or etcd has no authentication enabled", e->user);
    else if (knows)
        doctor_ok(s, "etcd.credentials", "credentials", "none required");
    if (read) {
        doctor_ok(s, "etcd.path", "path", "can be read");
        report_published(d, s);
    } else if (why->kind == ERROR_AUTH) {
        refused(d, why, s);
    } else {
        struct doctor_check *c = doctor_fail(s, "etcd.path", "path", "%s", why->message);
        doctor_fix(c, "see how its members stand", "etcdctl endpoint status --cluster -w table; etcdctl alarm list");
    }
    if (!read)
        doctor_skip(s, "etcd.published", "published", "needs the path");
}

void doctor_etcd_report(const struct doctor_etcd *d, struct doctor_report *r)
{
    bool any = false;
    if (d->access == NULL) {
        struct doctor_section *s = doctor_section(r, "etcd", NULL, NULL);
        struct doctor_check *c = doctor_fail(s, "etcd.access", "access", "%s", d->no_access.message);
        doctor_advice(c, "correct that setting: it must name a PEM file that this user may read");
        doctor_skip(s, "etcd.connection", "connection", "needs access");
        doctor_skip(s, "etcd.path", "path", "needs access");
        return;
    }
    for (size_t i = 0; i < d->settings->etcd.endpoints.count; i++)
        any = report_member(d, i, r) || any;
    report_path(d, any, doctor_section(r, "etcd", d->settings->etcd.path, NULL));
}

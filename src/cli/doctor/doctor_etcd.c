/* etcd (CONFIG_SOURCE=etcd, CONFIG_TARGET=etcd): what `doctor` asks it, and what it says of the answers. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rfc3339.h"
#include "base/text.h"
#include "configuration/published.h"
#include "daemon/etcd/etcd_access.h"
#include "etcd/client.h"
#include "host/timer.h"
#include "json/read.h"
#include "net/http.h"
#include "net/tls_files.h"
#include "settings/settings.h"
#include "cli/doctor/doctor.h"
#include "cli/doctor/doctor_parts.h"
#include "cli/doctor/doctor_report.h"
#include "cli/run.h"

#define VERSION_MAX_BYTES 4096
#define EXCERPT_BYTES 200
#define PERMISSION_DENIED 403 /* of the gateway, for gRPC's PERMISSION_DENIED */

/* What came of GET /version. */
struct member {
    struct doctor_etcd *of;
    struct http_endpoint endpoint; /* its URL is that of the settings */
    int64_t server_not_after_s;
    struct http_request *request;
    struct http_connection connection;
    int status;         /* 0: no answer */
    struct error error; /* kind NONE: version is there */
    char *version;
};

/* One of the two keys. */
struct key_read {
    struct etcd_call *call;
    bool is_there;
    struct error error; /* kind NONE: it was read */
};

struct doctor_etcd {
    const struct settings *settings;
    struct etcd_access *access; /* NULL: there is none, because of no_access */
    struct error no_access;
    struct timer deadline;
    struct member *members; /* as in settings */
    size_t waiting;         /* for so many answers */
    bool over;              /* for none any more */
    struct key_read plain, manifest;
    bool is_manifest;
    struct published_manifest there; /* that, where it is one */
    struct error no_manifest;        /* why it is none */
};

/* ---- asking ---- */

static void etcd_answered(struct doctor_etcd *e)
{
    e->over = --e->waiting == 0;
}

static void member_on_done(void *arg, const struct http_response *r, const struct error *err)
{
    static const char what[] = "the version";
    struct member *m = arg;
    const char *version;
    m->request = NULL;
    m->connection = http_response_connection(r);
    m->status = r->status;
    if (err != NULL) {
        m->error = *err;
    } else if (r->status != 200) {
        cleanup(mem_free_ptr) char *excerpt = text_shown(buf_str(r->body), TEXT_LINE, EXCERPT_BYTES);
        error_set(&m->error, ERROR_INVALID, "HTTP %d: %s", r->status, excerpt);
    } else {
        /* {"etcdserver":"3.5.9","etcdcluster":"3.5.0"}, as etcd's own /version has it. */
        yyjson_val *root;
        cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(buf_str(r->body), r->body->len, 0, what, &m->error);
        if (json_object_of(doc, what, &root, &m->error) != 0 ||
            json_need_string(root, "etcdserver", &version, &m->error) != 0)
            error_prefix(&m->error, "GET /version");
        else
            m->version = text_shown(version, TEXT_LINE, EXCERPT_BYTES);
    }
    etcd_answered(m->of);
}

static void key_take(struct key_read *r, const struct etcd_got *got, const struct error *err)
{
    r->call = NULL;
    r->is_there = err == NULL && got->count > 0;
    if (err != NULL)
        r->error = *err;
}

static void etcd_on_plain(void *arg, const struct etcd_got *got, const struct error *err)
{
    struct doctor_etcd *e = arg;
    key_take(&e->plain, got, err);
    etcd_answered(e);
}

static void etcd_on_manifest(void *arg, const struct etcd_got *got, const struct error *err)
{
    struct doctor_etcd *e = arg;
    key_take(&e->manifest, got, err);
    e->is_manifest = e->manifest.is_there && published_manifest_parse(got->list[0].value, got->list[0].value_len,
                                                                      &e->there, &e->no_manifest) == 0;
    etcd_answered(e);
}

static void etcd_on_deadline(void *arg)
{
    struct doctor_etcd *e = arg;
    struct key_read *const reads[] = {&e->plain, &e->manifest};
    for (size_t i = 0; i < array_len(reads); i++) {
        if (reads[i]->call == NULL)
            continue;
        etcd_call_cancel(reads[i]->call);
        reads[i]->call = NULL;
        error_set(&reads[i]->error, ERROR_RETRY, "no answer in time (--timeout)");
    }
    for (size_t i = 0; i < e->settings->etcd.endpoints.count; i++) {
        struct member *m = &e->members[i];
        if (m->request == NULL)
            continue;
        m->connection = http_request_connection(m->request);
        http_cancel(m->request);
        m->request = NULL;
        error_set(&m->error, ERROR_RETRY, "no answer in time (--timeout)");
    }
    e->over = true;
}

static void etcd_ask(struct doctor_etcd *e, struct doctor *d)
{
    static const struct http_callbacks callbacks = {.on_done = member_on_done};
    const struct http_request_options get_version = {.method = "GET",
                                                     .path = "/version",
                                                     .max_body_bytes = VERSION_MAX_BYTES,
                                                     .connect_timeout_ms = d->options->timeout_ms,
                                                     .total_timeout_ms = d->options->timeout_ms};
    const struct settings_names *urls = &d->settings->etcd.endpoints;
    e->settings = d->settings;
    e->access = etcd_access_new(d->base, d->clients.http, d->settings, d->options->log, &e->no_access);
    if (e->access == NULL)
        return;
    const struct tls_files *tls = etcd_access_files(e->access);
    timer_init(&e->deadline, d->base, etcd_on_deadline, e);
    timer_set(&e->deadline, d->options->timeout_ms);
    e->members = mem_array(urls->count, sizeof(e->members[0]));
    for (size_t i = 0; i < urls->count; i++) {
        struct member *m = &e->members[i];
        *m = (struct member){.of = e, .server_not_after_s = INT64_MAX};
        m->endpoint = (struct http_endpoint){.base_url = urls->list[i],
                                             .tls = tls != NULL ? tls_files_current(tls) : NULL,
                                             .server_not_after_s = &m->server_not_after_s};
        m->request = http_start(d->clients.http, &m->endpoint, &get_version, &callbacks, m, &m->error);
        e->waiting += m->request != NULL;
    }
    struct etcd_client *c = etcd_access_client(e->access);
    cleanup(mem_free_ptr) char *manifest = etcd_key(d->settings, "manifest", "");
    const struct etcd_get plain = {.key = d->settings->etcd.path, .keys_only = true}, of_it = {.key = manifest};
    e->plain.call = etcd_get(c, &plain, etcd_on_plain, e);
    e->manifest.call = etcd_get(c, &of_it, etcd_on_manifest, e);
    e->waiting += 2;
    run_until_over(d->base, &e->over);
}

static void etcd_fini(struct doctor_etcd *e)
{
    timer_fini(&e->deadline);
    for (size_t i = 0; e->members != NULL && i < e->settings->etcd.endpoints.count; i++)
        free(e->members[i].version);
    free(e->members);
    published_manifest_fini(&e->there);
    etcd_access_free(e->access);
}

/* ---- one member ---- */

static struct doctor_peer peer_of(const struct doctor_etcd *d, const struct member *m)
{
    const struct settings_etcd *e = &d->settings->etcd;
    const struct tls_files *tls = etcd_access_files(d->access);
    bool secure = str_has_prefix(m->endpoint.base_url, "https://");
    return (struct doctor_peer){
        .kind = DOCTOR_PEER_ETCD,
        .url = m->endpoint.base_url,
        .ca_setting = "ETCD_CA_FILE",
        .cert_setting = secure && e->cert_file == NULL ? "ETCD_CERT_FILE and ETCD_KEY_FILE" : NULL,
        .refused_why = "nothing listens at that address; by default etcd listens at localhost alone "
                       "(--listen-client-urls)",
        .shown_by = "systemctl status etcd; ss -ltnp | grep etcd",
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

/* True: it is one that can be asked. */
static bool report_member(const struct doctor_etcd *e, const struct member *m, struct doctor_report *r)
{
    struct doctor_section *s = doctor_section(r, "etcd", m->endpoint.base_url, NULL);
    const struct doctor_peer peer = peer_of(e, m);
    if (!doctor_connection_report(&peer, &m->connection, m->status == 0 ? &m->error : NULL, s)) {
        doctor_skip(s, "etcd.version", "version", "needs a connection");
        return false;
    }
    doctor_sets(s, {"version", m->version}, {"problem", m->error.message});
    const struct doctor_row rows[] = {
        {m->version == NULL, CHECK_FAIL,
         "no etcd answers at this URL: {problem}\n"
         "why something else listens there, or it is etcd's port for its peers (2380)\n"
         "fix see what answers:\n  curl -s -i -m 5 {url}/version | head -n 20"},
        {m->version != NULL && is_old(m->version), CHECK_FAIL,
         "etcd {version}\n"
         "why haproxy-k8s-sync needs 3.4 or newer, whose gateway has the requests that it sends\n"
         "fix upgrade etcd"},
        {true, CHECK_OK, "etcd {version}"},
    };
    doctor_first(s, "etcd.version", "version", rows);
    return m->version != NULL;
}

/* ---- what lies there ---- */

static void report_path(const struct doctor_etcd *e, const struct error *why, bool writes, struct doctor_section *s)
{
    static const char id[] = "etcd.credentials", label[] = "credentials";
    const char *user = e->settings->etcd.user;
    bool read = why->kind == ERROR_NONE, forbidden = why->http_status == PERMISSION_DENIED;
    doctor_sets(s, {"problem", why->message}, {"role", writes ? "producer" : "load-balancer"},
                {"right", writes ? "readwrite" : "read"});
    if ((read || forbidden) && user != NULL)
        doctor_ok(s, id, label, "user %s, or etcd has no authentication enabled", user);
    else if (read || forbidden)
        doctor_ok(s, id, label, "none required");
    if (why->kind == ERROR_AUTH && !forbidden) {
        doctor_set(s, "user", user != NULL ? user : "sync");
        doctor_say(s, CHECK_FAIL, id, label,
                   "{problem}\n"
                   "fix set a user of etcd and its password:\n"
                   "  ETCD_USER={user}\n  ETCD_PASSWORD_FILE=/etc/haproxy-k8s-sync/etcd/password\n"
                   "or as root of etcd, see its users, and set the password anew:\n"
                   "  etcdctl user list\n  etcdctl user passwd {user}");
        return;
    }
    doctor_sets(s, {"user", user != NULL ? user : "USER"}, {"status", ""});
    if (!writes)
        doctor_word(s, "status", "etcdctl role grant-permission load-balancer --prefix=true readwrite %s/status/",
                    e->settings->etcd.path);
    const struct doctor_row rows[] = {
        {read, CHECK_OK, "can be read"},
        {why->kind == ERROR_AUTH, CHECK_FAIL,
         "{problem}\n"
         "why a producer writes ETCD_PATH and below it; a load balancer reads it, and writes below status/\n"
         "fix as root of etcd, grant it with a role:\n"
         "  etcdctl role add {role}\n  etcdctl role grant-permission {role} {right} {path}\n"
         "  etcdctl role grant-permission {role} --prefix=true {right} {path}/\n"
         "  {status}\n"
         "  etcdctl user grant-role {user} {role}"},
        {true, CHECK_FAIL,
         "{problem}\n"
         "fix see how its members stand:\n"
         "  etcdctl endpoint status --cluster -w table; etcdctl alarm list"},
    };
    doctor_first(s, "etcd.path", "path", rows);
}

static void report_published(const struct doctor_etcd *e, bool writes, struct doctor_section *s)
{
    const struct published_manifest *m = &e->there;
    char when[RFC3339_BYTES] = "";
    bool none = !e->manifest.is_there && !e->plain.is_there;
    bool is_mine = !writes || str_empty(m->cluster) || str_eq(m->cluster, e->settings->cluster_name);
    if (e->is_manifest)
        rfc3339_format(m->published_ms * 1000, 0, when);
    doctor_sets(s, {"no-manifest", e->no_manifest.message}, {"cluster", m->cluster}, {"producer", m->producer},
                {"cluster-name", e->settings->cluster_name});
    doctor_word(s, "version", "%" PRIu64 "%s%s, by %s at %s", m->version, str_empty(m->cluster) ? "" : " of cluster ",
                m->cluster != NULL ? m->cluster : "", m->producer != NULL ? m->producer : "", when);
    const struct doctor_row rows[] = {
        {none && writes, CHECK_OK, "nothing yet"},
        {none, CHECK_WARN,
         "nothing yet\n"
         "why HAProxy keeps what it runs until a producer publishes (CONFIG_TARGET=etcd), with the same ETCD_PATH\n"
         "fix see which paths there are:\n  etcdctl get --prefix --keys-only / | grep '/manifest$'"},
        {e->is_manifest && is_mine, CHECK_OK, "version {version}"},
        {e->is_manifest, CHECK_FAIL,
         "the cluster {cluster} publishes there (its producer: {producer}), and CLUSTER_NAME is {cluster-name}"},
        {e->manifest.is_there, CHECK_FAIL, "what lies at {path}/manifest is no manifest: {no-manifest}"},
        {true, CHECK_FAIL, "the key has a value but no manifest below it: another program uses it"},
    };
    doctor_first(s, "etcd.published", "published", rows);
    doctor_set(s, "effect",
               writes ? "the producer does not overwrite it: nothing is published" : "HAProxy keeps what it runs");
    if (!none && !(e->is_manifest && is_mine))
        doctor_help(s, "why {effect}\n"
                       "fix see what lies there:\n  etcdctl get --prefix --keys-only {path}\n"
                       "or set another ETCD_PATH, the same one for the producer and its load balancers");
}

void doctor_etcd_report(struct doctor *d)
{
    cleanup(etcd_fini) struct doctor_etcd e = {0};
    bool any = false, writes = d->settings->config_target == SETTINGS_TARGET_ETCD;
    etcd_ask(&e, d);
    if (e.access == NULL) {
        struct doctor_section *s = doctor_section(d->report, "etcd", NULL, NULL);
        doctor_fail(s, "etcd.access", "access", "%s", e.no_access.message);
        doctor_help(s, "fix correct that setting: it must name a PEM file that this user may read");
        doctor_skip(s, "etcd.connection", "connection", "needs access");
        doctor_skip(s, "etcd.path", "path", "needs access");
        return;
    }
    for (size_t i = 0; i < d->settings->etcd.endpoints.count; i++)
        any = report_member(&e, &e.members[i], d->report) || any;
    struct doctor_section *s = doctor_section(d->report, "etcd", d->settings->etcd.path, NULL);
    const struct error *why = e.plain.error.kind != ERROR_NONE ? &e.plain.error : &e.manifest.error;
    bool read = why->kind == ERROR_NONE;
    doctor_set(s, "path", d->settings->etcd.path);
    if (!any && !read) {
        doctor_skip(s, "etcd.path", "path", "needs a member of etcd that answers");
        return;
    }
    report_path(&e, why, writes, s);
    if (read)
        report_published(&e, writes, s);
    else
        doctor_skip(s, "etcd.published", "published", "needs the path");
}

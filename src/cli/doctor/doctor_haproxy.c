/* One HAProxy behind a Data Plane API: what `doctor` asks it, and the checks of its section. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rfc3339.h"
#include "haproxy/dataplane/about.h"
#include "haproxy/dataplane/client.h"
#include "haproxy/dataplane/codec.h"
#include "host/timer.h"
#include "net/spiffe.h"
#include "net/tls_files.h"
#include "settings/settings.h"
#include "settings/url.h"
#include "cli/doctor/doctor.h"
#include "cli/doctor/doctor_parts.h"
#include "cli/doctor/doctor_report.h"
#include "daemon/inspect/inspect_report.h"
#include "cli/run.h"

#define OPEN_TRANSACTIONS_MANY 10 /* half of what the API allows by default */
#define STAT_MAX_BYTES 4096

/* ---- asking ---- */

enum doctor_dataplane_step {
    DATAPLANE_V3,
    DATAPLANE_V2, /* only where v3 is not there */
    DATAPLANE_HAPROXY,
    DATAPLANE_GLOBAL,
    DATAPLANE_TRANSACTIONS,
    DATAPLANE_RELOADS,
    DATAPLANE_STEPS,
};

struct doctor_dataplane {
    struct doctor *doctor;
    struct dataplane_client *client; /* borrowed; NULL: none could be made */
    struct timer deadline;
    enum doctor_dataplane_step step;
    bool over;

    struct doctor_reply gets[DATAPLANE_STEPS];
    struct http_connection connection;
    struct doctor_skew skew;
    char *version; /* of the API, v3 or else v2 */
    struct about_haproxy haproxy;
    struct about_global global;
    size_t open_transactions;
    struct reload_history reloads;
};

static void on_answer(void *arg, const struct dataplane_answer *a);

static void dataplane_ask(struct doctor_dataplane *p, enum doctor_dataplane_step step)
{
    static const char *const paths[] = {
        [DATAPLANE_V3] = "/v3/info",
        [DATAPLANE_V2] = "/v2/info",
        [DATAPLANE_HAPROXY] = "/runtime/info",
        [DATAPLANE_GLOBAL] = "/configuration/global",
        [DATAPLANE_TRANSACTIONS] = "/transactions",
        [DATAPLANE_RELOADS] = "/reloads",
    };
    p->step = step;
    if (step == DATAPLANE_V3 || step == DATAPLANE_V2)
        dataplane_get_root(p->client, paths[step], on_answer, p);
    else
        dataplane_send(p->client, "GET", paths[step], NULL, on_answer, p);
}

static int read_answer(struct doctor_dataplane *p, const struct dataplane_answer *a, struct error *err)
{
    struct codec_transaction *list;
    size_t count;
    switch (p->step) {
    case DATAPLANE_V3:
    case DATAPLANE_V2:
        return about_read_api(a->body, a->body_len, &p->version, err);
    case DATAPLANE_HAPROXY:
        return about_read_haproxy(a->body, a->body_len, &p->haproxy, err);
    case DATAPLANE_GLOBAL:
        return about_read_global(a->body, a->body_len, &p->global, err);
    case DATAPLANE_TRANSACTIONS:
        if (codec_read_transactions(a->body, a->body_len, &list, &count, err) != 0)
            return -1;
        for (size_t i = 0; i < count; i++)
            p->open_transactions += str_eq(list[i].status, "in_progress");
        codec_transactions_free(list, count);
        return 0;
    case DATAPLANE_RELOADS:
        return codec_read_reloads(a->body, a->body_len, &p->reloads, err);
    case DATAPLANE_STEPS:
        break;
    }
    return 0;
}

static void on_answer(void *arg, const struct dataplane_answer *a)
{
    struct doctor_dataplane *p = arg;
    struct doctor_reply *get = &p->gets[p->step];
    get->asked = true;
    get->status = a->status;
    if (a->error != NULL)
        get->error = *a->error;
    else if (a->status != 200)
        error_set_http(&get->error, a->status, "HTTP %d%s%s", a->status, a->excerpt[0] != '\0' ? ": " : "", a->excerpt);
    else if (read_answer(p, a, &get->error) != 0 && a->excerpt[0] != '\0') /* which says more than the parser */
        error_set(&get->error, ERROR_INVALID, "HTTP %d: %s", a->status, a->excerpt);
    if (p->step == DATAPLANE_V3 && a->response != NULL) {
        p->connection = http_response_connection(a->response);
        p->skew = doctor_skew_of(http_response_header(a->response, "Date"), clock_wall_ms(), a->duration_us);
    }
    bool good = get->error.kind == ERROR_NONE, refused = get->status == 401 || get->status == 403;
    if (p->step == DATAPLANE_V3 && good)
        dataplane_ask(p, DATAPLANE_HAPROXY);
    else if (p->step == DATAPLANE_V3 ? get->status != 0 && !refused
                                     : p->step != DATAPLANE_V2 && p->step + 1 < DATAPLANE_STEPS)
        dataplane_ask(p, p->step + 1);
    else
        p->over = true;
}

static void on_deadline(void *arg)
{
    struct doctor_dataplane *p = arg;
    struct doctor_reply *get = &p->gets[p->step];
    if (p->over)
        return;
    if (p->step == DATAPLANE_V3)
        p->connection = dataplane_connection(p->client);
    dataplane_cancel(p->client);
    get->asked = true;
    error_set(&get->error, ERROR_RETRY, "no answer in time (--timeout)");
    p->over = true;
}

struct doctor_dataplane *doctor_dataplane_start(struct doctor *d, struct dataplane_client *client)
{
    struct doctor_dataplane *p = mem_alloc(sizeof(*p));
    *p = (struct doctor_dataplane){.doctor = d, .client = client};
    p->over = client == NULL;
    if (client == NULL)
        return p;
    timer_init(&p->deadline, d->base, on_deadline, p);
    timer_set(&p->deadline, d->options->timeout_ms);
    dataplane_ask(p, DATAPLANE_V3);
    return p;
}

void doctor_dataplane_wait(struct doctor_dataplane *p)
{
    run_until_over(p->doctor->base, &p->over);
}

void doctor_dataplane_free(struct doctor_dataplane *p)
{
    if (p == NULL)
        return;
    timer_fini(&p->deadline);
    free(p->version);
    about_haproxy_fini(&p->haproxy);
    reload_history_fini(&p->reloads);
    free(p);
}

static bool has(const struct doctor_dataplane *p, enum doctor_dataplane_step step)
{
    return p->gets[step].asked && p->gets[step].error.kind == ERROR_NONE;
}

bool doctor_dataplane_usable(const struct doctor_dataplane *p)
{
    return p->client != NULL && has(p, DATAPLANE_V3);
}

const struct doctor_skew *doctor_dataplane_skew(const struct doctor_dataplane *p)
{
    return &p->skew;
}

/* ---- a process of this machine ---- */

/* "77 (haproxy) S 76 ..." (proc(5)): name and parent. What is in the text is cut. */
static bool process_parse_stat(char *text, const char **ret_name, uint64_t *ret_parent)
{
    char *open = strchr(text, '('), *close = strrchr(text, ')');
    if (open == NULL || close == NULL || close < open || strlen(close) < sizeof(") S 1") - 1)
        return false;
    char *parent = close + sizeof(") S ") - 1;
    *close = '\0';
    parent[strcspn(parent, " \n")] = '\0';
    *ret_name = open + 1;
    return str_parse_uint(parent, INT32_MAX, ret_parent) == 0;
}

bool doctor_is_haproxy(uint64_t pid, uint64_t *ret_parent)
{
    cleanup(mem_free_ptr) char *path = mem_printf("/proc/%" PRIu64 "/stat", pid);
    const char *name = "";
    cleanup(buf_fini) struct buf text;
    buf_init(&text, STAT_MAX_BYTES);
    if (buf_read_file(&text, path) != 0 || text.len == 0 || !process_parse_stat(text.data, &name, ret_parent) ||
        !str_has_prefix(name, "haproxy"))
        return false;
    /* "haproxy", or with its version behind: "haproxy-v3.4.0"; not "haproxy-k8s-sync", "haproxy_exporter". */
    const char *rest = name + strlen("haproxy"), *version = rest + strspn(rest, "-_v");
    return *rest == '\0' || (*version >= '0' && *version <= '9');
}

/* ---- the API ---- */

enum { SKIP_CONNECTION, SKIP_CREDENTIALS, SKIP_VERSION, SKIP_RUNNING, SKIPS };

static void skip_from(size_t first, const char *why, struct doctor_section *s)
{
    static const struct {
        const char *id, *label;
    } checks[SKIPS] = {{"haproxy.connection", "connection"},
                       {"haproxy.credentials", "credentials"},
                       {"haproxy.version", "version"},
                       {"haproxy.running", "HAProxy"}};
    for (size_t i = first; i < SKIPS; i++)
        doctor_skip(s, checks[i].id, checks[i].label, "%s", why);
}

static struct doctor_peer peer_of(const struct doctor_dataplane *p, const struct doctor *d,
                                  const struct settings_dataplane *of)
{
    bool secure = str_has_prefix(of->url, "https://"), spiffe = d->clients.spiffe != NULL;
    const struct tls_files *tls = secure ? d->clients.dataplane_tls : NULL;
    return (struct doctor_peer){
        .kind = DOCTOR_PEER_HAPROXY,
        .url = of->url,
        .unix_socket = of->socket,
        .ca_setting = d->settings->dataplane_insecure ? "HAPROXY_DATAPLANE_INSECURE" : "HAPROXY_DATAPLANE_CA_FILE",
        .name_setting = "HAPROXY_DATAPLANE_SERVER_NAME",
        .cert_setting = secure && !spiffe && d->settings->dataplane_cert_file == NULL
                            ? "HAPROXY_DATAPLANE_CERT_FILE and HAPROXY_DATAPLANE_KEY_FILE"
                            : NULL,
        .refused_why =
            of->socket != NULL
                ? "no Data Plane API listens at that socket"
                : "nothing listens at that address; by default the Data Plane API listens at localhost alone",
        .shown_by = "systemctl status dataplaneapi; ss -ltnp | grep dataplane; sed -n '/^dataplaneapi:/,/^[a-z]/p' "
                    "/etc/haproxy/dataplaneapi.yml",
        .insecure = d->settings->dataplane_insecure,
        .spiffe = spiffe,
        .now_s = (int64_t)(clock_wall_ms() / 1000),
        .ca_s = tls != NULL ? tls_files_ca_not_after_s(tls) : INT64_MAX,
        .client_s = tls != NULL ? tls_files_client_not_after_s(tls) : INT64_MAX,
        .server_s = secure && !spiffe ? dataplane_client_server_not_after_s(p->client) : INT64_MAX};
}

static void report_credentials(const struct doctor_reply *v3, const struct settings_dataplane *of,
                               struct doctor_section *s)
{
    bool refused = v3->status == 401 || v3->status == 403, by_token = secret_is_set(&of->token);
    bool by_name = secret_is_set(&of->username);
    doctor_set(s, "refusal", v3->error.message);
    const struct doctor_row rows[] = {
        {refused && by_token, CHECK_FAIL,
         "the token is refused: {refusal}\n"
         "why the Data Plane API itself knows no tokens: a proxy in front of it must accept this one\n"
         "fix without such a proxy, replace HAPROXY_DATAPLANE_TOKEN by a user name and password:\n"
         "  HAPROXY_DATAPLANE_USERNAME=admin\n  HAPROXY_DATAPLANE_PASSWORD_FILE=/etc/haproxy-k8s-sync/password"},
        {refused && by_name, CHECK_FAIL, "user {user} is refused: {refusal}"},
        {refused, CHECK_FAIL, "none are set, and the API requires them: {refusal}"},
        {by_token, CHECK_OK, "the token is accepted"},
        {by_name, CHECK_OK, "user {user} is accepted"},
        {true, CHECK_OK, "none required"},
    };
    doctor_first(s, "haproxy.credentials", "credentials", rows);
    if (refused && !by_token)
        doctor_help(s, "fix set a user of the API's userlist and its password:\n"
                       "  HAPROXY_DATAPLANE_USERNAME={user}\n  HAPROXY_DATAPLANE_PASSWORD=...\n"
                       "or in haproxy.cfg, add that user; it takes effect at once:\n"
                       "  userlist dataplaneapi\n    user {user} insecure-password ...\n"
                       "and in dataplaneapi.yml, name that userlist, then restart the API:\n"
                       "  dataplaneapi:\n    userlist:\n      userlist: dataplaneapi");
}

/* True: it is a Data Plane API that can be asked. */
static bool report_api(const struct doctor_dataplane *p, const struct settings_dataplane *of, struct doctor_section *s)
{
    const struct doctor_reply *v3 = &p->gets[DATAPLANE_V3], *v2 = &p->gets[DATAPLANE_V2];
    bool refused = v3->status == 401 || v3->status == 403, good = v3->error.kind == ERROR_NONE;
    bool old = v2->asked && (v2->error.kind == ERROR_NONE || v2->status == 401);
    doctor_sets(s, {"problem", v3->error.message}, {"version", p->version != NULL ? p->version : "3"});
    doctor_set_if(s, "of-version", " (", p->version, ")");
    const struct doctor_row rows[] = {
        {good, CHECK_OK, "Data Plane API {version}"},
        {old, CHECK_FAIL,
         "a Data Plane API of version 2{of-version}\n"
         "why haproxy-k8s-sync needs version 3, whose requests differ\n"
         "fix install Data Plane API 3.0 or later, which supports HAProxy 2.4 and later; dataplaneapi.yml can stay as "
         "it is"},
        {true, CHECK_FAIL,
         "no Data Plane API answers at this URL: {problem}\n"
         "why something else listens there, such as HAProxy's statistics page, or a proxy requires a path\n"
         "fix see what answers:\n  curl -s -i -m 5 {curl}/v3/info | head -n 20"},
    };
    if (refused || good)
        report_credentials(v3, of, s);
    if (refused) {
        skip_from(SKIP_VERSION, "needs credentials", s);
        return false;
    }
    doctor_first(s, "haproxy.version", "version", rows);
    if (!good)
        skip_from(SKIP_RUNNING, "needs a Data Plane API of version 3", s);
    return good;
}

/* ---- the running HAProxy ---- */

static bool it_runs(const struct doctor_dataplane *p)
{
    return has(p, DATAPLANE_HAPROXY) && p->haproxy.problem == NULL;
}

#define FIX_SOCKET                                                   \
    "in haproxy.cfg, then restart HAProxy and the Data Plane API:\n" \
    "  global\n    stats socket /run/haproxy/admin.sock mode 660 level admin expose-fd listeners"

static void report_process(const struct doctor_dataplane *p, struct doctor_section *s)
{
    const struct doctor_reply *get = &p->gets[DATAPLANE_HAPROXY];
    const struct about_haproxy *h = &p->haproxy;
    doctor_set(s, "problem", get->error.kind != ERROR_NONE ? get->error.message : h->problem);
    doctor_word(s, "process", "%s runs%s%s", h->version != NULL ? h->version : "it",
                h->socket != NULL ? ", socket " : "", h->socket != NULL ? h->socket : "");
    const struct doctor_row rows[] = {
        {!get->asked, CHECK_SKIP, "not asked before the timeout"},
        {it_runs(p), CHECK_OK, "{process}"},
        {true, CHECK_FAIL,
         "the Data Plane API cannot reach it: {problem}\n"
         "why HAProxy does not run, or the API uses another socket\n"
         "fix see whether it runs:\n  systemctl status haproxy\n"
         "or " FIX_SOCKET},
    };
    doctor_first(s, "haproxy.running", "HAProxy", rows);
}

static void report_runtime(const struct doctor_dataplane *p, const struct inspect_report *seen,
                           const struct inspect_target *t, struct doctor_section *s)
{
    const struct runtime *runtime = NULL; /* what of the first backend that is there could be read */
    for (size_t i = 0; t != NULL && i < seen->mapping_count && runtime == NULL; i++)
        if (t->backends[i].seen && t->backends[i].actual.exists)
            runtime = &t->backends[i].runtime;
    bool readable = runtime != NULL && runtime->readable;
    bool admin = !has(p, DATAPLANE_GLOBAL) || p->global.admin_socket || p->global.sockets == 0;
    doctor_set(s, "problem", runtime != NULL && runtime->why != NULL ? runtime->why : "no reason given");
    const struct doctor_row rows[] = {
        {!it_runs(p), CHECK_SKIP, "needs HAProxy, see above"},
        {runtime == NULL, CHECK_SKIP, "needs a backend that can be read"},
        {readable && admin, CHECK_OK, "readable; the first runtime update verifies that changes need no reload"},
        {readable, CHECK_WARN, "no stats socket in haproxy.cfg has level admin"},
        {true, CHECK_WARN, "cannot read the running HAProxy: {problem}"},
    };
    doctor_first(s, "haproxy.runtime", "runtime", rows);
    if (it_runs(p) && runtime != NULL && !(readable && admin))
        doctor_help(s, "why runtime updates need it; without, each change takes a transaction and a reload. HAProxy "
                       "before 2.7 does not answer this at its master socket\n"
                       "fix " FIX_SOCKET);
}

static void report_reloads(const struct doctor_dataplane *p, struct doctor_section *s)
{
    const struct doctor_reply *get = &p->gets[DATAPLANE_RELOADS];
    const struct reload_history *r = &p->reloads;
    doctor_sets(s, {"problem", get->asked ? get->error.message : "not asked before the timeout"},
                {"response", !str_empty(r->response) ? r->response : "no message (is HAProxy running?)"});
    const struct doctor_row rows[] = {
        {!has(p, DATAPLANE_RELOADS), CHECK_SKIP, "the API does not say: {problem}"},
        {r->last_failed, CHECK_FAIL,
         "failed: {response}\n"
         "why HAProxy keeps its previous configuration; the daemon retries with backoff\n"
         "fix see what HAProxy says about the file:\n  haproxy -c -f /etc/haproxy/haproxy.cfg\n"
         "or check how the API reloads it, in dataplaneapi.yml:\n"
         "  haproxy:\n    reload:\n      reload_strategy: systemd\n      service_name: haproxy\n      reload_delay: 5"},
        {r->pending, CHECK_OK, "in progress"},
        {r->response != NULL, CHECK_OK, "succeeded"},
        {true, CHECK_OK, "none since the Data Plane API started"},
    };
    doctor_first(s, "haproxy.reload", "last reload", rows);
}

/* No line where HAProxy runs its file, nor where a write keeps the meaning of the file. */
static void report_target(const struct inspect_target *t, struct doctor_section *s)
{
    if (t->drift != NULL) {
        doctor_warn(s, "haproxy.drift", "drift", "running HAProxy differs from haproxy.cfg: %s", t->drift);
        doctor_help(s, "why an operator or another writer changed only one of them; the daemon would reload the file");
    }
    doctor_sets(
        s, {"problem", t->file_problem}, {"warning", t->file_warning},
        {"rewrites", "the Data Plane API rewrites the whole file with each change, which would change its meaning"});
    const struct doctor_row rows[] = {
        {t->file_problem != NULL, CHECK_FAIL,
         "{problem}\n"
         "why {rewrites}; nothing is written until that is fixed"},
        {t->file_warning != NULL, CHECK_WARN,
         "{warning}\n"
         "why {rewrites}; the daemon checks the new file before it writes"},
    };
    doctor_first(s, "haproxy.file", "haproxy.cfg", rows);
}

/* Whether HAProxy runs as master and worker, so that a reload keeps its connections. */
static void report_master_worker(const struct doctor_dataplane *p, const struct settings_dataplane *of,
                                 struct doctor_section *s)
{
    /* Where the API is on this machine, its HAProxy's process may be, too. */
    bool is_here = of->socket != NULL || url_is_local(of->url);
    uint64_t master = 0, parent = 0;
    bool known = p->haproxy.pid > 0 && is_here && doctor_is_haproxy((uint64_t)p->haproxy.pid, &master);
    const struct doctor_row rows[] = {
        {p->global.master_worker || (known && doctor_is_haproxy(master, &parent)), CHECK_OK,
         "the master reloads with a new worker; open connections finish in the old one"},
        {known, CHECK_FAIL,
         "HAProxy runs without a master\n"
         "why without a master, a reload is a restart that cuts every open connection\n"
         "fix in haproxy.cfg, then restart HAProxy:\n  global\n    master-worker\n"
         "or start it as its systemd unit does:\n  haproxy -Ws -f /etc/haproxy/haproxy.cfg -p /run/haproxy.pid"},
        {!it_runs(p), CHECK_SKIP, "needs HAProxy, see above"},
        {true, CHECK_SKIP,
         "not visible from here: check HAProxy's command line (-W, -Ws) or its global section\n"
         "fix on that machine:\n  ps -o args= -C haproxy; grep -n master-worker /etc/haproxy/haproxy.cfg"},
    };
    doctor_first(s, "haproxy.master-worker", "master-worker", rows);
}

static void report_transactions(const struct doctor_dataplane *p, struct doctor_section *s)
{
    const struct doctor_reply *get = &p->gets[DATAPLANE_TRANSACTIONS];
    doctor_set(s, "problem", get->asked ? get->error.message : "not asked before the timeout");
    doctor_word(s, "open", "%zu", p->open_transactions);
    doctor_set(s, "api", DATAPLANE_API);
    const struct doctor_row rows[] = {
        {!has(p, DATAPLANE_TRANSACTIONS), CHECK_SKIP, "the API does not say: {problem}"},
        {p->open_transactions == 0, CHECK_OK, "none open"},
        {p->open_transactions < OPEN_TRANSACTIONS_MANY, CHECK_OK, "{open} open; the API allows 20 by default"},
        {true, CHECK_WARN,
         "{open} are open; the API allows 20 by default\n"
         "why another client leaves its transactions open; at the limit, no transaction can start\n"
         "fix list them, and delete those that are abandoned:\n"
         "  curl -s -u {user} {curl}{api}/transactions\n"
         "  curl -s -u {user} -X DELETE {curl}{api}/transactions/ID"},
    };
    doctor_first(s, "haproxy.transactions", "transactions", rows);
}

/* ---- SPIFFE ---- */

void doctor_spiffe_report(const struct spiffe *spiffe, struct doctor_report *r)
{
    const struct spiffe_state state = spiffe_state(spiffe);
    struct doctor_section *s = doctor_section(r, "spiffe", state.socket, NULL);
    char end[RFC3339_BYTES] = "";
    if (state.id != NULL)
        rfc3339_format(state.not_after_s * 1000000, 0, end);
    doctor_sets(s, {"problem", state.problem}, {"socket", state.socket}, {"id", state.id}, {"end", end});
    const struct doctor_row agent[] = {
        {state.problem == NULL, CHECK_OK, "answers"},
        {true, CHECK_FAIL,
         "{problem}\n"
         "why without it there is no identity, and nothing is sent to the Data Plane API\n"
         "fix see whether the agent runs, and ask it as this user:\n"
         "  spire-agent api fetch x509 -socketPath {socket}\n"
         "or see whether an entry is registered whose selectors match this process:\n  spire-server entry show"},
    };
    const struct doctor_row identity[] = {
        {state.id == NULL, CHECK_SKIP, "needs the Workload API"},
        {!state.expired, CHECK_OK, "{id} until {end}"},
        {true, CHECK_FAIL,
         "{id} expired at {end}\n"
         "fix see the agent's log: it renews SVIDs by itself; or this machine's clock is wrong"},
    };
    doctor_first(s, "spiffe.agent", "Workload API", agent);
    doctor_first(s, "spiffe.identity", "identity", identity);
}

/* ---- all of it ---- */

void doctor_dataplane_report(const struct doctor_dataplane *p, const struct doctor *d,
                             const struct settings_dataplane *of, const struct inspect_report *seen,
                             const struct inspect_target *target, struct doctor_section *s)
{
    const struct spiffe *spiffe = d->clients.spiffe;
    struct error err = {0};
    bool named = secret_is_set(&of->username) && of->username.value != NULL;
    doctor_set(s, "user", named ? of->username.value : "admin");
    doctor_word(s, "curl", "%s%s%s", of->socket != NULL ? "--unix-socket " : "",
                of->socket != NULL ? of->socket : of->url, of->socket != NULL ? " http://localhost" : "");
    if (p->client == NULL) {
        doctor_fail(s, "haproxy.access", "access", "%s", d->no_dataplanes.message);
        doctor_help(s, "fix correct that setting: it must name a PEM file that this user may read");
        skip_from(SKIP_CONNECTION, "needs access", s);
        return;
    }
    if (spiffe != NULL && spiffe_usable(spiffe, &err) != 0) {
        skip_from(SKIP_CONNECTION, "needs an identity, see SPIFFE", s);
        return;
    }
    const struct doctor_peer peer = peer_of(p, d, of);
    const struct doctor_reply *v3 = &p->gets[DATAPLANE_V3];
    if (!doctor_connection_report(&peer, &p->connection, v3->status == 0 ? &v3->error : NULL, s)) {
        skip_from(SKIP_CREDENTIALS, "needs a connection", s);
        return;
    }
    if (spiffe != NULL) {
        const char *id = spiffe_peer_seen(spiffe, of->url); /* of the server, which was spoken to */
        doctor_set(s, "id", id);
        const struct doctor_row rows[] = {
            {id != NULL && spiffe_state(spiffe).peer_id != NULL, CHECK_OK, "{id}, as SPIFFE_PEER_ID has it"},
            {id != NULL, CHECK_WARN,
             "{id}, which is not checked\n"
             "why whatever has an identity of the trust domain can pass for the Data Plane API\n"
             "fix accept this one alone:\n  SPIFFE_PEER_ID={id}"},
        };
        doctor_first(s, "haproxy.identity", "identity", rows);
    }
    if (!report_api(p, of, s))
        return;
    report_process(p, s);
    report_runtime(p, seen, target, s);
    report_reloads(p, s);
    if (target != NULL)
        report_target(target, s);
    report_master_worker(p, of, s);
    report_transactions(p, s);
}

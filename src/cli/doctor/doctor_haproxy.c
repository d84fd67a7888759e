#include "cli/doctor/doctor_haproxy.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "settings/settings.h"
#include "haproxy/dataplane/client.h"
#include "net/spiffe.h"
#include "net/tls_files.h"
#include "cli/doctor/doctor_connection.h"
#include "cli/doctor/doctor_dataplane.h"
#include "cli/doctor/doctor_report.h"
#include "cli/doctor/doctor_spiffe.h"

#define OPEN_TRANSACTIONS_MANY 10 /* half of what the API allows by default */

static void skip_from(size_t first, const char *why, struct doctor_section *s)
{
    static const struct {
        const char *id, *label;
    } checks[] = {{"haproxy.connection", "connection"},
                  {"haproxy.credentials", "credentials"},
                  {"haproxy.version", "version"},
                  {"haproxy.running", "HAProxy"}};
    for (size_t i = first; i < array_len(checks); i++)
        doctor_skip(s, checks[i].id, checks[i].label, "%s", why);
}

static struct doctor_peer peer_of(const struct doctor_haproxy_input *in)
{
    bool secure = str_has_prefix(in->of->url, "https://");
    bool tls = secure && in->tls != NULL;
    return (struct doctor_peer){
        .kind = DOCTOR_PEER_HAPROXY,
        .url = in->of->url,
        .unix_socket = in->of->socket,
        .proxy = in->settings->proxy_from_environment && in->of->socket == NULL
                     ? "a proxy may be in between (PROXY_FROM_ENVIRONMENT)"
                     : NULL,
        .ca_setting = in->settings->dataplane_insecure ? "HAPROXY_DATAPLANE_INSECURE" : "HAPROXY_DATAPLANE_CA_FILE",
        .name_setting = "HAPROXY_DATAPLANE_SERVER_NAME",
        .refused_why =
            in->of->socket != NULL
                ? "no Data Plane API listens at that socket"
                : "nothing listens at that address; by default the Data Plane API listens at localhost alone",
        .look = "systemctl status dataplaneapi; ss -ltnp | grep dataplane; sed -n '/^dataplaneapi:/,/^[a-z]/p' "
                "/etc/haproxy/dataplaneapi.yml",
        .insecure = in->settings->dataplane_insecure,
        .spiffe = in->spiffe != NULL,
        .now_s = (int64_t)(clock_wall_ms() / 1000),
        .ca_s = tls ? tls_files_ca_not_after_s(in->tls) : INT64_MAX,
        .client_s = tls ? tls_files_client_not_after_s(in->tls) : INT64_MAX,
        .server_s = secure && in->spiffe == NULL ? dataplane_client_server_not_after_s(in->asked->client) : INT64_MAX};
}

/* ---- credentials, and which API it is ---- */

static const char *user_of(const struct settings_dataplane *of)
{
    return secret_is_set(&of->username) && of->username.value != NULL ? of->username.value : "admin";
}

static void refused(const struct doctor_haproxy_input *in, const struct doctor_get *get, struct doctor_section *s)
{
    const struct settings_dataplane *of = in->of;
    if (secret_is_set(&of->token)) {
        struct doctor_check *c =
            doctor_fail(s, "haproxy.credentials", "credentials", "the token is refused: %s", get->error.message);
        doctor_why(c, "the Data Plane API itself knows no tokens: a proxy in front of it must accept this one");
        doctor_fix(c, "without such a proxy, replace HAPROXY_DATAPLANE_TOKEN by a user name and password",
                   "HAPROXY_DATAPLANE_USERNAME=admin\nHAPROXY_DATAPLANE_PASSWORD_FILE=/etc/haproxy-k8s-sync/password");
        return;
    }
    bool given = secret_is_set(&of->username);
    struct doctor_check *c = given ? doctor_fail(s, "haproxy.credentials", "credentials", "user %s is refused: %s",
                                                 user_of(of), get->error.message)
                                   : doctor_fail(s, "haproxy.credentials", "credentials",
                                                 "none are set, and the API requires them: %s", get->error.message);
    doctor_fix(c, "set a user of the API's userlist and its password",
               "HAPROXY_DATAPLANE_USERNAME=%s\nHAPROXY_DATAPLANE_PASSWORD=...", user_of(of));
    doctor_fix(c, "in haproxy.cfg, add that user; it takes effect at once",
               "userlist dataplaneapi\n  user %s insecure-password ...", user_of(of));
    doctor_also(c);
    doctor_fix(c, "in dataplaneapi.yml, name that userlist, then restart the API",
               "dataplaneapi:\n  userlist:\n    userlist: dataplaneapi");
    doctor_also(c);
}

/* An argument of curl. Allocates. */
static char *curl_place(const struct settings_dataplane *of)
{
    return of->socket != NULL ? mem_printf("--unix-socket %s http://localhost", of->socket) : mem_strdup(of->url);
}

static void wrong_api(const struct doctor_dataplane *d, const struct settings_dataplane *of, struct doctor_section *s)
{
    const struct doctor_get *v2 = &d->gets[DATAPLANE_V2];
    bool old = v2->asked && (v2->error.kind == ERROR_NONE || v2->status == 401);
    if (old) {
        struct doctor_check *c = doctor_fail(s, "haproxy.version", "version", "a Data Plane API of version 2%s%s%s",
                                             d->version != NULL ? " (" : "", d->version != NULL ? d->version : "",
                                             d->version != NULL ? ")" : "");
        doctor_why(c, "haproxy-k8s-sync needs version 3, whose requests differ");
        doctor_advice(c, "install Data Plane API 3.0 or later, which supports HAProxy 2.4 and later; dataplaneapi.yml "
                         "can stay as it is");
        return;
    }
    struct doctor_check *c = doctor_fail(s, "haproxy.version", "version", "no Data Plane API answers at this URL: %s",
                                         d->gets[DATAPLANE_V3].error.message);
    doctor_why(c, "something else listens there, such as HAProxy's statistics page, or a proxy requires a path");
    cleanup(mem_free_ptr) char *place = curl_place(of);
    doctor_fix(c, "see what answers", "curl -s -i -m 5 %s/v3/info | head -n 20", place);
}

static bool report_api(const struct doctor_haproxy_input *in, struct doctor_section *s)
{
    const struct doctor_dataplane *d = in->asked;
    const struct doctor_get *v3 = &d->gets[DATAPLANE_V3];
    if (v3->status == 401 || v3->status == 403) {
        refused(in, v3, s);
        skip_from(2, "needs credentials", s);
        return false;
    }
    if (v3->error.kind != ERROR_NONE) {
        wrong_api(d, in->of, s);
        skip_from(3, "needs a Data Plane API of version 3", s);
        return false;
    }
    if (secret_is_set(&in->of->token))
        doctor_ok(s, "haproxy.credentials", "credentials", "the token is accepted");
    else if (secret_is_set(&in->of->username))
        doctor_ok(s, "haproxy.credentials", "credentials", "user %s is accepted", user_of(in->of));
    else
        doctor_ok(s, "haproxy.credentials", "credentials", "none required");
    doctor_ok(s, "haproxy.version", "version", "Data Plane API %s", d->version != NULL ? d->version : "3");
    return true;
}

/* ---- transactions ---- */

static void report_transactions(const struct doctor_haproxy_input *in, struct doctor_section *s)
{
    const struct doctor_dataplane *d = in->asked;
    static const char id[] = "haproxy.transactions", label[] = "transactions";
    const struct doctor_get *get = &d->gets[DATAPLANE_TRANSACTIONS];
    if (!get->asked || get->error.kind != ERROR_NONE) {
        doctor_skip(s, id, label, "the API does not say: %s",
                    get->asked ? get->error.message : "not asked before the timeout");
        return;
    }
    if (d->open_transactions < OPEN_TRANSACTIONS_MANY) {
        if (d->open_transactions == 0)
            doctor_ok(s, id, label, "none open");
        else
            doctor_ok(s, id, label, "%zu open; the API allows 20 by default", d->open_transactions);
        return;
    }
    struct doctor_check *c =
        doctor_warn(s, id, label, "%zu are open; the API allows 20 by default", d->open_transactions);
    doctor_why(c, "another client leaves its transactions open; at the limit, no transaction can start");
    cleanup(mem_free_ptr) char *place = curl_place(in->of);
    doctor_fix(c, "list them, and delete those that are abandoned",
               "curl -s -u %s %s" DATAPLANE_API "/transactions\n"
               "curl -s -u %s -X DELETE %s" DATAPLANE_API "/transactions/ID",
               user_of(in->of), place, user_of(in->of), place);
}

void doctor_haproxy_report(const struct doctor_haproxy_input *in, struct doctor_section *s)
{
    const struct doctor_dataplane *d = in->asked;
    if (d->client == NULL) {
        struct doctor_check *c = doctor_fail(s, "haproxy.access", "access", "%s", in->no_client->message);
        doctor_advice(c, "correct that setting: it must name a PEM file that this user may read");
        skip_from(0, "needs access", s);
        return;
    }
    struct error err = {0};
    if (in->spiffe != NULL && spiffe_usable(in->spiffe, &err) != 0) {
        skip_from(0, "needs an identity, see SPIFFE", s);
        return;
    }
    struct doctor_peer peer = peer_of(in);
    const struct doctor_get *v3 = &d->gets[DATAPLANE_V3];
    if (!doctor_connection_report(&peer, &d->connection, v3->status == 0 ? &v3->error : NULL, s)) {
        skip_from(1, "needs a connection", s);
        return;
    }
    if (in->spiffe != NULL)
        doctor_spiffe_report_peer(in->spiffe, in->of->url, s);
    if (!report_api(in, s))
        return;
    doctor_running_report(in, s);
    doctor_master_worker_report(in, s);
    report_transactions(in, s);
}

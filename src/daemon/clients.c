#include "daemon/clients.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/rfc3339.h"
#include "base/str.h"
#include "haproxy/dataplane/driver.h"
#include "haproxy/local/driver.h"
#include "haproxy/local/helper.h"
#include "settings/url.h"
#include "settings/settings.h"
#include "kube/client.h"
#include "settings/kubeconfig/kubeconfig.h"
#include "net/http.h"
#include "net/spiffe.h"
#include "net/tls_files.h"
#include "report/checks.h"
#include "report/metric_table.h"

int clients_dataplane_tls(const struct settings *c, const struct log *log, struct tls_files **ret, struct error *err)
{
    const struct tls_files_options options = {
        .peer = "Data Plane API",
        .ca = {.name = "HAPROXY_DATAPLANE_CA_FILE", .path = c->dataplane_ca_file},
        .cert = {.name = "HAPROXY_DATAPLANE_CERT_FILE", .path = c->dataplane_cert_file},
        .key = {.name = "HAPROXY_DATAPLANE_KEY_FILE", .path = c->dataplane_key_file},
        .server_name = c->dataplane_server_name,
        .insecure = c->dataplane_insecure,
    };
    *ret = NULL;
    if ((!dataplanes_any_https(c) && !settings_haproxies_are_pods(c)) || c->spire_socket != NULL)
        return 0;
    *ret = tls_files_new(&options, err);
    if (*ret == NULL)
        return -1;
    if (c->dataplane_insecure)
        log_warn(log, "TLS certificates of the Data Plane API are not verified (HAPROXY_DATAPLANE_INSECURE)");
    return 0;
}

void clients_spiffe(struct event_base *base, const struct settings *settings, const struct clients_hooks *hooks,
                    const struct log *log, struct clients *c)
{
    if (settings->spire_socket == NULL)
        return;
    const struct spiffe_options options = {.socket = dataplane_url_socket(settings->spire_socket),
                                           .peer_id = settings->spiffe_peer_id,
                                           .log = log,
                                           .news = hooks->identity_news,
                                           .arg = hooks->arg};
    c->spiffe = spiffe_new(base, c->http, &options);
}

void clients_settle(struct event_base *base, const struct clients *c)
{
    while (c->spiffe != NULL && !spiffe_settled(c->spiffe))
        if (event_base_loop(base, EVLOOP_ONCE) != 0)
            break;
}

struct dataplane_client *clients_dataplane(struct event_base *base, const struct clients *c,
                                           struct settings_dataplane *d, const struct clients_hooks *hooks,
                                           const struct log *log, struct error *err)
{
    const struct dataplane_client_options options = {.url = d->url,
                                                     .unix_socket = d->socket,
                                                     .username = &d->username,
                                                     .password = &d->password,
                                                     .token = &d->token,
                                                     .tls = c->dataplane_tls,
                                                     .spiffe = c->spiffe,
                                                     .log = log,
                                                     .events = hooks->events,
                                                     .gate = hooks->gate};
    return dataplane_client_new(base, c->http, &options, err);
}

/* ---- one more ---- */

static struct settings_dataplane *clients_credentials(const struct settings *settings, const char *url,
                                                      struct error *err)
{
    struct settings_dataplane *d = mem_alloc(sizeof(*d));
    struct secret *const secrets[] = {&d->username, &d->password, &d->token};
    const struct secret *const of_all[] = {&settings->dataplane_username, &settings->dataplane_password,
                                           &settings->dataplane_token};
    d->url = mem_strdup(url);
    for (size_t i = 0; i < array_len(secrets); i++) {
        secret_copy(secrets[i], of_all[i]);
        if (secrets[i]->path == NULL || secret_refresh(secrets[i], true, NULL, err) == 0)
            continue;
        settings_dataplane_fini(d);
        free(d);
        return NULL;
    }
    return d;
}

static void clients_dataplane_fini(struct clients_dataplane *d)
{
    dataplane_client_free(d->file);
    dataplane_client_free(d->runtime);
    if (d->own != NULL)
        settings_dataplane_fini(d->own);
    free(d->own);
}

static int clients_connect(struct event_base *base, const struct clients *c, struct settings_dataplane *to,
                           const struct clients_hooks *hooks, const struct log *log, struct clients_dataplane *ret,
                           struct error *err)
{
    ret->file = clients_dataplane(base, c, to, hooks, log, err);
    if (ret->file == NULL)
        return -1;
    ret->runtime = clients_dataplane(base, c, to, hooks, log, err);
    return ret->runtime != NULL ? 0 : -1;
}

int clients_add(struct event_base *base, struct clients *c, const struct settings *settings, const char *url,
                const struct clients_hooks *hooks, const struct log *log, struct clients_dataplane *ret,
                struct error *err)
{
    struct clients_dataplane d = {.own = clients_credentials(settings, url, err)};
    if (d.own == NULL)
        return -1;
    if (clients_connect(base, c, d.own, hooks, log, &d, err) != 0) {
        clients_dataplane_fini(&d);
        return -1;
    }
    c->dataplanes = mem_resize(c->dataplanes, c->dataplane_count + 1, sizeof(c->dataplanes[0]));
    c->dataplanes[c->dataplane_count++] = *ret = d;
    return 0;
}

void clients_remove(struct clients *c, const struct dataplane_client *file)
{
    for (size_t i = 0; i < c->dataplane_count; i++) {
        if (c->dataplanes[i].file != file)
            continue;
        clients_dataplane_fini(&c->dataplanes[i]);
        memmove(&c->dataplanes[i], &c->dataplanes[i + 1], (--c->dataplane_count - i) * sizeof(c->dataplanes[0]));
        return;
    }
}

/* ---- a HAProxy on this machine ---- */

/* The files in front of the file itself and behind it, each list with NULL at its end. */
static const char **clients_check_files(const struct settings_local *l, bool behind)
{
    const char **list = mem_array(l->check_files.count + 1, sizeof(list[0]));
    size_t n = 0, own = l->check_files.count;
    for (size_t i = 0; i < l->check_files.count; i++)
        if (str_eq(l->check_files.list[i], l->file))
            own = i;
    for (size_t i = 0; i < l->check_files.count; i++)
        if (i != own && (i > own) == behind)
            list[n++] = l->check_files.list[i];
    return list;
}

_Static_assert((int)SETTINGS_FOLDER_MAPS == (int)STORAGE_MAP &&
                   (int)SETTINGS_FOLDER_CERTS == (int)STORAGE_CERTIFICATE &&
                   (int)SETTINGS_FOLDER_FILES == (int)STORAGE_GENERAL,
               "the helper knows a folder by its kind");

struct clients_folders {
    char *list[STORAGE_KINDS + 1]; /* ends with NULL */
};

static void clients_folders_fini(struct clients_folders *f)
{
    for (int i = 0; i < STORAGE_KINDS; i++)
        free(f->list[i]);
}

static struct clients_folders clients_folders(const struct settings_local *l)
{
    struct clients_folders f = {0};
    for (int i = 0; i < STORAGE_KINDS; i++)
        f.list[i] = settings_local_folder(l, (enum settings_folder)i);
    return f;
}

static struct local_helper *clients_helper(struct event_base *base, const struct settings *settings,
                                           const struct clients_hooks *hooks, struct error *err)
{
    const struct settings_local *l = &settings->local;
    cleanup(mem_free_ptr) const char **before = clients_check_files(l, false), **after = clients_check_files(l, true);
    cleanup(mem_free_ptr) char *text = mem_strdup(l->reload_command != NULL ? l->reload_command : "");
    cleanup(mem_free_ptr) const char **command = mem_array(strlen(text) / 2 + 2, sizeof(command[0]));
    size_t words = 0;
    char *rest = text;
    for (char *word; (word = strsep(&rest, " \t")) != NULL;)
        if (*word != '\0')
            command[words++] = word;
    cleanup(clients_folders_fini) struct clients_folders folders = clients_folders(l);
    const struct local_helper_options options = {.config_file = l->file,
                                                 .files_before = before,
                                                 .files_after = after,
                                                 .folders = (const char *const *)folders.list,
                                                 .haproxy = l->program,
                                                 .environment_file = l->environment_file,
                                                 .master_socket = l->master_socket,
                                                 .stats_socket = l->stats_socket,
                                                 .reload_command = l->reload_command != NULL ? command : NULL,
                                                 .without_seccomp = !settings->seccomp};
    struct local_helper *h = local_helper_start(&options, err);
    if (h != NULL)
        local_helper_attach(h, base, &hooks->helper);
    return h;
}

struct driver **clients_drivers(struct event_base *base, const struct clients *c, const struct settings *settings,
                                size_t *ret_count)
{
    const struct settings_local *l = &settings->local;
    struct driver **list = mem_array(c->dataplane_count + 1, sizeof(list[0]));
    size_t n = 0;
    cleanup(mem_free_ptr) const char **before = clients_check_files(l, false), **after = clients_check_files(l, true);
    cleanup(clients_folders_fini) struct clients_folders folders =
        l->file != NULL ? clients_folders(l) : (struct clients_folders){0};
    const struct local_driver_options local = {.helper = c->local_file,
                                               .commands = c->local_commands,
                                               .file = l->file,
                                               .folders = (const char *const *)folders.list,
                                               .has_master = l->master_socket != NULL,
                                               .has_stats = l->stats_socket != NULL,
                                               .files_before = before[0] != NULL,
                                               .files_after = after[0] != NULL,
                                               .takes_turns = settings_share_backends(settings),
                                               .by_master = l->reload_command == NULL};
    if (c->local_file != NULL)
        list[n++] = local_driver_new(base, &local);
    for (size_t i = 0; i < c->dataplane_count && c->dataplanes[i].own == NULL; i++)
        list[n++] = dataplane_driver_new(base, c->dataplanes[i].file, c->dataplanes[i].runtime);
    *ret_count = n;
    return list;
}

int clients_local(struct event_base *base, const struct settings *settings, const struct clients_hooks *hooks,
                  struct clients *ret, struct error *err)
{
    if (settings->local.file == NULL)
        return 0;
    ret->local_file = clients_helper(base, settings, hooks, err);
    ret->local_commands = ret->local_file != NULL ? clients_helper(base, settings, hooks, err) : NULL;
    return ret->local_commands != NULL ? 0 : -1;
}

int clients_make(struct event_base *base, struct settings *settings, const struct kube_access *access,
                 const char *version, const struct clients_hooks *hooks, const struct log *log, struct clients *ret,
                 struct error *err)
{
    cleanup(mem_free_ptr) char *agent = mem_printf("haproxy-k8s-sync/%s", version);
    *ret = (struct clients){0};
    if (clients_local(base, settings, hooks, ret, err) != 0)
        return -1;
    ret->http = http_new(base, agent, err);
    if (ret->http == NULL)
        return -1;
    if (access->server != NULL && (ret->kube = kube_client_new(ret->http, access, log, err)) == NULL)
        return -1;
    if (clients_dataplane_tls(settings, log, &ret->dataplane_tls, err) != 0)
        return -1;
    clients_spiffe(base, settings, hooks, log, ret);
    ret->dataplanes = mem_array(settings->dataplane_count, sizeof(ret->dataplanes[0]));
    for (size_t i = 0; i < settings->dataplane_count; i++) {
        struct clients_dataplane *d = &ret->dataplanes[ret->dataplane_count++];
        if (clients_connect(base, ret, &settings->dataplanes[i], hooks, log, d, err) != 0)
            return -1;
    }
    return 0;
}

void clients_free(struct clients *c)
{
    for (size_t i = 0; i < c->dataplane_count; i++)
        clients_dataplane_fini(&c->dataplanes[i]);
    free(c->dataplanes);
    tls_files_free(c->dataplane_tls);
    spiffe_free(c->spiffe);
    kube_client_free(c->kube);
    http_free(c->http);
    local_helper_free(c->local_file);
    local_helper_free(c->local_commands);
    *c = (struct clients){0};
}

/* ---- certificates ---- */

struct visitor {
    void (*fn)(void *arg, const char *peer, const char *which, int64_t not_after_s);
    void *arg;
};

static void visit(const struct visitor *v, const char *peer, const char *which, int64_t not_after_s)
{
    if (not_after_s != INT64_MAX)
        v->fn(v->arg, peer, which, not_after_s);
}

static void visit_files(const struct visitor *v, const char *peer, const struct tls_files *files)
{
    visit(v, peer, "ca", tls_files_ca_not_after_s(files));
    visit(v, peer, "client", tls_files_client_not_after_s(files));
}

void certificates_each(const struct clients *c,
                       void (*fn)(void *arg, const char *peer, const char *which, int64_t not_after_s), void *arg)
{
    const struct visitor v = {.fn = fn, .arg = arg};
    if (c->kube != NULL) {
        visit_files(&v, "kubernetes", kube_client_tls(c->kube));
        visit(&v, "kubernetes", "server", kube_client_server_not_after_s(c->kube));
    }
    for (size_t i = 0; i < c->dataplane_count; i++) {
        const char *url = dataplane_client_url(c->dataplanes[i].file);
        if (!str_has_prefix(url, "https://"))
            continue;
        if (c->spiffe != NULL)
            visit(&v, url, "client", spiffe_state(c->spiffe).not_after_s);
        else
            visit_files(&v, url, c->dataplane_tls);
        /* The connection that saw it later has the newer certificate, which nearly always is the one that expires later. */
        int64_t a = dataplane_client_server_not_after_s(c->dataplanes[i].file),
                b = dataplane_client_server_not_after_s(c->dataplanes[i].runtime), later = a > b ? a : b;
        visit(&v, url, "server", later != INT64_MAX ? later : a < b ? a : b);
    }
}

static void set(void *arg, const char *peer, const char *which, int64_t not_after_s)
{
    metric_set(arg, (double)not_after_s, peer, which, NULL);
}

/* SVIDs live for an hour or so, and are no certificates that an operator has to renew. */
static void set_but_svids(void *arg, const char *peer, const char *which, int64_t not_after_s)
{
    if (str_eq(peer, "kubernetes"))
        set(arg, peer, which, not_after_s);
}

void certificates_measure(const struct clients *c, struct metric_table *metrics, const struct log *log)
{
    metric_clear(metrics->certificate_expiration); /* what is not in use any more is not shown */
    metric_clear(metrics->svid_expiration);
    if (c->kube != NULL)
        tls_files_follow(kube_client_tls(c->kube), log);
    tls_files_follow(c->dataplane_tls, log);
    certificates_each(c, c->spiffe != NULL ? set_but_svids : set, metrics->certificate_expiration);
    const struct spiffe_state s = c->spiffe != NULL ? spiffe_state(c->spiffe) : (struct spiffe_state){0};
    if (s.id != NULL)
        metric_set(metrics->svid_expiration, (double)s.not_after_s, s.id, NULL);
}

/* ---- the check ---- */

/* "until 2026-11-25T17:00:00Z, peer spiffe://...": what is good about it. */
static char *identity_reason(const struct clients *c, const struct spiffe_state *s)
{
    cleanup(buf_fini) struct buf text = {0};
    char end[RFC3339_BYTES];
    rfc3339_format(s->not_after_s * 1000000, 0, end);
    buf_printf(&text, "%s until %s", s->id, end);
    for (size_t i = 0; i < c->dataplane_count && s->peer_id == NULL; i++) {
        const char *url = dataplane_client_url(c->dataplanes[i].file), *seen = spiffe_peer_seen(c->spiffe, url);
        if (seen != NULL)
            buf_printf(&text, "; %s has %s, which is not checked", url, seen);
    }
    if (s->problem != NULL)
        buf_printf(&text, "; the Workload API at %s does not answer: %s", s->socket, s->problem);
    return buf_take(&text);
}

bool certificates_ready(const struct clients *c, struct checks *checks)
{
    struct error err = {0};
    if (c->spiffe == NULL)
        return true;
    const struct spiffe_state s = spiffe_state(c->spiffe);
    bool usable = spiffe_usable(c->spiffe, &err) == 0;
    char *reason = usable ? identity_reason(c, &s) : mem_strdup(err.message);
    char *hint = !usable || s.problem != NULL ? mem_printf("see the log of the SPIRE agent behind %s", s.socket)
                 : s.peer_id == NULL          ? mem_strdup("set SPIFFE_PEER_ID to the Data Plane API's SPIFFE ID")
                                              : NULL;
    enum check_state state = !usable ? CHECK_FAIL : hint != NULL ? CHECK_WARN : CHECK_OK;
    checks_add(checks, state, mem_strdup("SPIFFE identity"), reason, hint);
    return usable;
}

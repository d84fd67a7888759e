#include "cli/running_daemon.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rfc3339.h"
#include "base/str.h"
#include "daemon/leadership.h"
#include "kube/client.h"
#include "kube/lease/lease.h"
#include "net/http.h"
#include "settings/kubeconfig/kubeconfig.h"
#include "settings/settings.h"
#include "cli/command.h"
#include "cli/run.h"

#define ANSWER_MAX_BYTES ((size_t)8 << 20)
#define STARTED_MAX_BYTES ((size_t)1 << 20) /* of a command line, and of an environment */

char *running_daemon_url(const struct settings *s)
{
    if (s->listen.host == NULL)
        return NULL;
    bool any6 = str_eq(s->listen.host, "::"),
         any = any6 || str_empty(s->listen.host) || str_eq(s->listen.host, "0.0.0.0");
    const char *host = any6 ? "::1" : any ? "127.0.0.1" : s->listen.host;
    cleanup(mem_free_ptr) char *place = str_host_port(host, s->listen.port);
    return mem_printf("http://%s", place);
}

/* ---- one answer */

void daemon_answer_fini(struct daemon_answer *a)
{
    buf_fini(&a->body);
}

static void daemon_on_answer(void *arg, const struct http_response *r, const struct error *err)
{
    struct daemon_answer *a = arg;
    a->over = true;
    a->connected = http_response_connection(r).reached >= HTTP_REACHED_PEER;
    if (err != NULL) {
        a->error = *err;
        return;
    }
    a->status = r->status;
    buf_addn(&a->body, buf_str(r->body), r->body->len);
}

static const struct http_callbacks daemon_callbacks = {.on_done = daemon_on_answer};

void daemon_get(struct event_base *base, const char *url, const char *path, uint64_t timeout_ms,
                struct daemon_answer *ret)
{
    const uint64_t most_ms = timeout_ms < DAEMON_REQUEST_MS ? timeout_ms : DAEMON_REQUEST_MS;
    const struct http_request_options options = {.method = "GET",
                                                 .path = path,
                                                 .max_body_bytes = ANSWER_MAX_BYTES,
                                                 .connect_timeout_ms = most_ms,
                                                 .total_timeout_ms = most_ms};
    cleanup(http_endpoint_fini) struct http_endpoint endpoint = {.base_url = mem_strdup(url)};
    *ret = (struct daemon_answer){0};
    struct http *http = http_new(base, "haproxy-k8s-sync", &ret->error);
    if (http != NULL && http_start(http, &endpoint, &options, &daemon_callbacks, ret, &ret->error) != NULL)
        run_until_over(base, &ret->over);
    http_free(http);
}

/* ---- whether there is one */

static char *running_daemon_find_by_lease(struct event_base *base, const struct running_daemon_options *o,
                                          char **ret_unknown)
{
    const struct settings *s = o->settings;
    cleanup(daemon_answer_fini) struct daemon_answer a = {0};
    const char *namespace = leadership_namespace(s, o->access->namespace);
    cleanup(mem_free_ptr) char *name = mem_printf("%s/%s", namespace, s->lease_name);
    cleanup(mem_free_ptr) char *path =
        mem_printf("/apis/coordination.k8s.io/v1/namespaces/%s/leases/%s", namespace, s->lease_name);
    struct http_request_options options = {.method = "GET",
                                           .path = path,
                                           .max_body_bytes = LEASE_MAX_BYTES,
                                           .connect_timeout_ms = o->timeout_ms,
                                           .total_timeout_ms = o->timeout_ms};
    struct lease lease;
    int64_t renewed_us, now_us;
    if (kube_client_start(o->kube, &options, &daemon_callbacks, &a, &a.error) != NULL)
        run_until_over(base, &a.over);
    if (a.status == 404)
        return NULL;
    if (a.status != 200 || lease_decode(buf_str(&a.body), a.body.len, &lease, &a.error) != 0) {
        *ret_unknown = a.status != 0 && a.status != 200
                           ? mem_printf("the Lease %s cannot be read: HTTP %d", name, a.status)
                           : mem_printf("the Lease %s cannot be read: %s", name, a.error.message);
        return NULL;
    }
    /* Its clock and ours may differ by a little: a Lease that is renewed every 2 s and lives for 15 is not judged by a
     * second. */
    now_us = (int64_t)clock_wall_ms() * 1000;
    if (lease.holder[0] == '\0' || rfc3339_parse(lease.renew_time, &renewed_us) != 0 ||
        now_us - renewed_us > (int64_t)lease.duration_s * 1000000)
        return NULL;
    return mem_printf("the Lease %s is held by %s", name, lease.holder);
}

/* Of words with a 0 behind each, the one behind `word`; NULL: that was the last one, or there are none. */
static const char *process_next(const struct buf *words, const char *word)
{
    const char *next = word == NULL ? words->data : word + strlen(word) + 1;
    return next != NULL && next < words->data + words->len ? next : NULL;
}

/* The first word that has that in it, and no digit behind: a port goes on. */
static bool process_has(const struct buf *words, const char *what)
{
    for (const char *word = NULL; (word = process_next(words, word)) != NULL;)
        for (const char *at = word; (at = strstr(at, what)) != NULL; at++)
            if (!isdigit((unsigned char)at[strlen(what)]))
                return true;
    return false;
}

/* What stands behind its name and "="; NULL: it is not there. */
static const char *process_variable(const struct buf *env, const char *name)
{
    for (const char *word = NULL; (word = process_next(env, word)) != NULL;)
        if (str_has_prefix(word, name))
            return word + strlen(name);
    return NULL;
}

/* A daemon, not a command: none of its words is one. */
static bool process_is_daemon(const struct buf *words)
{
    const char *program = process_next(words, NULL), *slash = program != NULL ? strrchr(program, '/') : NULL;
    bool is = program != NULL && str_has_prefix(slash != NULL ? slash + 1 : program, "haproxy-k8s-sync");
    for (const char *word = program; is && (word = process_next(words, word)) != NULL;)
        is = command_find(word, NULL) == NULL || str_eq(word, "watch");
    return is;
}

char *running_daemon_process(const struct settings *s)
{
    char *found = NULL;
    DIR *dir = opendir("/proc");
    for (struct dirent *e; found == NULL && dir != NULL && (e = readdir(dir)) != NULL;) {
        cleanup(buf_fini) struct buf words, env;
        cleanup(mem_free_ptr) char *words_at = mem_printf("/proc/%s/cmdline", e->d_name);
        cleanup(mem_free_ptr) char *env_at = mem_printf("/proc/%s/environ", e->d_name);
        uint64_t pid;
        buf_init(&words, STARTED_MAX_BYTES);
        buf_init_secret(&env, STARTED_MAX_BYTES);
        if (str_parse_uint(e->d_name, INT_MAX, &pid) != 0 || pid == (uint64_t)getpid() ||
            buf_read_file(&words, words_at) != 0 || !process_is_daemon(&words) || buf_read_file(&env, env_at) != 0)
            continue;
        /* One of another cluster leaves the servers of this one as they are. */
        const char *cluster = process_variable(&env, "CLUSTER_NAME=");
        if (settings_share_backends(s) && !str_eq(cluster, s->cluster_name))
            continue;
        const char *listens = process_variable(&env, "LISTEN_ADDRESS=");
        for (size_t i = 0; found == NULL && i < settings_haproxy_count(s); i++)
            if (process_has(&env, settings_haproxy_name(s, i)) || process_has(&words, settings_haproxy_name(s, i)))
                found = mem_printf("process %s of this machine is a daemon for %s, with %s%s", e->d_name,
                                   settings_haproxy_name(s, i), listens != NULL ? "LISTEN_ADDRESS=" : "",
                                   listens != NULL ? listens : "the default of LISTEN_ADDRESS");
    }
    if (dir != NULL)
        closedir(dir);
    return found;
}

char *running_daemon_find(struct event_base *base, const struct running_daemon_options *o, char **ret_unknown)
{
    cleanup(daemon_answer_fini) struct daemon_answer live = {0};
    cleanup(mem_free_ptr) char *url = o->url == NULL    ? NULL
                                      : *o->url != '\0' ? mem_strdup(o->url)
                                                        : running_daemon_url(o->settings);
    *ret_unknown = NULL;
    if (url != NULL)
        daemon_get(base, url, "/livez", o->timeout_ms, &live);
    if (live.status == 200)
        return mem_printf("a daemon answers at %s", url);
    char *here = url != NULL ? running_daemon_process(o->settings) : NULL;
    if (here != NULL)
        return here;
    if (o->settings->leader_elect && o->kube != NULL)
        return running_daemon_find_by_lease(base, o, ret_unknown);
    if (url != NULL && o->settings->local.file == NULL)
        *ret_unknown =
            mem_strdup("no daemon answers at LISTEN_ADDRESS, and without the Lease of LEADER_ELECT nothing shows "
                       "one that runs elsewhere");
    return NULL;
}

#include "cli/doctor/doctor_etcd.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/text.h"
#include "daemon/etcd/etcd_access.h"
#include "etcd/client.h"
#include "json/read.h"
#include "net/tls_files.h"
#include "settings/settings.h"
#include "cli/doctor/doctor_etcd_members.h"

#define VERSION_MAX_BYTES 4096
#define EXCERPT_BYTES 200

static void etcd_answered(struct doctor_etcd *d)
{
    if (--d->waiting > 0)
        return;
    timer_cancel(&d->deadline);
    d->done(d->arg);
}

/* ---- GET /version ---- */

/* {"etcdserver":"3.5.9","etcdcluster":"3.5.0"}, as etcd's own /version has it. */
static int member_read(struct doctor_etcd_member *m, const struct buf *body, struct error *err)
{
    static const char what[] = "the version";
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(buf_str(body), body->len, 0, what, err);
    yyjson_val *root;
    const char *version;
    if (json_object_of(doc, what, &root, err) != 0 || json_need_string(root, "etcdserver", &version, err) != 0)
        return -1;
    m->version = text_shown(version, TEXT_LINE, EXCERPT_BYTES);
    return 0;
}

static void member_on_done(void *arg, const struct http_response *r, const struct error *err)
{
    struct doctor_etcd_member *m = arg;
    m->request = NULL;
    m->connection = http_response_connection(r);
    m->status = r->status;
    if (err != NULL) {
        m->error = *err;
    } else if (r->status != 200) {
        cleanup(mem_free_ptr) char *excerpt = text_shown(buf_str(r->body), TEXT_LINE, EXCERPT_BYTES);
        error_set(&m->error, ERROR_INVALID, "HTTP %d: %s", r->status, excerpt);
    } else if (member_read(m, r->body, &m->error) != 0) {
        error_prefix(&m->error, "GET /version");
    }
    etcd_answered(m->of);
}

static void member_ask(struct doctor_etcd_member *m, struct http *http, uint64_t timeout_ms)
{
    static const struct http_callbacks callbacks = {.on_done = member_on_done};
    const struct http_request_options get = {.method = "GET",
                                             .path = "/version",
                                             .max_body_bytes = VERSION_MAX_BYTES,
                                             .connect_timeout_ms = timeout_ms,
                                             .total_timeout_ms = timeout_ms};
    m->request = http_start(http, &m->endpoint, &get, &callbacks, m, &m->error);
    m->of->waiting += m->request != NULL;
}

/* ---- the keys ---- */

static void read_took(struct doctor_etcd_read *r, const struct etcd_got *got, const struct error *err)
{
    r->call = NULL;
    r->asked = true;
    r->is_there = err == NULL && got->count > 0;
    if (err != NULL)
        r->error = *err;
}

static void etcd_on_plain(void *arg, const struct etcd_got *got, const struct error *err)
{
    struct doctor_etcd *d = arg;
    read_took(&d->plain, got, err);
    etcd_answered(d);
}

static void etcd_on_manifest(void *arg, const struct etcd_got *got, const struct error *err)
{
    struct doctor_etcd *d = arg;
    read_took(&d->manifest, got, err);
    d->is_manifest = d->manifest.is_there && published_manifest_parse(got->list[0].value, got->list[0].value_len,
                                                                      &d->there, &d->no_manifest) == 0;
    etcd_answered(d);
}

static void etcd_read_keys(struct doctor_etcd *d)
{
    struct etcd_client *c = etcd_access_client(d->access);
    cleanup(mem_free_ptr) char *manifest = etcd_key(d->settings, "manifest", "");
    const struct etcd_get plain = {.key = d->settings->etcd.path, .keys_only = true}, of_it = {.key = manifest};
    d->plain.call = etcd_get(c, &plain, etcd_on_plain, d);
    d->manifest.call = etcd_get(c, &of_it, etcd_on_manifest, d);
    d->waiting += 2;
}

/* ---- no answer in time ---- */

static void read_end(struct doctor_etcd_read *r)
{
    if (r->call == NULL)
        return;
    etcd_call_cancel(r->call);
    r->call = NULL;
    r->asked = true;
    error_set(&r->error, ERROR_RETRY, "no answer in time (--timeout)");
}

static void etcd_end(struct doctor_etcd *d)
{
    read_end(&d->plain);
    read_end(&d->manifest);
    for (size_t i = 0; i < d->settings->etcd.endpoints.count; i++) {
        struct doctor_etcd_member *m = &d->members[i];
        if (m->request == NULL)
            continue;
        m->connection = http_request_connection(m->request);
        http_cancel(m->request);
        m->request = NULL;
        error_set(&m->error, ERROR_RETRY, "no answer in time (--timeout)");
    }
}

static void etcd_on_deadline(void *arg)
{
    struct doctor_etcd *d = arg;
    etcd_end(d);
    d->done(d->arg);
}

/* ---- life ---- */

bool doctor_etcd_start(struct doctor_etcd *d, struct event_base *base, struct http *http, struct settings *settings,
                       uint64_t timeout_ms, const struct log *log, void (*done)(void *arg), void *arg)
{
    const struct settings_names *urls = &settings->etcd.endpoints;
    *d = (struct doctor_etcd){.settings = settings, .done = done, .arg = arg};
    d->access = etcd_access_new(base, http, settings, log, &d->no_access);
    if (d->access == NULL)
        return false;
    const struct tls_files *tls = etcd_access_files(d->access);
    timer_init(&d->deadline, base, etcd_on_deadline, d);
    timer_set(&d->deadline, timeout_ms);
    d->members = mem_array(urls->count, sizeof(d->members[0]));
    for (size_t i = 0; i < urls->count; i++) {
        struct doctor_etcd_member *m = &d->members[i];
        *m = (struct doctor_etcd_member){.of = d, .server_not_after_s = INT64_MAX};
        m->endpoint = (struct http_endpoint){.base_url = urls->list[i],
                                             .tls = tls != NULL ? tls_files_current(tls) : NULL,
                                             .server_not_after_s = &m->server_not_after_s};
        member_ask(m, http, timeout_ms);
    }
    etcd_read_keys(d);
    return true;
}

void doctor_etcd_fini(struct doctor_etcd *d)
{
    if (d->members != NULL) {
        etcd_end(d);
        timer_fini(&d->deadline);
        for (size_t i = 0; i < d->settings->etcd.endpoints.count; i++)
            free(d->members[i].version);
        free(d->members);
    }
    published_manifest_fini(&d->there);
    etcd_access_free(d->access);
    *d = (struct doctor_etcd){0};
}

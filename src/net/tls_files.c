#include "net/tls_files.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "settings/secrets/secret.h"
#include "net/pem.h"

#define MAX_PEM_BYTES (1u << 20) /* the whole trust store of a system is a quarter of that */
#define TROUBLE_LOG_PERIOD_MS 300000

enum part { CA, CERT, KEY, PARTS };

struct source {
    char *name, *text, *path; /* path NULL: never read again */
};

/* What was read at one time. */
struct set {
    char *pem[PARTS]; /* NULL: none */
    struct secret_stamp stamps[PARTS];
};

struct tls_files {
    char *peer, *server_name;
    struct source sources[PARTS];
    struct set used;
    struct http_tls tls; /* what requests get; its texts are those of `used` */
    int64_t ca_not_after_s, client_not_after_s;
    /* Files that were read well and cannot be used: as long as they look the same they are not tried again. */
    bool refused;
    struct secret_stamp refused_stamps[PARTS];
    struct error refused_why;
    struct log_limit trouble;
    bool expiry_logged;
};

static void set_fini(struct set *s)
{
    for (int i = 0; i < PARTS; i++)
        mem_wipe_free(s->pem[i]);
    *s = (struct set){0};
}

/* ---- reading and checking ---- */

/* The kind is that of a bad setting at start and of a bad file later: the same again will fail the same way. */
static int blame(const struct source *s, struct error *err)
{
    return err == NULL ? -1
                       : error_set(err, ERROR_INVALID, "%s %s: %s", s->name, s->path != NULL ? s->path : "given inline",
                                   err->message);
}

/* *ret is to be freed in either case. */
static int read_set(const struct tls_files *t, struct set *ret, struct error *err)
{
    *ret = (struct set){0};
    for (int i = 0; i < PARTS; i++) {
        const struct source *s = &t->sources[i];
        if (s->path == NULL) {
            ret->pem[i] = mem_strdup(s->text);
            continue;
        }
        cleanup(secret_file_fini) struct secret_file file;
        if (secret_file_read(s->path, MAX_PEM_BYTES, &file, err) != 0)
            return error_prefix(err, "%s", s->name);
        if (strlen(file.text) != file.len)
            return error_set(err, ERROR_INVALID, "%s %s: contains a NUL byte, so it is not PEM", s->name, s->path);
        ret->pem[i] = mem_strdup(file.text);
        ret->stamps[i] = file.stamp;
    }
    return 0;
}

static int check_set(const struct tls_files *t, const struct set *set, struct error *err)
{
    const struct source *s = t->sources;
    if ((set->pem[CERT] == NULL) != (set->pem[KEY] == NULL)) {
        enum part there = set->pem[CERT] != NULL ? CERT : KEY, missing = there == CERT ? KEY : CERT;
        return error_set(err, ERROR_INVALID,
                         "%s is set and %s is not: a client certificate and its key need each other", s[there].name,
                         s[missing].name);
    }
    for (int i = CA; i <= CERT; i++)
        if (set->pem[i] != NULL && pem_check_certificates(set->pem[i], err) != 0)
            return blame(&s[i], err);
    if (set->pem[KEY] != NULL && pem_check_key(set->pem[KEY], set->pem[CERT], err) != 0)
        return blame(&s[KEY], err);
    return 0;
}

static void tls_files_use(struct tls_files *t, struct set *fresh)
{
    set_fini(&t->used);
    t->used = *fresh;
    *fresh = (struct set){0};
    t->tls.ca_pem = t->used.pem[CA];
    t->tls.cert_pem = t->used.pem[CERT];
    t->tls.key_pem = t->used.pem[KEY];
    t->ca_not_after_s = t->tls.ca_pem != NULL ? pem_not_after_s(t->tls.ca_pem, true) : INT64_MAX;
    t->client_not_after_s = t->tls.cert_pem != NULL ? pem_not_after_s(t->tls.cert_pem, false) : INT64_MAX;
    t->expiry_logged = false;
}

/* ---- life ---- */

static void tls_source_copy(struct source *to, const struct tls_source *from)
{
    to->name = mem_strdup(from->name);
    to->text = mem_strdup(from->text);
    to->path = from->text == NULL ? mem_strdup(from->path) : NULL;
}

struct tls_files *tls_files_new(const struct tls_files_options *o, struct error *err)
{
    struct tls_files *t = mem_alloc(sizeof(*t));
    t->peer = mem_strdup(o->peer);
    tls_source_copy(&t->sources[CA], &o->ca);
    tls_source_copy(&t->sources[CERT], &o->cert);
    tls_source_copy(&t->sources[KEY], &o->key);
    t->tls.server_name = t->server_name = mem_strdup(o->server_name);
    t->tls.insecure = o->insecure;
    t->trouble.period_ms = TROUBLE_LOG_PERIOD_MS;
    cleanup(set_fini) struct set fresh;
    if (read_set(t, &fresh, err) != 0 || check_set(t, &fresh, err) != 0) {
        tls_files_free(t);
        return NULL;
    }
    tls_files_use(t, &fresh);
    return t;
}

void tls_files_free(struct tls_files *t)
{
    if (t == NULL)
        return;
    set_fini(&t->used);
    for (int i = 0; i < PARTS; i++) {
        free(t->sources[i].name);
        mem_wipe_free(t->sources[i].text);
        free(t->sources[i].path);
    }
    mem_free_all(t->server_name, t->peer, t);
}

/* ---- reading again ---- */

static bool is_same_file(const struct tls_files *t, const struct secret_stamp *stamps)
{
    for (int i = 0; i < PARTS; i++)
        if (t->sources[i].path != NULL && !secret_file_unchanged(t->sources[i].path, &stamps[i]))
            return false;
    return true;
}

/* Renewed, unchanged after all, or refused. */
int tls_files_refresh(struct tls_files *t, bool *ret_renewed, struct error *err)
{
    bool changed = !is_same_file(t, t->used.stamps), renewed = false;
    struct error why = {0};
    if (changed && t->refused && is_same_file(t, t->refused_stamps)) {
        if (err != NULL)
            *err = t->refused_why;
        return -1;
    }
    if (changed) {
        cleanup(set_fini) struct set fresh;
        t->refused = false;
        if (read_set(t, &fresh, err) != 0)
            return -1;
        bool same = true;
        for (int i = 0; i < PARTS; i++)
            same = same && str_eq(fresh.pem[i], t->used.pem[i]);
        if (same) {
            memcpy(t->used.stamps, fresh.stamps, sizeof(t->used.stamps));
        } else if (check_set(t, &fresh, &why) != 0) {
            if (err != NULL)
                *err = why;
            t->refused = true;
            t->refused_why = why;
            memcpy(t->refused_stamps, fresh.stamps, sizeof(t->refused_stamps));
            return -1;
        } else {
            tls_files_use(t, &fresh);
            renewed = true;
        }
    }
    if (ret_renewed != NULL)
        *ret_renewed = renewed;
    return 0;
}

int tls_files_set_pair(struct tls_files *t, const char *cert_pem, const char *key_pem, struct error *err)
{
    cleanup(set_fini) struct set fresh = {
        .pem = {mem_strdup(t->used.pem[CA]), mem_strdup(cert_pem), mem_strdup(key_pem)},
        .stamps = {t->used.stamps[CA]},
    };
    if (check_set(t, &fresh, err) != 0)
        return -1;
    for (int i = CERT; i <= KEY; i++) {
        mem_wipe_free(t->sources[i].text);
        free(t->sources[i].path);
        t->sources[i].path = NULL;
        t->sources[i].text = mem_strdup(fresh.pem[i]);
    }
    t->refused = false;
    tls_files_use(t, &fresh);
    return 0;
}

/* ---- the log ---- */

void tls_files_follow(struct tls_files *t, const struct log *log)
{
    struct error err = {0};
    bool renewed = false;
    unsigned held_back;
    if (t == NULL)
        return;
    if (tls_files_refresh(t, &renewed, &err) != 0) {
        if (log_limit_pass(&t->trouble, clock_mono_ms(), err.message, &held_back))
            log_warn(log, "changed TLS files cannot be used; keeping the last ones", log_str("peer", t->peer),
                     log_str("error", err.message), log_if(held_back > 0, log_int("repeated", held_back)));
    } else {
        log_limit_reset(&t->trouble);
        if (renewed)
            log_info(log, "TLS files renewed; new connections use them", log_str("peer", t->peer),
                     log_str("ca", t->sources[CA].path), log_str("certificate", t->sources[CERT].path));
    }
    int64_t now_s = (int64_t)(clock_wall_ms() / 1000);
    bool ca = t->ca_not_after_s <= now_s, client = t->client_not_after_s <= now_s;
    if (t->expiry_logged || (!ca && !client))
        return;
    t->expiry_logged = true;
    const struct source *s = &t->sources[client ? CERT : CA];
    log_warn(log, "TLS certificate expired", log_str("peer", t->peer), log_str("certificate", s->name),
             log_str("file", s->path),
             log_int("seconds_ago", now_s - (client ? t->client_not_after_s : t->ca_not_after_s)));
}

const struct http_tls *tls_files_current(const struct tls_files *t)
{
    return &t->tls;
}

int64_t tls_files_ca_not_after_s(const struct tls_files *t)
{
    return t->ca_not_after_s;
}

int64_t tls_files_client_not_after_s(const struct tls_files *t)
{
    return t->client_not_after_s;
}

/*
 * What lies in etcd, of any writer: a manifest (first byte 'M') or what a load balancer says of itself. What is taken is the same
 * once it was written and read again, and stays within its limits.
 */
#include "base/str.h"
#include "configuration/load_balancer.h"
#include "configuration/published.h"
#include "fuzz.h"

static void check_sum(const char *hash)
{
    check(strlen(hash) == DIGEST_SHA256_HEX_BYTES - 1);
    check(strspn(hash, "0123456789abcdef") == DIGEST_SHA256_HEX_BYTES - 1); /* it becomes a part of a key */
}

static void check_parts(const struct published_manifest *m, const struct published_parts *p, size_t bytes)
{
    check(p->count <= PUBLISHED_PARTS_MAX && p->count * (size_t)PUBLISHED_PART_MAX_BYTES >= bytes);
    check(p->count == 0 || (p->count - 1) * (size_t)PUBLISHED_PART_MAX_BYTES < bytes);
    for (size_t i = 0; i < p->count; i++) {
        check_sum(p->list[i]);
        check(published_manifest_names(m, p->list[i]));
    }
}

static void check_manifest(const struct published_manifest *m)
{
    size_t bytes = 0;
    check(m->version > 0 && m->published_ms > 0 && m->producer != NULL && m->cluster != NULL);
    check_sum(m->hash);
    for (size_t i = 0; i < m->file_count; i++) {
        check(m->list[i].kind != STORAGE_CERTIFICATE && m->list[i].kind < STORAGE_KINDS && m->list[i].name != NULL);
        check_sum(m->list[i].hash);
        bytes += m->list[i].len;
    }
    check_parts(m, &m->text, m->len);
    check_parts(m, &m->files, bytes);
    for (size_t i = 0; i < m->certificate_count; i++)
        check(m->certificates[i] != NULL);
}

/* No bytes have these sums, but by chance: whatever is said, nothing goes over an end. */
static void open_files(const struct published_manifest *m)
{
    struct storage_files files = {0};
    struct error err = {0};
    check(published_files(m, "abc", 3, &files, &err) != 0 || m->file_count > 0);
    storage_files_fini(&files);
}

static void take_manifest(const char *json, size_t len)
{
    struct published_manifest m, again;
    struct error err = {0};
    cleanup(buf_fini) struct buf text = {0}, twice = {0};
    if (published_manifest_parse(json, len, &m, &err) != 0) {
        check(err.kind == ERROR_INVALID && err.message[0] != '\0');
        return;
    }
    check_manifest(&m);
    open_files(&m);
    published_manifest_print(&m, &text);
    check(published_manifest_parse(buf_str(&text), text.len, &again, &err) == 0);
    check(published_manifest_same(&m, &again) && m.version == again.version && m.published_ms == again.published_ms);
    published_manifest_print(&again, &twice);
    check(str_eq(buf_str(&text), buf_str(&twice)));
    published_manifest_fini(&m);
    published_manifest_fini(&again);
}

static void take_load_balancer(const char *json, size_t len)
{
    struct load_balancer l, again;
    struct error err = {0};
    cleanup(buf_fini) struct buf text = {0}, twice = {0};
    if (load_balancer_parse(json, len, &l, &err) != 0) {
        check(err.kind == ERROR_INVALID && err.message[0] != '\0');
        return;
    }
    check(l.name != NULL && l.reason != NULL && l.state < LOAD_BALANCER_STATES);
    check(strlen(l.sha256) < DIGEST_SHA256_HEX_BYTES);
    load_balancer_print(&l, &text);
    check(load_balancer_parse(buf_str(&text), text.len, &again, &err) == 0);
    check(l.version == again.version && l.state == again.state && l.haproxy_count == again.haproxy_count);
    load_balancer_print(&again, &twice);
    check(str_eq(buf_str(&text), buf_str(&twice)));
    load_balancer_fini(&l);
    load_balancer_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *json = malloc(size); /* exactly: a step over its end shows */
    memcpy(json, data + 1, size - 1);
    char *exact = size > 1 ? realloc(json, size - 1) : json;
    if (data[0] == 'M')
        take_manifest(exact, size - 1);
    else
        take_load_balancer(exact, size - 1);
    free(exact);
    return 0;
}

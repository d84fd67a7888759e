/*
 * Everything that reads an answer of the Data Plane API, over the same bytes. What was read must be writable again, and
 * reading that must give the same; a message must fit and be safe.
 */
#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/dataplane/codec.h"
#include "servers/change/diff.h"
#include "fuzz.h"

static void check_server(const struct backend_server *s)
{
    struct backend again;
    struct buf out, list;
    struct error err = {0};
    buf_init(&out, 0);
    buf_init(&list, 0);
    backend_init(&again);
    check(codec_write_server(s, &out, &err) == 0);
    buf_printf(&list, "[%s]", buf_str(&out));
    check(codec_read_servers(list.data, list.len, &again, &err) == 0 && again.server_count == 1);
    const struct backend_server *t = &again.servers[0];
    check(str_eq(s->name, t->name) && str_eq(s->address, t->address) && s->port == t->port && s->check == t->check &&
          s->backup == t->backup && s->maintenance == t->maintenance && s->check_port == t->check_port &&
          s->send_proxy_v2 == t->send_proxy_v2 && t->weight == (s->weight >= 0 ? s->weight : SERVER_WEIGHT_DEFAULT));
    backend_fini(&again);
    buf_fini(&out);
    buf_fini(&list);
}

static void check_backend(const struct backend *b, bool own_httpchk)
{
    const struct backend_settings settings = {.balance = "roundrobin",
                                              .adv_check = own_httpchk ? "httpchk" : "tcp-check",
                                              .httpchk_healthz = own_httpchk,
                                              .proxy_v2 = true};
    struct backend again;
    struct buf out;
    struct error err = {0};
    buf_init(&out, 0);
    backend_init(&again);
    check(codec_write_backend(b, &settings, NULL, 0, &out, &err) == 0);
    check(codec_read_backend(out.data, out.len, &again, &err) == 0);
    check(str_eq(b->name, again.name) && str_eq(b->mode, again.mode) && str_eq(again.balance, "roundrobin") &&
          str_eq(again.adv_check, settings.adv_check) && again.default_send_proxy_v2);
    /* Parameters beside another check are never shown: where they were, they stay. */
    check(own_httpchk ? again.httpchk_params : !again.httpchk_params || str_eq(b->adv_check, "tcp-check"));
    backend_fini(&again);
    buf_fini(&out);
}

static void read_status(const char *json, size_t size)
{
    struct codec_transaction one = {0}, *list = NULL;
    struct codec_reload_status reload = {0};
    struct error err = {0};
    size_t count = 0;
    if (codec_read_transaction(json, size, &one, &err) == 0) {
        check(!str_empty(one.id) && one.status != NULL);
        codec_transaction_fini(&one);
    }
    if (codec_read_transactions(json, size, &list, &count, &err) == 0)
        codec_transactions_free(list, count);
    if (codec_read_reload(json, size, &reload, &err) == 0)
        codec_reload_fini(&reload);
}

/* Sorted, each with a name, none in brackets; a single one is read as it is in a list. */
static void read_runtime(const char *json, size_t size)
{
    struct runtime r;
    struct runtime_server one;
    struct codec_worker worker;
    struct error err = {0};
    runtime_init(&r);
    if (codec_read_runtime(json, size, &r, &err) == 0) {
        check(r.readable);
        for (size_t i = 0; i < r.count; i++) {
            check(!str_empty(r.servers[i].name) && r.servers[i].address != NULL && r.servers[i].weight >= -1);
            check(runtime_find(&r, r.servers[i].name) != NULL);
            check(i == 0 || strcmp(r.servers[i - 1].name, r.servers[i].name) <= 0);
        }
    } else {
        check(!r.readable && r.count == 0 && err.kind == ERROR_INVALID);
    }
    runtime_fini(&r);
    if (codec_read_runtime_server(json, size, &one, &err) == 0) {
        check(!str_empty(one.name) && (size_t)one.admin <= RUNTIME_MAINT);
        runtime_server_fini(&one);
    }
    if (codec_read_worker(json, size, &worker, &err) == 0)
        check(worker.pid > 0 && worker.uptime_s >= -1);
}

static void read_message(const char *json, size_t size)
{
    for (size_t max = 8; max <= 512; max *= 4) {
        char *room = mem_alloc(max);
        codec_error_message(json, size, room, max);
        check(memchr(room, '\0', max) != NULL);
        for (const unsigned char *p = (const unsigned char *)room; *p != '\0'; p++)
            check(*p >= ' ' && *p != 0x7f);
        free(room);
    }
}

/* What is read of several is what is read of each: base fields alone, and servers that can be written again. */
static void read_backends(const char *json, size_t size)
{
    struct backend be, other, *const list[] = {&be, &other};
    struct error err = {0};
    backend_init(&be);
    backend_init(&other);
    be.name = mem_strdup("be");
    other.name = mem_strdup("other");
    struct codec_list l;
    if (codec_list_begin(&l, json, size, &err) != 0)
        check(err.kind == ERROR_INVALID && !be.exists && !other.exists && l.doc == NULL);
    else
        while (codec_list_read(&l, list, array_len(list), 1))
            continue;
    codec_list_fini(&l);
    for (size_t i = 0; i < array_len(list); i++) {
        const struct backend *b = list[i];
        check(str_eq(b->name, i == 0 ? "be" : "other"));
        if (!b->exists) {
            check(b->json == NULL && b->server_count == 0 && b->template_count == 0);
            continue;
        }
        check_backend(b, true);
        for (size_t k = 0; k < b->server_count; k++)
            check_server(&b->servers[k]);
    }
    backend_fini(&be);
    backend_fini(&other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *json = (const char *)data;
    struct backend b;
    struct error err = {0};
    backend_init(&b);
    if (codec_read_backend(json, size, &b, &err) == 0) {
        check_backend(&b, true);
        check_backend(&b, false);
    } else {
        check(err.kind == ERROR_INVALID && err.message[0] != '\0');
    }
    if (codec_read_servers(json, size, &b, &err) == 0)
        for (size_t i = 0; i < b.server_count; i++)
            check_server(&b.servers[i]);
    if (codec_read_templates(json, size, &b, &err) == 0)
        for (size_t i = 0; i < b.template_count; i++)
            check(b.templates[i].first <= b.templates[i].last && !str_empty(b.templates[i].prefix));
    backend_fini(&b);
    read_backends(json, size);
    read_status(json, size);
    read_runtime(json, size);
    read_message(json, size);
    return 0;
}

#include "haproxy/dataplane/server_adds.h"

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/file.h"
#include "haproxy/cfg/keywords.h"
#include "haproxy/change.h"
#include "haproxy/dataplane/server_actions.h"
#include "haproxy/cfg/backend.h"
#include "haproxy/server_words.h"
#include "json/write.h"

#define FIRST_API "3.2"     /* before it one word of a server is passed on, and the others are left out */
#define FIRST_HAPROXY "2.6" /* "add server" is no experiment */

void server_adds_fini(struct server_adds *a)
{
    for (size_t i = 0; i < a->count; i++) {
        free(a->list[i].list);
        free(a->list[i].path);
        free(a->list[i].body);
        free(a->list[i].name);
    }
    free(a->list);
    free(a->unchecked);
    *a = (struct server_adds){0};
}

static bool adds_is_from(const char *version, const char *first)
{
    version += version[0] == 'v';
    return version[0] >= '0' && version[0] <= '9' && strverscmp(version, first) >= 0;
}

bool server_adds_known(const char *api, const char *haproxy)
{
    return adds_is_from(api, FIRST_API) && adds_is_from(haproxy, FIRST_HAPROXY);
}

/* Fields of a server's line that the endpoint has, too, and passes on as they are meant. */
static bool adds_has_field(const char *key)
{
    static const char *const keys[] = {"alpn",
                                       "backup",
                                       "check",
                                       "check-send-proxy",
                                       "check-sni",
                                       "check-ssl",
                                       "check_alpn",
                                       "check_proto",
                                       "check_via_socks4",
                                       "ciphers",
                                       "ciphersuites",
                                       "crl_file",
                                       "downinter",
                                       "error_limit",
                                       "fall",
                                       "fastinter",
                                       "force_tlsv10",
                                       "force_tlsv11",
                                       "force_tlsv12",
                                       "force_tlsv13",
                                       "inter",
                                       "maxconn",
                                       "maxqueue",
                                       "minconn",
                                       "no_sslv3",
                                       "no_tlsv10",
                                       "no_tlsv11",
                                       "no_tlsv12",
                                       "no_tlsv13",
                                       "observe",
                                       "on-error",
                                       "on-marked-down",
                                       "on-marked-up",
                                       "pool_low_conn",
                                       "pool_max_conn",
                                       "proto",
                                       "proxy-v2-options",
                                       "rise",
                                       "send-proxy",
                                       "send-proxy-v2",
                                       "slowstart",
                                       "sni",
                                       "ssl",
                                       "ssl_cafile",
                                       "ssl_certificate",
                                       "ssl_max_ver",
                                       "ssl_min_ver",
                                       "tfo",
                                       "verify",
                                       "verifyhost",
                                       "weight",
                                       "ws",
                                       "health_check_port",
                                       "health_check_address"};
    for (size_t i = 0; i < array_len(keys); i++)
        if (str_eq(keys[i], key))
            return true;
    return false;
}

static int adds_put_word(yyjson_mut_doc *doc, yyjson_mut_val *obj, const struct server_word *w, struct error *err)
{
    const struct cfg_keyword *k = cfg_keyword_find(w->keyword);
    uint64_t n;
    if (k == NULL || !adds_has_field(k->key))
        return error_set(err, ERROR_INVALID, "the Data Plane API cannot add a server with \"%.64s\"", w->keyword);
    switch (k->form) {
    case RAWCFG_ON:
        json_fields(doc, obj, json_str(k->key, "enabled"));
        return 0;
    case RAWCFG_TEXT:
        json_fields(doc, obj, json_str(k->key, w->argument));
        return 0;
    case RAWCFG_NUMBER:
    case RAWCFG_NUMBER_NOT_0:
        if (w->argument == NULL || str_parse_uint(w->argument, INT32_MAX, &n) != 0)
            break;
        json_fields(doc, obj, json_uint(k->key, n));
        return 0;
    case RAWCFG_TIME:
        /* HAProxy takes a number alone as milliseconds. */
        if (w->argument == NULL ||
            (str_parse_uint(w->argument, INT32_MAX, &n) != 0 && str_parse_duration_ms(w->argument, INT32_MAX, &n) != 0))
            break;
        json_fields(doc, obj, json_uint(k->key, n));
        return 0;
    case RAWCFG_LIST: {
        cleanup(mem_free_ptr) char *copy = mem_strdup(w->argument);
        yyjson_mut_val *list = json_put_list(doc, obj, k->key);
        for (char *rest = copy, *one; (one = strsep(&rest, ",")) != NULL;)
            json_add(list, json_text(doc, one));
        return 0;
    }
    case RAWCFG_OFF:
    case RAWCFG_TRUE:
    case RAWCFG_TLV:
    case RAWCFG_SOURCE:
    case RAWCFG_CALL:
        break;
    }
    return error_set(err, ERROR_INVALID, "the Data Plane API cannot add a server with \"%.64s %.64s\"", w->keyword,
                     w->argument != NULL ? w->argument : "");
}

static int adds_body(const struct backend_server *s, const struct server_words *words, struct buf *ret,
                     struct error *err)
{
    yyjson_mut_val *root;
    cleanup(json_free_ptr) yyjson_mut_doc *doc = json_new(&root);
    json_fields(doc, root, json_str("name", s->name), json_str("address", s->address), json_uint("port", s->port));
    for (size_t i = 0; i < words->count; i++)
        if (adds_put_word(doc, root, &words->list[i], err) != 0)
            return -1;
    json_write(doc, false, ret);
    return 0;
}

static int adds_one(struct server_adds *a, struct cfg_lines *lines, const struct change *c, const char *haproxy,
                    struct error *err)
{
    const struct backend_server *s = c->server;
    cleanup(cfg_line_fini) struct cfg_line split;
    cleanup(server_words_fini) struct server_words words = {0};
    cleanup(buf_fini) struct buf body = {0};
    cfg_line_init(&split);
    const struct cfg_file_line *line = cfg_lines_server(lines, s->name);
    if (line == NULL)
        return error_set(err, ERROR_INVALID, "haproxy.cfg has no such server");
    if (str_ip_family(s->address) == 0 || s->port == 0)
        return error_set(err, ERROR_INVALID, "its address is a name, or without a port");
    if (server_is_without_share(lines, haproxy))
        return error_set(err, ERROR_INVALID, "%s", SERVER_WITHOUT_SHARE);
    cfg_line_split(&split, line->text, line->len);
    if (server_words_of(lines, line, &split, &words, err) != 0 || adds_body(s, &words, &body, err) != 0)
        return -1;
    cleanup(mem_free_ptr) char *backend = str_url_encode(c->backend->name), *server = str_url_encode(s->name);
    a->list = mem_one_more(a->list, a->count, sizeof(a->list[0]));
    a->list[a->count++] = (struct server_add){.list = mem_printf("/runtime/backends/%s/servers", backend),
                                              .path = mem_printf("/runtime/backends/%s/servers/%s", backend, server),
                                              .body = buf_take(&body),
                                              .name = mem_printf("%s/%s", c->backend->name, s->name)};
    if (a->unchecked == NULL && (server_words_have(&words, "check") || server_words_have(&words, "agent-check")))
        a->unchecked = mem_strdup(a->list[a->count - 1].name);
    return 0;
}

int server_adds_of(const struct changes *changes, const struct cfg_file *to, const char *haproxy,
                   struct server_adds *ret, struct buf *actions, struct error *err)
{
    cleanup(cfg_lines_fini) struct cfg_lines lines = {0};
    for (size_t i = 0; i < changes->count; i++) {
        const struct change *c = changes->list[i];
        if (c->kind != CHANGE_ADD_SERVER)
            continue;
        cfg_lines_find(&lines, to, c->backend->name);
        if (adds_one(ret, &lines, c, haproxy, err) != 0)
            return error_prefix(err, "server %s/%s", c->backend->name, c->server->name);
    }
    return server_actions_print(changes, actions, err);
}

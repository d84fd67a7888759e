#include "conf.h"

#include <stdio.h>
#include <string.h>
#include <yyjson.h>

#include "base/mem.h"
#include "base/str.h"
#include "world.h"

const char *const conf_backends[BACKENDS] = {"be", "two", "other"};

size_t conf_backend(const char *name)
{
    size_t i = 0;
    while (i < BACKENDS && strcmp(conf_backends[i], name) != 0)
        i++;
    return i;
}

struct server *section_find(struct section *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->servers[i].name, name) == 0)
            return &s->servers[i];
    return NULL;
}

void section_put(struct section *s, const struct server *server)
{
    struct server *at = section_find(s, server->name);
    if (at == NULL && s->count == SERVERS_MAX)
        return;
    if (at == NULL)
        at = &s->servers[s->count++];
    *at = *server;
}

bool section_remove(struct section *s, const char *name)
{
    struct server *at = section_find(s, name);
    if (at == NULL)
        return false;
    size_t index = (size_t)(at - s->servers);
    memmove(at, at + 1, (--s->count - index) * sizeof(*at));
    return true;
}

bool server_is_ours(const struct server *s)
{
    return s->backup != ON && !str_has_prefix(s->name, "keep") && !name_is_anothers(s->name);
}

bool server_eq(const struct server *a, const struct server *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->address, b->address) == 0 && a->port == b->port &&
           a->check_port == b->check_port && a->weight == b->weight && a->check == b->check &&
           a->maintenance == b->maintenance && a->backup == b->backup && a->send_proxy_v2 == b->send_proxy_v2 &&
           a->maxconn == b->maxconn && strcmp(a->options, b->options) == 0;
}

bool section_says_maintenance(const struct section *s, const struct server *server)
{
    return server->maintenance == ON || (server->maintenance == UNSAID && s->default_maintenance == ON);
}

/* ---- what runs ---- */

struct running_server *running_find(struct running *r, size_t backend, const char *name)
{
    for (size_t i = 0; i < r->of[backend].count; i++)
        if (strcmp(r->of[backend].servers[i].name, name) == 0)
            return &r->of[backend].servers[i];
    return NULL;
}

void running_load(struct running *r, const struct conf *c)
{
    memset(r, 0, sizeof(*r));
    for (size_t b = 0; b < BACKENDS; b++) {
        const struct section *s = &c->of[b];
        r->of[b].exists = s->exists;
        memcpy(r->of[b].balance, s->balance, sizeof(s->balance));
        for (size_t i = 0; s->exists && i < s->count; i++) {
            const struct server *line = &s->servers[i];
            struct running_server *is = &r->of[b].servers[r->of[b].count++];
            memcpy(is->name, line->name, sizeof(is->name));
            memcpy(is->address, line->address, sizeof(is->address));
            is->port = line->port;
            is->weight = line->weight >= 0 ? line->weight : 1;
            is->disabled = section_says_maintenance(s, line);
            is->admin = is->disabled ? MAINT : READY;
            is->backup = line->backup == ON;
            is->line = *line;
        }
    }
}

/* ---- JSON ---- */

static int take_list(yyjson_val *val, char *ret, size_t bytes)
{
    yyjson_arr_iter iter = yyjson_arr_iter_with(val);
    ret[0] = '\0';
    for (yyjson_val *v; (v = yyjson_arr_iter_next(&iter)) != NULL;)
        if (yyjson_is_str(v))
            snprintf(ret + strlen(ret), bytes - strlen(ret), "%s%s", ret[0] != '\0' ? "," : "", yyjson_get_str(v));
    return yyjson_is_arr(val) ? 0 : -1;
}

static int take_flag(yyjson_val *val, enum flag *ret)
{
    *ret = yyjson_equals_str(val, "enabled") ? ON : OFF;
    return yyjson_equals_str(val, "enabled") || yyjson_equals_str(val, "disabled") ? 0 : -1;
}

static int take_number(yyjson_val *val, unsigned max, unsigned *ret)
{
    *ret = (unsigned)yyjson_get_uint(val);
    return yyjson_is_uint(val) && yyjson_get_uint(val) <= max ? 0 : -1;
}

static int take_text(yyjson_val *val, char *ret)
{
    if (!yyjson_is_str(val) || yyjson_get_len(val) == 0 || yyjson_get_len(val) >= NAME_BYTES)
        return -1;
    snprintf(ret, NAME_BYTES, "%s", yyjson_get_str(val));
    return 0;
}

static int take_field(const char *key, yyjson_val *val, struct server *ret)
{
    unsigned weight;
    int status;
    if (strcmp(key, "name") == 0)
        return take_text(val, ret->name);
    if (strcmp(key, "address") == 0)
        return take_text(val, ret->address);
    if (strcmp(key, "port") == 0)
        return take_number(val, 65535, &ret->port);
    if (strcmp(key, "health_check_port") == 0)
        return take_number(val, 65535, &ret->check_port);
    if (strcmp(key, "maxconn") == 0)
        return take_number(val, 1000000, &ret->maxconn);
    if (strcmp(key, "weight") == 0) {
        status = take_number(val, 256, &weight);
        ret->weight = (int)weight;
        return status;
    }
    if (strcmp(key, "check") == 0)
        return take_flag(val, &ret->check);
    if (strcmp(key, "maintenance") == 0)
        return take_flag(val, &ret->maintenance);
    if (strcmp(key, "backup") == 0)
        return take_flag(val, &ret->backup);
    if (strcmp(key, "send-proxy-v2") == 0)
        return take_flag(val, &ret->send_proxy_v2);
    if (strcmp(key, "proxy-v2-options") == 0)
        return take_list(val, ret->options, sizeof(ret->options));
    return -1;
}

int server_read(const char *json, struct server *ret, char *why, size_t why_bytes)
{
    yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
    yyjson_val *root = yyjson_doc_get_root(doc), *key;
    int status = yyjson_is_obj(root) ? 0 : -1;
    memset(ret, 0, sizeof(*ret));
    ret->weight = -1;
    snprintf(why, why_bytes, "a body that is no object: %s", json);
    yyjson_obj_iter iter = yyjson_obj_iter_with(root);
    while (status == 0 && (key = yyjson_obj_iter_next(&iter)) != NULL) {
        status = take_field(yyjson_get_str(key), yyjson_obj_iter_get_val(key), ret);
        if (status != 0)
            snprintf(why, why_bytes, "field %s of a body: %s", yyjson_get_str(key), json);
    }
    if (status == 0 && (ret->name[0] == '\0' || ret->address[0] == '\0')) {
        status = -1;
        snprintf(why, why_bytes, "a body without name or address: %s", json);
    }
    yyjson_doc_free(doc);
    return status;
}

static void print_flag(struct buf *out, const char *key, enum flag f)
{
    if (f != UNSAID)
        buf_printf(out, ",\"%s\":\"%s\"", key, f == ON ? "enabled" : "disabled");
}

static void print_list(struct buf *out, const char *values)
{
    char copy[32], *rest = copy;
    const char *comma = "";
    snprintf(copy, sizeof(copy), "%s", values);
    buf_add(out, ",\"proxy-v2-options\":[");
    for (char *word; (word = strsep(&rest, ",")) != NULL; comma = ",")
        buf_printf(out, "%s\"%s\"", comma, word);
    buf_add(out, "]");
}

void server_print(const struct server *s, struct buf *out)
{
    buf_printf(out, "{\"name\":\"%s\",\"address\":\"%s\"", s->name, s->address);
    if (s->port != 0)
        buf_printf(out, ",\"port\":%u", s->port);
    if (s->check_port != 0)
        buf_printf(out, ",\"health_check_port\":%u", s->check_port);
    if (s->weight >= 0)
        buf_printf(out, ",\"weight\":%d", s->weight);
    if (s->maxconn != 0)
        buf_printf(out, ",\"maxconn\":%u", s->maxconn);
    print_flag(out, "check", s->check);
    print_flag(out, "maintenance", s->maintenance);
    print_flag(out, "backup", s->backup);
    print_flag(out, "send-proxy-v2", s->send_proxy_v2);
    if (s->options[0] != '\0')
        print_list(out, s->options);
    buf_add(out, "}");
}

static void print_base(const struct section *s, const char *name, struct buf *out)
{
    buf_printf(out, "{\"name\":\"%s\",\"mode\":\"%s\"", name, s->mode);
    if (s->balance[0] != '\0')
        buf_printf(out, ",\"balance\":{\"algorithm\":\"%s\"}", s->balance);
    if (s->default_maintenance != UNSAID)
        buf_printf(out, ",\"default_server\":{\"maintenance\":\"%s\"}",
                   s->default_maintenance == ON ? "enabled" : "disabled");
}

void section_print(const struct section *s, const char *name, struct buf *out)
{
    print_base(s, name, out);
    buf_add(out, "}");
}

void section_print_whole(const struct section *s, const char *name, struct buf *out)
{
    print_base(s, name, out);
    for (size_t i = s->count; i-- > 0;) { /* any order but that of the file */
        buf_printf(out, "%s\"%s\":", i == s->count - 1 ? ",\"servers\":{" : ",", s->servers[i].name);
        server_print(&s->servers[i], out);
    }
    buf_add(out, s->count > 0 ? "}}" : "}");
}

void section_print_servers(const struct section *s, struct buf *out)
{
    buf_add(out, "[");
    for (size_t i = 0; i < s->count; i++) {
        buf_add(out, i > 0 ? "," : "");
        server_print(&s->servers[i], out);
    }
    buf_add(out, "]");
}

void running_print(const struct running_server *s, struct buf *out)
{
    static const char *const admins[] = {[READY] = "ready", [DRAIN] = "drain", [MAINT] = "maint"};
    buf_printf(out,
               "{\"name\":\"%s\",\"address\":\"%s\",\"port\":%u,\"id\":\"1\",\"weight\":%d,"
               "\"operational_state\":\"%s\",\"admin_state\":\"%s\"}",
               s->name, s->address, s->port, s->weight, s->admin == MAINT || s->down ? "down" : "up", admins[s->admin]);
}

/* ---- haproxy.cfg ---- */

static bool print_words(const struct server *s, struct buf *out)
{
    char copy[WORDS_BYTES], why[64];
    struct server as = {.port = 0};
    memcpy(copy, s->words, WORDS_BYTES);
    memcpy(as.name, s->name, NAME_BYTES);
    if (s->words[0] == '\0' || local_text_server(copy, &as, why, sizeof(why)) != 0 || !server_eq(&as, s))
        return false;
    buf_printf(out, "  server %s %s\n", s->name, s->words);
    return true;
}

static void print_line(const struct server *s, struct buf *out)
{
    if (print_words(s, out))
        return;
    buf_printf(out, "  server %s %s", s->name, s->address);
    if (s->port != 0)
        buf_printf(out, ":%u", s->port);
    if (s->check != UNSAID)
        buf_add(out, s->check == ON ? " check" : " no-check");
    if (s->check_port != 0)
        buf_printf(out, " port %u", s->check_port);
    if (s->weight >= 0)
        buf_printf(out, " weight %d", s->weight);
    if (s->maxconn != 0)
        buf_printf(out, " maxconn %u", s->maxconn);
    if (s->maintenance != UNSAID)
        buf_add(out, s->maintenance == ON ? " disabled" : " enabled");
    if (s->backup != UNSAID)
        buf_add(out, s->backup == ON ? " backup" : " no-backup");
    if (s->send_proxy_v2 != UNSAID)
        buf_add(out, s->send_proxy_v2 == ON ? " send-proxy-v2" : " no-send-proxy-v2");
    if (s->options[0] != '\0')
        buf_printf(out, " proxy-v2-options %s", s->options);
    buf_add(out, "\n");
}

static void print_odd_line(const struct conf *c, size_t backend, enum oddity oddity, struct buf *out)
{
    if (c->oddity == oddity && oddity == ODDITY_LATE && backend == BACKENDS - 1)
        buf_add(out, "  default-server inter 7s\n");
    if (c->oddity == oddity && oddity == ODDITY_FRAGILE && backend == 0)
        buf_add(out, "  timeout server 7s\n");
}

static void print_section(const struct conf *c, size_t backend, bool written, struct buf *out)
{
    const struct section *s = &c->of[backend];
    buf_printf(out, "\nbackend %s%s\n  mode %s\n", conf_backends[backend],
               c->oddity == ODDITY_DEFAULTS ? "" : " from plain", s->mode);
    if (s->balance[0] != '\0')
        buf_printf(out, "  balance %s\n", s->balance);
    if (s->default_maintenance != UNSAID)
        buf_printf(out, "  default-server %s\n", s->default_maintenance == ON ? "disabled" : "enabled");
    if (!written || !c->changed)
        print_odd_line(c, backend, ODDITY_FRAGILE, out);
    for (size_t i = 0; i < s->count; i++) {
        if (i == (written ? 0 : s->count - 1))
            print_odd_line(c, backend, ODDITY_LATE, out);
        print_line(&s->servers[i], out);
    }
}

static void print(const struct conf *c, bool written, struct buf *out)
{
    static const char frontend[] = "\nfrontend old\n  bind 127.0.0.1:81\n";
    buf_printf(out, "# _version=%lld\n%sglobal\n  maxconn 1000\n", (long long)c->version, c->head);
    if (c->oddity == ODDITY_DEFAULTS)
        buf_printf(out, "\ndefaults%s\n  mode http\n%s", written ? " unnamed_defaults_1" : "", written ? "" : frontend);
    buf_printf(out, "\ndefaults%s\n  mode tcp\n",
               c->oddity != ODDITY_DEFAULTS ? " plain"
               : written                    ? " unnamed_defaults_2"
                                            : "");
    if (c->oddity == ODDITY_DEFAULTS && written)
        buf_add(out, frontend);
    if (c->oddity == ODDITY_CONDITION)
        buf_add(out, written ? "\nfrontend lab\n  bind 127.0.0.1:82\n  .if defined(LAB)\n  .endif\n"
                             : "\n.if defined(LAB)\nfrontend lab\n  bind 127.0.0.1:82\n.endif\n");
    for (size_t b = 0; b < BACKENDS; b++)
        if (c->of[b].exists)
            print_section(c, b, written, out);
}

void conf_print(const struct conf *c, struct buf *out)
{
    print(c, false, out);
}

void conf_print_written(const struct conf *c, struct buf *out)
{
    print(c, true, out);
}

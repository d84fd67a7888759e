#include "settings/values.h"

#include <netinet/in.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "settings/settings.h"
#include "settings/names.h"

#define KEEP_MAX 256
#define GLOB_MAX 255
#define PERIOD_MIN_MS 1000u
#define PERIOD_MAX_MS (24u * 3600u * 1000u)

static void replace(char **field, const char *value)
{
    free(*field);
    *field = mem_strdup(value);
}

static int refuse_control(const char *s, struct buf *note)
{
    for (; *s != '\0'; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f) {
            buf_add(note, "it holds a control character");
            return -1;
        }
    return 0;
}

int value_namespace(const char *value, struct settings *c, struct buf *note)
{
    if (name_check_label(value, note) != 0)
        return -1;
    replace(&c->ingress_namespace, value);
    return 0;
}

int value_service(const char *value, struct settings *c, struct buf *note)
{
    if (strchr(value, '/') != NULL) {
        buf_add(note, "the namespace goes into INGRESS_NAMESPACE");
        return -1;
    }
    if (name_check_label(value, note) != 0)
        return -1;
    replace(&c->ingress_service, value);
    return 0;
}

int value_service_port(const char *value, struct settings *c, struct buf *note)
{
    if (name_check_port(value, note) != 0)
        return -1;
    replace(&c->ingress_port, value);
    return 0;
}

int value_backend_name(const char *value, struct settings *c, struct buf *note)
{
    if (name_check_backend(value, note) != 0)
        return -1;
    replace(&c->backend_name, value);
    return 0;
}

int value_backend_port(const char *value, struct settings *c, struct buf *note)
{
    uint64_t port;
    (void)note;
    if (str_parse_uint(value, UINT16_MAX, &port) != 0 || port == 0)
        return -1;
    c->backend_port = (uint16_t)port;
    return 0;
}

int value_proxy_v2(const char *value, struct settings *c, struct buf *note)
{
    (void)note;
    c->proxy_v2 = str_eq(value, "true");
    return c->proxy_v2 || str_eq(value, "false") ? 0 : -1;
}

/* A word of HAProxy's. Those with `refused` are in the Data Plane API's model too, but cannot work from here. */
struct word {
    const char *name;
    const char *refused;
    const char *warning;
};

#define NEEDS(what) \
    "it needs " what ", which this variable does not carry; write it into HAProxy's configuration and set keep here"

static int parse_word(const char *value, const struct word *words, size_t count, char **field, struct buf *note)
{
    if (str_eq(value, "keep")) {
        free(*field);
        *field = NULL;
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        if (!str_eq(value, words[i].name))
            continue;
        if (words[i].refused != NULL) {
            buf_add(note, words[i].refused);
            return -1;
        }
        if (words[i].warning != NULL)
            buf_add(note, words[i].warning);
        replace(field, value);
        return 0;
    }
    return -1;
}

int value_balance(const char *value, struct settings *c, struct buf *note)
{
    static const struct word words[] = {
        {"roundrobin", NULL, NULL},
        {"static-rr", NULL, NULL},
        {"leastconn", NULL, NULL},
        {"first", NULL, NULL},
        {"source", NULL, NULL},
        {"random", NULL, NULL},
        {"uri", NULL, "works in a backend of mode http only; in mode tcp HAProxy falls back to roundrobin"},
        {"rdp-cookie", NULL, "balances connections of Remote Desktop only; others fall back to roundrobin"},
        {"hash", NEEDS("an expression"), NULL},
        {"hdr", NEEDS("the name of a header"), NULL},
        {"url_param", NEEDS("the name of a parameter"), NULL},
    };
    return parse_word(value, words, array_len(words), &c->balance, note);
}

int value_adv_check(const char *value, struct settings *c, struct buf *note)
{
    static const struct word words[] = {
        {"tcp-check", NULL, NULL},     {"httpchk", NULL, NULL},
        {"ldap-check", NULL, NULL},    {"mysql-check", NULL, NULL},
        {"redis-check", NULL, NULL},   {"smtpchk", NULL, NULL},
        {"ssl-hello-chk", NULL, NULL}, {"pgsql-check", NEEDS("a user"), NULL},
    };
    return parse_word(value, words, array_len(words), &c->adv_check, note);
}

/* NULL: fine. HAProxy's own names have these letters only, so a glob with others could never match. */
static const char *refuse_glob(const char *glob)
{
    if (strlen(glob) > GLOB_MAX)
        return "a name is too long";
    if (!name_made_of(glob, NAME_ALNUM "-_.:*?[]!^"))
        return "a name holds a character that no server's name has";
    for (const char *p = glob; *p != '\0'; p++) {
        if (*p == ']')
            return "']' without '['";
        if (*p != '[')
            continue;
        /* A ']' that comes first is a member of the set. */
        p += p[1] == '!' || p[1] == '^' ? 2 : 1;
        if (*p != '\0')
            p = strchr(p + 1, ']');
        if (p == NULL || *p == '\0')
            return "'[' without ']'";
    }
    return NULL;
}

static void keep_servers_clear(struct settings *c)
{
    for (size_t i = 0; i < c->keep_server_count; i++)
        free(c->keep_servers[i]);
    free(c->keep_servers);
    c->keep_servers = NULL;
    c->keep_server_count = 0;
}

int value_keep_servers(const char *value, struct settings *c, struct buf *note)
{
    static const char separators[] = ", \t\r\n";
    keep_servers_clear(c);
    for (const char *p = value + strspn(value, separators); *p != '\0'; p += strspn(p, separators)) {
        size_t len = strcspn(p, separators);
        char *glob = mem_strndup(p, len);
        const char *why = c->keep_server_count == KEEP_MAX ? "more than 256 of them" : refuse_glob(glob);
        if (why != NULL) {
            buf_add(note, why);
            free(glob);
            return -1;
        }
        if (strspn(glob, "*") == len)
            buf_add(note, note->len > 0 ? "" : "keeps every server: none would ever be changed or removed");
        c->keep_servers = mem_resize(c->keep_servers, c->keep_server_count + 1, sizeof(*c->keep_servers));
        c->keep_servers[c->keep_server_count++] = glob;
        p += len;
    }
    return 0;
}

int value_create_backend(const char *value, struct settings *c, struct buf *note)
{
    (void)note;
    return str_parse_bool(value, &c->create_backend);
}

int value_allow_empty(const char *value, struct settings *c, struct buf *note)
{
    (void)note;
    return str_parse_bool(value, &c->allow_empty);
}

int value_resync_period(const char *value, struct settings *c, struct buf *note)
{
    uint64_t ms;
    if (name_is_short_number(value) && value[strspn(value, "0")] != '\0') {
        buf_printf(note, "the unit is missing: %ss?", value);
        return -1;
    }
    if (str_parse_duration_ms(value, PERIOD_MAX_MS, &ms) != 0 || ms < PERIOD_MIN_MS)
        return -1;
    c->resync_period_ms = ms;
    return 0;
}

/* Which of its values can be used, and whether it may be shown, is for settings/secrets/credentials.c to say. */
int value_credentials_file(const char *value, struct settings *c, struct buf *note)
{
    (void)note;
    replace(&c->dataplane_credentials_file, value);
    return 0;
}

int value_kubeconfig(const char *value, struct settings *c, struct buf *note)
{
    if (refuse_control(value, note) != 0 || name_made_of(value, ":"))
        return -1;
    replace(&c->kubeconfig, value);
    return 0;
}

/* Why host is none, given whether it stood in brackets; NULL: fine. */
static const char *refuse_host(const char *host, bool brackets)
{
    int family = str_ip_family(host);
    if (brackets)
        return family == AF_INET6 ? NULL : "what stands in brackets is no IPv6 address";
    if (host[0] == '\0' || family == AF_INET)
        return NULL;
    if (strchr(host, ':') != NULL)
        return "an IPv6 address goes in brackets: [::1]:8080";
    return str_eq(host, "*") ? "leave out the '*': no address means all of them"
                             : "its host is no IP address, and names are not looked up";
}

int value_listen_address(const char *value, struct settings *c, struct buf *note)
{
    const char *colon = strrchr(value, ':');
    uint64_t port;
    if (colon == NULL) {
        if (name_is_short_number(value))
            buf_printf(note, "did you mean :%s?", value);
        return -1;
    }
    bool brackets = value[0] == '[' && colon[-1] == ']';
    cleanup(mem_free_ptr) char *host =
        brackets ? mem_strndup(value + 1, (size_t)(colon - value) - 2) : mem_strndup(value, (size_t)(colon - value));
    const char *why = refuse_host(host, brackets);
    if (why == NULL && (str_parse_uint(colon + 1, UINT16_MAX, &port) != 0 || port == 0))
        why = "its port is not a number from 1 to 65535";
    if (why != NULL) {
        buf_add(note, why);
        return -1;
    }
    replace(&c->listen_host, host);
    c->listen_port = (uint16_t)port;
    return 0;
}

int value_log_format(const char *value, struct settings *c, struct buf *note)
{
    (void)note;
    return log_format_parse(value, &c->log_format);
}

int value_log_level(const char *value, struct settings *c, struct buf *note)
{
    (void)note;
    return log_level_parse(value, &c->log_level);
}

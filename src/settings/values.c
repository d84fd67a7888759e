#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "settings/settings.h"
#include "settings/url.h"
#include "settings/names.h"
#include "settings/findings.h"
#include "settings/selector.h"
#include "settings/types.h"

#define WHITE " \t\r\n"
#define KEEP_MAX 256
#define GLOB_MAX 255
#define SELECTOR_MAX 4096 /* it goes into the URL of each request, and servers in between take 8 KB of one */
#define NAME_FORMAT_MAX 64
#define HOST_NAME_MAX_BYTES 253
#define KEY_MAX_BYTES 253 /* of a Secret */

char *value_next_entry(const char **rest)
{
    static const char separators[] = "," WHITE;
    const char *start = *rest + strspn(*rest, separators);
    size_t len = strcspn(start, separators);
    *rest = start + len;
    return len > 0 ? mem_strndup(start, len) : NULL;
}

int check_service(const char *s, struct buf *note)
{
    return strchr(s, '/') != NULL ? value_refuse(note, "set the namespace in INGRESS_NAMESPACE")
                                  : name_check_label(s, note);
}

int check_lease_name(const char *s, struct buf *note)
{
    return strchr(s, '/') != NULL ? value_refuse(note, "set the namespace in LEASE_NAMESPACE")
                                  : name_check_subdomain(s, note);
}

int check_secret_name(const char *s, struct buf *note)
{
    return strchr(s, '/') != NULL ? value_refuse(note, "set the namespace in CONFIG_SECRET_NAMESPACE")
                                  : name_check_subdomain(s, note);
}

int check_secret_key(const char *s, struct buf *note)
{
    (void)note;
    return name_made_of(s, NAME_ALNUM "-._") && strlen(s) <= KEY_MAX_BYTES ? 0 : -1;
}

/* Whether it can be read is found out where it is read. */
int check_path(const char *s, struct buf *note)
{
    return strstr(s, "-----BEGIN") != NULL ? value_refuse(note, "it must be the path of a file, not its content") : 0;
}

int check_absolute_path(const char *s, struct buf *note)
{
    return s[0] != '/' ? value_refuse(note, "it does not begin with '/'") : check_path(s, note);
}

int check_kubeconfig(const char *s, struct buf *note)
{
    if (str_has_control(s))
        return value_refuse(note, "it holds a control character");
    return name_made_of(s, ":") ? -1 : 0;
}

int check_host_name(const char *s, struct buf *note)
{
    if (name_made_of(s, NAME_ALNUM "-._") && strlen(s) <= HOST_NAME_MAX_BYTES && s[0] != '.')
        return 0;
    return value_refuse(note, strpbrk(s, ":/") != NULL ? "the name alone, without a port or a path" : "");
}

int check_spire_socket(const char *s, struct buf *note)
{
    cleanup(mem_free_ptr) char *url = NULL;
    if (str_has_prefix(s, "unix://") && !str_has_prefix(s, "unix:///"))
        return value_refuse(note, "three slashes: unix:///run/...");
    return dataplane_url_socket(s) != NULL ? dataplane_url_check(s, &url, NULL, note)
                                           : value_refuse(note, "it begins neither with '/' nor with unix:///");
}

int check_spiffe_id(const char *s, struct buf *note)
{
    const char *problem = spiffe_id_problem(s);
    return problem != NULL ? value_refuse(note, problem) : 0;
}

int check_true_or_false(const char *s, struct buf *note)
{
    (void)note;
    return str_eq(s, "true") || str_eq(s, "false") ? 0 : -1;
}

/* A word of HAProxy's. Those with `refused` are in the Data Plane API's model too, but cannot work from here. */
struct word {
    const char *name;
    const char *refused;
    const char *warning;
};

#define NEEDS(what) "it needs " what " as an argument; write it into haproxy.cfg and set keep here"

static int check_word(const char *s, const struct word *words, size_t count, struct buf *note)
{
    for (size_t i = 0; i < count; i++) {
        if (!str_eq(s, words[i].name))
            continue;
        buf_add(note, words[i].refused != NULL ? words[i].refused : words[i].warning != NULL ? words[i].warning : "");
        return words[i].refused != NULL ? -1 : 0;
    }
    return str_eq(s, "keep") ? 0 : -1;
}

int check_balance(const char *s, struct buf *note)
{
    static const struct word words[] = {
        {.name = "roundrobin"},
        {.name = "static-rr"},
        {.name = "leastconn"},
        {.name = "first"},
        {.name = "source"},
        {.name = "random"},
        {"uri", NULL, "works in a backend of mode http only; in mode tcp HAProxy falls back to roundrobin"},
        {"rdp-cookie", NULL, "balances connections of Remote Desktop only; others fall back to roundrobin"},
        {"hash", NEEDS("an expression"), NULL},
        {"hdr", NEEDS("the name of a header"), NULL},
        {"url_param", NEEDS("the name of a parameter"), NULL},
    };
    return check_word(s, words, array_len(words), note);
}

int check_adv_check(const char *s, struct buf *note)
{
    static const struct word words[] = {
        {.name = "tcp-check"},     {.name = "httpchk"},
        {.name = "ldap-check"},    {.name = "mysql-check"},
        {.name = "redis-check"},   {.name = "smtpchk"},
        {.name = "ssl-hello-chk"}, {.name = "pgsql-check", .refused = NEEDS("a user")},
    };
    return check_word(s, words, array_len(words), note);
}

/* Which of the placeholders begins here; -1: none. */
static int placeholder_at(const char *s, size_t *ret_len)
{
    static const char *const names[] = {"{node}", "{address}", "{port}", "{cluster}"};
    for (size_t i = 0; i < array_len(names); i++) {
        *ret_len = strlen(names[i]);
        if (str_has_prefix(s, names[i]))
            return (int)i;
    }
    return -1;
}

#define PLACEHOLDER_CLUSTER 8u

int check_server_name_format(const char *s, struct buf *note)
{
    unsigned seen = 0, part = 0; /* placeholders: of all, of those since the last '_' */
    for (const char *at = s; *at != '\0';) {
        size_t len = 1;
        int which = at[0] == '{' ? placeholder_at(at, &len) : -1;
        if (which >= 0 && (seen & (1u << which)) != 0)
            return value_refuse(note, "a placeholder is used twice");
        if (which < 0 && strchr(NAME_ALNUM "_.:-", at[0]) == NULL)
            return -1;
        seen |= which >= 0 ? 1u << which : 0;
        part = at[0] == '_' ? 0 : part | (which >= 0 ? 1u << which : 0);
        if ((part & PLACEHOLDER_CLUSTER) != 0 && part != PLACEHOLDER_CLUSTER)
            return value_refuse(note, "only a '_' separates {cluster} from another placeholder, because all other "
                                      "characters may be part of a cluster's name, so that a server could be of two "
                                      "clusters: write {cluster}_{node}");
        at += len;
    }
    if ((seen & 3) == 0)
        return value_refuse(note, "without {node} or {address} all servers would have the same name");
    return strlen(s) <= NAME_FORMAT_MAX ? 0 : -1;
}

bool settings_share_backends(const struct settings *s)
{
    return s->server_name_format != NULL && strstr(s->server_name_format, "{cluster}") != NULL;
}

/* ---- NODE_SELECTOR, SERVICES_LABEL ---- */

static void add_fault(const char *text, const struct selector_fault *f, struct buf *note)
{
    if (f->len == 0) {
        buf_printf(note, "at its end: %s", f->why);
        return;
    }
    buf_printf(note, "at character %zu", f->offset + 1);
    if (!finding_is_delicate(text)) {
        cleanup(mem_free_ptr) char *word = mem_strndup(text + f->offset, f->len);
        buf_add(note, ", ");
        finding_quote(note, word);
    }
    buf_printf(note, ": %s", f->why);
}

static int selector_parse(const struct setting *row, const char *value, struct settings *s, struct buf *note)
{
    struct selector_fault fault;
    if (strlen(value) > SELECTOR_MAX) {
        buf_printf(note, "it has %zu characters, and more than %d do not fit into a request", strlen(value),
                   SELECTOR_MAX);
        return -1;
    }
    if (selector_check(value, &fault) != 0) {
        add_fault(value, &fault, note);
        return -1;
    }
    /* All of them, for the API server; here more likely a mistake. */
    if (value[strspn(value, WHITE)] == '\0')
        return value_refuse(note, "it is nothing but white space");
    /* Nothing around it, and spaces only inside, so that it is one line. */
    value += strspn(value, WHITE);
    size_t len = strlen(value);
    while (strchr(WHITE, value[len - 1]) != NULL)
        len--;
    char *copy = mem_strndup(value, len);
    for (char *p = copy; *p != '\0'; p++)
        if (strchr(WHITE, *p) != NULL)
            *p = ' ';
    SETTING_MEMBER(char *, row, s) = copy;
    return 0;
}

const struct setting_type type_selector = {selector_parse, text_print, text_fini};

/* ---- NODE_ADDRESS_TYPES ---- */

static const char *const address_types[] = {
    [NODE_INTERNAL_IP] = "InternalIP", [NODE_EXTERNAL_IP] = "ExternalIP", [NODE_HOSTNAME] = "Hostname", NULL};

static int address_types_parse(const struct setting *row, const char *value, struct settings *s, struct buf *note)
{
    bool seen[NODE_ADDRESS_TYPES] = {false};
    (void)row;
    for (char *word; (word = value_next_entry(&value)) != NULL;) {
        int i = words_find(address_types, word, note);
        free(word);
        if (i < 0)
            return -1;
        if (seen[i]) {
            buf_printf(note, "%s appears twice", address_types[i]);
            return -1;
        }
        seen[i] = true;
        s->nodes.types[s->nodes.type_count++] = (enum node_address_type)i;
    }
    return s->nodes.type_count > 0 ? 0 : value_refuse(note, "there is none in it");
}

static void address_types_print(const struct setting *row, const struct settings *s, struct buf *out)
{
    (void)row;
    for (size_t i = 0; i < s->nodes.type_count; i++)
        buf_printf(out, "%s%s", i > 0 ? "," : "", address_types[s->nodes.types[i]]);
}

const struct setting_type type_address_types = {address_types_parse, address_types_print, NULL};

/* ---- TEMPLATE_FROM ---- */

#define FROM_FILE "file:"
#define FROM_CONFIGMAP "configmap:"
#define FROM_PODS "pods:"

static int template_from_parse(const struct setting *row, const char *value, struct settings *s, struct buf *note)
{
    struct settings_template_from *ret = &SETTING_MEMBER(struct settings_template_from, row, s);
    if (str_has_prefix(value, FROM_CONFIGMAP)) {
        const char *namespace = value + strlen(FROM_CONFIGMAP), *slash = strchr(namespace, '/');
        if (slash == NULL)
            return value_refuse(note, "the namespace is missing: configmap:namespace/name");
        cleanup(mem_free_ptr) char *first = mem_strndup(namespace, (size_t)(slash - namespace));
        if (name_check_label(first, note) != 0 || name_check_subdomain(slash + 1, note) != 0)
            return -1;
        ret->namespace = mem_strdup(first);
        ret->name = mem_strdup(slash + 1);
        return 0;
    }
    if (str_has_prefix(value, FROM_PODS)) {
        if (name_check_label(value + strlen(FROM_PODS), note) != 0)
            return -1;
        ret->namespace = mem_strdup(value + strlen(FROM_PODS));
        return 0;
    }
    if (!str_has_prefix(value, FROM_FILE))
        return value_refuse(note, value[0] == '/' ? "put file: in front of it" : "");
    if (check_absolute_path(value + strlen(FROM_FILE), note) != 0)
        return -1;
    ret->folder = mem_strdup(value + strlen(FROM_FILE));
    return 0;
}

static void template_from_print(const struct setting *row, const struct settings *s, struct buf *out)
{
    const struct settings_template_from *from = &SETTING_MEMBER(const struct settings_template_from, row, s);
    if (from->folder != NULL)
        buf_printf(out, FROM_FILE "%s", from->folder);
    else if (from->name != NULL)
        buf_printf(out, FROM_CONFIGMAP "%s/%s", from->namespace, from->name);
    else if (from->namespace != NULL)
        buf_printf(out, FROM_PODS "%s", from->namespace);
}

void settings_print_template_from(const struct settings *c, struct buf *out)
{
    template_from_print(SETTING(template_from), c, out);
}

bool settings_template_pods(const struct settings *c)
{
    return c->template_from.namespace != NULL && c->template_from.name == NULL;
}

static void template_from_fini(const struct setting *row, struct settings *s)
{
    struct settings_template_from *from = &SETTING_MEMBER(struct settings_template_from, row, s);
    mem_free_all(from->folder, from->namespace, from->name);
}

const struct setting_type type_template_from = {template_from_parse, template_from_print, template_from_fini};

/* ---- HAPROXY_KEEP_SERVERS ---- */

/* NULL: fine. HAProxy's own names have these letters only, so a glob with others could never match. */
static const char *refuse_glob(const char *glob)
{
    if (strlen(glob) > GLOB_MAX)
        return "a name is too long";
    if (!name_made_of(glob, NAME_ALNUM "-_.:*?[]!^"))
        return "a name contains a character that server names cannot have";
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

static int globs_parse(const struct setting *row, const char *value, struct settings *s, struct buf *note)
{
    struct settings_names *ret = &SETTING_MEMBER(struct settings_names, row, s);
    ret->list = mem_array(KEEP_MAX, sizeof(ret->list[0]));
    for (char *glob; (glob = value_next_entry(&value)) != NULL;) {
        const char *why = ret->count == KEEP_MAX ? "more than 256 of them" : refuse_glob(glob);
        if (why != NULL) {
            free(glob);
            return value_refuse(note, why);
        }
        if (name_made_of(glob, "*"))
            buf_add(note, note->len > 0 ? "" : "keeps every server: none would ever be changed or removed");
        ret->list[ret->count++] = glob;
    }
    return 0;
}

const struct setting_type type_globs = {globs_parse, names_print, names_fini};

/* ---- LISTEN_ADDRESS, METRICS_ADDRESS, PROBE_ADDRESS ---- */

/* Why host is none, given whether it stood in brackets; NULL: fine. */
static const char *refuse_host(const char *host, bool brackets)
{
    int family = str_ip_family(host);
    if (brackets)
        return family == AF_INET6 ? NULL : "the text in brackets is not an IPv6 address";
    if (host[0] == '\0' || family == AF_INET)
        return NULL;
    if (strchr(host, ':') != NULL)
        return "an IPv6 address goes in brackets: [::1]:8080";
    return str_eq(host, "*") ? "leave out the '*': no address means all of them"
                             : "its host is not an IP address; names are not resolved";
}

static int listen_address_parse(const struct setting *row, const char *value, struct settings *s, struct buf *note)
{
    struct settings_listen *ret = &SETTING_MEMBER(struct settings_listen, row, s);
    const char *colon = strrchr(value, ':');
    uint64_t port;
    /* Of an address that a further listener may do without. */
    if (row->unset != NULL && str_eq(value, "0"))
        return 0;
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
    if (why != NULL)
        return value_refuse(note, why);
    *ret = (struct settings_listen){.host = mem_strdup(host), .port = (uint16_t)port};
    return 0;
}

static void listen_address_print(const struct setting *row, const struct settings *s, struct buf *out)
{
    const struct settings_listen *l = &SETTING_MEMBER(const struct settings_listen, row, s);
    bool brackets = l->host != NULL && strchr(l->host, ':') != NULL;
    if (l->host != NULL)
        buf_printf(out, "%s%s%s:%u", brackets ? "[" : "", l->host, brackets ? "]" : "", (unsigned)l->port);
    else if (setting_is_given(s, row))
        buf_add(out, "0");
}

static void listen_address_fini(const struct setting *row, struct settings *s)
{
    free(SETTING_MEMBER(struct settings_listen, row, s).host);
}

const struct setting_type type_listen_address = {listen_address_parse, listen_address_print, listen_address_fini};

void settings_listen_nowhere(struct settings *s)
{
    struct settings_listen *all[] = {&s->listen, &s->metrics_listen, &s->probe_listen};
    for (size_t i = 0; i < array_len(all); i++) {
        free(all[i]->host);
        *all[i] = (struct settings_listen){0};
    }
    s->status_page = false;
}

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/str.h"
#include "settings/settings.h"
#include "settings/names.h"
#include "settings/report.h"
#include "settings/selector.h"
#include "settings/values.h"

#define HOUR_MS (3600u * 1000u)
#define DRAIN_MAX_MS (24u * HOUR_MS)
#define PARK_MAX_MS (720u * HOUR_MS)
#define SELECTOR_MAX 4096 /* it goes into the URL of each request, and servers in between take 8 KB of one */
#define WHITE " \t\r\n"

/* The index of value in names, or -1, with a hint where one of them is nearly it. */
static int parse_word(const char *value, const char *const *names, size_t count, struct buf *note)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq(value, names[i]))
            return (int)i;
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(value, names[i]) == 0 || (strlen(value) > 3 && str_distance(value, names[i], 1) <= 1)) {
            buf_printf(note, "did you mean %s?", names[i]);
            break;
        }
    return -1;
}

int value_node_mode(const char *value, struct settings *c, struct buf *note)
{
    static const char *const names[] = {[SETTINGS_NODE_MODE_ENDPOINTS] = "endpoints", [SETTINGS_NODE_MODE_ALL] = "all"};
    int i = parse_word(value, names, array_len(names), note);
    if (i >= 0)
        c->node_mode = (enum settings_node_mode)i;
    return i >= 0 ? 0 : -1;
}

/* Nothing around it, and spaces only inside, so that it is one line. */
static char *trimmed(const char *value)
{
    value += strspn(value, WHITE);
    size_t len = strlen(value);
    while (len > 0 && strchr(WHITE, value[len - 1]) != NULL)
        len--;
    char *copy = mem_strndup(value, len);
    for (char *p = copy; *p != '\0'; p++)
        if (strchr(WHITE, *p) != NULL)
            *p = ' ';
    return copy;
}

static void add_fault(const char *text, const struct selector_fault *f, struct buf *note)
{
    if (f->len == 0) {
        buf_printf(note, "at its end: %s", f->why);
        return;
    }
    buf_printf(note, "at character %zu", f->offset + 1);
    if (!report_is_delicate(text)) {
        cleanup(mem_free_ptr) char *word = mem_strndup(text + f->offset, f->len);
        buf_add(note, ", ");
        report_quote(note, word);
    }
    buf_printf(note, ": %s", f->why);
}

int value_node_selector(const char *value, struct settings *c, struct buf *note)
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
    /* All nodes, for the API server; here more likely a mistake. */
    if (value[strspn(value, WHITE)] == '\0') {
        buf_add(note, "it is nothing but white space");
        return -1;
    }
    free(c->node_selector);
    c->node_selector = trimmed(value);
    return 0;
}

int value_node_address_types(const char *value, struct settings *c, struct buf *note)
{
    static const char separators[] = "," WHITE;
    static const char *const names[SETTINGS_ADDRESS_TYPES] = {
        [SETTINGS_INTERNAL_IP] = "InternalIP", [SETTINGS_EXTERNAL_IP] = "ExternalIP", [SETTINGS_HOSTNAME] = "Hostname"};
    bool seen[SETTINGS_ADDRESS_TYPES] = {false};
    c->address_type_count = 0;
    for (const char *p = value + strspn(value, separators); *p != '\0'; p += strspn(p, separators)) {
        size_t len = strcspn(p, separators);
        cleanup(mem_free_ptr) char *word = mem_strndup(p, len);
        int i = parse_word(word, names, array_len(names), note);
        if (i < 0)
            return -1;
        if (seen[i]) {
            buf_printf(note, "%s is there twice", names[i]);
            return -1;
        }
        seen[i] = true;
        c->address_types[c->address_type_count++] = (enum settings_address_type)i;
        p += len;
    }
    if (c->address_type_count > 0)
        return 0;
    buf_add(note, "there is none in it");
    return -1;
}

/* Without the white space on either side of each ','. */
static char *tight_commas(const char *value)
{
    char *copy = mem_strdup(value), *to = copy;
    for (const char *p = value; *p != '\0';) {
        size_t space = strspn(p, WHITE);
        if (space > 0 && (p[space] == ',' || (to > copy && to[-1] == ',')))
            p += space;
        else
            *to++ = *p++;
    }
    *to = '\0';
    return copy;
}

int value_ip_family(const char *value, struct settings *c, struct buf *note)
{
    static const char *const names[] = {[SETTINGS_IP_DUAL] = "dual",
                                        [SETTINGS_IP_IPV4] = "IPv4",
                                        [SETTINGS_IP_IPV6] = "IPv6",
                                        [SETTINGS_IP_IPV4_FIRST] = "IPv4,IPv6",
                                        [SETTINGS_IP_IPV6_FIRST] = "IPv6,IPv4"};
    cleanup(mem_free_ptr) char *tight = tight_commas(value);
    int i = parse_word(tight, names, array_len(names), note);
    if (i >= 0)
        c->ip_family = (enum settings_ip_family)i;
    return i >= 0 ? 0 : -1;
}

int value_server_weights(const char *value, struct settings *c, struct buf *note)
{
    static const char *const names[] = {[SETTINGS_WEIGHTS_KEEP] = "keep",
                                        [SETTINGS_WEIGHTS_EQUAL] = "equal",
                                        [SETTINGS_WEIGHTS_ENDPOINTS] = "endpoints"};
    int i = parse_word(value, names, array_len(names), note);
    if (i >= 0)
        c->weights = (enum settings_weights)i;
    return i >= 0 ? 0 : -1;
}

int value_adopt_servers(const char *value, struct settings *c, struct buf *note)
{
    static const char *const names[] = {
        [SETTINGS_ADOPT_KEEP] = "keep", [SETTINGS_ADOPT_RENAME] = "rename", [SETTINGS_ADOPT_NO] = "no"};
    int i = parse_word(value, names, array_len(names), note);
    if (i >= 0)
        c->adopt = (enum settings_adopt)i;
    return i >= 0 ? 0 : -1;
}

/* Which of the placeholders begins here; -1: none. */
static int placeholder_at(const char *s, size_t *ret_len)
{
    static const char *const names[] = {"{node}", "{address}", "{port}"};
    for (size_t i = 0; i < array_len(names); i++) {
        *ret_len = strlen(names[i]);
        if (str_has_prefix(s, names[i]))
            return (int)i;
    }
    return -1;
}

#define NAME_FORMAT_MAX 64

int value_server_name_format(const char *value, struct settings *c, struct buf *note)
{
    unsigned seen = 0;
    for (const char *at = value; *at != '\0';) {
        size_t len = 1;
        int which = at[0] == '{' ? placeholder_at(at, &len) : -1;
        if (which >= 0 ? (seen & (1u << which)) != 0 : strchr(NAME_ALNUM "_.:-", at[0]) == NULL) {
            buf_add(note, which >= 0 ? "a placeholder stands there twice" : "");
            return -1;
        }
        seen |= which >= 0 ? 1u << which : 0;
        at += len;
    }
    if ((seen & 3) == 0 || strlen(value) > NAME_FORMAT_MAX) {
        buf_add(note, (seen & 3) == 0 ? "without {node} or {address} all servers had one name" : "");
        return -1;
    }
    free(c->server_name_format);
    c->server_name_format = mem_strdup(value);
    return 0;
}

int value_health_check(const char *value, struct settings *c, struct buf *note)
{
    static const char *const names[] = {
        [SETTINGS_HEALTH_CHECK_BACKEND] = "backend", [SETTINGS_HEALTH_CHECK_NODE_PORT] = "node-port"};
    int i = parse_word(value, names, array_len(names), note);
    if (i >= 0)
        c->health_check = (enum settings_health_check)i;
    return i >= 0 ? 0 : -1;
}

/* From 0 to max_ms. */
static int parse_time(const char *value, uint64_t max_ms, uint64_t *ret_ms, struct buf *note)
{
    if (name_is_short_number(value) && value[strspn(value, "0")] != '\0') {
        buf_printf(note, "the unit is missing: %ss?", value);
        return -1;
    }
    return str_parse_duration_ms(value, max_ms, ret_ms);
}

int value_drain_timeout(const char *value, struct settings *c, struct buf *note)
{
    return parse_time(value, DRAIN_MAX_MS, &c->drain_timeout_ms, note);
}

int value_park_ttl(const char *value, struct settings *c, struct buf *note)
{
    return parse_time(value, PARK_MAX_MS, &c->park_ttl_ms, note);
}

int value_park_nodes(const char *value, struct settings *c, struct buf *note)
{
    (void)note;
    return str_parse_bool(value, &c->park_nodes);
}

int value_max_loss_percent(const char *value, struct settings *c, struct buf *note)
{
    uint64_t percent;
    if (str_parse_uint(value, 100, &percent) != 0) {
        if (name_made_of(value, NAME_DIGITS "%") && str_has_suffix(value, "%"))
            buf_add(note, "leave out the '%'");
        return -1;
    }
    c->max_loss_percent = (unsigned)percent;
    return 0;
}

int value_dry_run(const char *value, struct settings *c, struct buf *note)
{
    (void)note;
    return str_parse_bool(value, &c->dry_run);
}

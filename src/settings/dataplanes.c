#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "settings/url.h"
#include "settings/parse.h"
#include "settings/types.h"

#define WHITE " \t\r\n"

/* The next entry from *rest on, which is moved behind it; NULL: none. Allocates. */
static char *next_entry(const char **rest)
{
    const char *start = *rest + strspn(*rest, "," WHITE);
    size_t len = strcspn(start, ",");
    *rest = start + len;
    while (len > 0 && strchr(WHITE, start[len - 1]) != NULL)
        len--;
    return len > 0 ? mem_strndup(start, len) : NULL;
}

/* Two of them with white space in between, which a path can hold but a list is not made of. */
static bool holds_two(const char *entry)
{
    for (const char *p = entry; *(p += strcspn(p, WHITE)) != '\0';) {
        p += strspn(p, WHITE);
        if (p[0] == '/' || str_has_prefix(p, "http:") || str_has_prefix(p, "https:") || str_has_prefix(p, "unix:"))
            return true;
    }
    return false;
}

static int dataplanes_check_entry(const char *entry, const struct settings *c, struct settings_dataplane *d,
                                  struct buf *why)
{
    if (holds_two(entry))
        return value_refuse(why, "separate URLs by commas");
    if (dataplane_url_check(entry, &d->url, &d->socket, why) != 0)
        return -1;
    for (size_t i = 0; &c->dataplanes[i] < d; i++)
        if (c->dataplanes[i].url != NULL && dataplane_url_same(c->dataplanes[i].url, d->url)) {
            buf_printf(why, "it is the same as entry %zu", i + 1);
            return -1;
        }
    return 0;
}

void settings_dataplane_fini(struct settings_dataplane *d)
{
    mem_free_all(d->url, d->socket);
    secret_fini(&d->username);
    secret_fini(&d->password);
    secret_fini(&d->token);
}

static void dataplanes_fini(const struct setting *row, struct settings *c)
{
    (void)row;
    for (size_t i = 0; i < c->dataplane_count; i++)
        settings_dataplane_fini(&c->dataplanes[i]);
    free(c->dataplanes);
    c->dataplanes = NULL;
    c->dataplane_count = 0;
}

static int dataplanes_parse(const struct setting *row, const char *value, struct settings *s, struct buf *note)
{
    /* Whether an entry may be shown: nothing in the whole value looks as if something secret were cut apart by a ','. */
    bool shown = strpbrk(value, "@?#") == NULL, bad = false, login = false;
    size_t count = 0;
    const char *rest = value;
    for (char *entry; (entry = next_entry(&rest)) != NULL; count++)
        free(entry);
    if (count == 0 || count > SETTINGS_DATAPLANES_MAX) {
        buf_printf(note, "it has %zu", count);
        return -1;
    }
    s->dataplanes = mem_array(count, sizeof(s->dataplanes[0]));
    rest = value;
    for (char *entry; (entry = next_entry(&rest)) != NULL; free(entry)) {
        cleanup(buf_fini) struct buf why = {0};
        struct settings_dataplane *d = &s->dataplanes[s->dataplane_count++];
        if (dataplanes_check_entry(entry, s, d, &why) == 0)
            continue;
        buf_add(note, note->len > 0 ? "; " : "");
        if (count > 1)
            buf_printf(note, "entry %zu%s", s->dataplane_count, shown ? ", " : "");
        if (count > 1 && shown)
            finding_quote(note, entry);
        buf_printf(note, "%s%s", count > 1 && why.len > 0 ? ": " : "", buf_str(&why));
        bad = true;
        login |= dataplane_url_socket(entry) == NULL && strchr(entry, '@') != NULL;
    }
    if (!bad)
        return 0;
    if (login)
        buf_printf(note,
                   "; put user name and password into HAPROXY_DATAPLANE_USERNAME and HAPROXY_DATAPLANE_PASSWORD%s",
                   count > 1 ? ", or into the file of HAPROXY_DATAPLANE_CREDENTIALS_FILE" : "");
    dataplanes_fini(row, s);
    return -1;
}

void settings_print_dataplanes(const struct settings *s, struct buf *out)
{
    for (size_t i = 0; i < s->dataplane_count; i++)
        buf_printf(out, "%s%s", i > 0 ? "," : "", s->dataplanes[i].url);
}

static void dataplanes_print(const struct setting *row, const struct settings *s, struct buf *out)
{
    (void)row;
    settings_print_dataplanes(s, out);
}

const struct setting_type type_dataplanes = {dataplanes_parse, dataplanes_print, dataplanes_fini};

bool dataplanes_any_https(const struct settings *c)
{
    for (size_t i = 0; i < c->dataplane_count; i++)
        if (str_has_prefix(c->dataplanes[i].url, "https://"))
            return true;
    return false;
}

bool settings_haproxies_are_pods(const struct settings *c)
{
    return c->config_source == SETTINGS_CONFIG_TEMPLATE && c->config_target == SETTINGS_TARGET_HAPROXY &&
           c->local.file == NULL && c->dataplane_count == 0;
}

void dataplanes_check_pods(const struct settings *c, struct settings_findings *found)
{
    if (!settings_haproxies_are_pods(c) || setting_is_given(c, SETTING(dataplanes)) ||
        setting_is_given(c, SETTING(local.file)))
        return;
    if (c->mapping_count > 0)
        finding_error(found,
                      "INGRESS_SERVICES, or a variable beside it, is set, and the HAProxies are pods (`targets` of the "
                      "template set): expected HAPROXY_DATAPLANE_URL or HAPROXY_CONFIG_FILE, because servers are "
                      "kept only in HAProxies that these name");
    if (c->dataplane_credentials_file != NULL)
        finding_warning(found,
                        "HAPROXY_DATAPLANE_CREDENTIALS_FILE has no effect: the HAProxies are pods (`targets` of the "
                        "template set), whose URLs are not known before");
}

static void dataplanes_check_spiffe(const struct settings *c, struct settings_findings *found)
{
    const struct {
        const struct setting *row;
        bool set;
    } files[] = {{SETTING(dataplane_ca_file), c->dataplane_ca_file != NULL},
                 {SETTING(dataplane_cert_file), c->dataplane_cert_file != NULL},
                 {SETTING(dataplane_key_file), c->dataplane_key_file != NULL},
                 {SETTING(dataplane_server_name), c->dataplane_server_name != NULL},
                 {SETTING(dataplane_insecure), c->dataplane_insecure}};
    if (c->spiffe_peer_id != NULL && c->spire_socket == NULL)
        finding_error(found, "SPIFFE_PEER_ID is set and SPIRE_AGENT_SOCKET is not: without it no SPIFFE ID is checked");
    if (c->spire_socket == NULL)
        return;
    for (size_t i = 0; i < array_len(files); i++)
        if (files[i].set)
            finding_error(
                found,
                "%s is set beside SPIRE_AGENT_SOCKET: expected one of them, because SPIFFE identifies both sides",
                files[i].row->name);
    size_t https = 0;
    for (size_t i = 0; i < c->dataplane_count; i++)
        https += str_has_prefix(c->dataplanes[i].url, "https://");
    bool all = https == c->dataplane_count && https > 0;
    if (!all && !settings_haproxies_are_pods(c) && found->error_count == 0)
        finding_error(found, "SPIRE_AGENT_SOCKET is set, and not every HAProxy has an https URL in "
                             "HAPROXY_DATAPLANE_URL: without TLS no SPIFFE ID is checked");
}

void dataplanes_check_tls(const struct settings *c, struct settings_findings *found)
{
    bool any = c->dataplane_ca_file != NULL || c->dataplane_cert_file != NULL || c->dataplane_key_file != NULL ||
               c->dataplane_server_name != NULL || c->dataplane_insecure;
    if (c->dataplane_cert_file != NULL && c->dataplane_key_file == NULL)
        finding_error(found, "HAPROXY_DATAPLANE_CERT_FILE needs HAPROXY_DATAPLANE_KEY_FILE beside it");
    if (c->dataplane_key_file != NULL && c->dataplane_cert_file == NULL)
        finding_error(found, "HAPROXY_DATAPLANE_KEY_FILE needs HAPROXY_DATAPLANE_CERT_FILE beside it");
    if (c->dataplane_insecure && (c->dataplane_ca_file != NULL || c->dataplane_server_name != NULL))
        finding_warning(found, "HAPROXY_DATAPLANE_INSECURE=true: nothing is verified, so %s has no effect",
                        c->dataplane_ca_file != NULL ? "HAPROXY_DATAPLANE_CA_FILE" : "HAPROXY_DATAPLANE_SERVER_NAME");
    dataplanes_check_spiffe(c, found);
    for (size_t i = 0; i < c->dataplane_count; i++) {
        const struct settings_dataplane *d = &c->dataplanes[i];
        if (d->socket == NULL && (secret_is_set(&d->password) || secret_is_set(&d->token)))
            finding_plain_password(found, SETTING(dataplanes)->name, d->url);
    }
    if (any && c->dataplane_count > 0 && !dataplanes_any_https(c))
        finding_warning(found, "the TLS settings (HAPROXY_DATAPLANE_CA_FILE and so on) have no effect: there is no "
                               "https URL in HAPROXY_DATAPLANE_URL");
}

/* What the settings of etcd have (CONFIG_SOURCE=etcd, CONFIG_TARGET=etcd): URLs, a path of keys. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "settings/findings.h"
#include "settings/names.h"
#include "settings/parse.h"
#include "settings/settings.h"
#include "settings/types.h"
#include "settings/url.h"

#define ENDPOINTS_MAX 16
#define PATH_MAX_BYTES 512
#define NAME_MAX_BYTES 253

/* ---- ETCD_ENDPOINTS ---- */

static int endpoints_add(struct settings_names *to, const char *text, struct buf *note)
{
    char *url = NULL;
    const char *why = NULL;
    bool bad = url_check(text, URL_NEED_PORT, &url, &why) != 0;
    for (size_t i = 0; !bad && i < to->count; i++)
        if (str_eq(to->list[i], url))
            why = "one of them is there twice";
    if (why == NULL && to->count == ENDPOINTS_MAX)
        why = "there are too many";
    if (why != NULL) {
        buf_add(note, why);
        free(url);
        return -1;
    }
    to->list[to->count++] = url;
    return 0;
}

static int endpoints_parse(const struct setting *row, const char *value, struct settings *s, struct buf *note)
{
    struct settings_names *ret = &SETTING_MEMBER(struct settings_names, row, s);
    ret->list = mem_array(ENDPOINTS_MAX, sizeof(ret->list[0]));
    for (char *text; (text = value_next_entry(&value)) != NULL;) {
        bool bad = endpoints_add(ret, text, note) != 0;
        free(text);
        if (bad)
            return -1;
    }
    return ret->count > 0 ? 0 : -1;
}

const struct setting_type type_endpoints = {endpoints_parse, names_print, names_fini};

/* ---- ETCD_PATH, ETCD_NAME ---- */

/* Keys lie below it: no slash at its end, and no part of it is empty. */
int check_etcd_path(const char *s, struct buf *note)
{
    (void)note;
    size_t len = strlen(s);
    return s[0] == '/' && len > 1 && len <= PATH_MAX_BYTES && s[len - 1] != '/' && strstr(s, "//") == NULL &&
                   name_made_of(s, NAME_ALNUM "-_./")
               ? 0
               : -1;
}

/* A part of a key. */
int check_etcd_name(const char *s, struct buf *note)
{
    (void)note;
    return strlen(s) <= NAME_MAX_BYTES && name_made_of(s, NAME_ALNUM "-_.") ? 0 : -1;
}

/* ---- all of them ---- */

bool settings_use_etcd(const struct settings *s)
{
    return s->config_source == SETTINGS_CONFIG_ETCD || s->config_target == SETTINGS_TARGET_ETCD;
}

/* Settings of a HAProxy, where none is written to. */
static void etcd_check_target(const struct settings *s, struct settings_findings *found)
{
    const struct setting *theirs[] = {SETTING(dataplanes), SETTING(local.file)};
    if (s->config_source == SETTINGS_CONFIG_NONE)
        finding_error(found, "CONFIG_TARGET=etcd needs a CONFIG_SOURCE: expected file, secret, template or services");
    if (s->config_source == SETTINGS_CONFIG_ETCD)
        finding_error(found, "CONFIG_SOURCE=etcd and CONFIG_TARGET=etcd are both set: expected one of them; the load "
                             "balancer takes what the producer publishes");
    for (size_t i = 0; i < array_len(theirs); i++)
        if (setting_is_given(s, theirs[i]))
            finding_error(found,
                          "%s is set beside CONFIG_TARGET=etcd: expected it unset, because the configuration goes to "
                          "etcd alone, and each load balancer has a daemon of its own (CONFIG_SOURCE=etcd)",
                          theirs[i]->name);
    if (s->mapping_count > 0)
        finding_error(found, "INGRESS_SERVICES, or a variable beside it, is set beside CONFIG_TARGET=etcd: expected it "
                             "unset, because servers are kept only in a HAProxy that the daemon drives");
}

void etcd_check(const struct settings *s, struct settings_findings *found)
{
    const struct settings_etcd *e = &s->etcd;
    if (s->config_target == SETTINGS_TARGET_ETCD)
        etcd_check_target(s, found);
    if (!settings_use_etcd(s))
        return;
    if (e->endpoints.count == 0 && !setting_is_given(s, SETTING(etcd.endpoints)))
        finding_error(found, "%s needs ETCD_ENDPOINTS: expected %s",
                      s->config_target == SETTINGS_TARGET_ETCD ? "CONFIG_TARGET=etcd" : "CONFIG_SOURCE=etcd",
                      SETTING(etcd.endpoints)->expected);
    if ((e->cert_file != NULL) != (e->key_file != NULL))
        finding_error(found, "%s needs %s beside it", e->cert_file != NULL ? "ETCD_CERT_FILE" : "ETCD_KEY_FILE",
                      e->cert_file != NULL ? "ETCD_KEY_FILE" : "ETCD_CERT_FILE");
    if (e->user != NULL && !secret_is_set(&e->password))
        finding_error(found, "ETCD_USER needs ETCD_PASSWORD beside it: etcd's JSON gateway does not take the name in a "
                             "client's certificate");
    if (e->user == NULL && secret_is_set(&e->password))
        finding_error(found, "ETCD_PASSWORD needs ETCD_USER beside it");
    for (size_t i = 0; i < e->endpoints.count && secret_is_set(&e->password); i++)
        finding_plain_password(found, SETTING(etcd.endpoints)->name, e->endpoints.list[i]);
}

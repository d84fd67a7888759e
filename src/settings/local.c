#include "base/str.h"
#include "settings/local.h"
#include "settings/settings.h"
#include "settings/table.h"

size_t settings_haproxy_count(const struct settings *s)
{
    return s->local.file != NULL ? 1 : s->dataplane_count;
}

const char *settings_haproxy_name(const struct settings *s, size_t i)
{
    return s->local.file != NULL ? s->local.file : s->dataplanes[i].url;
}

static void local_check_without(const struct settings *s, struct settings_findings *found)
{
    const struct settings_local *l = &s->local;
    const struct {
        const struct setting *row;
        bool set;
    } theirs[] = {{SETTING(local.master_socket), l->master_socket != NULL},
                  {SETTING(local.stats_socket), l->stats_socket != NULL},
                  {SETTING(local.program), !str_eq(l->program, SETTING(local.program)->fallback)},
                  {SETTING(local.check_files), l->check_files.count > 0},
                  {SETTING(local.reload), l->reload != SETTINGS_RELOAD_MASTER},
                  {SETTING(local.reload_command), l->reload_command != NULL}};
    for (size_t i = 0; i < array_len(theirs); i++)
        if (theirs[i].set && setting_is_given(s, theirs[i].row))
            finding_warning(found, "%s has no effect without HAPROXY_CONFIG_FILE", theirs[i].row->name);
}

static void local_check_reload(const struct settings *s, struct settings_findings *found)
{
    const struct settings_local *l = &s->local;
    if (l->reload == SETTINGS_RELOAD_COMMAND && l->reload_command == NULL &&
        !setting_is_given(s, SETTING(local.reload_command)))
        finding_error(found, "HAPROXY_RELOAD=command needs HAPROXY_RELOAD_COMMAND: expected %s",
                      SETTING(local.reload_command)->expected);
    if (l->reload != SETTINGS_RELOAD_COMMAND && l->reload_command != NULL)
        finding_warning(found, "HAPROXY_RELOAD_COMMAND has no effect without HAPROXY_RELOAD=command");
    if (l->reload != SETTINGS_RELOAD_COMMAND && l->master_socket == NULL &&
        !setting_is_given(s, SETTING(local.master_socket)))
        finding_error(found,
                      "HAPROXY_RELOAD=%s needs HAPROXY_MASTER_SOCKET: expected the socket that HAProxy was started "
                      "with (haproxy -W -S SOCKET; Debian's haproxy.service: /run/haproxy-master.sock)",
                      SETTING(local.reload)->words[l->reload]);
}

/* Settings of the other way. */
static void local_check_apis(const struct settings *s, struct settings_findings *found)
{
    const struct setting *theirs[] = {
        SETTING(dataplane_username),         SETTING(dataplane_password),    SETTING(dataplane_token),
        SETTING(dataplane_credentials_file), SETTING(dataplane_ca_file),     SETTING(dataplane_cert_file),
        SETTING(dataplane_key_file),         SETTING(dataplane_server_name), SETTING(dataplane_insecure)};
    if (setting_is_given(s, SETTING(dataplanes)))
        finding_error(found,
                      "HAPROXY_CONFIG_FILE and HAPROXY_DATAPLANE_URL are both set: expected one of them, the way "
                      "to HAProxy");
    for (size_t i = 0; i < array_len(theirs); i++)
        if (setting_is_given(s, theirs[i]) && !(theirs[i] == SETTING(dataplane_insecure) && !s->dataplane_insecure))
            finding_warning(found, "%s has no effect beside HAPROXY_CONFIG_FILE: no Data Plane API is asked",
                            theirs[i]->name);
}

void local_check(const struct settings *s, struct settings_findings *found)
{
    if (s->local.file == NULL) {
        if (!setting_is_given(s, SETTING(local.file)))
            local_check_without(s, found);
        return;
    }
    local_check_apis(s, found);
    if (s->config_files_dir != NULL || s->config_certs_secrets.count > 0)
        finding_error(found,
                      "HAPROXY_CONFIG_FILE is set beside %s: files beside haproxy.cfg are stored by a Data Plane "
                      "API only",
                      s->config_files_dir != NULL ? "CONFIG_FILES_DIR" : "CONFIG_CERTS_SECRETS");
    if (s->config_file != NULL && str_eq(s->config_file, s->local.file))
        finding_error(found, "CONFIG_FILE and HAPROXY_CONFIG_FILE are the same file: expected the source in one, and "
                             "HAProxy's own in the other");
    local_check_reload(s, found);
}

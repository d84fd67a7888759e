#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
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

static char *local_folder_of(const char *file)
{
    return mem_strndup(file, (size_t)(strrchr(file, '/') - file));
}

char *settings_local_folder(const struct settings_local *l, enum settings_folder kind)
{
    static const char *const beside[SETTINGS_FOLDERS] = {"maps", "ssl", "general"}; /* as the Data Plane API has them */
    const char *const given[SETTINGS_FOLDERS] = {l->maps_dir, l->certs_dir, l->files_dir};
    if (given[kind] != NULL)
        return mem_strdup(given[kind]);
    cleanup(mem_free_ptr) char *folder = l->file != NULL ? local_folder_of(l->file) : mem_strdup("/etc/haproxy");
    return mem_printf("%s/%s", folder, beside[kind]);
}

/* Without slashes and dots that mean nothing. */
static char *local_plain(const char *path)
{
    struct buf plain = {0};
    buf_add(&plain, "");
    while (*path != '\0') {
        size_t slashes = strspn(path, "/"), len = strcspn(path + slashes, "/");
        if (len > 0 && !(len == 1 && path[slashes] == '.'))
            buf_printf(&plain, "%s%.*s", slashes > 0 ? "/" : "", (int)len, path + slashes);
        path += slashes + len;
    }
    return buf_take(&plain);
}

/* They say where a Data Plane API puts the files that what is made here names. */
static bool local_is_of_made(const struct settings *s, const struct setting *row)
{
    return (s->config_source == SETTINGS_CONFIG_TEMPLATE || s->config_source == SETTINGS_CONFIG_SERVICES) &&
           (row == SETTING(local.maps_dir) || row == SETTING(local.certs_dir) || row == SETTING(local.files_dir));
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
                  {SETTING(local.environment_file), l->environment_file != NULL},
                  {SETTING(local.check_files), l->check_files.count > 0},
                  {SETTING(local.maps_dir), l->maps_dir != NULL},
                  {SETTING(local.certs_dir), l->certs_dir != NULL},
                  {SETTING(local.files_dir), l->files_dir != NULL},
                  {SETTING(local.reload), l->reload != SETTINGS_RELOAD_MASTER},
                  {SETTING(local.reload_command), l->reload_command != NULL}};
    for (size_t i = 0; i < array_len(theirs); i++)
        if (theirs[i].set && setting_is_given(s, theirs[i].row) && !local_is_of_made(s, theirs[i].row))
            finding_warning(found, "%s has no effect without HAPROXY_CONFIG_FILE", theirs[i].row->name);
}

static bool local_same_path(const char *a, const char *b)
{
    cleanup(mem_free_ptr) char *x = local_plain(a), *y = local_plain(b);
    return str_eq(x, y);
}

/* Those that are written to are each other's and the source's: what one of them deletes is no file of another one. */
/* What is put into a folder is no file that HAProxy reads as its configuration: nothing has checked it. */
static void local_check_apart(const struct settings *s, const struct setting *row, const char *folder,
                              struct settings_findings *found)
{
    const struct settings_local *l = &s->local;
    for (size_t i = 0; i <= l->check_files.count; i++) {
        const char *file = i == 0 ? l->file : l->check_files.list[i - 1];
        cleanup(mem_free_ptr) char *above = local_folder_of(file);
        if (local_same_path(folder, above))
            finding_error(found, "%s is %s, the folder of %s, which %s has: expected one for such files alone",
                          row->name, folder, file, i == 0 ? "HAPROXY_CONFIG_FILE" : "HAPROXY_CHECK_FILES");
    }
}

static void local_check_folders(const struct settings *s, struct settings_findings *found)
{
    static const char *const sources[SETTINGS_FOLDERS] = {"maps", "certs", "files"};
    const struct setting *rows[SETTINGS_FOLDERS] = {SETTING(local.maps_dir), SETTING(local.certs_dir),
                                                    SETTING(local.files_dir)};
    char *folders[SETTINGS_FOLDERS];
    for (size_t i = 0; i < SETTINGS_FOLDERS; i++) {
        folders[i] = settings_local_folder(&s->local, (enum settings_folder)i);
        local_check_apart(s, rows[i], folders[i], found);
    }
    for (size_t i = 0; i < SETTINGS_FOLDERS; i++)
        for (size_t k = 0; k < SETTINGS_FOLDERS; k++) {
            cleanup(mem_free_ptr) char *source =
                s->config_files_dir != NULL ? mem_printf("%s/%s", s->config_files_dir, sources[k]) : mem_strdup("");
            if (k > i && local_same_path(folders[i], folders[k]))
                finding_error(found, "%s and %s are the same folder, %s: expected one for each", rows[i]->name,
                              rows[k]->name, folders[i]);
            if (local_same_path(folders[i], source))
                finding_error(found,
                              "%s is %s, which CONFIG_FILES_DIR has: expected the source in one folder, and HAProxy's "
                              "own files in another",
                              rows[i]->name, folders[i]);
        }
    for (size_t i = 0; i < SETTINGS_FOLDERS; i++)
        free(folders[i]);
}

void local_check(const struct settings *s, struct settings_findings *found)
{
    if (s->local.file == NULL) {
        if (!setting_is_given(s, SETTING(local.file)))
            local_check_without(s, found);
        return;
    }
    /* Settings of the other way. */
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
    local_check_folders(s, found);
    if (s->config_file != NULL && local_same_path(s->config_file, s->local.file))
        finding_error(found, "CONFIG_FILE and HAPROXY_CONFIG_FILE are the same file: expected the source in one, and "
                             "HAProxy's own in the other");
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

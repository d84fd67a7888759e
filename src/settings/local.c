#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "settings/parse.h"
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
    static const char *const names[SETTINGS_FOLDERS] = {"maps", "ssl", "general"}; /* as the Data Plane API has them */
    cleanup(mem_free_ptr) char *above = l->storage_dir != NULL ? mem_strdup(l->storage_dir)
                                        : l->file != NULL      ? local_folder_of(l->file)
                                                               : mem_strdup("/etc/haproxy");
    return mem_printf("%s/%s", above, names[kind]);
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

static bool local_same_path(const char *a, const char *b)
{
    cleanup(mem_free_ptr) char *x = local_plain(a), *y = local_plain(b);
    return str_eq(x, y);
}

/* What is put into a folder is no file that HAProxy reads as its configuration, which nothing has checked; nor is what is
 * deleted there one of the source. */
static void local_check_folder(const struct settings *s, enum settings_folder kind, struct settings_findings *found)
{
    static const char *const sources[SETTINGS_FOLDERS] = {"maps", "certs", "files"};
    const struct settings_local *l = &s->local;
    cleanup(mem_free_ptr) char *folder = settings_local_folder(l, kind);
    for (size_t i = 0; i <= l->check_files.count; i++) {
        const char *file = i == 0 ? l->file : l->check_files.list[i - 1];
        cleanup(mem_free_ptr) char *above = local_folder_of(file);
        if (local_same_path(folder, above))
            finding_error(
                found,
                "HAPROXY_STORAGE_DIR: files are put into %s, the folder of %s, which %s has: expected one for "
                "such files alone",
                folder, file, i == 0 ? "HAPROXY_CONFIG_FILE" : "HAPROXY_CHECK_FILES");
    }
    for (size_t i = 0; i < SETTINGS_FOLDERS && s->config_files_dir != NULL; i++) {
        cleanup(mem_free_ptr) char *source = mem_printf("%s/%s", s->config_files_dir, sources[i]);
        if (local_same_path(folder, source))
            finding_error(found,
                          "HAPROXY_STORAGE_DIR: files are put into %s, which CONFIG_FILES_DIR has: expected the source "
                          "in one folder, and HAProxy's own files in another",
                          folder);
    }
}

void local_check(const struct settings *s, struct settings_findings *found)
{
    if (s->local.file == NULL)
        return;
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
    for (size_t i = 0; i < SETTINGS_FOLDERS; i++)
        local_check_folder(s, (enum settings_folder)i, found);
    if (s->config_file != NULL && local_same_path(s->config_file, s->local.file))
        finding_error(found, "CONFIG_FILE and HAPROXY_CONFIG_FILE are the same file: expected the source in one, and "
                             "HAProxy's own in the other");
    const struct settings_local *l = &s->local;
    if (l->reload_command == NULL && l->master_socket == NULL && !setting_is_given(s, SETTING(local.master_socket)) &&
        !setting_is_given(s, SETTING(local.reload_command)))
        finding_error(
            found,
            "HAPROXY_CONFIG_FILE needs HAPROXY_MASTER_SOCKET or HAPROXY_RELOAD_COMMAND: expected the socket that "
            "HAProxy was started with (haproxy -W -S SOCKET; Debian's haproxy.service: "
            "/run/haproxy-master.sock), or a command that reloads it");
}

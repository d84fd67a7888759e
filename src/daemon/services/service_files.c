#include "daemon/services/service_files.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "configuration/document.h"
#include "daemon/services/service_secrets.h"
#include "haproxy/cfg/binds.h"
#include "services/plan.h"
#include "settings/settings.h"

int service_files_add(struct storage_files *files, const struct services_plan *p, const struct services_print *how)
{
    for (size_t i = 0; i < p->frontend_count; i++)
        for (enum services_file which = 0; which < SERVICES_FILES; which++) {
            const struct service_frontend *f = &p->frontends[i];
            if (!services_uses_file(f, which, how))
                continue;
            cleanup(mem_free_ptr) char *name = services_file_name(f, which);
            cleanup(buf_fini) struct buf text = {0};
            struct error err = {0};
            services_file_print(f, which, how, &text);
            if (storage_files_add(files, which == SERVICES_CERTIFICATES ? STORAGE_GENERAL : STORAGE_MAP, name,
                                  buf_str(&text), text.len, &err) != 0)
                return -1;
        }
    return 0;
}

void service_paths_init(struct service_paths *p, const struct settings_local *local, const struct storage_files *files)
{
    p->files = files;
    for (size_t i = 0; i < STORAGE_KINDS; i++) {
        cleanup(mem_free_ptr) char *folder = settings_local_folder(local, (enum settings_folder)i);
        p->folders[i] = mem_printf("%s/", folder);
    }
}

void service_paths_fini(struct service_paths *p)
{
    for (size_t i = 0; i < STORAGE_KINDS; i++)
        free(p->folders[i]);
}

/* One whose key the API does not know is among the other files. */
char *service_paths_secret(const struct service_paths *p, const char *secret)
{
    cleanup(mem_free_ptr) char *name = service_secrets_file_name(secret);
    cleanup(mem_free_ptr) char *stored = storage_stored_name(STORAGE_CERTIFICATE, name);
    enum storage_kind place =
        storage_files_find(p->files, STORAGE_CERTIFICATE, stored) != NULL ? STORAGE_CERTIFICATE : STORAGE_GENERAL;
    return mem_printf("%s%s", p->folders[place], stored);
}

/* ---- where the operator's own files listen ---- */

struct service_binds_file {
    const char *name; /* borrowed */
    struct cfg_binds binds;
};

void service_binds_fini(struct service_binds *b)
{
    for (size_t i = 0; i < b->count; i++)
        cfg_binds_fini(&b->list[i].binds);
    free(b->list);
    *b = (struct service_binds){0};
}

static void service_binds_add(struct service_binds *b, const char *name, const struct buf *text)
{
    struct service_binds_file *f = &b->list[b->count++];
    *f = (struct service_binds_file){.name = name};
    cfg_binds_read(&f->binds, buf_str(text), text->len);
}

void service_binds_read(struct service_binds *b, const struct settings *settings, const struct buf *before)
{
    const struct settings_names *beside = &settings->local.check_files;
    service_binds_fini(b);
    b->list = mem_array(beside->count + 1, sizeof(b->list[0]));
    if (settings->config_file != NULL)
        service_binds_add(b, settings->config_file, before);
    for (size_t i = 0; i < beside->count; i++) {
        cleanup(buf_fini) struct buf text;
        buf_init_secret(&text, DOCUMENT_MAX_BYTES);
        if (!str_eq(beside->list[i], settings->local.file) && buf_read_file(&text, beside->list[i]) == 0)
            service_binds_add(b, beside->list[i], &text);
    }
}

bool service_binds_taken(const struct service_binds *b, const char *address, uint16_t port, struct buf *why)
{
    for (size_t i = 0; i < b->count; i++) {
        const struct cfg_bind *found = cfg_binds_find(&b->list[i].binds, address, port);
        if (found == NULL)
            continue;
        buf_printf(why, "%s, line %u", b->list[i].name, found->line);
        return true;
    }
    return false;
}

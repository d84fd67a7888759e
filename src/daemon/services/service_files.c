#include "daemon/services/service_files.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "daemon/services/service_secrets.h"
#include "services/plan.h"
#include "settings/settings.h"

static int add_file(struct storage_files *files, const struct service_frontend *f, enum services_file which,
                    const struct services_print *how)
{
    cleanup(mem_free_ptr) char *name = services_file_name(f, which);
    cleanup(buf_fini) struct buf text = {0};
    struct error err = {0};
    services_file_print(f, which, how, &text);
    return storage_files_add(files, which == SERVICES_CERTIFICATES ? STORAGE_GENERAL : STORAGE_MAP, name,
                             buf_str(&text), text.len, &err);
}

int service_files_add(struct storage_files *files, const struct services_plan *p, const struct services_print *how)
{
    for (size_t i = 0; i < p->frontend_count; i++)
        for (unsigned which = 0; which < SERVICES_FILES; which++)
            if (services_uses_file(&p->frontends[i], (enum services_file)which, how) &&
                add_file(files, &p->frontends[i], (enum services_file)which, how) != 0)
                return -1;
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

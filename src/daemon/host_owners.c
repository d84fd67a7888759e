#include "daemon/host_owners.h"

#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "configuration/document.h"
#include "configuration/store_content.h"
#include "settings/settings.h"

#define OWNERS_FILE "host-owners"

char *host_owners_recall(const struct settings *settings)
{
    cleanup(buf_fini) struct buf text;
    cleanup(mem_free_ptr) char *path = mem_printf("%s/" OWNERS_FILE, settings->state_dir);
    buf_init(&text, DOCUMENT_MAX_BYTES);
    return mem_strdup(settings->state_dir != NULL && buf_read_file(&text, path) == 0 ? buf_str(&text) : "");
}

void host_owners_keep(const struct settings *settings, int state_fd, const char *before, const char *now,
                      const struct log *log)
{
    if (state_fd < 0 || str_eq(before, now) || store_content_write(state_fd, OWNERS_FILE, now, strlen(now)) == 0)
        return;
    cleanup(mem_free_ptr) char *why = mem_printf("%m");
    log_warn(log, "cannot keep who owns which host name; after a restart the older object does",
             log_str("folder", settings->state_dir), log_str("error", why));
}

#include "daemon/state_text.h"

#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "configuration/document.h"
#include "configuration/store_content.h"

static const struct {
    const char *file, *lost;
} texts[] = {
    [STATE_HOST_OWNERS] = {"host-owners",
                           "cannot keep who owns which host name; after a restart the older object does"},
    [STATE_QUARANTINE] = {"quarantine",
                          "cannot keep which objects HAProxy refuses; after a restart they are searched for again"},
};

char *state_text_recall(const char *folder, enum state_text which)
{
    cleanup(buf_fini) struct buf text;
    cleanup(mem_free_ptr) char *path = folder != NULL ? mem_printf("%s/%s", folder, texts[which].file) : NULL;
    buf_init(&text, DOCUMENT_MAX_BYTES);
    return mem_strdup(path != NULL && buf_read_file(&text, path) == 0 ? buf_str(&text) : "");
}

void state_text_keep(const char *folder, int fd, enum state_text which, const char *before, const char *now,
                     const struct log *log)
{
    if (fd < 0 || str_eq(before, now) || store_content_write(fd, texts[which].file, now, strlen(now)) == 0)
        return;
    cleanup(mem_free_ptr) char *why = mem_printf("%m");
    log_warn(log, texts[which].lost, log_str("folder", folder), log_str("error", why));
}

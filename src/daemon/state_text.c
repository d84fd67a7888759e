#include "daemon/state_text.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "configuration/store_content.h"

#define MAX_BYTES (128u << 20) /* twice that is there while it is written */

static const struct {
    const char *file, *unread, *lost;
} texts[] = {
    [STATE_HOST_OWNERS] = {"host-owners", "cannot read who owned which host name; now the older object does",
                           "cannot keep who owns which host name; after a restart the older object does"},
    [STATE_QUARANTINE] = {"quarantine", "cannot read which objects HAProxy refused; they are searched for again",
                          "cannot keep which objects HAProxy refuses; after a restart they are searched for again"},
    [STATE_OBJECTS] = {"objects",
                       "cannot read which objects the templates saw; those that have vanished since go at once",
                       "cannot keep which objects the templates see; those that vanish during a restart go at once"},
};

char *state_text_recall(const char *folder, enum state_text which, const struct log *log)
{
    struct buf text;
    cleanup(mem_free_ptr) char *path = folder != NULL ? mem_printf("%s/%s", folder, texts[which].file) : NULL;
    buf_init_secret(&text, MAX_BYTES);
    if (path != NULL && buf_read_file(&text, path) != 0) {
        cleanup(mem_free_ptr) char *why = errno != ENOENT ? mem_printf("%m") : NULL;
        if (why != NULL)
            log_warn(log, texts[which].unread, log_str("file", path), log_str("error", why));
        buf_clear(&text);
    }
    return buf_take(&text);
}

void state_text_keep(const char *folder, int fd, enum state_text which, const char *before, const char *now,
                     const struct log *log)
{
    size_t len = strlen(now);
    bool fits = len <= MAX_BYTES, none = len == 0 || !fits; /* what was there before goes: it is wrong by now */
    if (fd < 0 || str_eq(before, now))
        return;
    const char *file = texts[which].file;
    int failed = none ? unlinkat(fd, file, 0) != 0 && errno != ENOENT : store_content_write(fd, file, now, len) != 0;
    if (!failed && fits)
        return;
    cleanup(mem_free_ptr) char *why = fits ? mem_printf("%m") : mem_printf("more than %u MB", MAX_BYTES >> 20);
    cleanup(mem_free_ptr) char *path = mem_printf("%s/%s", folder, texts[which].file);
    log_warn(log, texts[which].lost, log_str("file", path), log_str("error", why));
}

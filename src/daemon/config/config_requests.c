#include "daemon/config/config_requests.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "configuration/file_source.h"

#define REQUEST_MAX_BYTES 64

struct config_requests {
    struct file_source *file;
    char *path;
    int fd;
    struct config_requests_callbacks callbacks;
    void *arg;
    const struct log *log;
};

static int config_requests_do(const struct config_requests *r, const char *words, struct error *err)
{
    static const char rollback[] = CONFIG_REQUEST_ROLLBACK " ";
    uint64_t number;
    if (str_eq(words, CONFIG_REQUEST_APPLY)) {
        r->callbacks.apply(r->arg);
        return 0;
    }
    if (str_has_prefix(words, rollback) && str_parse_uint(words + strlen(rollback), UINT32_MAX, &number) == 0)
        return r->callbacks.rollback(r->arg, (unsigned)number, err);
    return error_set(err, ERROR_INVALID, "it is not one that `haproxy-k8s-sync config` makes");
}

static void config_requests_on_changed(void *arg, const char *bytes, size_t len, const char *hash,
                                       struct storage_files *files)
{
    (void)hash;
    (void)files;
    const struct config_requests *r = arg;
    if (!r->callbacks.takes(r->arg))
        return;
    struct error err = {0};
    cleanup(mem_free_ptr) char *words = mem_strndup(bytes, len > 0 && bytes[len - 1] == '\n' ? len - 1 : len);
    if (config_requests_do(r, words, &err) != 0)
        log_error(r->log, "request refused", log_str("request", words), log_str("file", r->path),
                  log_str("error", err.message));
    else
        log_info(r->log, "request done", log_str("request", words));
    unlinkat(r->fd, CONFIG_REQUEST_FILE, 0);
}

/* There is none. */
static void config_requests_on_failed(void *arg, const struct error *err)
{
    (void)arg;
    (void)err;
}

struct config_requests *config_requests_new(struct event_base *base, const char *folder, int fd, uint64_t reread_ms,
                                            const struct config_requests_callbacks *callbacks, void *arg,
                                            const struct log *log, struct error *err)
{
    static const struct file_source_callbacks of_file = {.changed = config_requests_on_changed,
                                                         .failed = config_requests_on_failed};
    struct config_requests *r = mem_alloc(sizeof(*r));
    *r = (struct config_requests){.path = mem_printf("%s/" CONFIG_REQUEST_FILE, folder),
                                  .fd = fd,
                                  .callbacks = *callbacks,
                                  .arg = arg,
                                  .log = log};
    const struct file_source_options options = {
        .path = r->path, .max_bytes = REQUEST_MAX_BYTES, .reread_ms = reread_ms};
    r->file = file_source_new(base, &options, &of_file, r, err);
    if (r->file == NULL) {
        config_requests_free(r);
        return NULL;
    }
    file_source_start(r->file);
    return r;
}

void config_requests_poke(struct config_requests *r)
{
    if (r != NULL)
        file_source_poke(r->file);
}

void config_requests_free(struct config_requests *r)
{
    if (r == NULL)
        return;
    file_source_free(r->file);
    free(r->path);
    free(r);
}

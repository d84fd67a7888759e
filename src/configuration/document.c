#include "configuration/document.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "haproxy/cfg/content.h"
#include "haproxy/cfg/source.h"

static void document_identify(struct document *d)
{
    memcpy(d->id, d->hash, sizeof(d->id));
    if (d->files.count == 0)
        return;
    storage_files_hash(&d->files, d->id);
    cleanup(mem_free_ptr) char *both = mem_printf("%s %s", d->hash, d->id);
    digest_sha256_hex(both, strlen(both), d->id);
}

struct document *document_new(enum document_use use, const char *origin, const char *bytes, size_t len,
                              const char *hash, struct storage_files *files, struct error *err)
{
    cleanup(cfg_file_fini) struct cfg_file file = {0};
    cleanup(buf_fini) struct buf text;
    buf_init_secret(&text, 0);
    int status = 0;
    if (len > DOCUMENT_MAX_BYTES) {
        status =
            error_set(err, ERROR_INVALID, "it has %zu bytes, and more than %u are not taken", len, DOCUMENT_MAX_BYTES);
    } else {
        buf_addn(&text, bytes, len);
        status = use == DOCUMENT_FOR_FILE ? cfg_source_init_as_it_is(&file, buf_str(&text), len, err)
                                          : cfg_source_init(&file, buf_str(&text), len, err);
    }
    if (status != 0) {
        (void)error_prefix(err, "%s", origin);
        return NULL;
    }
    struct document *d = mem_alloc(sizeof(*d));
    d->references = 1;
    d->origin = mem_strdup(origin);
    if (use == DOCUMENT_FOR_FILE || cfg_source_is_as_sent(&file)) {
        d->content = cfg_content_take_parsed(&text, &file);
    } else {
        struct buf sent;
        buf_init_secret(&sent, 0);
        buf_reserve(&sent, text.len);
        cfg_source_print(&file, &sent);
        d->content = cfg_content_take(&sent);
    }
    if (hash != NULL)
        memcpy(d->hash, hash, sizeof(d->hash));
    else
        digest_sha256_hex(bytes, len, d->hash);
    if (len == d->content->len && memcmp(bytes, d->content->text, len) == 0)
        memcpy(d->text_hash, d->hash, sizeof(d->hash));
    else
        digest_sha256_hex(d->content->text, d->content->len, d->text_hash);
    if (files != NULL) {
        d->with_files = true;
        d->files = *files;
        *files = (struct storage_files){0};
    }
    document_identify(d);
    return d;
}

struct document *document_restore(enum document_use use, const char *origin, const char *text, size_t len,
                                  struct storage_files *files, const char hash[DIGEST_SHA256_HEX_BYTES],
                                  struct error *err)
{
    struct document *d = document_new(use, origin, text, len, NULL, files, err);
    if (d == NULL)
        return NULL;
    memcpy(d->hash, hash, sizeof(d->hash));
    document_identify(d);
    return d;
}

struct document *document_ref(struct document *d)
{
    d->references++;
    return d;
}

void document_unref(struct document *d)
{
    if (d == NULL || --d->references > 0)
        return;
    free(d->origin);
    cfg_content_unref(d->content);
    storage_files_fini(&d->files);
    free(d);
}

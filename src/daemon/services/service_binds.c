#include "daemon/services/service_binds.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "configuration/document.h"
#include "haproxy/cfg/binds.h"
#include "settings/settings.h"

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

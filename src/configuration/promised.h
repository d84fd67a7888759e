/* What a haproxy.cfg promises to its clients: listeners, and backends with servers. Pure. */
#pragma once

#include <stddef.h>

struct cfg_file;

struct promised_names {
    char **list;
    size_t count, room;
};

/* What is disabled, by itself or by its defaults section, is left out, and what stands between .if and .endif: only
 * HAProxy knows whether it is there. Names with a variable in them are left out, too. */
struct promised {
    struct promised_names listeners; /* frontend and listen sections with a `bind` */
    struct promised_names
        backends; /* backend and listen sections with a server that is neither disabled nor of weight 0 */
};

void promised_init(struct promised *p, const struct cfg_file *f);
void promised_fini(struct promised *p);

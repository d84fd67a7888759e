/* Where the operator's own haproxy.cfg listens: what stands before (CONFIG_FILE), and the files beside (HAPROXY_CHECK_FILES) that
 * can be read here. HAProxy itself would let two frontends share a port, and give each some of its connections. */
#ifndef DAEMON_SERVICES_SERVICE_BINDS_H
#define DAEMON_SERVICES_SERVICE_BINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct service_binds_file;
struct settings;

/* A zeroed one is empty. */
struct service_binds {
    struct service_binds_file *list;
    size_t count;
};

void service_binds_fini(struct service_binds *b);
/* Anew. before: the text of CONFIG_FILE, empty without one. The names of files are borrowed from settings. */
void service_binds_read(struct service_binds *b, const struct settings *settings, const struct buf *before);
/* True, and where in why, "/etc/haproxy/haproxy.cfg, line 12": one of them listens at that address ("*": all) and port. */
bool service_binds_taken(const struct service_binds *b, const char *address, uint16_t port, struct buf *why);

#endif

/* What a HAProxy has beside the haproxy.cfg that is made of annotated Services: files that frontends refer to, and the operator's own
 * haproxy.cfg. */
#ifndef DAEMON_SERVICES_SERVICE_FILES_H
#define DAEMON_SERVICES_SERVICE_FILES_H

#include "daemon/daemon.h"
#include "haproxy/storage_files.h"

struct service_binds_file;
struct services_plan;
struct services_print;
struct settings_local;

/* Maps, and lists of certificates. -1: there are more of them, or they are longer, than a document may have. */
int service_files_add(struct storage_files *files, const struct services_plan *p,
                      const struct services_print *how) must_check;

/* Where they will be, as haproxy.cfg names them. */
struct service_paths {
    char *folders[STORAGE_KINDS];      /* with a slash at the end */
    const struct storage_files *files; /* borrowed */
};

void service_paths_init(struct service_paths *p, const struct settings_local *local, const struct storage_files *files);
void service_paths_fini(struct service_paths *p); /* for cleanup() */
/* That of the certificate of the Secret "namespace/name", which is among the files. Allocates. */
char *service_paths_secret(const struct service_paths *p, const char *secret) must_check;

/* Where the operator's own files listen: what stands before (CONFIG_FILE), and of HAPROXY_CHECK_FILES those that can be read here. HAProxy
 * itself would let two frontends share a port, and give each some of its connections. A zeroed one is empty. */
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

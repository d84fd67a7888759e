/* The files that frontends of annotated Services refer to, as a HAProxy gets them beside its haproxy.cfg. */
#ifndef DAEMON_SERVICES_SERVICE_FILES_H
#define DAEMON_SERVICES_SERVICE_FILES_H

#include "base/compiler.h"
#include "haproxy/storage_files.h"

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

#endif

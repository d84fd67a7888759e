/* What a HAProxy gets of annotated Services, and where the operator's own files listen. */
#pragma once

#include "daemon/daemon.h"

struct service_binds_file;
struct service_rows;
struct service_secrets;
struct services_plan;
struct yyjson_mut_doc;

/* What it is made with. */
struct service_document {
    const struct settings *settings;
    const struct service_secrets *secrets;
    struct service_rows *rows;
    uint64_t now_ms;
};

/* text: what stands before; the haproxy.cfg of p is added, and its files to files. -1: they are more, or longer, than a document may have. */
int service_document_make(const struct service_document *d, const struct services_plan *p, struct storage_files *files,
                          struct buf *text) must_check;

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

#define SERVICE_REPORT_MAX 500 /* routes that are kept, of all frontends together */

/* What is served, for /status, which host name and path goes where: {frontend_count, frontends}, as daemon/status/status.h has them; frontends with a route that is kept. It borrows nothing; to be freed by
 * json_free. */
struct yyjson_mut_doc *service_report_new(const struct services_plan *p) must_check;

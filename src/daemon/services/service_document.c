#include "daemon/services/service_document.h"

#include <stdlib.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "configuration/document.h"
#include "daemon/services/service_rows.h"
#include "daemon/services/service_secrets.h"
#include "haproxy/cfg/binds.h"
#include "json/write.h"
#include "services/plan.h"
#include "settings/settings.h"

#define HEADER "# By haproxy-k8s-sync, of annotated Services: what is changed here is lost.\n"
#define NOTHING "userlist k8s-service_none\n" /* a configuration has a section */

/* Maps, and lists of certificates. */
static int add_files(struct storage_files *files, const struct services_plan *p, const struct services_print *how)
{
    for (size_t i = 0; i < p->frontend_count; i++)
        for (enum services_file which = 0; which < SERVICES_FILES; which++) {
            const struct service_frontend *f = &p->frontends[i];
            if (!services_uses_file(f, which, how))
                continue;
            cleanup(mem_free_ptr) char *name = services_file_name(f, which);
            cleanup(buf_fini) struct buf text = {0};
            struct error err = {0};
            services_file_print(f, which, how, &text);
            if (storage_files_add(files, which == SERVICES_CERTIFICATES ? STORAGE_GENERAL : STORAGE_MAP, name,
                                  buf_str(&text), text.len, &err) != 0)
                return -1;
        }
    return 0;
}

/* What a print asks for. */
struct service_paths {
    struct service_rows *rows;
    char *folders[STORAGE_KINDS];      /* where files will be, as haproxy.cfg names them; with a slash at the end */
    const struct storage_files *files; /* certificates of Secrets among them */
};

static void print_servers(void *arg, const struct service_route *r, struct buf *out)
{
    service_rows_print(((const struct service_paths *)arg)->rows, r, out);
}

/* One whose key the API does not know is among the other files. */
static char *path_of_secret(void *arg, const char *secret)
{
    const struct service_paths *p = arg;
    cleanup(mem_free_ptr) char *name = service_secrets_file_name(secret);
    cleanup(mem_free_ptr) char *stored = storage_stored_name(STORAGE_CERTIFICATE, name);
    enum storage_kind place =
        storage_files_find(p->files, STORAGE_CERTIFICATE, stored) != NULL ? STORAGE_CERTIFICATE : STORAGE_GENERAL;
    return mem_printf("%s%s", p->folders[place], stored);
}

int service_document_make(const struct service_document *d, const struct services_plan *p, struct storage_files *files,
                          struct buf *text)
{
    const struct settings *settings = d->settings;
    struct service_paths paths = {.rows = d->rows, .files = files};
    for (size_t i = 0; i < STORAGE_KINDS; i++) {
        cleanup(mem_free_ptr) char *folder = settings_local_folder(&settings->local, (enum settings_folder)i);
        paths.folders[i] = mem_printf("%s/", folder);
    }
    /* Older consumers in etcd take the text alone. */
    bool is_published = settings->config_target == SETTINGS_TARGET_ETCD;
    const struct services_print how = {.certificates = settings->services_certificates_dir,
                                       .maps = is_published ? NULL : paths.folders[STORAGE_MAP],
                                       .lists = paths.folders[STORAGE_GENERAL],
                                       .default_certificate = settings->services_default_certificate,
                                       .trusted = settings->trusted_proxies.list,
                                       .trusted_count = settings->trusted_proxies.count,
                                       .secret = path_of_secret,
                                       .servers = print_servers,
                                       .arg = &paths};
    int status = service_secrets_add_files(d->secrets, p, files); /* first, as others have their paths */
    if (status == 0)
        status = add_files(files, p, &how);
    if (status == 0) {
        bool any = p->frontend_count > 0 || text->len > 0;
        if (text->len > 0 && text->data[text->len - 1] != '\n')
            buf_add(text, "\n");
        buf_add(text, any ? HEADER : HEADER NOTHING);
        service_rows_begin(d->rows, d->now_ms);
        services_plan_print(p, &how, text);
        service_rows_end(d->rows);
    }
    for (size_t i = 0; i < STORAGE_KINDS; i++)
        free(paths.folders[i]);
    return status;
}

/* ---- where the operator's own files listen ---- */

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

/* ---- for /status ---- */

static void report_frontend(const struct service_frontend *f, size_t *room, yyjson_mut_doc *doc, yyjson_mut_val *list)
{
    yyjson_mut_val *obj = json_add_object(doc, list);
    json_fields(doc, obj, json_str("address", f->served->place), json_uint("port", f->served->listen_port),
                json_str("mode", f->served->options.tcp ? "tcp" : "http"),
                json_bool("tls", f->served->options.tls && !f->served->redirect), json_uint("route_count", f->count));
    yyjson_mut_val *routes = json_put_list(doc, obj, "routes");
    for (size_t i = 0; i<f->count && * room> 0; i++, (*room)--) {
        const struct service_route *r = f->routes[i];
        cleanup(mem_free_ptr) char *redirect = r->redirect ? services_redirect_text(r) : NULL;
        json_fields(doc, json_add_object(doc, routes), json_str("host", r->options.hostname),
                    json_str("path", r->options.path), json_str("service", r->service->service.name),
                    json_str("port", r->port->name), json_str("backend", r->redirect ? NULL : r->backend),
                    json_str("redirect", redirect));
    }
}

yyjson_mut_doc *service_report_new(const struct services_plan *p)
{
    size_t room = SERVICE_REPORT_MAX;
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    json_fields(doc, root, json_uint("frontend_count", p->frontend_count));
    yyjson_mut_val *list = json_put_list(doc, root, "frontends");
    for (size_t i = 0; i < p->frontend_count && room > 0; i++)
        report_frontend(&p->frontends[i], &room, doc, list);
    return doc;
}

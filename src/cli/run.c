#include "cli/run.h"

#include <event2/event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/doctor/doctor.h"
#include "cli/doctor/doctor_print.h"
#include "cli/doctor/doctor_report.h"
#include "cli/flags.h"
#include "haproxy/cfg/line_difference.h"
#include "json/write.h"
#include "settings/environment.h"
#include "settings/table.h"

int run_fail(const struct error *err, int status)
{
    fprintf(stderr, "error: %s\n", err->message);
    return status;
}

int run_manages_servers(const struct settings *s, struct error *err)
{
    if (s->config_target == SETTINGS_TARGET_ETCD)
        return error_set(err, ERROR_INVALID,
                         "CONFIG_TARGET=etcd manages no servers, which this command is about: the running daemon shows "
                         "the state of what is published at /status");
    if (s->mapping_count == 0)
        return error_set(err, ERROR_INVALID,
                         "CONFIG_SOURCE alone manages no servers, which this command is about: set "
                         "INGRESS_SERVICES or INGRESS_SERVICE_NAME");
    return 0;
}

/* ---- what is shown */

void show_page_init(struct page *p, struct buf *out, FILE *to, const struct command *command, char *const *environ_)
{
    int fd = fileno(to);
    struct winsize size = {0};
    if (ioctl(fd, TIOCGWINSZ, &size) != 0)
        size.ws_col = 0;
    bool colour = page_wants_colour(command->colour, isatty(fd) == 1, environment_get(environ_, "NO_COLOR"),
                                    environment_get(environ_, "TERM"));
    page_init(p, out, colour, size.ws_col);
}

int show_text(const struct buf *b, FILE *to)
{
    return fwrite(buf_str(b), 1, b->len, to) == b->len && fflush(to) == 0 ? 0 : -1;
}

void show_json(struct yyjson_mut_doc *doc, struct buf *out)
{
    json_write(doc, true, out);
    buf_add(out, "\n");
    json_free(doc);
}

void show_lines(const struct cfg_line_difference *d, size_t column, size_t deeper, struct page *p)
{
    const char *section = NULL;
    for (size_t i = 0; i < d->count && i < CFG_LINE_DIFFERENCE_MAX; i++) {
        const struct cfg_line_of *line = &d->lines[i];
        if (!str_eq(section, line->section)) {
            page_to(p, column);
            page_put(p, INK_DIM, line->section);
            page_end_line(p);
        }
        section = line->section;
        page_to(p, deeper);
        page_flow_line(p, line->text[0] == '-' ? INK_RED : INK_GREEN, line->text);
    }
    if (d->count > CFG_LINE_DIFFERENCE_MAX) {
        page_to(p, column);
        page_printf(p, INK_DIM, "and %zu more lines", d->count - CFG_LINE_DIFFERENCE_MAX);
        page_end_line(p);
    }
}

void show_put_lines(const struct cfg_line_difference *d, struct yyjson_mut_doc *doc, struct yyjson_mut_val *to)
{
    struct yyjson_mut_val *lines = json_put_list(doc, to, "lines");
    for (size_t i = 0; i < d->count && i < CFG_LINE_DIFFERENCE_MAX; i++) {
        struct yyjson_mut_val *line = json_add_object(doc, lines);
        json_put_text(doc, line, "section", d->lines[i].section);
        json_put_text(doc, line, "line", d->lines[i].text);
    }
    json_put_count(doc, to, "line_count", d->count);
}

void show_init(struct show *s, const struct run *r)
{
    buf_init(&s->out, 0);
    show_page_init(&s->page, &s->out, stdout, r->command, r->environ);
}

void show_fini(struct show *s)
{
    buf_fini(&s->out);
}

int show_end(struct show *s, int status)
{
    return show_text(&s->out, stdout) == 0 ? status : EXIT_FAILURE;
}

/* ---- the ways to Kubernetes and each HAProxy */

struct event_base *run_base(struct error *err)
{
    struct event_base *base = event_base_new();
    if (base == NULL)
        (void)error_set(err, ERROR_FATAL, "cannot create an event loop: out of file descriptors or memory");
    return base;
}

struct log run_log(const struct run *r, enum log_level least)
{
    enum log_level level = r->settings->log_level;
    bool asked = flags_word(r->flags, SETTING(log_level)) != NULL;
    return (struct log){
        .level = asked || level > least ? level : least, .format = r->settings->log_format, .fd = STDERR_FILENO};
}

int session_begin(const struct run *r, const struct kube_access *access, enum log_level least, struct session *ret,
                  struct error *err)
{
    const struct kube_access none = {0};
    const struct clients_hooks hooks = {0};
    *ret = (struct session){.base = run_base(err), .log = run_log(r, least)};
    telemetry_init(&ret->telemetry, r->version);
    mappings_init(&ret->mappings, r->settings);
    if (ret->base == NULL || clients_make(ret->base, r->settings, access != NULL ? access : &none, r->version, &hooks,
                                          &ret->log, &ret->clients, err) != 0)
        return -1;
    clients_settle(ret->base, &ret->clients);
    return 0;
}

void session_end(struct session *s)
{
    clients_free(&s->clients);
    mappings_fini(&s->mappings);
    telemetry_fini(&s->telemetry);
    if (s->base != NULL)
        event_base_free(s->base);
}

/* ---- doctor */

int run_doctor(const struct run *r)
{
    cleanup(kube_access_fini) struct kube_access access = {0};
    cleanup(doctor_report_fini) struct doctor_report report = {0};
    cleanup(show_fini) struct show show;
    struct error err = {0};
    const struct log log = run_log(r, LOG_LEVEL_ERROR);
    bool accessible = r->ok && start_access(r->settings, r->environ, &access, &err) == 0;
    const struct doctor_options options = {.findings = r->findings,
                                           .access = accessible ? &access : NULL,
                                           .no_access = &err,
                                           .version = r->version,
                                           .log = &log,
                                           .timeout_ms = r->command->timeout_ms};
    show_init(&show, r);
    struct event_base *base = run_base(&err);
    if (base == NULL)
        return run_fail(&err, EXIT_FAILURE);
    doctor_run(base, r->ok ? r->settings : NULL, &options, &report);
    event_base_free(base);
    if (r->command->json)
        doctor_print_json(&report, &show.out);
    else
        doctor_print(&report, &show.page);
    return show_end(&show, doctor_status(&report));
}

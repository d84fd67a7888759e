/* Asks what a HAProxy on this machine runs without changing anything: programs and sockets one after the other, by the
 * helper process that the daemon would use. */
#include "cli/doctor/doctor_local.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "haproxy/local/helper.h"
#include "host/child.h"
#include "settings/settings.h"
#include "cli/doctor/doctor.h"
#include "cli/doctor/doctor_parts.h"
#include "cli/run.h"

/* ---- the program ---- */

struct version {
    struct local_run *run;
    const struct child_options *options;
    bool over;
};

static void on_version(void *arg, const struct child_result *result)
{
    struct version *v = arg;
    v->run->problem = result->outcome == CHILD_EXITED ? NULL : child_result_text(result, v->options);
    v->run->out = mem_strdup(result->out->data != NULL ? result->out->data : "");
    v->over = true;
}

/* As the helper process runs it. */
static void ask_version(struct local_facts *f, struct doctor *d)
{
    static const char *const args[] = {"-v", NULL};
    const char *path = getenv("PATH");
    struct error err = {0};
    cleanup(mem_free_ptr) char *name = mem_printf("PATH=%s", path != NULL ? path : "/usr/sbin:/usr/bin:/sbin:/bin");
    char *environment[] = {name, NULL};
    const struct child_options run = {.command = f->program,
                                      .args = (char *const *)(uintptr_t)args,
                                      .env = environment,
                                      .max_out_bytes = LOCAL_ANSWER_MAX_BYTES,
                                      .timeout_ms = d->options->timeout_ms,
                                      .together = true};
    struct version v = {.run = &f->version, .options = &run};
    f->version.asked = true;
    if (child_start(d->base, &run, on_version, &v, &err) != NULL)
        run_until_over(d->base, &v.over);
    else
        f->version.problem = mem_strdup(err.message);
}

/* ---- the helper ---- */

/* Its answer, which is there for the call alone. */
struct reply {
    struct local_request *request;
    bool over;
    enum local_status status;
    int error_number;
    char *message;
    struct buf data;
};

static void on_reply(void *arg, const struct local_answer *a)
{
    struct reply *r = arg;
    r->over = true;
    r->status = a->status;
    r->error_number = a->error_number;
    r->message = mem_strdup(a->message);
    buf_addn(&r->data, a->data, a->len);
}

static void reply_fini(struct reply *r)
{
    free(r->message);
    buf_wipe(&r->data);
}

static struct reply reply_new(void)
{
    struct reply r = {0};
    buf_init_secret(&r.data, LOCAL_ANSWER_MAX_BYTES);
    return r;
}

static void command(struct doctor *d, enum local_socket socket, const char *text, struct reply *r)
{
    *r = reply_new();
    r->request = local_command(d->clients.local_file, socket, text, on_reply, r);
    run_until_over(d->base, &r->over);
}

/* The first command to a socket: whether it answers. rc: of reading that. */
static void take_first(const struct reply *r, int rc, const struct error *err, struct local_socket_facts *s)
{
    s->asked = true;
    s->answered = r->status == LOCAL_OK && rc == 0;
    s->ask_error = r->status == LOCAL_OK ? 0 : r->error_number;
    s->problem = s->answered ? NULL : mem_strdup(r->status == LOCAL_OK ? err->message : r->message);
}

static void ask_level(struct doctor *d, enum local_socket socket, struct local_socket_facts *s)
{
    cleanup(reply_fini) struct reply r;
    command(d, socket, "show cli level", &r);
    const char *word = r.status == LOCAL_OK ? buf_str(&r.data) + strspn(buf_str(&r.data), " \n") : "";
    s->level = *word != '\0' ? mem_strndup(word, strcspn(word, " \n")) : NULL;
}

static void ask_stats(struct local_facts *f, struct doctor *d)
{
    cleanup(reply_fini) struct reply r, shown = reply_new();
    struct error err = {0};
    command(d, LOCAL_SOCKET_STATS, "show info", &r);
    int rc = r.status == LOCAL_OK ? cli_info_read(&f->info, buf_str(&r.data), &err) : -1;
    f->has_info = rc == 0;
    take_first(&r, rc, &err, &f->stats);
    if (!f->stats.answered)
        return;
    ask_level(d, LOCAL_SOCKET_STATS, &f->stats);
    command(d, LOCAL_SOCKET_STATS, "show env", &shown);
    f->shows_environment = shown.status == LOCAL_OK && strchr(buf_str(&shown.data), '=') != NULL;
    f->shown_environment = shown.data;
    shown.data = (struct buf){0};
}

/* What cannot be asked, or was not answered before, is not. */
void doctor_local_ask(struct local_facts *f, struct doctor *d)
{
    uint64_t master, above;
    local_facts_read(f, &d->settings->local);
    if (f->program != NULL)
        ask_version(f, d);
    if (f->program != NULL && f->file.real != NULL && f->file.is_regular && f->file.read_error == 0) {
        cleanup(reply_fini) struct reply r = reply_new();
        uint64_t began_us = clock_mono_us();
        r.request = local_check_config(d->clients.local_file, on_reply, &r);
        run_until_over(d->base, &r.over);
        bool refused = r.status == LOCAL_REJECTED;
        f->check = (struct local_run){.asked = true,
                                      .refused = refused,
                                      .problem = r.status == LOCAL_OK || refused ? NULL : mem_strdup(r.message),
                                      .out = mem_strdup(r.message),
                                      .took_us = clock_mono_us() - began_us};
        f->environment = r.data;
        r.data = (struct buf){0};
    }
    if (f->master.path != NULL) {
        cleanup(reply_fini) struct reply r;
        struct error err = {0};
        command(d, LOCAL_SOCKET_MASTER, "show proc", &r);
        int rc = r.status == LOCAL_OK ? cli_processes_init(&f->processes, buf_str(&r.data), &err) : -1;
        f->has_processes = rc == 0;
        take_first(&r, rc, &err, &f->master);
        if (f->master.ask_error == 0) /* a level that is too low may be why it says nothing */
            ask_level(d, LOCAL_SOCKET_MASTER, &f->master);
    }
    if (f->stats.path != NULL || f->master.answered)
        ask_stats(f, d);
    f->has_no_master =
        f->has_info && doctor_is_haproxy((uint64_t)f->info.pid, &master) && !doctor_is_haproxy(master, &above);
}

#include "cli/doctor_local/doctor_local.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/local/helper.h"
#include "host/child.h"
#include "settings/settings.h"
#include "cli/doctor/doctor_process.h"
#include "cli/doctor_local/doctor_local_gather.h"
#include "cli/doctor_local/doctor_local_judge.h"

static void local_next(struct doctor_local *d);

/* ---- programs ---- */

static void local_on_version(void *arg, const struct child_result *result)
{
    struct doctor_local *d = arg;
    const struct child_options options = {.timeout_ms = d->timeout_ms};
    d->child = NULL;
    d->facts.version.problem = result->outcome == CHILD_EXITED ? NULL : child_result_text(result, &options);
    d->facts.version.out = mem_strdup(result->out->data != NULL ? result->out->data : "");
    local_next(d);
}

/* As the helper process runs it. */
static void local_ask_version(struct doctor_local *d)
{
    static const char *const args[] = {"-v", NULL};
    const char *path = getenv("PATH");
    struct error err = {0};
    cleanup(mem_free_ptr) char *name = mem_printf("PATH=%s", path != NULL ? path : "/usr/sbin:/usr/bin:/sbin:/bin");
    char *environment[] = {name, NULL};
    const struct child_options run = {.command = d->facts.program,
                                      .args = (char *const *)(uintptr_t)args,
                                      .env = environment,
                                      .max_out_bytes = LOCAL_ANSWER_MAX_BYTES,
                                      .timeout_ms = d->timeout_ms,
                                      .together = true};
    d->facts.version.asked = true;
    d->child = child_start(d->base, &run, local_on_version, d, &err);
    if (d->child != NULL)
        return;
    d->facts.version.problem = mem_strdup(err.message);
    local_next(d);
}

/* ---- sockets ---- */

static void local_take_level(const struct local_answer *a, struct local_socket_facts *s)
{
    const char *word = a->status == LOCAL_OK ? a->data + strspn(a->data, " \n") : "";
    s->level = *word != '\0' ? mem_strndup(word, strcspn(word, " \n")) : NULL;
}

static void local_take_first(const struct local_answer *a, int rc, const struct error *err,
                             struct local_socket_facts *s)
{
    s->answered = a->status == LOCAL_OK && rc == 0;
    s->ask_error = a->status == LOCAL_OK ? 0 : a->error_number;
    s->problem = s->answered ? NULL : mem_strdup(a->status == LOCAL_OK ? err->message : a->message);
}

static void local_take_check(const struct doctor_local *d, const struct local_answer *a, struct local_run *r)
{
    r->asked = true;
    r->refused = a->status == LOCAL_REJECTED;
    r->problem = a->status == LOCAL_OK || r->refused ? NULL : mem_strdup(a->message);
    r->out = mem_strdup(a->message);
    r->took_us = clock_mono_us() - d->began_us;
}

static void local_on_answer(void *arg, const struct local_answer *a)
{
    struct doctor_local *d = arg;
    struct local_facts *f = &d->facts;
    struct error err = {0};
    int rc = -1;
    d->request = NULL;
    if (d->step == LOCAL_ASK_PROCESSES) {
        rc = a->status == LOCAL_OK ? cli_processes_init(&f->processes, a->data, &err) : -1;
        f->has_processes = rc == 0;
        local_take_first(a, rc, &err, &f->master);
        if (rc == 0 && d->settings->local.reload == SETTINGS_RELOAD_SIGNAL && kill(f->processes.master_pid, 0) != 0)
            f->signal_error = errno;
    } else if (d->step == LOCAL_ASK_INFO) {
        rc = a->status == LOCAL_OK ? cli_info_read(&f->info, a->data, &err) : -1;
        f->has_info = rc == 0;
        local_take_first(a, rc, &err, &f->stats);
    } else if (d->step == LOCAL_ASK_CHECK) {
        local_take_check(d, a, &f->check);
        buf_addn(&f->environment, a->data, a->len);
    } else if (d->step == LOCAL_ASK_ENVIRONMENT) {
        f->shows_environment = a->status == LOCAL_OK && strchr(a->data, '=') != NULL;
        buf_addn(&f->shown_environment, a->data, a->len);
    } else {
        local_take_level(a, d->step == LOCAL_ASK_MASTER_LEVEL ? &f->master : &f->stats);
    }
    local_next(d);
}

static void local_command_to(struct doctor_local *d, enum local_socket socket, const char *command)
{
    struct local_socket_facts *s = socket == LOCAL_SOCKET_MASTER ? &d->facts.master : &d->facts.stats;
    s->asked = true;
    d->request = local_command(d->helper, socket, command, local_on_answer, d);
}

/* ---- one after the other ---- */

/* What cannot be asked, or was not answered before, is not. */
static bool local_can(const struct doctor_local *d, enum doctor_local_step step)
{
    const struct local_facts *f = &d->facts;
    switch (step) {
    case LOCAL_ASK_VERSION:
        return f->program != NULL;
    case LOCAL_ASK_CHECK:
        return f->program != NULL && f->file.real != NULL && f->file.is_regular && f->file.read_error == 0;
    case LOCAL_ASK_PROCESSES:
        return f->master.path != NULL;
    case LOCAL_ASK_MASTER_LEVEL: /* a level that is too low may be why */
        return f->master.asked && f->master.ask_error == 0;
    case LOCAL_ASK_INFO:
        return f->stats.path != NULL || f->master.answered;
    case LOCAL_ASK_STATS_LEVEL:
    case LOCAL_ASK_ENVIRONMENT:
        return f->stats.answered;
    case LOCAL_ASK_STEPS:
        break;
    }
    return false;
}

static void local_ask(struct doctor_local *d)
{
    switch (d->step) {
    case LOCAL_ASK_VERSION:
        local_ask_version(d);
        return;
    case LOCAL_ASK_CHECK:
        d->began_us = clock_mono_us();
        d->request = local_check_config(d->helper, local_on_answer, d);
        return;
    case LOCAL_ASK_PROCESSES:
        local_command_to(d, LOCAL_SOCKET_MASTER, "show proc");
        return;
    case LOCAL_ASK_MASTER_LEVEL:
        local_command_to(d, LOCAL_SOCKET_MASTER, "show cli level");
        return;
    case LOCAL_ASK_INFO:
        local_command_to(d, LOCAL_SOCKET_STATS, "show info");
        return;
    case LOCAL_ASK_STATS_LEVEL:
        local_command_to(d, LOCAL_SOCKET_STATS, "show cli level");
        return;
    case LOCAL_ASK_ENVIRONMENT:
        local_command_to(d, LOCAL_SOCKET_STATS, "show env");
        return;
    case LOCAL_ASK_STEPS:
        return;
    }
}

static void local_next(struct doctor_local *d)
{
    do
        d->step++;
    while (d->step < LOCAL_ASK_STEPS && !local_can(d, d->step));
    if (d->step < LOCAL_ASK_STEPS) {
        local_ask(d);
        return;
    }
    timer_set(&d->end, 0);
}

static void local_on_end(void *arg)
{
    struct doctor_local *d = arg;
    uint64_t master, above;
    d->facts.has_no_master = d->facts.has_info && doctor_is_haproxy((uint64_t)d->facts.info.pid, &master) &&
                             !doctor_is_haproxy(master, &above);
    d->done(d->arg);
}

/* ---- life ---- */

static void local_find_reload_program(struct doctor_local *d)
{
    const char *command = d->settings->local.reload_command;
    if (command == NULL)
        return;
    const char *word = command + strspn(command, " \t");
    cleanup(mem_free_ptr) char *name = mem_strndup(word, strcspn(word, " \t"));
    d->facts.reload_program = local_gather_program(name);
}

void doctor_local_start(struct doctor_local *d, struct event_base *base, const struct settings *settings,
                        struct local_helper *helper, uint64_t timeout_ms, void (*done)(void *arg), void *arg)
{
    const struct settings_local *l = &settings->local;
    *d = (struct doctor_local){.base = base,
                               .settings = settings,
                               .helper = helper,
                               .timeout_ms = timeout_ms,
                               .done = done,
                               .arg = arg,
                               .step = LOCAL_ASK_VERSION};
    buf_init_secret(&d->facts.environment, LOCAL_ANSWER_MAX_BYTES);
    buf_init_secret(&d->facts.shown_environment, LOCAL_ANSWER_MAX_BYTES);
    timer_init(&d->end, base, local_on_end, d);
    local_gather_file(l, &d->facts);
    local_gather_socket(l->master_socket, &d->facts.master);
    local_gather_socket(l->stats_socket, &d->facts.stats);
    d->facts.program = local_gather_program(l->program);
    local_find_reload_program(d);
    if (local_can(d, LOCAL_ASK_VERSION))
        local_ask(d);
    else
        local_next(d);
}

void doctor_local_fini(struct doctor_local *d)
{
    child_cancel(d->child);
    timer_fini(&d->end);
    local_request_cancel(d->request);
    local_facts_fini(&d->facts);
    *d = (struct doctor_local){0};
}

void doctor_local_report(const struct doctor_local *d, const struct inspect_target *target, struct doctor_section *s)
{
    const struct local_judged in = {
        .settings = d->settings, .facts = &d->facts, .target = target, .now_s = (int64_t)(clock_wall_ms() / 1000)};
    local_judge_file(&in, s);
    local_judge_program(&in, s);
    local_judge_running(&in, s);
}

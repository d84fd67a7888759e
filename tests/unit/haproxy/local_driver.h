/* A driver for a HAProxy that runs, and what it reported last. */
#pragma once

#include "local_world.h"
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include "haproxy/local/cli.h"

#include "haproxy/cfg/content.h"
#include "haproxy/change.h"
#include "haproxy/local/driver.h"
#include "haproxy/readout.h"
#include "haproxy/reload_poll.h"

static const char *haproxy;
static char *text;
static pid_t running;

static inline enum local_status command(enum local_socket socket, const char *line)
{
    return wait_for(local_command(helper, socket, line, on_answer, NULL));
}

/* Its HTTP client would read all certificates of the system, which takes four times as long as all else. */
static inline void prepare_haproxy(void)
{
    const char *given = getenv("HAPROXY"); /* NOLINT(concurrency-mt-unsafe): one thread */
    haproxy = given != NULL ? given : "/usr/sbin/haproxy";
    ck_assert_msg(access(haproxy, X_OK) == 0, "no %s here", haproxy);
    set_up();
    text = mem_printf("global\n    httpclient.ssl.verify none\n    stats socket %s level admin\ndefaults\n"
                      "    mode http\n    timeout connect 1s\n    timeout client 1s\n    timeout server 1s\n"
                      "frontend fe\n    bind unix@%s/web\nbackend web\n    server s1 127.0.0.1:1\n",
                      stats, folder);
    options.haproxy = haproxy;
    options.master_socket = master;
    options.stats_socket = stats;
}

static bool alone_in_network; /* in a network namespace of its own, where that is allowed */
static bool runs_as_nobody;   /* where root runs the test */

#define NOBODY 65534

static inline void be_nobody(void)
{
    if (runs_as_nobody && geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
        _exit(127);
}

static inline void run_haproxy(const char *loads)
{
    put(config, loads, 0644);
    if (runs_as_nobody)
        ck_assert_int_eq(chmod(folder, 0777), 0);
    running = fork();
    if (running == 0) {
        int null = open("/dev/null", O_RDWR);
        if (alone_in_network)
            (void)unshare(geteuid() == 0 ? CLONE_NEWNET : CLONE_NEWUSER | CLONE_NEWNET);
        be_nobody();
        prctl(PR_SET_PDEATHSIG, SIGTERM); /* a test that is killed leaves none behind */
        dup2(null, 1);
        dup2(null, 2);
        execl(haproxy, haproxy, "-W", "-S", master, "-f", config, (char *)NULL);
        _exit(127);
    }
    start();
    while (command(LOCAL_SOCKET_STATS, "show version") != LOCAL_OK ||
           command(LOCAL_SOCKET_MASTER, "show proc") != LOCAL_OK) {
        ck_assert_int_eq(waitpid(running, NULL, WNOHANG), 0);
        usleep(POLL_US);
    }
}

static inline void end_haproxy(void)
{
    if (running > 0 && kill(running, SIGTERM) == 0)
        waitpid(running, NULL, 0);
    running = 0;
}

static inline void tear_down_haproxy(void)
{
    end_haproxy();
    free(text);
    tear_down();
}

static inline struct cli_processes processes(void)
{
    struct cli_processes p;
    /* While the master executes itself anew its socket refuses, or closes without a word. */
    while (command(LOCAL_SOCKET_MASTER, "show proc") != LOCAL_OK || cli_processes_init(&p, seen.data, &flaw) != 0)
        usleep(POLL_US);
    return p;
}

static inline void await_new_worker(const struct cli_processes *before)
{
    for (bool is_new = false; !is_new; usleep(POLL_US)) {
        struct cli_processes now = processes();
        is_new = now.worker_pid != before->worker_pid && now.worker_pid != 0 && now.reloads > before->reloads;
        ck_assert_int_eq(now.master_pid, before->master_pid);
        cli_processes_fini(&now);
    }
}

static struct driver *driver;
static struct readout readout;
static struct reload reload;
static bool reloads; /* it has to */
static bool without_commands, turns;
static unsigned deadline_ms;

static struct {
    unsigned told, went_on;
    bool waited;        /* before it went on */
    struct error error; /* of a reading or a command */
    enum transaction_result result;
    struct error why; /* of a write */
    int64_t version;
    char *reload_id, *reload_why;
    bool runs; /* of the whole file */
    struct cfg_content *file;
    enum update_result update;
    bool maintenance; /* of the line that was updated */
} last;

static inline void on_read(void *arg, const struct error *err)
{
    last.told++;
    last.error = err != NULL ? *err : (struct error){0};
}

static inline void keep(char **ret, const char *s)
{
    free(*ret);
    *ret = s != NULL ? mem_strdup(s) : NULL;
}

static inline void on_replaced(void *arg, const struct replaced *r)
{
    last.told++;
    last.result = r->result;
    last.why = r->error;
    last.version = r->version;
    last.file = r->file;
    last.runs = r->runs;
    keep(&last.reload_id, r->reload_id);
    keep(&last.reload_why, r->reload_why);
}

static inline void on_written(void *arg, const struct written *w)
{
    last.told++;
    last.result = w->result;
    last.why = w->error;
    last.version = w->version;
    keep(&last.reload_id, w->reload_id);
    keep(&last.reload_why, w->reload_why);
}

static inline void on_updated(void *arg, const struct updated *u)
{
    last.told++;
    last.update = u->result;
    last.maintenance = u->wanted->maintenance;
    last.why = u->error;
    last.version = u->version;
}

static inline void on_commanded(void *arg, uint64_t took_us, const struct error *err)
{
    on_read(arg, err);
}

static inline void on_reload(void *arg)
{
    last.told++;
}

static inline void on_go_on(void *arg, bool waited)
{
    last.went_on++;
    last.waited = waited;
}

static const struct driver_events events = {.was_read = on_read,
                                            .written = on_written,
                                            .replaced = on_replaced,
                                            .updated = on_updated,
                                            .commanded = on_commanded,
                                            .reload_told = on_reload,
                                            .go_on = on_go_on};

/* Each is reported once, and never within the call that asks for it. */
static inline void await_told(void)
{
    ck_assert_uint_eq(last.told, 0);
    while (last.told == 0)
        event_base_loop(base, EVLOOP_ONCE);
    ck_assert_uint_eq(last.told, 1);
    last.told = 0;
}

static inline void make_driver_of(struct local_helper *file)
{
    const struct local_driver_options o = {.helper = file,
                                           .commands = without_commands ? NULL : helper,
                                           .file = config,
                                           .has_master = options.master_socket != NULL,
                                           .has_stats = options.stats_socket != NULL,
                                           .files_before = options.files_before != NULL,
                                           .files_after = options.files_after != NULL,
                                           .by_master = options.reload_command == NULL,
                                           .takes_turns = turns,
                                           .deadline_ms = deadline_ms};
    driver = local_driver_new(base, &o);
    driver->events = &events;
}

static inline void make_driver(void)
{
    make_driver_of(helper);
}

/* With other options, or as the next daemon. */
static inline void start_again(void)
{
    driver->ops->free(driver);
    local_helper_free(helper);
    start();
    make_driver();
}

/* A driver of HAProxy, which has loaded this. */
static inline void drive(const char *loads)
{
    static const char *const names[] = {"web"};
    run_haproxy(loads);
    reloads = true;
    deadline_ms = 0;
    without_commands = turns = false;
    memset(&last, 0, sizeof(last));
    make_driver();
    readout_init(&readout, names, 1);
}

static inline void set_up_driver(void)
{
    prepare_haproxy();
    drive(text);
}

static inline void tear_down_driver(void)
{
    driver->ops->free(driver);
    readout_fini(&readout);
    reload_fini(&reload);
    free(last.reload_id);
    free(last.reload_why);
    tear_down_haproxy();
}

static inline void read_it(void)
{
    driver->ops->read(driver, &readout);
    await_told();
    ck_assert_msg(last.error.kind == ERROR_NONE, "%s", last.error.message);
}

static inline struct cfg_content *content_of(const char *more)
{
    char *all = mem_printf("%s%s", text, more);
    return cfg_content_new(all, strlen(all));
}

static inline enum transaction_result replace(int64_t version, struct cfg_content *c, bool writes)
{
    driver->ops->replace(driver, version,
                         &(struct replacement_request){.text = c, .before = writes ? readout.file : NULL});
    await_told();
    return last.result;
}

/* How that of the last write ends. */
static inline enum reload_state reload_ends(void)
{
    reload_follow(&reload, last.reload_id, 0);
    driver->ops->ask_reload(driver, &reload);
    await_told();
    return reload.state;
}

/* How the reload of what is there ends. */
static inline enum reload_state reload_it(void)
{
    driver->ops->write(driver, readout.version, false, true);
    await_told();
    ck_assert_int_eq(last.result, TRANSACTION_COMMITTED);
    enum reload_state state = reload_ends();
    ck_assert_int_eq(reload_ends(), state); /* of one that has ended */
    return state;
}

static inline void assert_file_is(const char *expected)
{
    assert_file(config, expected);
}

/* `haproxy -c` runs through a program that keeps count: a byte for each time. */
static inline void count_checks(void)
{
    cleanup(mem_free_ptr) char *lines =
        mem_printf("#!/bin/sh\nprintf x >> %s/count\nexec %s \"$@\"\n", folder, haproxy);
    put(program, lines, 0755);
    options.haproxy = program;
    start_again();
    read_it();
}

static inline size_t checks(void)
{
    cleanup(mem_free_ptr) char *count = in_folder("count");
    struct stat st;
    return stat(count, &st) == 0 ? (size_t)st.st_size : 0;
}

static inline const struct backend_server *line_of(const char *name)
{
    const struct backend_server *found = backend_find(&readout.found[0].backend, name);
    ck_assert_ptr_nonnull(found);
    return found;
}

static inline const struct runtime_server *row_of(const char *name)
{
    return runtime_find(&readout.found[0].runtime, name);
}

static inline struct change change_of(enum change_kind kind, const struct backend_server *s)
{
    return (struct change){.kind = kind, .backend = &readout.found[0].backend, .server = s};
}

static inline enum transaction_result write_changes(const struct change *list, size_t count)
{
    ck_assert_msg(driver->ops->add(driver, list, count, &flaw) == 0, "%s", flaw.message);
    driver->ops->write(driver, readout.version, true, reloads);
    await_told();
    return last.result;
}

static inline void write_without_reload(const struct change *list, size_t count)
{
    ck_assert_int_eq(write_changes(list, count), TRANSACTION_COMMITTED);
    ck_assert_msg(last.reload_id == NULL, "%s", last.reload_why);
}

/* HAProxy has it, whatever the readout shows. */
static inline bool haproxy_has(const char *server)
{
    cleanup(mem_free_ptr) char *row = mem_printf(" %s ", server);
    ck_assert_int_eq(command(LOCAL_SOCKET_STATS, "show servers state web"), LOCAL_OK);
    return strstr(seen.data, row) != NULL;
}

static inline unsigned admin_of(const char *server)
{
    struct cli_servers all;
    unsigned admin = 0;
    ck_assert_int_eq(command(LOCAL_SOCKET_STATS, "show servers state web"), LOCAL_OK);
    ck_assert_int_eq(cli_servers_init(&all, seen.data, &flaw), 0);
    for (size_t i = 0; i < all.count; i++)
        admin = str_eq(all.servers[i].name, server) ? all.servers[i].admin : admin;
    cli_servers_fini(&all);
    return admin;
}

static inline enum update_result update(struct backend_server s, unsigned fields, bool keep)
{
    const struct update_request r = {.backend = "web", .server = &s, .fields = fields, .keep_maintenance = keep};
    ck_assert_msg(driver->ops->update(driver, readout.version, &r, &flaw) == 0, "%s", flaw.message);
    await_told();
    return last.update;
}

/* A HAProxy that runs: `haproxy -W` with its master and stats sockets; $HAPROXY, or the system's; and a helper for it. */
#ifndef TESTS_LOCAL_HAPROXY_H
#define TESTS_LOCAL_HAPROXY_H

#include <check.h>
#include <event2/event.h>
#include <stdio.h>
#include <signal.h>
#include <string.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/local/cli.h"
#include "haproxy/local/helper.h"

static const char *haproxy;
static struct event_base *base;
static struct local_helper *helper;
static struct local_helper_options options;
static char folder[64];
static char *config, *stats, *master, *text;
static pid_t running;

static struct {
    bool answered;
    enum local_status status;
    char *message, *data;
    pid_t pid;
    struct local_identity identity;
} seen;

static inline void on_answer(void *arg, const struct local_answer *a)
{
    (void)arg;
    free(seen.message);
    free(seen.data);
    seen.answered = true;
    seen.status = a->status;
    seen.pid = a->pid;
    seen.identity = a->identity;
    seen.message = mem_strdup(a->message);
    seen.data = mem_strdup(a->data);
}

static inline enum local_status wait_for(struct local_request *r)
{
    ck_assert_ptr_nonnull(r);
    seen.answered = false;
    while (!seen.answered)
        event_base_loop(base, EVLOOP_ONCE);
    return seen.status;
}

static inline enum local_status command(enum local_socket socket, const char *line)
{
    return wait_for(local_command(helper, socket, line, on_answer, NULL));
}

static inline void put(const char *path, const char *content)
{
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_ge(fputs(content, f), 0);
    ck_assert_int_eq(fclose(f), 0);
}

static inline void set_up(void)
{
    struct error err = {0};
    memset(&seen, 0, sizeof(seen));
    snprintf(folder, sizeof(folder), "/tmp/test_local_haproxy.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    config = mem_printf("%s/haproxy.cfg", folder);
    stats = mem_printf("%s/stats", folder);
    master = mem_printf("%s/master", folder);
    text = mem_printf("global\n    stats socket %s level admin\ndefaults\n    mode http\n    timeout connect 1s\n"
                      "    timeout client 1s\n    timeout server 1s\nfrontend fe\n    bind unix@%s/web\nbackend web\n"
                      "    server s1 127.0.0.1:1\n",
                      stats, folder);
    put(config, text);
    options = (struct local_helper_options){
        .config_file = config, .haproxy = haproxy, .master_socket = master, .stats_socket = stats};
    running = fork();
    if (running == 0) {
        int null = open("/dev/null", O_RDWR);
        prctl(PR_SET_PDEATHSIG, SIGTERM); /* a test that is killed leaves none behind */
        dup2(null, 1);
        dup2(null, 2);
        execl(haproxy, haproxy, "-W", "-S", master, "-f", config, (char *)NULL);
        _exit(127);
    }
    base = event_base_new();
    helper = local_helper_start(&options, &err);
    ck_assert_msg(helper != NULL, "%s", err.message);
    local_helper_attach(helper, base, NULL);
    while (command(LOCAL_SOCKET_STATS, "show version") != LOCAL_OK ||
           command(LOCAL_SOCKET_MASTER, "show proc") != LOCAL_OK)
        ck_assert_int_eq(waitpid(running, NULL, WNOHANG), 0);
}

static inline void end_haproxy(void)
{
    if (running > 0)
        kill(running, SIGTERM);
    if (running > 0)
        waitpid(running, NULL, 0);
    running = 0;
}

static inline void tear_down(void)
{
    local_helper_free(helper);
    event_base_free(base);
    end_haproxy();
    pid_t pid = fork();
    if (pid == 0) {
        execlp("rm", "rm", "-rf", folder, (char *)NULL);
        _exit(1);
    }
    waitpid(pid, NULL, 0);
    free(seen.message);
    free(seen.data);
    free(config);
    free(stats);
    free(master);
    free(text);
}

static inline struct cli_processes processes(void)
{
    struct cli_processes p;
    struct error err = {0};
    /* While the master executes itself anew its socket refuses, or closes without a word. */
    do
        (void)command(LOCAL_SOCKET_MASTER, "show proc");
    while (seen.status != LOCAL_OK || cli_processes_init(&p, seen.data, &err) != 0);
    return p;
}

static inline void await_new_worker(const struct cli_processes *before)
{
    for (bool is_new = false; !is_new;) {
        struct cli_processes now = processes();
        is_new = now.worker_pid != before->worker_pid && now.worker_pid != 0 && now.reloads > before->reloads;
        ck_assert_int_eq(now.master_pid, before->master_pid);
        cli_processes_fini(&now);
    }
}

/* False: there is no HAProxy here. */
static inline bool find_haproxy(void)
{
    const char *given = getenv("HAPROXY");
    haproxy = given != NULL ? given : "/usr/sbin/haproxy";
    if (access(haproxy, X_OK) == 0)
        return true;
    printf("skipped: no %s here\n", haproxy);
    return false;
}

#endif

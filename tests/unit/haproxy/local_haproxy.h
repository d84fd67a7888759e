/* A HAProxy that runs: `haproxy -W` with its master and stats sockets; $HAPROXY, or the system's; and a helper for it. */
#ifndef TESTS_LOCAL_HAPROXY_H
#define TESTS_LOCAL_HAPROXY_H

#include "local_world.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>

#include "haproxy/local/cli.h"

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

static inline void run_haproxy(const char *loads)
{
    put(config, loads, 0644);
    running = fork();
    if (running == 0) {
        int null = open("/dev/null", O_RDWR);
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

#endif

/* A plugin that does what the test's files say, on a real loop. */
#ifndef TESTS_EXEC_PLUGIN_WORLD_H
#define TESTS_EXEC_PLUGIN_WORLD_H

#include "kube/exec_plugin.h"

#include <check.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "../certs.h"
#include "settings/kubeconfig/kubeconfig.h"
#include "host/timer.h"
#include "net/tls_files.h"

#define V1 "client.authentication.k8s.io/v1"
#define PAUSE_MS 20
#define DEADLINE_MS 20000 /* of waiting for anything */

static struct event_base *base;
static struct timer tick;
static struct tls_files *tls;
static struct log log_to_file = {.level = LOG_LEVEL_DEBUG, .format = LOG_FORMAT_LOGFMT};
static char directory[] = "/tmp/test_exec_plugin.XXXXXX";
static struct exec_plugin *plugin;
static unsigned told;

/* Each run adds a line to "runs"; it waits while there is a file "wait", then prints "answer" and "said", and exits with "status".
 * "two" comes of two at a time. */
static char script[] =
    "cd \"$D\"; { [ -e lock ] && kill -0 \"$(cat lock)\" && touch two; } 2>/dev/null; echo $$ >lock; echo run >>runs; "
    "while [ -e wait ]; do sleep 0.01; done; env >environment; cat answer; cat said >&2; status=$(cat status); rm "
    "lock; "
    "exit $status";
static char shell[] = "sh", dash_c[] = "-c", version[] = V1, server[] = "https://10.0.0.1",
            *args[] = {dash_c, script, NULL};
static char *env[3];
static struct kube_exec exec = {.api_version = version, .command = shell, .args = args, .env = env};
static struct kube_access access_by = {.server = server, .exec = &exec};

/* ---- files ---- */

static inline char *in_directory(const char *name)
{
    return mem_printf("%s/%s", directory, name);
}

static inline void write_file(const char *name, const char *text)
{
    cleanup(mem_free_ptr) char *path = in_directory(name), *fresh = in_directory("fresh");
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    ck_assert_int_eq(rename(fresh, path), 0);
}

static inline void remove_file(const char *name)
{
    cleanup(mem_free_ptr) char *path = in_directory(name);
    ck_assert_int_eq(unlink(path), 0);
}

static inline char *file_text(const char *name)
{
    cleanup(mem_free_ptr) char *path = in_directory(name);
    struct buf text;
    buf_init(&text, 1 << 20);
    ck_assert_int_eq(buf_read_file(&text, path), 0);
    return buf_take(&text);
}

static inline bool has_file(const char *name)
{
    cleanup(mem_free_ptr) char *path = in_directory(name);
    return access(path, F_OK) == 0;
}

static inline unsigned runs(void)
{
    if (!has_file("runs"))
        return 0;
    cleanup(mem_free_ptr) char *text = file_text("runs");
    return (unsigned)strlen(text) / 4;
}

static inline void answer_with(const char *status)
{
    cleanup(mem_free_ptr) char *text =
        mem_printf("{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",\"status\":{%s}}", status);
    write_file("answer", text);
    write_file("status", "0");
    write_file("said", "");
}

/* Of a token that expires so many seconds from now; the format has no fractions. When that is, in ms since the Unix epoch. */
static inline uint64_t answer_token(const char *token, int seconds)
{
    time_t at = (time_t)(clock_wall_ms() / 1000) + seconds;
    struct tm tm;
    char text[32];
    gmtime_r(&at, &tm);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
    cleanup(mem_free_ptr) char *status = mem_printf("\"token\":\"%s\",\"expirationTimestamp\":\"%s\"", token, text);
    answer_with(status);
    return (uint64_t)at * 1000;
}

/* ---- the loop ---- */

static inline void on_changed(void *arg)
{
    ck_assert_ptr_eq(arg, &told);
    told++;
}

static inline void on_tick(void *arg)
{
    (void)arg;
    event_base_loopbreak(base);
}

static inline void turn(void)
{
    timer_set(&tick, 2);
    event_base_dispatch(base);
}

#define await(condition)                                                        \
    do {                                                                        \
        uint64_t until_ = clock_mono_ms() + DEADLINE_MS;                        \
        while (!(condition)) {                                                  \
            ck_assert_msg(clock_mono_ms() < until_, "in vain: %s", #condition); \
            turn();                                                             \
        }                                                                       \
    } while (0)

static struct error err;

/* The token in use; NULL: none, and err says why. */
static inline const char *use(void)
{
    static char copy[64];
    const char *token = NULL;
    error_clear(&err);
    if (exec_plugin_use(plugin, &token, &err) != 0) {
        ck_assert_int_eq(err.kind, ERROR_RETRY);
        ck_assert(exec_plugin_lacks(plugin));
        return NULL;
    }
    ck_assert(!exec_plugin_lacks(plugin));
    snprintf(copy, sizeof(copy), "%s", token != NULL ? token : "(certificate)");
    return copy;
}

static inline char *ready_line(bool good)
{
    struct buf b;
    buf_init(&b, 0);
    const char *command;
    cleanup(mem_free_ptr) char *text = NULL;
    ck_assert_msg(exec_plugin_ready(plugin, &command, &b) == good, "%s", buf_str(&b));
    text = buf_take(&b);
    return mem_printf("[%c]credentials by %s%s%s\n", good ? '+' : '-', command, text[0] != '\0' ? ": " : "", text);
}

static inline void assert_ready(bool good, const char *says)
{
    cleanup(mem_free_ptr) char *line = ready_line(good);
    ck_assert_msg(strstr(line, says) != NULL, "expected \"%s\" in: %s", says, line);
    ck_assert_msg(str_has_prefix(line, good ? "[+]credentials by " : "[-]credentials by "), "%s", line);
    ck_assert_uint_eq(strcspn(line, "\n"), strlen(line) - 1);
}

static inline unsigned times_logged(const char *what)
{
    cleanup(mem_free_ptr) char *text = file_text("log");
    unsigned n = 0;
    for (const char *s = text; (s = strstr(s, what)) != NULL; s++)
        n++;
    return n;
}

static inline void make_plugin(uint64_t timeout_ms, uint64_t pause_ms)
{
    plugin = exec_plugin_new(&(struct exec_plugin_options){.base = base,
                                                           .access = &access_by,
                                                           .tls = tls,
                                                           .log = &log_to_file,
                                                           .timeout_ms = timeout_ms,
                                                           .pause_ms = pause_ms},
                             on_changed, &told);
}

static inline void set_up(void)
{
    ck_assert_ptr_nonnull(mkdtemp(directory));
    cleanup(mem_free_ptr) char *log_path = in_directory("log");
    log_to_file.fd = open(log_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    env[0] = mem_printf("D=%s", directory);
    base = event_base_new();
    timer_init(&tick, base, on_tick, NULL);
    tls = tls_files_new(
        &(struct tls_files_options){.peer = "x", .cert.name = "client certificate", .key.name = "client key"}, &err);
    ck_assert_ptr_nonnull(tls);
    make_plugin(0, PAUSE_MS);
}

static inline void tear_down(void)
{
    static const char *const names[] = {"log", "runs", "answer", "said", "status", "environment", "wait", "lock"};
    exec_plugin_free(plugin);
    tls_files_free(tls);
    timer_fini(&tick);
    event_base_free(base);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
    ck_assert_msg(!has_file("two"), "two ran at a time");
    for (size_t i = 0; i < array_len(names); i++) {
        cleanup(mem_free_ptr) char *path = in_directory(names[i]);
        unlink(path);
    }
    ck_assert_int_eq(rmdir(directory), 0);
    close(log_to_file.fd);
    free(env[0]);
}

#endif

/* A folder with a haproxy.cfg and a program in HAProxy's place, and a helper that works there. */
#pragma once

#include "haproxy/local/helper.h"

#include <dirent.h>
#include <event2/event.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "../folder.h"

#define GOOD                                                                                                        \
    "global\n    maxconn 100\ndefaults\n    mode http\n    timeout connect 1s\n    timeout client 1s\n    timeout " \
    "server 1s\n"

#define POLL_US 2000 /* between two readings of what no event reports */

static struct event_base *base;
static struct local_helper *helper;
static struct local_helper_options options;
static char *config, *program, *stats, *master;

static struct {
    unsigned times, ends;
    struct local_answer answer;
    char *message, *data, *why;
} seen;

static inline void put(const char *path, const char *text, mode_t mode)
{
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_ge(fputs(text, f), 0);
    ck_assert_int_eq(fclose(f), 0);
    ck_assert_int_eq(chmod(path, mode), 0);
}

static inline void assert_file(const char *path, const char *text)
{
    struct buf b = {0};
    ck_assert_int_eq(buf_read_file(&b, path), 0);
    ck_assert_str_eq(buf_str(&b), text);
    buf_fini(&b);
}

/* Names in the folder that are neither what a test put there nor the lock. */
static inline unsigned left_behind(void)
{
    unsigned n = 0;
    DIR *d = opendir(folder);
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        n += *e->d_name == '.' && !str_eq(e->d_name, ".") && !str_eq(e->d_name, "..") &&
             !str_has_suffix(e->d_name, ".lock");
    closedir(d);
    return n;
}

/* What was there is, and nothing beside it. */
static inline void assert_config(const char *text)
{
    assert_file(config, text);
    ck_assert_uint_eq(left_behind(), 0);
}

static inline int unix_socket(const char *path, bool listens)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
    ck_assert_int_eq(
        listens ? bind(fd, (struct sockaddr *)&at, sizeof(at)) : connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    ck_assert(!listens || listen(fd, 16) == 0);
    return fd;
}

/* One who plays HAProxy. */
static inline void end_player(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static inline void set_up(void)
{
    memset(&options, 0, sizeof(options));
    memset(&seen, 0, sizeof(seen));
    folder_make();
    config = in_folder("haproxy.cfg");
    program = in_folder("program");
    stats = in_folder("stats");
    master = in_folder("master");
    put(config, GOOD, 0640);
    put(program, "#!/bin/sh\nexit 0\n", 0755);
    options.config_file = config;
    options.haproxy = program;
    base = event_base_new();
}

static inline void on_end(void *arg, const char *why)
{
    seen.ends++;
    free(seen.why);
    seen.why = mem_strdup(why);
}

static struct local_helper_events helper_events = {.ended = on_end};

static inline struct local_helper *start_another(void)
{
    struct local_helper *h = local_helper_start(&options, &flaw);
    ck_assert_msg(h != NULL, "%s", flaw.message);
    local_helper_attach(h, base, &helper_events);
    return h;
}

static inline void start(void)
{
    helper = start_another();
}

static inline void tear_down(void)
{
    local_helper_free(helper);
    helper = NULL;
    event_base_free(base);
    free(seen.message);
    free(seen.data);
    free(seen.why);
    folder_remove();
    free(config);
    free(program);
    free(stats);
    free(master);
}

static inline void on_answer(void *arg, const struct local_answer *a)
{
    free(seen.message);
    free(seen.data);
    seen.times++;
    seen.answer = *a;
    seen.message = mem_strdup(a->message);
    seen.data = mem_alloc(a->len + 1);
    memcpy(seen.data, a->data, a->len + 1);
}

static inline enum local_status wait_for(struct local_request *r)
{
    unsigned before = seen.times;
    ck_assert_ptr_nonnull(r);
    while (seen.times == before)
        event_base_loop(base, EVLOOP_ONCE);
    return seen.answer.status;
}

static inline enum local_status write_text(const char *text, const struct local_identity *expected, unsigned flags)
{
    return wait_for(local_write_config(helper, text, strlen(text), expected, flags, on_answer, NULL));
}

static inline enum local_status lock_by(struct local_helper *h)
{
    return wait_for(local_lock_config(h, on_answer, NULL));
}

/* A process writes no file beyond so many bytes; what it was before. */
static inline rlim_t limit_files(pid_t pid, rlim_t bytes)
{
    struct rlimit now;
    ck_assert_int_eq(prlimit(pid, RLIMIT_FSIZE, NULL, &now), 0);
    rlim_t before = now.rlim_cur;
    now.rlim_cur = bytes;
    ck_assert_int_eq(prlimit(pid, RLIMIT_FSIZE, &now, NULL), 0);
    return before;
}

/* What root may do nobody may. */
static inline void as_nobody(void (*starts)(void))
{
    bool root = geteuid() == 0;
    ck_assert(!root || seteuid(65534) == 0);
    starts();
    ck_assert(!root || seteuid(0) == 0);
}

static inline struct local_identity read_identity(void)
{
    ck_assert_int_eq(wait_for(local_read_config(helper, on_answer, NULL)), LOCAL_OK);
    return seen.answer.identity;
}

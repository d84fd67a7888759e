/* A folder with a haproxy.cfg and a program in HAProxy's place, and a helper that works there. */
#ifndef TESTS_LOCAL_WORLD_H
#define TESTS_LOCAL_WORLD_H

#include "haproxy/local/helper.h"

#include <dirent.h>
#include <event2/event.h>
#include <ftw.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

#define GOOD                                                                                                        \
    "global\n    maxconn 100\ndefaults\n    mode http\n    timeout connect 1s\n    timeout client 1s\n    timeout " \
    "server 1s\n"

#define POLL_US 2000 /* between two looks at what no event tells */

static struct event_base *base;
static struct local_helper *helper;
static struct local_helper_options options;
static char folder[64];
static char *config, *program, *stats, *master;

static struct {
    unsigned times, ends;
    struct local_answer answer;
    char *message, *data, *why;
} seen;

static inline char *in_folder(const char *name)
{
    return mem_printf("%s/%s", folder, name);
}

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

static inline void set_up(void)
{
    memset(&options, 0, sizeof(options));
    memset(&seen, 0, sizeof(seen));
    snprintf(folder, sizeof(folder), "/tmp/test_local_helper.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
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
    (void)arg;
    seen.ends++;
    free(seen.why);
    seen.why = mem_strdup(why);
}

static struct local_helper_events helper_events = {.ended = on_end};

static inline struct local_helper *start_another(void)
{
    struct error err = {0};
    struct local_helper *h = local_helper_start(&options, &err);
    ck_assert_msg(h != NULL, "%s", err.message);
    local_helper_attach(h, base, &helper_events);
    return h;
}

static inline void start(void)
{
    helper = start_another();
}

static inline int remove_one(const char *path, const struct stat *info, int type, struct FTW *where)
{
    (void)info, (void)type, (void)where;
    return remove(path);
}

static inline void tear_down(void)
{
    local_helper_free(helper);
    helper = NULL;
    event_base_free(base);
    free(seen.message);
    free(seen.data);
    free(seen.why);
    (void)nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(config);
    free(program);
    free(stats);
    free(master);
}

static inline void on_answer(void *arg, const struct local_answer *a)
{
    (void)arg;
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

static inline struct local_identity read_identity(void)
{
    ck_assert_int_eq(wait_for(local_read_config(helper, on_answer, NULL)), LOCAL_OK);
    return seen.answer.identity;
}

#endif

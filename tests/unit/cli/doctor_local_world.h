/* A HAProxy on this machine at which nothing is wrong, for the tests to break; and what is said of it. */
#pragma once

#include "cli/doctor/doctor_local.h"
#include "settings/settings.h"

#include "doctor_text.h"

#define FILE_PATH "/etc/haproxy/haproxy.cfg"
#define MASTER_PATH "/run/haproxy-master.sock"
#define STATS_PATH "/run/haproxy/admin.sock"
#define MASTER_PID 70
#define WORKER_PID 71
#define NOW_S 1000000

struct world {
    struct settings settings;
    struct local_facts facts;
    char *names[2]; /* of HAPROXY_CHECK_FILES */
};

static inline void put(char **place, const char *text)
{
    free(*place);
    *place = mem_strdup(text);
}

static inline struct local_owner owned(const char *user, const char *group, unsigned mode, bool us, bool our_group)
{
    return (struct local_owner){.gid = our_group ? 1000 : 0,
                                .mode = mode,
                                .user = mem_strdup(user),
                                .group = mem_strdup(group),
                                .is_us = us,
                                .is_our_group = our_group};
}

static inline void disown(struct local_owner *o, const char *user, const char *group, unsigned mode, bool us,
                          bool our_group)
{
    free(o->user);
    free(o->group);
    *o = owned(user, group, mode, us, our_group);
}

static inline void proc(struct world *w, const char *answer)
{
    cli_processes_fini(&w->facts.processes);
    ck_assert_int_eq(cli_processes_init(&w->facts.processes, answer, &flaw), 0);
}

#define PROC(failed, workers)                                                  \
    "#<PID> <type> <reloads> <uptime> <version>\n70 master 3 [failed: " failed \
    "] 0d00h00m03s 2.8.5\n# workers\n" workers
#define WORKER "71 worker 0 0d00h00m03s 2.8.5\n"

static inline struct world world_new(void)
{
    struct world w = {.settings.local = {.file = (char *)(uintptr_t)FILE_PATH,
                                         .master_socket = (char *)(uintptr_t)MASTER_PATH,
                                         .stats_socket = (char *)(uintptr_t)STATS_PATH,
                                         .program = (char *)(uintptr_t) "haproxy"}};
    struct local_facts *f = &w.facts;
    f->self = (struct local_self){.user = mem_strdup("sync"), .group = mem_strdup("sync")};
    f->file = (struct local_file_facts){.path = FILE_PATH,
                                        .real = mem_strdup(FILE_PATH),
                                        .is_regular = true,
                                        .size = 300,
                                        .modified_s = NOW_S - 500,
                                        .owner = owned("sync", "haproxy", 0640, true, true),
                                        .folder = mem_strdup("/etc/haproxy"),
                                        .folder_owner = owned("root", "haproxy", 0775, false, true),
                                        .lock = mem_strdup("/etc/haproxy/.haproxy.cfg.lock")};
    f->program = mem_strdup("/usr/sbin/haproxy");
    f->version = (struct local_run){.asked = true, .out = mem_strdup("HAProxy version 2.8.5 2023/12/07 - https://\n")};
    f->check = (struct local_run){.asked = true, .out = mem_strdup(""), .took_us = 12300};
    f->shows_environment = true;
    buf_addn(&f->environment, "PATH=/p\0PROD=1\0SITE=secret\0ONLY_THERE=1\0HAPROXY_X=1",
             sizeof("PATH=/p\0PROD=1\0SITE=secret\0ONLY_THERE=1\0HAPROXY_X=1"));
    buf_add(&f->shown_environment, "PATH=/p\nPROD=1\nSITE=other\nZONE=a\n\n");
    f->master = (struct local_socket_facts){
        .path = MASTER_PATH, .is_socket = true, .asked = true, .answered = true, .level = mem_strdup("admin")};
    f->stats = f->master;
    f->stats.path = STATS_PATH;
    f->stats.level = mem_strdup("admin");
    f->has_processes = f->has_info = true;
    f->info = (struct cli_info){.pid = WORKER_PID, .uptime_s = 100, .version = "2.8.5"};
    proc(&w, PROC("0", WORKER));
    return w;
}

static inline void world_fini(struct world *w)
{
    local_facts_fini(&w->facts);
}

/* What a statement makes wrong. */
#define STRIKE(name, statement)       \
    static void name(struct world *w) \
    {                                 \
        statement;                    \
    }

/* One thing is wrong, and this is said about it. */
struct wrong {
    void (*strike)(struct world *w); /* NULL: nothing is */
    const char *id;
    enum check_state mark;
    const char *says[4];
};
#define SAYS(...)   \
    {               \
        __VA_ARGS__ \
    }

/* The check of that id with that mark has all of it, in what was found, its why or its fixes. */
static inline void expect_wrong(const struct wrong *row)
{
    cleanup(world_fini) struct world w = world_new();
    cleanup(doctored_fini) struct doctored d = doctored_new();
    if (row->strike != NULL)
        row->strike(&w);
    local_judge(&w.facts, &w.settings, NULL, NOW_S, d.section);
    struct doctor_section one = {.kind = "haproxy"};
    cleanup(mem_free_ptr) struct doctor_check **checks = mem_array(d.section->check_count + 1, sizeof(checks[0]));
    one.checks = checks;
    size_t failed = 0;
    for (size_t i = 0; i < d.section->check_count; i++) {
        struct doctor_check *c = d.section->checks[i];
        failed += c->is.state == CHECK_FAIL;
        if (str_eq(c->id, row->id) && c->is.state == row->mark)
            checks[one.check_count++] = c;
    }
    cleanup(mem_free_ptr) char *text = section_text(&one), *all = section_text(d.section);
    for (size_t i = 0; i < array_len(row->says) && row->says[i] != NULL; i++)
        ck_assert_msg(strstr(text, row->says[i]) != NULL, "no \"%s\" in %s %s:\n%s", row->says[i],
                      check_state_word(row->mark), row->id, all);
    ck_assert_msg(row->mark == CHECK_FAIL || row->mark == CHECK_SKIP || failed == 0, "a failure:\n%s", all);
}

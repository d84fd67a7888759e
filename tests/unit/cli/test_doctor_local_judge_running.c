/* cli/doctor/doctor_local_judge: who answers, and what to do about a socket that does not. */
#include <errno.h>

#include "daemon/inspect/inspect_report.h"

#include "doctor_local_world.h"

static void silent(struct world *w)
{
    struct local_facts *f = &w->facts;
    f->has_info = f->has_processes = f->master.answered = f->stats.answered = false;
    f->master.ask_error = f->stats.ask_error = ECONNREFUSED;
    put(&f->master.problem, "refused");
    put(&f->stats.problem, "refused");
}

static void no_sockets(struct world *w)
{
    silent(w);
    w->facts.master.path = w->facts.stats.path = NULL;
    w->facts.stats.asked = false;
    w->settings.local.reload_command = (char *)(uintptr_t) "systemctl reload haproxy";
    put(&w->facts.reload_program, "/usr/bin/systemctl");
}

STRIKE(runs_too_old, snprintf(w->facts.info.version, sizeof(w->facts.info.version), "2.4.22"))
STRIKE(upgraded, put(&w->facts.version.out, "HAProxy version 2.8.6\n"))
STRIKE(written_since, w->facts.file.modified_s = NOW_S - 50)

static void master_gone(struct world *w)
{
    struct local_facts *f = &w->facts;
    f->has_processes = f->master.answered = f->master.is_socket = false;
    f->master.error = ENOENT;
}

static void without_master(struct world *w)
{
    master_gone(w);
    w->facts.has_no_master = true;
}

static void master_dead(struct world *w)
{
    master_gone(w);
    w->facts.master.error = 0;
    w->facts.master.is_socket = true;
    w->facts.master.ask_error = ECONNREFUSED;
}

static void master_forbidden(struct world *w)
{
    master_dead(w);
    w->facts.master.ask_error = EACCES;
    w->facts.master.owner = owned("root", "root", 0755, false, false);
}

static void master_behind_a_folder(struct world *w)
{
    master_gone(w);
    w->facts.master.error = EACCES;
}

static void no_master_at_all(struct world *w)
{
    master_dead(w);
    w->facts.master.ask_error = 0;
    put(&w->facts.master.problem, "HAProxy says: Unknown command");
}

STRIKE(no_worker, proc(w, PROC("0", "")))
STRIKE(old_workers, proc(w, PROC("0", WORKER "# old workers\n61 worker 1 0d 2.8.5\n62 worker 1 0d 2.8.5\n")))

static void many_old_workers(struct world *w)
{
    proc(w, PROC("0", WORKER "# old workers\n61 worker 1 0d 2.8.5\n62 worker 1 0d 2.8.5\n63 worker 1 0d 2.8.5\n"
                             "64 worker 1 0d 2.8.5\n65 worker 1 0d 2.8.5\n66 worker 1 0d 2.8.5\n"));
}

static void no_master_is_set(struct world *w)
{
    w->facts.master.path = NULL;
    w->facts.master.answered = w->facts.has_processes = false;
    w->settings.local.reload_command = (char *)(uintptr_t) "/bin/again now";
    put(&w->facts.reload_program, "/bin/again");
}

STRIKE(failed, proc(w, PROC("2", WORKER)))

static void command_is_gone(struct world *w)
{
    no_master_is_set(w);
    put(&w->facts.reload_program, NULL);
}

STRIKE(level_user, put(&w->facts.master.level, "user"))

static void stats_gone(struct world *w)
{
    struct local_facts *f = &w->facts;
    f->has_info = f->stats.answered = f->stats.is_socket = false;
    f->stats.error = ENOENT;
    f->global.sockets = mem_array(2, sizeof(char *));
    f->global.sockets[0] = mem_strdup(STATS_PATH);
    f->global.sockets[1] = mem_strdup("/run/h/other.sock");
    f->global.socket_count = 2;
}

static void stats_forbidden(struct world *w)
{
    struct local_facts *f = &w->facts;
    f->has_info = f->stats.answered = false;
    f->stats.ask_error = EACCES;
    f->stats.owner = owned("root", "root", 0600, false, false);
}

static void both_forbidden(struct world *w)
{
    stats_forbidden(w);
    master_forbidden(w);
}

static void by_master(struct world *w)
{
    w->settings.local.stats_socket = NULL;
    w->facts.stats.path = NULL;
}

static void not_asked(struct world *w)
{
    by_master(w);
    master_gone(w);
    w->facts.has_info = w->facts.stats.asked = w->facts.stats.answered = false;
}

STRIKE(level_operator, put(&w->facts.stats.level, "operator"))
STRIKE(of_another_haproxy, w->facts.info.pid = 99)

static void level_user_by_command(struct world *w)
{
    level_user(w);
    w->settings.local.reload_command = (char *)(uintptr_t) "/bin/again now";
    put(&w->facts.reload_program, "/bin/again");
}

static void of_an_old_worker(struct world *w)
{
    old_workers(w);
    w->facts.info.pid = 62;
}

static void no_master_without_a_setting(struct world *w)
{
    no_master_is_set(w);
    w->facts.has_no_master = true;
}

static void silent_of_two_files(struct world *w)
{
    static char *files[] = {(char *)(uintptr_t) "/etc/haproxy/first.cfg", (char *)(uintptr_t)FILE_PATH};
    silent(w);
    w->settings.local.check_files = (struct settings_names){.list = files, .count = array_len(files)};
}

STRIKE(chrooted, put(&w->facts.global.chroot, "/var/lib/haproxy"))

static const struct wrong rows[] = {
    {NULL, "haproxy.running", CHECK_OK, SAYS("2.8.5 runs, process 71, for 1m\n")},
    {NULL, "haproxy.master-worker", CHECK_OK, SAYS("master 70, worker 71; open connections")},
    {NULL, "haproxy.reload", CHECK_OK, SAYS("by the master's socket; 3 so far, the last one succeeded")},
    {NULL, "haproxy.runtime", CHECK_OK, SAYS(STATS_PATH " answers, level admin: changes of servers need no reload")},
    {silent, "haproxy.running", CHECK_FAIL,
     SAYS("no HAProxy answers at a socket that is set", "haproxy -W -S ", "systemctl start haproxy")},
    {silent_of_two_files, "haproxy.running", CHECK_FAIL,
     SAYS("haproxy -W -S " MASTER_PATH " -f /etc/haproxy/first.cfg -f " FILE_PATH "\n")},
    {no_sockets, "haproxy.running", CHECK_SKIP, SAYS("needs HAPROXY_MASTER_SOCKET or HAPROXY_STATS_SOCKET")},
    {runs_too_old, "haproxy.running", CHECK_FAIL, SAYS("2.4.22 runs, process 71; 2.6 or later is needed")},
    {upgraded, "haproxy.running", CHECK_WARN, SAYS("2.8.5 runs, process 71; HAPROXY_BIN is 2.8.6", "restart haproxy")},
    {written_since, "haproxy.running", CHECK_OK, SAYS("for 1m; haproxy.cfg was written since")},

    {master_gone, "haproxy.master-worker", CHECK_FAIL, SAYS("there is no " MASTER_PATH " (HAPROXY_MASTER_SOCKET)")},
    {without_master, "haproxy.master-worker", CHECK_FAIL,
     SAYS("process 71 runs without a master (no -W)", "haproxy -W -S " MASTER_PATH " -f " FILE_PATH,
          "EXTRAOPTS=-S " MASTER_PATH "\"", "then, as root; a restart ends open connections")},
    {no_master_without_a_setting, "haproxy.master-worker", CHECK_FAIL, SAYS("process 71 runs without a master\n")},
    {master_dead, "haproxy.master-worker", CHECK_FAIL, SAYS("no process listens at " MASTER_PATH " any more")},
    {master_forbidden, "haproxy.master-worker", CHECK_FAIL,
     SAYS("user sync may not connect to " MASTER_PATH " (root:root, mode 0755)",
          "EXTRAOPTS=-S " MASTER_PATH ",mode,660,group,haproxy\"", "SupplementaryGroups=haproxy")},
    {master_behind_a_folder, "haproxy.master-worker", CHECK_FAIL,
     SAYS("may not enter the folder of " MASTER_PATH, "group,haproxy")},
    {no_master_at_all, "haproxy.master-worker", CHECK_FAIL, SAYS(MASTER_PATH ": HAProxy says: Unknown command")},
    {no_worker, "haproxy.master-worker", CHECK_FAIL, SAYS("master 70 has no worker", "journalctl -u haproxy")},
    {old_workers, "haproxy.master-worker", CHECK_OK, SAYS("worker 71, 2 old; open")},
    {many_old_workers, "haproxy.master-worker", CHECK_WARN, SAYS("and 6 old workers", "hard-stop-after")},
    {no_master_is_set, "haproxy.master-worker", CHECK_OK, SAYS("HAPROXY_MASTER_SOCKET is not set")},

    {failed, "haproxy.reload", CHECK_FAIL, SAYS("the last one failed, 2 in a row", "keeps what it ran before")},
    {master_gone, "haproxy.reload", CHECK_SKIP, SAYS("needs the master's socket")},
    {command_is_gone, "haproxy.reload", CHECK_FAIL, SAYS("/bin/again now: no such program that user sync may run")},
    {no_master_is_set, "haproxy.reload", CHECK_OK, SAYS("by /bin/again now")},
    {level_user, "haproxy.reload", CHECK_FAIL, SAYS("level user, which refuses a reload")},
    {level_user_by_command, "haproxy.reload", CHECK_OK, SAYS("by /bin/again now")},

    {stats_gone, "haproxy.runtime", CHECK_FAIL,
     SAYS("there is no " STATS_PATH " (HAPROXY_STATS_SOCKET)", "HAPROXY_STATS_SOCKET=/run/h/other.sock",
          "stats socket " STATS_PATH " mode 660 level admin", "HAPROXY_STATS_SOCKET=\n")},
    {by_master, "haproxy.runtime", CHECK_OK, SAYS("the master's socket answers, level admin")},
    {not_asked, "haproxy.runtime", CHECK_SKIP, SAYS("needs the master's socket")},
    {level_operator, "haproxy.runtime", CHECK_WARN,
     SAYS(STATS_PATH " has level operator", "level admin", "each takes a reload")},
    {of_another_haproxy, "haproxy.runtime", CHECK_FAIL, SAYS("belongs to process 99, which is no worker of master 70")},
    {no_master_is_set, "haproxy.runtime", CHECK_OK, SAYS("answers, level admin")},
    {of_an_old_worker, "haproxy.runtime", CHECK_OK, SAYS("answers")},
    {chrooted, "haproxy.chroot", CHECK_OK, SAYS("/var/lib/haproxy: sockets, maps")},
};

TEST_EACH(what_is_wrong, array_len(rows))
{
    expect_wrong(&rows[_i]);
}

/* A socket that cannot be asked is a failure of its own, and no reason to start a HAProxy that runs. */
TEST(who_runs_behind_a_closed_socket)
{
    static const struct {
        void (*strike)(struct world *);
        const char *says;
    } closed[] = {
        {stats_gone, "ok HAProxy: runs, process 71, as its master says"},
        {stats_forbidden, "ok HAProxy: runs, process 71, as its master says"},
        {both_forbidden, "skip HAProxy: not known: user sync may not connect to " STATS_PATH ", see below"},
    };
    for (size_t i = 0; i < array_len(closed); i++) {
        cleanup(world_fini) struct world w = world_new();
        cleanup(doctored_fini) struct doctored d = doctored_new();
        closed[i].strike(&w);
        local_judge(&w.facts, &w.settings, NULL, NOW_S, d.section);
        expect_text(&d, closed[i].says);
        expect_mark(&d, "haproxy.runtime", CHECK_FAIL);
        expect_no_text(&d, "systemctl start haproxy");
    }
}

/* What was read of the backends, beside what was asked. */
TEST(drift)
{
    cleanup(world_fini) struct world w = world_new();
    cleanup(doctored_fini) struct doctored d = doctored_new(), e = doctored_new(), g = doctored_new();
    struct settings_mapping mapping = {.backend = (char *)(uintptr_t) "be"};
    const struct inspect_mapping m = {.backend = "be"};
    struct inspect_backend b = {.of = &m, .seen = true, .actual.exists = true, .runtime.readable = true};
    struct inspect_target t = {.backends = &b};
    w.settings.mappings = &mapping;
    w.settings.mapping_count = 1;
    local_judge(&w.facts, &w.settings, &t, NOW_S, d.section);
    expect_no_text(&d, "drift");
    t.drift = (char *)(uintptr_t) "backend be: server n1: weight";
    local_judge(&w.facts, &w.settings, &t, NOW_S, e.section);
    expect_mark(&e, "haproxy.drift", CHECK_WARN);
    expect_text(&e, "running HAProxy differs from haproxy.cfg: backend be: server n1");
    b.runtime.readable = false;
    b.runtime.why = (char *)(uintptr_t) "HAProxy says: Can't find backend.";
    local_judge(&w.facts, &w.settings, &t, NOW_S, g.section);
    expect_text(&g, "warn drift: backend be is in haproxy.cfg, and not in what runs: HAProxy says: Can't");
}

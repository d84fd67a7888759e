/* cli/doctor/doctor_local_judge: what is wrong with the file, who may not replace it, what HAProxy says of it. */
#include <errno.h>

#include "haproxy/local/helper.h"

#include "doctor_local_world.h"

static void gone(struct world *w)
{
    put(&w->facts.file.real, NULL);
    w->facts.file.error = ENOENT;
    w->facts.check.asked = false;
}

static void a_link(struct world *w)
{
    put(&w->facts.file.link, "../real.cfg");
    put(&w->facts.file.real, "/etc/real.cfg");
}

static void a_folder(struct world *w)
{
    w->facts.file.is_regular = false;
    w->facts.check.asked = false;
}

STRIKE(too_large, w->facts.file.size = LOCAL_FILE_MAX_BYTES + 1)

static void closed(struct world *w)
{
    w->facts.file.read_error = EACCES;
    disown(&w->facts.file.owner, "root", "root", 0600, false, false);
}

static void folder_closed(struct world *w)
{
    w->facts.file.folder_error = EACCES;
    disown(&w->facts.file.folder_owner, "root", "root", 0755, false, false);
}

STRIKE(folder_read_only, w->facts.file.folder_error = EROFS)
STRIKE(folder_immutable, w->facts.file.folder_error = EPERM)
STRIKE(mounted, w->facts.file.is_mount = true)
STRIKE(immutable, w->facts.file.replace_error = EPERM)

static void sticky(struct world *w)
{
    w->facts.file.folder_is_sticky = true;
    disown(&w->facts.file.owner, "root", "haproxy", 0640, false, true);
}

static void sticky_and_over_it(struct world *w)
{
    sticky(w);
    w->facts.self.is_over_stickies = w->facts.self.may_give_files = true;
}

STRIKE(of_root, disown(&w->facts.file.owner, "root", "haproxy", 0660, false, true))

static void of_root_for_root(struct world *w)
{
    of_root(w);
    w->facts.self.may_give_files = true;
}

STRIKE(of_a_strange_group, disown(&w->facts.file.owner, "sync", "proxies", 0660, true, false))

static void locked(struct world *w)
{
    w->facts.file.lock_held = true;
    w->facts.file.lock_pid = 4711;
}

STRIKE(lock_closed, w->facts.file.lock_error = EACCES)

static void no_program(struct world *w)
{
    put(&w->facts.program, NULL);
    w->facts.check.asked = false;
}

STRIKE(no_haproxy, put(&w->facts.version.out, "GNU bash, version 5.2.15\n"))
STRIKE(too_old, put(&w->facts.version.out, "HA-Proxy version 2.2.9-2+deb11u6 2023/12/14 - https://haproxy.org/\n"))

static void refused(struct world *w)
{
    w->facts.check.refused = true;
    put(&w->facts.check.out,
        "[NOTICE] (1) : x\n[ALERT] (1) : config : parsing [" FILE_PATH ":7] : unknown keyword 'bogus'\n"
        "[ALERT] (1) : config : Fatal errors found in configuration.\n");
}

static void another_file(struct world *w)
{
    refused(w);
    w->names[0] = (char *)(uintptr_t) "/etc/haproxy/static.cfg";
    w->settings.local.check_files.list = w->names;
    w->settings.local.check_files.count = 1;
}

STRIKE(hangs, put(&w->facts.check.problem, "still running after 30 s"))

/* Its bytes are never written in place. */
STRIKE(only_readable, w->facts.file.replace_error = EACCES)
STRIKE(sticky_and_its_own, w->facts.file.folder_is_sticky = true)

static void among_the_files(struct world *w)
{
    another_file(w);
    w->names[0] = (char *)(uintptr_t)FILE_PATH;
    w->names[1] = (char *)(uintptr_t) "/etc/haproxy/last.cfg";
    w->settings.local.check_files.count = 2;
}

static void uses(struct world *w, const char *name)
{
    struct local_global *g = &w->facts.global;
    g->variables = mem_resize(g->variables, g->variable_count + 1, sizeof(g->variables[0]));
    g->variables[g->variable_count++] = mem_strdup(name);
}

static void of_a_file(struct world *w)
{
    w->settings.local.environment_file = (char *)(uintptr_t) "/etc/default/haproxy";
    uses(w, "PROD");
    uses(w, "NOBODY_HAS_IT");
    uses(w, "HAPROXY_TCP_LOG_FMT");
}

static void of_another_file(struct world *w)
{
    of_a_file(w);
    uses(w, "SITE");
    uses(w, "ZONE");
    uses(w, "ONLY_THERE");
    uses(w, "HAPROXY_X");
}

static void unknown(struct world *w)
{
    w->facts.shows_environment = false;
    buf_clear(&w->facts.shown_environment);
    buf_add(&w->facts.shown_environment, "Permission denied\n");
    uses(w, "PROD");
    uses(w, "HAPROXY_LOCALPEER");
}

static void unknown_and_used(struct world *w)
{
    unknown(w);
    uses(w, "ZONE");
}

static void of_a_file_alone(struct world *w)
{
    unknown_and_used(w);
    of_a_file(w);
}

STRIKE(used, uses(w, "SITE"))
STRIKE(not_checked, buf_clear(&w->facts.environment))

static const struct wrong rows[] = {
    {NULL, "haproxy.config", CHECK_OK, SAYS("300 bytes, sync:haproxy, mode 0640")},
    {NULL, "haproxy.write", CHECK_OK, SAYS("user sync may replace it in /etc/haproxy; owner, group and mode are kept")},
    {NULL, "haproxy.lock", CHECK_OK, SAYS("no daemon manages this file now")},
    {NULL, "haproxy.program", CHECK_OK, SAYS("/usr/sbin/haproxy is HAProxy 2.8.5")},
    {NULL, "haproxy.check", CHECK_OK, SAYS("takes the file as it is, 12.3 ms")},
    {used, "haproxy.environment", CHECK_OK, SAYS("of haproxy -c: HAProxy's own (show env, by " STATS_PATH ")")},
    {not_checked, "haproxy.environment", CHECK_SKIP, SAYS("needs haproxy -c")},
    {of_a_file, "haproxy.environment", CHECK_OK, SAYS("of haproxy -c: that of /etc/default/haproxy")},
    {of_another_file, "haproxy.environment", CHECK_WARN,
     SAYS("that of /etc/default/haproxy; HAProxy has other values of SITE, ZONE, ONLY_THERE, HAPROXY_X\n",
          "HAPROXY_ENVIRONMENT_FILE=\n")},
    {unknown, "haproxy.environment", CHECK_OK, SAYS("of haproxy -c: none but PATH")},
    {unknown_and_used, "haproxy.environment", CHECK_WARN,
     SAYS("haproxy.cfg uses, and it has not ZONE", "HAPROXY_ENVIRONMENT_FILE=/etc/default/haproxy")},
    {of_a_file_alone, "haproxy.environment", CHECK_WARN,
     SAYS("it has not ZONE, NOBODY_HAS_IT", "add them to /etc/default/haproxy")},
    {gone, "haproxy.config", CHECK_FAIL, SAYS(FILE_PATH ": No such file", "create it")},
    {gone, "haproxy.write", CHECK_SKIP, SAYS("needs haproxy.cfg")},
    {gone, "haproxy.check", CHECK_SKIP, SAYS("needs haproxy.cfg")},
    {a_link, "haproxy.config", CHECK_OK, SAYS("a link to /etc/real.cfg, which is followed and stays: 300 bytes")},
    {a_folder, "haproxy.config", CHECK_FAIL, SAYS(FILE_PATH " is no file")},
    {a_folder, "haproxy.write", CHECK_SKIP, SAYS("needs haproxy.cfg")},
    {too_large, "haproxy.config", CHECK_FAIL, SAYS("67108865 bytes; at most 67108864 are supported")},
    {closed, "haproxy.config", CHECK_FAIL,
     SAYS("user sync may not read " FILE_PATH " (root:root, mode 0600)", "chown sync ")},
    {folder_closed, "haproxy.write", CHECK_FAIL,
     SAYS("user sync may not make a file in /etc/haproxy (root:root, mode 0755)",
          "chgrp sync /etc/haproxy\nchmod g+wx ")},
    {folder_read_only, "haproxy.write", CHECK_FAIL,
     SAYS("is read-only", "[Service]\nReadWritePaths=/etc/haproxy", "ConfigMap")},
    {folder_immutable, "haproxy.write", CHECK_FAIL, SAYS("/etc/haproxy has the attribute", "chattr -i /etc/haproxy\n")},
    {mounted, "haproxy.write", CHECK_FAIL, SAYS(FILE_PATH " is mounted by itself", "mount the folder")},
    {immutable, "haproxy.write", CHECK_FAIL, SAYS(FILE_PATH " has the attribute", "chattr -i " FILE_PATH)},
    {sticky, "haproxy.write", CHECK_FAIL, SAYS("/etc/haproxy is sticky", "belongs to root", "chmod -t /etc/haproxy")},
    {sticky_and_over_it, "haproxy.write", CHECK_OK, SAYS("may replace it")},
    {of_root, "haproxy.write", CHECK_FAIL, SAYS("belongs to user root", "chown sync " FILE_PATH)},
    {of_root_for_root, "haproxy.write", CHECK_OK, SAYS("may replace it")},
    {of_a_strange_group, "haproxy.write", CHECK_FAIL,
     SAYS("is of group proxies, which user sync is not in", "SupplementaryGroups=proxies", "chgrp sync ")},
    {locked, "haproxy.lock", CHECK_OK, SAYS("process 4711 manages this file; a second daemon would wait")},
    {lock_closed, "haproxy.lock", CHECK_FAIL, SAYS("cannot open the lock /etc/haproxy/.haproxy.cfg.lock", "rm /etc/")},
    {no_program, "haproxy.program", CHECK_FAIL,
     SAYS("haproxy: no such program that user sync may run", "HAPROXY_BIN=")},
    {no_program, "haproxy.check", CHECK_SKIP, SAYS("needs HAPROXY_BIN")},
    {no_haproxy, "haproxy.program", CHECK_FAIL, SAYS("/usr/sbin/haproxy -v does not answer as a HAProxy does")},
    {too_old, "haproxy.program", CHECK_FAIL, SAYS("is HAProxy 2.2.9-2+deb11u6; 2.6 or later is needed", "upgrade")},
    {refused, "haproxy.check", CHECK_FAIL,
     SAYS("refuses the file: line 7: unknown keyword 'bogus'", "as user sync", "/usr/sbin/haproxy -c -f " FILE_PATH)},
    {another_file, "haproxy.check", CHECK_FAIL, SAYS("-c -f /etc/haproxy/static.cfg -f " FILE_PATH "\n")},
    {hangs, "haproxy.check", CHECK_FAIL, SAYS("still running after 30 s", "until this works, none is written")},
    {only_readable, "haproxy.write", CHECK_OK, SAYS("may replace it")},
    {sticky_and_its_own, "haproxy.write", CHECK_OK, SAYS("may replace it")},
    {among_the_files, "haproxy.check", CHECK_FAIL, SAYS("-c -f " FILE_PATH " -f /etc/haproxy/last.cfg\n")},
};

TEST_EACH(what_is_wrong, array_len(rows))
{
    expect_wrong(&rows[_i]);
}

TEST(versions)
{
    static const struct {
        const char *said, *text;
        bool old;
    } said[] = {
        {"HAProxy version 2.6.12-1+deb12u4 2026/10/17 - https://haproxy.org/\n", "2.6.12-1+deb12u4", false},
        {"HAProxy version 3.5-dev1-a 2026", "3.5-dev1-a", false},
        {"HAProxy version 1.10.0", "1.10.0", true},
        {"HAProxy version 10.0.0", "10.0.0", false},
        {"HAProxy version ", NULL, false},
        {"HAProxy version x.y", NULL, false},
        {"", NULL, false},
    };
    for (size_t i = 0; i < array_len(said); i++) {
        struct local_version v = {0};
        ck_assert_int_eq(local_version_read(said[i].said, &v), said[i].text != NULL);
        if (said[i].text != NULL)
            ck_assert_str_eq(v.text, said[i].text);
        ck_assert(said[i].text == NULL || local_version_is_old(&v) == said[i].old);
    }
}

TEST(variables)
{
    static const char text[] =
        "global\n  setenv OWN 1\n  presetenv MORE \"$ONE\"\n.if defined(TWO) # $NO\n.elif streq(\"$OWN\",1) && "
        "defined(THREE)\n.endif\nfrontend f # \"$NO\"\n  bind \":${FOUR}\" crt \"$ONE.pem\" defined(NO)\n"
        "  log-format \"%ci '$FIVE' \\$NO ${.LINE}$\" '$NO' $NO \"${SIX-a} $MORE\"\n";
    cleanup(local_facts_fini) struct local_facts f = {0};
    cleanup(buf_fini) struct buf names = {0};
    local_global_read(text, strlen(text), &f.global);
    for (size_t i = 0; i < f.global.variable_count; i++)
        buf_printf(&names, " %s", f.global.variables[i]);
    ck_assert_str_eq(buf_str(&names), " ONE TWO SIX THREE FOUR FIVE");
}

TEST(global)
{
    static const char text[] = "stats socket /none\nglobal\n  chroot \"/var/lib/haproxy\" # jail\n  stats timeout 3s\n"
                               "  stats socket /run/a.sock mode 660\n  stats socket ipv4@127.0.0.1:99\n"
                               "defaults\n  chroot /no\n"
                               "global\n  stats socket unix@/run/b.sock level user\n  stats socket\n";
    cleanup(local_facts_fini) struct local_facts f = {0};
    local_global_read(text, strlen(text), &f.global);
    ck_assert_str_eq(f.global.chroot, "/var/lib/haproxy");
    ck_assert_uint_eq(f.global.socket_count, 2);
    ck_assert_str_eq(f.global.sockets[0], "/run/a.sock");
    ck_assert_str_eq(f.global.sockets[1], "/run/b.sock");
    ck_assert_uint_eq(f.global.variable_count, 0);
    cleanup(local_facts_fini) struct local_facts none = {0};
    local_global_read("frontend f\n  chroot /no\n", 24, &none.global);
    ck_assert(none.global.chroot == NULL && none.global.socket_count == 0);
}

/* cli/doctor_local/doctor_local_judge_service: how HAProxy was started, by whom, and what else runs beside it. */
#include "cli/doctor_local/doctor_local_gather.h"

#include "doctor_local_world.h"

#define MAIN(w) (&(w)->facts.instances[0])

static void reads_another(struct world *w)
{
    COMMAND_LINE(MAIN(w), LOCAL_FILE_OTHER, "-W", "-f", "/srv/haproxy.cfg");
    environment_file(w);
}

static void reads_more(struct world *w)
{
    COMMAND_LINE(MAIN(w), LOCAL_FILE_OTHER, "-W", "-f", "/etc/haproxy/a.cfg", "-f", FILE_PATH, "-f",
                 "/etc/haproxy/z.cfg");
}

STRIKE(two, COMMAND_LINE(add_instance(w, 80, true), LOCAL_FILE_OTHER, "-W", "-f", "/srv/other.cfg"))
STRIKE(two_with_the_file, COMMAND_LINE(add_instance(w, 80, true), LOCAL_FILE_OTHER, "-D", "-f", FILE_PATH))

static void two_and_none_is_ours(struct world *w)
{
    two(w);
    w->facts.has_processes = w->facts.has_info = false;
}

static void in_another_container(struct world *w)
{
    MAIN(w)->processes[0] = 1;
    MAIN(w)->processes[1] = 2;
}

STRIKE(no_systemd, w->facts.service.known = false)
STRIKE(no_service, w->facts.service.is_there = false)

static void not_by_systemd(struct world *w)
{
    w->facts.service.is_active = false;
    w->facts.service.main_pid = 0;
}

static void not_active(struct world *w)
{
    not_by_systemd(w);
    w->facts.has_info = w->facts.has_processes = false;
    local_facts_fini(&w->facts);
    w->facts.service = (struct local_service){.known = true, .is_there = true};
    COMMAND_LINE(&w->facts.service, LOCAL_FILE_OTHER, "-Ws", "-f", FILE_PATH, "-S", MASTER_PATH);
}

STRIKE(another_process, w->facts.service.main_pid = 33)
STRIKE(service_without_master,
       COMMAND_LINE(&w->facts.service, LOCAL_FILE_OTHER, "-D", "-f", FILE_PATH, "-S", MASTER_PATH))

static void service_without_socket(struct world *w)
{
    COMMAND_LINE(&w->facts.service, LOCAL_FILE_OTHER, "-Ws", "-f", FILE_PATH);
    put(&w->facts.service.extra_options, "-de");
    environment_file(w);
}

static void no_socket_is_set(struct world *w)
{
    service_without_socket(w);
    w->settings.local.master_socket = NULL;
}

static void service_with_another_file(struct world *w)
{
    COMMAND_LINE(&w->facts.service, LOCAL_FILE_OTHER, "-Ws", "-f", "/etc/haproxy/other.cfg", "-S", MASTER_PATH);
    environment_file(w);
}

STRIKE(chrooted, put(&w->facts.global.chroot, "/var/lib/haproxy"))

static void reads_one_unseen(struct world *w)
{
    COMMAND_LINE(MAIN(w), LOCAL_FILE_UNSEEN, "-W", "-f", "/srv/haproxy.cfg");
    w->facts.service.is_there = false;
}

static const struct wrong rows[] = {
    {NULL, "haproxy.files", CHECK_OK, SAYS("process 70 reads this file\n")},
    {NULL, "haproxy.instances", CHECK_OK, SAYS("process 70 is the only one here")},
    {NULL, "haproxy.service", CHECK_OK, SAYS("haproxy.service, process 70, master's socket " MASTER_PATH)},
    {reads_another, "haproxy.files", CHECK_FAIL,
     SAYS("process 70 reads /srv/haproxy.cfg, not " FILE_PATH, "is never read by that HAProxy",
          "HAPROXY_CONFIG_FILE=/srv/haproxy.cfg", "/etc/default/haproxy\nCONFIG=\"" FILE_PATH "\"")},
    {reads_more, "haproxy.files", CHECK_WARN,
     SAYS("process 70 reads /etc/haproxy/a.cfg, /etc/haproxy/z.cfg, too",
          "HAPROXY_CHECK_FILES=/etc/haproxy/a.cfg," FILE_PATH ",/etc/haproxy/z.cfg\n")},

    {two, "haproxy.instances", CHECK_OK, SAYS("2 run here; the one at the sockets is process 70")},
    {two_with_the_file, "haproxy.instances", CHECK_WARN,
     SAYS("process 80 reads the same file, and 70 is the one at the sockets")},
    {two_and_none_is_ours, "haproxy.instances", CHECK_WARN,
     SAYS("2 run here (processes 70, 80), and none of them is known")},
    {in_another_container, "haproxy.instances", CHECK_SKIP, SAYS("cannot be seen from here")},

    {no_systemd, "haproxy.service", CHECK_SKIP, SAYS("it is not here (no systemctl)")},
    {no_service, "haproxy.service", CHECK_OK, SAYS("there is no haproxy.service")},
    {not_by_systemd, "haproxy.service", CHECK_WARN,
     SAYS("is not active, though a HAProxy runs", "systemctl enable --now haproxy")},
    {not_active, "haproxy.service", CHECK_WARN,
     SAYS("haproxy.service is not active\n", "systemctl enable --now haproxy")},
    {another_process, "haproxy.service", CHECK_WARN,
     SAYS("haproxy.service is process 33, and another one is at the sockets")},
    {service_without_master, "haproxy.service", CHECK_WARN,
     SAYS("without a master (neither -W nor -Ws)", "global\n  master-worker")},
    {service_without_socket, "haproxy.service", CHECK_WARN,
     SAYS("without a socket for its master (-S)", "; EXTRAOPTS is -de", "EXTRAOPTS=\"-de -S " MASTER_PATH "\"")},
    {no_socket_is_set, "haproxy.service", CHECK_OK, SAYS("haproxy.service, process 70\n")},
    {service_with_another_file, "haproxy.service", CHECK_FAIL,
     SAYS("haproxy.service reads /etc/haproxy/other.cfg, not " FILE_PATH)},
    {chrooted, "haproxy.chroot", CHECK_OK, SAYS("/var/lib/haproxy: sockets, maps")},
    {reads_one_unseen, "haproxy.files", CHECK_WARN, SAYS("process 70 reads /srv/haproxy.cfg, not " FILE_PATH)},
};

TEST_EACH(what_is_wrong, array_len(rows))
{
    expect_wrong(&rows[_i], local_judge_service);
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
                               "global\n  master-worker\n  stats socket unix@/run/b.sock level user\n  stats socket\n";
    cleanup(local_facts_fini) struct local_facts f = {0};
    local_global_read(text, strlen(text), &f.global);
    ck_assert_str_eq(f.global.chroot, "/var/lib/haproxy");
    ck_assert(f.global.master_worker);
    ck_assert_uint_eq(f.global.socket_count, 2);
    ck_assert_str_eq(f.global.sockets[0], "/run/a.sock");
    ck_assert_str_eq(f.global.sockets[1], "/run/b.sock");
    ck_assert_uint_eq(f.global.variable_count, 0);
    cleanup(local_facts_fini) struct local_facts none = {0};
    local_global_read("frontend f\n  master-worker\n", 26, &none.global);
    ck_assert(!none.global.master_worker && none.global.chroot == NULL && none.global.socket_count == 0);
}

/* cli/doctor_local/doctor_local_command_line: what a HAProxy was started with. */
#include "cli/doctor_local/doctor_local_command_line.h"

#include "../test.h"

static const struct {
    const char *words[14];
    bool master, runs;
    const char *socket, *folder, *files;
} rows[] = {
    {{"-Ws", "-f", "/etc/haproxy/haproxy.cfg", "-p", "/run/haproxy.pid", "-S", "/run/haproxy-master.sock"},
     true,
     true,
     "/run/haproxy-master.sock",
     NULL,
     "/etc/haproxy/haproxy.cfg;"},
    /* What a master of HAProxy 3 makes of itself with a reload. */
    {{"-sf", "4863", "77", "-x", "sockpair@4", "-W", "-S", "/tmp/m.sock,level,admin", "-f", "a.cfg"},
     true,
     true,
     "/tmp/m.sock",
     NULL,
     "a.cfg;"},
    {{"-W", "-S", "unix@/tmp/m.sock,mode,660", "-C", "/srv", "-f", "static.cfg", "-f", "dynamic.cfg"},
     true,
     true,
     "/tmp/m.sock",
     "/srv",
     "static.cfg;dynamic.cfg;"},
    {{"-D", "-f", "a.cfg", "--", "b.cfg", "-c"}, false, true, NULL, NULL, "a.cfg;b.cfg;-c;"},
    {{"-c", "-f", "a.cfg"}, false, false, NULL, NULL, "a.cfg;"},
    {{"-vv"}, false, false, NULL, NULL, ""},
    {{"-de", "-m", "16", "-n", "100", "-N", "5", "-L", "lb", "-db", "-f", "a.cfg"}, false, true, NULL, NULL, "a.cfg;"},
    {{"-p", "-f", "a.cfg"}, false, true, NULL, NULL, ""},
    {{"-f"}, false, true, NULL, NULL, ""},
    {{"-S", "/a", "-S", "/b", "-C", "/c", "-C", "/d"}, false, true, "/b", "/d", ""},
    {{"", "-", "--"}, false, true, NULL, NULL, ""},
    {{NULL}, false, true, NULL, NULL, ""},
};

TEST_EACH(command_line, array_len(rows))
{
    size_t count = 0;
    while (rows[_i].words[count] != NULL)
        count++;
    cleanup(haproxy_command_line_fini) struct haproxy_command_line l;
    cleanup(buf_fini) struct buf files = {0};
    haproxy_command_line_read(&l, rows[_i].words, count);
    for (size_t i = 0; i < l.file_count; i++)
        buf_printf(&files, "%s;", l.files[i]);
    ck_assert_int_eq(l.master, rows[_i].master);
    ck_assert_int_eq(l.runs, rows[_i].runs);
    ck_assert_pstr_eq(l.socket, rows[_i].socket);
    ck_assert_pstr_eq(l.folder, rows[_i].folder);
    ck_assert_str_eq(buf_str(&files), rows[_i].files);
}

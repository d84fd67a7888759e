/* cli/doctor_local/doctor_local_systemd: from what `systemctl show haproxy.service` prints to HAProxy's command line. */
#include "cli/doctor_local/doctor_local_systemd.h"

#include "../test.h"

/* As systemd 252 prints it for Debian's unit, with a drop-in. */
#define EXEC(args)                                                                                                    \
    "ExecStart={ path=/usr/sbin/haproxy ; argv[]=/usr/sbin/haproxy " args " ; ignore_errors=no ; start_time=[n/a] ; " \
    "stop_time=[n/a] ; pid=0 ; code=(null) ; status=0/0 }\n"
#define DEBIAN EXEC("-Ws -f $CONFIG -p $PIDFILE $EXTRAOPTS")
#define SHOWN                                                                                                    \
    "MainPID=77\n" DEBIAN "Environment=CONFIG=/etc/haproxy/haproxy.cfg PIDFILE=/run/haproxy.pid \"EXTRAOPTS=-S " \
    "/run/haproxy-master.sock\" \"FOO=a\\\\b\" BAR='x y'\n"                                                      \
    "EnvironmentFiles=/etc/default/haproxy (ignore_errors=yes)\n"                                                \
    "EnvironmentFiles=/etc/sysconfig/haproxy (ignore_errors=no)\nLoadState=loaded\nActiveState=active\n"

TEST(properties)
{
    static const struct {
        const char *name;
        size_t n;
        const char *value;
    } rows[] = {{"MainPID", 0, "77"},         {"MainPID", 1, NULL}, {"LoadState", 0, "loaded"},
                {"ActiveState", 0, "active"}, {"Active", 0, NULL},  {"", 0, NULL}};
    for (size_t i = 0; i < array_len(rows); i++) {
        cleanup(mem_free_ptr) char *value = systemd_property(SHOWN, rows[i].name, rows[i].n);
        ck_assert_pstr_eq(value, rows[i].value);
    }
    cleanup(mem_free_ptr) char *first = systemd_environment_file(SHOWN, 0),
                               *second = systemd_environment_file(SHOWN, 1);
    ck_assert_str_eq(first, "/etc/default/haproxy");
    ck_assert_str_eq(second, "/etc/sysconfig/haproxy");
    ck_assert_ptr_null(systemd_environment_file(SHOWN, 2));
}

static const struct {
    const char *name, *files[3], *value;
} variables[] = {
    {"CONFIG", {NULL}, "/etc/haproxy/haproxy.cfg"},
    {"EXTRAOPTS", {NULL}, "-S /run/haproxy-master.sock"},
    {"FOO", {NULL}, "a\\b"},
    {"BAR", {NULL}, "x y"},
    {"CONF", {NULL}, NULL},
    {"CONFIG", {"CONFIG=/a\nCONFIG=/b\n"}, "/b"},
    {"CONFIG", {"CONFIG=/a", "CONFIG=/b"}, "/b"},
    {"CONFIG", {"CONFIG=/a", "#CONFIG=/b\n;CONFIG=/c\n # CONFIG=/d\n"}, "/a"},
    {"EXTRAOPTS", {"  EXTRAOPTS = \"-de -m 16\" \n"}, "-de -m 16"},
    {"EXTRAOPTS", {"EXTRAOPTS='-S \"x\"'\n"}, "-S \"x\""},
    {"EXTRAOPTS", {"EXTRAOPTS=-S /run/m.sock,mode,660  \r\n"}, "-S /run/m.sock,mode,660"},
    {"EXTRAOPTS", {"EXTRAOPTS=\n"}, ""},
    {"EXTRAOPTS", {"EXTRAOPTS\nXEXTRAOPTS=no\n=\n"}, "-S /run/haproxy-master.sock"},
};

TEST_EACH(variable, array_len(variables))
{
    size_t count = 0;
    while (variables[_i].files[count] != NULL)
        count++;
    cleanup(mem_free_ptr) char *value = systemd_variable(SHOWN, variables[_i].files, count, variables[_i].name);
    ck_assert_pstr_eq(value, variables[_i].value);
}

static const struct {
    const char *shown, *file, *words; /* NULL: there is no command */
} commands[] = {
    {SHOWN, "", "-Ws|-f|/etc/haproxy/haproxy.cfg|-p|/run/haproxy.pid|-S|/run/haproxy-master.sock|"},
    {SHOWN, "EXTRAOPTS=\"\"\n", "-Ws|-f|/etc/haproxy/haproxy.cfg|-p|/run/haproxy.pid|"},
    {SHOWN, "CONFIG=/a -f /b\n", "-Ws|-f|/a|-f|/b|-p|/run/haproxy.pid|-S|/run/haproxy-master.sock|"},
    {SHOWN, "EXTRAOPTS=\"-S '/run/x y'\"\n", "-Ws|-f|/etc/haproxy/haproxy.cfg|-p|/run/haproxy.pid|-S|/run/x y|"},
    {EXEC("-W -f ${CONFIG} -S ${DIR}/m.sock"), "DIR=/run/h\nCONFIG=/a b\n", "-W|-f|/a b|-S|/run/h/m.sock|"},
    {EXEC("-f ${NOBODY}x $NOBODY ${open $"), "", "-f|x|${open|$|"},
    {EXEC(""), "", ""},
    {"ExecStart=\n", "", NULL},
    {"ExecStart={ argv[]=x\n", "", NULL},
    {"", "", NULL},
};

TEST_EACH(command, array_len(commands))
{
    const char *files[] = {commands[_i].file};
    cleanup(buf_fini) struct buf text = {0};
    char **words = systemd_command(commands[_i].shown, files, 1);
    for (size_t i = 0; words != NULL && words[i] != NULL; i++)
        buf_printf(&text, "%s|", words[i]);
    ck_assert_int_eq(words == NULL, commands[_i].words == NULL);
    ck_assert_str_eq(buf_str(&text), commands[_i].words != NULL ? commands[_i].words : "");
    mem_wipe_free_list(words);
}

/* HAPROXY_CONFIG_FILE: a HAProxy on this machine, and what goes with it. */
#include "../settings_text.h"

#define SOURCE "CONFIG_SOURCE=file", "CONFIG_FILE=/etc/git/haproxy.cfg"
#define OWN "HAPROXY_CONFIG_FILE=/etc/haproxy/haproxy.cfg"
#define MASTER "HAPROXY_MASTER_SOCKET=/run/master.sock"

TEST(a_file_and_a_master_socket_are_enough)
{
    cleanup(parsed_fini) struct parsed p = parse(SOURCE, OWN, MASTER);
    assert_silent(&p);
    ck_assert_uint_eq(p.settings.dataplane_count, 0);
    ck_assert_uint_eq(settings_haproxy_count(&p.settings), 1);
    ck_assert_str_eq(settings_haproxy_name(&p.settings, 0), "/etc/haproxy/haproxy.cfg");
    ck_assert_str_eq(p.settings.local.program, "haproxy");
    ck_assert_ptr_null(p.settings.local.reload_command);
    ck_assert(p.settings.local.stats_socket == NULL && p.settings.local.check_files.count == 0);
    cleanup(mem_free_ptr) char *text = printed(&p.settings);
    ck_assert_ptr_nonnull(strstr(text, OWN "  # from the environment\n"));
    ck_assert_ptr_null(strstr(text, "http://haproxy:5555"));
}

/* Servers of a Service are written there as well, with a whole configuration or without. */
TEST(servers_alone_or_beside_a_configuration)
{
    cleanup(parsed_fini) struct parsed p = parse(OWN, MASTER, "HAPROXY_BACKEND_NAME=be");
    assert_silent(&p);
    ck_assert_uint_eq(p.settings.mapping_count, 1);
    cleanup(parsed_fini) struct parsed both = parse(SOURCE, OWN, MASTER, "HAPROXY_BACKEND_NAME=be");
    assert_silent(&both);
    ck_assert_uint_eq(both.settings.mapping_count, 1);
}

static void assert_folder(const struct parsed *p, enum settings_folder kind, const char *path)
{
    cleanup(mem_free_ptr) char *is = settings_local_folder(&p->settings.local, kind);
    ck_assert_str_eq(is, path);
}

/* Where the Data Plane API has them by default, so that one configuration serves both. */
TEST(files_are_beside_it_or_where_they_are_said_to_be)
{
    cleanup(parsed_fini) struct parsed p = parse(SOURCE, OWN, MASTER, "CONFIG_FILES_DIR=/etc/git/files");
    assert_silent(&p);
    assert_folder(&p, SETTINGS_FOLDER_MAPS, "/etc/haproxy/maps");
    assert_folder(&p, SETTINGS_FOLDER_FILES, "/etc/haproxy/general");
    cleanup(parsed_fini) struct parsed apart = parse(SOURCE, OWN, MASTER, "HAPROXY_STORAGE_DIR=/srv/h");
    assert_silent(&apart);
    assert_folder(&apart, SETTINGS_FOLDER_CERTS, "/srv/h/ssl");
    cleanup(parsed_fini) struct parsed top = parse(SOURCE, MASTER, "HAPROXY_CONFIG_FILE=/haproxy.cfg");
    assert_silent(&top);
    assert_folder(&top, SETTINGS_FOLDER_CERTS, "/ssl");
}

TEST(all_that_there_is)
{
    cleanup(parsed_fini) struct parsed p =
        parse(SOURCE, OWN, "HAPROXY_STATS_SOCKET=/run/stats", "HAPROXY_BIN=/opt/haproxy",
              "HAPROXY_RELOAD_COMMAND=systemctl reload haproxy",
              "HAPROXY_CHECK_FILES=/etc/a.cfg, /etc/haproxy/haproxy.cfg,/etc/b.cfg");
    assert_silent(&p);
    ck_assert_uint_eq(p.settings.local.check_files.count, 3);
    ck_assert_str_eq(p.settings.local.check_files.list[2], "/etc/b.cfg");
    ck_assert_str_eq(p.settings.local.reload_command, "systemctl reload haproxy");
}

TEST(without_it_there_are_data_plane_apis)
{
    cleanup(parsed_fini) struct parsed p = parse(LOGIN, SOURCE, "HAPROXY_DATAPLANE_URL=http://a:1,http://b:2");
    assert_silent(&p);
    ck_assert_uint_eq(settings_haproxy_count(&p.settings), 2);
    ck_assert_str_eq(settings_haproxy_name(&p.settings, 1), "http://b:2");
}

static const struct {
    const char *one, *two, *says;
} rows[] = {
    {MASTER, "HAPROXY_DATAPLANE_URL=http://a:1", "HAPROXY_CONFIG_FILE and HAPROXY_DATAPLANE_URL are both set"},
    {MASTER, "HAPROXY_STORAGE_DIR=maps", "it does not begin with '/'"},
    {MASTER, "CONFIG_FILES_DIR=/etc/haproxy", "files are put into /etc/haproxy/maps, which CONFIG_FILES_DIR has"},
    {"HAPROXY_CHECK_FILES=/etc/conf.d/a.cfg,/srv//ssl/./b.cfg", "HAPROXY_STORAGE_DIR=/srv",
     "files are put into /srv/ssl, the folder of /srv//ssl/./b.cfg, which HAPROXY_CHECK_FILES has"},
    {"HAPROXY_STORAGE_DIR=/srv/", "HAPROXY_CONFIG_FILE=/srv/./maps/haproxy.cfg",
     "files are put into /srv//maps, the folder of /srv/./maps/haproxy.cfg, which HAPROXY_CONFIG_FILE has"},
    {MASTER, "CONFIG_FILE=/etc/./haproxy//haproxy.cfg", "CONFIG_FILE and HAPROXY_CONFIG_FILE are the same file"},
    {"STATE_DIR=/s", "HAPROXY_STATS_SOCKET=/s", "needs HAPROXY_MASTER_SOCKET or HAPROXY_RELOAD_COMMAND"},
    {MASTER, "HAPROXY_CHECK_FILES=/a,/a", "HAPROXY_CHECK_FILES"},
    {MASTER, "HAPROXY_CHECK_FILES=a", "it does not begin with '/'"},
};

TEST_EACH(what_does_not_fit_is_an_error, array_len(rows))
{
    cleanup(parsed_fini) struct parsed p = parse(rows[_i].one, rows[_i].two, SOURCE, OWN);
    ck_assert_int_eq(p.rc, -1);
    assert_says(&p, rows[_i].says);
}

static const struct {
    const char *one, *two, *says;
} idle[] = {
    {OWN, "HAPROXY_DATAPLANE_USERNAME=u", "HAPROXY_DATAPLANE_USERNAME has no effect beside HAPROXY_CONFIG_FILE"},
    {"STATE_DIR=/s", "HAPROXY_BIN=/x", "HAPROXY_BIN has no effect without HAPROXY_CONFIG_FILE"},
    {"STATE_DIR=/s", "HAPROXY_STORAGE_DIR=/d", "HAPROXY_STORAGE_DIR has no effect without HAPROXY_CONFIG_FILE"},
    {"STATE_DIR=/s", "HAPROXY_RELOAD_COMMAND=x", "HAPROXY_RELOAD_COMMAND has no effect without HAPROXY_CONFIG_FILE"},
};

TEST_EACH(what_has_no_effect_is_said, array_len(idle))
{
    cleanup(parsed_fini) struct parsed p =
        parse(SOURCE, MASTER, "HAPROXY_DATAPLANE_PASSWORD=p", idle[_i].one, idle[_i].two);
    assert_says(&p, idle[_i].says);
}

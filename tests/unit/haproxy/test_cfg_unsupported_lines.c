/* src/haproxy/cfg/unsupported_lines: what of haproxy.cfg the API does not show, or would damage. */
#include <yyjson.h>

#include "haproxy/cfg/file.h"
#include "haproxy/dataplane/codec.h"
#include "haproxy/cfg/inherit.h"
#include "haproxy/cfg/unsupported_lines.h"

#include "base/shared_text.h"
#include "../test.h"

/* A file, what the API shows of backend "be" (servers by name and address 10.0.0.1:80, or as JSON), and what is found:
 * "line: part of the reason" lines, "" for nothing, "!" for an error with that text. */
static const struct {
    const char *file, *servers, *templates, *found;
} files[] = {
    {"backend be\n server a 10.0.0.1:80\n server b 10.0.0.1:80\n", "a b", "", ""},
    {"backend be from defs # why\r\n\tserver a 10.0.0.1:80 # first\r\n", "a", "", ""},
    {"backend be\nserver a 10.0.0.1:80", "a", "", ""},
    {"global\n log x\nbackend be\nbackend be2\n server x 1\nbackend b\n server y 1\n", "", "", ""},
    {"backend be2\n server x 1\nbackend be\n server a 10.0.0.1:80\nlisten be\n server z 1\n", "a", "", ""},
    {"backend \"be\"\n server a 10.0.0.1:80\n", "a", "", ""},
    {"backend be\n server a 10.0.0.1:80\npeers p\n server z 1\nring r\n server z 2\n", "a", "", ""},
    {"backend be\n server a 10.0.0.1:80\nring r\n server z 2\n", "a", "", ""},
    {"# _version=7\nbackend be\n server hidden 1\n", "", "", "3: server hidden is not shown"},
    /* another version: the API's view is another configuration */
    {"# _version=6\nbackend be\n server hidden 1\n", "x", "", ""},
    {"# _version=7\nbackend be\n server a 10.0.0.1:80 shiny 1\n", "a", "",
     "3: \"shiny\" is not known to the Data Plane API"},
    {"backend be\n server a 10.0.0.1:80 shiny\n", "", "",
     "2: server a is not shown by the Data Plane API: \"shiny\" is not known to the Data Plane API"},
    {"backend be\n server a 10.0.0.1:80\n", "a b", "", "1: shows server b"},
    {"backend be\n server a 10.0.0.1:80\n server a 10.0.0.1:80\n", "a", "", "3: line 2 has a server of that name"},
    {"backend be\n server a\n", "", "", "2: needs a name and an address"},
    {"backend be\n server \"a\" 10.0.0.1:80\n", "a", "", "2: name is quoted|1: shows server a"},
    {"backend be\n server a\\ b 10.0.0.1:80\n", "", "", "2: name is quoted"},
    {"backend be\n server a 10.0.0.1:80 cookie 'x\n", "a", "", "2: a quote does not end|1: shows server a"},
    {"backend be\n server a 10.0.0.1:80\n server a 10.0.0.1:80\n server a 10.0.0.1:80\n", "a b a a", "",
     "3: line 2 has|4: line 2 has|1: shows server b"},
    {".endif\nbackend be\n server a 10.0.0.1:80\n", "a", "", ""},
    {"backend be\n server a 10.0.0.1:80\nfrontend f\nbackend be\n server b 10.0.0.1:80\n", "a b", "",
     "4: line 1 begins a backend of that name"},
    {"backend be\n server a 10.0.0.1:80 # shiny \\\n # server b\n", "a", "", ""},
    /* templates are no servers, servers no templates */
    {"backend be\n server-template slot 3 10.0.0.1:80 check disabled\n", "", "slot", ""},
    {"backend be\n server-template slot 3 10.0.0.1:80 check shiny\n", "", "slot",
     "2: \"shiny\" is not known to the Data Plane API"},
    {"backend be\n server-template slot 3 10.0.0.1:80\n", "", "", "2: server-template slot is not shown"},
    {"backend be\n server-template slot 3 10.0.0.1:80 shiny\n", "", "",
     "2: server-template slot is not shown by the Data Plane API: \"shiny\" is not known"},
    {"backend be\n server-template slot 3\n", "", "slot", "2: needs a prefix, a range and an address"},
    {"backend be\n server slot1 10.0.0.1:80\n server-template slot 3 10.0.0.1\n", "slot1", "slot", ""},
    /* default-server: the backend's object below has inter and rise */
    {"backend be\n default-server inter 5s rise 2\n", "", "", ""},
    {"backend be\n default-server inter 5s\n default-server rise 2 inter 7s # twice\n", "", "", ""},
    {"backend be\n default-server inter 5s shiny 1\n", "", "", "2: \"shiny\" is not known to the Data Plane API"},
    {"backend be\n default-server fall 2\n", "", "", "2: does not show \"fall 2\""},
    {"backend be\n default-server error-limit 0\n", "", "", ""},
    {"backend be\n default-server inter \"5s\n", "", "", "2: a quote does not end"},
    /* no configuration */
    {"", "", "", "!has no section at all"},
    {"<html><body>502 Bad Gateway</body></html>", "", "", "!has no section at all: \"<html>"},
    {"# only a comment\n\n", "", "", "!has no section at all"},
    {"global\nbackend other\n server a 1\n", "", "", "!haproxy.cfg has none of that name"},
};

static void show_servers(struct backend *b, const char *names)
{
    char *copy = mem_strdup(names), *at = copy, *name;
    while ((name = strsep(&at, " ")) != NULL) {
        if (name[0] == '\0')
            continue;
        b->servers = mem_resize(b->servers, b->server_count + 1, sizeof(*b->servers));
        b->servers[b->server_count++] = (struct backend_server){
            .name = shared_text(name),
            .address = shared_text("10.0.0.1"),
            .port = 80,
            .json = shared_text_take(mem_printf("{\"name\":\"%s\",\"address\":\"10.0.0.1\",\"port\":80}", name))};
    }
    free(copy);
}

static struct backend b;
static struct error err;

static void setup(void)
{
    backend_init(&b);
    error_clear(&err);
}

static void teardown(void)
{
    backend_fini(&b);
}

FIXTURE(setup, teardown)

static void make_backend(const char *names, const char *template)
{
    b.name = mem_strdup("be");
    b.exists = true;
    b.version = 7;
    b.json = mem_strdup("{\"name\":\"be\",\"default_server\":{\"inter\":5000,\"rise\":2}}");
    show_servers(&b, names);
    if (template[0] != '\0') {
        b.templates = mem_array(1, sizeof(*b.templates));
        b.template_count = 1;
        b.templates[0] = (struct backend_template){.prefix = mem_strdup(template), .first = 1, .last = 3};
    }
}

static void check_found(const char *file, const char *found)
{
    char *copy = mem_strdup(found), *at = copy, *one;
    size_t i = 0;
    for (; (one = strsep(&at, "|")) != NULL; i++) {
        if (one[0] == '\0')
            break;
        char *reason;
        unsigned line = (unsigned)strtoul(one, &reason, 10);
        ck_assert_msg(i < b.unsupported_count, "%s: \"%s\" was not found", file, one);
        ck_assert_msg(b.unsupported[i].line == line && strstr(b.unsupported[i].reason, reason + 2) != NULL,
                      "%s: %u \"%s\": %s", file, b.unsupported[i].line, b.unsupported[i].text, b.unsupported[i].reason);
    }
    ck_assert_msg(b.unsupported_count == i, "%s: also %s", file,
                  b.unsupported_count > i ? b.unsupported[i].reason : "");
    free(copy);
}

static int find_unsupported(const char *text, size_t len)
{
    cleanup(cfg_file_fini) struct cfg_file f;
    return cfg_file_init(&f, text, len, &err) == 0 ? cfg_find_unsupported(&f, &b, &err) : -1;
}

TEST_EACH(unsupported_of_a_file, array_len(files))
{
    const char *found = files[_i].found, *file = files[_i].file;
    size_t len = strlen(file);
    cleanup(mem_free_ptr) char *exact = mem_alloc(len);
    memcpy(exact, file, len);
    make_backend(files[_i].servers, files[_i].templates);
    int status = find_unsupported(exact, len);
    if (found[0] == '!') {
        ck_assert_int_eq(status, -1);
        ck_assert_int_eq(err.kind, ERROR_INVALID);
        ck_assert_msg(strstr(err.message, found + 1) != NULL, "%s", err.message);
    } else {
        ck_assert_msg(status == 0, "%s", err.message);
        check_found(file, found);
        ck_assert_int_eq(find_unsupported(exact, len), 0); /* again: not added to the old ones */
        check_found(file, found);
    }
}

/* servers a, b and c, of which b says `enabled` and c `no-backup`; the lines that make the others disabled and backup. */
static const struct {
    const char *file;
    unsigned disabled, backup;
} inherits[] = {
    {"", 0, 0},
    {" default-server inter 5s\n", 0, 0},
    {" default-server disabled\n", 2, 0},
    {" default-server inter 5s backup rise 2\n", 0, 2},
    {" default-server disabled backup\n default-server enabled\n", 0, 2},
    {" default-server disabled backup\n default-server no-backup\n", 2, 0},
    {" default-server disabled enabled\n", 0, 0},
    /* an argument is no keyword, and another section's line none of this backend's */
    {" default-server cookie disabled init-state backup rise 2\n", 0, 0},
    {" default-server send-proxy-v2 disabled\n", 2, 0},
    {"!backend other\n default-server disabled backup\nbackend be\n", 0, 0},
    {"!backend be\nbackend other\n default-server disabled backup\n", 0, 0},
    {"!frontend f\n default-server disabled\nbackend be\n", 0, 0},
    /* by the defaults section above it, with or without a name, or the one that it is from */
    {"!defaults\n default-server disabled\n default-server backup\nbackend be\n", 2, 3},
    {"!defaults\n default-server disabled\nbackend be\n default-server enabled\n", 0, 0},
    {"!defaults\n default-server disabled\nfrontend f\nbackend other\n default-server enabled\nbackend be\n", 2, 0},
    {"!defaults\n default-server disabled\ndefaults\n default-server backup\nbackend be\n", 0, 4},
    {"!defaults\n default-server disabled\ndefaults x\nbackend be\n", 0, 0},
    {"!defaults x\n default-server disabled\nbackend be\n", 2, 0},
    {"!defaults x\n default-server disabled\ndefaults\nbackend be from x\n", 2, 0},
    {"!defaults x\n default-server disabled\ndefaults y from x\n default-server backup\ndefaults\nbackend be from y\n",
     2, 4},
    {"!defaults x\n default-server disabled\ndefaults from x\nbackend be\n", 2, 0},
    {"!defaults x\n default-server disabled\nbackend be from unknown\n", 0, 0},
    {"!backend be\ndefaults\n default-server disabled\n", 0, 0},
    /* another version: the API shows another configuration, but which servers serve has to be known */
    {"!# _version=6\nbackend be\n default-server disabled\n", 3, 0},
};

TEST_EACH(what_a_server_inherits, array_len(inherits))
{
    const char *file = inherits[_i].file;
    cleanup(mem_free_ptr) char *text =
        mem_printf("%s%s", file[0] == '!' ? "" : "backend be\n", file + (file[0] == '!'));
    make_backend("a b c", "");
    b.servers[1].enabled = b.servers[2].no_backup = true;
    ck_assert_msg(find_unsupported(text, strlen(text)) == 0, "%s", err.message);
    ck_assert_msg(b.disabled_line == inherits[_i].disabled && b.backup_line == inherits[_i].backup, "%s: %u, %u", text,
                  b.disabled_line, b.backup_line);
    for (size_t i = 0; i < b.server_count; i++) {
        ck_assert_int_eq(b.servers[i].default_disabled, b.disabled_line != 0);
        ck_assert_int_eq(b.servers[i].default_backup, b.backup_line != 0);
        ck_assert_int_eq(b.servers[i].maintenance, b.disabled_line != 0 && i != 1);
        ck_assert(!b.servers[i].backup); /* that is what the line itself says */
    }
}

#define STATES " load-server-state-from-file "

TEST(states_that_come_from_a_file)
{
    static const struct {
        const char *text;
        unsigned line, of_any;
    } rows[] = {
        {"global\n server-state-file /s\nbackend b\n", 0, 0},
        {"backend b\n" STATES "global\n", 2, 2},
        {"defaults\n" STATES "local\nbackend b\n", 2, 2},
        {"defaults\n" STATES "local\nbackend b\n" STATES "none\n", 0, 0},
        {"defaults d\n" STATES "local\ndefaults\nbackend b\n", 0, 0},
        {"backend b\n" STATES "none\n" STATES "global\nbackend c\n" STATES "local\n", 3, 3},
        {"listen c\n" STATES "local\nbackend b\n", 0, 2},
    };
    for (size_t i = 0; i < array_len(rows); i++) {
        cleanup(cfg_file_fini) struct cfg_file f = {0};
        ck_assert_int_eq(cfg_file_init(&f, rows[i].text, strlen(rows[i].text), &flaw), 0);
        ck_assert_msg(cfg_state_file_line(&f, "b") == rows[i].line && cfg_state_file_line(&f, NULL) == rows[i].of_any,
                      "%s", rows[i].text);
    }
    ck_assert_uint_eq(cfg_state_file_line(NULL, NULL), 0);
}

TEST(a_nul_is_no_configuration)
{
    make_backend("", "");
    ck_assert_int_eq(find_unsupported("backend be\n\0", 12), -1);
    ck_assert_ptr_nonnull(strstr(err.message, "NUL"));
}

TEST(without_an_object_of_the_backend_default_servers_are_only_read)
{
    const char *file = "backend be\n default-server inter 5s fall 2\n default-server shiny\n default-server\n";
    make_backend("", "");
    free(b.json);
    b.json = NULL;
    ck_assert_int_eq(find_unsupported(file, strlen(file)), 0);
    check_found(file, "3: \"shiny\" is not known to the Data Plane API");
    free(b.json);
    b.json = mem_strdup("{\"name\":\"be\"}"); /* 3.4 leaves out a line that it cannot read, good keywords and all */
    ck_assert_int_eq(find_unsupported(file, strlen(file)), 0);
    check_found(file,
                "2: default-server is not shown|3: default-server is not shown by the Data Plane API: \"shiny\" is not "
                "known to the Data Plane API");
}

TEST(what_only_the_api_has_is_told_apart_from_a_line)
{
    static const char file[] = "# _version=3\nbackend be\n  server hidden 10.0.0.1:1 check\n";
    b.name = mem_strdup("be");
    b.version = 3;
    b.servers = mem_array(1, sizeof(*b.servers));
    b.servers[b.server_count++] = (struct backend_server){.name = shared_text("ghost"), .weight = -1};
    ck_assert_int_eq(find_unsupported(file, strlen(file)), 0);
    ck_assert_uint_eq(b.unsupported_count, 2);
    ck_assert(!b.unsupported[0].only_shown && strstr(b.unsupported[0].text, "hidden") != NULL);
    ck_assert(b.unsupported[1].only_shown && strstr(b.unsupported[1].reason, "ghost") != NULL);
}

TEST(many_unsupported_and_long_lines_are_capped)
{
    cleanup(buf_fini) struct buf file = {0};
    make_backend("", "");
    buf_add(&file, "backend be\n");
    for (int i = 0; i < 1000; i++) {
        buf_printf(&file, "  server n%d 1 \x1b[31m cookie ", i);
        for (int k = 0; k < 100; k++)
            buf_add(&file, "\xc3\xa4xxxxxxxx");
        buf_add(&file, "  \n");
    }
    ck_assert_int_eq(find_unsupported(file.data, file.len), 0);
    ck_assert_uint_eq(b.unsupported_count, 64);
    ck_assert_uint_eq(strlen(b.unsupported[0].text), 203);
    ck_assert(str_has_prefix(b.unsupported[0].text, "server n0 1 [31m cookie") &&
              str_has_suffix(b.unsupported[0].text, "..."));
}

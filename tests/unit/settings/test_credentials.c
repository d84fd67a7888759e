#include "settings/parse.h"
#include "settings/settings.h"
#include "settings/environment.h"
#include "settings/table.h"

#include "../folder.h"

#define USER "HAPROXY_DATAPLANE_USERNAME="
#define PASSWORD "HAPROXY_DATAPLANE_PASSWORD="
#define TOKEN "HAPROXY_DATAPLANE_TOKEN="
#define URLS "HAPROXY_DATAPLANE_URL="

static char file[64];

static void set_up(void)
{
    folder_make();
    snprintf(file, sizeof(file), "%s/lines", folder);
    write_file(file, "");
}

struct parsed {
    struct settings settings;
    struct settings_findings report;
    char *text; /* all findings */
};

static void parsed_fini(struct parsed *p)
{
    settings_fini(&p->settings);
    settings_findings_fini(&p->report);
    free(p->text);
}

/* By URL and credentials file, which are parsed before them. */
static struct parsed parse_env(const char *const *env)
{
    const struct setting *url_row = SETTING(dataplanes), *path_row = SETTING(dataplane_credentials_file);
    struct parsed p = {0};
    const char *urls = environment_get((char *const *)env, url_row->name);
    const char *path = environment_get((char *const *)env, path_row->name);
    struct buf note = {0};
    if (urls == NULL || urls[0] != '\0')
        ck_assert_int_eq(url_row->type->parse(url_row, urls != NULL ? urls : "http://h:1", &p.settings, &note), 0);
    if (path != NULL)
        ck_assert_int_eq(path_row->type->parse(path_row, path, &p.settings, &note), 0);
    buf_fini(&note);
    credentials_parse((char *const *)env, &p.settings, &p.report);
    struct buf out = {0};
    for (size_t i = 0; i < p.report.count; i++)
        buf_printf(&out, "%s\n", p.report.list[i].text);
    p.text = buf_take(&out);
    ck_assert_msg(strstr(p.text, "hunter2") == NULL, "a secret is shown: %s", p.text);
    return p;
}

#define parse(...) parse_env((const char *[]){__VA_ARGS__, NULL})

/* errors and warnings expected, and a part of what is said. */
static const struct {
    const char *env[4];
    size_t errors, warnings;
    const char *says;
} rows[] = {
    {{USER "u", PASSWORD "hunter2"}, 0, 0, ""},
    {{TOKEN "hunter2"}, 0, 0, ""},
    {{NULL}, 0, 1, "without credentials"},
    {{USER "u"}, 1, 0, "HAPROXY_DATAPLANE_PASSWORD (or HAPROXY_DATAPLANE_PASSWORD_FILE) is not: expected both or none"},
    {{USER "u", PASSWORD ""}, 1, 0, "HAPROXY_DATAPLANE_PASSWORD (or HAPROXY_DATAPLANE_PASSWORD_FILE) is empty"},
    {{PASSWORD "hunter2"}, 1, 0, "HAPROXY_DATAPLANE_PASSWORD is set, but HAPROXY_DATAPLANE_USERNAME"},
    {{USER "u", PASSWORD "hunter2", TOKEN "hunter2"}, 1, 0, "HAPROXY_DATAPLANE_TOKEN is set beside"},
    {{PASSWORD "hunter2", TOKEN "hunter2"}, 1, 0, "HAPROXY_DATAPLANE_TOKEN is set beside"},
    {{TOKEN "hunter2", "HAPROXY_DATAPLANE_TOKEN_FILE=/x"}, 1, 0, "HAPROXY_DATAPLANE_TOKEN_FILE are both set"},
    {{USER "a:hunter2", PASSWORD "p"}, 1, 0, "a ':'"},
    {{USER "u", PASSWORD "hunter2\n"}, 0, 1, "HAPROXY_DATAPLANE_PASSWORD: ends with a line break"},
    {{USER "u", PASSWORD "hunter2\n\n"}, 1, 1, "control character"},
    {{USER "u", PASSWORD "hunter2\x01"}, 1, 0, "control character"},
    {{USER "u", PASSWORD " hunter2: \xc3\xa4\""}, 0, 0, ""},
    {{TOKEN "Bearer hunter2"}, 1, 0, "leave out the word Bearer"},
    {{TOKEN "hunter2 x"}, 1, 0, "a space"},
    {{"HAPROXY_DATAPLANE_TOKEN_FILE=hunter2"}, 1, 0, "which belongs in HAPROXY_DATAPLANE_TOKEN)"},
    {{"HAPROXY_DATAPLANE_TOKEN_FILE=/nowhere/token"},
     1,
     0,
     "HAPROXY_DATAPLANE_TOKEN_FILE: expected a readable file that holds it; /nowhere/token: No such file"},
    {{"HAPROXY_DATAPLANE_TOKEN_FILE=/dev/null"}, 1, 0, "/dev/null: is not a regular file"},
};

FIXTURE(set_up, folder_remove)

TEST_EACH(what_goes_together, array_len(rows))
{
    cleanup(parsed_fini) struct parsed p = parse_env(rows[_i].env);
    ck_assert_msg(p.report.error_count == rows[_i].errors && p.report.count == rows[_i].errors + rows[_i].warnings,
                  "%zu errors of %zu findings: %s", p.report.error_count, p.report.count, p.text);
    ck_assert_msg(strstr(p.text, rows[_i].says) != NULL, "expected \"%s\" in: %s", rows[_i].says, p.text);
}

/* As check-config does, which needs the rest, too. */
static char *printed(struct settings *c)
{
    struct buf out = {0};
    c->ingress_namespace = mem_strdup("n");
    c->ingress_service = mem_strdup("s");
    c->backend_name = mem_strdup("b");
    c->listen.host = mem_strdup("");
    settings_print(c, &out);
    return buf_take(&out);
}

TEST(files_are_read)
{
    char entry[128];
    snprintf(entry, sizeof(entry), "HAPROXY_DATAPLANE_PASSWORD_FILE=%s", file);
    write_file(file, "hunter2\n");
    cleanup(parsed_fini) struct parsed p = parse(USER "u", entry);
    ck_assert_uint_eq(p.report.count, 0);
    ck_assert_str_eq(p.settings.dataplanes[0].password.value, "hunter2");
    ck_assert_ptr_null(p.settings.dataplane_password.value); /* nobody would read it again */
    ck_assert_str_eq(p.settings.dataplane_password.path, file);
    ck_assert(setting_is_given(&p.settings, SETTING(dataplane_password)));
    cleanup(mem_free_ptr) char *text = printed(&p.settings);
    ck_assert_ptr_null(strstr(text, "hunter2"));
    char line[256];
    snprintf(line, sizeof(line), "HAPROXY_DATAPLANE_PASSWORD=***  # from the file %s\n", file);
    ck_assert_ptr_nonnull(strstr(text, line));
    ck_assert_ptr_nonnull(strstr(text, "HAPROXY_DATAPLANE_USERNAME=u  # from the environment\n"));
}

static const char ab[] = URLS "http://a:1,http://b:1";

#define LIST(...)   \
    {               \
        __VA_ARGS__ \
    }

/* The file's text, the environment beside it, errors and warnings, and parts of what is said; FILE stands for the file. */
static const struct {
    const char *lines;
    const char *env[4];
    size_t errors, warnings;
    const char *says[3];
} files[] = {
    {"http://a:1 u:hunter2\nhttp://b:1 Bearer hunter2\n", LIST(ab), 0, 0, LIST(NULL)},
    {"http://a:1 u:hunter2\n", LIST(ab, TOKEN "hunter2"), 0, 0, LIST(NULL)},
    {"http://a:1 u:hunter2\n", LIST(ab, USER "u", PASSWORD "hunter2"), 0, 0, LIST(NULL)},
    {"HTTP://A:1/ u:hunter2\n\nunix:///x Bearer hunter2", LIST(URLS "http://a:1,/x"), 0, 0, LIST(NULL)},
    {"http://a:1 u:hunter2", LIST(ab), 0, 1,
     LIST("FILE has no line for \"http://b:1\", and neither HAPROXY_DATAPLANE_USERNAME and HAPROXY_DATAPLANE_PASSWORD "
          "nor "
          "HAPROXY_DATAPLANE_TOKEN is set: the Data Plane API there gets requests without credentials")},
    {"http://a:1 u:hunter2", LIST(URLS "http://b:1,http://a:1,/x@y"), 0, 2,
     LIST("for \"http://b:1\", and", "for \"***@y\", and")},
    {"# nothing\n", LIST(URLS "http://a:1", TOKEN "hunter2"), 0, 1,
     LIST("FILE: the file has no line with credentials, so it has no effect")},
    /* Lines that are for nobody. */
    {"http://a:1 u:hunter2\nhttp://haproxy-z:5555 u:hunter2", LIST(URLS "http://a:1"), 0, 1,
     LIST("FILE, line 2: the line is not used: its URL \"http://haproxy-z:5555\" is not in HAPROXY_DATAPLANE_URL\n")},
    {"\nhttp://haproxi:5555 u:hunter2", LIST(URLS "http://haproxy-b:5555,http://haproxy:5555", TOKEN "t"), 0, 1,
     LIST("FILE, line 2: the line is not used: its URL \"http://haproxi:5555\" is not in HAPROXY_DATAPLANE_URL; did "
          "you "
          "mean \"http://haproxy:5555\"?\n")},
    /* One that has its line is not meant. */
    {"http://h1:5555 u:hunter2\nhttp://h3:5555 u:hunter2", LIST(URLS "http://h1:5555,http://other:5555", TOKEN "t"), 0,
     1, LIST("\"http://h3:5555\" is not in HAPROXY_DATAPLANE_URL\n")},
    {"unix:/run/a@b u:hunter2", LIST(URLS "http://a:1", TOKEN "t"), 0, 1, LIST("its URL \"***@b\" is not in")},
    {"http://b:1 u:hunter2", LIST(URLS), 0, 0, LIST(NULL)}, /* refused already */
    {"http://a:1 u: hunter2", LIST(URLS "http://a:1"), 0, 1,
     LIST("FILE, line 1: the password begins or ends with white space, which is part of it")},
    /* Lines that cannot be read. */
    {"http://a:1 u:hunter2\nhttp://b:1 hunter2\n# x\nadmin:hunter2", LIST(ab), 2, 0,
     LIST("FILE, line 2: expected URL user:password or URL Bearer TOKEN; there is no ':' between user name and "
          "password\n",
          "FILE, line 4: expected URL user:password or URL Bearer TOKEN; its first word is not the URL of a Data Plane "
          "API: it "
          "does not begin with a scheme")},
    {"1\n2\n3\n4\n5\n6\n7", LIST(ab), 6, 0,
     LIST("line 5: ", "FILE: expected lines URL user:password or URL Bearer TOKEN; 2 more")},
};

/* says with FILE replaced. */
static char *expected_text(const char *says)
{
    const char *at = strstr(says, "FILE");
    if (at != says)
        return mem_strdup(says);
    return mem_printf("HAPROXY_DATAPLANE_CREDENTIALS_FILE=\"%s\"%s", file, says + strlen("FILE"));
}

TEST_EACH(a_file_of_lines, array_len(files))
{
    char entry[128];
    snprintf(entry, sizeof(entry), "HAPROXY_DATAPLANE_CREDENTIALS_FILE=%s", file);
    write_file(file, files[_i].lines);
    const char *env[6] = {entry};
    for (size_t i = 0; i < array_len(files[_i].env) && files[_i].env[i] != NULL; i++)
        env[i + 1] = files[_i].env[i];
    cleanup(parsed_fini) struct parsed p = parse_env(env);
    ck_assert_msg(p.report.error_count == files[_i].errors && p.report.count == files[_i].errors + files[_i].warnings,
                  "%zu errors of %zu findings: %s", p.report.error_count, p.report.count, p.text);
    for (size_t i = 0; i < array_len(files[_i].says) && files[_i].says[i] != NULL; i++) {
        cleanup(mem_free_ptr) char *says = expected_text(files[_i].says[i]);
        ck_assert_msg(strstr(p.text, says) != NULL, "expected \"%s\" in: %s", says, p.text);
    }
}

TEST(a_line_goes_before_the_variables)
{
    char entry[128];
    snprintf(entry, sizeof(entry), "HAPROXY_DATAPLANE_CREDENTIALS_FILE=%s", file);
    write_file(file, "http://b:1 line:hunter2\nhttp://c:1 Bearer hunter2\n");
    cleanup(parsed_fini) struct parsed p =
        parse(entry, URLS "http://a:1,http://B:1,http://c:1", USER "variable", PASSWORD "hunter2");
    ck_assert_str_eq(p.text, "");
    struct settings_dataplane *d = p.settings.dataplanes;
    ck_assert_str_eq(d[0].username.value, "variable");
    ck_assert_str_eq(d[1].username.value, "line");
    ck_assert(!secret_is_set(&d[2].username) && !secret_is_set(&d[2].password));
    ck_assert(!secret_is_set(&d[0].token) && !secret_is_set(&d[1].token));
    ck_assert_str_eq(d[2].token.value, "hunter2");
    /* They follow the file from here on. */
    write_file(file, "http://b:1 Bearer hunter2\nhttp://c:1 new:hunter2\nhttp://a:1 new:hunter2");
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(secret_refresh(&d[i].username, true, NULL, NULL), 0);
        ck_assert_int_eq(secret_refresh(&d[i].token, true, NULL, NULL), 0);
    }
    ck_assert(!secret_is_set(&d[1].username) && secret_is_set(&d[1].token));
    ck_assert(secret_is_set(&d[2].username) && !secret_is_set(&d[2].token));
    /* As the pages say: who had no line at the start goes by the variables. */
    ck_assert_str_eq(d[0].username.value, "variable");
}

TEST(what_is_no_path_is_not_shown)
{
    static const char *const values[] = {"http://a:1 u:hunter2", "hunter2", "\"/hunter2\"", " /hunter2"};
    for (size_t i = 0; i < array_len(values); i++) {
        cleanup(mem_free_ptr) char *entry = mem_printf("HAPROXY_DATAPLANE_CREDENTIALS_FILE=%s", values[i]);
        cleanup(parsed_fini) struct parsed p = parse(entry);
        ck_assert_uint_eq(p.report.count, 1);
        ck_assert_str_eq(p.text,
                         "HAPROXY_DATAPLANE_CREDENTIALS_FILE: expected the path of a file, beginning with '/' or './' "
                         "(the value is not shown: it may be the content of that file)\n");
    }
}

TEST(a_file_that_cannot_be_read)
{
    static const char *const paths[][2] = {
        {"/nowhere/lines", "/nowhere/lines: No such file or directory\n"},
        {"/dev/null", "/dev/null: is not a regular file\n"},
    };
    for (size_t i = 0; i < array_len(paths); i++) {
        cleanup(mem_free_ptr) char *entry = mem_printf("HAPROXY_DATAPLANE_CREDENTIALS_FILE=%s", paths[i][0]);
        cleanup(mem_free_ptr) char *says = mem_printf(
            "HAPROXY_DATAPLANE_CREDENTIALS_FILE: expected a readable file with lines URL user:password or URL "
            "Bearer TOKEN; %s",
            paths[i][1]);
        cleanup(parsed_fini) struct parsed p = parse(entry);
        ck_assert_uint_eq(p.report.error_count, 1);
        ck_assert_str_eq(p.text, says);
    }
}

TEST(it_is_printed_where_credentials_come_from)
{
    char entry[128], lines[512];
    snprintf(entry, sizeof(entry), "HAPROXY_DATAPLANE_CREDENTIALS_FILE=%s", file);
    snprintf(lines, sizeof(lines),
             "# HAProxy http://a:1: user name admin, password *** by its line in %s\n"
             "# HAProxy unix:/b: token *** by its line in %s\n"
             "# HAProxy http://c:1: user name var, password *** by HAPROXY_DATAPLANE_USERNAME and _PASSWORD\n",
             file, file);
    write_file(file, "http://a:1 admin:hunter2\n/b Bearer hunter2");
    cleanup(parsed_fini) struct parsed p =
        parse(entry, URLS "http://a:1,/b,http://c:1", USER "var", PASSWORD "hunter2");
    cleanup(mem_free_ptr) char *text = printed(&p.settings);
    ck_assert_msg(strstr(text, lines) != NULL, "expected %s in: %s", lines, text);
    ck_assert_ptr_nonnull(strstr(text, "HAPROXY_DATAPLANE_URL=http://a:1,unix:/b,http://c:1  # "));
    ck_assert_ptr_nonnull(strstr(text, "HAPROXY_DATAPLANE_USERNAME=var  # from the environment\n"));
    ck_assert_ptr_nonnull(strstr(text, entry));
    ck_assert_ptr_null(strstr(text, "hunter2"));
    cleanup(parsed_fini) struct parsed all = parse(entry, URLS "http://a:1,/b", USER "var", PASSWORD "hunter2");
    cleanup(mem_free_ptr) char *unused = printed(&all.settings);
    ck_assert_ptr_nonnull(strstr(unused, "HAPROXY_DATAPLANE_USERNAME=var  # not used: each URL has its line in the "
                                         "credentials file\nHAPROXY_DATAPLANE_PASSWORD=***  # not used: "));
    ck_assert_ptr_nonnull(strstr(unused, "HAPROXY_DATAPLANE_TOKEN=  # default"));
    cleanup(parsed_fini) struct parsed none = parse(URLS "http://a:1");
    cleanup(mem_free_ptr) char *open = printed(&none.settings);
    ck_assert_ptr_nonnull(strstr(open, "# HAProxy http://a:1: no credentials\n"));
}

/* Each entry of the name, as /proc/PID/environ would show it; nothing else. */
TEST(environment_is_wiped)
{
    char password[] = "HAPROXY_DATAPLANE_PASSWORD=first", again[] = "HAPROXY_DATAPLANE_PASSWORD=second",
         token[] = "HAPROXY_DATAPLANE_TOKEN=third", path[] = "HAPROXY_DATAPLANE_PASSWORD_FILE=/path",
         empty[] = "HAPROXY_DATAPLANE_TOKEN=", url[] = "HAPROXY_DATAPLANE_URL=http://host:1";
    static const char wiped[sizeof("second")];
    char *const env[] = {password, again, token, path, empty, url, NULL};
    settings_wipe_environment(env);
    ck_assert_str_eq(password, "HAPROXY_DATAPLANE_PASSWORD=");
    ck_assert_mem_eq(password + strlen(password), wiped, sizeof("first"));
    ck_assert_mem_eq(again + strlen(again), wiped, sizeof("second"));
    ck_assert_mem_eq(token + strlen(token), wiped, sizeof("third"));
    ck_assert_str_eq(path, "HAPROXY_DATAPLANE_PASSWORD_FILE=/path");
    ck_assert_str_eq(url, "HAPROXY_DATAPLANE_URL=http://host:1");
}

/* src/haproxy/local/driver_store by the runtime: which commands a changed file becomes, what is made of their answers, and what stays
 * to be loaded. HAProxy's socket is played. */
#include "local_store.h"

#include <openssl/evp.h>

#include "../certs.h"
#include "haproxy/map_text.h"
#include "net/pem.h"

#define RULES 16
#define LOADED "show map\n"
#define LISTS "show acl\n"
#define HEAD "# id (file) description\n"

/* What HAProxy was sent, and what it says to a line that begins so; else it is silent, as after most commands. */
static struct {
    char told[1 << 20];
    size_t len;
    struct {
        char begin[128], answer[65536];
    } rules[RULES];
    size_t count;
} haproxy;
static struct event *haproxy_event;

static void haproxy_says(const char *begin, const char *format, ...) printf_like(2, 3);

static void haproxy_says(const char *begin, const char *format, ...)
{
    size_t i = 0;
    va_list ap;
    while (i < haproxy.count && !str_eq(haproxy.rules[i].begin, begin))
        i++;
    ck_assert_uint_lt(i, RULES);
    haproxy.count += i == haproxy.count;
    snprintf(haproxy.rules[i].begin, sizeof(haproxy.rules[i].begin), "%s", begin);
    va_start(ap, format);
    (void)vsnprintf(haproxy.rules[i].answer, sizeof(haproxy.rules[i].answer), format, ap);
    va_end(ap);
}

static const char *haproxy_answer(const char *command)
{
    for (size_t i = 0; i < haproxy.count; i++)
        if (str_has_prefix(command, haproxy.rules[i].begin))
            return haproxy.rules[i].answer;
    return "\n";
}

/* The helper is another process, and waits for us. */
static void haproxy_accept(evutil_socket_t fd, short what, void *arg)
{
    int c = accept(fd, NULL, NULL);
    char *command = haproxy.told + haproxy.len;
    for (ssize_t n; (n = read(c, haproxy.told + haproxy.len, sizeof(haproxy.told) - 1 - haproxy.len)) > 0;)
        haproxy.len += (size_t)n;
    const char *answer = haproxy_answer(command);
    ck_assert_int_eq(write(c, answer, strlen(answer)), strlen(answer));
    close(c);
}

static void forget_told(void)
{
    memset(haproxy.told, 0, haproxy.len);
    haproxy.len = 0;
}

static void set_up_run(void)
{
    forget_told();
    haproxy.count = 0;
    set_up_folder();
    haproxy_event = event_new(base, unix_socket(stats, true), EV_READ | EV_PERSIST, haproxy_accept, NULL);
    event_add(haproxy_event, NULL);
    options.stats_socket = stats;
    begin();
}

static void tear_down_run(void)
{
    close(event_get_fd(haproxy_event));
    event_free(haproxy_event);
    tear_down_store();
}

/* What it was sent since the last time. */
static void assert_told(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    cleanup(mem_free_ptr) char *wanted = mem_vprintf(format, ap);
    va_end(ap);
    ck_assert_str_eq(haproxy.told, wanted);
    forget_told();
}

/* One that HAProxy has loaded, by that name. */
static void haproxy_has(const char *list, const char *path)
{
    haproxy_says(list, HEAD "0 (%s) pattern loaded from file '%s' used by map at file 'h.cfg' line 9. curr_ver=0\n\n",
                 path, path);
}

/* As it will be shown: "a 1\n" as "0x1 a 1\n". */
static void haproxy_shows(const char *path, const char *text)
{
    cleanup(map_entries_fini) struct map_entries m = {0};
    cleanup(buf_fini) struct buf shown = {0};
    cleanup(mem_free_ptr) char *command = mem_printf("show map %s\n", path);
    map_entries_read(&m, text);
    for (size_t i = 0; i < m.count; i++)
        buf_printf(&shown, "0x%zx %.*s %.*s\n", i + 1, (int)m.list[i].key_len, m.list[i].key, (int)m.list[i].value_len,
                   m.list[i].value);
    buf_add(&shown, "\n");
    haproxy_says(command, "%s", buf_str(&shown));
}

static void change_to(enum storage_kind kind, const char *name, const char *bytes)
{
    want_only(kind, name, bytes);
    must(STORAGE_ADD);
    if (last.news.unfinished)
        must(STORAGE_FINAL);
    forget_told();
}

/* hosts.map runs with "a 1", and is to have "a 2"; HAProxy does what it is sent. */
static char *a_map_that_changes(void)
{
    char *path = path_of(maps, "hosts.map");
    want(STORAGE_MAP, "hosts.map", "a 1\n");
    loaded();
    haproxy_has(LOADED, path);
    haproxy_says(LISTS, HEAD "\n");
    haproxy_says("prepare map", "New version created: 7\n\n");
    haproxy_shows(path, "a 2\n");
    change_to(STORAGE_MAP, "hosts.map", "a 2\n");
    return path;
}

static void assert_runs(unsigned ran)
{
    must(STORAGE_RUN);
    ck_assert_msg(!last.news.changed && last.why == NULL, "%s", last.why);
    ck_assert_uint_eq(last.news.ran, ran);
}

static void assert_takes_reload(const char *why)
{
    must(STORAGE_RUN);
    ck_assert(last.news.changed);
    ck_assert_ptr_nonnull(last.why);
    ck_assert_msg(strstr(last.why, why) != NULL, "%s", last.why);
}

/* ---- maps ---- */

static void set_up_run(void), forget_pems(void);
FIXTURE(set_up_run, forget_pems)

TEST(a_map)
{
    cleanup(mem_free_ptr) char *path = a_map_that_changes();
    assert_runs(1);
    assert_told("show map\nshow acl\nprepare map %s\nadd map @7 %s <<\na 2\n\ncommit map @7 %s\nshow map %s\n", path,
                path, path, path);
    assert_runs(0); /* nothing is left to be sent */
    assert_told("");
    must(STORAGE_END);
    assert_list("maps hosts.map %s put\n", hash_of("a 2\n"));
}

/* What runs by now is what it goes back to. */
TEST(what_was_sent_is_good)
{
    cleanup(mem_free_ptr) char *path = a_map_that_changes();
    assert_runs(1);
    change_to(STORAGE_MAP, "hosts.map", "a 3\n");
    must(STORAGE_BACK);
    assert_at(maps, "hosts.map", "a 2\n");
    ck_assert(!last.news.changed);
}

TEST(a_map_without_entries)
{
    cleanup(mem_free_ptr) char *path = a_map_that_changes();
    change_to(STORAGE_MAP, "hosts.map", "# none\n");
    haproxy_shows(path, "");
    assert_runs(1);
    assert_told("show map\nshow acl\nprepare map %s\ncommit map @7 %s\nshow map %s\n", path, path, path);
}

/* HAProxy takes a key and its value for one where nothing is between them. */
TEST(entries_as_they_are_sent)
{
    static const char text[] = "# x\n b \tx  y \nc\n#d\n  #e f\r\n";
    cleanup(mem_free_ptr) char *path = a_map_that_changes();
    change_to(STORAGE_MAP, "hosts.map", text);
    haproxy_shows(path, text);
    assert_runs(1);
    ck_assert_ptr_nonnull(strstr(haproxy.told, " <<\nb x  y\nc \n#e f\n\ncommit map"));
}

TEST(a_big_map)
{
    cleanup(mem_free_ptr) char *path = a_map_that_changes();
    cleanup(buf_fini) struct buf text = {0}, shown = {0}, all = {0};
    for (int i = 0; i < 2500; i++)
        buf_printf(&text, "key%d value%d\n", i, i);
    change_to(STORAGE_MAP, "hosts.map", buf_str(&text));
    haproxy_shows(path, buf_str(&text));
    assert_runs(1);
    for (const char *at = haproxy.told; (at = strstr(at, " <<\n")) != NULL;) {
        const char *end = strstr(at, "\n\n");
        ck_assert_ptr_nonnull(end);
        at += strlen(" <<\n");
        ck_assert_int_lt(end - at, 9000);
        buf_addn(&all, at, (size_t)(end + 1 - at));
    }
    ck_assert_str_eq(buf_str(&all), buf_str(&text));
}

/* ---- a few entries of a map ---- */

#define FIVE "b 2\nc 3\nd 4\ne 5\nf 6\n"
#define SINGLE "show map\nshow acl\nset map %s a 2\nshow map %s\n"

static void looked_up_by(const char *converter)
{
    cleanup(mem_free_ptr) char *text = mem_printf(GOOD "  %s(maps/hosts.map)\n", converter);
    put(config, text, 0640);
    read_it();
    forget_told();
}

/* hosts.map runs with five more and "a 1", which is to be "a 2". */
static char *an_entry_that_changes(void)
{
    char *path = a_map_that_changes();
    looked_up_by("map");
    change_to(STORAGE_MAP, "hosts.map", "a 1\n" FIVE);
    must(STORAGE_END);
    haproxy_shows(path, FIVE "a 2\n");
    change_to(STORAGE_MAP, "hosts.map", "a 2\n" FIVE);
    return path;
}

TEST(an_entry)
{
    cleanup(mem_free_ptr) char *path = an_entry_that_changes();
    assert_runs(1);
    assert_told(SINGLE, path, path);
    change_to(STORAGE_MAP, "hosts.map", "# the same\na 2\n" FIVE);
    assert_runs(1);
    assert_told("show map\nshow acl\nshow map %s\n", path);
}

TEST(an_entry_of_a_map_in_whose_order_it_is_looked_up)
{
    cleanup(mem_free_ptr) char *path = an_entry_that_changes();
    looked_up_by("map_end");
    haproxy_shows(path, "a 2\n" FIVE);
    assert_runs(1);
    assert_told("show map\nshow acl\nprepare map %s\nadd map @7 %s <<\na 2\n" FIVE "\ncommit map @7 %s\nshow map %s\n",
                path, path, path, path);
}

TEST(an_entry_of_a_map_that_another_run_changed)
{
    cleanup(mem_free_ptr) char *path = an_entry_that_changes();
    begin_again();
    read_it();
    must(STORAGE_ADD);
    haproxy_shows(path, "a 2\n" FIVE);
    assert_runs(1);
    ck_assert_ptr_nonnull(strstr(haproxy.told, "commit map"));
}

/* By each of the two. */
TEST(an_entry_of_a_map_by_two_paths)
{
    cleanup(mem_free_ptr) char *path = an_entry_that_changes();
    haproxy_says(LOADED, HEAD "1 (%s) pattern x\n2 (maps/hosts.map) pattern x\n\n", path);
    haproxy_shows("maps/hosts.map", "a 2\n" FIVE);
    assert_runs(1);
    assert_told(SINGLE "set map maps/hosts.map a 2\nshow map maps/hosts.map\n", path, path);
}

/* All of it then, which may help; or not. */
static const struct {
    const char *to, *answer, *why; /* NULL: it runs */
    bool all;
} single_failures[] = {
    {"set map", "Entry not found.\n\n", NULL, true},
    {"set map", "", "closed the connection without an answer", false},
    {"set map", "\n\nEntry not found.\n\n", NULL, true},
    {"show map /", "0x1 a 2\n0x2 a 2\n\n", "HAProxy took it, and does not show it", true},
    {"show map /", "", "closed the connection without an answer", false},
    {"show map /", "Unknown map identifier.\n\n", "HAProxy says: ", false},
};

TEST_EACH(an_entry_that_fails, array_len(single_failures))
{
    const char *why = single_failures[_i].why;
    cleanup(mem_free_ptr) char *path = an_entry_that_changes();
    haproxy_shows(path, "a 2\n" FIVE);
    haproxy.count -= str_eq(single_failures[_i].to, "show map /");
    haproxy_says(single_failures[_i].to, "%s", single_failures[_i].answer);
    if (why == NULL)
        assert_runs(1);
    else
        assert_takes_reload(why);
    ck_assert_ptr_nonnull(strstr(haproxy.told, "set map"));
    ck_assert_int_eq(strstr(haproxy.told, "commit map") != NULL, single_failures[_i].all);
}

/* As many of them as a line takes. */
TEST(some_long_entries)
{
    cleanup(buf_fini) struct buf text = {0}, next = {0};
    cleanup(mem_free_ptr) char *path = an_entry_that_changes(), *value = mem_printf("%01500d", 1);
    assert_runs(1);
    for (int i = 0; i < 100; i++)
        buf_printf(&text, "key%d x\n", i);
    change_to(STORAGE_MAP, "hosts.map", buf_str(&text));
    must(STORAGE_END);
    buf_add(&next, buf_str(&text));
    for (int i = 0; i < 20; i++)
        buf_printf(&next, "more%d %s\n", i, value);
    haproxy_shows(path, buf_str(&next));
    change_to(STORAGE_MAP, "hosts.map", buf_str(&next));
    assert_runs(1);
    unsigned commands = 0, lines = 0;
    for (const char *at = haproxy.told; (at = strstr(at, "add map ")) != NULL; at++, commands++)
        lines += at[-1] == '\n';
    ck_assert_uint_eq(commands, 20);
    ck_assert_uint_eq(lines, 4);
}

/* ---- by which path HAProxy has it ---- */

static const struct {
    const char *loaded; /* behind the folder of all; '!': as it is */
    const char *why;    /* NULL: it is ours */
} paths[] = {
    {"/maps/hosts.map", NULL},
    {"!maps/hosts.map", NULL},
    {"!./maps/hosts.map", NULL},
    {"!hosts.map", "which may be it or another one"},
    {"!aps/hosts.map", "which may be it or another one"},
    {"!/maps/hosts.map", "which may be it or another one"},
    {"!/elsewhere/hosts.map", "HAProxy has loaded /elsewhere/hosts.map, which may be it or another one"},
    {"//maps/hosts.map", "which may be it or another one"},
    {"!my maps/hosts.map", "which may be it or another one"},
};

TEST_EACH(paths_of_a_map, array_len(paths))
{
    const char *path = paths[_i].loaded;
    cleanup(mem_free_ptr) char *ours = a_map_that_changes();
    cleanup(mem_free_ptr) char *is = mem_printf("%s%s", *path != '!' ? folder : "", path + (*path == '!'));
    haproxy_has(LOADED, is);
    haproxy_shows(is, "a 2\n");
    if (paths[_i].why == NULL)
        assert_runs(1);
    else
        assert_takes_reload(paths[_i].why);
    ck_assert(paths[_i].why != NULL || strstr(haproxy.told, "commit map") != NULL);
    ck_assert(paths[_i].why == NULL || strstr(haproxy.told, "prepare map") == NULL);
}

/* Which would be the end of a word of it. */
TEST(a_path_that_fits_into_no_command)
{
    free(maps);
    maps = in_folder("my maps");
    folders[0] = maps;
    begin_again();
    cleanup(mem_free_ptr) char *path = a_map_that_changes();
    assert_takes_reload("which may be it or another one");
    ck_assert_ptr_null(strstr(haproxy.told, "prepare map"));
}

TEST(a_map_beside_one_that_stays)
{
    cleanup(mem_free_ptr) char *path = a_map_that_changes(), *other = path_of(maps, "other.map");
    assert_runs(1);
    want(STORAGE_MAP, "other.map", "b 1\n");
    loaded();
    want_only(STORAGE_MAP, "hosts.map", "a 3\n");
    want(STORAGE_MAP, "other.map", "b 1\n");
    must(STORAGE_ADD);
    must(STORAGE_FINAL);
    haproxy_says(LOADED, HEAD "0 (%s) pattern x\n1 (%s) pattern x\n\n", path, other);
    haproxy_shows(path, "a 3\n");
    forget_told();
    assert_runs(1);
    ck_assert_ptr_null(strstr(haproxy.told, other));
}

TEST(a_map_by_two_paths)
{
    cleanup(mem_free_ptr) char *path = a_map_that_changes();
    haproxy_says(LOADED, HEAD "0 (/x/other.map) pattern x\n1 (%s) pattern x\n2 (maps/hosts.map) pattern x\n\n", path);
    haproxy_shows("maps/hosts.map", "a 2\n");
    assert_runs(1);
    ck_assert_ptr_nonnull(strstr(haproxy.told, "commit map @7 maps/hosts.map\nshow map maps/hosts.map\n"));
    ck_assert_ptr_null(strstr(haproxy.told, "other"));
    change_to(STORAGE_MAP, "hosts.map", "a 3\n");
    haproxy_shows(path, "a 3\n");
    assert_takes_reload("HAProxy took it, and does not show it"); /* the other one still has "a 2" */
}

/* In a file that HAProxy does not have loaded, or not as a map. */
static const struct {
    const char *config, *acls, *why;
} unloaded[] = {
    {GOOD, "", NULL},
    {GOOD "# maps/hosts.map\n", "", NULL},
    {GOOD "    # \n    log-format maps/hosts.map\n", "", "haproxy.cfg names it, and HAProxy does not have it loaded"},
    {GOOD, "3 (/x/hosts.map) pattern x\n", "HAProxy has it as a list for an ACL"},
};

TEST_EACH(a_map_that_is_not_loaded, array_len(unloaded))
{
    cleanup(mem_free_ptr) char *path = a_map_that_changes();
    haproxy_says(LOADED, HEAD "\n");
    haproxy_says(LISTS, HEAD "%s\n", unloaded[_i].acls);
    put(config, unloaded[_i].config, 0640);
    read_it();
    if (unloaded[_i].why == NULL)
        assert_runs(0);
    else
        assert_takes_reload(unloaded[_i].why);
}

/* What may go wrong, and what is sent last then. */
struct failure {
    const char *to, *answer, *why, *last;
};

static void assert_fails(const struct failure *f, const char *path)
{
    const char *name = strstr(f->last, "%s");
    cleanup(mem_free_ptr) char *wanted =
        mem_printf("%.*s%s", (int)strcspn(f->last, "%"), f->last, name != NULL ? path : "");
    haproxy_says(f->to, "%s", f->answer);
    assert_takes_reload(f->why);
    cleanup(mem_free_ptr) char *line = mem_printf("%s%s", wanted, name != NULL ? "\n" : "");
    ck_assert_msg(str_has_suffix(haproxy.told, line), "%s", haproxy.told);
    must(STORAGE_BACK); /* the reload failed, too */
    ck_assert(!last.news.changed);
}

static const struct failure failures[] = {
    {"show map\n", "Unknown command\n\n", "show map: HAProxy says: Unknown command", "show map\n"},
    {"show acl\n", "", "show acl: HAProxy closed the connection without an answer", "show acl\n"},
    {"prepare map", "Permission denied\n\n", "maps/hosts.map: HAProxy says: Permission denied", "prepare map %s\n"},
    {"prepare map", "\n", "maps/hosts.map: HAProxy says: nothing", "prepare map %s\n"},
    {"prepare map", "", "closed the connection without an answer", "prepare map %s\n"},
    {"add map", "Failed to add a key.\n\n", "maps/hosts.map: HAProxy says: Failed", "clear map @7 %s\n"},
    {"add map", "", "closed the connection without an answer", "clear map @7 %s\n"},
    {"commit map", "Version number out of range.\n\n", "HAProxy says: Version number", "clear map @7 %s\n"},
    {"commit map", "", "closed the connection without an answer", "clear map @7 %s\n"},
    {"show map /", "", "closed the connection without an answer", "show map %s\n"},
    {"show map /", "0x1 a 1\n\n", "maps/hosts.map: HAProxy took it, and does not show it", "show map %s\n"},
    {"show map /", "0x1 a 2\n0x2 a 3\n\n", "HAProxy took it, and does not show it", "show map %s\n"},
    {"show map /", "Unknown map identifier.\n\n", "HAProxy says: ", "show map %s\n"},
};

TEST_EACH(a_map_that_fails, array_len(failures))
{
    cleanup(mem_free_ptr) char *path = a_map_that_changes();
    haproxy.count -= str_eq(failures[_i].to, "show map /");
    assert_fails(&failures[_i], path);
    assert_at(maps, "hosts.map", "a 1\n");
}

/* The reload for the second one loads the first one again, and may fail: then both go back. */
TEST(all_or_nothing)
{
    cleanup(mem_free_ptr) char *path = a_map_that_changes();
    want(STORAGE_GENERAL, "x.http", "1");
    loaded();
    want_only(STORAGE_MAP, "hosts.map", "a 2\nb 2\n");
    want(STORAGE_GENERAL, "x.http", "2");
    must(STORAGE_ADD);
    haproxy_shows(path, "a 2\nb 2\n");
    assert_takes_reload("files/x.http: it is neither a map nor a certificate");
    ck_assert_ptr_nonnull(strstr(haproxy.told, "commit map"));
    must(STORAGE_BACK);
    assert_at(maps, "hosts.map", "a 2\n");
    assert_at(general, "x.http", "1");
}

/* Of a configuration that came to nothing. */
TEST(one_that_is_in_the_list_no_more)
{
    cleanup(mem_free_ptr) char *path = a_map_that_changes();
    assert_runs(1);
    want_only(STORAGE_MAP, "hosts.map", "a 3\n");
    want(STORAGE_MAP, "more.map", "a 1\n");
    must(STORAGE_ADD);
    change_to(STORAGE_MAP, "hosts.map", "a 3\n");
    haproxy_shows(path, "a 3\n");
    assert_takes_reload("a file that the configuration has no more was changed before");
}

TEST(without_a_socket)
{
    cleanup(mem_free_ptr) char *path = a_map_that_changes();
    end();
    options.stats_socket = NULL;
    begin();
    must(STORAGE_ADD);
    assert_takes_reload("there is no socket for runtime commands");
    assert_told("");
}

/* An earlier run did not come to its end: what HAProxy has is not known, and is sent again. */
TEST(of_an_earlier_run)
{
    cleanup(mem_free_ptr) char *path = a_map_that_changes();
    begin_again();
    must(STORAGE_ADD);
    ck_assert(last.news.changed);
    assert_runs(1);
    must(STORAGE_END);
    assert_list("maps hosts.map %s put\n", hash_of("a 2\n"));
}

/* The daemon ends, or asks for something else: what is under way is reported to nobody, and the next one begins anew. */
TEST(cancelled_on_the_way)
{
    cleanup(mem_free_ptr) char *path = a_map_that_changes();
    for (int steps = 0; steps < 12; steps++) {
        last.told = 0;
        driver->ops->store(driver, &(struct storage_request){.part = STORAGE_RUN, .files = &files});
        for (int i = 0; i < steps && last.told == 0; i++)
            event_base_loop(base, EVLOOP_ONCE);
        driver->ops->cancel(driver, false);
        ck_assert(last.told == 0 || !last.news.changed);
    }
    must(STORAGE_ADD);
    must(STORAGE_RUN);
    ck_assert(!last.news.changed);
}

/* ---- certificates ---- */

static char *pems[2];

/* site.pem runs with the first one and is to have the second. */
static char *a_certificate_that_changes(void)
{
    char *path = path_of(ssl_dir, "site.pem");
    for (size_t i = 0; i < array_len(pems); i++) {
        EVP_PKEY *key = EVP_EC_gen("P-256");
        cleanup(mem_free_ptr) char *cert = certs_cert_pem(key), *key_text = certs_key_pem(key, NULL);
        pems[i] = mem_join(cert, key_text);
        EVP_PKEY_free(key);
    }
    want(STORAGE_CERTIFICATE, "site.pem", pems[0]);
    loaded();
    haproxy_says("show ssl cert\n", "# filename\n%s\n\n", path);
    haproxy_says("show ssl ca-file\n", "# filename\n/x/ca.pem - 1 certificate(s)\n\n");
    haproxy_says("show ssl crl-file\n", "# filename\n\n");
    haproxy_says("set ssl cert", "Transaction created for certificate %s!\n\n", path);
    haproxy_says("commit ssl cert", "Committing %s.\nSuccess!\n\n", path);
    change_to(STORAGE_CERTIFICATE, "site.pem", pems[1]);
    return path;
}

static void certificate_shows(const char *pem, unsigned chain)
{
    const struct pem_identity i = pem_identify(pem);
    haproxy_says("show ssl cert /", "Filename: x\nSHA1 FingerPrint: %s\nSubject: /CN=x\n%s%s\n", i.sha1,
                 chain > 0 ? "Chain Subject: /CN=a\n" : "", chain > 1 ? "Chain Subject: /CN=b\n" : "");
}

TEST(a_certificate)
{
    cleanup(mem_free_ptr) char *path = a_certificate_that_changes();
    certificate_shows(pems[1], 0);
    assert_runs(1);
    assert_told("show ssl cert\nshow ssl ca-file\nshow ssl crl-file\nset ssl cert %s <<\n%s\ncommit ssl cert %s\n"
                "show ssl cert %s\n",
                path, pems[1], path, path);
    must(STORAGE_END);
    assert_list("ssl_certificates site.pem %s put\n", hash_of(pems[1]));
}

/* An empty line would end it. */
TEST(a_certificate_with_empty_lines)
{
    cleanup(mem_free_ptr) char *path = a_certificate_that_changes();
    cleanup(buf_fini) struct buf odd = {0};
    buf_add(&odd, "what\r\n\r\n");
    for (const char *c = pems[1]; *c != '\0'; c++)
        buf_add(&odd, *c == '\n' ? "\r\n" : (char[]){*c, '\0'});
    buf_add(&odd, "\n\n");
    change_to(STORAGE_CERTIFICATE, "site.pem", buf_str(&odd));
    certificate_shows(pems[1], 0);
    assert_runs(1);
    cleanup(mem_free_ptr) char *wanted = mem_printf(" <<\nwhat\n%s\ncommit ssl cert ", pems[1]);
    ck_assert_ptr_nonnull(strstr(haproxy.told, wanted));
}

/* Of one with another one behind it, and of one alone. */
static const struct {
    bool chain, old;
    unsigned shown; /* behind the first one */
    bool runs;
} shows[] = {
    {true, false, 1, true},  {true, false, 0, false}, {true, false, 2, false},
    {true, true, 1, false},  {false, false, 0, true}, {false, false, 1, true}, /* HAProxy found that elsewhere */
    {false, true, 0, false},
};

TEST_EACH(what_a_certificate_shows, array_len(shows))
{
    cleanup(mem_free_ptr) char *path = a_certificate_that_changes();
    cleanup(mem_free_ptr) char *both = mem_join(pems[1], pems[0]);
    if (shows[_i].chain)
        change_to(STORAGE_CERTIFICATE, "site.pem", both);
    certificate_shows(pems[shows[_i].old ? 0 : 1], shows[_i].shown);
    if (shows[_i].runs)
        assert_runs(1);
    else
        assert_takes_reload("certs/site.pem: HAProxy took it, and does not show it");
}

static const struct failure certificate_failures[] = {
    {"show ssl cert\n", "Unknown command\n\n", "show ssl cert: HAProxy says: Unknown command", "show ssl cert\n"},
    {"show ssl ca-file\n", "# filename\n/x/site.pem - 1 certificate(s)\n\n",
     "certs/site.pem: HAProxy has it as a CA or CRL file, too", "show ssl crl-file\n"},
    {"show ssl crl-file\n", "# filename\n/x/site.pem\n\n", "certs/site.pem: HAProxy has it as a CA or CRL file, too",
     "show ssl crl-file\n"},
    {"show ssl cert\n", "# filename\n/x/site.pem\n\n", "which may be it or another one", "show ssl crl-file\n"},
    {"set ssl cert", "The ongoing transaction is about 'x' but you are trying to set 'y'\n\n",
     "certs/site.pem: HAProxy says: The ongoing transaction is about", "abort ssl cert %s\n"},
    {"set ssl cert", "", "closed the connection without an answer", "abort ssl cert %s\n"},
    {"commit ssl cert", "Committing x.\nFailed!\n\n", "HAProxy says: Committing", "abort ssl cert %s\n"},
    {"commit ssl cert", "", "closed the connection without an answer", "abort ssl cert %s\n"},
    {"show ssl cert /", "", "closed the connection without an answer", "show ssl cert %s\n"},
    {"show ssl cert /", "Can't display the certificate\n\n", "HAProxy says: Can't display", "show ssl cert %s\n"},
};

TEST_EACH(a_certificate_that_fails, array_len(certificate_failures))
{
    cleanup(mem_free_ptr) char *path = a_certificate_that_changes();
    assert_fails(&certificate_failures[_i], path);
    assert_at(ssl_dir, "site.pem", pems[0]);
}

TEST(a_certificate_that_is_too_long)
{
    cleanup(mem_free_ptr) char *path = a_certificate_that_changes();
    cleanup(buf_fini) struct buf text = {0};
    buf_add(&text, pems[1]);
    while (text.len < 15000)
        buf_add(&text, pems[0]);
    change_to(STORAGE_CERTIFICATE, "site.pem", buf_str(&text));
    assert_takes_reload("certs/site.pem: it is too long for a command");
    ck_assert_ptr_null(strstr(haproxy.told, "set ssl cert"));
}

/* Which a Data Plane API would not store as a certificate. */
TEST(a_certificate_in_the_general_folder)
{
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    cleanup(mem_free_ptr) char *cert = certs_cert_pem(key), *key_text = certs_key_pem(key, NULL);
    cleanup(mem_free_ptr) char *pem = mem_join(cert, key_text), *path = path_of(general, "ed.pem");
    EVP_PKEY_free(key);
    cleanup(mem_free_ptr) char *unused = a_certificate_that_changes();
    change_to(STORAGE_CERTIFICATE, "ed.pem", pem);
    must(STORAGE_END);
    cleanup(mem_free_ptr) char *next = mem_join(pem, "\n");
    change_to(STORAGE_CERTIFICATE, "ed.pem", next);
    haproxy_says("show ssl cert\n", "# filename\n%s\n\n", path);
    certificate_shows(pem, 0);
    assert_runs(1);
    ck_assert_ptr_nonnull(strstr(haproxy.told, path));
}

static void forget_pems(void)
{
    for (size_t i = 0; i < array_len(pems); i++)
        free(pems[i]);
    pems[0] = pems[1] = NULL;
    tear_down_run();
}

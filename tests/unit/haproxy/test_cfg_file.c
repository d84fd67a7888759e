/* src/haproxy/cfg/file: what of a haproxy.cfg a write would change in meaning. */
#include "haproxy/cfg/damage.h"

#include "../test.h"

/* Of its own, so that the sanitizer sees its end. */
static char *exactly(const char *text)
{
    char *copy = malloc(strlen(text) + (text[0] == '\0'));
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, text, strlen(text));
    return copy;
}

static void read_file(struct cfg_file *f, const char *text, size_t len)
{
    ck_assert_msg(cfg_file_init(f, text, len, &flaw) == 0, "%s: %s", flaw.message, text);
}

TEST(sections_and_their_lines)
{
    static const char text[] = "# a comment\n# _version=7\r\n.notice \"x\"\nglobal\n  log a # b\n\n"
                               "defaults from x\ndefaults d from 'e f' # c\n\tmode tcp\nlisten \"l\"";
    cleanup(cfg_file_fini) struct cfg_file f;
    cleanup(mem_free_ptr) char *copy = exactly(text);
    read_file(&f, copy, strlen(text));
    ck_assert_int_eq(f.version, 7);
    ck_assert_uint_eq(f.line_count, 7);
    ck_assert_uint_eq(f.section_count, 4);
    ck_assert_str_eq(f.sections[0].kind, "global");
    ck_assert_uint_eq(f.sections[0].line->number, 4);
    ck_assert_uint_eq(f.sections[0].line_count, 1);
    ck_assert_uint_eq(f.sections[0].lines[0].number, 5);
    ck_assert_str_eq(f.sections[1].name, "");
    ck_assert_str_eq(f.sections[1].from, "x");
    ck_assert_uint_eq(f.sections[1].line_count, 0);
    ck_assert_str_eq(f.sections[2].name, "d");
    ck_assert_str_eq(f.sections[2].from, "e f");
    ck_assert_uint_eq(f.sections[2].line_count, 1);
    ck_assert_str_eq(f.sections[3].name, "l");
    ck_assert_str_eq(f.sections[3].from, "");
    ck_assert_uint_eq(f.sections[3].line_count, 0);
}

/* haproxy -f first -f second -f third: as HAProxy 2.6 takes them. */
TEST(files_behind_one_another)
{
    static const char *const texts[] = {"defaults base\n  mode http\ndefaults\n  mode tcp\n", "backend a\n",
                                        "backend b\nbackend c from base\nbackend d from late\n"
                                        "defaults base\nbackend e\nbackend f from base\ndefaults late\n"};
    struct cfg_file f[3];
    for (size_t i = 0; i < 3; i++)
        cfg_file_parse_behind(&f[i], texts[i], strlen(texts[i]), i > 0 ? &f[i - 1] : NULL);
    ck_assert_ptr_eq(f[1].sections[0].defaults, &f[0].sections[1]);
    const struct cfg_file_section *third = f[2].sections;
    ck_assert_ptr_eq(third[0].defaults, &f[0].sections[1]);
    ck_assert_ptr_eq(third[1].defaults, &f[0].sections[0]);
    ck_assert_ptr_null(third[2].defaults);
    ck_assert_ptr_eq(third[4].defaults, &third[3]);
    ck_assert_ptr_eq(third[5].defaults, &third[3]);
    for (size_t i = 0; i < 3; i++)
        cfg_file_fini(&f[i]);
}

TEST(version_of_a_file)
{
    static const struct {
        const char *text;
        int64_t version;
    } rows[] = {{"", -1},
                {"# _version=1\n", 1},
                {"# _md5hash=ab\n# _version=42\r\nglobal\n# _version=7\n", 42},
                {"# _version=0\n", 0},
                {"# _version=\n", -1},
                {"# _version=x\n", -1},
                {"# _version=-1\n", -1},
                {"# _version=99999999999999999999\n", -1},
                {"# _version=9223372036854775807\n", INT64_MAX},
                {" # _version=1\n", -1},
                {"# _version=5 \n", 5}};
    for (size_t i = 0; i < array_len(rows); i++) {
        struct cfg_file f;
        cleanup(mem_free_ptr) char *text = mem_printf("%sglobal\n", rows[i].text);
        read_file(&f, text, strlen(text));
        ck_assert_msg(f.version == rows[i].version, "%s: %lld", rows[i].text, (long long)f.version);
        cfg_file_fini(&f);
    }
}

TEST(what_is_no_configuration)
{
    static const struct {
        const char *text;
        size_t len;
        const char *says;
    } rows[] = {{"", 0, "no section"}, {"<html>\n", 7, "<html>"}, {"global\n\0", 8, "NUL"}};
    for (size_t i = 0; i < array_len(rows); i++) {
        struct cfg_file f;
        ck_assert_int_eq(cfg_file_init(&f, rows[i].text, rows[i].len, &flaw), -1);
        ck_assert_int_eq(flaw.kind, ERROR_INVALID);
        ck_assert_msg(strstr(flaw.message, rows[i].says) != NULL, "%s", flaw.message);
        ck_assert_int_eq(f.version, -1);
        cfg_file_fini(&f);
    }
}

/* An answer of two bytes a line would fill the memory with what is kept of each. */
TEST(there_are_only_so_many_lines)
{
    static const size_t most = 1000000;
    struct cfg_file f;
    cleanup(buf_fini) struct buf text = {0};
    buf_add(&text, "global\n# a comment\n\n");
    for (size_t i = 1; i < most; i++)
        buf_add(&text, "a\n");
    ck_assert_int_eq(cfg_file_init(&f, text.data, text.len, &flaw), 0);
    ck_assert_uint_eq(f.line_count, most);
    cfg_file_fini(&f);
    buf_add(&text, "a\n");
    ck_assert_int_eq(cfg_file_init(&f, text.data, text.len, &flaw), -1);
    ck_assert_str_eq(flaw.message, "haproxy.cfg as the Data Plane API gives it has more than 1000000 lines");
    ck_assert_uint_eq(f.line_count, 0);
}

/* sure: what no write may touch; doubt: what the API's own reading decides. "": nothing. */
static const struct {
    const char *file, *sure, *doubt;
} examined[] = {
    {"global\ndefaults\n mode tcp\nfrontend f\nbackend b\n default-server check\n server a 1\n", "", ""},
    {"global\n.if defined(X)\n maxconn 1\n.endif\n", "lines 2, 4: a conditional", ""},
    {"global\n.notice \"x\"\n log .if\n # .if\n", "", ""},
    {"global\n.if a\n.elif b\n.else\n.endif\n.if c\n.endif\n", "lines 2, 3, 4, 5, 6 and 1 more: a conditional", ""},
    {"backend b\n.endif\n", "line 2: a conditional, whose branches would all become active: replace it", ""},
    {"backend b\n server a 1\n default-server check\n server c 1\n", "line 3: a default-server after a server", ""},
    {"listen b\n server-template a 1-2 1\n default-server check\n", "line 3: a default-server", ""},
    {"peers b\n peer a 1:1\n default-server ssl\n", "line 3: a default-server", ""},
    {"backend b\n default-server check\n default-server weight 1\n server a 1\nbackend c\n default-server check\n", "",
     ""},
    {"ring b\n server a 1\n default-server check\n", "", ""},
    {"backend b\n \"default-server\" check\n server a 1\n", "", ""},
    {"backend b\n server a 1\n \"default-server\" check\n", "line 3: a default-server", ""},
    {"backend b\n.if a\n server a 1\n.endif\n default-server check\n", "lines 2, 4: a conditional", ""},
    {"backend b\n.if a\n server a 1\n.endif\n default-server check\n", "; line 5: a default-server", ""},
    /* several defaults */
    {"defaults\n mode http\nfrontend f\ndefaults\n mode tcp\nbackend b\n", "", "line 3: a proxy without `from`"},
    {"defaults a\nfrontend f\nlisten l\nbackend b\ndefaults c\nbackend d\n", "", "lines 2, 3, 4: a proxy"},
    {"defaults a\nfrontend f from a\ndefaults c\nbackend d\n", "", ""},
    {"defaults\ndefaults\nfrontend f\nbackend d\n", "", ""},
    {"frontend f\ndefaults\nbackend d\n", "", "line 1: a proxy"},
    {"userlist u\ndefaults\npeers p\ndefaults\nbackend d\n", "", ""},
};

static void check_says(char *got, const char *part, const char *file)
{
    if (part[0] == '\0')
        ck_assert_msg(got == NULL, "%s: %s", file, got);
    else
        ck_assert_msg(got != NULL && strstr(got, part) != NULL, "%s: %s", file, got != NULL ? got : "nothing");
    free(got);
}

TEST_EACH(what_no_write_may_touch, array_len(examined))
{
    cleanup(cfg_file_fini) struct cfg_file f;
    cleanup(mem_free_ptr) char *copy = exactly(examined[_i].file);
    read_file(&f, copy, strlen(examined[_i].file));
    check_says(cfg_file_problem(&f), examined[_i].sure, examined[_i].file);
    check_says(cfg_file_defaults_problem(&f), examined[_i].doubt, examined[_i].file);
}

TEST(a_line_is_too_long_from_64_kib_on)
{
    for (size_t len = CFGFILE_LINE_MAX_BYTES - 1; len <= CFGFILE_LINE_MAX_BYTES; len++) {
        cleanup(buf_fini) struct buf text = {0};
        struct cfg_file f;
        buf_add(&text, "global\n# short\n#");
        for (size_t i = 1; i < len; i++)
            buf_add(&text, "x");
        buf_add(&text, "\nbackend b\n");
        read_file(&f, text.data, text.len);
        check_says(cfg_file_problem(&f), len < CFGFILE_LINE_MAX_BYTES ? "" : "line 3: longer than 64 KiB", "long");
        cfg_file_fini(&f);
    }
}

static char *compare(const char *before, const char *after, const struct cfg_file_managed *ours)
{
    struct cfg_file a, b;
    char *was = exactly(before), *is = exactly(after);
    read_file(&a, was, strlen(before));
    read_file(&b, is, strlen(after));
    char *problem = cfg_file_compare(&a, &b, ours);
    cfg_file_fini(&a);
    cfg_file_fini(&b);
    free(was);
    free(is);
    return problem;
}

/* found: a part of what is said; "": the same meaning. */
static const struct {
    const char *before, *after, *found;
} compared[] = {
    /* harmless */
    {"global\n log a\n", "# _md5hash=1\n# _version=2\n\nglobal # x\n\tlog   a  # why\n", ""},
    {"backend b\nfrontend f\nglobal\n", "global\nfrontend f\nbackend b\n", ""},
    {"defaults\n mode tcp\nbackend b\n", "defaults unnamed_defaults_1\n mode tcp\nbackend b from unnamed_defaults_1\n",
     ""},
    {"defaults\n mode tcp\nbackend b\n", "defaults unnamed_defaults_1\n mode tcp\nbackend b\n", ""},
    {"defaults\n mode tcp\nbackend b\ndefaults\n mode http\nbackend c\n",
     "defaults unnamed_defaults_1\n mode tcp\ndefaults unnamed_defaults_2\n mode http\n"
     "backend b from unnamed_defaults_1\nbackend c from unnamed_defaults_2\n",
     ""},
    {"defaults d\nbackend b\n", "defaults d\nbackend b from d\n", ""},
    {"backend \"b\"\n log-tag 'a'\n", "backend b\n log-tag a\n", ""},
    {"backend b\n server a 1\n timeout server 1s\n mode tcp\n",
     "backend b\n mode tcp\n timeout server 1s\n server a 1\n", ""},
    {"frontend f\n http-request deny\n use_backend b\n acl a path /\n",
     "frontend f\n acl a path /\n http-request deny\n use_backend b\n", ""},
    {"frontend f\n tcp-request content accept\n tcp-request inspect-delay 1s\n",
     "frontend f\n tcp-request inspect-delay 1s\n tcp-request content accept\n", ""},
    {"backend b\n timeout server 1s\n timeout server 2s\n", "backend b\n timeout server 2s\n", ""},
    {"backend b\n timeout server 1s\n timeout server 2s\n", "backend b\n timeout server 1s\n timeout server 2s\n", ""},
    {"backend b\n timeout server 2s\n", "backend b\n timeout server 1s\n timeout server 2s\n", ""},
    {"backend b\n mode tcp\n balance first\n mode http\n balance random 2\n",
     "backend b\n mode http\n balance random 2\n", ""},
    {"frontend f\n default_backend a\n default_backend b\n", "frontend f\n default_backend b\n", ""},
    {"backend b\n cookie c insert indirect nocache\n", "backend b\n cookie c indirect nocache insert\n", ""},
    {"backend b\n stick-table type ip size 1m store gpc0 peers p\n",
     "backend b\n stick-table type ip size 1m peers p store gpc0\n", ""},
    {"backend b\n http-request deny deny_status 403 hdr a b if A\n",
     "backend b\n http-request deny hdr a b deny_status 403 if A\n", ""},
    {"backend b\n http-request deny status 403 hdr a b if { path / }\n",
     "backend b\n http-request deny deny_status 403 hdr a b if { path / }\n", ""},
    {"peers p\n server a\n server b 1:1\n", "peers p\n server b 1:1\n server a\n", ""},
    {"global\n thread-groups 1\nglobal\n thread-groups 1\n log a\n", "global\n thread-groups 1\n log a\n", ""},
    {"backend b\n log-tag \"$X\"\n", "backend b\n log-tag \"$X\"\n", ""},
    /* harmful */
    {"backend b\n", "global\n", "line 1 (backend b) would be lost"},
    {"global\n", "global\nbackend b\n", "(backend b) would be added"},
    {"backend b\n mode tcp\n", "backend b\n", "line 2 (\"mode tcp\" of backend b) would be lost or changed"},
    {"backend b\n", "backend b\n mode tcp\n", "(\"mode tcp\" of backend b) would be added"},
    {"backend b\n server a 1 check shiny\n", "backend b\n server a 1 check\n",
     "line 2 (\"server a\" of backend b) would be lost or changed"},
    {"frontend f\n http-request allow if A\n http-request deny\n",
     "frontend f\n http-request deny\n http-request allow if A\n",
     "line 2 (\"http-request allow\" of frontend f) would move behind what follows it now"},
    {"frontend f\n use_backend a if A\n use_backend b if A\n", "frontend f\n use_backend b if A\n use_backend a if A\n",
     "would move behind"},
    {"frontend f\n filter trace\n filter compression\n", "frontend f\n filter compression\n filter trace\n",
     "would move behind"},
    {"frontend f\n http-request deny\n", "frontend f\n http-request deny\n http-request deny\n",
     "(\"http-request deny\" of frontend f) would be added"},
    {"frontend f\n bind :1\n bind :1\n", "frontend f\n bind :1\n", "line 3 (\"bind :1\" of frontend f) would be lost"},
    {"defaults\n mode tcp\nbackend b\ndefaults\n mode http\nbackend c\n",
     "defaults unnamed_defaults_1\n mode tcp\ndefaults unnamed_defaults_2\n mode http\nbackend b\nbackend c\n",
     "line 3 (backend b) would inherit from defaults unnamed_defaults_2 instead of defaults unnamed_defaults_1"},
    {"backend b\ndefaults\n mode http\n", "defaults unnamed_defaults_1\n mode http\nbackend b\n",
     "line 1 (backend b) would inherit from defaults unnamed_defaults_1 instead of nothing"},
    {"defaults a from b\ndefaults b\n", "defaults b\ndefaults a\n", "line 1 (defaults a) would inherit from nothing"},
    {"defaults d\n mode tcp\nbackend a\ndefaults d\n mode http\nbackend c\n",
     "defaults d\n mode http\nbackend a\nbackend c\n", "line 1 (defaults d) would be there fewer times"},
    {"backend b\n.if x\n mode tcp\n.endif\n", "backend b\n mode tcp\n .if x\n .endif\n",
     ""}, /* the examination has it */
    {"backend b\n server a 1\n default-server check\n server c 1\n",
     "backend b\n default-server check\n server a 1\n server c 1\n",
     "line 2 (\"server a\" of backend b) would be lost or changed"},
    {"backend b\n option httpchk\n option tcp-check\n", "backend b\n option tcp-check\n option httpchk\n",
     "would move behind"},
    {"backend b\n option httplog\n option tcplog\n", "backend b\n option tcplog\n option httplog\n",
     "would move behind"},
    {"backend b\n timeout server 1s\n timeout server 2s\n", "backend b\n timeout server 1s\n",
     "line 3 (\"timeout server\""},
    {"backend b\n mode tcp\n mode http\n", "backend b\n mode tcp\n", "line 3 (\"mode http\""},
    {"global\n maxconn 1\n maxconn 2\n", "global\n maxconn 2\n", "line 2 (\"maxconn 1\""}, /* the first counts */
    {"backend b\n no option httpclose\n", "backend b\n option httpclose\n", "line 2 (\"no option\" of backend b)"},
    {"backend b\n log-tag \"$X\"\n", "backend b\n log-tag '$X'\n", "line 2"},
    {"backend b\n log-tag 'x\n", "backend b\n log-tag x\n", "line 2"},
    {"backend b\n http-request deny hdr a b if C D\n", "backend b\n http-request deny hdr a b if D C\n", "line 2"},
    {"backend b\n server a 1 ssl crt x crt y\n", "backend b\n server a 1 ssl crt y crt x\n", "line 2"},
    {"global\n setenv A 1\n presetenv A 2\n", "global\n presetenv A 2\n setenv A 1\n", "would move behind"},
    {"userlist u\n user admin insecure-password secret\n", "userlist u\n", "line 2 (\"user admin\" of userlist u)"},
    {"crt-store\n load crt a jwt on\n", "crt-store\n load crt a\n", "line 2 (\"load crt\" of crt-store)"},
    {"global\n a\n b\n c\n d\n e\n f\n g\n", "global\n", "; and 2 more"},
};

TEST_EACH(meanings, array_len(compared))
{
    check_says(compare(compared[_i].before, compared[_i].after, NULL), compared[_i].found, compared[_i].before);
}

TEST(no_secret_is_said)
{
    cleanup(mem_free_ptr) char *said =
        compare("userlist u\n user admin insecure-password sesame\nlisten l\n stats auth me:sesame\n"
                " dynamic-cookie-key sesame\nglobal\n cluster-secret sesame\n",
                "userlist u\nlisten l\nglobal\n", NULL);
    ck_assert_ptr_nonnull(said);
    ck_assert_ptr_nonnull(strstr(said, "user admin"));
    ck_assert_ptr_null(strstr(said, "insecure"));
    ck_assert_ptr_nonnull(strstr(said, "dynamic-cookie-key"));
    ck_assert_msg(strstr(said, "sesame") == NULL, "%s", said);
}

static bool is_server_of_b(const void *arg, const char *kind, const char *name, const char *first, const char *second)
{
    return str_eq(kind, "backend") && str_eq(name, "b") && str_eq(first, "server") && str_eq(second, arg);
}

TEST(lines_of_ours_may_differ)
{
    const struct cfg_file_managed n1 = {.is_ours = is_server_of_b, .arg = "n1"};
    check_says(compare("backend b\n server a 1\n", "backend b\n server a 1\n server n1 1\n", &n1), "", "added");
    check_says(compare("backend b\n server n1 1\n server a 1\n", "backend b\n server a 1\n", &n1), "", "removed");
    check_says(compare("backend b\n server n1 1\n", "backend b\n server n1 2\n", &n1), "", "changed");
    check_says(compare("backend b\n server n1 1\n server a 1\n", "backend b\n server n1 2\n server a 2\n", &n1),
               "line 3 (\"server a\"", "another");
    check_says(compare("backend c\n server n1 1\n", "backend c\n server n1 2\n", &n1), "line 2", "elsewhere");
}

/*
 * --help, config.example.env, docs/settings.md and the manual page come from one table (src/settings/table.c); this
 * holds the three files to it. To renew them after a change of the table: RENEW_SETTINGS_PAGES=1 build/unit/test_settings_pages
 */

#include "settings/parse.h"
#include "settings/settings.h"
#include "settings/table.h"
#include "settings/types.h"

#include "../test.h"

#define PAGE_WIDTH 110
#define MANUAL_WIDTH 79 /* what mandoc -T lint takes for a line that a person can read */

static const char example_head[] =
    "# Settings of haproxy-k8s-sync, for `docker run --env-file` or EnvironmentFile= of systemd: no quotes, no spaces\n"
    "# around '='. Lines that are commented out show the default or, where there is none, an example.\n"
    "# Generated from the table in src/settings/table.c; `make test` compares them.\n";

/* How text stands on a page. mdoc(7): each sentence begins on a line of its own, as its linters want it. */
struct layout {
    const char *prefix;
    size_t width;
    bool mdoc;
};

/* Breaks text between words so that lines, with the prefix in front, stay within the page. */
static void pages_add_wrapped(struct buf *out, const struct layout *l, const char *text)
{
    size_t column = 0;
    bool ended = false;
    for (const char *word = text; *word != '\0'; word += strspn(word, " ")) {
        size_t len = strcspn(word, " ");
        if (column == 0 || ended || column + 1 + len > l->width) {
            buf_printf(out, "%s%s", column == 0 ? "" : "\n", l->prefix);
            if (l->mdoc && (*word == '.' || *word == '\''))
                buf_add(out, "\\&"); /* at the start of a line they would begin a macro */
            column = strlen(l->prefix);
        } else {
            buf_add(out, " ");
            column++;
        }
        for (size_t i = 0; i < len; i++)
            buf_addn(out, l->mdoc && word[i] == '\\' ? "\\e" : word + i, l->mdoc && word[i] == '\\' ? 2 : 1);
        column += len;
        word += len;
        ended = l->mdoc && strchr(".?!", word[-1]) != NULL;
    }
    buf_add(out, "\n");
}

/* "word: text", as a line of its own in the paragraph. */
static void pages_add_remark(struct buf *out, const struct layout *l, const char *word, const char *text)
{
    cleanup(mem_free_ptr) char *line = mem_printf("%s: %s%s", word, text, l->mdoc ? "." : "");
    buf_add(out, l->mdoc ? ".br\n" : "");
    pages_add_wrapped(out, l, line);
}

static void pages_add_alias(struct buf *out, const struct layout *l, const struct setting *row)
{
    if (row->alias == NULL && row->alias_fallback == NULL)
        return;
    cleanup(mem_free_ptr) char *text = setting_alias_text(row);
    pages_add_remark(out, l, "With MODE", text);
}

static void print_example(struct buf *out)
{
    static const struct layout page = {"# ", PAGE_WIDTH, false};
    buf_add(out, example_head);
    for (const struct setting *row = setting_table; row->name != NULL; row++) {
        buf_add(out, "\n");
        pages_add_wrapped(out, &page, row->help);
        pages_add_remark(out, &page, "Expected", row->expected);
        if (row->fallback == NULL)
            pages_add_remark(out, &page, "Not set", row->unset);
        pages_add_alias(out, &page, row);
        buf_printf(out, "#%s=%s\n", row->name, row->fallback != NULL ? row->fallback : row->example);
        if (row->or_file)
            buf_printf(out, "#%s_FILE=/run/secrets/%s\n", row->name, row->masked ? "haproxy-secret" : "haproxy-user");
    }
}

/* Text of the table in Markdown: only what would end a cell or start markup by accident is escaped. */
static void pages_add_cell(struct buf *out, const char *text)
{
    for (; *text != '\0'; text++)
        buf_printf(out, strchr("|*_<[", *text) != NULL ? "\\%c" : "%c", *text);
}

/* The headings of the page, by the first setting below each. */
static const struct {
    const char *first, *title;
} page_groups[] = {
    {"INGRESS_NAMESPACE", "The Service"},
    {"CONFIG_SOURCE", "A whole haproxy.cfg"},
    {"TEMPLATE_FROM", "Templates"},
    {"SERVICES_LABEL", "Annotated Services"},
    {"CONFIG_TARGET", "etcd"},
    {"CONFIG_ALLOW_LOCKOUT", "How it is applied"},
    {"NODE_MODE", "Nodes and their addresses"},
    {"HAPROXY_CONFIG_FILE", "A HAProxy on this machine"},
    {"HAPROXY_DATAPLANE_URL", "The Data Plane API"},
    {"HAPROXY_BACKEND_NAME", "The backend and its servers"},
    {"DRAIN_TIMEOUT", "When servers leave"},
    {"DRY_RUN", "The daemon and Kubernetes"},
    {"LISTEN_ADDRESS", "Addresses and log"},
    {"OTEL_EXPORTER_OTLP_ENDPOINT", "Traces"},
};

static void pages_add_title(struct buf *out, const struct setting *row)
{
    for (size_t i = 0; i < array_len(page_groups); i++)
        if (str_eq(row->name, page_groups[i].first))
            buf_printf(out, "%s### %s\n| Variable | Default | |\n|---|---|---|\n", i == 0 ? "" : "\n",
                       page_groups[i].title);
}

/* How long `expected` is on the page, without the syntax of lists and names, and examples. */
static size_t pages_short_expected(const char *expected)
{
    static const char *const ends[] = {", separated by commas", ", such as", " ("};
    size_t len = strlen(expected);
    for (size_t i = 0; i < array_len(ends); i++) {
        const char *end = strstr(expected, ends[i]);
        len = end != NULL && (size_t)(end - expected) < len ? (size_t)(end - expected) : len;
    }
    return len;
}

/* Whether the page shows what is expected: of a flag, a word, a text, a secret and names `help` says enough. */
static bool pages_show_expected(const struct setting *row)
{
    return row->type != &type_flag && row->words == NULL && row->type != &type_text && row->type != &type_secret &&
           row->type != &type_names;
}

static void pages_add_row(struct buf *out, const struct setting *row)
{
    buf_printf(out, "| `%s`%s%s%s | ", row->name, row->or_file ? " or `" : "", row->or_file ? row->name : "",
               row->or_file ? "_FILE`" : "");
    buf_printf(out, row->fallback != NULL ? "`%s` | " : "%s | ", row->fallback != NULL ? row->fallback : row->unset);
    pages_add_cell(out, row->help);
    if (pages_show_expected(row)) {
        cleanup(mem_free_ptr) char *expected = mem_strndup(row->expected, pages_short_expected(row->expected));
        buf_add(out, " Expected: ");
        pages_add_cell(out, expected);
        buf_add(out, ".");
    }
    buf_add(out, " |\n");
}

static void print_markdown(struct buf *out)
{
    for (const struct setting *row = setting_table; row->name != NULL; row++) {
        pages_add_title(out, row);
        pages_add_row(out, row);
    }
}

static void print_man(struct buf *out)
{
    static const struct layout page = {"", MANUAL_WIDTH, true};
    buf_add(out, ".Bl -tag -width Ds\n");
    for (const struct setting *row = setting_table; row->name != NULL; row++) {
        buf_printf(out, ".It Ev %s", row->name);
        if (row->or_file)
            buf_printf(out, " , Ev %s_FILE", row->name);
        buf_add(out, "\n");
        pages_add_wrapped(out, &page, row->help);
        pages_add_remark(out, &page, "Expected", row->expected);
        pages_add_remark(out, &page, row->fallback != NULL ? "Default" : "Not set",
                         row->fallback != NULL ? row->fallback : row->unset);
        pages_add_alias(out, &page, row);
    }
    buf_add(out, ".El\n");
}

#define LOGIN_USER "HAPROXY_DATAPLANE_USERNAME=u"
#define LOGIN_PASSWORD "HAPROXY_DATAPLANE_PASSWORD=p"
/* So that the settings of TLS have an effect; of two lines the first counts. */
#define HTTPS_URL "HAPROXY_DATAPLANE_URL=https://a:1"
#define PAGE "docs/settings.md"
#define MANUAL "deploy/man/haproxy-k8s-sync.8"
#define RENEW "; renew it by RENEW_SETTINGS_PAGES=1 build/unit/test_settings_pages"

/* A file that has the table between two lines of its own. */
static const struct page {
    const char *name, *start, *end;
    void (*print)(struct buf *);
} pages[] = {
    {PAGE, "<!-- settings -->\n", "<!-- /settings -->\n", print_markdown},
    {MANUAL, ".\\\" settings\n", ".\\\" /settings\n", print_man},
};

static bool renewing(void)
{
    return getenv("RENEW_SETTINGS_PAGES") != NULL;
}

static char *printed(void (*print)(struct buf *))
{
    struct buf out = {0};
    print(&out);
    return buf_take(&out);
}

/* The text without what laying it out on the page did: line breaks with the margin or "# " behind them, '\\', and "\\&". */
static char *flowed(const char *text)
{
    struct buf out = {0};
    for (; *text != '\0'; text++) {
        if (*text == '\n') {
            buf_add(&out, " ");
            text += strspn(text + 1, "# ");
        } else if (*text != '\\') {
            buf_addn(&out, text, 1);
        } else if (text[1] == '&') {
            text++;
        }
    }
    return buf_take(&out);
}

static char *read_whole(const char *name)
{
    struct buf out;
    buf_init(&out, 1 << 20);
    ck_assert_msg(buf_read_file(&out, name) == 0, "%s: %m (tests run from the root of the repository)", name);
    return buf_take(&out);
}

static void write_whole(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");
    ck_assert_msg(f != NULL, "%s: %m", name);
    fputs(text, f);
    ck_assert_int_eq(fclose(f), 0);
}

/* Says the first line that differs. */
static void assert_same(const char *name, const char *is, const char *should)
{
    size_t line = 1;
    for (const char *a = is, *b = should; *a == *b && *a != '\0'; a++, b++)
        line += *a == '\n' ? 1 : 0;
    ck_assert_msg(str_eq(is, should), "%s differs from the table in line %zu" RENEW, name, line);
}

TEST(the_example_is_the_table)
{
    cleanup(mem_free_ptr) char *should = printed(print_example);
    if (renewing())
        write_whole("config.example.env", should);
    cleanup(mem_free_ptr) char *is = read_whole("config.example.env");
    assert_same("config.example.env", is, should);
}

TEST_EACH(pages_hold_the_table, array_len(pages))
{
    const struct page *p = &pages[_i];
    cleanup(mem_free_ptr) char *table = printed(p->print);
    cleanup(mem_free_ptr) char *whole = read_whole(p->name);
    char *start = strstr(whole, p->start), *end = strstr(whole, p->end);
    ck_assert_msg(start != NULL && end != NULL && start < end, "%s has no lines %s and %s", p->name, p->start, p->end);
    start += strlen(p->start);
    if (renewing()) {
        cleanup(mem_free_ptr) char *fresh = mem_printf("%.*s%s%s", (int)(start - whole), whole, table, end);
        write_whole(p->name, fresh);
        return;
    }
    *end = '\0';
    assert_same(p->name, start, table);
}

TEST(each_page_says_all_of_each_variable)
{
    void (*const prints[])(struct buf *) = {settings_print_help, print_example, print_markdown, print_man};
    for (size_t i = 0; i < array_len(prints); i++) {
        cleanup(mem_free_ptr) char *laid_out = printed(prints[i]), *text = flowed(laid_out);
        for (const struct setting *f = setting_table; f->name != NULL; f++) {
            ck_assert_msg(strstr(text, f->name) != NULL, "page %zu: no %s", i, f->name);
            cleanup(mem_free_ptr) char *file = mem_printf("%s_FILE", f->name);
            ck_assert_msg((strstr(text, file) != NULL) == f->or_file, "page %zu: %s", i, file);
            ck_assert_msg(strstr(text, f->help) != NULL, "page %zu: not the help of %s", i, f->name);
            size_t len = prints[i] != print_markdown ? strlen(f->expected)
                         : pages_show_expected(f)    ? pages_short_expected(f->expected)
                                                     : 0;
            cleanup(mem_free_ptr) char *expected = mem_strndup(f->expected, len);
            ck_assert_msg(strstr(text, expected) != NULL, "page %zu: not what %s expects", i, f->name);
            ck_assert_msg(f->unset == NULL || strstr(text, f->unset) != NULL, "page %zu: %s unset", i, f->name);
            ck_assert_msg(f->fallback == NULL || strstr(text, f->fallback) != NULL, "page %zu: %s", i, f->name);
        }
    }
}

TEST(help_of_one_setting)
{
    cleanup(buf_fini) struct buf out = {0};
    cleanup(mem_free_ptr) char *nearest = NULL;
    ck_assert_int_eq(settings_print_help_of("drain-timeout", &out, &nearest), 0);
    ck_assert(str_has_prefix(buf_str(&out), "  DRAIN_TIMEOUT\n") && strstr(buf_str(&out), "PARK_TTL\n") == NULL);
    ck_assert_int_eq(settings_print_help_of("MODE", &out, &nearest), 0); /* an operator's name of one */
    ck_assert_ptr_nonnull(strstr(buf_str(&out), "  CONFIG_SOURCE\n"));
    buf_clear(&out);
    ck_assert_int_eq(settings_print_help_of("DRAIN_TIMEUT", &out, &nearest), -1);
    ck_assert_str_eq(nearest, "DRAIN_TIMEOUT");
    ck_assert_uint_eq(out.len, 0);
}

TEST(help_says_which_are_flags)
{
    cleanup(mem_free_ptr) char *text = printed(settings_print_help);
    static const char *const flags[] = {"flag: --kubeconfig=...\n", "flag: --dry-run\n", "flag: --log-level=...\n"};
    for (size_t i = 0; i < array_len(flags); i++)
        ck_assert_msg(strstr(text, flags[i]) != NULL, "no %s", flags[i]);
}

TEST(no_line_is_too_wide)
{
    void (*const prints[])(struct buf *) = {settings_print_help, print_example};
    for (size_t i = 0; i < array_len(prints); i++) {
        cleanup(mem_free_ptr) char *text = printed(prints[i]);
        for (const char *p = text; *p != '\0'; p += strcspn(p, "\n") + 1) {
            size_t len = strcspn(p, "\n");
            ck_assert_msg(len <= 116, "%zu columns: %.*s", len, (int)len, p);
            ck_assert_msg(len == 0 || p[len - 1] != ' ', "space at the end: %.*s", (int)len, p);
        }
    }
}

/* But for the default URL, whose password is not encrypted. */
static bool is_silent(const struct settings_findings *r)
{
    for (size_t i = 0; i < r->count; i++)
        if (strstr(r->list[i].text, "unencrypted over the network") == NULL)
            return false;
    return true;
}

/* A client certificate and its key are given together, a Lease is for an election; NULL: the row stands alone. */
static const char *other_half(const struct setting *row, const char *value)
{
    return row == SETTING(dataplane_cert_file)                             ? "HAPROXY_DATAPLANE_KEY_FILE=/k"
           : row == SETTING(dataplane_key_file)                            ? "HAPROXY_DATAPLANE_CERT_FILE=/c"
           : row == SETTING(config_source) && str_eq(value, "file")        ? "CONFIG_FILE=/f"
           : row == SETTING(config_file)                                   ? "CONFIG_SOURCE=file"
           : row == SETTING(template_from)                                 ? "CONFIG_SOURCE=template"
           : row == SETTING(lease_name) || row == SETTING(lease_namespace) ? "LEADER_ELECT=true"
                                                                           : NULL;
}

/* Those of a HAProxy on this machine need it, and are not for the others. */
static int parse_beside(const char *entry, const char *other, struct settings *c, struct settings_findings *r)
{
    static const char *const names[] = {
        "HAPROXY_CONFIG_FILE=", "HAPROXY_MASTER_SOCKET=", "HAPROXY_STATS_SOCKET=",   "HAPROXY_BIN=",
        "HAPROXY_CHECK_FILES=", "HAPROXY_STORAGE_DIR=",   "HAPROXY_RELOAD_COMMAND=", "HAPROXY_ENVIRONMENT_FILE="};
    bool local = false;
    for (size_t i = 0; i < array_len(names); i++)
        local = local || (str_has_prefix(entry, names[i]) && strlen(entry) > strlen(names[i]));
    bool peer = str_has_prefix(entry, "SPIFFE_PEER_ID=s");
    const char *const apis[] = {LOGIN_USER, LOGIN_PASSWORD, entry, HTTPS_URL, peer ? "SPIRE_AGENT_SOCKET=/s" : other,
                                NULL};
    bool secret = str_has_prefix(entry, "CONFIG_REPORT");
    const char *const of_secret[] = {LOGIN_USER,
                                     LOGIN_PASSWORD,
                                     entry,
                                     HTTPS_URL,
                                     "CONFIG_SOURCE=secret",
                                     "CONFIG_SECRET_NAMESPACE=n",
                                     "CONFIG_SECRET_NAME=s",
                                     NULL};
    bool services = str_has_prefix(entry, "SERVICES_") || str_has_prefix(entry, "ANNOTATION_PREFIX=") ||
                    str_has_prefix(entry, "CLUSTER_NAME=") || str_has_prefix(entry, "HOST_OWNERS") ||
                    str_has_prefix(entry, "FOREIGN_PROTECTION=") || str_has_prefix(entry, "SHARED_HOSTS=") ||
                    str_has_prefix(entry, "TRUSTED_PROXIES=");
    const char *const annotated[] = {
        LOGIN_USER, LOGIN_PASSWORD, entry, HTTPS_URL, "CONFIG_SOURCE=services", "CONFIG_FILE=/f", NULL};
    bool etcd = (str_has_prefix(entry, "ETCD_") && !str_has_suffix(entry, "=")) || str_eq(entry, "CONFIG_TARGET=etcd");
    const char *const published[] = {entry,
                                     "CONFIG_TARGET=etcd",
                                     "CONFIG_SOURCE=file",
                                     "CONFIG_FILE=/f",
                                     "ETCD_ENDPOINTS=http://e:2379",
                                     str_has_suffix(entry, "=")           ? NULL
                                     : str_has_prefix(entry, "ETCD_CERT") ? "ETCD_KEY_FILE=/k"
                                     : str_has_prefix(entry, "ETCD_KEY_") ? "ETCD_CERT_FILE=/c"
                                     : str_has_prefix(entry, "ETCD_USER") ? "ETCD_PASSWORD=p"
                                     : str_has_prefix(entry, "ETCD_PASS") ? "ETCD_USER=u"
                                                                          : NULL,
                                     NULL};
    const char *const own[] = {
        entry, "HAPROXY_CONFIG_FILE=/h", "HAPROXY_MASTER_SOCKET=/m", "CONFIG_SOURCE=file", "CONFIG_FILE=/f", NULL};
    return settings_parse((char *const *)(uintptr_t)(local      ? own
                                                     : secret   ? of_secret
                                                     : services ? annotated
                                                     : etcd     ? published
                                                                : apis),
                          c, r);
}

static int row_count(void)
{
    int count = 0;
    while (setting_table[count].name != NULL)
        count++;
    return count;
}

/* A row is known by its member: two of one member would write over each other, and only the first would be found. */
TEST(each_row_has_a_member_of_its_own)
{
    for (const struct setting *row = setting_table; row->name != NULL; row++)
        ck_assert_msg(setting_of(row->member) == row, "%s", row->name);
    ck_assert_str_eq(SETTING(dry_run)->name, "DRY_RUN");
    ck_assert_int_le(row_count(), SETTINGS_MAX);
}

/* The page of settings relies on it: it shows what is expected of the others alone. */
TEST(help_says_each_word_that_a_setting_may_be)
{
    for (const struct setting *f = setting_table; f->name != NULL; f++) {
        ck_assert_msg(f->help[strlen(f->help) - 1] == '.', "%s: its help does not end with a full stop", f->name);
        for (size_t i = 0; f->words != NULL && f->words[i] != NULL; i++)
            ck_assert_msg(strstr(f->help, f->words[i]) != NULL, "%s: its help has no %s", f->name, f->words[i]);
    }
}

/* The table is whole, and what it says is a default or an example is one. */
TEST_EACH(defaults_and_examples_are_accepted, row_count())
{
    const struct setting *f = &setting_table[_i];
    ck_assert_msg(f->name != NULL && f->expected != NULL && f->help != NULL && f->example != NULL, "row %d", _i);
    ck_assert_msg((f->fallback == NULL) != (f->unset == NULL), "%s: either a default or what it means to have none",
                  f->name);
    ck_assert_msg((f->type->parse == NULL) == f->or_file, "%s", f->name);
    /* Files that are read at once and are not there. */
    if (f->or_file || f == SETTING(dataplane_credentials_file))
        return;
    const char *const values[] = {f->fallback, f->example};
    for (size_t i = 0; i < array_len(values); i++) {
        cleanup(mem_free_ptr) char *entry = mem_printf("%s=%s", f->name, values[i] != NULL ? values[i] : "");
        struct settings c;
        struct settings_findings r;
        int rc = parse_beside(entry, values[i] != NULL ? other_half(f, values[i]) : NULL, &c, &r);
        ck_assert_msg(rc == 0 && is_silent(&r), "%s: %s", entry, r.count > 0 ? r.list[0].text : "");
        settings_fini(&c);
        settings_findings_fini(&r);
    }
}

/* Uncommenting any line of the example is fine (those of files apart, which are not there, and what needs two others). */
TEST(each_line_of_the_example_works)
{
    cleanup(mem_free_ptr) char *text = printed(print_example);
    int count = 0;
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        if (line[0] != '#' || line[1] == ' ' || strstr(line, "_FILE=") != NULL || strstr(line, "_TOKEN=") != NULL ||
            strstr(line, "STATISTICS_") != NULL)
            continue;
        bool of_lease = strncmp(line, "#LEASE_", strlen("#LEASE_")) == 0,
             of_templates = strstr(line, "TEMPLATE_FROM") != NULL;
        struct settings c;
        struct settings_findings r;
        int rc = parse_beside(line + 1,
                              of_lease       ? "LEADER_ELECT=true"
                              : of_templates ? "CONFIG_SOURCE=template"
                                             : NULL,
                              &c, &r);
        ck_assert_msg(rc == 0 && is_silent(&r), "%s: %s", line, r.count > 0 ? r.list[0].text : "");
        settings_fini(&c);
        settings_findings_fini(&r);
        count++;
    }
    ck_assert_int_eq(count, row_count() - 12); /* without the token, STATISTICS_PASSWORD and the ten files */
}

/* Settings of the ConfigMap, those included that are commented out, are in the table, and one by one their values are taken. */
TEST(the_config_map_names_settings)
{
    cleanup(mem_free_ptr) char *text = read_whole("deploy/configmap.yaml");
    char *rest = strstr(text, "\ndata:\n");
    ck_assert_ptr_nonnull(rest);
    size_t count = 0;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        char *name = line + strspn(line, " #"), *colon = strstr(name, ": ");
        if (colon == NULL || strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") != (size_t)(colon - name))
            continue;
        const char *value = str_eq(colon, ": >-") ? "ns/web" : colon + 2;
        cleanup(mem_free_ptr) char *bare = mem_strndup(value + (*value == '"' || *value == '\''),
                                                       strcspn(value + 1, "\"'") + (*value != '"' && *value != '\''));
        cleanup(mem_free_ptr) char *entry = mem_printf("%.*s=%s", (int)(colon - name), name, bare);
        bool of_lease = strncmp(entry, "LEASE_", strlen("LEASE_")) == 0;
        const char *const env[] = {LOGIN_USER, LOGIN_PASSWORD, entry, of_lease ? "LEADER_ELECT=true" : NULL, NULL};
        struct settings c;
        struct settings_findings r;
        int rc = settings_parse((char *const *)env, &c, &r);
        ck_assert_msg(rc == 0 && is_silent(&r) && setting_count_given(&c) == 3u + of_lease, "%s: %s", entry,
                      r.count > 0 ? r.list[0].text : "");
        settings_fini(&c);
        settings_findings_fini(&r);
        count++;
    }
    ck_assert_uint_ge(count, 10);
}

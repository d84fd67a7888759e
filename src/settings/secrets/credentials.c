#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "settings/environment.h"
#include "settings/parse.h"
#include "settings/secrets/credentials_file.h"
#include "settings/url.h"
#include "settings/table.h"

#define BAD_LINES_SHOWN 5
#define URL_EDITS_MAX 3

/* What the environment has of one of them. */
struct given {
    enum secret_part part;
    const char *(*refuse)(const char *text); /* instead of what goes by the part; NULL: that */
    const struct setting *row;
    struct secret *secret;
    const char *name;  /* by which the value was given */
    char *file_name;   /* NAME_FILE */
    const char *value; /* NULL where unset or empty; borrowed */
    const char *path;
    bool empty; /* set, but to nothing, in either form */
};

static bool credentials_is_given(const struct given *g)
{
    return g->value != NULL || g->path != NULL;
}

static const char *credentials_take(char *const *env, const char *name, bool *empty)
{
    const char *value = environment_get(env, name);
    if (!str_empty(value))
        return value;
    *empty = *empty || value != NULL;
    return NULL;
}

static const char *credentials_problem(const struct given *g, const char *text)
{
    return g->refuse != NULL ? g->refuse(text) : credentials_refuse(g->part, text);
}

/* A Secret that was made with `echo` ends in a line break, never on purpose. */
static void credentials_parse_value(const struct given *g, struct settings_findings *found)
{
    size_t len = strlen(g->value);
    char *text = mem_strdup(g->value);
    if (text[len - 1] == '\n') {
        text[--len] = '\0';
        if (len > 0 && text[len - 1] == '\r')
            text[--len] = '\0';
        finding_warning(found, "%s: ends with a line break, which is ignored", g->row->name);
    }
    const char *why = len == 0 ? "it is empty otherwise" : credentials_problem(g, text);
    if (why != NULL)
        finding_error(found, "%s: expected %s; %s", g->row->name, g->row->expected, why);
    else
        secret_set_value(g->secret, text);
    mem_wipe_free(text);
}

/* Whether it is meant as a path. Anything else may be the secret, put into the wrong variable: so it is not shown. */
static bool is_path(const char *value)
{
    return value[0] == '/' || str_has_prefix(value, "./") || str_has_prefix(value, "../");
}

static void credentials_parse_path(const struct given *g, struct settings_findings *found)
{
    if (!is_path(g->path)) {
        finding_error(found,
                      "%s: expected the path of a file, beginning with '/' or './' (the value is not shown: it may be "
                      "the secret itself, which belongs in %s)",
                      g->file_name, g->row->name);
        return;
    }
    struct error err;
    secret_set_path(g->secret, g->path);
    if (secret_refresh(g->secret, true, NULL, &err) != 0) {
        finding_error(found, "%s: expected a readable file that holds it; %s", g->file_name, err.message);
        return;
    }
    const char *why = credentials_problem(g, g->secret->value);
    if (why == NULL)
        return;
    cleanup(mem_free_ptr) char *shown = finding_name_value(g->file_name, g->path);
    finding_error(found, "%s: expected the file to hold %s; %s", shown, g->row->expected, why);
}

static void check_half(const struct given *has, const struct given *lacks, struct settings_findings *found)
{
    if (credentials_is_given(has) && !credentials_is_given(lacks))
        finding_error(found, "%s is set, but %s (or %s) is %s: expected both or none", has->row->name, lacks->row->name,
                      lacks->file_name, lacks->empty ? "empty" : "not");
}

static void credentials_take_given(char *const *env, struct given *g, struct settings *c,
                                   struct settings_findings *found)
{
    g->file_name = mem_printf("%s_FILE", g->row->name);
    g->value = credentials_take(env, g->row->name, &g->empty);
    g->name = g->value != NULL ? g->row->name : g->row->alias;
    if (g->value == NULL)
        g->value = alias_get(env, g->row);
    g->path = credentials_take(env, g->file_name, &g->empty);
    if (g->value != NULL && g->path != NULL)
        finding_error(found, "%s and %s are both set: expected one of them", g->name, g->file_name);
    else if (g->value != NULL)
        credentials_parse_value(g, found);
    else if (g->path != NULL)
        credentials_parse_path(g, found);
    if (credentials_is_given(g))
        setting_set_given(c, g->row);
}

/* Those of the variables; whether there are any. */
static bool parse_variables(char *const *env, struct settings *c, struct settings_findings *found)
{
    enum { COUNT = 3 };
    struct given g[COUNT] = {[SECRET_USER] = {.row = SETTING(dataplane_username), .secret = &c->dataplane_username},
                             [SECRET_PASSWORD] = {.row = SETTING(dataplane_password), .secret = &c->dataplane_password},
                             [SECRET_TOKEN] = {.row = SETTING(dataplane_token), .secret = &c->dataplane_token}};
    for (size_t i = 0; i < COUNT; i++) {
        g[i].part = (enum secret_part)i;
        credentials_take_given(env, &g[i], c, found);
    }
    if (credentials_is_given(&g[SECRET_TOKEN]) &&
        (credentials_is_given(&g[SECRET_USER]) || credentials_is_given(&g[SECRET_PASSWORD]))) {
        finding_error(found, "HAPROXY_DATAPLANE_TOKEN is set beside HAPROXY_DATAPLANE_USERNAME or _PASSWORD: expected "
                             "either the token or user name and password");
    } else {
        check_half(&g[SECRET_USER], &g[SECRET_PASSWORD], found);
        check_half(&g[SECRET_PASSWORD], &g[SECRET_USER], found);
    }
    for (size_t i = 0; i < COUNT; i++)
        free(g[i].file_name);
    return credentials_is_given(&g[SECRET_TOKEN]) || credentials_is_given(&g[SECRET_USER]) ||
           credentials_is_given(&g[SECRET_PASSWORD]);
}

/* ---- the file with a line for each URL ---- */

/* What is odd about a line that can be used. */
static void warn_of_line(const char *shown, const struct settings *c, const struct credentials_file *f,
                         const struct credentials_line *line, struct settings_findings *found)
{
    if (line->blank_around)
        finding_warning(found, "%s, line %zu: the password begins or ends with white space, which is part of it", shown,
                        line->number);
    for (size_t i = 0; i < c->dataplane_count; i++)
        if (dataplane_url_same(c->dataplanes[i].url, line->url))
            return;
    if (c->dataplane_count == 0) /* an error says already that no URL can be used */
        return;
    cleanup(mem_free_ptr) char *masked = url_masked(line->url);
    cleanup(mem_free_ptr) char *quoted = finding_quoted(masked);
    /* The URL without a line that may be meant by this one; NULL: none. */
    const char *url = line->url;
    const char *meant = NULL;
    size_t fewest = URL_EDITS_MAX + 1;
    for (size_t i = 0; i < c->dataplane_count; i++) {
        size_t edits = str_distance(url, c->dataplanes[i].url, URL_EDITS_MAX);
        if (edits < fewest && credentials_file_find(f, c->dataplanes[i].url) == NULL) {
            fewest = edits;
            meant = c->dataplanes[i].url;
        }
    }
    cleanup(mem_free_ptr) char *meant_masked = meant != NULL ? url_masked(meant) : NULL;
    cleanup(mem_free_ptr) char *meant_quoted = meant != NULL ? finding_quoted(meant_masked) : NULL;
    finding_warning(found, "%s, line %zu: the line is not used: its URL %s is not in HAPROXY_DATAPLANE_URL%s%s%s",
                    shown, line->number, quoted, meant != NULL ? "; did you mean " : "",
                    meant != NULL ? meant_quoted : "", meant != NULL ? "?" : "");
}

/* -1: reported. The lines point into *ret_file. */
static int read_lines(const struct settings *c, struct secret_file *ret_file, struct credentials_file *ret,
                      struct settings_findings *found)
{
    const char *name = SETTING(dataplane_credentials_file)->name, *path = c->dataplane_credentials_file;
    struct error err;
    if (!is_path(path)) {
        finding_error(found,
                      "%s: expected the path of a file, beginning with '/' or './' (the value is not shown: it may be "
                      "the content of that file)",
                      name);
        return -1;
    }
    if (secret_file_read(path, SECRET_FILE_MAX_BYTES, ret_file, &err) != 0) {
        finding_error(found, "%s: expected a readable file with lines " CREDENTIALS_LINE_EXPECTED "; %s", name,
                      err.message);
        return -1;
    }
    cleanup(mem_free_ptr) char *shown = finding_name_value(name, path);
    credentials_file_parse(ret_file->text, ret_file->len, ret);
    size_t bad = 0;
    for (size_t i = 0; i < ret->count; i++)
        if (ret->lines[i].why != NULL && ++bad <= BAD_LINES_SHOWN)
            finding_error(found, "%s, line %zu: expected " CREDENTIALS_LINE_EXPECTED "; %s", shown,
                          ret->lines[i].number, ret->lines[i].why);
    if (bad > BAD_LINES_SHOWN)
        finding_error(found, "%s: expected lines " CREDENTIALS_LINE_EXPECTED "; %zu more lines are invalid", shown,
                      bad - BAD_LINES_SHOWN);
    for (size_t i = 0; i < ret->count; i++)
        if (ret->lines[i].why == NULL)
            warn_of_line(shown, c, ret, &ret->lines[i], found);
    if (ret->count == 0)
        finding_warning(found, "%s: the file has no line with credentials, so it has no effect", shown);
    return credentials_file_first_bad(ret) == NULL ? 0 : -1;
}

static void set_line(const char *path, struct settings_dataplane *d, struct settings_findings *found)
{
    struct secret *const secrets[] = {
        [SECRET_USER] = &d->username, [SECRET_PASSWORD] = &d->password, [SECRET_TOKEN] = &d->token};
    for (size_t i = 0; i < array_len(secrets); i++) {
        struct error err;
        secret_set_line(secrets[i], path, d->url, (enum secret_part)i);
        if (secret_refresh(secrets[i], true, NULL, &err) == 0)
            continue;
        finding_error(found, "%s: %s", SETTING(dataplane_credentials_file)->name, err.message);
        return;
    }
}

#define NO_VARIABLES \
    "neither HAPROXY_DATAPLANE_USERNAME and HAPROXY_DATAPLANE_PASSWORD nor HAPROXY_DATAPLANE_TOKEN is set"
#define NO_CREDENTIALS "gets requests without credentials, which it refuses unless a proxy in front of it adds them"

static void warn_of_none(const struct settings *c, const struct settings_dataplane *d, struct settings_findings *found)
{
    const char *name = SETTING(dataplane_credentials_file)->name;
    cleanup(mem_free_ptr) char *shown = finding_name_value(name, c->dataplane_credentials_file);
    cleanup(mem_free_ptr) char *masked = url_masked(d->url);
    cleanup(mem_free_ptr) char *quoted = finding_quoted(masked);
    finding_warning(found, "%s has no line for %s, and " NO_VARIABLES ": the Data Plane API there " NO_CREDENTIALS,
                    shown, quoted);
}

void credentials_parse(char *const *env, struct settings *c, struct settings_findings *found)
{
    bool variables = parse_variables(env, c, found);
    struct given others[] = {
        {.part = SECRET_PASSWORD, .row = SETTING(statistics_password), .secret = &c->statistics_password},
        {.part = SECRET_PASSWORD, .row = SETTING(etcd.password), .secret = &c->etcd.password},
        {.row = SETTING(traces.headers), .secret = &c->traces.headers, .refuse = settings_headers_refuse}};
    for (size_t i = 0; i < array_len(others); i++) {
        credentials_take_given(env, &others[i], c, found);
        free(others[i].file_name);
    }
    cleanup(secret_file_fini) struct secret_file file = {0};
    cleanup(credentials_file_fini) struct credentials_file lines = {0};
    if (c->dataplane_credentials_file == NULL) {
        if (!variables && c->local.file == NULL && c->config_target == SETTINGS_TARGET_HAPROXY)
            finding_warning(found, NO_VARIABLES ": the Data Plane API " NO_CREDENTIALS);
    } else if (read_lines(c, &file, &lines, found) != 0) {
        return;
    }
    for (size_t i = 0; i < c->dataplane_count; i++) {
        struct settings_dataplane *d = &c->dataplanes[i];
        if (credentials_file_find(&lines, d->url) != NULL) {
            set_line(c->dataplane_credentials_file, d, found);
            continue;
        }
        secret_copy(&d->username, &c->dataplane_username);
        secret_copy(&d->password, &c->dataplane_password);
        secret_copy(&d->token, &c->dataplane_token);
        if (!variables && c->dataplane_credentials_file != NULL)
            warn_of_none(c, d, found);
    }
    /* The copies are read again when the files change; these would keep the old value for ever. */
    secret_forget(&c->dataplane_password);
    secret_forget(&c->dataplane_token);
}

#include "config/credentials.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "config/config.h"
#include "config/environment.h"
#include "config/fields.h"
#include "config/report.h"

/* What the environment has of one of them. */
struct given {
    const struct config_field *field;
    struct secret *secret;
    char *file_name;   /* NAME_FILE */
    const char *value; /* NULL where unset or empty; borrowed */
    const char *path;
    bool empty; /* set, but to nothing, in either form */
};

static bool is_given(const struct given *g)
{
    return g->value != NULL || g->path != NULL;
}

static const char *take(char *const *env, const char *name, bool *empty)
{
    const char *value = environment_get(env, name);
    if (!str_empty(value))
        return value;
    *empty = *empty || value != NULL;
    return NULL;
}

static void look_up(char *const *env, enum config_field_id id, struct secret *secret, struct given *ret)
{
    *ret = (struct given){.field = config_field(id), .secret = secret};
    ret->file_name = mem_printf("%s_FILE", ret->field->name);
    ret->value = take(env, ret->field->name, &ret->empty);
    ret->path = take(env, ret->file_name, &ret->empty);
}

/* Why the secret's text cannot be used, or NULL. Never shows any of it. */
static const char *refuse_text(enum config_field_id id, const char *text)
{
    for (const char *p = text; *p != '\0'; p++) {
        unsigned char c = (unsigned char)*p;
        if (c < 0x20 || c == 0x7f)
            return "it holds a control character, such as a line break";
        if (id == CONFIG_DATAPLANE_USERNAME && c == ':')
            return "it holds a ':', which basic authentication cannot carry";
        if (id == CONFIG_DATAPLANE_TOKEN && (c == ' ' || c >= 0x80))
            return str_has_prefix(text, "Bearer ") ? "leave out the word Bearer" : "it holds a space or is not ASCII";
    }
    return NULL;
}

/* A Secret that was made with `echo` ends in a line break, which nobody means. */
static void parse_value(enum config_field_id id, const struct given *g, struct config_report *report)
{
    size_t len = strlen(g->value);
    char *text = mem_strdup(g->value);
    if (text[len - 1] == '\n') {
        text[--len] = '\0';
        if (len > 0 && text[len - 1] == '\r')
            text[--len] = '\0';
        report_warning(report, "%s: ends with a line break, which is left out", g->field->name);
    }
    const char *why = len == 0 ? "it is empty but for that" : refuse_text(id, text);
    if (why != NULL)
        report_error(report, "%s: expected %s; %s", g->field->name, g->field->expected, why);
    else
        secret_set_value(g->secret, text);
    mem_wipe_free(text);
}

static void parse_path(enum config_field_id id, const struct given *g, struct config_report *report)
{
    /* Anything else may be the secret itself, put into the wrong variable: so it is not shown. */
    if (g->path[0] != '/' && !str_has_prefix(g->path, "./") && !str_has_prefix(g->path, "../")) {
        report_error(report,
                     "%s: expected the path of a file, beginning with '/' or './' (the value is not shown: it may "
                     "be the secret itself, which would belong into %s)",
                     g->file_name, g->field->name);
        return;
    }
    struct error err;
    secret_set_path(g->secret, g->path);
    if (secret_refresh(g->secret, true, NULL, &err) != 0) {
        report_error(report, "%s: expected a readable file that holds it; %s", g->file_name, err.message);
        return;
    }
    const char *why = refuse_text(id, g->secret->value);
    if (why == NULL)
        return;
    cleanup(mem_free_ptr) char *shown = report_name_value(g->file_name, g->path);
    report_error(report, "%s: expected the file to hold %s; %s", shown, g->field->expected, why);
}

static void parse_one(enum config_field_id id, const struct given *g, struct config_report *report)
{
    if (g->value != NULL && g->path != NULL)
        report_error(report, "%s and %s are both set: expected one of them", g->field->name, g->file_name);
    else if (g->value != NULL)
        parse_value(id, g, report);
    else if (g->path != NULL)
        parse_path(id, g, report);
}

static void check_half(const struct given *has, const struct given *lacks, struct config_report *report)
{
    if (is_given(has) && !is_given(lacks))
        report_error(report, "%s is set, but %s (or %s) is %s: expected both or none", has->field->name,
                     lacks->field->name, lacks->file_name, lacks->empty ? "empty" : "not");
}

void credentials_parse(char *const *env, struct config *c, struct config_report *report)
{
    enum { USER, PASSWORD, TOKEN, COUNT };
    static const enum config_field_id ids[COUNT] = {CONFIG_DATAPLANE_USERNAME, CONFIG_DATAPLANE_PASSWORD,
                                                    CONFIG_DATAPLANE_TOKEN};
    struct secret *secrets[COUNT] = {&c->dataplane_username, &c->dataplane_password, &c->dataplane_token};
    struct given g[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        look_up(env, ids[i], secrets[i], &g[i]);
        parse_one(ids[i], &g[i], report);
        c->given |= is_given(&g[i]) ? (uint64_t)1 << ids[i] : 0;
    }
    if (is_given(&g[TOKEN]) && (is_given(&g[USER]) || is_given(&g[PASSWORD]))) {
        report_error(report, "HAPROXY_DATAPLANE_TOKEN is set beside HAPROXY_DATAPLANE_USERNAME or _PASSWORD: expected "
                             "either the token or user name and password");
    } else {
        check_half(&g[USER], &g[PASSWORD], report);
        check_half(&g[PASSWORD], &g[USER], report);
    }
    if (!is_given(&g[TOKEN]) && !is_given(&g[USER]) && !is_given(&g[PASSWORD]))
        report_warning(report, "neither HAPROXY_DATAPLANE_USERNAME and HAPROXY_DATAPLANE_PASSWORD nor "
                               "HAPROXY_DATAPLANE_TOKEN is set: the Data Plane API is asked without credentials, which "
                               "it refuses unless something in front of it adds them");
    for (size_t i = 0; i < COUNT; i++)
        free(g[i].file_name);
}

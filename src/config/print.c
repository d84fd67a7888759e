#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "config/config.h"
#include "config/fields.h"

#define NOT_SHOWN "***"
#define PAGE_WIDTH 110

/* The page that --help is, but for the settings. */
static const char help_head[] =
    "haproxy-k8s-sync keeps the servers of one HAProxy backend equal to the nodes behind one Kubernetes Service.\n"
    "\n"
    "usage: haproxy-k8s-sync                 run\n"
    "       haproxy-k8s-sync check-config    print the settings in effect, secrets masked, and what is wrong with "
    "them;\n"
    "                                        exit status 0 where they can be used, 78 where not\n"
    "       haproxy-k8s-sync --help | --version\n"
    "\n"
    "SIGTERM ends it within 5 seconds and leaves HAProxy as it is; SIGHUP compares HAProxy's state with the nodes "
    "now.\n"
    "\n"
    "Settings are environment variables. An empty one counts as not set. What is wrong is told all at once, with exit\n"
    "status 78.\n"
    "\n";

static const char example_head[] =
    "# Settings of haproxy-k8s-sync, for `docker run --env-file` or EnvironmentFile= of systemd: no quotes, no spaces\n"
    "# around '='. Lines that are commented out show the default or, where there is none, an example.\n"
    "# Made from the table in src/config/fields.c; `make test` holds it equal to that.\n";

/* Breaks text between words so that lines, with the prefix in front, stay within the page. */
static void add_wrapped(struct buf *out, const char *prefix, const char *text)
{
    size_t column = 0;
    while (*text != '\0') {
        size_t len = strcspn(text, " ");
        if (column == 0 || column + 1 + len > PAGE_WIDTH) {
            buf_printf(out, "%s%s", column == 0 ? "" : "\n", prefix);
            column = strlen(prefix);
        } else {
            buf_add(out, " ");
            column++;
        }
        buf_addn(out, text, len);
        column += len;
        text += len;
        text += strspn(text, " ");
    }
    buf_add(out, "\n");
}

static void add_wrapped_after(struct buf *out, const char *prefix, const char *word, const char *text)
{
    cleanup(mem_free_ptr) char *line = mem_printf("%s: %s", word, text);
    add_wrapped(out, prefix, line);
}

void config_print_help(struct buf *out)
{
    static const char margin[] = "      ";
    buf_add(out, help_head);
    for (int i = 0; i < CONFIG_FIELD_COUNT; i++) {
        const struct config_field *f = config_field((enum config_field_id)i);
        buf_printf(out, "  %s", f->name);
        if (f->or_file)
            buf_printf(out, " or %s_FILE", f->name);
        buf_add(out, "\n");
        add_wrapped(out, margin, f->help);
        add_wrapped_after(out, margin, "expected", f->expected);
        add_wrapped_after(out, margin, f->fallback != NULL ? "default" : "not set",
                          f->fallback != NULL ? f->fallback : f->unset);
    }
}

void config_print_example(struct buf *out)
{
    buf_add(out, example_head);
    for (int i = 0; i < CONFIG_FIELD_COUNT; i++) {
        const struct config_field *f = config_field((enum config_field_id)i);
        buf_add(out, "\n");
        add_wrapped(out, "# ", f->help);
        add_wrapped_after(out, "# ", "Expected", f->expected);
        if (f->fallback == NULL)
            add_wrapped_after(out, "# ", "Not set", f->unset);
        buf_printf(out, "#%s=%s\n", f->name, f->fallback != NULL ? f->fallback : f->example);
        if (f->or_file)
            buf_printf(out, "#%s_FILE=/run/secrets/%s\n", f->name, f->masked ? "haproxy-secret" : "haproxy-user");
    }
}

/* Text of ours inside a table cell: only what would end the cell or start markup by accident is escaped. */
static void add_cell(struct buf *out, const char *text)
{
    for (; *text != '\0'; text++)
        buf_printf(out, strchr("|*_<[", *text) != NULL ? "\\%c" : "%c", *text);
}

void config_print_markdown(struct buf *out)
{
    buf_add(out, "| Variable | Default | Meaning |\n|---|---|---|\n");
    for (int i = 0; i < CONFIG_FIELD_COUNT; i++) {
        const struct config_field *f = config_field((enum config_field_id)i);
        buf_printf(out, "| `%s`", f->name);
        if (f->or_file)
            buf_printf(out, " or `%s_FILE`", f->name);
        if (f->fallback != NULL)
            buf_printf(out, " | `%s` | ", f->fallback);
        else
            buf_printf(out, " | %s | ", f->unset);
        add_cell(out, f->help);
        buf_add(out, " Expected: ");
        add_cell(out, f->expected);
        buf_add(out, ". |\n");
    }
}

static void add_duration(struct buf *out, uint64_t ms)
{
    if (ms % 1000 != 0)
        buf_printf(out, "%llums", (unsigned long long)ms);
    else if (ms % 60000 != 0)
        buf_printf(out, "%llus", (unsigned long long)(ms / 1000));
    else
        buf_printf(out, "%llum", (unsigned long long)(ms / 60000));
}

static void add_listen_address(struct buf *out, const struct config *c)
{
    bool brackets = strchr(c->listen_host, ':') != NULL;
    buf_printf(out, "%s%s%s:%u", brackets ? "[" : "", c->listen_host, brackets ? "]" : "", (unsigned)c->listen_port);
}

static void add_keep_servers(struct buf *out, const struct config *c)
{
    for (size_t i = 0; i < c->keep_server_count; i++)
        buf_printf(out, "%s%s", i > 0 ? "," : "", c->keep_servers[i]);
}

static const char *proxy_v2_name(enum config_proxy_v2 v)
{
    switch (v) {
    case CONFIG_PROXY_V2_OFF:
        return "false";
    case CONFIG_PROXY_V2_DEFAULT_SERVER:
        return "true";
    case CONFIG_PROXY_V2_SERVER:
        return "server";
    }
    return "";
}

static const char *level_name(enum log_level level)
{
    switch (level) {
    case LOG_LEVEL_DEBUG:
        return "debug";
    case LOG_LEVEL_INFO:
        return "info";
    case LOG_LEVEL_WARN:
        return "warn";
    case LOG_LEVEL_ERROR:
        return "error";
    }
    return "";
}

static const char *or_else(const char *s, const char *otherwise)
{
    return s != NULL ? s : otherwise;
}

static const char *secret_shown(const struct secret *s, bool masked)
{
    return !secret_is_set(s) ? "" : masked ? NOT_SHOWN : or_else(s->value, "");
}

/* The value where it is a string; "" where unset; NULL where it is something else. */
static const char *string_value(const struct config *c, enum config_field_id id)
{
    switch (id) {
    case CONFIG_INGRESS_NAMESPACE:
        return c->ingress_namespace;
    case CONFIG_INGRESS_SERVICE_NAME:
        return c->ingress_service;
    case CONFIG_DATAPLANE_URL:
        return c->dataplane_url;
    case CONFIG_DATAPLANE_USERNAME:
        return secret_shown(&c->dataplane_username, false);
    case CONFIG_DATAPLANE_PASSWORD:
        return secret_shown(&c->dataplane_password, true);
    case CONFIG_DATAPLANE_TOKEN:
        return secret_shown(&c->dataplane_token, true);
    case CONFIG_BACKEND_NAME:
        return c->backend_name;
    case CONFIG_SEND_PROXY_V2:
        return proxy_v2_name(c->proxy_v2);
    case CONFIG_BALANCE:
        return or_else(c->balance, "keep");
    case CONFIG_ADV_CHECK:
        return or_else(c->adv_check, "keep");
    case CONFIG_CREATE_BACKEND:
        return c->create_backend ? "true" : "false";
    case CONFIG_ALLOW_EMPTY:
        return c->allow_empty ? "true" : "false";
    case CONFIG_KUBECONFIG:
        return or_else(c->kubeconfig, "");
    case CONFIG_LOG_FORMAT:
        return c->log_format == LOG_FORMAT_JSON ? "json" : "logfmt";
    case CONFIG_LOG_LEVEL:
        return level_name(c->log_level);
    case CONFIG_BACKEND_PORT:
    case CONFIG_KEEP_SERVERS:
    case CONFIG_RESYNC_PERIOD:
    case CONFIG_LISTEN_ADDRESS:
    case CONFIG_FIELD_COUNT:
        break;
    }
    return NULL;
}

/* The value in the variable's own syntax, so that the output could be an environment again. */
static void add_value(struct buf *out, const struct config *c, enum config_field_id id)
{
    const char *string = string_value(c, id);
    if (string != NULL)
        buf_add(out, string);
    else if (id == CONFIG_BACKEND_PORT && c->backend_port != 0)
        buf_printf(out, "%u", (unsigned)c->backend_port);
    else if (id == CONFIG_KEEP_SERVERS)
        add_keep_servers(out, c);
    else if (id == CONFIG_RESYNC_PERIOD)
        add_duration(out, c->resync_period_ms);
    else if (id == CONFIG_LISTEN_ADDRESS)
        add_listen_address(out, c);
}

static const char *secret_path(const struct config *c, enum config_field_id id)
{
    return id == CONFIG_DATAPLANE_USERNAME   ? c->dataplane_username.path
           : id == CONFIG_DATAPLANE_PASSWORD ? c->dataplane_password.path
           : id == CONFIG_DATAPLANE_TOKEN    ? c->dataplane_token.path
                                             : NULL;
}

void config_print(const struct config *c, struct buf *out)
{
    for (int i = 0; i < CONFIG_FIELD_COUNT; i++) {
        enum config_field_id id = (enum config_field_id)i;
        const struct config_field *f = config_field(id);
        const char *path = secret_path(c, id);
        buf_printf(out, "%s=", f->name);
        add_value(out, c, id);
        if (path != NULL)
            buf_printf(out, "  # from the file %s\n", path);
        else if (config_is_given(c, id))
            buf_add(out, "  # from the environment\n");
        else
            buf_printf(out, "  # default%s%s\n", f->fallback == NULL ? ": " : "", f->fallback == NULL ? f->unset : "");
    }
}

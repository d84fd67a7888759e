#include "settings/settings.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "settings/secrets/credentials.h"
#include "settings/dataplanes.h"
#include "settings/environment.h"
#include "settings/findings.h"
#include "settings/services.h"
#include "settings/table.h"
#include "settings/unknown.h"

/* A mistake that explains itself better than `expected` would: NULL for none. */
static const char *settings_explain(const struct setting *row, const char *value)
{
    size_t len = strlen(value);
    if (!row->is_list && (isspace((unsigned char)value[0]) || isspace((unsigned char)value[len - 1])))
        return "there is white space around the value";
    if (len >= 2 && (value[0] == '"' || value[0] == '\'') && value[len - 1] == value[0])
        return "the quotes are part of the value; leave them out";
    return NULL;
}

static void settings_parse_value(const struct setting *row, const char *value, struct settings *s,
                                 struct settings_findings *found)
{
    cleanup(buf_fini) struct buf note;
    buf_init(&note, 0);
    bool bad = (row->check != NULL && row->check(value, &note) != 0) || row->type->parse(row, value, s, &note) != 0;
    cleanup(mem_free_ptr) char *shown = finding_name_value(row->name, value);
    const char *why = bad ? settings_explain(row, value) : NULL;
    why = why != NULL ? why : buf_str(&note);
    if (bad)
        finding_error(found, "%s: expected %s%s%s", shown, row->expected, str_empty(why) ? "" : "; ", why);
    else if (!str_empty(why))
        finding_warning(found, "%s: %s", shown, why);
}

static bool settings_is_injected(char *const *env, const struct setting *row, const char *value,
                                 struct settings_findings *found)
{
    if (!environment_is_injected(env, row->name, value))
        return false;
    cleanup(mem_free_ptr) char *shown = finding_name_value(row->name, value);
    finding_warning(found,
                    "%s: this comes from a Kubernetes Service of that name, not from you, and is ignored; set "
                    "enableServiceLinks: false in the pod's spec",
                    shown);
    return true;
}

static void settings_parse_row(char *const *env, const struct setting *row, struct settings *s,
                               struct settings_findings *found)
{
    const char *value = environment_get(env, row->name);
    if (str_empty(value) || settings_is_injected(env, row, value, found))
        value = NULL;
    if (value != NULL)
        setting_set_given(s, row);
    else
        value = row->fallback;
    if (value != NULL)
        settings_parse_value(row, value, s, found);
}

void settings_wipe_environment(char *const *env)
{
    for (const struct setting *row = setting_table; row->name != NULL; row++) {
        size_t len = strlen(row->name);
        for (char *const *at = env; row->or_file && *at != NULL; at++)
            if (strncmp(*at, row->name, len) == 0 && (*at)[len] == '=')
                explicit_bzero(*at + len + 1, strlen(*at + len + 1));
    }
}

/* What cannot be told from one setting alone. */
static void settings_check_effects(const struct settings *s, struct settings_findings *found)
{
    if (s->park_nodes && s->park_ttl_ms == 0)
        finding_warning(found, "PARK_NODES=true is of no effect with PARK_TTL=0, which parks nothing");
    if (s->leader_elect && s->dry_run)
        finding_warning(found,
                        "LEADER_ELECT=true is of no effect with DRY_RUN=true: the Lease is for those that write");
    if (s->emit_events && s->dry_run)
        finding_warning(found,
                        "EMIT_EVENTS=true is of no effect with DRY_RUN=true, with which nothing happens to HAProxy");
    if (!s->leader_elect && (!str_eq(s->lease_name, SETTING(lease_name)->fallback) || s->lease_namespace != NULL))
        finding_warning(found, "LEASE_NAME and LEASE_NAMESPACE are of no effect without LEADER_ELECT=true");
}

int settings_parse(char *const *env, struct settings *ret, struct settings_findings *found)
{
    struct settings s = {0};
    *found = (struct settings_findings){0};
    for (const struct setting *row = setting_table; row->name != NULL; row++)
        if (row->type->parse != NULL)
            settings_parse_row(env, row, &s, found);
    credentials_parse(env, &s, found);
    services_parse(&s, found);
    if (found->error_count == 0)
        settings_check_effects(&s, found);
    dataplanes_check_tls(&s, found);
    unknown_report(env, found);
    enum log_format format = s.log_format;
    if (found->error_count > 0) {
        settings_fini(&s);
        s.log_format = format; /* the errors are logged in the form that was asked for */
    }
    *ret = s;
    return found->error_count > 0 ? -1 : 0;
}

void settings_fini(struct settings *s)
{
    for (const struct setting *row = setting_table; row->name != NULL; row++)
        if (row->type->fini != NULL)
            row->type->fini(row, s);
    *s = (struct settings){0};
}

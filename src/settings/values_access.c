/* How the two APIs are reached, who of several replicas acts, and what the process may do. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "settings/settings.h"
#include "settings/names.h"
#include "settings/values.h"

static int take(char **field, const char *value)
{
    free(*field);
    *field = mem_strdup(value);
    return 0;
}

/* Whether it can be read is found out where it is read. */
static int take_path(char **field, const char *value, struct buf *note)
{
    if (strstr(value, "-----BEGIN") != NULL) {
        buf_add(note, "it takes the path of a file, not what is in it");
        return -1;
    }
    return take(field, value);
}

int value_dataplane_ca_file(const char *value, struct settings *c, struct buf *note)
{
    return take_path(&c->dataplane_ca_file, value, note);
}

int value_dataplane_cert_file(const char *value, struct settings *c, struct buf *note)
{
    return take_path(&c->dataplane_cert_file, value, note);
}

int value_dataplane_key_file(const char *value, struct settings *c, struct buf *note)
{
    return take_path(&c->dataplane_key_file, value, note);
}

int value_dataplane_server_name(const char *value, struct settings *c, struct buf *note)
{
    if (!name_made_of(value, NAME_ALNUM "-._") || strlen(value) > 253 || value[0] == '.') {
        if (strpbrk(value, ":/") != NULL)
            buf_add(note, "the name alone, without a port or a path");
        return -1;
    }
    return take(&c->dataplane_server_name, value);
}

int value_dataplane_insecure(const char *value, struct settings *c, struct buf *note)
{
    (void)note;
    return str_parse_bool(value, &c->dataplane_insecure);
}

int value_leader_elect(const char *value, struct settings *c, struct buf *note)
{
    (void)note;
    return str_parse_bool(value, &c->leader_elect);
}

int value_lease_name(const char *value, struct settings *c, struct buf *note)
{
    if (strchr(value, '/') != NULL) {
        buf_add(note, "the namespace goes into LEASE_NAMESPACE");
        return -1;
    }
    if (name_check_subdomain(value, note) != 0)
        return -1;
    return take(&c->lease_name, value);
}

int value_lease_namespace(const char *value, struct settings *c, struct buf *note)
{
    if (name_check_label(value, note) != 0)
        return -1;
    return take(&c->lease_namespace, value);
}

int value_proxy_from_environment(const char *value, struct settings *c, struct buf *note)
{
    (void)note;
    return str_parse_bool(value, &c->proxy_from_environment);
}

int value_seccomp(const char *value, struct settings *c, struct buf *note)
{
    (void)note;
    return str_parse_bool(value, &c->seccomp);
}

int value_emit_events(const char *value, struct settings *c, struct buf *note)
{
    (void)note;
    return str_parse_bool(value, &c->emit_events);
}

int value_status_page(const char *value, struct settings *c, struct buf *note)
{
    (void)note;
    return str_parse_bool(value, &c->status_page);
}

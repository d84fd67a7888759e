/* What the settings of CONFIG_SOURCE=services have: a prefix of annotations, a cluster's name, ports. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "settings/names.h"
#include "settings/settings.h"
#include "settings/types.h"

#define PREFIX_MAX 128
#define CLUSTER_NAME_MAX 63
#define PORT_RANGES_MAX 64

/* A qualified name's beginning, as annotations have it: a part before a slash, and behind it what PORTNAME.OPTION follows. */
int check_annotation_prefix(const char *s, struct buf *note)
{
    const char *slash = strchr(s, '/');
    size_t len = strlen(s);
    (void)note;
    return len <= PREFIX_MAX && name_made_of(s, NAME_ALNUM "-_./") && strchr("-_./", s[0]) == NULL &&
                   strchr("._/", s[len - 1]) == NULL && (slash == NULL || strchr(slash + 1, '/') == NULL)
               ? 0
               : -1;
}

int check_cluster_name(const char *s, struct buf *note)
{
    (void)note;
    return strlen(s) <= CLUSTER_NAME_MAX && name_made_of(s, NAME_ALNUM "-.") ? 0 : -1;
}

/* "8000-8999", or one port. */
static int ports_parse_range(const char *text, struct port_range *ret)
{
    uint64_t from, to;
    const char *dash = strchr(text, '-');
    cleanup(mem_free_ptr) char *first = dash != NULL ? mem_strndup(text, (size_t)(dash - text)) : mem_strdup(text);
    if (str_parse_uint(first, UINT16_MAX, &from) != 0 ||
        str_parse_uint(dash != NULL ? dash + 1 : first, UINT16_MAX, &to) != 0 || from == 0 || from > to)
        return -1;
    *ret = (struct port_range){(uint16_t)from, (uint16_t)to};
    return 0;
}

static int ports_parse(const struct setting *row, const char *value, struct settings *s, struct buf *note)
{
    struct settings_ports *ret = &SETTING_MEMBER(struct settings_ports, row, s);
    (void)note;
    ret->list = mem_array(PORT_RANGES_MAX, sizeof(ret->list[0]));
    for (char *range; (range = value_next_entry(&value)) != NULL;) {
        bool good = ret->count < PORT_RANGES_MAX && ports_parse_range(range, &ret->list[ret->count]) == 0;
        free(range);
        if (!good)
            return -1;
        ret->count++;
    }
    return ret->count > 0 ? 0 : -1;
}

static void ports_print(const struct setting *row, const struct settings *s, struct buf *out)
{
    const struct settings_ports *ports = &SETTING_MEMBER(const struct settings_ports, row, s);
    for (size_t i = 0; i < ports->count; i++) {
        buf_printf(out, "%s%u", i > 0 ? "," : "", ports->list[i].from);
        if (ports->list[i].to != ports->list[i].from)
            buf_printf(out, "-%u", ports->list[i].to);
    }
}

static void ports_fini(const struct setting *row, struct settings *s)
{
    free(SETTING_MEMBER(struct settings_ports, row, s).list);
}

const struct setting_type type_ports = {ports_parse, ports_print, ports_fini};

#include "servers/change/ownership.h"

#include <fnmatch.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/runtime.h"
#include "servers/change/diff.h"

static const char cluster_mark[] = "{cluster}";

/* The length of the placeholder that begins here; 0: none does. */
static size_t ownership_placeholder(const char *at)
{
    const char *end = at[0] == '{' ? strchr(at, '}') : NULL;
    return end != NULL ? (size_t)(end - at) + 1 : 0;
}

/* A placeholder is any text without a '_', but for {cluster} where it is known. */
static bool ownership_fits(const char *format, const char *name, const char *cluster)
{
    for (size_t len; *format != '\0'; format += len) {
        len = ownership_placeholder(format);
        if (len == 0) {
            if (*name++ != *format++)
                return false;
        } else if (cluster != NULL && str_has_prefix(format, cluster_mark)) {
            if (!str_has_prefix(name, cluster))
                return false;
            name += strlen(cluster);
        } else {
            while (*name != '\0' && *name != '_')
                if (ownership_fits(format + len, ++name, cluster))
                    return true;
            return false;
        }
    }
    return *name == '\0';
}

enum ownership ownership_of(const char *format, const char *cluster, const char *name)
{
    if (cluster == NULL || ownership_fits(format, name, cluster))
        return OWNERSHIP_OWN;
    return ownership_fits(format, name, NULL) ? OWNERSHIP_OTHER : OWNERSHIP_NONE;
}

/* The part of text that begins behind so many '_'. */
static const char *ownership_part(const char *text, size_t underscores)
{
    for (; underscores > 0; underscores--)
        text = strchr(text, '_') + 1;
    return text;
}

static size_t ownership_count(const char *text, const char *end)
{
    size_t count = 0;
    for (; text < end; text++)
        count += *text == '_';
    return count;
}

char *ownership_cluster(const char *format, const char *name)
{
    const char *mark = format != NULL ? strstr(format, cluster_mark) : NULL;
    if (mark == NULL || !ownership_fits(format, name, NULL))
        return NULL;
    size_t before = ownership_count(format, mark);
    const char *part = ownership_part(name, before);
    size_t head = (size_t)(mark - ownership_part(format, before));
    size_t tail = strcspn(mark + strlen(cluster_mark), "_");
    return mem_strndup(part + head, strcspn(part, "_") - head - tail);
}

char *ownership_extend(const char *format, const char *name, const char *more)
{
    const char *last = format; /* which has {node} or {address} */
    for (const char *at = format; *at != '\0'; at++)
        if (ownership_placeholder(at) > 0 && !str_has_prefix(at, cluster_mark))
            last = at + ownership_placeholder(at);
    const char *part = ownership_part(name, ownership_count(format, last));
    const char *end = part + strcspn(part, "_") - strcspn(last, "_");
    return mem_printf("%.*s%s%s", (int)(end - name), name, more, end);
}

/* ---- lines ---- */

/* The glob that a name matches; NULL: none. */
const char *diff_keep_glob(const char *name, const struct diff_rules *rules)
{
    for (size_t i = 0; i < rules->keep_count; i++)
        if (fnmatch(rules->keep_servers[i], name, 0) == 0)
            return rules->keep_servers[i];
    return NULL;
}

bool diff_server_is_foreign(const struct backend_server *s, const struct diff_rules *rules,
                            const struct desired *desired)
{
    if (s->backup || diff_keep_glob(s->name, rules) != NULL)
        return true;
    return rules->cluster != NULL &&
           ownership_of(rules->server_name_format, rules->cluster, s->name) != OWNERSHIP_OWN &&
           (desired == NULL || !desired_took_over(desired, s->name));
}

bool diff_manages(const void *owner, const struct backend_server *line)
{
    const struct diff_owner *o = owner;
    return !diff_server_is_foreign(line, o->rules, o->desired);
}

bool diff_server_is_others(const struct backend_server *s, const struct diff_rules *rules)
{
    return rules->cluster != NULL &&
           ownership_of(rules->server_name_format, rules->cluster, s->name) == OWNERSHIP_OTHER;
}

bool diff_others_up(const struct backend *actual, const struct runtime *r, const struct diff_rules *rules)
{
    for (size_t i = 0, at = 0; rules->cluster != NULL && r->readable && i < actual->server_count; i++) {
        const struct backend_server *s = &actual->servers[i];
        const struct runtime_server *is = runtime_find_next(r, s->name, &at);
        if (is != NULL && is->admin == RUNTIME_READY && !is->down && !s->maintenance && !s->backup &&
            (is->weight >= 0 ? is->weight : s->weight) != 0 && diff_server_is_others(s, rules))
            return true;
    }
    return false;
}

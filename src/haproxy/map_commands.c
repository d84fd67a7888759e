#include "haproxy/map_commands.h"

#include <string.h>

#include "base/str.h"
#include "haproxy/map_text.h"
#include "haproxy/storage_files.h"

/* ---- how it is looked up ---- */

/* Others have values that HAProxy may refuse (map_str_int), or go through entries in their order (map_end, map_reg); networks
 * and ranges (map_ip, map_int) can be the same in other words. */
static const char *const converters[] = {"map", "map_str", "map_beg"};

/* The mention is the first argument of such a converter: "map_str(/etc/haproxy/maps/hosts.map,none)". */
static bool map_mention_is_unordered(const char *config, const char *mention, size_t len)
{
    const char *open = mention;
    if (mention[len] != ',' && mention[len] != ')')
        return false;
    while (open > config && (storage_is_of_name(open[-1]) || open[-1] == '/'))
        open--;
    if (open == config || *--open != '(')
        return false;
    const char *name = open;
    while (name > config && storage_is_of_name(name[-1]))
        name--;
    for (size_t i = 0; i < array_len(converters); i++)
        if ((size_t)(open - name) == strlen(converters[i]) && str_has_prefix(name, converters[i]))
            return true;
    return false;
}

bool map_is_unordered(const char *config, const char *stored)
{
    size_t len = strlen(stored);
    const char *mention = storage_find_named(config, config, stored);
    bool unordered = mention != NULL && strstr(config, "lua-load") == NULL; /* Lua has converters, too */
    for (; mention != NULL && unordered; mention = storage_find_named(config, mention + 1, stored))
        unordered = map_mention_is_unordered(config, mention, len);
    return unordered;
}

/* ---- what differs ---- */

static bool map_keys_are_unique(const struct map_entries *sorted)
{
    for (size_t i = 1; i < sorted->count; i++)
        if (map_entry_order_of_keys(&sorted->list[i - 1], &sorted->list[i]) == 0)
            return false;
    return true;
}

/* Without what separates or escapes words, commands or what goes with them. */
static bool map_is_word(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] <= ' ' || text[i] > '~' || strchr("\"'\\;#<", text[i]) != NULL)
            return false;
    return len > 0;
}

enum map_command { MAP_ADD, MAP_SET, MAP_DELETE };

struct map_printed {
    const char *path;
    size_t count;
    struct buf text[3]; /* by enum map_command */
};

static bool map_print(struct map_printed *p, enum map_command c, const struct map_entry *e)
{
    static const char *const names[] = {[MAP_ADD] = "add", [MAP_SET] = "set", [MAP_DELETE] = "del"};
    bool with_value = c != MAP_DELETE;
    size_t bytes = strlen(p->path) + e->key_len + e->value_len;
    if (p->count == MAP_COMMANDS_MAX || bytes >= MAP_COMMAND_MAX_BYTES || !map_is_word(e->key, e->key_len) ||
        (with_value && !map_is_word(e->value, e->value_len)))
        return false;
    p->count++;
    buf_printf(&p->text[c], "%s map %s %.*s", names[c], p->path, (int)e->key_len, e->key);
    if (with_value)
        buf_printf(&p->text[c], " %.*s", (int)e->value_len, e->value);
    buf_add(&p->text[c], "\n");
    return true;
}

static bool map_print_difference(struct map_printed *p, const struct map_entries *is, const struct map_entries *wanted)
{
    struct map_walk walk = {.a = is, .b = wanted};
    const struct map_entry *from, *to;
    bool few = true;
    while (few && map_walk_next(&walk, &from, &to)) {
        if (to == NULL)
            few = map_print(p, MAP_DELETE, from);
        else if (from == NULL)
            few = map_print(p, MAP_ADD, to);
        else if (map_entry_order(from, to) != 0)
            few = map_print(p, MAP_SET, to);
    }
    return few && 4 * p->count < wanted->count;
}

bool map_commands_print(const char *now, const char *next, const char *path, struct buf *ret)
{
    cleanup(map_entries_fini) struct map_entries is = {0}, wanted = {0};
    struct map_printed p = {.path = path};
    buf_clear(ret);
    map_entries_read(&is, now);
    map_entries_read(&wanted, next);
    map_entries_sort(&is, map_entry_order);
    map_entries_sort(&wanted, map_entry_order);
    bool few = map_keys_are_unique(&is) && map_keys_are_unique(&wanted) && map_print_difference(&p, &is, &wanted);
    for (size_t c = 0; c < array_len(p.text); c++) {
        if (few)
            buf_add(ret, buf_str(&p.text[c]));
        buf_fini(&p.text[c]);
    }
    return few;
}

#include "haproxy/cfg/server_line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/keywords.h"

/* A keyword of the line, with its argument, and what the API must show for it. */
struct found {
    const struct cfg_keyword *keyword; /* NULL: the table does not know it, the object does */
    char *key;
    const struct cfg_word *word, *argument; /* argument NULL: none */
};

struct line_keywords {
    struct found *list;
    size_t count;
    char *source; /* of all words of `source`, as the API joins them; NULL: none */
};

static void line_keywords_fini(struct line_keywords *k)
{
    for (size_t i = 0; i < k->count; i++)
        free(k->list[i].key);
    free(k->list);
    free(k->source);
}

/* The API's own tokenizer keeps quotes and escapes, so its strings may hold either form. */
static bool cfg_server_line_same_text(yyjson_val *val, const struct cfg_word *w)
{
    if (!yyjson_is_str(val))
        return false;
    return yyjson_equals_str(val, w->text) || yyjson_equals_strn(val, w->raw, w->raw_len);
}

static bool same_number(yyjson_val *val, const char *text, bool zero_is_left_out)
{
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || text[0] == '+')
        return false;
    if (zero_is_left_out && n == 0 && val == NULL)
        return true;
    if (yyjson_is_uint(val))
        return n >= 0 && (uint64_t)n == yyjson_get_uint(val);
    return yyjson_is_sint(val) && n == yyjson_get_sint(val);
}

/* HAProxy's time format to ms; -1 where the API, which counts in ms, cannot hold it. */
static int64_t time_ms(const char *text)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"", 1}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    uint64_t n = 0;
    const char *unit = text + strspn(text, "0123456789");
    cleanup(mem_free_ptr) char *digits = mem_strndup(text, (size_t)(unit - text));
    if (str_parse_uint(digits, UINT32_MAX, &n) != 0)
        return -1;
    if (str_eq(unit, "us"))
        return n % 1000 == 0 ? (int64_t)(n / 1000) : -1;
    for (size_t i = 0; i < array_len(units); i++)
        if (str_eq(unit, units[i].unit))
            return (int64_t)n * units[i].ms;
    return -1;
}

static bool same_list(yyjson_val *val, const struct cfg_word *w)
{
    cleanup(buf_fini) struct buf joined = {0};
    yyjson_val *item;
    yyjson_arr_iter iter = yyjson_arr_iter_with(val);
    if (!yyjson_is_arr(val))
        return false;
    for (size_t n = 0; (item = yyjson_arr_iter_next(&iter)) != NULL; n++) {
        if (!yyjson_is_str(item))
            return false;
        buf_add(&joined, n > 0 ? "," : "");
        buf_addn(&joined, yyjson_get_str(item), yyjson_get_len(item));
    }
    return str_eq(buf_str(&joined), w->text) ||
           (joined.len == w->raw_len && memcmp(buf_str(&joined), w->raw, w->raw_len) == 0);
}

/* set-proxy-v2-tlv-fmt(0x20) FORMAT is {"id":"0x20","value":"FORMAT"}. */
static bool same_tlv(yyjson_val *val, const struct found *f)
{
    const char *open = strchr(f->word->text, '(');
    yyjson_val *id = yyjson_obj_get(val, "id");
    size_t len = open != NULL ? strlen(open + 1) : 0;
    if (len < 1 || open[len] != ')')
        return false;
    return yyjson_equals_strn(id, open + 1, len - 1) &&
           cfg_server_line_same_text(yyjson_obj_get(val, "value"), f->argument);
}

static bool same_value(const struct found *f, yyjson_val *val, const char *source)
{
    const char *text = f->argument != NULL ? f->argument->text : "";
    if (f->keyword == NULL)
        return true; /* newer than the table: its name is all there is to go by */
    switch (f->keyword->form) {
    case RAWCFG_ON:
        return yyjson_equals_str(val, "enabled");
    case RAWCFG_OFF:
        return yyjson_equals_str(val, "disabled");
    case RAWCFG_TRUE:
        return yyjson_is_true(val);
    case RAWCFG_TEXT:
        return cfg_server_line_same_text(val, f->argument);
    case RAWCFG_NUMBER:
        return same_number(val, text, false);
    case RAWCFG_NUMBER_NOT_0:
        return same_number(val, text, true);
    case RAWCFG_TIME:
        return yyjson_is_int(val) && time_ms(text) >= 0 && time_ms(text) == yyjson_get_sint(val);
    case RAWCFG_LIST:
        return same_list(val, f->argument);
    case RAWCFG_TLV:
        return same_tlv(val, f);
    case RAWCFG_SOURCE:
        return yyjson_equals_str(val, source != NULL ? source : "");
    case RAWCFG_CALL:
        return yyjson_is_str(val) && str_has_prefix(text, yyjson_get_str(val));
    }
    return false;
}

/* For a keyword that the table does not know: under which key the object has it; NULL: not at all. */
static char *key_in(yyjson_val *obj, const char *word)
{
    const char *const forms[] = {word, str_has_prefix(word, "no-") ? word + 3 : word};
    if (str_eq(word, "name") || str_eq(word, "address") || str_eq(word, "metadata"))
        return NULL; /* not keywords: the first words of the line and its comment */
    for (size_t i = 0; i < array_len(forms); i++) {
        char *key = mem_strdup(forms[i]);
        if (yyjson_obj_get(obj, key) != NULL)
            return key;
        for (char *p = key; *p != '\0'; p++)
            *p = *p == '-' ? '_' : *p;
        if (yyjson_obj_get(obj, key) != NULL)
            return key;
        free(key);
    }
    return NULL;
}

static bool has_argument(const struct found *f, yyjson_val *obj)
{
    if (f->keyword != NULL)
        return cfg_keyword_takes_argument(f->keyword);
    yyjson_val *val = yyjson_obj_get(obj, f->key);
    return !yyjson_is_bool(val) && !yyjson_equals_str(val, "enabled") && !yyjson_equals_str(val, "disabled");
}

static void join_source(char **source, const struct found *f)
{
    char *joined = *source == NULL ? mem_strdup(f->argument->text)
                                   : mem_printf("%s %s %s", *source, f->word->text, f->argument->text);
    free(*source);
    *source = joined;
}

/* Fills k; otherwise the problem. */
static char *read_keywords(const struct cfg_line *l, size_t first, yyjson_val *obj, struct line_keywords *k)
{
    k->list = mem_array(l->count, sizeof(*k->list));
    for (size_t i = first; i < l->count; i++) {
        struct found *f = &k->list[k->count];
        f->word = &l->words[i];
        f->keyword = cfg_keyword_find(f->word->text);
        f->key = f->keyword != NULL ? mem_strdup(f->keyword->key) : key_in(obj, f->word->text);
        if (f->key == NULL)
            return mem_printf("\"%.64s\" is not known to the Data Plane API, which may lose it with any write",
                              f->word->text);
        k->count++;
        if (!has_argument(f, obj))
            continue;
        if (++i == l->count)
            return mem_printf("\"%.64s\" lacks its argument", f->word->text);
        f->argument = &l->words[i];
        if (f->keyword != NULL && f->keyword->form == RAWCFG_SOURCE)
            join_source(&k->source, f);
    }
    return NULL;
}

/* A later word for the same field overrides; set-proxy-v2-tlv-fmt is the one that adds up. */
static bool is_overridden(const struct line_keywords *k, size_t i)
{
    const struct found *f = &k->list[i];
    if (f->keyword != NULL && f->keyword->form == RAWCFG_TLV)
        return false;
    for (size_t j = i + 1; j < k->count; j++)
        if (str_eq(k->list[j].key, f->key))
            return true;
    return false;
}

static char *compare(const struct found *f, yyjson_val *obj, const char *source, bool values)
{
    yyjson_val *val = yyjson_obj_get(obj, f->key);
    const char *space = f->argument != NULL ? " " : "", *text = f->argument != NULL ? f->argument->text : "";
    if (!values)
        return val != NULL || (f->keyword != NULL && f->keyword->form == RAWCFG_NUMBER_NOT_0)
                   ? NULL
                   : mem_printf("the Data Plane API does not show \"%.64s%s%.64s\"", f->word->text, space, text);
    if (same_value(f, val, source))
        return NULL;
    return mem_printf(val == NULL ? "the Data Plane API does not show \"%.64s%s%.64s\", and may lose it with any write"
                                  : "the Data Plane API shows \"%.64s%s%.64s\" as something else, and would change it",
                      f->word->text, space, text);
}

char *cfg_keywords_problem(const struct cfg_line *l, size_t first, yyjson_val *obj, bool values)
{
    cleanup(line_keywords_fini) struct line_keywords k = {0};
    char *problem = read_keywords(l, first, obj, &k);
    for (size_t i = 0; problem == NULL && obj != NULL && i < k.count; i++)
        if (!is_overridden(&k, i))
            problem = compare(&k.list[i], obj, k.source, values);
    return problem;
}

/* ADDRESS, ADDRESS:PORT or [ADDRESS]:PORT, as the API takes it apart. */
static bool same_address(const struct cfg_word *w, yyjson_val *obj)
{
    const char *address = yyjson_get_str(yyjson_obj_get(obj, "address")), *rest = w->text;
    yyjson_val *port = yyjson_obj_get(obj, "port");
    if (address == NULL)
        return false;
    bool bracket = rest[0] == '[';
    rest += bracket ? 1 : 0;
    if (!str_has_prefix(rest, address))
        return false;
    rest += strlen(address);
    if (bracket && *rest++ != ']')
        return false;
    if (port == NULL || yyjson_is_null(port))
        return *rest == '\0';
    return *rest == ':' && same_number(port, rest + 1, false);
}

char *cfg_server_problem(const struct cfg_line *l, yyjson_val *obj)
{
    if (!same_address(&l->words[2], obj))
        return mem_printf("the Data Plane API shows the address %.128s as something else, and would change it",
                          l->words[2].text);
    return cfg_keywords_problem(l, 3, obj, true);
}

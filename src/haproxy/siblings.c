#include "haproxy/siblings.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/shared_text.h"
#include "base/str.h"
#include "base/text.h"
#include "haproxy/cfg/keywords.h"
#include "json/read.h"
#include "json/write.h"

#define KEYWORDS_SHOWN 5

/* The daemon's, or one server's own: words of a line, and how the Data Plane API calls them. */
static const char *const not_shared[] = {
    "name",  "address",   "port",     "weight",     "check",     "no-check",      "health_check_port", "backup",
    "track", "no-backup", "disabled", "enabled",    "init-addr", "send-proxy-v2", "no-send-proxy-v2",  "id",
    "guid",  "cookie",    "metadata", "maintenance"};

/* ---- of a line ---- */

/* Where the keyword behind that at `at` begins: `source ADDRESS usesrc ADDRESS` is one. At the first that is not known
 * the line ends: which of the words behind it are its arguments is not known either. */
static size_t siblings_next_keyword(const struct cfg_line *l, size_t at)
{
    const struct cfg_keyword *k = cfg_keyword_find(cfg_word(l, at));
    size_t next = at + 1 + (k != NULL && cfg_keyword_takes_argument(k) && at + 1 < l->count);
    while (str_eq(cfg_word(l, at), "source") && next + 1 < l->count &&
           (str_eq(cfg_word(l, next), "usesrc") || str_eq(cfg_word(l, next), "interface")))
        next += 2;
    return next;
}

static void siblings_add_raw(struct buf *out, const struct cfg_line *l, size_t at, size_t end)
{
    for (; at < end; at++) {
        buf_add(out, out->len > 0 ? " " : "");
        buf_addn(out, l->words[at].raw, l->words[at].raw_len);
    }
}

const char *siblings_rest_of_line(const struct cfg_line *l)
{
    struct buf out = {0};
    for (size_t i = 3, next; i < l->count && cfg_keyword_find(cfg_word(l, i)) != NULL; i = next) {
        next = siblings_next_keyword(l, i);
        if (!cfg_is_among(cfg_word(l, i), not_shared, array_len(not_shared)))
            siblings_add_raw(&out, l, i, next);
    }
    return out.len > 0 ? shared_text_take(buf_take(&out)) : NULL;
}

static bool siblings_has_words(const struct cfg_line *l, const struct cfg_line *of, size_t at, size_t end)
{
    for (size_t k = 0, next; k < l->count; k = next) {
        next = siblings_next_keyword(l, k);
        bool same = next - k == end - at;
        for (size_t n = 0; same && n < end - at; n++) {
            const struct cfg_word *x = &of->words[at + n], *y = &l->words[k + n];
            same = x->raw_len == y->raw_len && memcmp(x->raw, y->raw, x->raw_len) == 0;
        }
        if (same)
            return true;
    }
    return false;
}

/* Keywords of `a` that b has, too, or those that it has not: of them the names alone. */
static char *siblings_of_lines(const char *a, const char *b, bool has)
{
    struct text_list names = {.between = ", ", .max = KEYWORDS_SHOWN};
    struct buf out = {0};
    struct cfg_line x, y;
    cfg_line_init(&x);
    cfg_line_init(&y);
    cfg_line_split(&x, a, strlen(a));
    cfg_line_split(&y, b, strlen(b));
    for (size_t i = 0, next; i < x.count; i = next) {
        next = siblings_next_keyword(&x, i);
        bool both = siblings_has_words(&y, &x, i, next);
        if (has && both)
            siblings_add_raw(&out, &x, i, next);
        else if (!has && !both && text_list_next(&names))
            buf_add(&names.text, cfg_word(&x, i));
    }
    cfg_line_fini(&x);
    cfg_line_fini(&y);
    return has ? buf_take(&out) : text_list_take(&names);
}

/* ---- of an object ---- */

const char *siblings_rest_of_object(yyjson_val *server)
{
    yyjson_mut_val *root;
    cleanup(json_free_ptr) yyjson_mut_doc *doc = json_new(&root);
    yyjson_val *key, *val;
    size_t i, count;
    yyjson_obj_foreach (server, i, count, key, val)
        if (!cfg_is_among(yyjson_get_str(key), not_shared, array_len(not_shared)))
            json_set(doc, root, yyjson_get_str(key), yyjson_val_mut_copy(doc, val));
    if (yyjson_mut_obj_size(root) == 0)
        return NULL;
    return shared_text_take(yyjson_mut_val_write(root, YYJSON_WRITE_NOFLAG, NULL));
}

static char *siblings_of_objects(const char *a, const char *b, bool has)
{
    struct text_list names = {.between = ", ", .max = KEYWORDS_SHOWN};
    yyjson_mut_val *root;
    cleanup(json_doc_free_ptr) yyjson_doc *x = json_parse(a, strlen(a), YYJSON_READ_BIGNUM_AS_RAW, "the server", NULL);
    cleanup(json_doc_free_ptr) yyjson_doc *y = json_parse(b, strlen(b), YYJSON_READ_BIGNUM_AS_RAW, "the server", NULL);
    cleanup(json_free_ptr) yyjson_mut_doc *doc = json_new(&root);
    yyjson_val *key, *val;
    size_t i, count;
    yyjson_obj_foreach (yyjson_doc_get_root(x), i, count, key, val) {
        bool both = yyjson_equals(val, yyjson_obj_get(yyjson_doc_get_root(y), yyjson_get_str(key)));
        if (has && both)
            json_set(doc, root, yyjson_get_str(key), yyjson_val_mut_copy(doc, val));
        else if (!has && !both && text_list_next(&names))
            buf_add(&names.text, yyjson_get_str(key));
    }
    if (!has)
        return text_list_take(&names);
    return yyjson_mut_obj_size(root) > 0 ? yyjson_mut_val_write(root, YYJSON_WRITE_NOFLAG, NULL) : mem_strdup("");
}

/* ---- of either ---- */

static char *siblings_of(const char *a, const char *b, bool has)
{
    bool objects = str_has_prefix(a, "{") || str_has_prefix(b, "{");
    return objects ? siblings_of_objects(a, *b != '\0' ? b : "{}", has) : siblings_of_lines(a, b, has);
}

const char *siblings_common(const char *a, const char *b)
{
    if (a == NULL || b == NULL || a == b || str_eq(a, b))
        return b == NULL ? NULL : shared_text(a);
    cleanup(mem_free_ptr) char *both = siblings_of(a, b, true);
    return both[0] != '\0' ? shared_text(both) : NULL;
}

char *siblings_beyond(const char *all, const char *common)
{
    return all == NULL || str_eq(all, common) ? NULL : siblings_of(all, common != NULL ? common : "", false);
}

/* ---- as words ---- */

/* A value that needs quotes is left to the Data Plane API itself. */
static bool siblings_print_field(const char *key, yyjson_val *val, struct buf *out)
{
    const struct cfg_keyword *k = cfg_keyword_of_field(key, yyjson_equals_str(val, "disabled"));
    const char *text = yyjson_get_str(val);
    yyjson_val *one;
    size_t i, count;
    if (k == NULL)
        return false;
    buf_printf(out, " %s", k->name);
    switch (k->form) {
    case RAWCFG_ON:
        return str_eq(text, "enabled");
    case RAWCFG_OFF:
        return str_eq(text, "disabled");
    case RAWCFG_TRUE:
        return yyjson_is_true(val);
    case RAWCFG_TEXT:
        buf_printf(out, " %s", text != NULL ? text : "");
        return text != NULL && cfg_fits_command(text);
    case RAWCFG_NUMBER:
    case RAWCFG_NUMBER_NOT_0:
    case RAWCFG_TIME:
        buf_printf(out, " %lld", (long long)yyjson_get_sint(val));
        return yyjson_is_int(val);
    case RAWCFG_LIST:
        yyjson_arr_foreach (val, i, count, one) {
            if (!yyjson_is_str(one) || !cfg_fits_command(yyjson_get_str(one)))
                return false;
            buf_printf(out, "%s%s", i == 0 ? " " : ",", yyjson_get_str(one));
        }
        return yyjson_arr_size(val) > 0;
    case RAWCFG_TLV:
    case RAWCFG_SOURCE:
    case RAWCFG_CALL:
        break;
    }
    return false;
}

int siblings_print(const char *rest, struct buf *out, struct error *err)
{
    if (!str_has_prefix(rest, "{")) {
        buf_printf(out, " %s", rest);
        return 0;
    }
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(rest, strlen(rest), 0, "the server", err);
    yyjson_val *key, *val;
    size_t i, count;
    if (doc == NULL)
        return -1;
    yyjson_obj_foreach (yyjson_doc_get_root(doc), i, count, key, val)
        if (!siblings_print_field(yyjson_get_str(key), val, out))
            return error_set(err, ERROR_INVALID, "how \"%.64s\" stands in a line is not known", yyjson_get_str(key));
    return 0;
}

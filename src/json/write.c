#include "json/write.h"

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/rfc3339.h"
#include "base/mem.h"
#include "base/text.h"

yyjson_mut_doc *json_new(yyjson_mut_val **ret_root)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    *ret_root = doc != NULL ? yyjson_mut_obj(doc) : NULL;
    if (*ret_root == NULL)
        abort(); /* out of memory */
    yyjson_mut_doc_set_root(doc, *ret_root);
    return doc;
}

void json_free(yyjson_mut_doc *doc)
{
    yyjson_mut_doc_free(doc);
}

void json_free_ptr(yyjson_mut_doc **doc)
{
    yyjson_mut_doc_free(*doc);
}

/* Strings that yyjson would refuse are shown as on a page; all others stay what they are, for JSON escapes what is
 * dangerous. */
yyjson_mut_val *json_text(yyjson_mut_doc *doc, const char *s)
{
    if (s == NULL)
        return yyjson_mut_null(doc);
    if (text_is_utf8(s))
        return yyjson_mut_strcpy(doc, s);
    cleanup(mem_free_ptr) char *safe = text_shown(s, TEXT_TERMINAL, TEXT_WHOLE);
    return yyjson_mut_strcpy(doc, safe);
}

void json_set(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, yyjson_mut_val *value)
{
    if (!yyjson_mut_obj_put(obj, yyjson_mut_str(doc, key), value))
        abort(); /* out of memory: the types are right */
}

void json_put(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, yyjson_mut_val *value)
{
    if (!yyjson_mut_obj_add(obj, yyjson_mut_str(doc, key), value))
        abort(); /* out of memory */
}

void json_put_text(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, const char *s)
{
    json_put(doc, obj, key, json_text(doc, s));
}

void json_put_bool(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, bool b)
{
    json_put(doc, obj, key, yyjson_mut_bool(doc, b));
}

void json_put_count(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, uint64_t n)
{
    json_put(doc, obj, key, yyjson_mut_uint(doc, n));
}

void json_put_int_or_null(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, int64_t n)
{
    json_put(doc, obj, key, n >= 0 ? yyjson_mut_sint(doc, n) : yyjson_mut_null(doc));
}

void json_put_time(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, int64_t wall_ms)
{
    char text[RFC3339_BYTES];
    rfc3339_format(wall_ms * 1000, 3, text);
    json_put_text(doc, obj, key, wall_ms > 0 ? text : NULL);
}

yyjson_mut_val *json_put_list(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key)
{
    yyjson_mut_val *list = yyjson_mut_arr(doc);
    json_put(doc, obj, key, list);
    return list;
}

void json_put_texts(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, const char *const *texts, size_t count)
{
    yyjson_mut_val *list = json_put_list(doc, obj, key);
    for (size_t i = 0; i < count; i++)
        json_add(list, json_text(doc, texts[i]));
}

yyjson_mut_val *json_put_object(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key)
{
    yyjson_mut_val *inner = yyjson_mut_obj(doc);
    json_put(doc, obj, key, inner);
    return inner;
}

void json_add(yyjson_mut_val *list, yyjson_mut_val *value)
{
    if (!yyjson_mut_arr_append(list, value))
        abort(); /* out of memory */
}

yyjson_mut_val *json_add_object(yyjson_mut_doc *doc, yyjson_mut_val *list)
{
    yyjson_mut_val *obj = yyjson_mut_obj(doc);
    json_add(list, obj);
    return obj;
}

char *json_take(yyjson_mut_doc *doc)
{
    char *text = yyjson_mut_write(doc, YYJSON_WRITE_NOFLAG, NULL);
    if (text == NULL)
        abort(); /* out of memory: every string is UTF-8 */
    json_free(doc);
    return text;
}

void json_write(yyjson_mut_doc *doc, bool pretty, struct buf *out)
{
    yyjson_write_flag flags = YYJSON_WRITE_ESCAPE_UNICODE | (pretty ? YYJSON_WRITE_PRETTY_TWO_SPACES : 0);
    size_t len = 0;
    char *text = yyjson_mut_write(doc, flags, &len);
    if (text == NULL)
        abort(); /* out of memory: every string is UTF-8 */
    /* The one control character that yyjson leaves as it is. */
    for (size_t at = 0; at < len;) {
        size_t plain = strcspn(text + at, "\x7f");
        buf_addn(out, text + at, plain);
        at += plain;
        if (at < len) {
            buf_add(out, "\\u007f");
            at++;
        }
    }
    free(text);
}

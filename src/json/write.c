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

static yyjson_mut_val *json_value(yyjson_mut_doc *doc, const struct json_field *f)
{
    char at[RFC3339_BYTES];
    switch (f->type) {
    case JSON_FIELD_END:
    case JSON_FIELD_STR:
        return json_text(doc, f->str);
    case JSON_FIELD_BOOL:
        return yyjson_mut_bool(doc, f->num != 0);
    case JSON_FIELD_UINT:
        return yyjson_mut_uint(doc, (uint64_t)f->num);
    case JSON_FIELD_INT:
        return f->num >= 0 ? yyjson_mut_sint(doc, f->num) : yyjson_mut_null(doc);
    case JSON_FIELD_MS:
        rfc3339_format(f->num * 1000, 3, at);
        return json_text(doc, f->num > 0 ? at : NULL);
    }
    abort();
}

void json_put_fields(yyjson_mut_doc *doc, yyjson_mut_val *obj, const struct json_field *fields)
{
    for (; fields->type != JSON_FIELD_END; fields++)
        json_put(doc, obj, fields->key, json_value(doc, fields));
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

void json_print(yyjson_mut_doc *doc, struct buf *out)
{
    json_write(doc, true, out);
    buf_add(out, "\n");
    json_free(doc);
}

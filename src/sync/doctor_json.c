/* `doctor -o json`; the fields are documented in sync/doctor_print.h. */
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/mem.h"
#include "sync/doctor_print.h"
#include "sync/doctor_report.h"
#include "sync/page.h"

/* A byte that is no UTF-8 is shown as on a page: yyjson would refuse it. NULL: null. */
static yyjson_mut_val *text_of(yyjson_mut_doc *doc, const char *s)
{
    if (s == NULL)
        return yyjson_mut_null(doc);
    cleanup(mem_free_ptr) char *safe = page_is_utf8(s) ? mem_strdup(s) : page_safe(s);
    return yyjson_mut_strcpy(doc, safe);
}

static void put(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, yyjson_mut_val *value)
{
    if (value == NULL || !yyjson_mut_obj_add(obj, yyjson_mut_str(doc, key), value))
        abort(); /* out of memory */
}

static void append(yyjson_mut_val *list, yyjson_mut_val *value)
{
    if (value == NULL || !yyjson_mut_arr_append(list, value))
        abort(); /* out of memory */
}

static yyjson_mut_val *lines_of(yyjson_mut_doc *doc, const char *lines)
{
    yyjson_mut_val *list = yyjson_mut_arr(doc);
    for (const char *at = lines; at != NULL && *at != '\0';) {
        size_t len = strcspn(at, "\n");
        cleanup(mem_free_ptr) char *line = mem_strndup(at, len);
        append(list, text_of(doc, line));
        at += len + (at[len] == '\n');
    }
    return list;
}

static yyjson_mut_val *fixes_of(yyjson_mut_doc *doc, const struct doctor_check *c)
{
    yyjson_mut_val *list = yyjson_mut_arr(doc);
    for (size_t i = 0; i < c->fix_count; i++) {
        yyjson_mut_val *fix = yyjson_mut_obj(doc);
        put(doc, fix, "how", text_of(doc, c->fixes[i].how));
        put(doc, fix, "lines", lines_of(doc, c->fixes[i].lines));
        put(doc, fix, "also", yyjson_mut_bool(doc, c->fixes[i].also));
        append(list, fix);
    }
    return list;
}

static yyjson_mut_val *check_of(yyjson_mut_doc *doc, const struct doctor_section *s, const struct doctor_check *c)
{
    yyjson_mut_val *obj = yyjson_mut_obj(doc);
    put(doc, obj, "id", text_of(doc, c->id));
    put(doc, obj, "section", text_of(doc, s->kind));
    put(doc, obj, "subject", text_of(doc, s->subject));
    put(doc, obj, "label", text_of(doc, c->label));
    put(doc, obj, "status", text_of(doc, doctor_mark_word(c->mark)));
    put(doc, obj, "found", text_of(doc, c->found));
    put(doc, obj, "why", text_of(doc, c->why));
    put(doc, obj, "fixes", fixes_of(doc, c));
    return obj;
}

static yyjson_mut_val *counts_of(yyjson_mut_doc *doc, const struct doctor_report *r)
{
    yyjson_mut_val *obj = yyjson_mut_obj(doc);
    for (int m = 0; m < DOCTOR_MARKS; m++)
        put(doc, obj, doctor_mark_word((enum doctor_mark)m),
            yyjson_mut_uint(doc, doctor_count(r, (enum doctor_mark)m)));
    return obj;
}

/* The one control character that yyjson leaves as it is. */
static void add_escaped(struct buf *out, const char *text, size_t len)
{
    for (size_t at = 0; at < len;) {
        size_t plain = strcspn(text + at, "\x7f");
        buf_addn(out, text + at, plain);
        at += plain;
        if (at < len) {
            buf_add(out, "\\u007f");
            at++;
        }
    }
}

void doctor_print_json(const struct doctor_report *r, struct buf *out)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    if (doc == NULL)
        abort(); /* out of memory */
    yyjson_mut_val *root = yyjson_mut_obj(doc), *checks = yyjson_mut_arr(doc);
    enum doctor_mark worst = doctor_status(r) != 0              ? DOCTOR_FAIL
                             : doctor_count(r, DOCTOR_WARN) > 0 ? DOCTOR_WARN
                                                                : DOCTOR_OK;
    yyjson_mut_doc_set_root(doc, root);
    put(doc, root, "status", text_of(doc, doctor_mark_word(worst)));
    put(doc, root, "counts", counts_of(doc, r));
    put(doc, root, "checks", checks);
    for (size_t s = 0; s < r->section_count; s++)
        for (size_t i = 0; i < r->sections[s]->check_count; i++)
            append(checks, check_of(doc, r->sections[s], r->sections[s]->checks[i]));
    size_t len = 0;
    char *text = yyjson_mut_write(doc, YYJSON_WRITE_PRETTY_TWO_SPACES | YYJSON_WRITE_ESCAPE_UNICODE, &len);
    if (text == NULL)
        abort(); /* out of memory: every string is UTF-8 */
    add_escaped(out, text, len);
    buf_add(out, "\n");
    free(text);
    yyjson_mut_doc_free(doc);
}

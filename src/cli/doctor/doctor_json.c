/* `doctor -o json`; the fields are documented in cli/doctor/doctor_print.h. */
#include <string.h>

#include "base/mem.h"
#include "cli/doctor/doctor_print.h"
#include "cli/doctor/doctor_report.h"
#include "json/write.h"

static void put_lines(struct yyjson_mut_doc *doc, struct yyjson_mut_val *obj, const char *lines)
{
    struct yyjson_mut_val *list = json_put_list(doc, obj, "lines");
    for (const char *at = lines; at != NULL && *at != '\0';) {
        size_t len = strcspn(at, "\n");
        cleanup(mem_free_ptr) char *line = mem_strndup(at, len);
        json_add(list, json_text(doc, line));
        at += len + (at[len] == '\n');
    }
}

static void put_fixes(struct yyjson_mut_doc *doc, struct yyjson_mut_val *obj, const struct doctor_check *c)
{
    struct yyjson_mut_val *list = json_put_list(doc, obj, "fixes");
    for (size_t i = 0; i < c->fix_count; i++) {
        struct yyjson_mut_val *fix = json_add_object(doc, list);
        json_put_text(doc, fix, "how", c->fixes[i].how);
        put_lines(doc, fix, c->fixes[i].lines);
        json_put_bool(doc, fix, "also", c->fixes[i].also);
    }
}

static void add_check(struct yyjson_mut_doc *doc, struct yyjson_mut_val *list, const struct doctor_section *s,
                      const struct doctor_check *c)
{
    struct yyjson_mut_val *obj = json_add_object(doc, list);
    json_put_text(doc, obj, "id", c->id);
    json_put_text(doc, obj, "section", s->kind);
    json_put_text(doc, obj, "subject", s->subject);
    json_put_text(doc, obj, "label", c->label);
    json_put_text(doc, obj, "status", doctor_mark_word(c->mark));
    json_put_text(doc, obj, "found", c->found);
    json_put_text(doc, obj, "why", c->why);
    put_fixes(doc, obj, c);
}

static enum doctor_mark worst_of(const struct doctor_report *r)
{
    if (doctor_status(r) != 0)
        return DOCTOR_FAIL;
    return doctor_count(r, DOCTOR_WARN) > 0 ? DOCTOR_WARN : DOCTOR_OK;
}

void doctor_print_json(const struct doctor_report *r, struct buf *out)
{
    struct yyjson_mut_val *root;
    struct yyjson_mut_doc *doc = json_new(&root);
    json_put_text(doc, root, "status", doctor_mark_word(worst_of(r)));
    struct yyjson_mut_val *counts = json_put_object(doc, root, "counts");
    for (enum doctor_mark m = DOCTOR_OK; m < DOCTOR_MARKS; m++)
        json_put_count(doc, counts, doctor_mark_word(m), doctor_count(r, m));
    struct yyjson_mut_val *checks = json_put_list(doc, root, "checks");
    for (size_t s = 0; s < r->section_count; s++)
        for (size_t i = 0; i < r->sections[s]->check_count; i++)
            add_check(doc, checks, r->sections[s], r->sections[s]->checks[i]);
    json_write(doc, true, out);
    buf_add(out, "\n");
    json_free(doc);
}

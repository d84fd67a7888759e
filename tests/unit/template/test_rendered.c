/* src/template/render: what a process that may be in a template's hand sends its parent. */

#include "base/buf.h"
#include "base/mem.h"
#include "set_text.h"
#include "template/objects.h"
#include "template/render.h"

/* As in render.c. */
struct wire {
    uint32_t what, kind;
    uint64_t line, column, resource;
    size_t len[4];
};

static struct error err;
static struct template_set *s;
static struct objects *o;
static struct rendered r;
static struct buf out;

static void setup(void)
{
    s = good_set("watch:\n  pods: {apiVersion: v1, kind: Pod}\n  nodes: {apiVersion: v1, kind: Node}\n");
    o = objects_new(s);
}

static void teardown(void)
{
    rendered_fini(&r);
    buf_fini(&out);
    error_clear(&err);
    objects_free(o);
    template_set_free(s);
}

FIXTURE(setup, teardown)

static void add(struct wire head, const char *name, const char *text, const char *object)
{
    head.len[0] = strlen(name), head.len[1] = strlen(text), head.len[3] = strlen(object);
    buf_addn(&out, (const char *)&head, sizeof(head));
    buf_add(&out, name);
    buf_add(&out, text);
    buf_add(&out, object);
}

static const struct {
    struct wire head;
    const char *object;
    bool objects, good;
} records[] = {
    {{.what = ENGINE_OUTPUT, .kind = ENGINE_FILE}, "", true, true},
    {{.what = ENGINE_OUTPUT, .kind = ENGINE_FILE, .resource = 9}, "", true, true},
    {{.what = ENGINE_OUTPUT, .kind = ENGINE_FILE + 1}, "", true, false},
    {{.what = ENGINE_OUTPUT, .kind = UINT32_MAX}, "", true, false},
    {{.what = ENGINE_WARNING, .resource = 1}, "x/a", true, true},
    {{.what = ENGINE_WARNING, .resource = 2}, "x/a", true, false},
    {{.what = ENGINE_EVENT, .resource = UINT64_MAX}, "x/a", true, false},
    {{.what = ENGINE_EVENT, .resource = 2}, "", true, false},
    {{.what = ENGINE_WARNING}, "x/a", false, false},
    {{.what = ENGINE_PLACED + 1}, "", true, false},
    {{.what = UINT32_MAX, .resource = 7}, "", true, false},
};

TEST_EACH(numbers_of_a_record, array_len(records))
{
    add((struct wire){.what = ENGINE_OUTPUT}, "haproxy.cfg", "text", "");
    add(records[_i].head, "", "said", records[_i].object);
    int rc = rendered_read(&r, records[_i].objects ? o : NULL, &out, &err);
    ck_assert_int_eq(rc, records[_i].good ? 0 : -1);
    if (records[_i].good)
        ck_assert_uint_eq(r.file_count + r.remark_count, 2);
    else
        ck_assert_int_eq(err.kind, ERROR_RETRY);
}

static const struct {
    struct wire head;
    const char *object;
    enum error_kind kind;
    const char *says;
} errors[] = {
    {{.what = ENGINE_ERROR, .resource = 1}, "n", ERROR_INVALID, "; the last object: Node n"},
    {{.what = ENGINE_ERROR, .resource = 2}, "", ERROR_INVALID, "no such filter"},
    {{.what = ENGINE_ERROR, .resource = 2}, "n", ERROR_RETRY, "out of range"},
};

TEST_EACH(errors_of_a_template, array_len(errors))
{
    add(errors[_i].head, "", "no such filter", errors[_i].object);
    ck_assert_int_eq(rendered_read(&r, o, &out, &err), -1);
    ck_assert_int_eq(err.kind, errors[_i].kind);
    ck_assert_msg(strstr(err.message, errors[_i].says) != NULL, "%s", err.message);
}

/* The last one counts; they are of no object. */
TEST(owners_of_hosts)
{
    add((struct wire){.what = ENGINE_OUTPUT}, "haproxy.cfg", "text", "");
    ck_assert_int_eq(rendered_read(&r, o, &out, &err), 0);
    ck_assert_ptr_null(r.owners);
    add((struct wire){.what = ENGINE_OWNERS, .resource = 9}, "", "a.example x\n", "");
    add((struct wire){.what = ENGINE_OWNERS}, "", "b.example y\n", "");
    ck_assert_int_eq(rendered_read(&r, NULL, &out, &err), 0);
    ck_assert_str_eq(r.owners, "b.example y\n");
    ck_assert(!r.placed);
    add((struct wire){.what = ENGINE_PLACED}, "", "", "");
    ck_assert_int_eq(rendered_read(&r, NULL, &out, &err), 0);
    ck_assert(r.placed);
    ck_assert_uint_eq(r.remark_count, 0);
}

TEST(each_place_where_it_may_be_cut_off)
{
    add((struct wire){.what = ENGINE_OUTPUT}, "haproxy.cfg", "text", "");
    for (size_t len = 0; len < out.len; len++) {
        cleanup(buf_fini) struct buf part = {0};
        buf_addn(&part, buf_str(&out), len);
        ck_assert_int_eq(rendered_read(&r, o, &part, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_RETRY);
        error_clear(&err);
    }
    ck_assert_int_eq(rendered_read(&r, o, &out, &err), 0);
}

TEST(a_length_beyond_the_end)
{
    struct wire head = {.what = ENGINE_OUTPUT, .len = {SIZE_MAX, 2}};
    buf_addn(&out, (const char *)&head, sizeof(head));
    buf_add(&out, "ab");
    ck_assert_int_eq(rendered_read(&r, o, &out, &err), -1);
}

/* Objects of a resource that is made at run time: called "namespace/name" where it says so, and its decoder knows whose it is. */

#include "kube/decode/decode_field.h"

#include "../../test.h"

struct thing {
    char *name, *says;
};

static const struct record_member members[] = {RECORD_TEXT(struct thing, name), RECORD_TEXT(struct thing, says)};
static const struct record record = {
    .bytes = sizeof(struct thing), .members = members, .member_count = array_len(members)};

static int decode(struct decode *d, yyjson_val *from, void *object, struct error *err)
{
    ((struct thing *)object)->says = mem_strdup(d->of->arg);
    return 0;
}

static const struct {
    const char *metadata, *name;
    bool by_namespace;
} rows[] = {{"\"name\":\"a\",\"namespace\":\"n\"", "n/a", true},
            {"\"name\":\"a\",\"namespace\":\"n\"", "a", false},
            {"\"name\":\"a\"", "a", true},
            {"\"name\":\"a\",\"namespace\":\"\"", "a", true},
            {"\"name\":\"a\",\"namespace\":7", NULL, true},
            {"\"namespace\":\"n\"", NULL, true}};

TEST_EACH(names, array_len(rows))
{
    const struct kube_resource of = {.kind = "thing",
                                     .plural = "things",
                                     .api = "/apis/x/v1",
                                     .record = &record,
                                     .decode = decode,
                                     .by_namespace = rows[_i].by_namespace,
                                     .arg = "mine"};
    static const char *const types[] = {"ADDED", "DELETED"};
    for (size_t i = 0; i < array_len(types); i++) {
        struct error err = {0};
        cleanup(kube_event_fini) struct kube_event e = {0};
        cleanup(mem_free_ptr) char *text = mem_printf(
            "{\"type\":\"%s\",\"object\":{\"metadata\":{%s,\"resourceVersion\":\"5\"}}}", types[i], rows[_i].metadata);
        size_t len = strlen(text);
        text = mem_resize(text, len + 1 + KUBE_DECODE_PADDING_BYTES, 1);
        memset(text + len, 0, 1 + KUBE_DECODE_PADDING_BYTES);
        ck_assert_int_eq(kube_decode_event(&of, text, len, &e, &err), 0);
        ck_assert_int_eq(e.skipped.kind != ERROR_NONE, rows[_i].name == NULL);
        if (rows[_i].name != NULL)
            ck_assert_str_eq(e.name, rows[_i].name);
        ck_assert_int_eq(e.object != NULL, i == 0 && rows[_i].name != NULL);
        if (e.object != NULL) {
            ck_assert_str_eq(((struct thing *)e.object)->name, rows[_i].name);
            ck_assert_str_eq(((struct thing *)e.object)->says, "mine");
        }
    }
}

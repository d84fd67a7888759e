/* A set.yaml, and the fixtures and assertions that it has. Nothing is rendered: that is another process. */
#include "base/mem.h"
#include "base/str.h"
#include "template/objects.h"
#include "template/set.h"
#include "template/trial.h"
#include "fuzz.h"

static void check_test(const struct template_set *s, const struct template_test *t)
{
    struct error err = {0};
    struct objects *o = objects_new(s);
    yyjson_doc *const from[] = {s->global_fixtures, t->fixtures};
    for (size_t i = 0; i < array_len(from); i++)
        if (from[i] != NULL && fixtures_add(o, s, yyjson_doc_get_root(from[i]), false, &err) != 0)
            check(err.kind == ERROR_INVALID && err.message[0] != '\0');
    yyjson_doc_free(fixtures_document(o, s));
    objects_free(o);
    check(t->name[0] != '\0' && template_set_test(s, t->name) == t);
    for (size_t i = 0; i < t->assertion_count; i++)
        check(t->assertions[i].line > 0 && assertion_name(t->assertions[i].kind) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = {0};
    const struct template_file files[] = {{TEMPLATE_SET_FILE, (const char *)data, size}, {"snippets/s.j2", "", 0}};
    struct template_set *s = template_set_parse(files, array_len(files), &err);
    if (s == NULL) {
        check(err.kind == ERROR_INVALID && err.message[0] != '\0');
        return 0;
    }
    check(s->text_count >= 2 && s->texts[0].kind == TEMPLATE_HAPROXY_CFG);
    for (size_t i = 0; i < s->text_count; i++)
        check(s->texts[i].text != NULL && !str_has_control(s->texts[i].name));
    for (size_t i = 0; i < s->watch_count; i++)
        check(s->watches[i].api_version != NULL && (s->watches[i].kind != NULL || s->watches[i].plural != NULL));
    for (size_t i = 0; i < s->test_count; i++)
        check_test(s, &s->tests[i]);
    template_set_free(s);
    return 0;
}

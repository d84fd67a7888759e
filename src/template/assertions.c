#include "template/assertions.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "json/read.h"
#include "template/json_path.h"

#define SHOWN_BYTES 200

/* "haproxy.cfg", "map:hosts.map": as a target has it. Allocates. */
static char *assertion_target_of(const struct render_file *f)
{
    static const char *const kinds[] = {"", "map:", "certificate:", "file:"};
    return mem_printf("%s%s", kinds[f->kind], f->name);
}

/* NULL: there is none; *ret_why lists those that there are. */
static const struct render_file *assertion_find(const struct assertion_subject *s, const char *target, char **ret_why)
{
    struct buf known = {0};
    for (size_t i = 0; i < s->rendered->file_count; i++) {
        cleanup(mem_free_ptr) char *name = assertion_target_of(&s->rendered->files[i]);
        if (str_eq(name, target)) {
            buf_fini(&known);
            return &s->rendered->files[i];
        }
        buf_printf(&known, "%s%s", i > 0 ? ", " : "", name);
    }
    *ret_why = mem_printf("there is no %s: there are %s", target, buf_str(&known));
    buf_fini(&known);
    return NULL;
}

/* ---- lines ---- */

static size_t line_number(const char *text, size_t at)
{
    size_t n = 1;
    for (size_t i = 0; i < at; i++)
        n += text[i] == '\n';
    return n;
}

/* The line of which `at` is in, as it may be shown: of a certificate nothing is. */
static char *line_shown(const struct render_file *f, const char *at)
{
    struct buf line = {0};
    if (f->kind == ENGINE_CERTIFICATE)
        return mem_strdup("...");
    while (at > f->bytes && at[-1] != '\n')
        at--;
    at += strspn(at, " \t");
    text_addn(&line, at, strcspn(at, "\n"), TEXT_LINE, SHOWN_BYTES);
    return buf_take(&line);
}

/* ---- patterns ---- */

static void regex_free_ptr(regex_t **r)
{
    if (*r != NULL)
        regfree(*r);
    free(*r);
}

/* NULL: it is none; *ret_why. */
static regex_t *regex_compile(const char *pattern, char **ret_why)
{
    char why[256];
    regex_t *r = mem_alloc(sizeof(*r));
    int rc = regcomp(r, pattern, REG_EXTENDED | REG_NEWLINE);
    if (rc == 0)
        return r;
    regerror(rc, r, why, sizeof(why));
    *ret_why = mem_printf("\"%s\" is no extended regular expression: %s", pattern, why);
    free(r);
    return NULL;
}

/* The first match in text, which begins within a line where it is not the whole. */
static bool regex_next(const regex_t *r, const char *text, bool within, regmatch_t *ret)
{
    return regexec(r, text, 1, ret, within ? REG_NOTBOL : 0) == 0;
}

static char *judge_contains(const struct template_assertion *a, const struct render_file *f)
{
    regmatch_t at;
    char *why = NULL;
    cleanup(regex_free_ptr) regex_t *r = regex_compile(a->patterns[0], &why);
    if (r == NULL)
        return why;
    bool found = regex_next(r, f->bytes, false, &at);
    if (found == (a->kind == ASSERT_CONTAINS))
        return NULL;
    if (!found)
        return mem_printf("%s has no \"%s\"", a->target, a->patterns[0]);
    cleanup(mem_free_ptr) char *line = line_shown(f, f->bytes + at.rm_so);
    return mem_printf("%s:%zu has \"%s\": %s", a->target, line_number(f->bytes, (size_t)at.rm_so), a->patterns[0],
                      line);
}

static char *judge_count(const struct template_assertion *a, const struct render_file *f)
{
    regmatch_t at;
    char *why = NULL;
    int64_t count = 0;
    cleanup(regex_free_ptr) regex_t *r = regex_compile(a->patterns[0], &why);
    if (r == NULL)
        return why;
    for (const char *text = f->bytes; regex_next(r, text, text > f->bytes && text[-1] != '\n', &at); count++) {
        text += at.rm_eo;
        if (at.rm_eo == at.rm_so && *text++ == '\0') { /* of nothing: the next is elsewhere */
            count++;
            break;
        }
    }
    if (count == a->count)
        return NULL;
    return mem_printf("%s has \"%s\" %lld times, expected %lld", a->target, a->patterns[0], (long long)count,
                      (long long)a->count);
}

static char *judge_order(const struct template_assertion *a, const struct render_file *f)
{
    const char *from = f->bytes;
    for (size_t i = 0; a->patterns[i] != NULL; i++) {
        regmatch_t at;
        char *why = NULL;
        cleanup(regex_free_ptr) regex_t *r = regex_compile(a->patterns[i], &why);
        if (r == NULL)
            return why;
        if (regex_next(r, from, from > f->bytes && from[-1] != '\n', &at)) {
            from += at.rm_eo;
            continue;
        }
        if (i == 0 || !regex_next(r, f->bytes, false, &at))
            return mem_printf("%s has no \"%s\"", a->target, a->patterns[i]);
        return mem_printf("%s has \"%s\" before \"%s\", in line %zu, and not behind it", a->target, a->patterns[i],
                          a->patterns[i - 1], line_number(f->bytes, (size_t)at.rm_so));
    }
    return NULL;
}

static char *judge_equals(const struct template_assertion *a, const struct render_file *f)
{
    size_t same = 0, len = strlen(a->expected);
    while (same < f->len && same < len && f->bytes[same] == a->expected[same])
        same++;
    if (same == f->len && same == len)
        return NULL;
    const struct render_file expected = {.kind = f->kind, .bytes = a->expected, .len = len};
    cleanup(mem_free_ptr) char *is = line_shown(f, f->bytes + same),
                               *should = line_shown(&expected, a->expected + same);
    bool ends = str_eq(is, should);
    return mem_printf("%s:%zu is \"%s\", expected \"%s\"%s", a->target, line_number(f->bytes, same), is, should,
                      ends ? " (white space, or the end, differs)" : "");
}

/* ---- JSONPath ---- */

static char *judge_path_in(const struct template_assertion *a, const char *target, yyjson_val *root)
{
    yyjson_val *found = json_path_first(a->path, root);
    if (found == NULL)
        return mem_printf("%s: the path leads to nothing", target);
    if (a->expected == NULL)
        return NULL;
    cleanup(mem_free_ptr) char *is =
        yyjson_is_str(found) ? mem_strndup(yyjson_get_str(found), yyjson_get_len(found)) : json_text_of(found);
    return str_eq(is, a->expected)
               ? NULL
               : mem_printf("%s: the path leads to \"%s\", expected \"%s\"", target, is, a->expected);
}

static char *judge_path(const struct template_assertion *a, const struct assertion_subject *s)
{
    char *why = NULL;
    struct error err = {0};
    if (a->target == NULL)
        return judge_path_in(a, "what templates see", s->document);
    const struct render_file *f = assertion_find(s, a->target, &why);
    if (f == NULL)
        return why;
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(f->bytes, f->len, 0, a->target, &err);
    return doc != NULL ? judge_path_in(a, a->target, yyjson_doc_get_root(doc)) : mem_strdup(err.message);
}

/* ---- all ---- */

static char *judge_error(const struct template_assertion *a, const struct assertion_subject *s)
{
    regmatch_t at;
    char *why = NULL;
    if (s->rendered != NULL)
        return mem_strdup("the render did not fail");
    if (a->patterns == NULL)
        return NULL;
    cleanup(regex_free_ptr) regex_t *r = regex_compile(a->patterns[0], &why);
    if (r == NULL || regex_next(r, s->error, false, &at))
        return why;
    return mem_printf("the error has no \"%s\": %s", a->patterns[0], s->error);
}

char *assertion_failure(const struct template_assertion *a, const struct assertion_subject *s)
{
    char *why = NULL;
    if (a->kind == ASSERT_RENDERING_ERROR)
        return judge_error(a, s);
    if (s->rendered == NULL)
        return mem_strdup("nothing was rendered");
    if (a->kind == ASSERT_JSONPATH)
        return judge_path(a, s);
    struct template_assertion copy = *a;
    char own[] = "haproxy.cfg";
    copy.target = a->target != NULL ? a->target : own;
    const struct render_file *f = assertion_find(s, copy.target, &why);
    if (f == NULL)
        return why;
    switch (a->kind) {
    case ASSERT_EQUALS:
        return judge_equals(&copy, f);
    case ASSERT_MATCH_COUNT:
        return judge_count(&copy, f);
    case ASSERT_MATCH_ORDER:
        return judge_order(&copy, f);
    default:
        return judge_contains(&copy, f);
    }
}

char *assertion_difference(const struct rendered *a, const struct rendered *b)
{
    for (size_t i = 0; i < a->file_count && i < b->file_count; i++) {
        const struct render_file *x = &a->files[i], *y = &b->files[i];
        cleanup(mem_free_ptr) char *name = assertion_target_of(x);
        if (x->kind != y->kind || !str_eq(x->name, y->name))
            return mem_printf("two renders made different files: only one has %s", name);
        struct template_assertion equal = {.target = name, .expected = y->bytes};
        cleanup(mem_free_ptr) char *why =
            x->len == y->len && memcmp(x->bytes, y->bytes, x->len) == 0 ? NULL : judge_equals(&equal, x);
        if (why != NULL)
            return mem_printf("two renders differ: %s", why);
    }
    return a->file_count == b->file_count ? NULL : mem_strdup("two renders made different numbers of files");
}

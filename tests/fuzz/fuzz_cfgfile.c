/* The reader of a whole haproxy.cfg, and its comparison with itself and with another: two files, a line "====" between them. */
#include "base/mem.h"
#include "haproxy/cfg/binds.h"
#include "haproxy/cfg/damage.h"
#include "haproxy/cfg/difference.h"
#include "haproxy/cfg/file.h"
#include "haproxy/cfg/mask.h"
#include "fuzz.h"

/* Of its own, so that the sanitizer sees its end. */
static char *exactly(const char *text, size_t len)
{
    char *copy = mem_alloc(len);
    if (len > 0)
        memcpy(copy, text, len);
    return copy;
}

static void listen_at(const struct cfg_file *f)
{
    cleanup(cfg_binds_fini) struct cfg_binds binds = {0};
    cfg_binds_read(&binds, f->text, f->len);
    for (size_t i = 0; i < binds.count; i++) {
        const struct cfg_bind *b = &binds.list[i], *found = cfg_binds_find(&binds, b->address, b->to);
        check(b->line > 0 && (b->from > b->to || (found != NULL && found->line <= b->line)));
    }
}

static void look_at(const struct cfg_file *f)
{
    size_t lines = 0;
    for (size_t i = 0; i < f->section_count; i++)
        lines += 1 + f->sections[i].line_count;
    check(lines <= f->line_count && f->version >= -1);
    free(cfg_file_problem(f));
    free(cfg_file_defaults_problem(f));
    check(cfg_file_compare(f, f, NULL) == NULL);
    check(cfg_same_meaning(f, f, false) && cfg_same_meaning(f, f, true));
    listen_at(f);
}

static void compare(const struct cfg_file *a, const struct cfg_file *b)
{
    struct cfg_difference d;
    char *differs = cfg_file_compare(a, b, NULL);
    bool regrouped = cfg_same_meaning(a, b, true);
    cfg_difference_init(&d, a, b, false);
    check((d.count == 0) == (d.effect == CFG_EFFECT_NONE) && cfg_same_meaning(b, a, false) == (d.count == 0));
    check(d.count > 0 || regrouped);
    check(differs != NULL || regrouped);
    for (size_t i = 0; i < d.count && i < CFG_DIFFERENCE_MAX; i++)
        check(strlen(d.texts[i]) > 0);
    struct cfg_line_difference lines;
    cfg_line_difference_init(&lines, a, b);
    check(lines.count == 0 || d.count > 0);
    for (size_t i = 0; i < lines.count && i < CFG_LINE_DIFFERENCE_MAX; i++)
        check(strlen(lines.lines[i].section) > 0 &&
              strlen(lines.lines[i].text) <= 2 + CFG_LINE_DIFFERENCE_LINE_MAX_BYTES);
    cfg_line_difference_fini(&lines);
    cfg_difference_fini(&d);
    free(differs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char mark[] = "\n====\n";
    const char *input = (const char *)data;
    const char *split = size > 0 ? memmem(input, size, mark, strlen(mark)) : NULL;
    size_t first = split != NULL ? (size_t)(split - input) + 1 : size;
    size_t skip = split != NULL ? first - 1 + strlen(mark) : size;
    char *before = exactly(input, first), *after = exactly(input + skip, size - skip);
    struct error err = {0};
    struct cfg_file a, b;
    bool both = cfg_file_init(&a, before, first, &err) == 0;
    both = cfg_file_init(&b, after, size - skip, &err) == 0 && both;
    check(both || err.kind == ERROR_INVALID);
    if (a.section_count > 0)
        look_at(&a);
    if (both)
        compare(&a, &b);
    cfg_file_fini(&a);
    cfg_file_fini(&b);
    free(before);
    free(after);
    return 0;
}

#include "base/lines.h"

#include "../test.h"

struct seen {
    bool differ;
    size_t added, removed;
};

static struct seen compared(const char *before, const char *after)
{
    struct lines a, b;
    struct seen s;
    lines_init(&a, before, strlen(before));
    lines_init(&b, after, strlen(after));
    s.differ = lines_differ(&a, &b, &s.added, &s.removed);
    lines_fini(&a);
    lines_fini(&b);
    return s;
}

TEST(lines_are_counted)
{
    static const struct {
        const char *before, *after;
        bool differ;
        size_t added, removed;
    } rows[] = {
        {"", "", false, 0, 0},
        {"a\nb\n", "a\nb\n", false, 0, 0},
        {"", "a\nb\n", true, 2, 0},
        {"a\nb\n", "", true, 0, 2},
        {"a\nb\n", "a\nb", false, 0, 0}, /* the newline at the end is no line */
        {"a\nb", "a\n\nb", true, 1, 0},  /* an empty one is */
        {"a\nb\nc\n", "a\nx\nc\n", true, 1, 1},
        {"a\nb\nc\n", "a\nc\n", true, 0, 1},
        {"a\nb\nc\nd\n", "a\nc\nb\nd\n", true, 0, 0}, /* another order */
        {"a\na\na\n", "a\na\n", true, 0, 1},          /* as often as it stands there */
        {"a\nb\na\n", "a\na\nb\na\n", true, 1, 0},
        {"a\na\n", "b\nb\nb\n", true, 3, 2},
        {"x\na\nb\n", "a\nb\ny\n", true, 1, 1},
        {"12345678abc\n", "12345678abd\n", true, 1, 1},
        {"1234567812345678\n", "1234567812345679\n", true, 1, 1},
        {"1234567a12345678\n", "1234567812345678\n", true, 1, 1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct seen s = compared(rows[i].before, rows[i].after);
        ck_assert_msg(s.differ == rows[i].differ && s.added == rows[i].added && s.removed == rows[i].removed,
                      "row %zu: %d +%zu -%zu", i, s.differ, s.added, s.removed);
    }
}

TEST(one_of_many)
{
    struct buf before = {0}, after = {0};
    for (unsigned i = 0; i < 50000; i++) {
        buf_printf(&before, "server s%u 10.0.0.1:%u\n", i, i);
        buf_printf(&after, i == 70 ? "server other\n" : "server s%u 10.0.0.1:%u\n", i, i);
    }
    struct seen s = compared(buf_str(&before), buf_str(&after));
    ck_assert(s.differ && s.added == 1 && s.removed == 1);
    buf_fini(&before);
    buf_fini(&after);
}

/* The ring of the last decisions: src/report/history.c. */

#include "base/text.h"
#include "report/history.h"

#include "../test.h"

static void add_text(struct history *j, const char *text)
{
    history_add(j, &(struct history_entry){.kind = HISTORY_RUNTIME_UPDATE, .backend = "be", .text = text});
}

TEST(newest_first)
{
    struct history *j = history_new();
    ck_assert_uint_eq(history_count(j), 0);
    char text[] = "one";
    add_text(j, text);
    text[0] = 'X'; /* copied */
    add_text(j, "two");
    ck_assert_uint_eq(history_count(j), 2);
    ck_assert_str_eq(history_at(j, 0)->text, "two");
    ck_assert_uint_eq(history_at(j, 0)->number, 2);
    ck_assert_str_eq(history_at(j, 1)->text, "one");
    ck_assert_int_gt(history_at(j, 1)->wall_ms, 1500000000000);
    ck_assert_ptr_null(history_at(j, 1)->why);
    ck_assert_str_eq(history_at(j, 1)->backend, "be");
    history_free(j);
}

TEST(the_oldest_go)
{
    struct history *j = history_new();
    for (int i = 1; i <= HISTORY_SIZE + 3; i++) {
        cleanup(mem_free_ptr) char *text = mem_printf("%d", i);
        add_text(j, text);
    }
    ck_assert_uint_eq(history_count(j), HISTORY_SIZE);
    for (size_t i = 0; i < HISTORY_SIZE; i++) {
        ck_assert_uint_eq(history_at(j, i)->number, HISTORY_SIZE + 3 - i);
        cleanup(mem_free_ptr) char *text = mem_printf("%zu", HISTORY_SIZE + 3 - i);
        ck_assert_str_eq(history_at(j, i)->text, text);
    }
    history_free(j);
}

/* A two-byte character stands across each place where it could be cut. */
TEST(long_texts_are_cut)
{
    struct history *j = history_new();
    for (size_t before = 0; before < 2; before++) {
        char text[HISTORY_TEXT_MAX_BYTES + 103];
        memset(text, 'a', before);
        for (size_t i = before; i + 2 < sizeof(text); i += 2)
            memcpy(text + i, "\xc3\xa9", 3);
        add_text(j, text);
        const char *kept = history_at(j, 0)->text;
        ck_assert_uint_le(strlen(kept), HISTORY_TEXT_MAX_BYTES);
        ck_assert_uint_ge(strlen(kept), HISTORY_TEXT_MAX_BYTES - 1);
        ck_assert_str_eq(kept + strlen(kept) - 3, "...");
        ck_assert(text_is_utf8(kept));
    }
    char most[HISTORY_TEXT_MAX_BYTES + 1];
    memset(most, 'b', sizeof(most) - 1);
    most[sizeof(most) - 1] = '\0';
    add_text(j, most);
    ck_assert_str_eq(history_at(j, 0)->text, most);
    history_free(j);
}

struct heard {
    struct history_listener listener;
    unsigned count;
    uint64_t last;
};

static void on_added(void *arg, const struct history_entry *e)
{
    struct heard *h = arg;
    h->count++;
    h->last = e->number;
}

TEST(listeners_are_called)
{
    struct history *j = history_new();
    struct heard a = {.listener = {.added = on_added, .arg = &a}}, b = {.listener = {.added = on_added, .arg = &b}};
    history_listen(j, &a.listener);
    add_text(j, "one");
    history_listen(j, &b.listener);
    add_text(j, "two");
    history_forget_listener(&a.listener);
    add_text(j, "three");
    ck_assert_uint_eq(a.count, 2);
    ck_assert_uint_eq(a.last, 2);
    ck_assert_uint_eq(b.count, 2);
    ck_assert_uint_eq(b.last, 3);
    history_forget_listener(&b.listener);
    history_free(j);
    history_add(NULL, &(struct history_entry){.text = "nobody"});
    history_free(NULL);
}

TEST(every_kind_has_a_name_of_its_own)
{
    for (int i = 0; i < HISTORY_KINDS; i++)
        for (int k = 0; k < i; k++)
            ck_assert_str_ne(history_kind_name((enum history_kind)i), history_kind_name((enum history_kind)k));
}

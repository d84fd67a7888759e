/* src/haproxy/cfg/unsupported_lines: servers in any order get that of their lines, or are left as they are. */
#include "haproxy/cfg/unsupported_lines.h"

#include "haproxy/backend.h"
#include "haproxy/cfg/file.h"

#include "base/shared_text.h"
#include "../test.h"

/* A file; the servers and templates of backend "be" as they were given; and the order that they get. NULL: none. */
static const struct {
    const char *file, *servers, *templates, *ordered, *ordered_templates;
} rows[] = {
    {"backend be\n server c 1\n server a 1\n server b 1\n", "a b c", "", "c a b", ""},
    {"backend be\n mode tcp\n", "", "", "", ""},
    {"backend be\n server-template y 3 1\n server b 1\n server-template x 3 1\n server a 1\n", "a b", "x y", "b a",
     "y x"},
    {"backend be\r\n\tserver b 1 # a\r\n\tserver a 1", "a b", "", "b a", ""},
    {"backend two\n server x 1\nbackend be\n server b 1\n server a 1\nlisten be\n server x 1\n", "a b", "", "b a", ""},
    {"defaults\n default-server check\nbackend \"be\"\n default-server check\n server b 1\n server a 1\n", "a b", "",
     "b a", ""},
    {"backend be\n server \"b\" 1\n server a 1\n", "\"b\" a", "", "\"b\" a", ""}, /* as the API's tokenizer has it */
    /* not the same */
    {"backend be\n server a 1\n server b 1\n", "a", "", NULL, NULL},
    {"backend be\n server a 1\n", "a b", "", NULL, NULL},
    {"backend be\n server a 1\n server c 1\n", "a b", "", NULL, NULL},
    {"backend be\n server a 1\n server a 1\n", "a", "", NULL, NULL},
    {"backend be\n server a 1\n server b 1\n", "a a", "", NULL, NULL},
    {"backend be\n server a 1\n", "a a", "", NULL, NULL},
    {"backend be\n server a 1\n server a 1\n", "a a", "", NULL, NULL},
    {"backend be\n server a 1\n", "a", "x", NULL, NULL},
    {"backend be\n server z 1\nbackend be\n server a 1\n", "a", "", NULL, NULL},
    {"backend be\n server a 1\nbackend be\n server z 1\n", "a", "", NULL, NULL},
    {"backend be\n server \"a\" 1\n", "a", "", NULL, NULL},
    {"backend be\n server\n", "", "", NULL, NULL},
    {"backend be\n server a 'x\n", "a", "", NULL, NULL},
    {"backend be\n server-template x 3 1\n", "", "", NULL, NULL},
    {"backend be\n server-template x 3 1\n", "x", "", NULL, NULL},
    {"backend be\n server x 1\n", "", "x", NULL, NULL},
    {"backend be\n server a 1\nbackend be\n server b 1\n", "a b", "", NULL, NULL},
    {"backend two\n", "", "", NULL, NULL},
    {"", "", "", NULL, NULL},
};

static void take_words(const char *words, struct backend *b, bool templates)
{
    cleanup(mem_free_ptr) char *copy = mem_strdup(words);
    char *rest = copy;
    for (char *word; (word = strsep(&rest, " ")) != NULL;) {
        if (word[0] == '\0')
            continue;
        if (templates) {
            b->templates = mem_resize(b->templates, b->template_count + 1, sizeof(*b->templates));
            b->templates[b->template_count++] = (struct backend_template){.prefix = mem_strdup(word)};
        } else {
            b->servers = mem_resize(b->servers, b->server_count + 1, sizeof(*b->servers));
            b->servers[b->server_count++] =
                (struct backend_server){.name = shared_text(word), .json = shared_text_take(mem_printf("of %s", word))};
        }
    }
}

static void check_words(const char *words, const struct backend *b, bool templates)
{
    cleanup(buf_fini) struct buf out = {0};
    for (size_t i = 0; i < (templates ? b->template_count : b->server_count); i++)
        buf_printf(&out, "%s%s", i > 0 ? " " : "", templates ? b->templates[i].prefix : b->servers[i].name);
    ck_assert_str_eq(buf_str(&out), words);
}

TEST_EACH(order, array_len(rows))
{
    const char *servers = rows[_i].servers, *templates = rows[_i].templates;
    cleanup(cfg_file_fini) struct cfg_file f = {0};
    cleanup(backend_fini) struct backend b;
    backend_init(&b);
    b.name = mem_strdup("be");
    take_words(servers, &b, false);
    take_words(templates, &b, true);
    cfg_file_parse(&f, rows[_i].file, strlen(rows[_i].file));
    ck_assert_msg(cfg_order_servers(&f, &b) == (rows[_i].ordered != NULL), "%s", rows[_i].file);
    check_words(rows[_i].ordered != NULL ? rows[_i].ordered : servers, &b, false);
    check_words(rows[_i].ordered != NULL ? rows[_i].ordered_templates : templates, &b, true);
    for (size_t i = 0; i < b.server_count; i++) {
        cleanup(mem_free_ptr) char *json = mem_printf("of %s", b.servers[i].name);
        ck_assert_str_eq(b.servers[i].json, json);
    }
}

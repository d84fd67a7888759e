/*
 * haproxy/cfg for tests/conformance/test_random_files.py, many files a process. On stdin requests, each a line
 * "WORD BYTES BYTES\n" with so many bytes of two texts behind it; on stdout answers, each a line "STATUS BYTES\n" with a
 * text behind it:
 *   source TEXT ""      1: what is sent in its place; 0: why it is not
 *   compare SENT IS     1: nothing differs in meaning; 0: what does
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/damage.h"
#include "haproxy/cfg/difference.h"
#include "haproxy/cfg/source.h"

#define MAX_BYTES (64u << 20)

static char *read_text(size_t len)
{
    char *text = mem_alloc(len + 1);
    if (len > 0 && fread(text, len, 1, stdin) != 1)
        exit(1);
    return text;
}

static void answer(bool good, const char *text, size_t len)
{
    printf("%d %zu\n", good, len);
    fwrite(text, len, 1, stdout);
    fflush(stdout);
}

static void source(const char *text, size_t len)
{
    cleanup(cfg_file_fini) struct cfg_file f = {0};
    cleanup(buf_fini) struct buf out = {0};
    struct error err = {0};
    if (cfg_source_init(&f, text, len, &err) != 0) {
        answer(false, err.message, strlen(err.message));
        return;
    }
    cfg_source_print(&f, &out);
    answer(true, buf_str(&out), out.len);
}

static void compare(const char *sent, size_t sent_len, const char *is, size_t is_len)
{
    cleanup(cfg_file_fini) struct cfg_file a = {0};
    cleanup(cfg_file_fini) struct cfg_file b = {0};
    struct error err = {0};
    cleanup(mem_free_ptr) char *differs = NULL;
    if (cfg_file_init(&a, sent, sent_len, &err) != 0 || cfg_file_init(&b, is, is_len, &err) != 0)
        differs = mem_strdup(err.message);
    else
        differs = cfg_file_compare(&a, &b, NULL);
    if (differs == NULL && !cfg_same_meaning(&a, &b, true))
        differs = mem_strdup("cfg_file_compare finds nothing, cfg_same_meaning does");
    answer(differs == NULL, differs != NULL ? differs : "", differs != NULL ? strlen(differs) : 0);
}

int main(void)
{
    char line[128];
    while (fgets(line, sizeof(line), stdin) != NULL) {
        char *at = line, *word = strsep(&at, " "), *one = strsep(&at, " "), *two = strsep(&at, "\n");
        uint64_t one_len, two_len;
        if (two == NULL || str_parse_uint(one, MAX_BYTES, &one_len) != 0 ||
            str_parse_uint(two, MAX_BYTES, &two_len) != 0)
            return 1;
        cleanup(mem_free_ptr) char *first = read_text(one_len);
        cleanup(mem_free_ptr) char *second = read_text(two_len);
        if (str_eq(word, "source"))
            source(first, one_len);
        else
            compare(first, one_len, second, two_len);
    }
    return 0;
}

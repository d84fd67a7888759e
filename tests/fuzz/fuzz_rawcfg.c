/*
 * The reader of haproxy.cfg. Input: what the API shows of the servers (JSON), a line "====", the file. Without that line
 * the whole input is the file, of a backend "be" of which nothing is shown.
 */
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/file.h"
#include "haproxy/dataplane/codec.h"
#include "haproxy/cfg/unsupported_lines.h"
#include "fuzz.h"

static size_t count_lines(const char *text, size_t len)
{
    size_t n = 1;
    for (size_t i = 0; i < len; i++)
        n += text[i] == '\n';
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char mark[] = "\n====\n";
    const char *input = (const char *)data;
    const char *split = size > 0 ? memmem(input, size, mark, strlen(mark)) : NULL;
    size_t skip = split != NULL ? (size_t)(split - input) + strlen(mark) : 0;
    struct backend b;
    struct error err = {0};
    backend_init(&b);
    b.name = mem_strdup("be");
    b.exists = true;
    if (split != NULL && codec_read_servers(input, (size_t)(split - input), &b, &err) != 0)
        error_clear(&err);
    char *file = mem_alloc(size - skip); /* of its own, so that the sanitizer sees its end */
    if (size > skip)
        memcpy(file, input + skip, size - skip);
    struct cfg_file f;
    if (cfg_file_init(&f, file, size - skip, &err) == 0 && cfg_find_unsupported(&f, &b, &err) == 0) {
        size_t lines = count_lines(file, size - skip);
        check(b.unsupported_count <= 64);
        for (size_t i = 0; i < b.unsupported_count; i++)
            check(b.unsupported[i].line >= 1 && b.unsupported[i].line <= lines && !str_empty(b.unsupported[i].reason) &&
                  strlen(b.unsupported[i].text) <= 256);
    } else {
        check(err.kind == ERROR_INVALID && err.message[0] != '\0' && b.unsupported_count == 0);
    }
    check(f.version >= -1);
    cfg_file_fini(&f);
    free(file);
    backend_fini(&b);
    return 0;
}

/* A user's haproxy.cfg: it comes out as it went in, and what is sent in its place says the same on the same lines. */
#include "base/mem.h"
#include "haproxy/cfg/damage.h"
#include "haproxy/cfg/edit.h"
#include "haproxy/cfg/source.h"
#include "fuzz.h"

static unsigned count_lines(const struct cfg_file *f)
{
    struct cfg_file_line line = {0};
    while (cfg_file_next(f, &line)) {
    }
    return line.number;
}

static void check_sent(const struct cfg_file *f)
{
    struct cfg_file again;
    struct error err = {0};
    cleanup(buf_fini) struct buf out = {0};
    cfg_source_print(f, &out);
    check(cfg_source_init(&again, buf_str(&out), out.len, &err) == 0);
    check(count_lines(f) == count_lines(&again) && out.data[out.len - 1] == '\n');
    check(cfg_file_compare(f, &again, NULL) == NULL);
    cfg_file_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cfg_file f;
    struct error err = {0};
    cleanup(buf_fini) struct buf out = {0};
    cleanup(mem_free_ptr) char *text = mem_alloc(size); /* of its own, so that the sanitizer sees its end */
    if (size > 0)
        memcpy(text, data, size);
    cfg_file_parse(&f, text, size);
    cfg_file_print(&f, NULL, NULL, &out);
    check(out.len == size && memcmp(buf_str(&out), text, size) == 0);
    cfg_file_fini(&f);
    if (cfg_source_init(&f, text, size, &err) == 0)
        check_sent(&f);
    else
        check(err.kind == ERROR_INVALID && err.message[0] != '\0' && f.line_count == 0);
    cfg_file_fini(&f);
    return 0;
}

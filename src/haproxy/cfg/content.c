#include "haproxy/cfg/content.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct cfg_content *cfg_content_new(char *text, size_t len)
{
    struct cfg_content *c = mem_alloc(sizeof(*c));
    c->references = 1;
    c->text = text;
    c->len = len;
    return c;
}

struct cfg_content *cfg_content_take(struct buf *text)
{
    size_t len = text->len;
    return cfg_content_new(buf_take(text), len);
}

struct cfg_content *cfg_content_take_parsed(struct buf *text, struct cfg_file *f)
{
    struct cfg_content *c = cfg_content_take(text);
    c->parsed.done = true;
    c->parsed.file = *f;
    *f = (struct cfg_file){.version = -1};
    return c;
}

void cfg_content_rest(struct cfg_content *c, unsigned references)
{
    if (c->references > references || c->parsed.error.kind != ERROR_NONE)
        return;
    cfg_content_wrote(c, NULL);
    cfg_file_fini(&c->parsed.file);
    c->parsed.done = false;
}

struct cfg_content *cfg_content_ref(struct cfg_content *c)
{
    if (c != NULL)
        c->references++;
    return c;
}

void cfg_content_unref(struct cfg_content *c)
{
    if (c == NULL || --c->references > 0)
        return;
    cfg_content_wrote(c, NULL);
    cfg_file_fini(&c->parsed.file);
    explicit_bzero(c->text, c->len);
    mem_free_all(c->text, c);
}

void cfg_content_hold(struct cfg_content **held, struct cfg_content *c)
{
    struct cfg_content *old = *held;
    *held = cfg_content_ref(c);
    cfg_content_unref(old);
}

const struct cfg_file *cfg_content_file(struct cfg_content *c, struct error *err)
{
    if (c == NULL)
        return NULL;
    if (!c->parsed.done && cfg_file_init(&c->parsed.file, c->text, c->len, &c->parsed.error) != 0)
        cfg_file_fini(&c->parsed.file);
    c->parsed.done = true;
    if (c->parsed.error.kind == ERROR_NONE)
        return &c->parsed.file;
    if (err != NULL)
        *err = c->parsed.error;
    return NULL;
}

size_t cfg_content_head(const char *text, size_t len, size_t *ret_lines)
{
    size_t at = 0;
    *ret_lines = 0;
    while (at < len && (text[at] == '#' || text[at] == '\n')) {
        const char *end = memchr(text + at, '\n', len - at);
        if (end == NULL)
            break;
        at = (size_t)(end - text) + 1;
        ++*ret_lines;
    }
    return at;
}

bool cfg_content_goes_on_as(const struct cfg_content *c, const char *text, size_t len, size_t *ret_head)
{
    size_t lines, of_c;
    size_t head = cfg_content_head(text, len, &lines);
    *ret_head = head;
    if (c == NULL)
        return false;
    size_t before = cfg_content_head(c->text, c->len, &of_c);
    return lines == of_c && len - head == c->len - before && memcmp(c->text + before, text + head, len - head) == 0;
}

void cfg_content_wrote(struct cfg_content *c, struct cfg_content *written)
{
    cfg_content_hold(&c->written, written);
}

bool cfg_content_same(const struct cfg_content *a, const struct cfg_content *b)
{
    return a == b || (a != NULL && b != NULL && a->len == b->len && memcmp(a->text, b->text, a->len) == 0);
}

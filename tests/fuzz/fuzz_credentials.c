/*
 * Any file of credentials. Whatever it is: a line is either bad, and why is told as clean text, or it has a URL of its own and
 * either user name and password or a token; written down again, the good ones are the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "settings/secrets/credentials_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_bad(const struct credentials_line *l)
{
    require(l->url == NULL && l->user == NULL && l->password == NULL && l->token == NULL);
    for (const char *p = l->why; *p != '\0'; p++)
        require(*p >= 0x20 && *p < 0x7f);
}

static void check_good(const struct credentials_file *f, const struct credentials_line *l)
{
    require((l->user != NULL) == (l->password != NULL) && (l->user != NULL) != (l->token != NULL));
    if (l->token != NULL)
        require(!str_empty(l->token) && credentials_refuse(SECRET_TOKEN, l->token) == NULL);
    else
        require(!str_empty(l->user) && !str_empty(l->password) && credentials_refuse(SECRET_USER, l->user) == NULL &&
                credentials_refuse(SECRET_PASSWORD, l->password) == NULL);
    require(credentials_file_find(f, l->url) == l);
}

static void check(const struct credentials_file *f)
{
    size_t number = 0;
    require(f->count <= CREDENTIALS_LINES_MAX + 1);
    for (size_t i = 0; i < f->count; i++) {
        require(f->lines[i].number > number);
        number = f->lines[i].number;
        if (f->lines[i].why != NULL)
            check_bad(&f->lines[i]);
        else
            check_good(f, &f->lines[i]);
    }
}

/* The good lines. */
static char *written(const struct credentials_file *f)
{
    struct buf out;
    buf_init(&out, 0);
    for (size_t i = 0; i < f->count; i++) {
        const struct credentials_line *l = &f->lines[i];
        if (l->why != NULL)
            continue;
        buf_printf(&out, "%s %s%s%s\n", l->url, l->token != NULL ? "Bearer " : l->user, l->token != NULL ? "" : ":",
                   l->token != NULL ? l->token : l->password);
    }
    return buf_take(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup(mem_free_ptr) char *text = mem_alloc(size + 1);
    memcpy(text, data, size);
    cleanup(credentials_file_fini) struct credentials_file f, again;
    credentials_file_parse(text, size, &f);
    check(&f);
    cleanup(mem_free_ptr) char *first = written(&f), *copy = mem_strdup(first);
    credentials_file_parse(copy, strlen(copy), &again);
    check(&again);
    require(credentials_file_first_bad(&again) == NULL);
    cleanup(mem_free_ptr) char *second = written(&again);
    require(str_eq(first, second));
    return 0;
}

/*
 * Any file of credentials. Whatever it is: a line is either bad, and why is reported as clean text, or it has a URL of its own and
 * either user name and password or a token; written down again, the good ones are the same.
 */
#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "settings/secrets/credentials_file.h"
#include "fuzz.h"

static void check_bad(const struct credentials_line *l)
{
    check(l->url == NULL && l->user == NULL && l->password == NULL && l->token == NULL);
    for (const char *p = l->why; *p != '\0'; p++)
        check(*p >= 0x20 && *p < 0x7f);
}

static void check_good(const struct credentials_file *f, const struct credentials_line *l)
{
    check((l->user != NULL) == (l->password != NULL) && (l->user != NULL) != (l->token != NULL));
    if (l->token != NULL)
        check(!str_empty(l->token) && credentials_refuse(SECRET_TOKEN, l->token) == NULL);
    else
        check(!str_empty(l->user) && !str_empty(l->password) && credentials_refuse(SECRET_USER, l->user) == NULL &&
              credentials_refuse(SECRET_PASSWORD, l->password) == NULL);
    check(credentials_file_find(f, l->url) == l);
}

static void check_file(const struct credentials_file *f)
{
    size_t number = 0;
    check(f->count <= CREDENTIALS_LINES_MAX + 1);
    for (size_t i = 0; i < f->count; i++) {
        check(f->lines[i].number > number);
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
    check_file(&f);
    cleanup(mem_free_ptr) char *first = written(&f), *copy = mem_strdup(first);
    credentials_file_parse(copy, strlen(copy), &again);
    check_file(&again);
    check(credentials_file_first_bad(&again) == NULL);
    cleanup(mem_free_ptr) char *second = written(&again);
    check(str_eq(first, second));
    return 0;
}

#include "settings/secrets/secret.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "settings/secrets/credentials_file.h"

void secret_set_value(struct secret *s, const char *value)
{
    secret_fini(s);
    s->value = mem_strdup(value);
}

void secret_set_path(struct secret *s, const char *path)
{
    secret_fini(s);
    s->path = mem_strdup(path);
}

void secret_set_line(struct secret *s, const char *path, const char *url, enum secret_part part)
{
    secret_set_path(s, path);
    s->url = mem_strdup(url);
    s->part = part;
}

void secret_copy(struct secret *to, const struct secret *from)
{
    secret_fini(to);
    *to = *from;
    to->value = mem_strdup(from->value);
    to->path = mem_strdup(from->path);
    to->url = mem_strdup(from->url);
}

void secret_forget(struct secret *s)
{
    if (s->path == NULL)
        return;
    mem_wipe_free(s->value);
    s->value = NULL;
    s->stamp = (struct secret_stamp){0};
}

bool secret_is_set(const struct secret *s)
{
    return s->value != NULL || (s->path != NULL && s->url == NULL);
}

void secret_fini(struct secret *s)
{
    mem_wipe_free(s->value);
    free(s->path);
    free(s->url);
    *s = (struct secret){0};
}

/* Ends text where its content ends; why it cannot be used, or NULL. */
static const char *secret_checks_text(char *text, size_t len)
{
    if (len > 0 && text[len - 1] == '\n')
        len--;
    if (len > 0 && text[len - 1] == '\r')
        len--;
    text[len] = '\0';
    if (len == 0)
        return "is empty";
    return strlen(text) < len || str_has_control(text) ? "holds a control character: expected one line" : NULL;
}

static int secret_read_again(struct secret *s, bool *ret_changed, struct error *err)
{
    cleanup(secret_file_fini) struct secret_file file;
    cleanup(credentials_file_fini) struct credentials_file lines = {0};
    if (secret_file_read(s->path, SECRET_FILE_MAX_BYTES, &file, err) != 0)
        return -1;
    const char *value = file.text, *why = s->url == NULL ? secret_checks_text(file.text, file.len) : NULL;
    if (why != NULL)
        return error_set(err, ERROR_INVALID, "%s: %s", s->path, why);
    if (s->url != NULL) {
        credentials_file_parse(file.text, file.len, &lines);
        const struct credentials_line *bad = credentials_file_first_bad(&lines);
        if (bad != NULL)
            return error_set(err, ERROR_INVALID, "%s, line %zu: expected " CREDENTIALS_LINE_EXPECTED "; %s", s->path,
                             bad->number, bad->why);
        const struct credentials_line *line = credentials_file_find(&lines, s->url);
        if (line == NULL)
            return error_set(err, ERROR_INVALID,
                             "%s: the line for %s was removed; put it back, or restart to use the settings", s->path,
                             s->url);
        value = s->part == SECRET_USER ? line->user : s->part == SECRET_PASSWORD ? line->password : line->token;
    }
    s->stamp = file.stamp;
    *ret_changed = !str_eq(s->value, value);
    if (*ret_changed) {
        mem_wipe_free(s->value);
        s->value = mem_strdup(value);
        s->changes++;
    }
    return 0;
}

int secret_refresh(struct secret *s, bool force, bool *ret_changed, struct error *err)
{
    bool changed = false;
    if (s->path != NULL && (force || !secret_file_unchanged(s->path, &s->stamp)))
        if (secret_read_again(s, &changed, err) != 0)
            return -1;
    if (ret_changed != NULL)
        *ret_changed = changed;
    return 0;
}

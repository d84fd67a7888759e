#include "settings/secrets/credentials_file.h"

#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "settings/url.h"

#define BLANK " \t"

const char *credentials_refuse(enum secret_part part, const char *text)
{
    if (str_has_control(text))
        return "it holds a control character, such as a line break";
    if (part == SECRET_USER && strchr(text, ':') != NULL)
        return "it holds a ':', which basic authentication cannot carry";
    for (const char *p = text; part == SECRET_TOKEN && *p != '\0'; p++)
        if (*p == ' ' || (unsigned char)*p >= 0x80)
            return str_has_prefix(text, "Bearer ") ? "leave out the word Bearer" : "it holds a space or is not ASCII";
    return NULL;
}

static bool credentials_file_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* What stands behind word, which is the first of text in whichever case; NULL: another word is. */
static char *behind_word(char *text, const char *word)
{
    size_t len = strlen(word);
    if (strncasecmp(text, word, len) != 0 || (text[len] != '\0' && !credentials_file_is_blank(text[len])))
        return NULL;
    return text + len + strspn(text + len, BLANK);
}

static char *why_with(const char *what, const char *why)
{
    return why != NULL ? mem_printf("%s: %s", what, why) : NULL;
}

static char *credentials_take_token(char *text, struct credentials_line *ret)
{
    size_t len = strlen(text);
    while (len > 0 && credentials_file_is_blank(text[len - 1]))
        text[--len] = '\0';
    if (len == 0)
        return mem_strdup("there is no token after the word Bearer");
    ret->token = text;
    return why_with("its token", credentials_refuse(SECRET_TOKEN, text));
}

static char *credentials_take_login(char *text, struct credentials_line *ret)
{
    char *colon = strchr(text, ':');
    if (colon == NULL)
        return mem_strdup(behind_word(text, "Basic") != NULL
                              ? "write user name and password in plain text, not as Basic and base64"
                              : "there is no ':' between user name and password");
    /* A second URL in front of user name and password, rather than a user name such as "unix". */
    bool url = str_has_prefix(text, "http://") || str_has_prefix(text, "https://") || str_has_prefix(text, "unix:/");
    const char *more = strpbrk(text, BLANK);
    if (url && more != NULL && strchr(more, ':') != NULL)
        return mem_strdup("there are two URLs: write a line for each");
    *colon = '\0';
    ret->user = text;
    ret->password = colon + 1;
    size_t len = strlen(ret->password);
    if (colon == text)
        return mem_strdup("its user name is empty");
    if (credentials_file_is_blank(colon[-1]))
        return mem_strdup("there is white space in front of the ':'");
    if (len == 0)
        return mem_strdup("its password is empty");
    ret->blank_around =
        credentials_file_is_blank(ret->password[0]) || credentials_file_is_blank(ret->password[len - 1]);
    char *why = why_with("its user name", credentials_refuse(SECRET_USER, ret->user));
    return why != NULL ? why : why_with("its password", credentials_refuse(SECRET_PASSWORD, ret->password));
}

/* Why the line is bad, allocated, or NULL. */
static char *credentials_take_line(char *line, struct credentials_line *ret)
{
    char *rest = line + strcspn(line, BLANK);
    bool alone = *rest == '\0';
    *rest = '\0';
    cleanup(buf_fini) struct buf note = {0};
    if (dataplane_url_check(line, &ret->url, NULL, &note) != 0)
        return mem_printf("its first word is not the URL of a Data Plane API%s%s", note.len > 0 ? ": " : "",
                          buf_str(&note));
    if (!alone)
        rest += 1 + strspn(rest + 1, BLANK);
    if (*rest == '\0')
        return mem_strdup("there is nothing after the URL");
    char *token = behind_word(rest, "Bearer");
    return token != NULL ? credentials_take_token(token, ret) : credentials_take_login(rest, ret);
}

static void credentials_add_line(struct credentials_file *f, char *text, size_t len, size_t number)
{
    struct credentials_line line = {.number = number};
    char *why;
    if (f->count == CREDENTIALS_LINES_MAX)
        why = mem_printf("there are more than %d lines", CREDENTIALS_LINES_MAX);
    else if (memchr(text, '\0', len) != NULL)
        why = mem_strdup("it holds a control character");
    else
        why = credentials_take_line(text, &line);
    const struct credentials_line *same = why == NULL ? credentials_file_find(f, line.url) : NULL;
    if (same != NULL)
        why = mem_printf("line %zu has the same URL", same->number);
    if (why != NULL) { /* a line that is bad has nothing else: none of it is used by mistake */
        free(line.url);
        line = (struct credentials_line){.number = number, .why = why};
    }
    f->lines = mem_resize(f->lines, f->count + 1, sizeof(*f->lines));
    f->lines[f->count++] = line;
}

void credentials_file_parse(char *text, size_t len, struct credentials_file *ret)
{
    *ret = (struct credentials_file){0};
    text[len] = '\0';
    char *end = text + len;
    for (size_t number = 1; text < end && ret->count <= CREDENTIALS_LINES_MAX; number++) {
        char *stop = memchr(text, '\n', (size_t)(end - text)), *next;
        stop = stop != NULL ? stop : end;
        next = stop + 1;
        if (stop > text && stop[-1] == '\r')
            stop--;
        *stop = '\0';
        text += strspn(text, BLANK);
        if (text < stop && *text != '#')
            credentials_add_line(ret, text, (size_t)(stop - text), number);
        text = next;
    }
}

void credentials_file_fini(struct credentials_file *f)
{
    for (size_t i = 0; i < f->count; i++) {
        mem_free_all(f->lines[i].url, f->lines[i].why);
    }
    free(f->lines);
    *f = (struct credentials_file){0};
}

const struct credentials_line *credentials_file_first_bad(const struct credentials_file *f)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->lines[i].why != NULL)
            return &f->lines[i];
    return NULL;
}

const struct credentials_line *credentials_file_find(const struct credentials_file *f, const char *url)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->lines[i].why == NULL && dataplane_url_same(f->lines[i].url, url))
            return &f->lines[i];
    return NULL;
}

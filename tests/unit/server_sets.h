/* Sets of servers as words, "n1 n2*": a name, and with it * for maintenance or ! for drain. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define SET_BYTES 64

static inline void set_copy(char *to, const char *from)
{
    snprintf(to, SET_BYTES, "%s", from);
}

static inline bool set_has(const char *set, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = set; (at = strstr(at, name)) != NULL; at += len)
        if ((at == set || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0'))
            return true;
    return false;
}

static inline void set_remove(char *set, const char *name)
{
    char old[SET_BYTES], *rest = old;
    set_copy(old, set);
    set[0] = '\0';
    for (char *word; (word = strsep(&rest, " ")) != NULL;)
        if (strcmp(word, name) != 0 && word[0] != '\0')
            snprintf(set + strlen(set), SET_BYTES - strlen(set), "%s%s", set[0] != '\0' ? " " : "", word);
}

static inline bool set_eq(const char *a, const char *b)
{
    char copy[SET_BYTES], *rest = copy;
    size_t words = 0, others = b[0] != '\0';
    set_copy(copy, a);
    for (char *word; (word = strsep(&rest, " ")) != NULL;) {
        if (word[0] == '\0')
            continue;
        words++;
        if (!set_has(b, word))
            return false;
    }
    for (const char *s = b; *s != '\0'; s++)
        others += *s == ' ';
    return words == others;
}

/* The word of that name in a set, with its sign; false: none. */
static inline bool set_word(const char *set, const char *name, char *ret)
{
    char copy[SET_BYTES], *rest = copy;
    set_copy(copy, set);
    for (char *word; (word = strsep(&rest, " ")) != NULL;)
        if (strcspn(word, "*!") == strlen(name) && strncmp(word, name, strlen(name)) == 0 && word[0] != '\0') {
            set_copy(ret, word);
            return true;
        }
    return false;
}

/* sign: "", "*", "!". Adds it where it is not there and `add`. */
static inline void set_sign(char *set, const char *name, const char *sign, bool add)
{
    char word[SET_BYTES], old[SET_BYTES], out[SET_BYTES * 2] = "", *rest = old;
    if (!set_word(set, name, word)) {
        if (add)
            snprintf(set + strlen(set), SET_BYTES - strlen(set), "%s%s%s", set[0] != '\0' ? " " : "", name, sign);
        return;
    }
    set_copy(old, set);
    for (char *w1; (w1 = strsep(&rest, " ")) != NULL;) {
        size_t len = strlen(out);
        if (strcmp(w1, word) == 0)
            snprintf(out + len, sizeof(out) - len, "%s%s%s", len > 0 ? " " : "", name, sign);
        else if (w1[0] != '\0')
            snprintf(out + len, sizeof(out) - len, "%s%s", len > 0 ? " " : "", w1);
    }
    snprintf(set, SET_BYTES, "%.*s", SET_BYTES - 1, out);
}

/*
 * The table of all settings, one row for each: parsing, check-config, --help, config.example.env, the page of settings,
 * the manual page and "did you mean" come from it. A setting is a row in table.c and a member of struct settings; what
 * one setting alone has (a check of its own, a syntax of its own) is in values.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"

struct setting;
struct settings;

/* How a value is read, shown and freed. */
struct setting_type {
    /* Sets the row's member of s, which is still zero. -1: refused; what is put into note then says more than
     * `expected` does. 0 with a note: a warning. note never holds a part of value that is to be masked. NULL: a secret,
     * which settings/secrets/credentials.c parses. */
    int (*parse)(const struct setting *row, const char *value, struct settings *s, struct buf *note);
    /* In the variable's own syntax, so that the output could be an environment again; nothing where it is unset. */
    void (*print)(const struct setting *row, const struct settings *s, struct buf *out);
    void (*fini)(const struct setting *row, struct settings *s); /* NULL: there is nothing to free */
};

struct setting {
    const char *name;
    const struct setting_type *type;
    size_t member;            /* offset in struct settings; also identifies the row */
    uint64_t min, max;        /* of a number or duration */
    const char *const *words; /* of one that is a word: the name of each value, then NULL */
    /* What else a value must be, NULL: nothing. As `parse`. */
    int (*check)(const char *value, struct buf *note);
    const char *fallback; /* the default in the variable's own syntax, parsed like a given value; NULL: none */
    const char *unset;    /* without a fallback: what it means not to set it */
    const char *expected; /* "a port number, 1 to 65535": goes on after "expected" */
    const char *help;     /* one paragraph of plain sentences, no Markdown */
    const char *example;
    /* With an operator for haproxy.cfg in a Secret; they count where its MODE is set, and each may be a flag, too. */
    const char *alias;              /* its name there; NULL: it has none */
    const char *const *alias_words; /* its words for those of `words` */
    const char *alias_expected;     /* these, as `expected` */
    const char *alias_fallback;     /* its default; NULL: the same as this one's */
    const char *flag;               /* "namespace"; NULL: the alias in lower case with '-' */
    bool single;                    /* for one Service; INGRESS_SERVICES stands in for it */
    bool is_list;                   /* white space around it is no mistake */
    bool or_file;                   /* a secret: NAME_FILE may name a file that holds it */
    bool masked;                    /* its value is never shown; only where or_file */
    bool safety; /* a misspelt one is an error: without it the daemon does what the user meant to prevent */
};

/* In the order in which all pages show them; behind the last comes one without a name. */
extern const struct setting setting_table[];

/* The row of a member of struct settings: SETTING(dry_run)->name is "DRY_RUN". */
#define SETTING(m) setting_of(offsetof(struct settings, m))
const struct setting *setting_of(size_t member);

/* "DATAPLANE_URL, default https://haproxy:5555/v3": of a row that has another name or default there. Allocates. */
char *setting_alias_text(const struct setting *row) must_check;

/* Whether s's value was given rather than a default. */
bool setting_is_given(const struct settings *s, const struct setting *row);
void setting_set_given(struct settings *s, const struct setting *row);
unsigned setting_count_given(const struct settings *s);

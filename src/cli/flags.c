#include "cli/flags.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "base/str.h"
#include "settings/environment.h"
#include "settings/settings.h"
#include "settings/table.h"
#include "settings/types.h"

/* Flags of the operator that are none here, by what they begin with. */
static const struct {
    const char *begin, *fix;
} refused[] = {
    {"dataplane-username", "it would be shown in the list of processes: set the variable DATAPLANE_USERNAME"},
    {"dataplane-password", "it would be shown in the list of processes: set the variable DATAPLANE_PASSWORD"},
    {"local-poll", "the file is followed without polling: leave it out"},
    {"zap-", "set LOG_LEVEL and LOG_FORMAT instead"},
};

/* "--dataplane-url": its flag, or its alias as one. NULL: it is none. Allocates. */
static char *flag_name(const struct setting *row)
{
    if (row->flag == NULL && row->alias == NULL)
        return NULL;
    char *name = mem_printf("--%s", row->flag != NULL ? row->flag : row->alias);
    for (char *at = row->flag == NULL ? name : name + strlen(name); *at != '\0'; at++)
        *at = *at == '_' ? '-' : (char)tolower((unsigned char)*at);
    return name;
}

void flags_add_names(struct nearest *n)
{
    if (strlen(n->name) > strlen("-v")) /* else each letter is near */
        nearest_add(n, "-v", nearest_distance(n, "-v"));
    for (const struct setting *row = setting_table; row->name != NULL; row++) {
        cleanup(mem_free_ptr) char *name = flag_name(row);
        if (name != NULL)
            nearest_add(n, name, nearest_distance(n, name));
    }
}

const char *flags_word(const struct flags *f, const struct setting *row)
{
    for (size_t i = 0; i < f->given_count; i++)
        if (str_eq(f->given[i].name, row->name) || str_eq(f->given[i].name, row->alias))
            return f->given[i].word;
    return NULL;
}

void flags_fini(struct flags *f)
{
    for (size_t i = 0; i < f->count; i++)
        free(f->environment[i]);
    for (size_t i = 0; i < f->given_count; i++)
        free(f->given[i].word);
    mem_free_all(f->given, f->environment, f->argv);
    *f = (struct flags){0};
}

/* In place of one of that name that stands before it. */
static void flag_put(struct flags *f, const char *name, const char *word, size_t len, const char *value)
{
    size_t at = 0;
    while (at < f->count && !str_eq(f->given[at].name, name))
        at++;
    if (at < f->count) {
        mem_free_all(f->given[at].word, f->environment[at]);
    } else {
        f->given_count = ++f->count;
    }
    f->given[at] = (struct settings_flag){.name = name, .word = mem_strndup(word, len)};
    f->environment[at] = mem_printf("%s=%s", name, value);
}

/* The word at *at, which is moved to its value where that is a word of its own. 1: it is none of ours. */
static int flag_take(int argc, char *const *argv, int *at, struct flags *f, struct error *err)
{
    const char *whole = argv[*at], *word = whole + (whole[1] == '-' ? 2 : 1);
    if (str_eq(whole, "-v")) {
        flag_put(f, SETTING(log_level)->name, whole, strlen(whole), "debug");
        return 0;
    }
    size_t len = strcspn(word, "="), dashes = (size_t)(word - whole);
    const struct setting *row = setting_table;
    for (size_t i = 0; i < array_len(refused); i++)
        if (str_has_prefix(word, refused[i].begin))
            return error_set(err, ERROR_INVALID, "--%.*s: %s", (int)len, word, refused[i].fix);
    for (; row->name != NULL; row++) {
        cleanup(mem_free_ptr) char *name = flag_name(row);
        if (name != NULL && strlen(name) == len + 2 && strncmp(name + 2, word, len) == 0)
            break;
    }
    if (row->name == NULL)
        return 1;
    bool is_switch = row->type == &type_flag;
    const char *value = word[len] == '=' ? word + len + 1 : is_switch ? "true" : *at + 1 < argc ? argv[++*at] : "";
    if (value[0] == '\0' || (word[len] != '=' && value[0] == '-'))
        return error_set(err, ERROR_INVALID, "--%.*s needs a value", (int)len, word);
    flag_put(f, row->alias != NULL ? row->alias : row->name, whole, len + dashes, value);
    return 0;
}

int flags_take(int argc, char *const *argv, char *const *environ_, struct flags *ret, struct error *err)
{
    size_t variables = 0;
    while (environ_[variables] != NULL)
        variables++;
    struct flags f = {.argv = mem_array((size_t)argc + 2, sizeof(*f.argv)),
                      .environment = mem_array(variables + (size_t)argc + 1, sizeof(*f.environment)),
                      .given = mem_array((size_t)argc + 1, sizeof(*f.given))};
    f.argv[f.argc++] = argv[0];
    /* What is none of them is kept; behind "--" there are none. */
    bool over = false;
    for (int at = 1; at < argc; at++) {
        int rc = over || argv[at][0] != '-' || argv[at][1] == '\0' ? 1 : flag_take(argc, argv, &at, &f, err);
        if (rc < 0) {
            flags_fini(&f);
            return -1;
        }
        over = over || str_eq(argv[at], "--");
        if (rc == 1)
            f.argv[f.argc++] = argv[at];
    }
    memcpy(f.environment + f.count, environ_, variables * sizeof(*f.environment));
    const char *alone = NULL; /* without MODE the operator's names say nothing */
    for (const struct setting *row = setting_table; row->name != NULL && !aliases_count(f.environment); row++)
        for (size_t i = 0; i < f.given_count && alone == NULL; i++)
            if (str_eq(f.given[i].name, row->alias))
                alone = f.given[i].word;
    if (alone != NULL) {
        (void)error_set(err, ERROR_INVALID,
                        "%s is used only with --mode=k8s or --mode=local (or MODE): add one of them, or set the "
                        "variable of haproxy-k8s-sync instead (docs/settings.md)",
                        alone);
        flags_fini(&f);
        return -1;
    }
    *ret = f;
    return 0;
}

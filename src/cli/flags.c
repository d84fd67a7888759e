#include "cli/flags.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "settings/aliases.h"
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

/* Whether the alias, as a flag, is these len characters. */
static bool flag_is(const struct setting *row, const char *word, size_t len)
{
    if (row->flag != NULL)
        return strlen(row->flag) == len && strncmp(row->flag, word, len) == 0;
    if (row->alias == NULL || strlen(row->alias) != len)
        return false;
    for (size_t i = 0; i < len; i++)
        if (word[i] != (row->alias[i] == '_' ? '-' : tolower((unsigned char)row->alias[i])))
            return false;
    return true;
}

/* The variable that it stands for, NULL: it is none of these flags. */
static const char *flag_variable(const char *word, size_t len, bool *ret_switch)
{
    *ret_switch = false;
    for (const struct setting *row = setting_table; row->name != NULL; row++)
        if (flag_is(row, word, len)) {
            *ret_switch = row->type == &type_flag;
            return row->alias != NULL ? row->alias : row->name;
        }
    return NULL;
}

static const char *flag_fix(const char *word)
{
    for (size_t i = 0; i < array_len(refused); i++)
        if (str_has_prefix(word, refused[i].begin))
            return refused[i].fix;
    return NULL;
}

void flags_fini(struct flags *f)
{
    for (size_t i = 0; i < f->count; i++)
        free(f->environment[i]);
    free(f->environment);
    free(f->argv);
    *f = (struct flags){0};
}

/* Without MODE the operator's names say nothing. NULL: all of them count. */
static const char *flag_without_mode(const struct flags *f, char *const *argv, int at)
{
    for (int i = 1; i < at && !aliases_count(f->environment); i++) {
        const char *word = argv[i] + strspn(argv[i], "-");
        for (const struct setting *row = setting_table; row->name != NULL && word != argv[i]; row++)
            if (row->alias != NULL && flag_is(row, word, strcspn(word, "=")))
                return word;
    }
    return NULL;
}

/* Those at the beginning; *at is moved behind them. */
static int flags_take_all(int argc, char *const *argv, int *at, struct flags *f, struct error *err)
{
    for (; *at < argc && argv[*at][0] == '-'; (*at)++) {
        const char *word = argv[*at] + (argv[*at][1] == '-' ? 2 : 1);
        size_t len = strcspn(word, "=");
        bool is_switch;
        const char *name = flag_variable(word, len, &is_switch);
        const char *fix = flag_fix(word);
        if (fix != NULL)
            return error_set(err, ERROR_INVALID, "--%.*s: %s", (int)len, word, fix);
        if (name == NULL)
            return 0;
        const char *value = word[len] == '=' ? word + len + 1 : is_switch ? "true" : argv[++*at];
        if (*at >= argc || value[0] == '\0')
            return error_set(err, ERROR_INVALID, "--%.*s needs a value", (int)len, word);
        f->environment[f->count++] = mem_printf("%s=%s", name, value);
    }
    return 0;
}

int flags_take(int argc, char *const *argv, char *const *environ_, struct flags *ret, struct error *err)
{
    size_t variables = 0;
    int at = 1;
    while (environ_[variables] != NULL)
        variables++;
    struct flags f = {.argv = mem_array((size_t)argc + 1, sizeof(*f.argv)),
                      .environment = mem_array(variables + (size_t)argc + 1, sizeof(*f.environment))};
    if (flags_take_all(argc, argv, &at, &f, err) != 0) {
        flags_fini(&f);
        return -1;
    }
    memcpy(f.environment + f.count, environ_, variables * sizeof(*f.environment));
    const char *alone = flag_without_mode(&f, argv, at);
    if (alone != NULL) {
        flags_fini(&f);
        return error_set(err, ERROR_INVALID,
                         "--%.*s counts beside --mode=k8s or --mode=local (or MODE) alone: add that, or set our own "
                         "variable (docs/settings.md)",
                         (int)strcspn(alone, "="), alone);
    }
    f.argv[f.argc++] = argv[0];
    while (at < argc)
        f.argv[f.argc++] = argv[at++];
    *ret = f;
    return 0;
}

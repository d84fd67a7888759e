/* Streams as text, and by chance. */
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/str.h"
#include "event.h"
#include "local.h"

#include "../unit/dice.h"

static const struct {
    const char *name;
    size_t at;
    unsigned choices[6]; /* by chance */
    size_t count;
} setting_rows[] = {
    {"targets", offsetof(struct settings, targets), {1, 1, 2, 3}, 4},
    {"limit", offsetof(struct settings, limit), {50, 50, 25, 34, 100, 0}, 6},
    {"park", offsetof(struct settings, park_s), {0, 60, 3600, 3600}, 4},
    {"weights", offsetof(struct settings, weights), {0, 1, 2}, 3},
    {"drain", offsetof(struct settings, drain_s), {30, 5, 0}, 3},
    {"empty", offsetof(struct settings, empty), {0, 0, 0, 1}, 4},
    {"lanes", offsetof(struct settings, routes), {1, 1, 1, 0}, 4},
    {"nodes", offsetof(struct settings, nodes), {3, 5, 9}, 3},
    {"adopt", offsetof(struct settings, adopt), {0, 0, 1, 2}, 4},
    {"another", offsetof(struct settings, another), {0, 0, 0, 1}, 4},
    {"spares", offsetof(struct settings, spares), {0, 0, 1}, 3},
    {"dry", offsetof(struct settings, dry), {0, 0, 0, 0, 0, 1}, 6},
    {"create", offsetof(struct settings, create), {0, 0, 0, 1}, 4},
    {"local", offsetof(struct settings, local), {0}, 0}, /* by who plays it */
    {"whole", offsetof(struct settings, whole), {0}, 0},
    {"clusters", offsetof(struct settings, clusters), {0}, 0},
    {"drift", offsetof(struct settings, drift), {0, 1, 2}, 3},
    {"kept", offsetof(struct settings, kept), {1, 1, 0}, 3},
    {"apart", offsetof(struct settings, apart_s), {0, 0, 2, 30}, 4},
    {"canary", offsetof(struct settings, canary), {0, 1}, 2},
    {"files", offsetof(struct settings, files), {0, 1}, 2},
    {"adds", offsetof(struct settings, adds), {0}, 0}, /* by the seed */
};

#define OF_SERVERS 14 /* rows, which all streams have */

static unsigned *setting(struct settings *s, size_t i)
{
    return (unsigned *)(void *)((char *)s + setting_rows[i].at);
}

/* ---- by chance ---- */

/* What happens to whole configurations, too. */
static bool concerns_whole(const struct event_kind *k, bool local)
{
    static const char *const names[] = {"reload", "restart-haproxy", "fail-reloads", "fault", "faults", "kill", "stop",
                                        "rest"},
                             *const local_names[] = {"local-use", "local-refuse-adds", "local-other"},
                             *const api_names[] = {"restart-api", "foreign", "foreign-end"};
    const char *const *own = local ? local_names : api_names;
    for (size_t i = 0; i < array_len(names); i++)
        if (strcmp(names[i], k->name) == 0)
            return true;
    for (size_t i = 0; i < array_len(local_names); i++)
        if (strcmp(own[i], k->name) == 0)
            return true;
    return false;
}

/* Those of an API alone are the last ones. */
static bool is_of_whole(const struct event_kind *k, bool local)
{
    return !local || !str_has_prefix(k->name, "whole-api-");
}

static const struct event_kind *whole_kind_by_chance(struct dice *dice, bool local)
{
    unsigned all = 0, sum = 0;
    for (size_t i = 0; i < whole_event_kind_count; i++)
        all += is_of_whole(&whole_event_kinds[i], local) ? whole_event_kinds[i].weight : 0;
    for (size_t i = 0; i < event_kind_count; i++)
        all += concerns_whole(&event_kinds[i], local) ? event_kinds[i].weight : 0;
    unsigned at = dice_below(dice, all);
    for (size_t i = 0; i < whole_event_kind_count; i++) {
        sum += is_of_whole(&whole_event_kinds[i], local) ? whole_event_kinds[i].weight : 0;
        if (at < sum)
            return &whole_event_kinds[i];
    }
    size_t i = 0;
    for (; !concerns_whole(&event_kinds[i], local) || at >= (sum += event_kinds[i].weight); i++)
        ;
    return &event_kinds[i];
}

static unsigned weight_of(const struct event_kind *k, const struct settings *s)
{
    bool of_adds = s->adds != 0 && (str_eq(k->name, "local-use") || str_eq(k->name, "local-refuse-adds"));
    bool is_none = (s->local == LOCAL_NONE && !of_adds && str_has_prefix(k->name, "local-")) ||
                   (s->adds == 0 && str_has_prefix(k->name, "adds-")) ||
                   (s->clusters == 0 && str_has_prefix(k->name, "cluster-"));
    return is_none ? 0 : k->weight;
}

static const struct event_kind *kind_by_chance(struct dice *dice, const struct settings *s)
{
    unsigned all = 0;
    for (size_t i = 0; i < event_kind_count; i++)
        all += weight_of(&event_kinds[i], s);
    unsigned left = dice_below(dice, all);
    size_t i = 0;
    for (; left >= weight_of(&event_kinds[i], s); i++)
        left -= weight_of(&event_kinds[i], s);
    return &event_kinds[i];
}

/* Often at once, mostly within seconds, sometimes after a rest. */
static unsigned pause_by_chance(struct dice *dice)
{
    switch (dice_below(dice, 8)) {
    case 0:
    case 1:
        return 0;
    case 2:
    case 3:
        return dice_below(dice, 300);
    case 4:
    case 5:
        return dice_below(dice, 4000);
    case 6:
        return dice_below(dice, 20000);
    default:
        return dice_below(dice, dice_below(dice, 16) == 0 ? 500000 : 70000);
    }
}

static void settings_by_chance(struct stream *s, struct dice *dice, unsigned local, bool whole, bool clusters)
{
    size_t i = 0;
    for (; i < array_len(setting_rows) && setting_rows[i].count > 0; i++)
        *setting(&s->settings, i) = setting_rows[i].choices[dice_below(dice, (unsigned)setting_rows[i].count)];
    s->settings.local = local;
    s->settings.whole = whole;
    s->settings.clusters = clusters;
    s->settings.another = clusters ? 0 : s->settings.another; /* whose would be none's */
    if (!whole)
        return;
    s->settings.targets = local != LOCAL_NONE || s->settings.targets == 1 ? 1 : 2;
    s->settings.another = s->settings.create = 0;
    for (; i < array_len(setting_rows); i++)
        if (setting_rows[i].count > 0)
            *setting(&s->settings, i) = setting_rows[i].choices[dice_below(dice, (unsigned)setting_rows[i].count)];
    s->settings.files = local == LOCAL_NONE ? s->settings.files : 0;
}

void stream_by_chance(struct stream *s, unsigned long seed, size_t count, unsigned local, bool whole, bool clusters)
{
    struct dice dice = {seed * 0x9e3779b97f4a7c15UL + 0x1234567};
    for (unsigned i = 0; i < 8; i++)
        (void)dice_below(&dice, 2);
    settings_by_chance(s, &dice, local, whole, clusters);
    s->settings.adds = local == LOCAL_NONE && (whole ? seed % 2 == 1 : !clusters && seed % 3 == 1);
    for (s->count = 0; s->count < count && s->count < EVENTS_MAX; s->count++) {
        struct event *e = &s->events[s->count];
        *e = (struct event){.after_ms = pause_by_chance(&dice)};
        e->kind = whole ? whole_kind_by_chance(&dice, local != LOCAL_NONE) : kind_by_chance(&dice, &s->settings);
        for (size_t n = 0; n < NUMBERS_MAX && e->kind->below[n] != 0; n++)
            e->numbers[n] = dice_below(&dice, e->kind->below[n]);
    }
}

/* ---- text ---- */

void stream_print(const struct stream *s, FILE *out)
{
    struct settings copy = s->settings;
    fprintf(out, "world");
    for (size_t i = 0; i < array_len(setting_rows); i++)
        if (*setting(&copy, i) != 0 || i < OF_SERVERS)
            fprintf(out, " %s=%u", setting_rows[i].name, *setting(&copy, i));
    fprintf(out, "\n");
    for (size_t i = 0; i < s->count; i++) {
        const struct event *e = &s->events[i];
        fprintf(out, "+%u %s", e->after_ms, e->kind->name);
        for (size_t n = 0; n < NUMBERS_MAX && e->kind->below[n] != 0; n++)
            fprintf(out, " %u", e->numbers[n]);
        fprintf(out, "\n");
    }
}

static const struct event_kind *kind_of(const char *name)
{
    for (size_t i = 0; i < event_kind_count; i++)
        if (strcmp(event_kinds[i].name, name) == 0)
            return &event_kinds[i];
    for (size_t i = 0; i < whole_event_kind_count; i++)
        if (strcmp(whole_event_kinds[i].name, name) == 0)
            return &whole_event_kinds[i];
    return NULL;
}

static int read_settings(struct settings *s, char *words)
{
    for (char *word; (word = strsep(&words, " ")) != NULL;) {
        char *value = strchr(word, '=');
        size_t i = 0;
        if (value == NULL)
            return -1;
        *value++ = '\0';
        while (i < array_len(setting_rows) && strcmp(setting_rows[i].name, word) != 0)
            i++;
        if (i == array_len(setting_rows))
            return -1;
        *setting(s, i) = (unsigned)strtoul(value, NULL, 10);
    }
    return 0;
}

int stream_set(struct stream *s, const char *settings)
{
    char copy[256];
    snprintf(copy, sizeof(copy), "%s", settings);
    return settings[0] != '\0' ? read_settings(&s->settings, copy) : 0;
}

static int read_event(struct event *e, char *words)
{
    char *word = strsep(&words, " ");
    e->after_ms = (unsigned)strtoul(word + 1, NULL, 10);
    word = strsep(&words, " ");
    e->kind = word != NULL ? kind_of(word) : NULL;
    for (size_t n = 0; e->kind != NULL && n < NUMBERS_MAX && e->kind->below[n] != 0; n++) {
        word = strsep(&words, " ");
        if (word == NULL)
            return -1;
        e->numbers[n] = (unsigned)strtoul(word, NULL, 10) % e->kind->below[n];
    }
    return e->kind != NULL ? 0 : -1;
}

int stream_read(struct stream *s, FILE *in, const char *name)
{
    char line[256];
    unsigned number = 0;
    s->count = 0;
    s->settings = (struct settings){.targets = 1, .limit = 100, .park_s = 3600, .drain_s = 30, .routes = 1, .nodes = 5};
    while (fgets(line, sizeof(line), in) != NULL) {
        int status = 0;
        number++;
        line[strcspn(line, "\n#")] = '\0';
        for (size_t len = strlen(line); len > 0 && line[len - 1] == ' ';)
            line[--len] = '\0';
        if (strncmp(line, "world ", 6) == 0)
            status = read_settings(&s->settings, line + 6);
        else if (line[0] == '+' && s->count < EVENTS_MAX)
            status = read_event(&s->events[s->count++], line);
        else if (line[0] != '\0')
            status = -1;
        if (status != 0) {
            fprintf(stderr, "%s:%u: this is no line of a case\n", name, number);
            return -1;
        }
    }
    return 0;
}

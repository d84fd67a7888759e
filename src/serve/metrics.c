#include "serve/metrics.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "serve/process.h"

#define PREFIX "haproxy_k8s_sync_"
#define LABELS_MAX 4
#define SETS_MAX 200
#define LABEL_BYTES 121 /* with the NUL */

/* Requests to a neighbour take milliseconds, a reload seconds, a stuck one a minute. */
static const double bounds[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};

struct histogram {
    uint64_t buckets[array_len(bounds)]; /* each for itself; the sum is made when printing */
    uint64_t count;
    double sum;
};

/* One set of label values. */
struct series {
    char *labels[LABELS_MAX];
    double value;
    struct histogram *histogram; /* NULL unless the metric is one */
};

struct metric {
    enum metric_type type;
    char *name;
    const char *help;
    char *label_names[LABELS_MAX];
    size_t label_count;
    struct series *series;
    size_t series_count;
    struct metric *next;
};

struct scrape_callback {
    void (*fn)(void *arg);
    void *arg;
    struct scrape_callback *next;
};

struct metrics {
    struct metric *first, **last; /* in the order they were registered */
    struct scrape_callback *callbacks;
    double start_seconds;
};

struct metrics *metrics_new(void)
{
    struct metrics *m = mem_alloc(sizeof(*m));
    m->last = &m->first;
    m->start_seconds = process_start_seconds();
    return m;
}

void metric_clear(struct metric *x)
{
    for (size_t i = 0; i < x->series_count; i++) {
        for (size_t l = 0; l < LABELS_MAX; l++)
            free(x->series[i].labels[l]);
        free(x->series[i].histogram);
    }
    free(x->series);
    x->series = NULL;
    x->series_count = 0;
}

static void metric_free(struct metric *x)
{
    metric_clear(x);
    for (size_t l = 0; l < LABELS_MAX; l++)
        free(x->label_names[l]);
    free(x->name);
    free(x);
}

void metrics_free(struct metrics *m)
{
    if (m == NULL)
        return;
    for (struct metric *x = m->first, *next; x != NULL; x = next) {
        next = x->next;
        metric_free(x);
    }
    for (struct scrape_callback *c = m->callbacks, *next; c != NULL; c = next) {
        next = c->next;
        free(c);
    }
    free(m);
}

/* Values as they are kept and compared. */
struct values {
    char text[LABELS_MAX][LABEL_BYTES];
};

static struct series *add_series(struct metric *x, const struct values *v)
{
    x->series = mem_resize(x->series, x->series_count + 1, sizeof(x->series[0]));
    struct series *s = &x->series[x->series_count++];
    *s = (struct series){.value = 0};
    for (size_t l = 0; l < x->label_count; l++)
        s->labels[l] = mem_strdup(v->text[l]);
    if (x->type == METRIC_HISTOGRAM)
        s->histogram = mem_alloc(sizeof(*s->histogram));
    return s;
}

struct metric *metrics_register(struct metrics *m, enum metric_type type, const char *name, const char *help,
                                const char *label_names)
{
    static const struct values none;
    char *full = mem_printf("%s%s", str_has_prefix(name, "process_") ? "" : PREFIX, name);
    for (struct metric *x = m->first; x != NULL; x = x->next)
        if (strcmp(x->name, full) == 0) {
            free(full);
            return x;
        }
    struct metric *x = mem_alloc(sizeof(*x));
    x->type = type;
    x->name = full;
    x->help = help;
    while (label_names[0] != '\0' && x->label_count < LABELS_MAX) {
        size_t len = strcspn(label_names, ",");
        x->label_names[x->label_count++] = mem_strndup(label_names, len);
        label_names += len + (label_names[len] == ',');
    }
    if (x->label_count == 0)
        add_series(x, &none);
    *m->last = x;
    m->last = &x->next;
    return x;
}

/* ---- finding the series of a set of values ---- */

/* Length of the UTF-8 sequence at s; 0: none. */
static size_t utf8_len(const unsigned char *s)
{
    size_t len = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3 : 4;
    if (len == 1)
        return 1;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    /* overlong forms, surrogates, past U+10FFFF */
    bool bad = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
               (s[0] == 0xf4 && s[1] > 0x8f);
    return bad ? 0 : len;
}

static void take_value(char to[LABEL_BYTES], const char *from)
{
    size_t n = 0;
    while (*from != '\0') {
        size_t len = utf8_len((const unsigned char *)from);
        size_t bytes = len > 0 ? len : 1;
        if (n + bytes >= LABEL_BYTES)
            break;
        if (len > 0)
            memcpy(to + n, from, len);
        else
            to[n] = '?';
        n += bytes;
        from += bytes;
    }
    to[n] = '\0';
}

static void take_values(const struct metric *x, struct values *ret, va_list ap)
{
    const char *value = "";
    for (size_t l = 0; l < x->label_count; l++) {
        if (value != NULL)
            value = va_arg(ap, const char *);
        take_value(ret->text[l], value != NULL ? value : "");
    }
}

static struct series *find_series(const struct metric *x, const struct values *v)
{
    for (size_t i = 0; i < x->series_count; i++) {
        size_t same = 0;
        while (same < x->label_count && strcmp(x->series[i].labels[same], v->text[same]) == 0)
            same++;
        if (same == x->label_count)
            return &x->series[i];
    }
    return NULL;
}

static struct series *get_series(struct metric *x, struct values *v)
{
    struct series *s = find_series(x, v);
    if (s == NULL && x->series_count >= SETS_MAX) {
        for (size_t l = 0; l < x->label_count; l++)
            take_value(v->text[l], "other");
        s = find_series(x, v);
    }
    return s != NULL ? s : add_series(x, v);
}

void metric_add(struct metric *x, double value, ...)
{
    struct values v;
    va_list ap;
    va_start(ap, value);
    take_values(x, &v, ap);
    va_end(ap);
    if (isnan(value) || (x->type == METRIC_COUNTER && value < 0))
        return;
    get_series(x, &v)->value += value;
}

void metric_set(struct metric *x, double value, ...)
{
    struct values v;
    va_list ap;
    va_start(ap, value);
    take_values(x, &v, ap);
    va_end(ap);
    if (x->type == METRIC_COUNTER && (isnan(value) || value < 0))
        return;
    get_series(x, &v)->value = value;
}

void metric_observe(struct metric *x, double seconds, ...)
{
    struct values v;
    va_list ap;
    va_start(ap, seconds);
    take_values(x, &v, ap);
    va_end(ap);
    struct histogram *h = isnan(seconds) ? NULL : get_series(x, &v)->histogram;
    if (h == NULL)
        return;
    for (size_t i = 0; i < array_len(bounds); i++)
        if (seconds <= bounds[i]) {
            h->buckets[i]++;
            break;
        }
    h->count++;
    h->sum += seconds;
}

double metric_value(struct metric *x, ...)
{
    struct values v;
    va_list ap;
    va_start(ap, x);
    take_values(x, &v, ap);
    va_end(ap);
    const struct series *s = find_series(x, &v);
    if (s == NULL)
        return 0;
    return s->histogram != NULL ? (double)s->histogram->count : s->value;
}

void metrics_on_scrape(struct metrics *m, void (*fn)(void *arg), void *arg)
{
    struct scrape_callback *c = mem_alloc(sizeof(*c));
    *c = (struct scrape_callback){fn, arg, m->callbacks};
    m->callbacks = c;
}

/* ---- printing ---- */

static void print_escaped(struct buf *out, const char *s, bool quotes)
{
    for (; *s != '\0'; s++)
        if (*s == '\n')
            buf_add(out, "\\n");
        else if (*s == '\\')
            buf_add(out, "\\\\");
        else if (*s == '"' && quotes)
            buf_add(out, "\\\"");
        else
            buf_addn(out, s, 1);
}

/* The shortest of three spellings that reads back as the same number. */
static void print_number(struct buf *out, double value)
{
    char text[40];
    if (isnan(value) || isinf(value)) {
        buf_add(out, isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf");
        return;
    }
    bool whole = value > -1e15 && value < 1e15 && value == (double)(int64_t)value;
    snprintf(text, sizeof(text), whole ? "%.0f" : "%.15g", value);
    if (strtod(text, NULL) != value)
        snprintf(text, sizeof(text), "%.17g", value);
    buf_add(out, text);
}

/* NAME{label="value",...,le="0.1"} and a space; le NULL: none. */
static void print_series_name(struct buf *out, const struct metric *x, const struct series *s, const char *suffix,
                              const char *le)
{
    size_t printed = 0;
    buf_printf(out, "%s%s", x->name, suffix);
    for (size_t l = 0; l < x->label_count; l++) {
        buf_printf(out, "%s%s=\"", printed++ == 0 ? "{" : ",", x->label_names[l]);
        print_escaped(out, s->labels[l], true);
        buf_add(out, "\"");
    }
    if (le != NULL)
        buf_printf(out, "%sle=\"%s\"", printed++ == 0 ? "{" : ",", le);
    buf_add(out, printed > 0 ? "} " : " ");
}

static void print_histogram(struct buf *out, const struct metric *x, const struct series *s)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < array_len(bounds); i++) {
        char le[16];
        snprintf(le, sizeof(le), "%g", bounds[i]);
        sum += s->histogram->buckets[i];
        print_series_name(out, x, s, "_bucket", le);
        buf_printf(out, "%llu\n", (unsigned long long)sum);
    }
    print_series_name(out, x, s, "_bucket", "+Inf");
    buf_printf(out, "%llu\n", (unsigned long long)s->histogram->count);
    print_series_name(out, x, s, "_sum", NULL);
    print_number(out, s->histogram->sum);
    buf_add(out, "\n");
    print_series_name(out, x, s, "_count", NULL);
    buf_printf(out, "%llu\n", (unsigned long long)s->histogram->count);
}

static void print_metric(struct buf *out, const struct metric *x)
{
    static const char *const types[] = {"counter", "gauge", "histogram"};
    buf_printf(out, "# HELP %s ", x->name);
    print_escaped(out, x->help, false);
    buf_printf(out, "\n# TYPE %s %s\n", x->name, types[x->type]);
    for (size_t i = 0; i < x->series_count; i++) {
        const struct series *s = &x->series[i];
        if (s->histogram != NULL) {
            print_histogram(out, x, s);
            continue;
        }
        print_series_name(out, x, s, "", NULL);
        print_number(out, s->value);
        buf_add(out, "\n");
    }
}

void metrics_print(struct metrics *m, struct buf *out)
{
    for (const struct scrape_callback *c = m->callbacks; c != NULL; c = c->next)
        c->fn(c->arg);
    for (const struct metric *x = m->first; x != NULL; x = x->next)
        print_metric(out, x);
    process_print(m->start_seconds, out);
}

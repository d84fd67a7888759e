#include "report/prometheus.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/shared_text.h"
#include "base/text.h"
#include "host/process.h"

#define LABELS_MAX 4
#define PEER_VALUES_MAX 20
#define PEER_VALUE_BYTES 120

/* Requests to a neighbour take milliseconds, a reload seconds, a stuck one a minute. */
static const double bounds[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};

struct histogram {
    uint64_t buckets[array_len(bounds)]; /* each for itself; the sum is made when printing */
    uint64_t count;
    double sum;
};

/* One set of label values. */
struct series {
    const char *labels; /* as they are printed: a="x",b="y"; the key; base/shared_text's, as many have the same */
    double value;
    struct histogram *histogram; /* NULL unless the metric is one */
    UT_hash_handle hh;
};

struct metric {
    enum metric_type type;
    char *name;
    const char *help;
    char *label_names[LABELS_MAX];
    size_t label_count;
    bool from_peers; /* the values of the last label are */
    struct series *series;
    struct metric *next;
};

struct metrics {
    struct metric *first, **last; /* in the order they were registered */
    void (*on_scrape)(void *arg); /* NULL: none */
    void *arg;
    struct buf label; /* of each line, as it is printed; "": none */
    double start_seconds;
};

struct metrics *metrics_new(void)
{
    struct metrics *m = mem_alloc(sizeof(*m));
    m->last = &m->first;
    m->start_seconds = process_start_seconds();
    return m;
}

static void series_free(struct metric *x, struct series *s)
{
    HASH_DEL(x->series, s); /* NOLINT(clang-analyzer-unix.Malloc) */
    shared_text_free(s->labels);
    mem_free_all(s->histogram, s);
}

void metric_clear(struct metric *x)
{
    for (struct series *next, *s = x->series; s != NULL; s = next) {
        next = s->hh.next;
        series_free(x, s);
    }
}

void metrics_free(struct metrics *m)
{
    if (m == NULL)
        return;
    for (struct metric *x = m->first, *next; x != NULL; x = next) {
        next = x->next;
        metric_clear(x);
        for (size_t l = 0; l < LABELS_MAX; l++)
            free(x->label_names[l]);
        mem_free_all(x->name, x);
    }
    buf_fini(&m->label);
    free(m);
}

static struct series *add_series(struct metric *x, const char *labels)
{
    struct series *s = mem_alloc(sizeof(*s));
    s->labels = shared_text(labels);
    if (x->type == METRIC_HISTOGRAM)
        s->histogram = mem_alloc(sizeof(*s->histogram));
    HASH_ADD_KEYPTR(hh, x->series, s->labels, strlen(s->labels), s);
    return s;
}

struct metric *metrics_register_whole(struct metrics *m, enum metric_type type, const char *name, const char *help,
                                      const char *label_names)
{
    struct metric *x = mem_alloc(sizeof(*x));
    x->type = type;
    x->name = mem_strdup(name);
    x->help = help;
    while (label_names[0] != '\0' && x->label_count < LABELS_MAX) {
        size_t len = strcspn(label_names, ",*");
        x->label_names[x->label_count++] = mem_strndup(label_names, len);
        x->from_peers = label_names[len] == '*';
        label_names += len + (label_names[len] != '\0');
    }
    if (x->label_count == 0)
        add_series(x, "");
    *m->last = x;
    m->last = &x->next;
    return x;
}

struct metric *metrics_register(struct metrics *m, enum metric_type type, const char *name, const char *help,
                                const char *label_names)
{
    cleanup(mem_free_ptr) char *whole = mem_printf("haproxy_k8s_sync_%s", name);
    return metrics_register_whole(m, type, whole, help, label_names);
}

/* ---- finding the series of a set of values ---- */

/* `count` labels as they are printed. */
static void print_labels(const struct metric *x, size_t count, va_list ap, struct buf *out)
{
    const char *value = "";
    for (size_t l = 0; l < count; l++) {
        if (value != NULL)
            value = va_arg(ap, const char *);
        buf_printf(out, "%s%s=\"", l > 0 ? "," : "", x->label_names[l]);
        if (value != NULL)
            text_addn(out, value,
                      text_cut(value, x->from_peers && l + 1 == x->label_count ? PEER_VALUE_BYTES : TEXT_WHOLE),
                      TEXT_LABEL, TEXT_WHOLE);
        buf_add(out, "\"");
    }
}

static struct series *find_series(const struct metric *x, va_list ap)
{
    struct series *s;
    cleanup(buf_fini) struct buf labels = {0};
    print_labels(x, x->label_count, ap, &labels);
    HASH_FIND(hh, x->series, buf_str(&labels), labels.len, s);
    return s;
}

static struct series *get_series(struct metric *x, va_list ap)
{
    struct series *s;
    cleanup(buf_fini) struct buf labels = {0};
    va_list again;
    va_copy(again, ap);
    print_labels(x, x->label_count, ap, &labels);
    HASH_FIND(hh, x->series, buf_str(&labels), labels.len, s);
    if (s == NULL && x->from_peers) {
        cleanup(buf_fini) struct buf others = {0};
        print_labels(x, x->label_count - 1, again, &others);
        buf_printf(&others, "%s%s=\"", x->label_count > 1 ? "," : "", x->label_names[x->label_count - 1]);
        size_t count = 0; /* of values of the last label with these of the others */
        for (const struct series *one = x->series; one != NULL; one = one->hh.next)
            count += strncmp(one->labels, buf_str(&others), others.len) == 0;
        if (count >= PEER_VALUES_MAX) {
            buf_add(&others, "other\"");
            buf_clear(&labels);
            buf_add(&labels, buf_str(&others));
            HASH_FIND(hh, x->series, buf_str(&labels), labels.len, s);
        }
    }
    va_end(again);
    return s != NULL ? s : add_series(x, buf_str(&labels));
}

void metric_add(struct metric *x, double value, ...)
{
    va_list ap;
    va_start(ap, value);
    if (!isnan(value) && (x->type != METRIC_COUNTER || value >= 0))
        get_series(x, ap)->value += value;
    va_end(ap);
}

void metric_set(struct metric *x, double value, ...)
{
    va_list ap;
    va_start(ap, value);
    if (x->type != METRIC_COUNTER || value >= 0)
        get_series(x, ap)->value = value;
    va_end(ap);
}

void metric_remove(struct metric *x, ...)
{
    va_list ap;
    va_start(ap, x);
    struct series *s = find_series(x, ap);
    va_end(ap);
    if (s != NULL)
        series_free(x, s);
}

void metrics_forget(struct metrics *m, const char *label, const char *value)
{
    cleanup(buf_fini) struct buf line = {0};
    buf_printf(&line, ",%s=\"", label);
    text_addn(&line, value, strlen(value), TEXT_LABEL, TEXT_WHOLE);
    buf_add(&line, "\",");
    for (struct metric *x = m->first; x != NULL; x = x->next)
        for (struct series *next, *s = x->series; s != NULL; s = next) {
            cleanup(mem_free_ptr) char *labels = mem_printf(",%s,", s->labels); /* no value has a '"' that is bare */
            next = s->hh.next;
            if (strstr(labels, buf_str(&line)) != NULL)
                series_free(x, s);
        }
}

void metric_observe(struct metric *x, double seconds, ...)
{
    va_list ap;
    va_start(ap, seconds);
    struct histogram *h = isnan(seconds) ? NULL : get_series(x, ap)->histogram;
    va_end(ap);
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
    va_list ap;
    va_start(ap, x);
    const struct series *s = find_series(x, ap);
    va_end(ap);
    if (s == NULL)
        return 0;
    return s->histogram != NULL ? (double)s->histogram->count : s->value;
}

void metrics_label(struct metrics *m, const char *name, const char *value)
{
    buf_clear(&m->label);
    buf_printf(&m->label, "%s=\"", name);
    text_addn(&m->label, value, strlen(value), TEXT_LABEL, TEXT_WHOLE);
    buf_add(&m->label, "\"");
}

void metrics_on_scrape(struct metrics *m, void (*fn)(void *arg), void *arg)
{
    m->on_scrape = fn;
    m->arg = arg;
}

/* ---- printing ---- */

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

/* NAME{label="value",...,all="x",le="0.1"} and a space; all "": none, le NULL: none. */
static void print_series_name(struct buf *out, const struct metric *x, const struct series *s, const char *suffix,
                              const char *all, const char *le)
{
    const char *between = s->labels[0] != '\0' ? "," : "";
    bool any = s->labels[0] != '\0' || all[0] != '\0' || le != NULL;
    buf_add(out, x->name);
    buf_add(out, suffix);
    if (any)
        buf_add(out, "{");
    buf_add(out, s->labels);
    if (all[0] != '\0') {
        buf_printf(out, "%s%s", between, all);
        between = ",";
    }
    if (le != NULL)
        buf_printf(out, "%sle=\"%s\"", between, le);
    buf_add(out, any ? "} " : " ");
}

static void print_histogram(struct buf *out, const struct metric *x, const struct series *s, const char *all)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < array_len(bounds); i++) {
        char le[16];
        snprintf(le, sizeof(le), "%g", bounds[i]);
        sum += s->histogram->buckets[i];
        print_series_name(out, x, s, "_bucket", all, le);
        buf_printf(out, "%llu\n", (unsigned long long)sum);
    }
    print_series_name(out, x, s, "_bucket", all, "+Inf");
    buf_printf(out, "%llu\n", (unsigned long long)s->histogram->count);
    print_series_name(out, x, s, "_sum", all, NULL);
    print_number(out, s->histogram->sum);
    buf_add(out, "\n");
    print_series_name(out, x, s, "_count", all, NULL);
    buf_printf(out, "%llu\n", (unsigned long long)s->histogram->count);
}

static void print_metric(struct buf *out, const struct metric *x, const char *all)
{
    static const char *const types[] = {"counter", "gauge", "histogram"};
    buf_printf(out, "# HELP %s ", x->name);
    text_add(out, x->help, TEXT_HELP, TEXT_WHOLE);
    buf_printf(out, "\n# TYPE %s %s\n", x->name, types[x->type]);
    for (const struct series *s = x->series; s != NULL; s = s->hh.next) {
        if (s->histogram != NULL) {
            print_histogram(out, x, s, all);
            continue;
        }
        print_series_name(out, x, s, "", all, NULL);
        print_number(out, s->value);
        buf_add(out, "\n");
    }
}

void metrics_print(struct metrics *m, struct buf *out)
{
    if (m->on_scrape != NULL)
        m->on_scrape(m->arg);
    for (const struct metric *x = m->first; x != NULL; x = x->next)
        print_metric(out, x, buf_str(&m->label));
    process_print(m->start_seconds, buf_str(&m->label), out);
}

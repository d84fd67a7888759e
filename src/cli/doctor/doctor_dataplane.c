#include "cli/doctor/doctor_dataplane.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/str.h"
#include "haproxy/dataplane/client.h"

static void on_answer(void *arg, const struct dataplane_answer *a);

static void finish(struct doctor_dataplane *d)
{
    timer_cancel(&d->deadline);
    d->done(d->arg);
}

static void ask(struct doctor_dataplane *d, enum doctor_dataplane_step step)
{
    static const char *const paths[] = {
        [DATAPLANE_V3] = "/v3/info",
        [DATAPLANE_V2] = "/v2/info",
        [DATAPLANE_HAPROXY] = "/runtime/info",
        [DATAPLANE_GLOBAL] = "/configuration/global",
        [DATAPLANE_TRANSACTIONS] = "/transactions",
        [DATAPLANE_RELOADS] = "/reloads",
    };
    d->step = step;
    if (step == DATAPLANE_V3 || step == DATAPLANE_V2)
        dataplane_get_root(d->client, paths[step], on_answer, d);
    else
        dataplane_send(d->client, "GET", paths[step], NULL, on_answer, d);
}

/* False: that was the last one. */
static bool next_step(const struct doctor_dataplane *d, enum doctor_dataplane_step *ret)
{
    const struct doctor_get *get = &d->gets[d->step];
    bool good = get->error.kind == ERROR_NONE, refused = get->status == 401 || get->status == 403;
    *ret = d->step == DATAPLANE_V3 && good ? DATAPLANE_HAPROXY : d->step + 1;
    if (d->step == DATAPLANE_V3)
        return good || (get->status != 0 && !refused);
    return d->step != DATAPLANE_V2 && *ret < DATAPLANE_STEPS;
}

/* ---- answers ---- */

static int read_transactions(struct doctor_dataplane *d, const struct dataplane_answer *a, struct error *err)
{
    struct codec_transaction *list;
    if (codec_read_transactions(a->body, a->body_len, &list, &d->transactions, err) != 0)
        return -1;
    for (size_t i = 0; i < d->transactions; i++)
        d->open_transactions += str_eq(list[i].status, "in_progress");
    codec_transactions_free(list, d->transactions);
    return 0;
}

static int read_answer(struct doctor_dataplane *d, const struct dataplane_answer *a, struct error *err)
{
    switch (d->step) {
    case DATAPLANE_V3:
    case DATAPLANE_V2:
        return about_read_api(a->body, a->body_len, &d->version, err);
    case DATAPLANE_HAPROXY:
        return about_read_haproxy(a->body, a->body_len, &d->haproxy, err);
    case DATAPLANE_GLOBAL:
        return about_read_global(a->body, a->body_len, &d->global, err);
    case DATAPLANE_TRANSACTIONS:
        return read_transactions(d, a, err);
    case DATAPLANE_RELOADS:
        return codec_read_reloads(a->body, a->body_len, &d->reloads, err);
    case DATAPLANE_STEPS:
        break;
    }
    return 0;
}

static void take(struct doctor_dataplane *d, const struct dataplane_answer *a)
{
    struct doctor_get *get = &d->gets[d->step];
    get->asked = true;
    get->status = a->status;
    if (a->error != NULL)
        get->error = *a->error;
    else if (a->status != 200)
        error_set_http(&get->error, a->status, "HTTP %d%s%s", a->status, a->excerpt[0] != '\0' ? ": " : "", a->excerpt);
    else if (read_answer(d, a, &get->error) != 0 && a->excerpt[0] != '\0') /* which says more than the parser */
        error_set(&get->error, ERROR_INVALID, "HTTP %d: %s", a->status, a->excerpt);
    if (d->step != DATAPLANE_V3 || a->response == NULL)
        return;
    d->connection = http_response_connection(a->response);
    d->skew = doctor_skew_of(http_response_header(a->response, "Date"), clock_wall_ms(), a->duration_us);
}

static void on_answer(void *arg, const struct dataplane_answer *a)
{
    struct doctor_dataplane *d = arg;
    enum doctor_dataplane_step next;
    take(d, a);
    if (next_step(d, &next))
        ask(d, next);
    else
        finish(d);
}

static void on_deadline(void *arg)
{
    struct doctor_dataplane *d = arg;
    struct doctor_get *get = &d->gets[d->step];
    if (d->step == DATAPLANE_V3)
        d->connection = dataplane_connection(d->client);
    dataplane_cancel(d->client);
    get->asked = true;
    error_set(&get->error, ERROR_RETRY, "no answer in time (--timeout)");
    finish(d);
}

/* ---- life ---- */

void doctor_dataplane_start(struct doctor_dataplane *d, struct event_base *base, struct dataplane_client *client,
                            uint64_t timeout_ms, void (*done)(void *arg), void *arg)
{
    *d = (struct doctor_dataplane){.client = client, .done = done, .arg = arg};
    timer_init(&d->deadline, base, on_deadline, d);
    timer_set(&d->deadline, timeout_ms);
    ask(d, DATAPLANE_V3);
}

void doctor_dataplane_fini(struct doctor_dataplane *d)
{
    timer_fini(&d->deadline);
    free(d->version);
    about_haproxy_fini(&d->haproxy);
    reload_history_fini(&d->reloads);
    *d = (struct doctor_dataplane){0};
}

bool doctor_dataplane_usable(const struct doctor_dataplane *d)
{
    return d->client != NULL && d->gets[DATAPLANE_V3].asked && d->gets[DATAPLANE_V3].error.kind == ERROR_NONE;
}

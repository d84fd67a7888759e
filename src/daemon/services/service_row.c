#include "daemon/services/service_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/record.h"

#define WORDS_MAX 8 /* server NAME ADDRESS port N no-check-send-proxy weight N */

static const struct record_member server_rows[] = {
    RECORD_TEXT(struct service_server, name),   RECORD_TEXT(struct service_server, address),
    RECORD_PLAIN(struct service_server, state), RECORD_PLAIN(struct service_server, weight),
    RECORD_PLAIN(struct service_server, port),
};
static const struct record server_record = {sizeof(struct service_server), server_rows, array_len(server_rows), false};
static const struct record_member servers_rows[] = {
    RECORD_TEXT(struct service_servers, backend),
    RECORD_LIST(struct service_servers, list, count, &server_record),
};
static const struct record servers_record = {sizeof(struct service_servers), servers_rows, array_len(servers_rows),
                                             false};

void service_row_fini(struct service_row *r)
{
    free(r->servers);
    loss_limit_fini(&r->losses);
    *r = (struct service_row){0};
}

bool service_row_is_live(const struct service_row *r)
{
    for (size_t i = 0; r->servers != NULL && i < r->servers->count; i++)
        if (r->servers->list[i].state == SERVER_LIVE)
            return true;
    return false;
}

void service_row_renumber(struct service_row *r, uint16_t was, uint16_t is)
{
    for (size_t i = 0; r->servers != NULL && i < r->servers->count; i++)
        if (r->servers->list[i].port == was)
            r->servers->list[i].port = is;
}

/* ---- new lines ---- */

/* What they say is borrowed until it is packed. */
struct draft {
    struct service_server *list;
    size_t count;
};

/* The record wants them so; nothing writes to them. */
static char *draft_text(const char *s)
{
    return (char *)(uintptr_t)s;
}

static void draft_desired(struct draft *to, const struct desired_server *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to->list[to->count++] = (struct service_server){.name = draft_text(list[i].name),
                                                        .address = draft_text(list[i].address),
                                                        .state = list[i].state,
                                                        .weight = list[i].weight,
                                                        .port = list[i].port};
}

static int order_of_servers(const void *a, const void *b)
{
    return strcmp(((const struct service_server *)a)->name, ((const struct service_server *)b)->name);
}

static void row_set(struct service_row *r, const char *backend, struct draft *d)
{
    size_t bytes;
    if (d->count > 1)
        qsort(d->list, d->count, sizeof(d->list[0]), order_of_servers);
    const struct service_servers made = {.backend = draft_text(backend), .list = d->list, .count = (uint32_t)d->count};
    struct service_servers *packed = record_pack(&servers_record, &made, 0, &bytes);
    free(r->servers); /* the draft may borrow from it */
    r->servers = packed;
}

void service_row_recall(struct service_row *r, const struct service_servers *servers)
{
    struct draft d = {.list = servers->list, .count = servers->count};
    row_set(r, servers->backend, &d);
}

/* ---- losses ---- */

static void report_losses(struct service_row *r, const struct desired *d, const struct service_row_rules *rules,
                          uint64_t now_ms)
{
    size_t count = r->servers != NULL ? r->servers->count : 0;
    cleanup(mem_free_ptr) const char **lost = mem_array(count, sizeof(lost[0]));
    struct desired_outs outs;
    desired_outs_init(&outs, d);
    struct loss_limit_report report = {.lost = lost,
                                       .max_percent = rules->max_loss_percent,
                                       .period_ms = rules->loss_window_ms,
                                       .now_ms = now_ms,
                                       .returned = desired_outs_returned,
                                       .arg = &outs};
    for (size_t i = 0; i < count; i++) {
        const struct service_server *s = &r->servers->list[i];
        if (s->state != SERVER_LIVE)
            continue;
        report.live++;
        if (!desired_outs_returned(&outs, s->name))
            lost[report.lost_count++] = s->name;
    }
    if (report.lost_count > 0 || r->losses.count > 0)
        loss_limit_report(&r->losses, &report);
    desired_outs_fini(&outs);
}

static void row_replace(struct service_row *r, const char *backend, const struct desired *d, bool limited,
                        const struct service_row_rules *rules, uint64_t now_ms)
{
    size_t was = r->servers != NULL ? r->servers->count : 0;
    cleanup(mem_free_ptr) struct service_server *list =
        mem_array(d->server_count + d->spare_count + was, sizeof(list[0]));
    struct draft to = {.list = list};
    if (limited)
        report_losses(r, d, rules, now_ms);
    else
        loss_limit_fini(&r->losses);
    r->check_port = d->check_port;
    draft_desired(&to, d->servers, d->server_count);
    for (size_t i = 0; r->losses.count > 0 && r->servers != NULL && i < r->servers->count; i++) {
        uint64_t until_ms;
        const struct service_server *s = &r->servers->list[i];
        if (s->state != SERVER_LIVE || !loss_limit_delays(&r->losses, s->name, now_ms, &until_ms))
            continue;
        to.list[to.count++] = *s;
        r->delayed++;
        if (until_ms != 0 && (r->due_ms == 0 || until_ms < r->due_ms))
            r->due_ms = until_ms;
    }
    /* A line that is kept has the name of a spare, too, where its node is still there. */
    size_t kept_from = d->server_count;
    size_t kept = to.count - kept_from;
    const struct service_server *held = &to.list[kept_from];
    for (size_t i = 0; i < d->spare_count; i++) {
        const struct service_server of = {.name = draft_text(d->spares[i].name)};
        if (kept == 0 || bsearch(&of, held, kept, sizeof(of), order_of_servers) == NULL)
            draft_desired(&to, &d->spares[i], 1);
    }
    row_set(r, backend, &to);
}

void service_row_take(struct service_row *r, const char *backend, const struct desired *d, bool guess,
                      const struct service_row_rules *rules, uint64_t now_ms)
{
    r->due_ms = d->due_ms;
    r->delayed = 0;
    bool paused = d->paused && service_row_is_live(r);
    r->kept = d->state != DESIRED_OK && !paused;
    if (d->state == DESIRED_OK && !paused) {
        row_replace(r, backend, d, !r->guess || guess, rules, now_ms);
        r->guess = guess;
        return;
    }
    loss_limit_suspend(&r->losses);
    if (r->kept) {
        /* What drains, drains no longer than it would. */
        bool none = rules->allow_empty && d->state == DESIRED_EMPTY;
        size_t was = r->servers != NULL ? r->servers->count : 0;
        cleanup(mem_free_ptr) struct service_server *list = mem_array(was, sizeof(list[0]));
        struct draft to = {.list = list};
        for (size_t i = 0; i < was && !none; i++) {
            to.list[to.count] = r->servers->list[i];
            if (to.list[to.count].state == SERVER_DRAINING)
                to.list[to.count].state = SERVER_OUT;
            to.count++;
        }
        row_set(r, backend, &to);
    }
}

/* ---- their text ---- */

void service_row_print(const struct service_row *r, const struct service_row_print *how, struct buf *out)
{
    if (r->check_port != 0 && how->node_check)
        buf_add(out, "    option httpchk GET /healthz\n");
    for (size_t i = 0; r->servers != NULL && i < r->servers->count; i++) {
        const struct service_server *s = &r->servers->list[i];
        bool six = strchr(s->address, ':') != NULL;
        buf_add(out, "    server ");
        buf_add(out, s->name);
        buf_printf(out, six ? " [%s]:%u" : " %s:%u", s->address, s->port);
        /* What kube-proxy answers at healthCheckNodePort: whether the node has a ready endpoint (HAPROXY_HEALTH_CHECK). */
        if (r->check_port != 0 && how->node_check)
            buf_printf(out, " port %u%s", r->check_port, how->proxy_v2 ? " no-check-send-proxy" : "");
        if (s->state == SERVER_OUT || (s->state == SERVER_DRAINING && !how->by_weight))
            buf_add(out, " disabled\n");
        else if (s->state == SERVER_DRAINING)
            buf_add(out, " weight 0\n");
        else if (s->weight >= 0)
            buf_printf(out, " weight %d\n", s->weight);
        else
            buf_add(out, "\n");
    }
}

/* ---- the same read ---- */

struct recall {
    struct service_servers servers; /* backend NULL: not in one */
    size_t room;
    void (*fn)(void *arg, const struct service_servers *servers);
    void *arg;
};

static void recall_end(struct recall *r)
{
    if (r->servers.backend != NULL && r->servers.count > 0)
        r->fn(r->arg, &r->servers);
    r->servers.backend = NULL;
    r->servers.count = 0;
}

static bool recall_address(char *word, struct service_server *ret)
{
    char *colon = strrchr(word, ':');
    uint64_t port;
    if (colon == NULL || str_parse_uint(colon + 1, UINT16_MAX, &port) != 0 || port == 0)
        return false;
    *colon = '\0';
    if (*word == '[' && colon[-1] == ']') {
        colon[-1] = '\0';
        word++;
    }
    ret->address = word;
    ret->port = (uint16_t)port;
    return *word != '\0';
}

static bool recall_state(char *const *words, size_t count, struct service_server *ret)
{
    uint64_t weight;
    size_t check = count >= 2 && str_eq(words[0], "port") ? 2 : 0;
    check += check < count && str_eq(words[check], "no-check-send-proxy");
    words += check;
    count -= check;
    ret->weight = -1;
    ret->state = SERVER_LIVE;
    if (count == 0)
        return true;
    if (count == 1 && str_eq(words[0], "disabled")) {
        ret->state = SERVER_OUT;
        return true;
    }
    if (count != 2 || !str_eq(words[0], "weight") || str_parse_uint(words[1], DESIRED_WEIGHT_MAX, &weight) != 0)
        return false;
    ret->state = weight == 0 ? SERVER_DRAINING : SERVER_LIVE;
    ret->weight = weight == 0 ? -1 : (int)weight;
    return true;
}

static void recall_line(struct recall *r, char *line)
{
    char *words[WORDS_MAX];
    struct service_server s = {0};
    bool header = *line != ' ' && *line != '\t' && *line != '\0' && *line != '#';
    size_t count = 0; /* more than WORDS_MAX: there are more */
    for (char *word; (word = strsep(&line, " \t")) != NULL && count <= WORDS_MAX;)
        if (*word != '\0' && count++ < WORDS_MAX)
            words[count - 1] = word;
    if (header) {
        recall_end(r);
        if (count == 2 && str_eq(words[0], "backend"))
            r->servers.backend = words[1];
        return;
    }
    if (r->servers.backend == NULL || count < 3 || count > WORDS_MAX || !str_eq(words[0], "server") ||
        !recall_address(words[2], &s) || !recall_state(&words[3], count - 3, &s))
        return;
    s.name = words[1];
    if (r->servers.count == r->room) {
        r->room = r->room > 0 ? 2 * r->room : 16;
        r->servers.list = mem_resize(r->servers.list, r->room, sizeof(r->servers.list[0]));
    }
    r->servers.list[r->servers.count++] = s;
}

void service_recall(const char *text, void (*fn)(void *arg, const struct service_servers *servers), void *arg)
{
    cleanup(mem_free_ptr) char *copy = mem_strdup(text);
    struct recall r = {.fn = fn, .arg = arg};
    char *rest = copy;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;)
        recall_line(&r, line);
    recall_end(&r);
    free(r.servers.list);
}

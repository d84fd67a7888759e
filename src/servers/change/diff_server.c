/* One server: what differs from the desired state, why, and whether that costs a live one. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/shared_text.h"
#include "base/str.h"
#include "model/address.h"
#include "servers/change/diff_internal.h"

printf_like(2, 0) static void diff_say_args(struct buf *said, const char *fmt, va_list ap)
{
    cleanup(mem_free_ptr) char *text = mem_vprintf(fmt, ap);
    buf_add(said, said->len > 0 ? ", " : "");
    buf_add(said, text);
}

void diff_say(struct buf *said, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    diff_say_args(said, fmt, ap);
    va_end(ap);
}

uint16_t diff_check_port(const struct desired *desired, const struct diff_rules *rules)
{
    return rules->own_check_port ? desired->check_port : 0;
}

static struct diff_change *diff_server_add_change(struct diff *d, enum diff_op op)
{
    d->changes = mem_one_more(d->changes, d->change_count, sizeof(d->changes[0]));
    struct diff_change *c = &d->changes[d->change_count++];
    *c = (struct diff_change){.op = op, .server.weight = -1};
    return c;
}

/* What differs: the fields, and the text. */
struct finding {
    unsigned fields;
    bool added; /* nothing was there before: of that there is no text */
    struct buf said;
};

static void finding_fini(struct finding *f)
{
    buf_fini(&f->said);
}

printf_like(3, 4) static void find(struct finding *f, unsigned field, const char *fmt, ...)
{
    va_list ap;
    f->fields |= field;
    if (f->added)
        return;
    va_start(ap, fmt);
    diff_say_args(&f->said, fmt, ap);
    va_end(ap);
}

static void own_maintenance(struct backend_server *s, bool on, const char *said, struct finding *f)
{
    if (s->maintenance == on)
        return;
    find(f, SERVER_MAINTENANCE, "%s", said);
    s->maintenance = on;
    s->enabled = !on && (s->enabled || s->default_disabled);
}

/* Puts our fields into s and finds what that changed. */
static void own_fields(struct backend_server *s, const struct desired_server *want, const struct desired *desired,
                       const struct diff_rules *rules, struct finding *f)
{
    if (want->state == SERVER_LIVE)
        own_maintenance(s, false, "maintenance off", f);
    else if (want->state == SERVER_OUT)
        own_maintenance(s, true, "maintenance on (parked)", f);
    else if (!rules->runtime)
        own_maintenance(s, true, "maintenance on (draining)", f);
    if (!address_eq(s->address, want->address)) {
        find(f, SERVER_ADDRESS, "address %s -> %s", str_empty(s->address) ? "(none)" : s->address, want->address);
        shared_text_set(&s->address, want->address);
    }
    if (s->port != want->port) {
        find(f, SERVER_PORT, "port %u -> %u", s->port, want->port);
        s->port = want->port;
    }
    /* A server that tracks another one takes no check of its own. */
    if (!s->check && !s->tracks) {
        find(f, SERVER_CHECK, "check on");
        s->check = true;
    }
    uint16_t check_port = diff_check_port(desired, rules);
    if (rules->own_check_port && !s->tracks && s->check_port != check_port) {
        find(f, SERVER_CHECK_PORT, check_port != 0 ? "check port %u" : "check port off", check_port);
        s->check_port = check_port;
    }
    int weight = want->weight >= 0 ? want->weight : s->weight >= 0 ? s->weight : SERVER_WEIGHT_DEFAULT;
    if (s->weight < 0)
        find(f, SERVER_WEIGHT, "weight %d", weight);
    else if (s->weight != weight)
        find(f, SERVER_WEIGHT, "weight %d -> %d", s->weight, weight);
    s->weight = weight;
    /* A default-server may make backup servers of all lines that do not say otherwise. */
    if (s->default_backup && !s->backup && !s->no_backup) {
        find(f, SERVER_BACKUP, "no-backup");
        s->no_backup = true;
    }
    /* With the backend's default-server on, what stands on the line itself makes no difference. */
    if (!rules->proxy_v2 && !rules->keep_settings && s->send_proxy_v2) {
        find(f, SERVER_PROXY_V2, "send-proxy-v2 off");
        s->send_proxy_v2 = false;
    }
}

static int compare_weights(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

int diff_common_weight(const struct backend *actual, const struct desired *desired)
{
    cleanup(mem_free_ptr) int *weights = mem_array(actual->server_count, sizeof(weights[0]));
    size_t count = 0;
    for (size_t i = 0; i < actual->server_count; i++)
        if (actual->servers[i].weight > 0 && desired_find(desired, actual->servers[i].name) != NULL)
            weights[count++] = actual->servers[i].weight;
    if (count > 1)
        qsort(weights, count, sizeof(weights[0]), compare_weights);
    return count > 0 ? weights[(count - 1) / 2] : -1;
}

struct diff_change *diff_add_server(struct diff_merge *m, const struct desired_server *want)
{
    cleanup(finding_fini) struct finding f = {.added = true};
    struct diff_change *c = diff_server_add_change(m->d, DIFF_ADD);
    c->server.name = shared_text(want->name);
    c->server.weight = m->new_weight;
    c->server.rest = shared_text(m->common);
    c->server.default_disabled = c->server.maintenance = m->actual->disabled_line != 0;
    c->server.default_backup = m->actual->backup_line != 0;
    own_fields(&c->server, want, m->desired, m->rules, &f);
    c->parks = want->state == SERVER_OUT;
    c->detail = mem_strdup("");
    return c;
}

static struct diff_change *add_found(struct diff *d, const struct backend_server *to_be, struct finding *f)
{
    struct diff_change *c = diff_server_add_change(d, DIFF_CHANGE);
    backend_server_copy(&c->server, to_be);
    c->fields = f->fields;
    c->detail = buf_take(&f->said);
    return c;
}

void diff_change_server(struct diff_merge *m, const struct backend_server *is, const struct desired_server *want)
{
    cleanup(finding_fini) struct finding f = {0};
    cleanup(backend_server_fini) struct backend_server to_be;
    backend_server_copy(&to_be, is);
    own_fields(&to_be, want, m->desired, m->rules, &f);
    if (f.fields == 0)
        return;
    struct diff_change *c = add_found(m->d, &to_be, &f);
    c->reason = desired_server_reason(m->desired, want);
    c->loss = c->announced = to_be.maintenance && !is->maintenance; /* a drain is an announcement */
}

/* ---- what is not desired ---- */

/* Counts what it costs, and says why; reason NULL: what the desired state says of it, if anything. */
static void say_why_out(struct diff_merge *m, struct diff_change *c, const struct backend_server *is,
                        const char *reason)
{
    const struct desired_skip *out = reason == NULL ? desired_outs_find(m->outs, is->name) : NULL;
    c->loss = !is->maintenance;
    c->announced = out != NULL && out->announced;
    c->reason = out != NULL
                    ? desired_skip_text(m->desired, out)
                    : mem_strdup(reason != NULL ? reason : "no endpoint of the Service is on a node of that name");
    m->d->loss_count += c->loss && !c->announced;
}

struct diff_change *diff_remove_server(struct diff_merge *m, const struct backend_server *is, const char *reason)
{
    struct diff_change *c = diff_server_add_change(m->d, DIFF_REMOVE);
    backend_server_copy(&c->server, is);
    c->detail = mem_strdup("");
    say_why_out(m, c, is, reason);
    return c;
}

void diff_park_server(struct diff_merge *m, const struct backend_server *is)
{
    cleanup(finding_fini) struct finding f = {0};
    cleanup(backend_server_fini) struct backend_server to_be;
    backend_server_copy(&to_be, is);
    own_maintenance(&to_be, true, "maintenance on (parked)", &f);
    struct diff_change *c = add_found(m->d, &to_be, &f);
    c->parks = true;
    say_why_out(m, c, is, NULL);
}

/* ---- what can be set at runtime ---- */

static bool is_literal(const char *address)
{
    return address != NULL && str_ip_family(address) != 0;
}

bool diff_line_needs_transaction(const struct backend *actual, const struct backend_server *is,
                                 const struct diff_change *c, const struct diff_rules *rules)
{
    const unsigned told = SERVER_ADDRESS | SERVER_PORT | SERVER_WEIGHT | SERVER_MAINTENANCE | SERVER_CHECK_PORT;
    if (c->op != DIFF_CHANGE || (c->fields & ~told) != 0)
        return true;
    if ((c->fields & SERVER_WEIGHT) != 0 && actual->takes_no_weights)
        return true;
    if ((c->fields & SERVER_CHECK_PORT) != 0 && (c->server.check_port == 0 || !rules->sets_check_port))
        return true;
    /* Address and port are one command, which takes no name. Without a port the line takes the client's, and that way
     * of a server is not changed while it runs. */
    return (c->fields & (SERVER_ADDRESS | SERVER_PORT)) != 0 &&
           (!is_literal(is->address) || !is_literal(c->server.address) || is->port == 0);
}

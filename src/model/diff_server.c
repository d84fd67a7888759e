/* One server: what differs from the wish, why, and whether that costs a live one. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "model/address.h"
#include "model/diff_internal.h"

void *diff_grow(void *list, size_t count, size_t bytes)
{
    return (count & (count - 1)) == 0 ? mem_resize(list, count != 0 ? count * 2 : 1, bytes) : list;
}

void diff_say(struct buf *said, const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;
    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        abort();
    va_end(ap);
    buf_printf(said, "%s%s", said->len > 0 ? ", " : "", text);
    free(text);
}

uint16_t diff_check_port(const struct desired *wish, const struct diff_rules *rules)
{
    return rules->own_check_port ? wish->check_port : 0;
}

static struct diff_change *add_change(struct diff *d, enum diff_op op)
{
    d->changes = diff_grow(d->changes, d->change_count, sizeof(d->changes[0]));
    struct diff_change *c = &d->changes[d->change_count++];
    *c = (struct diff_change){.op = op, .server.weight = -1};
    return c;
}

static void own_address(struct backend_server *s, const struct desired_server *want, struct buf *said)
{
    if (!address_eq(s->address, want->address)) {
        diff_say(said, "address %s -> %s", str_empty(s->address) ? "(none)" : s->address, want->address);
        free(s->address);
        s->address = mem_strdup(want->address);
    }
    if (s->port != want->port) {
        diff_say(said, "port %u -> %u", s->port, want->port);
        s->port = want->port;
    }
}

static void own_check(struct backend_server *s, uint16_t port, bool own_port, struct buf *said)
{
    if (!s->check) {
        diff_say(said, "check on");
        s->check = true;
    }
    if (!own_port || s->check_port == port)
        return;
    if (port != 0)
        diff_say(said, "check port %u", port);
    else
        diff_say(said, "check port off");
    s->check_port = port;
}

static void own_weight(struct backend_server *s, int weight, struct buf *said)
{
    int wanted = weight >= 0 ? weight : s->weight >= 0 ? s->weight : DESIRED_WEIGHT;
    if (s->weight == wanted)
        return;
    if (s->weight < 0)
        diff_say(said, "weight %d", wanted);
    else
        diff_say(said, "weight %d -> %d", s->weight, wanted);
    s->weight = wanted;
}

/* Puts our fields into s and says what that changed. */
static void own_fields(struct backend_server *s, const struct desired_server *want, const struct desired *wish,
                       const struct diff_rules *rules, struct buf *said)
{
    bool draining = want->state != SERVER_LIVE, proxy_v2 = rules->proxy_v2 == PROXY_V2_SERVER;
    if (s->maintenance != draining) {
        diff_say(said, draining ? "maintenance on (draining)" : "maintenance off");
        s->maintenance = draining;
    }
    own_address(s, want, said);
    own_check(s, diff_check_port(wish, rules), rules->own_check_port, said);
    own_weight(s, want->weight, said);
    /* With the backend's default-server on, what stands on the line itself makes no difference. */
    if (rules->proxy_v2 != PROXY_V2_DEFAULT_SERVER && s->send_proxy_v2 != proxy_v2) {
        s->send_proxy_v2 = proxy_v2;
        diff_say(said, "send-proxy-v2 %s", proxy_v2 ? "on" : "off");
    }
}

void diff_add_server(struct diff *d, const struct desired_server *want, const struct desired *wish,
                     const struct diff_rules *rules)
{
    cleanup(buf_fini) struct buf said;
    buf_init(&said, 0);
    struct diff_change *c = add_change(d, DIFF_ADD);
    c->server.name = mem_strdup(want->name);
    own_fields(&c->server, want, wish, rules, &said);
    c->detail = mem_strdup("");
    c->reason = mem_strdup(want->reason);
}

void diff_change_server(struct diff *d, const struct backend_server *is, const struct desired_server *want,
                        const struct desired *wish, const struct diff_rules *rules)
{
    cleanup(buf_fini) struct buf said;
    cleanup(backend_server_fini) struct backend_server to_be;
    buf_init(&said, 0);
    backend_server_copy(&to_be, is);
    own_fields(&to_be, want, wish, rules, &said);
    if (said.len == 0)
        return;
    struct diff_change *c = add_change(d, DIFF_CHANGE);
    backend_server_copy(&c->server, &to_be);
    c->detail = buf_take(&said);
    c->reason = mem_strdup(want->reason);
    c->loss = c->announced = to_be.maintenance && !is->maintenance; /* a drain is an announcement */
}

void diff_remove_server(struct diff *d, const struct backend_server *is, const struct desired *wish, const char *reason)
{
    const struct desired_skip *out = reason == NULL ? desired_why_out(wish, is->name) : NULL;
    struct diff_change *c = add_change(d, DIFF_REMOVE);
    backend_server_copy(&c->server, is);
    c->detail = mem_strdup("");
    c->loss = !is->maintenance;
    c->announced = out != NULL && out->announced;
    if (reason != NULL)
        c->reason = mem_strdup(reason);
    else if (out != NULL)
        c->reason = mem_printf("%s: %s", out->subject, out->reason);
    else
        c->reason = mem_strdup("no endpoint of the Service is on a node of that name");
    if (c->loss && !c->announced)
        d->loss_count++;
}

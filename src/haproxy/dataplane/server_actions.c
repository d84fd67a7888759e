#include "haproxy/dataplane/server_actions.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

/* What stands before an API takes 8 KB of headers, or little more. */
#define ACTIONS_HEADER_BYTES 4096
#define ACTIONS_MAX_BYTES (16 * ACTIONS_HEADER_BYTES) /* each action takes the API a millisecond or two */

/* HAProxy's own alphabet of names; the header is cut at ';' and at blanks. Two names and an address fit into one header. */
#define ACTIONS_NAME_BYTES 1024
#define ACTIONS_NAME "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.:"

#define SET_ADDRESS "SetServerAddr"
#define SET_WEIGHT "SetServerWeight"
#define SET_STATE "SetServerState"
#define STATE_MAINT "maint"
#define STATE_READY "ready"

/* ---- to text ---- */

static bool actions_is_name(const char *name)
{
    size_t len = strspn(name, ACTIONS_NAME);
    return len > 0 && len <= ACTIONS_NAME_BYTES && name[len] == '\0';
}

static void actions_begin(struct buf *b, const char *action, const struct change *c)
{
    buf_printf(b, "%s%s %s %s ", b->len > 0 ? ";" : "", action, c->backend->name, c->server->name);
}

/* A server that comes back must not do so at its old address; one that was added is in maintenance, and as it is to be otherwise. */
static void actions_add(struct buf *b, const struct change *c)
{
    const struct backend_server *s = c->server;
    bool stops = c->kind == CHANGE_REMOVE_SERVER;
    if (stops || (c->kind == CHANGE_ADD_SERVER && !s->maintenance)) {
        actions_begin(b, SET_STATE, c);
        buf_add(b, stops ? STATE_MAINT : STATE_READY);
    }
    if (c->kind != CHANGE_SET_SERVER)
        return;
    if (c->fields & (SERVER_ADDRESS | SERVER_PORT)) {
        actions_begin(b, SET_ADDRESS, c);
        buf_printf(b, "%s %u", s->address, s->port);
    }
    if (c->fields & SERVER_WEIGHT) {
        actions_begin(b, SET_WEIGHT, c);
        buf_printf(b, "%d", s->weight);
    }
    if (c->fields & SERVER_MAINTENANCE) {
        actions_begin(b, SET_STATE, c);
        buf_add(b, s->maintenance ? STATE_MAINT : STATE_READY);
    }
}

/* The API sends HAProxy one command after the other: a server that is to take connections does so before another one stops. */
static bool actions_takes_away(const struct change *c)
{
    const struct backend_server *s = c->server;
    return c->kind == CHANGE_REMOVE_SERVER ||
           (c->kind == CHANGE_SET_SERVER &&
            (((c->fields & SERVER_WEIGHT) && s->weight == 0) || ((c->fields & SERVER_MAINTENANCE) && s->maintenance)));
}

static int actions_check(const struct change *c, struct error *err)
{
    if (c->server == NULL)
        return error_set(err, ERROR_INVALID, "backend %s itself changes", c->backend->name);
    if (c->kind == CHANGE_SET_SERVER && change_can_be_set(c, err) != 0)
        return error_prefix(err, "server %s/%s", c->backend->name, c->server->name);
    if (!actions_is_name(c->backend->name) || !actions_is_name(c->server->name))
        return error_set(err, ERROR_INVALID, "server %s/%s has a name that fits into no action", c->backend->name,
                         c->server->name);
    return 0;
}

int server_actions_print(const struct changes *changes, struct buf *ret, struct error *err)
{
    cleanup(buf_fini) struct buf b = {0};
    for (size_t i = 0; i < changes->count; i++)
        if (actions_check(changes->list[i], err) != 0)
            return -1;
    for (int leave = 0; leave < 2; leave++)
        for (size_t i = 0; i < changes->count; i++)
            if (actions_takes_away(changes->list[i]) == (leave == 1))
                actions_add(&b, changes->list[i]);
    if (b.len > ACTIONS_MAX_BYTES)
        return error_set(err, ERROR_INVALID, "%zu changes are too many for runtime commands", changes->count);
    buf_add(ret, buf_str(&b));
    return 0;
}

size_t server_actions_fit(const char *actions)
{
    size_t len = strnlen(actions, ACTIONS_HEADER_BYTES + 1);
    while (len > ACTIONS_HEADER_BYTES || (actions[len] != ';' && actions[len] != '\0'))
        len--;
    return len;
}

/* ---- from text ---- */

static int actions_take_value(char *words, const char *action, struct change *c, struct backend_server *s)
{
    char *value = strsep(&words, " ");
    uint64_t number;
    if (value == NULL)
        return -1;
    if (str_eq(action, SET_ADDRESS)) {
        if (str_ip_family(value) == 0 || words == NULL || str_parse_uint(words, UINT16_MAX, &number) != 0)
            return -1;
        c->fields = SERVER_ADDRESS | SERVER_PORT;
        s->address = value;
        s->port = (uint16_t)number;
        return 0;
    }
    if (str_eq(action, SET_WEIGHT) && str_parse_uint(value, UINT16_MAX, &number) == 0) {
        c->fields = SERVER_WEIGHT;
        s->weight = (int)number;
        return words == NULL ? 0 : -1;
    }
    c->fields = SERVER_MAINTENANCE;
    s->maintenance = str_eq(value, STATE_MAINT);
    return str_eq(action, SET_STATE) && (s->maintenance || str_eq(value, STATE_READY)) && words == NULL ? 0 : -1;
}

static int actions_take(char *words, struct changes *ret)
{
    const char *action = strsep(&words, " ");
    struct backend backend = {.name = strsep(&words, " ")};
    struct backend_server server = {.name = strsep(&words, " "), .weight = -1};
    struct change c = {.kind = CHANGE_SET_SERVER, .backend = &backend, .server = &server};
    if (words == NULL || actions_take_value(words, action, &c, &server) != 0)
        return -1;
    changes_add(ret, &c);
    return 0;
}

int server_actions_read(const char *text, size_t len, struct changes *ret)
{
    cleanup(mem_free_ptr) char *copy = mem_strndup(text, len);
    struct changes read = {0};
    char *rest = copy, *action;
    while ((action = strsep(&rest, ";")) != NULL) {
        if (actions_take(action, &read) != 0) {
            changes_fini(&read);
            return -1;
        }
    }
    changes_fini(ret);
    *ret = read;
    return 0;
}

/* What may happen. A new kind: its function, its row at the end; the weight is how often it comes by chance. */
#include <stdio.h>
#include <string.h>

#include "world.h"

/* ---- Kubernetes ---- */

static void set_pod(struct world *w, const unsigned *n, enum pod_state state)
{
    w->cluster.of[n[0]].pods[n[1]].state = state;
    cluster_put_pods(&w->cluster, n[1]);
    world_read(w);
}

static void lose(struct world *w, const unsigned *n)
{
    set_pod(w, n, POD_NONE);
}

static void back(struct world *w, const unsigned *n)
{
    set_pod(w, n, POD_READY);
}

static void unready(struct world *w, const unsigned *n)
{
    set_pod(w, n, POD_UNREADY);
}

static void leave(struct world *w, const unsigned *n)
{
    set_pod(w, n, POD_LEAVING);
}

static void end(struct world *w, const unsigned *n)
{
    set_pod(w, n, POD_GONE);
}

static void flap(struct world *w, const unsigned *n)
{
    set_pod(w, n, w->cluster.of[n[0]].pods[n[1]].state == POD_READY ? POD_NONE : POD_READY);
}

static void lose_some(struct world *w, const unsigned *n)
{
    for (size_t i = 0; i < NODES; i++)
        if (n[0] & (1u << i))
            w->cluster.of[i].pods[n[1]].state = POD_NONE;
    cluster_put_pods(&w->cluster, n[1]);
    world_read(w);
}

static void back_all(struct world *w, const unsigned *n)
{
    for (size_t i = 0; i < w->settings.nodes; i++)
        w->cluster.of[i].pods[n[0]].state = POD_READY;
    cluster_put_pods(&w->cluster, n[0]);
    world_read(w);
}

static void pods(struct world *w, const unsigned *n)
{
    w->cluster.of[n[0]].pods[n[1]].count = n[2] + 1;
    cluster_put_pods(&w->cluster, n[1]);
    world_read(w);
}

static void put_node(struct world *w, size_t node)
{
    cluster_put_node(&w->cluster, node);
    world_read(w);
}

static void node_gone(struct world *w, const unsigned *n)
{
    w->cluster.of[n[0]].there = false;
    put_node(w, n[0]);
}

static void node_back(struct world *w, const unsigned *n)
{
    w->cluster.of[n[0]].there = true;
    w->cluster.of[n[0]].excluded = w->cluster.of[n[0]].deleting = false;
    put_node(w, n[0]);
}

static void exclude(struct world *w, const unsigned *n)
{
    w->cluster.of[n[0]].excluded = !w->cluster.of[n[0]].excluded;
    put_node(w, n[0]);
}

static void deleting(struct world *w, const unsigned *n)
{
    w->cluster.of[n[0]].deleting = true;
    put_node(w, n[0]);
}

static void address(struct world *w, const unsigned *n)
{
    w->cluster.of[n[0]].address = 10 + n[0] + 20 * n[1];
    put_node(w, n[0]);
}

static void port(struct world *w, const unsigned *n)
{
    w->cluster.node_ports[n[0]] = 30080 + n[1];
    cluster_put_service(&w->cluster, n[0]);
    world_read(w);
}

static void pause_it(struct world *w, const unsigned *n)
{
    w->cluster.paused[n[0]] = n[1] != 0;
    cluster_put_service(&w->cluster, n[0]);
    world_read(w);
}

/* ---- another writer at HAProxy ---- */

static struct api *api_of(struct world *w, unsigned n)
{
    return &w->apis[n % w->settings.targets];
}

/* A server of ours; NULL: there is none. */
static struct server *pick(struct section *s, unsigned n)
{
    size_t ours = 0;
    for (size_t i = 0; i < s->count; i++)
        ours += server_is_ours(&s->servers[i]);
    n %= ours > 0 ? ours : 1;
    for (size_t i = 0; i < s->count; i++)
        if (server_is_ours(&s->servers[i]) && n-- == 0)
            return &s->servers[i];
    return NULL;
}

static void edit_weight(struct world *w, const unsigned *n)
{
    struct api *a = api_of(w, n[0]);
    struct conf to = a->on_disk;
    struct server *line = pick(&to.of[n[1]], n[2]);
    if (line == NULL)
        return;
    line->weight = (int)n[3];
    api_edit(a, &to, n[3] % 2 == 0);
}

static void edit_address(struct world *w, const unsigned *n)
{
    struct api *a = api_of(w, n[0]);
    struct conf to = a->on_disk;
    struct server *line = pick(&to.of[n[1]], n[2]);
    if (line == NULL)
        return;
    snprintf(line->address, NAME_BYTES, "10.7.0.%u", n[3]);
    api_edit(a, &to, n[3] % 2 == 0);
    a->moved_us = w->now_us;
}

static void edit_maintenance(struct world *w, const unsigned *n)
{
    struct api *a = api_of(w, n[0]);
    struct conf to = a->on_disk;
    struct server *line = pick(&to.of[n[1]], n[2]);
    if (line == NULL)
        return;
    line->maintenance = line->maintenance == ON ? UNSAID : ON;
    api_edit(a, &to, n[3] != 0);
    api_put_out(a, n[1], line->name, line->maintenance == ON);
}

static void edit_remove(struct world *w, const unsigned *n)
{
    struct api *a = api_of(w, n[0]);
    struct conf to = a->on_disk;
    struct server *line = pick(&to.of[n[1]], n[2]);
    if (line == NULL)
        return;
    (void)section_remove(&to.of[n[1]], line->name);
    api_edit(a, &to, n[3] != 0);
}

/* Of ours, which the daemon is to keep; and of what is none of its business. */
static void edit_theirs(struct world *w, const unsigned *n)
{
    struct api *a = api_of(w, n[0]);
    struct conf to = a->on_disk;
    struct server *line = n[1] < OURS ? pick(&to.of[n[1]], n[2]) : &to.of[n[1]].servers[n[2] % to.of[n[1]].count];
    if (line == NULL)
        return;
    line->maxconn = n[3] * 10;
    snprintf(line->options, sizeof(line->options), "%s", n[3] % 2 == 0 ? "ssl,crc32c" : "");
    api_edit(a, &to, n[3] % 3 == 0);
}

static void edit_add(struct world *w, const unsigned *n)
{
    struct api *a = api_of(w, n[0]);
    struct conf to = a->on_disk;
    struct server line = {.port = 80, .weight = 3, .check = n[2] % 2 == 0 ? ON : UNSAID};
    bool nobodys = w->settings.clusters != 0 && n[2] >= 6;
    snprintf(line.name, NAME_BYTES, "%s%s%u", n[2] < 4 ? own_prefix() : "", n[2] < 4 || nobodys ? "x" : "keep", n[2]);
    snprintf(line.address, NAME_BYTES, "10.8.0.%u", n[2]);
    section_put(&to.of[n[1]], &line);
    api_edit(a, &to, n[3] != 0);
}

/* Which any reload takes to all of our lines that do not say better. */
static void edit_default(struct world *w, const unsigned *n)
{
    struct api *a = api_of(w, n[0]);
    struct conf to = a->on_disk;
    to.of[n[1]].default_maintenance = n[2] != 0 ? ON : UNSAID;
    api_edit(a, &to, n[3] != 0);
    for (size_t i = 0; i < to.of[n[1]].count; i++)
        if (server_is_ours(&to.of[n[1]].servers[i]) && to.of[n[1]].servers[i].maintenance == UNSAID)
            api_put_out(a, n[1], to.of[n[1]].servers[i].name, n[2] != 0);
}

/* Another controller has taken the servers over. */
static void take_over(struct world *w, const unsigned *n)
{
    struct api *a = api_of(w, n[0]);
    struct conf to = a->on_disk;
    place_take_over(a, n[1], 1 + (int)n[2], &to);
    api_edit(a, &to, n[3] != 0);
}

/* The same while all is as desired: that is to be no reason for anything. */
static void take_over_at_rest(struct world *w, const unsigned *n)
{
    const unsigned all[] = {n[0], n[1], n[2], 1};
    check_rest(w);
    take_over(w, all);
    check_adopted(api_of(w, n[0]));
}

/* A second server where one is. */
static void edit_double(struct world *w, const unsigned *n)
{
    struct api *a = api_of(w, n[0]);
    struct conf to = a->on_disk;
    const struct server *like = pick(&to.of[n[1]], n[2]);
    if (like == NULL)
        return;
    struct server line = *like;
    snprintf(line.name, NAME_BYTES, "%sd%u", own_prefix(), n[2] % 4);
    if (section_find(&to.of[n[1]], line.name) != NULL)
        return;
    section_put(&to.of[n[1]], &line);
    api_edit(a, &to, n[3] != 0);
}

/* What a write would change the meaning of comes in, or goes. */
static void edit_odd(struct world *w, const unsigned *n)
{
    struct api *a = api_of(w, n[0]);
    struct conf to = a->on_disk;
    to.oddity = (enum oddity)n[1];
    if (to.oddity == ODDITY_FRAGILE && !to.of[0].exists)
        return; /* that is in no line yet */
    api_edit(a, &to, n[2] != 0);
}

static void edit_plain(struct world *w, const unsigned *n)
{
    struct api *a = api_of(w, n[0]);
    struct conf to = a->on_disk;
    if (to.oddity == ODDITY_NONE)
        return;
    to.oddity = ODDITY_NONE;
    api_edit(a, &to, n[1] != 0);
}

static void other_writer(struct world *w, const unsigned *n)
{
    struct api *a = api_of(w, n[0]);
    a->kept = a->on_disk;
    a->other_writer = n[1] + 1;
}

static void operate(struct world *w, const unsigned *n)
{
    struct api *a = api_of(w, n[0]);
    struct server *line = pick(&a->on_disk.of[n[1]], n[2]);
    if (line != NULL)
        api_operate(a, n[1], line->name, (enum admin)n[3]);
}

static void health(struct world *w, const unsigned *n)
{
    struct api *a = api_of(w, n[0]);
    const struct server *line = pick(&a->on_disk.of[n[1]], n[2]);
    struct running_server *is = line != NULL ? running_find(&a->running, n[1], line->name) : NULL;
    if (is == NULL || w->settings.routes == 0)
        return;
    is->down = n[3] == 0;
    a->touched_us = w->now_us;
}

/* Another writer takes the backend out of the file, or brings it back without a server. */
static void edit_backend(struct world *w, const unsigned *n)
{
    struct api *a = api_of(w, n[0]);
    struct conf to = a->on_disk;
    struct section *s = &to.of[n[1]];
    *s = (struct section){.exists = !s->exists, .mode = "tcp"};
    to.oddity = to.oddity == ODDITY_FRAGILE ? ODDITY_NONE : to.oddity;
    api_edit(a, &to, n[2] != 0);
}

static void reload(struct world *w, const unsigned *n)
{
    api_reload_by_hand(api_of(w, n[0]));
}

/* ---- faults ---- */

static void restart_haproxy(struct world *w, const unsigned *n)
{
    api_restart_haproxy(api_of(w, n[0]), (uint64_t)n[1] * 100000);
}

static void restart_api(struct world *w, const unsigned *n)
{
    if (w->settings.local == LOCAL_NONE)
        api_restart(api_of(w, n[0]), (uint64_t)n[1] * 100000);
}

static void fail_reloads(struct world *w, const unsigned *n)
{
    api_of(w, n[0])->fail_reloads += n[1] + 1;
}

static void foreign(struct world *w, const unsigned *n)
{
    api_begin_foreign(api_of(w, n[0]), n[1] + 1);
}

static void foreign_end(struct world *w, const unsigned *n)
{
    api_end_transactions(api_of(w, n[0]), true);
}

static void fault(struct world *w, const unsigned *n)
{
    api_add_fault(api_of(w, n[0]),
                  (struct fault){.asks = 1u << n[1], .mode = (enum fault_mode)n[2], .times = n[3] + 1});
}

/* Several kinds of requests at once. */
static void faults(struct world *w, const unsigned *n)
{
    api_add_fault(api_of(w, n[0]), (struct fault){.asks = n[1], .mode = (enum fault_mode)n[2], .times = n[3] + 1});
}

/* ---- the daemon ---- */

static void kill_it(struct world *w, const unsigned *n)
{
    daemon_kill(w);
    world_pass(w, (uint64_t)n[0] * 1000000);
    daemon_start(w);
}

static void stop_it(struct world *w, const unsigned *n)
{
    daemon_stop(w);
    world_pass(w, (uint64_t)n[0] * 1000000);
    daemon_start(w);
}

/* What it ends may have chosen the way of a write that is in hand. */
static void hangup(struct world *w, const unsigned *n)
{
    (void)n;
    for (size_t i = 0; i < w->settings.targets; i++)
        if (local_commands_are_in_vain(&w->apis[i]))
            w->apis[i].local.excused_us = w->now_us;
    if (w->targets != NULL)
        targets_refresh(w->targets);
}

static void local_use_some(struct world *w, const unsigned *n)
{
    local_use(api_of(w, n[0]), n[1], n[2], (uint64_t)n[3] * 1000000);
}

static void local_refuse_adds(struct world *w, const unsigned *n)
{
    api_of(w, n[0])->local.refuse_adds += n[1] + 1;
}

/* Amid a write, say. */
static void adds_die(struct world *w, const unsigned *n)
{
    api_of(w, n[0])->dies_asks = 1u << n[1];
    w->dies_for_s = n[2];
}

static void local_other_daemon(struct world *w, const unsigned *n)
{
    struct api *a = api_of(w, n[0]);
    a->local.locked_until_us = w->now_us + (uint64_t)n[1] * 1000000;
    a->refused_us = a->local.locked_until_us;
}

static void local_break(struct world *w, const unsigned *n)
{
    struct api *a = api_of(w, n[0]);
    struct conf to = a->on_disk;
    if (w->settings.routes == 0) /* what runs is not read then */
        return;
    a->local.broken = n[1] != 0;
    a->refused_us = w->now_us;
    api_edit(a, &to, false);
}

static void rest(struct world *w, const unsigned *n)
{
    (void)n;
    check_rest(w);
}

const struct event_kind event_kinds[] = {
    {"lose", 14, {NODES, OURS}, lose, "node service: its endpoint is gone without a word"},
    {"back", 14, {NODES, OURS}, back, "node service: it has a ready endpoint"},
    {"unready", 3, {NODES, OURS}, unready, "node service"},
    {"leave", 7, {NODES, OURS}, leave, "node service: its endpoint terminates, and serves"},
    {"end", 5, {NODES, OURS}, end, "node service: its endpoint terminates, and does not serve"},
    {"flap", 8, {NODES, OURS}, flap, "node service: gone where it is ready, else ready"},
    {"lose-some", 3, {1u << NODES, OURS}, lose_some, "nodes(bits) service"},
    {"back-all", 5, {OURS}, back_all, "service"},
    {"pods", 2, {NODES, OURS, 4}, pods, "node service more-than-one"},
    {"node-gone", 2, {NODES}, node_gone, "node"},
    {"node-back", 4, {NODES}, node_back, "node"},
    {"exclude", 2, {NODES}, exclude, "node: or not any more"},
    {"deleting", 1, {NODES}, deleting, "node"},
    {"address", 2, {NODES, 4}, address, "node which"},
    {"port", 1, {OURS, 8}, port, "service which"},
    {"pause", 1, {OURS, 2}, pause_it, "service on"},
    {"edit-weight",
     2,
     {TARGETS_MAX, OURS, SERVERS_MAX, 200},
     edit_weight,
     "target backend server weight(even: HAProxy is reloaded)"},
    {"edit-address",
     1,
     {TARGETS_MAX, OURS, SERVERS_MAX, 200},
     edit_address,
     "target backend server address(even: and a reload)"},
    {"edit-maintenance", 2, {TARGETS_MAX, OURS, SERVERS_MAX, 2}, edit_maintenance, "target backend server reload"},
    {"edit-remove", 2, {TARGETS_MAX, OURS, SERVERS_MAX, 2}, edit_remove, "target backend server reload"},
    {"edit-theirs",
     3,
     {TARGETS_MAX, BACKENDS, SERVERS_MAX, 9},
     edit_theirs,
     "target backend server value: what is not ours of it"},
    {"edit-add", 1, {TARGETS_MAX, OURS, 8, 2}, edit_add, "target backend which(4 and up are not ours) reload"},
    {"edit-default", 1, {TARGETS_MAX, OURS, 2, 2}, edit_default, "target backend on reload: default-server disabled"},
    {"take-over",
     1,
     {TARGETS_MAX, OURS, 20, 2},
     take_over,
     "target backend weight(less 1) reload: NAME becomes NAME-PORT"},
    {"rest-take-over", 1, {TARGETS_MAX, OURS, 20}, take_over_at_rest, "target backend weight(less 1): from a rest on"},
    {"edit-double", 1, {TARGETS_MAX, OURS, SERVERS_MAX, 2}, edit_double, "target backend server reload"},
    {"edit-odd", 1, {TARGETS_MAX, ODDITIES, 2}, edit_odd, "target what(see conf.h; 0: nothing) reload"},
    {"edit-plain", 4, {TARGETS_MAX, 2}, edit_plain, "target reload: what is odd goes"},
    {"operate", 3, {TARGETS_MAX, OURS, SERVERS_MAX, 3}, operate, "target backend server ready|drain|maint(0..2)"},
    {"health", 2, {TARGETS_MAX, OURS, SERVERS_MAX, 3}, health, "target backend server what(0: its check fails)"},
    {"edit-backend", 1, {TARGETS_MAX, OURS, 2}, edit_backend, "target backend reload: it goes, or is there again"},
    {"reload", 1, {TARGETS_MAX}, reload, "target: by somebody else"},
    {"other_writer", 1, {TARGETS_MAX, 5}, other_writer, "target times: what is there now is put back"},
    {"restart-haproxy", 1, {TARGETS_MAX, 60}, restart_haproxy, "target down(0.1 s)"},
    {"restart-api", 1, {TARGETS_MAX, 200}, restart_api, "target down(0.1 s)"},
    {"fail-reloads", 2, {TARGETS_MAX, 4}, fail_reloads, "target times(less 1)"},
    {"foreign", 1, {TARGETS_MAX, 20}, foreign, "target transactions(less 1)"},
    {"foreign-end", 1, {TARGETS_MAX}, foreign_end, "target"},
    {"fault", 10, {TARGETS_MAX, ASKS, FAULTS, 6}, fault, "target request mode times(less 1); see api.h"},
    {"faults", 2, {TARGETS_MAX, 1u << ASKS, FAULTS, 30}, faults, "target requests(bits) mode times(less 1)"},
    {"kill", 1, {20}, kill_it, "down(s)"},
    {"stop", 1, {20}, stop_it, "down(s)"},
    {"hangup", 1, {1}, hangup, "0"},
    {"rest", 1, {1}, rest, "0: faults end, and all is to be as wanted"},
    {"local-use", 6, {TARGETS_MAX, OURS, 1u << 8, 90}, local_use_some, "target backend servers(bits) how-long(s)"},
    {"local-refuse-adds",
     1,
     {TARGETS_MAX, 3},
     local_refuse_adds,
     "target times(less 1): servers added without a reload"},
    {"local-other", 1, {TARGETS_MAX, 40}, local_other_daemon, "target how-long(s): another daemon has the file"},
    {"local-break", 1, {TARGETS_MAX, 2}, local_break, "target on: HAProxy refuses the file as an operator left it"},
    {"cluster-act",
     24,
     {TARGETS_MAX, OURS, CLUSTER_ACTS, 8},
     cluster_act,
     "target backend what server(2 for each, odd: without a reload); see clusters.h"},
    {"cluster-amid",
     12,
     {TARGETS_MAX, ASKS, OURS *CLUSTER_ACTS, 8},
     cluster_amid,
     "target request what server: with the daemon's next one"},
    {"cluster-last",
     4,
     {OURS, 4},
     cluster_last,
     "service what(0 DOWN, 1 UP, 2 drain, 3 serve): all of it, as the last of ours goes"},
    {"cluster-busy",
     1,
     {TARGETS_MAX, OURS, 40, 30},
     cluster_busy,
     "target backend times every(0.1 s): it writes again and again"},
    {"adds-die",
     3,
     {TARGETS_MAX, ASKS, 20},
     adds_die,
     "target request down(s): the daemon's next one is carried out, and it dies"},
};
const size_t event_kind_count = sizeof(event_kinds) / sizeof(event_kinds[0]);

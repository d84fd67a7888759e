/* daemon/services/service_rows: the lines of a backend over time, by tables and by random streams against the rules of servers/desired. */
#include "../../model_text.h"
#include "base/log.h"
#include "daemon/services/service_rows.h"
#include "model/service_slices.h"
#include "services/plan.h"
#include "settings/settings.h"
#include "settings/table.h"

#include "../../effort.h"

#define WORLD_SERVICES 4
#define WORLD_WINDOW_MS 30000
#define WORLD_DRAIN_MS 20000

struct rows_world {
    struct settings settings;
    struct log log;
    struct cache *nodes;
    struct service_slices *slices;
    struct service_rows *rows;
    struct annotated_service services[WORLD_SERVICES];
    struct service_port ports[WORLD_SERVICES];
    char names[WORLD_SERVICES][8], backends[WORLD_SERVICES][2];
    bool there[WORLD_SERVICES];
    const char *balance, *health_path;
    bool proxy_v2;
    uint64_t now_ms;
};

static void rows_world_init(struct rows_world *w)
{
    *w = (struct rows_world){.balance = "roundrobin", .now_ms = 1000000};
    w->log = (struct log){.level = LOG_LEVEL_ERROR, .fd = 2};
    w->settings.nodes = node_rules_default;
    w->settings.drain_timeout_ms = WORLD_DRAIN_MS;
    w->settings.resync_period_ms = WORLD_WINDOW_MS;
    w->settings.park_ttl_ms = 1000;
    w->settings.max_loss_percent = 50;
    w->nodes = cache_new(&node_record);
    w->slices = service_slices_new();
    text_sync(w->nodes);
    for (unsigned i = 0; i < WORLD_SERVICES; i++) {
        snprintf(w->names[i], sizeof(w->names[i]), "ns/%c", 'a' + (int)i);
        snprintf(w->backends[i], sizeof(w->backends[i]), "%c", 'a' + (int)i);
        w->ports[i] = (struct service_port){(char *)"http", 80, (uint16_t)(30001 + i)};
        w->services[i].service = (struct service){
            .name = w->names[i], .type = SERVICE_NODE_PORT, .local = true, .ports = &w->ports[i], .port_count = 1};
    }
}

/* With the settings as they are then. */
static void rows_world_open(struct rows_world *w)
{
    w->rows = service_rows_new(&w->settings, w->nodes, w->slices, &w->log);
}

static void rows_world_fini(struct rows_world *w)
{
    service_rows_free(w->rows);
    service_slices_free(w->slices);
    cache_free(w->nodes);
}

static void rows_world_node(struct rows_world *w, const char *line)
{
    const struct object_caches c = {.nodes = w->nodes};
    if (text_put(&c, line))
        service_rows_nodes_changed(w->rows);
}

static void rows_world_no_node(struct rows_world *w, const char *name)
{
    if (cache_delete(w->nodes, name))
        service_rows_nodes_changed(w->rows);
}

/* "10.0.0.1@n1 10.0.0.2@n2=no" of Service i; NULL: there is no such slice. */
static void rows_world_slice(struct rows_world *w, unsigned i, unsigned number, const char *endpoints)
{
    cleanup(mem_free_ptr) char *name = mem_printf("%s-%u", w->names[i], number);
    if (endpoints == NULL) {
        service_slices_delete(w->slices, name);
        return;
    }
    cleanup(mem_free_ptr) char *words = mem_printf("http/8080 : %s", endpoints);
    struct endpoint_set *set = text_set_new(name, words);
    struct service_slice *s = mem_alloc(sizeof(*s));
    *s = (struct service_slice){.set = *set, .service = mem_strdup(w->names[i])};
    free(set);
    service_slices_put(w->slices, s);
}

static struct service_route rows_world_route(const struct rows_world *w, unsigned i)
{
    return (struct service_route){.service = &w->services[i],
                                  .port = &w->ports[i],
                                  .backend = (char *)(uintptr_t)w->backends[i],
                                  .options = {.balance = (char *)(uintptr_t)w->balance,
                                              .health_path = (char *)(uintptr_t)w->health_path,
                                              .proxy_v2 = w->proxy_v2}};
}

/* The text of each Service that is there; NULL of others. Each is to be freed. */
static void rows_world_pass(struct rows_world *w, struct service_rows *rows, char *ret[WORLD_SERVICES])
{
    service_rows_begin(rows, w->now_ms);
    for (unsigned i = 0; i < WORLD_SERVICES; i++) {
        struct buf text = {0};
        const struct service_route route = rows_world_route(w, i);
        ret[i] = NULL;
        if (!w->there[i])
            continue;
        buf_add(&text, "");
        service_rows_print(rows, &route, &text);
        ret[i] = text.len > 0 ? buf_take(&text) : mem_strdup("");
        buf_fini(&text);
    }
    service_rows_end(rows);
}

static void texts_free(char *texts[WORLD_SERVICES])
{
    for (unsigned i = 0; i < WORLD_SERVICES; i++)
        free(texts[i]);
}

static struct rows_world world;

/* Of Service a. */
static void check(const char *want)
{
    char *texts[WORLD_SERVICES];
    rows_world_pass(&world, world.rows, texts);
    ck_assert_ptr_nonnull(texts[0]);
    ck_assert_str_eq(texts[0], want);
    texts_free(texts);
}

static void slice(const char *endpoints)
{
    rows_world_slice(&world, 0, 1, endpoints);
}

/* n1 to n4, and Service a. */
static void begin(void)
{
    rows_world_open(&world);
    for (unsigned i = 1; i <= 4; i++) {
        cleanup(mem_free_ptr) char *line = mem_printf("node n%u 10.0.0.%u", i, i);
        rows_world_node(&world, line);
    }
    world.there[0] = true;
}

static void setup(void)
{
    rows_world_init(&world);
}

static void teardown(void)
{
    rows_world_fini(&world);
}

/* With other settings. */
static void again(void)
{
    teardown();
    setup();
}

FIXTURE(setup, teardown)

#define LINE(n) "    server n" #n " 10.0.0." #n ":30001"

TEST(policy_local)
{
    begin();
    slice("10.1.0.1@n1 10.1.0.2@n2 10.1.0.3@n2");
    check(LINE(1) "\n" LINE(2) "\n" LINE(3) " disabled\n" LINE(4) " disabled\n");
    slice("10.1.0.1@n1=leaving 10.1.0.2@n2");
    check(LINE(1) " weight 0\n" LINE(2) "\n" LINE(3) " disabled\n" LINE(4) " disabled\n");
    ck_assert_uint_eq(service_rows_due_ms(world.rows), world.now_ms + WORLD_DRAIN_MS);
    world.balance = "source";
    check(LINE(1) " disabled\n" LINE(2) "\n" LINE(3) " disabled\n" LINE(4) " disabled\n");
    world.balance = "leastconn";
    world.now_ms += WORLD_DRAIN_MS - 1;
    check(LINE(1) " weight 0\n" LINE(2) "\n" LINE(3) " disabled\n" LINE(4) " disabled\n");
    world.now_ms += 1;
    check(LINE(1) " disabled\n" LINE(2) "\n" LINE(3) " disabled\n" LINE(4) " disabled\n");
    ck_assert_uint_eq(service_rows_due_ms(world.rows), 0);
}

TEST(policy_cluster)
{
    begin();
    world.services[0].service.local = false;
    slice("10.1.0.1@n1");
    rows_world_node(&world, "node n3 10.0.0.3 !excluded");
    rows_world_node(&world, "node n4 fd00::4 !cordoned");
    check(LINE(1) "\n" LINE(2) "\n    server n4 [fd00::4]:30001\n");
    again();
    setting_set_given(&world.settings, SETTING(node_mode));
    setting_set_given(&world.settings, SETTING(park_nodes));
    world.settings.node_mode = NODE_MODE_ENDPOINTS;
    world.settings.weights = WEIGHTS_ENDPOINTS;
    begin();
    slice("10.1.0.1@n1 10.1.0.2@n1 10.1.0.3@n2=leaving");
    check(LINE(1) " weight 2\n" LINE(2) " weight 0\n");
    world.services[0].service.local = false; /* kube-proxy spreads over all pods */
    check(LINE(1) " weight 100\n" LINE(2) " weight 0\n");
}

TEST(nothing_is_desired)
{
    begin();
    check(LINE(1) "\n" LINE(2) "\n" LINE(3) "\n" LINE(4) "\n"); /* never seen: a guess */
    ck_assert_uint_eq(service_rows_view(world.rows).kept, 1);
    slice("10.1.0.1@n1 10.1.0.2@n2");
    check(LINE(1) "\n" LINE(2) "\n" LINE(3) " disabled\n" LINE(4) " disabled\n");
    ck_assert_uint_eq(service_rows_view(world.rows).delayed, 0);
    ck_assert_uint_eq(service_rows_view(world.rows).kept, 0);
    slice("10.1.0.1@n1=no 10.1.0.2@n2=no");
    world.ports[0].node_port = 31111;
    check("    server n1 10.0.0.1:31111\n    server n2 10.0.0.2:31111\n"
          "    server n3 10.0.0.3:31111 disabled\n    server n4 10.0.0.4:31111 disabled\n");
    ck_assert_uint_eq(service_rows_view(world.rows).kept, 1);
    again();
    world.settings.allow_empty = true;
    begin();
    slice("10.1.0.1@n1=no");
    check("");
    slice("10.1.0.1@n1");
    check(LINE(1) "\n" LINE(2) " disabled\n" LINE(3) " disabled\n" LINE(4) " disabled\n");
    slice("10.1.0.1@n1=no");
    check("");
}

TEST(a_guess_has_each_eligible_node_and_is_no_loss)
{
    begin();
    rows_world_node(&world, "node n4 10.0.0.4 !doomed");
    check(LINE(1) "\n" LINE(2) "\n" LINE(3) "\n");
    rows_world_node(&world, "node n4 10.0.0.4");
    check(LINE(1) "\n" LINE(2) "\n" LINE(3) "\n" LINE(4) "\n");
    slice("10.1.0.1@n1");
    check(LINE(1) "\n" LINE(2) " disabled\n" LINE(3) " disabled\n" LINE(4) " disabled\n");
    ck_assert_uint_eq(service_rows_view(world.rows).delayed, 0);
}

TEST(what_drains_is_none_of_the_live_ones)
{
    begin();
    slice("10.1.0.1@n1 10.1.0.2@n2 10.1.0.3@n3 10.1.0.4@n4=leaving");
    check(LINE(1) "\n" LINE(2) "\n" LINE(3) "\n" LINE(4) " weight 0\n");
    slice("10.1.0.3@n3 10.1.0.4@n4=leaving"); /* two of three */
    check(LINE(1) "\n" LINE(2) "\n" LINE(3) "\n" LINE(4) " weight 0\n");
}

TEST(what_drains_while_nothing_is_desired)
{
    begin();
    slice("10.1.0.1@n1 10.1.0.2@n2=leaving");
    check(LINE(1) "\n" LINE(2) " weight 0\n" LINE(3) " disabled\n" LINE(4) " disabled\n");
    slice("10.1.0.1@n1=no 10.1.0.2@n2=gone");
    check(LINE(1) "\n" LINE(2) " disabled\n" LINE(3) " disabled\n" LINE(4) " disabled\n");
}

TEST(what_is_announced_is_no_loss)
{
    begin();
    world.services[0].service.local = false;
    slice("10.1.0.1@n1");
    check(LINE(1) "\n" LINE(2) "\n" LINE(3) "\n" LINE(4) "\n");
    rows_world_node(&world, "node n2 10.0.0.2 !deleting");
    rows_world_node(&world, "node n3 10.0.0.3 !doomed");
    rows_world_node(&world, "node n4 10.0.0.4 !excluded");
    check(LINE(1) "\n");
}

TEST(losses)
{
    begin();
    world.services[0].service.local = false;
    slice("10.1.0.1@n1");
    check(LINE(1) "\n" LINE(2) "\n" LINE(3) "\n" LINE(4) "\n");
    rows_world_node(&world, "node n4 10.0.0.4 !deleting"); /* announced */
    check(LINE(1) "\n" LINE(2) "\n" LINE(3) "\n");
    rows_world_no_node(&world, "n2");
    rows_world_no_node(&world, "n3");
    rows_world_no_node(&world, "n4");
    check(LINE(1) "\n" LINE(2) "\n" LINE(3) "\n");
    ck_assert_uint_eq(service_rows_view(world.rows).delayed, 1);
    ck_assert_uint_eq(service_rows_due_ms(world.rows), world.now_ms + WORLD_WINDOW_MS);
    rows_world_node(&world, "node n3 10.0.0.33");
    check(LINE(1) "\n" LINE(2) "\n    server n3 10.0.0.33:30001\n");
    world.now_ms += WORLD_WINDOW_MS;
    check(LINE(1) "\n    server n3 10.0.0.33:30001\n");
    ck_assert_uint_eq(service_rows_view(world.rows).delayed, 0);
}

/* A node that lost its endpoints without a word is one of those that wait, too. */
TEST(a_line_that_is_delayed_is_no_spare)
{
    begin();
    slice("10.1.0.1@n1 10.1.0.2@n2 10.1.0.3@n3");
    check(LINE(1) "\n" LINE(2) "\n" LINE(3) "\n" LINE(4) " disabled\n");
    slice("10.1.0.3@n3");
    check(LINE(1) "\n" LINE(2) "\n" LINE(3) "\n" LINE(4) " disabled\n");
    world.now_ms += WORLD_WINDOW_MS;
    check(LINE(1) " disabled\n" LINE(2) " disabled\n" LINE(3) "\n" LINE(4) " disabled\n");
}

/* HAPROXY_HEALTH_CHECK=node-port: kube-proxy says which node has a pod. */
TEST(the_port_of_kube_proxy)
{
    world.settings.health_check = SETTINGS_HEALTH_CHECK_NODE_PORT;
    begin();
    world.services[0].service.health_check_node_port = 32000;
    world.services[0].service.type = SERVICE_LOAD_BALANCER;
    rows_world_no_node(&world, "n3");
    rows_world_no_node(&world, "n4");
    slice("10.1.0.1@n1");
    check("    option httpchk GET /healthz\n" LINE(1) " port 32000\n" LINE(2) " port 32000 disabled\n");
    world.proxy_v2 = true;
    check("    option httpchk GET /healthz\n" LINE(1) " port 32000 no-check-send-proxy\n" LINE(
        2) " port 32000 no-check-send-proxy disabled\n");
    world.health_path = "/up";
    check(LINE(1) "\n" LINE(2) " disabled\n");
}

#define CONFIG                                                                               \
    "backend other\n    server s1 10.0.0.9:80 check\nfrontend a\n    bind :80\n"             \
    "backend a\n    mode http\n    default-server check\n" LINE(1) "\n" LINE(                \
        2) "\n"                                                                              \
           "    server n3 [fd00::3]:30001 weight 7\n    server n4 10.0.0.4:30001 disabled\n" \
           "    server n5 10.0.0.5:30001 weight 0\n    server n6 unix@x disabled\n"          \
           "    server n7 10.0.0.7:30001 weight x\n"                                         \
           "    server n8 10.0.0.8:30001 port 32000 no-check-send-proxy disabled\n"

/* As they were in the file: all is lost at once, or nothing is ready. */
TEST(what_an_earlier_daemon_left)
{
    rows_world_open(&world);
    service_rows_recall(world.rows, CONFIG);
    service_rows_recall(world.rows, "");
    rows_world_node(&world, "node n1 10.0.0.1");
    world.there[0] = true;
    slice("10.1.0.1@n1");
    check(LINE(1) "\n" LINE(2) "\n    server n3 [fd00::3]:30001 weight 7\n");
    ck_assert_uint_eq(service_rows_view(world.rows).delayed, 1);
    world.now_ms += WORLD_WINDOW_MS;
    check(LINE(1) "\n");
    again();
    rows_world_open(&world);
    service_rows_recall(world.rows, CONFIG);
    rows_world_node(&world, "node n1 10.0.0.1");
    world.there[0] = true;
    world.ports[0].node_port = 31111;
    check("    server n1 10.0.0.1:31111\n    server n2 10.0.0.2:31111\n    server n3 [fd00::3]:31111 weight 7\n"
          "    server n4 10.0.0.4:31111 disabled\n    server n5 10.0.0.5:31111 disabled\n"
          "    server n8 10.0.0.8:31111 disabled\n");
}

TEST(paused)
{
    begin();
    slice("10.1.0.1@n1");
    world.services[0].service.paused = true;
    check(LINE(1) "\n" LINE(2) " disabled\n" LINE(3) " disabled\n" LINE(4) " disabled\n"); /* the first */
    slice("10.1.0.1@n1 10.1.0.2@n2");
    check(LINE(1) "\n" LINE(2) " disabled\n" LINE(3) " disabled\n" LINE(4) " disabled\n");
    world.services[0].service.paused = false;
    check(LINE(1) "\n" LINE(2) "\n" LINE(3) " disabled\n" LINE(4) " disabled\n");
}

TEST(only_what_changed_is_computed)
{
    char *texts[WORLD_SERVICES];
    begin();
    for (unsigned i = 0; i < WORLD_SERVICES; i++) {
        world.there[i] = true;
        rows_world_slice(&world, i, 1, "10.1.0.1@n1");
    }
    static const size_t wanted[] = {WORLD_SERVICES, 0, 1, WORLD_SERVICES, 1, 0};
    for (unsigned step = 0; step < array_len(wanted); step++) {
        if (step == 2)
            rows_world_slice(&world, 1, 2, "10.1.0.2@n2");
        if (step == 3)
            rows_world_node(&world, "node n9 10.0.0.9");
        if (step == 4)
            world.services[2].service.local = false;
        rows_world_pass(&world, world.rows, texts);
        texts_free(texts);
        ck_assert_uint_eq(service_rows_view(world.rows).computed, wanted[step]);
    }
}

TEST(what_is_explained)
{
    char *texts[WORLD_SERVICES];
    cleanup(buf_fini) struct buf out = {0};
    begin();
    rows_world_no_node(&world, "n4");
    slice("10.1.0.1@n1 10.1.0.2@n2=no 10.1.0.3@n9");
    rows_world_pass(&world, world.rows, texts);
    const struct service_route route = rows_world_route(&world, 0);
    service_rows_explain(world.rows, &route, &out);
    ck_assert_str_eq(
        buf_str(&out),
        "servers of backend a\n"
        "    server n1 10.0.0.1:30001, live: 1 ready endpoint on node n1 (slice ns/a-1); nodePort 30001 "
        "of its port http\n"
        "    server n2 10.0.0.2:30001, disabled: no usable endpoint on node n2; its line waits for one (PARK_NODES)\n"
        "    server n3 10.0.0.3:30001, disabled: no usable endpoint on node n3; its line waits for one (PARK_NODES)\n"
        "    no server for endpoint 10.1.0.2 of slice ns/a-1: it is not ready (on node n2)\n"
        "    no server for endpoint 10.1.0.3 of slice ns/a-1: its node n9 is not known\n");
    texts_free(texts);
}

#define STREAM_NODES 6

/* What a backend had, and since when each node is not desired, or leaves; 0: it is, or does not. */
struct model {
    bool live, guess;
    uint64_t lost_ms[STREAM_NODES], leaving_ms[STREAM_NODES];
};

static void event_node(struct rows_world *w, struct dice *d)
{
    static const char *const signs[] = {"", "", " !excluded", " !deleting", " !cordoned"};
    unsigned n = dice_below(d, STREAM_NODES);
    cleanup(mem_free_ptr) char *name = mem_printf("n%u", n);
    cleanup(mem_free_ptr) char *line =
        mem_printf("node n%u 10.0.%u.%u%s", n, dice_below(d, 2), n, signs[dice_below(d, array_len(signs))]);
    if (dice_one_in(d, 3))
        rows_world_no_node(w, name);
    else
        rows_world_node(w, line);
}

static void event_slice(struct rows_world *w, struct dice *d)
{
    static const char *const states[] = {"yes", "yes", "yes", "no", "leaving", "gone"};
    unsigned i = dice_below(d, WORLD_SERVICES), number = dice_below(d, 2);
    cleanup(buf_fini) struct buf text = {0};
    buf_add(&text, "");
    for (unsigned k = dice_below(d, 5); k > 0; k--) {
        unsigned n = dice_below(d, STREAM_NODES);
        buf_printf(&text, " 10.%u.0.%u@n%u=%s", number + 1, n, n, states[dice_below(d, array_len(states))]);
    }
    rows_world_slice(w, i, number, dice_one_in(d, 6) ? NULL : text.len > 0 ? buf_str(&text) : "");
}

static void event_any(struct rows_world *w, struct dice *d)
{
    unsigned i = dice_below(d, WORLD_SERVICES);
    switch (dice_below(d, 12)) {
    case 0:
        w->there[i] = !w->there[i];
        break;
    case 1:
        w->services[i].service.local = !w->services[i].service.local;
        break;
    case 2:
        w->ports[i].node_port = (uint16_t)(30001 + i + 100 * dice_below(d, 2));
        break;
    case 3:
        w->now_ms += dice_below(d, 2 * WORLD_WINDOW_MS);
        break;
    case 4:
    case 5:
    case 6:
    case 7:
        event_node(w, d);
        break;
    default:
        event_slice(w, d);
    }
    w->now_ms += dice_below(d, 3000);
}

/* The state that is desired without what was before. */
static void desire(const struct rows_world *w, unsigned i, struct desired *ret)
{
    const struct object_caches caches = {.nodes = w->nodes};
    struct service_slices_found found = service_slices_of(w->slices, w->names[i]);
    const struct desired_objects objects = {&w->services[i].service, found.sets, found.count};
    bool by_endpoints = setting_is_given(&w->settings, SETTING(node_mode));
    const struct mapping_rules rules = {.namespace = "ns",
                                        .service = "x",
                                        .port = "http",
                                        .node_mode = by_endpoints ? NODE_MODE_ENDPOINTS : NODE_MODE_ALL,
                                        .nodes = node_rules_default,
                                        .drain_timeout_ms = WORLD_DRAIN_MS};
    const struct desired_input in = {.caches = &caches, .objects = &objects, .rules = &rules, .now_ms = w->now_ms};
    desired_compute(&in, ret);
}

static enum server_state line_state(const char *text, unsigned n, bool *ret_there)
{
    cleanup(mem_free_ptr) char *name = mem_printf("    server n%u ", n);
    const char *line = strstr(text, name);
    *ret_there = line != NULL;
    if (line == NULL)
        return SERVER_OUT;
    cleanup(mem_free_ptr) char *own = mem_strndup(line, strcspn(line, "\n"));
    return strstr(own, " disabled") != NULL   ? SERVER_OUT
           : strstr(own, " weight 0") != NULL ? SERVER_DRAINING
                                              : SERVER_LIVE;
}

static void check_node(const struct rows_world *w, const struct model *m, const struct desired *d, const char *text,
                       unsigned n)
{
    bool there;
    enum server_state is = line_state(text, n, &there);
    cleanup(mem_free_ptr) char *name = mem_printf("n%u", n);
    const struct desired_server *wanted = desired_find(d, name);
    if (wanted != NULL && wanted->state == SERVER_LIVE)
        ck_assert_msg(is == SERVER_LIVE, "n%u is desired:\n%s", n, text);
    if (is == SERVER_LIVE && (wanted == NULL || wanted->state != SERVER_LIVE))
        ck_assert_msg(w->settings.max_loss_percent < 100 && m->lost_ms[n] != 0 &&
                          w->now_ms < m->lost_ms[n] + WORLD_WINDOW_MS,
                      "n%u is not desired:\n%s", n, text);
    if (is == SERVER_DRAINING)
        ck_assert_msg(m->leaving_ms[n] != 0 && w->now_ms < m->leaving_ms[n] + WORLD_DRAIN_MS, "n%u does not end:\n%s",
                      n, text);
}

/* Before the pass: since when. */
static void model_note(const struct rows_world *w, struct model *m, const struct desired *d)
{
    for (unsigned n = 0; n < STREAM_NODES; n++) {
        cleanup(mem_free_ptr) char *name = mem_printf("n%u", n);
        const struct desired_server *wanted = d->state == DESIRED_OK ? desired_find(d, name) : NULL;
        bool live = wanted != NULL && wanted->state == SERVER_LIVE;
        bool leaving = !live && wanted != NULL && wanted->state == SERVER_DRAINING;
        /* While nothing is desired no time passes. */
        m->lost_ms[n] = live || d->state != DESIRED_OK ? 0 : m->lost_ms[n] != 0 ? m->lost_ms[n] : w->now_ms;
        m->leaving_ms[n] = !leaving ? 0 : m->leaving_ms[n] != 0 ? m->leaving_ms[n] : w->now_ms;
    }
}

static void check_backend(const struct rows_world *w, struct model *m, unsigned i, const char *text)
{
    struct desired d;
    if (text == NULL) {
        *m = (struct model){0};
        return;
    }
    desire(w, i, &d);
    model_note(w, m, &d);
    bool live = false, there;
    for (unsigned n = 0; n < STREAM_NODES; n++)
        live = live || line_state(text, n, &there) == SERVER_LIVE;
    ck_assert_msg(live || !m->live || (w->settings.allow_empty && d.state == DESIRED_EMPTY), "backend %c is empty",
                  'a' + (int)i);
    m->live = live;
    for (unsigned n = 0; n < STREAM_NODES && d.state == DESIRED_OK; n++)
        check_node(w, m, &d, text, n);
    desired_fini(&d);
}

static void check_same(char *const a[WORLD_SERVICES], char *const b[WORLD_SERVICES], const char *what)
{
    for (unsigned i = 0; i < WORLD_SERVICES; i++)
        ck_assert_msg(str_eq(a[i], b[i]), "%s:\n%s--\n%s", what, a[i] != NULL ? a[i] : "none",
                      b[i] != NULL ? b[i] : "none");
}

/* Where something is desired, what was before is forgotten in the end. */
static void check_rest(struct rows_world *w)
{
    char *stayed[WORLD_SERVICES], *fresh[WORLD_SERVICES];
    struct service_rows *other = service_rows_new(&w->settings, w->nodes, w->slices, &w->log);
    rows_world_pass(w, w->rows, stayed);
    texts_free(stayed);
    w->now_ms += WORLD_WINDOW_MS + WORLD_DRAIN_MS;
    rows_world_pass(w, w->rows, stayed);
    rows_world_pass(w, other, fresh);
    texts_free(fresh);
    w->now_ms += WORLD_DRAIN_MS; /* those of the fresh ones begin when they are seen first */
    rows_world_pass(w, other, fresh);
    for (unsigned i = 0; i < WORLD_SERVICES; i++) {
        struct desired d;
        desire(w, i, &d);
        if (d.state == DESIRED_OK)
            ck_assert_msg(str_eq(stayed[i], fresh[i]), "%s--\n%s", stayed[i] != NULL ? stayed[i] : "none",
                          fresh[i] != NULL ? fresh[i] : "none");
        desired_fini(&d);
    }
    ck_assert_uint_eq(service_rows_view(w->rows).delayed, 0);
    ck_assert_uint_eq(service_rows_due_ms(w->rows), 0);
    texts_free(stayed);
    texts_free(fresh);
    service_rows_free(other);
}

static void event_relist(struct rows_world *w, struct dice *d)
{
    size_t count;
    service_slices_begin(w->slices);
    for (unsigned i = 0; i < WORLD_SERVICES; i++)
        if (!dice_one_in(d, 3))
            rows_world_slice(w, i, 0, "10.1.0.1@n1 10.1.0.2@n2=leaving 10.1.0.3@n3");
    if (dice_one_in(d, 4))
        service_slices_abort(w->slices);
    else
        (void)service_slices_end(w->slices, &count);
}

/* By its number. */
static void choose_settings(struct settings *s, unsigned number)
{
    if (number & 1)
        setting_set_given(s, SETTING(node_mode));
    s->node_mode = NODE_MODE_ENDPOINTS;
    s->allow_empty = (number & 2) != 0;
    s->max_loss_percent = number & 4 ? (number & 8 ? 100 : 0) : 50;
    if (number & 16)
        s->park_ttl_ms = 0;
}

TEST_EACH(streams, effort(160))
{
    struct dice d = {0x9e3779b97f4a7c15u + 77u * (unsigned)_i};
    struct rows_world *const w = &world;
    struct model models[WORLD_SERVICES] = {0};
    char *texts[WORLD_SERVICES], *others[WORLD_SERVICES];
    choose_settings(&w->settings, (unsigned)_i);
    rows_world_open(w);
    struct service_rows *eager = service_rows_new(&w->settings, w->nodes, w->slices, &w->log);
    for (unsigned step = 0; step < 120; step++) {
        for (unsigned k = 1 + dice_below(&d, 3); k > 0; k--)
            event_any(w, &d);
        if (dice_one_in(&d, 10))
            event_relist(w, &d);
        service_rows_nodes_changed(eager); /* it computes all each time */
        rows_world_pass(w, w->rows, texts);
        rows_world_pass(w, eager, others);
        check_same(texts, others, "what was not computed again");
        for (unsigned i = 0; i < WORLD_SERVICES; i++)
            check_backend(w, &models[i], i, texts[i]);
        texts_free(texts);
        texts_free(others);
    }
    check_rest(w);
    service_rows_free(eager);
}

/* daemon/services/service_rows: the lines of a backend over time, by tables and by random streams against the rules of servers/desired. */
#include "rows_world.h"

#include "../../effort.h"
#include "../../test.h"

static void check_text(struct rows_world *w, unsigned i, const char *want)
{
    char *texts[WORLD_SERVICES];
    rows_world_pass(w, w->rows, texts);
    ck_assert_ptr_nonnull(texts[i]);
    ck_assert_str_eq(texts[i], want);
    texts_free(texts);
}

/* n1 to n4, and Service a. */
static void begin(struct rows_world *w)
{
    rows_world_open(w);
    for (unsigned i = 1; i <= 4; i++) {
        cleanup(mem_free_ptr) char *line = mem_printf("node n%u 10.0.0.%u", i, i);
        rows_world_node(w, line);
    }
    w->there[0] = true;
}

#define LINE(n) "    server n" #n " 10.0.0." #n ":30001"

TEST(policy_local)
{
    struct rows_world w;
    rows_world_init(&w);
    begin(&w);
    rows_world_slice(&w, 0, 1, "10.1.0.1@n1 10.1.0.2@n2 10.1.0.3@n2");
    check_text(&w, 0, LINE(1) "\n" LINE(2) "\n" LINE(3) " disabled\n" LINE(4) " disabled\n");
    rows_world_slice(&w, 0, 1, "10.1.0.1@n1=leaving 10.1.0.2@n2");
    check_text(&w, 0, LINE(1) " weight 0\n" LINE(2) "\n" LINE(3) " disabled\n" LINE(4) " disabled\n");
    ck_assert_uint_eq(service_rows_due_ms(w.rows), w.now_ms + WORLD_DRAIN_MS);
    w.balance = "source";
    check_text(&w, 0, LINE(1) " disabled\n" LINE(2) "\n" LINE(3) " disabled\n" LINE(4) " disabled\n");
    w.balance = "leastconn";
    w.now_ms += WORLD_DRAIN_MS - 1;
    check_text(&w, 0, LINE(1) " weight 0\n" LINE(2) "\n" LINE(3) " disabled\n" LINE(4) " disabled\n");
    w.now_ms += 1;
    check_text(&w, 0, LINE(1) " disabled\n" LINE(2) "\n" LINE(3) " disabled\n" LINE(4) " disabled\n");
    ck_assert_uint_eq(service_rows_due_ms(w.rows), 0);
    rows_world_fini(&w);
}

TEST(policy_cluster)
{
    struct rows_world w;
    rows_world_init(&w);
    begin(&w);
    w.services[0].service.local = false;
    rows_world_slice(&w, 0, 1, "10.1.0.1@n1");
    rows_world_node(&w, "node n3 10.0.0.3 !excluded");
    rows_world_node(&w, "node n4 fd00::4 !cordoned");
    check_text(&w, 0, LINE(1) "\n" LINE(2) "\n    server n4 [fd00::4]:30001\n");
    rows_world_fini(&w);
    rows_world_init(&w);
    setting_set_given(&w.settings, SETTING(node_mode));
    setting_set_given(&w.settings, SETTING(park_nodes));
    w.settings.node_mode = NODE_MODE_ENDPOINTS;
    w.settings.weights = WEIGHTS_ENDPOINTS;
    begin(&w);
    rows_world_slice(&w, 0, 1, "10.1.0.1@n1 10.1.0.2@n1 10.1.0.3@n2=leaving");
    check_text(&w, 0, LINE(1) " weight 2\n" LINE(2) " weight 0\n");
    w.services[0].service.local = false; /* kube-proxy spreads over all pods */
    check_text(&w, 0, LINE(1) " weight 100\n" LINE(2) " weight 0\n");
    rows_world_fini(&w);
}

TEST(nothing_is_desired)
{
    struct rows_world w;
    rows_world_init(&w);
    begin(&w);
    check_text(&w, 0, LINE(1) "\n" LINE(2) "\n" LINE(3) "\n" LINE(4) "\n"); /* never seen: a guess */
    ck_assert_uint_eq(service_rows_view(w.rows).kept, 1);
    rows_world_slice(&w, 0, 1, "10.1.0.1@n1 10.1.0.2@n2");
    check_text(&w, 0, LINE(1) "\n" LINE(2) "\n" LINE(3) " disabled\n" LINE(4) " disabled\n");
    ck_assert_uint_eq(service_rows_view(w.rows).delayed, 0);
    ck_assert_uint_eq(service_rows_view(w.rows).kept, 0);
    rows_world_slice(&w, 0, 1, "10.1.0.1@n1=no 10.1.0.2@n2=no");
    w.ports[0].node_port = 31111;
    check_text(&w, 0,
               "    server n1 10.0.0.1:31111\n    server n2 10.0.0.2:31111\n"
               "    server n3 10.0.0.3:31111 disabled\n    server n4 10.0.0.4:31111 disabled\n");
    ck_assert_uint_eq(service_rows_view(w.rows).kept, 1);
    rows_world_fini(&w);
    rows_world_init(&w);
    w.settings.allow_empty = true;
    begin(&w);
    rows_world_slice(&w, 0, 1, "10.1.0.1@n1=no");
    check_text(&w, 0, "");
    rows_world_slice(&w, 0, 1, "10.1.0.1@n1");
    check_text(&w, 0, LINE(1) "\n" LINE(2) " disabled\n" LINE(3) " disabled\n" LINE(4) " disabled\n");
    rows_world_slice(&w, 0, 1, "10.1.0.1@n1=no");
    check_text(&w, 0, "");
    rows_world_fini(&w);
}

TEST(what_drains_while_nothing_is_desired)
{
    struct rows_world w;
    rows_world_init(&w);
    begin(&w);
    rows_world_slice(&w, 0, 1, "10.1.0.1@n1 10.1.0.2@n2=leaving");
    check_text(&w, 0, LINE(1) "\n" LINE(2) " weight 0\n" LINE(3) " disabled\n" LINE(4) " disabled\n");
    rows_world_slice(&w, 0, 1, "10.1.0.1@n1=no 10.1.0.2@n2=gone");
    check_text(&w, 0, LINE(1) "\n" LINE(2) " disabled\n" LINE(3) " disabled\n" LINE(4) " disabled\n");
    rows_world_fini(&w);
}

TEST(what_is_announced_is_no_loss)
{
    struct rows_world w;
    rows_world_init(&w);
    begin(&w);
    w.services[0].service.local = false;
    rows_world_slice(&w, 0, 1, "10.1.0.1@n1");
    check_text(&w, 0, LINE(1) "\n" LINE(2) "\n" LINE(3) "\n" LINE(4) "\n");
    rows_world_node(&w, "node n2 10.0.0.2 !deleting");
    rows_world_node(&w, "node n3 10.0.0.3 !doomed");
    rows_world_node(&w, "node n4 10.0.0.4 !excluded");
    check_text(&w, 0, LINE(1) "\n");
    rows_world_fini(&w);
}

TEST(losses)
{
    struct rows_world w;
    rows_world_init(&w);
    begin(&w);
    w.services[0].service.local = false;
    rows_world_slice(&w, 0, 1, "10.1.0.1@n1");
    check_text(&w, 0, LINE(1) "\n" LINE(2) "\n" LINE(3) "\n" LINE(4) "\n");
    rows_world_node(&w, "node n4 10.0.0.4 !deleting"); /* announced */
    check_text(&w, 0, LINE(1) "\n" LINE(2) "\n" LINE(3) "\n");
    rows_world_no_node(&w, "n2");
    rows_world_no_node(&w, "n3");
    rows_world_no_node(&w, "n4");
    check_text(&w, 0, LINE(1) "\n" LINE(2) "\n" LINE(3) "\n");
    ck_assert_uint_eq(service_rows_view(w.rows).delayed, 1);
    ck_assert_uint_eq(service_rows_due_ms(w.rows), w.now_ms + WORLD_WINDOW_MS);
    rows_world_node(&w, "node n3 10.0.0.33");
    check_text(&w, 0, LINE(1) "\n" LINE(2) "\n    server n3 10.0.0.33:30001\n");
    w.now_ms += WORLD_WINDOW_MS;
    check_text(&w, 0, LINE(1) "\n    server n3 10.0.0.33:30001\n");
    ck_assert_uint_eq(service_rows_view(w.rows).delayed, 0);
    rows_world_fini(&w);
}

/* A node that lost its endpoints without a word is one of those that wait, too. */
TEST(a_line_that_is_delayed_is_no_spare)
{
    struct rows_world w;
    rows_world_init(&w);
    begin(&w);
    rows_world_slice(&w, 0, 1, "10.1.0.1@n1 10.1.0.2@n2 10.1.0.3@n3");
    check_text(&w, 0, LINE(1) "\n" LINE(2) "\n" LINE(3) "\n" LINE(4) " disabled\n");
    rows_world_slice(&w, 0, 1, "10.1.0.3@n3");
    check_text(&w, 0, LINE(1) "\n" LINE(2) "\n" LINE(3) "\n" LINE(4) " disabled\n");
    w.now_ms += WORLD_WINDOW_MS;
    check_text(&w, 0, LINE(1) " disabled\n" LINE(2) " disabled\n" LINE(3) "\n" LINE(4) " disabled\n");
    rows_world_fini(&w);
}

/* HAPROXY_HEALTH_CHECK=node-port: kube-proxy says which node has a pod. */
TEST(the_port_of_kube_proxy)
{
    struct rows_world w;
    rows_world_init(&w);
    w.settings.health_check = SETTINGS_HEALTH_CHECK_NODE_PORT;
    begin(&w);
    w.services[0].service.health_check_node_port = 32000;
    w.services[0].service.type = SERVICE_LOAD_BALANCER;
    rows_world_no_node(&w, "n3");
    rows_world_no_node(&w, "n4");
    rows_world_slice(&w, 0, 1, "10.1.0.1@n1");
    check_text(&w, 0, "    option httpchk GET /healthz\n" LINE(1) " port 32000\n" LINE(2) " port 32000 disabled\n");
    w.proxy_v2 = true;
    check_text(&w, 0,
               "    option httpchk GET /healthz\n" LINE(1) " port 32000 no-check-send-proxy\n" LINE(
                   2) " port 32000 no-check-send-proxy disabled\n");
    w.health_path = "/up";
    check_text(&w, 0, LINE(1) "\n" LINE(2) " disabled\n");
    rows_world_fini(&w);
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
    struct rows_world w;
    rows_world_init(&w);
    rows_world_open(&w);
    service_rows_recall(w.rows, CONFIG);
    service_rows_recall(w.rows, "");
    rows_world_node(&w, "node n1 10.0.0.1");
    w.there[0] = true;
    rows_world_slice(&w, 0, 1, "10.1.0.1@n1");
    check_text(&w, 0, LINE(1) "\n" LINE(2) "\n    server n3 [fd00::3]:30001 weight 7\n");
    ck_assert_uint_eq(service_rows_view(w.rows).delayed, 1);
    w.now_ms += WORLD_WINDOW_MS;
    check_text(&w, 0, LINE(1) "\n");
    rows_world_fini(&w);
    rows_world_init(&w);
    rows_world_open(&w);
    service_rows_recall(w.rows, CONFIG);
    rows_world_node(&w, "node n1 10.0.0.1");
    w.there[0] = true;
    w.ports[0].node_port = 31111;
    check_text(&w, 0,
               "    server n1 10.0.0.1:31111\n    server n2 10.0.0.2:31111\n    server n3 [fd00::3]:31111 weight 7\n"
               "    server n4 10.0.0.4:31111 disabled\n    server n5 10.0.0.5:31111 disabled\n"
               "    server n8 10.0.0.8:31111 disabled\n");
    rows_world_fini(&w);
}

TEST(slices_that_may_not_be_read)
{
    struct rows_world w;
    rows_world_init(&w);
    begin(&w);
    w.slices_known = false;
    rows_world_node(&w, "node n4 10.0.0.4 !doomed");
    check_text(&w, 0, LINE(1) "\n" LINE(2) "\n" LINE(3) "\n");
    ck_assert_uint_eq(service_rows_view(w.rows).kept, 0);
    w.slices_known = true;
    rows_world_slice(&w, 0, 1, "10.1.0.1@n1");
    check_text(&w, 0, LINE(1) "\n" LINE(2) " disabled\n" LINE(3) " disabled\n");
    w.slices_known = false;
    check_text(&w, 0, LINE(1) "\n" LINE(2) "\n" LINE(3) "\n");
    rows_world_fini(&w);
}

TEST(paused)
{
    struct rows_world w;
    rows_world_init(&w);
    begin(&w);
    rows_world_slice(&w, 0, 1, "10.1.0.1@n1");
    w.services[0].service.paused = true;
    check_text(&w, 0, LINE(1) "\n" LINE(2) " disabled\n" LINE(3) " disabled\n" LINE(4) " disabled\n"); /* the first */
    rows_world_slice(&w, 0, 1, "10.1.0.1@n1 10.1.0.2@n2");
    check_text(&w, 0, LINE(1) "\n" LINE(2) " disabled\n" LINE(3) " disabled\n" LINE(4) " disabled\n");
    w.services[0].service.paused = false;
    check_text(&w, 0, LINE(1) "\n" LINE(2) "\n" LINE(3) " disabled\n" LINE(4) " disabled\n");
    rows_world_fini(&w);
}

TEST(only_what_changed_is_computed)
{
    struct rows_world w;
    char *texts[WORLD_SERVICES];
    rows_world_init(&w);
    begin(&w);
    for (unsigned i = 0; i < WORLD_SERVICES; i++) {
        w.there[i] = true;
        rows_world_slice(&w, i, 1, "10.1.0.1@n1");
    }
    static const size_t wanted[] = {WORLD_SERVICES, 0, 1, WORLD_SERVICES, 1, 0};
    for (unsigned step = 0; step < array_len(wanted); step++) {
        if (step == 2)
            rows_world_slice(&w, 1, 2, "10.1.0.2@n2");
        if (step == 3)
            rows_world_node(&w, "node n9 10.0.0.9");
        if (step == 4)
            w.services[2].service.local = false;
        rows_world_pass(&w, w.rows, texts);
        texts_free(texts);
        ck_assert_uint_eq(service_rows_view(w.rows).computed, wanted[step]);
    }
    rows_world_fini(&w);
}

TEST(what_is_explained)
{
    struct rows_world w;
    char *texts[WORLD_SERVICES];
    cleanup(buf_fini) struct buf out = {0};
    rows_world_init(&w);
    begin(&w);
    rows_world_no_node(&w, "n4");
    rows_world_slice(&w, 0, 1, "10.1.0.1@n1 10.1.0.2@n2=no 10.1.0.3@n9");
    rows_world_pass(&w, w.rows, texts);
    const struct service_route route = rows_world_route(&w, 0);
    service_rows_explain(w.rows, &route, &out);
    ck_assert_str_eq(buf_str(&out),
                     "servers of backend a\n"
                     "    server n1 10.0.0.1:30001, live: 1 ready endpoint on node n1 (slice ns/a-1); nodePort 30001 "
                     "of its port http\n"
                     "    server n2 disabled: no usable endpoint on node n2; its line waits for one (PARK_NODES)\n"
                     "    server n3 disabled: no usable endpoint on node n3; its line waits for one (PARK_NODES)\n"
                     "    no server for endpoint 10.1.0.2 of slice ns/a-1: it is not ready (on node n2)\n"
                     "    no server for endpoint 10.1.0.3 of slice ns/a-1: its node n9 is not known\n");
    texts_free(texts);
    rows_world_fini(&w);
}

/* ---- random streams ---- */

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
        w->slices_known = !dice_one_in(d, 6);
        break;
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
        /* Where slices may not be read each node is taken as one that is used. */
        bool live = !w->slices_known || (wanted != NULL && wanted->state == SERVER_LIVE);
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
    for (unsigned n = 0; n < STREAM_NODES && w->slices_known && d.state == DESIRED_OK; n++)
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
    w->slices_known = true;
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
    service_slices_begin(w->slices);
    for (unsigned i = 0; i < WORLD_SERVICES; i++)
        if (!dice_one_in(d, 3))
            rows_world_slice(w, i, 0, "10.1.0.1@n1 10.1.0.2@n2=leaving 10.1.0.3@n3");
    if (dice_one_in(d, 4))
        service_slices_abort(w->slices);
    else
        service_slices_end(w->slices);
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

TEST_EACH(streams, effort(128))
{
    struct dice d = {0x9e3779b97f4a7c15u + 77u * (unsigned)_i};
    struct rows_world w;
    struct model models[WORLD_SERVICES] = {0};
    char *texts[WORLD_SERVICES], *others[WORLD_SERVICES];
    rows_world_init(&w);
    choose_settings(&w.settings, (unsigned)_i);
    rows_world_open(&w);
    struct service_rows *eager = service_rows_new(&w.settings, w.nodes, w.slices, &w.log);
    for (unsigned step = 0; step < 120; step++) {
        for (unsigned k = 1 + dice_below(&d, 3); k > 0; k--)
            event_any(&w, &d);
        if (dice_one_in(&d, 10))
            event_relist(&w, &d);
        service_rows_nodes_changed(eager); /* it computes all each time */
        rows_world_pass(&w, w.rows, texts);
        rows_world_pass(&w, eager, others);
        check_same(texts, others, "what was not computed again");
        for (unsigned i = 0; i < WORLD_SERVICES; i++)
            check_backend(&w, &models[i], i, texts[i]);
        texts_free(texts);
        texts_free(others);
    }
    check_rest(&w);
    service_rows_free(eager);
    rows_world_fini(&w);
}

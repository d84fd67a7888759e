#include "desired_rows.h"

/* ---- the rules ---- */

/* Servers with what is said about all of them. */
static char *text_of_desired(const struct desired *d)
{
    cleanup(mem_free_ptr) char *servers = text_of_servers(d);
    struct buf b = {0};
    buf_add(&b, servers);
    if (d->check_port != 0)
        buf_printf(&b, "%scheck %u", b.len > 0 ? "; " : "", d->check_port);
    if (d->paused)
        buf_printf(&b, "%spaused", b.len > 0 ? "; " : "");
    return buf_take(&b);
}

static void expect_text(const char *rule, const char *have, const char *want)
{
    ck_assert_msg(str_eq(have, want), "%s:\n  have %s\n  want %s", rule, have != NULL ? have : "(none)",
                  want != NULL ? want : "(none)");
}

static void check_row(const struct row *row, const struct desired *d)
{
    cleanup(mem_free_ptr) char *servers = text_of_desired(d), *skips = text_of_skips(d);
    ck_assert_msg(d->state == row->state, "%s: state %d, not %d (%s)", row->rule, d->state, row->state,
                  d->problem != NULL ? d->problem : "no problem");
    expect_text(row->rule, servers, row->servers);
    expect_text(row->rule, skips, row->skips);
    expect_text(row->rule, d->problem, row->problem);
    expect_text(row->rule, d->note, row->note);
    for (size_t i = 0; i < d->server_count; i++) {
        cleanup(mem_free_ptr) char *reason = desired_server_reason(d, &d->servers[i]);
        ck_assert_msg(!str_empty(reason), "%s: %s without a reason", row->rule, d->servers[i].name);
    }
}

/* The first pass of states that remember nothing yet says the same as no states. */
TEST_EACH(every_rule, array_len(rows))
{
    const struct row *row = &rows[_i];
    struct mapping_text m;
    struct desired d;
    text_mapping(&m, row->objects, row->settings);
    desired_compute(&m.in, &d);
    check_row(row, &d);
    ck_assert_uint_eq(d.due_ms, 0);
    desired_fini(&d);
    m.in.states = server_states_new();
    desired_compute(&m.in, &d);
    check_row(row, &d);
    ck_assert(d.due_ms == (strstr(row->servers, "draining") != NULL ? m.in.now_ms + DRAIN_MS : 0));
    desired_fini(&d);
    text_mapping_close(&m);
}

/* ---- why a server is wished for ---- */

static const struct {
    const char *objects, *settings, *reasons;
} reasons[] = {
    {LOCAL "slice a http/80 : 10.244.1.1@n1", "",
     "n1: 1 ready endpoint on node n1 (slice a); nodePort 30080 of its port http"},
    {LOCAL "slice a http/80 : 10.244.1.1@n1 10.244.1.2@n1 10.244.1.3@n1=no", "",
     "n1: 2 ready endpoints on node n1 (slice a); nodePort 30080 of its port http"},
    {LOCAL "slice a http/80 : 10.244.1.1@n1\nslice b http/80 : 10.244.1.2@n1", "",
     "n1: 2 ready endpoints on node n1 (slices a, b); nodePort 30080 of its port http"},
    {LOCAL "slice a http/80 : 10.244.1.1@n1\nslice b http/80 : 10.244.1.2@n1\nslice c http/80 : 10.244.1.3@n1", "",
     "n1: 3 ready endpoints on node n1 (slices a, b and more); nodePort 30080 of its port http"},
    {LOCAL "slice a http/80 : 10.244.1.1@n1=no\nslice b http/80 : 10.244.1.1@n1", "",
     "n1: 1 ready endpoint on node n1 (slice b); nodePort 30080 of its port http"},
    {LOCAL "slice a http/80 : 10.244.1.1@n1", "port=9443",
     "n1: 1 ready endpoint on node n1 (slice a); the port of HAPROXY_BACKEND_PORT"},
    {INTERNAL "slice a http/80 : 10.0.0.1@n1", "",
     "n1: 1 ready endpoint on node n1 (slice a); the endpoint's own port http"},
    {NODES "endpoints web http/80 : 10.0.0.1@n1", "endpoints",
     "n1: 1 ready endpoint on node n1 (Endpoints web); the endpoint's own port"},
    {LOCAL "slice a http/80 : 10.9.9.9", "",
     "10.9.9.9: ready endpoint 10.9.9.9 (slice a); the endpoint's own port, as it names no node"},
    {LOCAL "slice a http/80 : 10.244.1.1@n1=leaving 10.244.1.2@n1=leaving", "",
     "n1: 2 terminating endpoints on node n1 (slice a), used because no ready one is usable; nodePort 30080 of its "
     "port http"},
    {LOCAL "slice a http/80 : 10.244.1.1@n1=leaving\nslice b http/80 : 10.244.1.2@n2", "",
     "n1: draining until its endpoints are gone or 30s are over: 1 terminating endpoint on node n1, none ready (slice "
     "a)\n"
     "n2: 1 ready endpoint on node n2 (slice b); nodePort 30080 of its port http"},
    {LOCAL "slice a http/80 : 10.244.1.1@n1=leaving 10.244.1.2@n2", "drain=1500",
     "n1: draining until its endpoints are gone or 1500ms are over: 1 terminating endpoint on node n1, none ready "
     "(slice a)\n"
     "n2: 1 ready endpoint on node n2 (slice a); nodePort 30080 of its port http"},
    {"service web NodePort http/80/30080\nnode n1 10.0.0.1\nslice a http/80 : 10.244.1.1@n7 10.244.1.2@n8=no\n"
     "slice b http/80 : 10.244.1.3@n9",
     "mode=all",
     "n1: NODE_MODE=all: every eligible node reaches the Service's 2 ready endpoints (slices a, b); nodePort 30080 of "
     "its "
     "port http"},
    {"service web NodePort http/80/30080\nnode n1 10.0.0.1\nslice a http/80 : 10.244.1.1@n7=leaving", "mode=all",
     "n1: NODE_MODE=all: every eligible node reaches the Service's 1 terminating endpoint (slice a); nodePort 30080 of "
     "its "
     "port http"},
};

TEST_EACH(every_reason, array_len(reasons))
{
    struct mapping_text m;
    struct desired d;
    cleanup(buf_fini) struct buf b = {0};
    text_mapping(&m, reasons[_i].objects, reasons[_i].settings);
    desired_compute(&m.in, &d);
    for (size_t i = 0; i < d.server_count; i++) {
        cleanup(mem_free_ptr) char *reason = desired_server_reason(&d, &d.servers[i]);
        buf_printf(&b, "%s%s: %s", i > 0 ? "\n" : "", d.servers[i].name, reason);
    }
    ck_assert_str_eq(buf_str(&b), reasons[_i].reasons);
    desired_fini(&d);
    text_mapping_close(&m);
}

/* ---- which source ---- */

TEST(not_synced_says_what_is_missing)
{
    static const struct {
        bool nodes, slices, endpoints, service, denied;
        const char *problem;
    } cases[] = {
        {.problem = "Nodes, EndpointSlices (or Endpoints) and the Service not read completely yet"},
        {.denied = true, .problem = "Nodes and EndpointSlices (or Endpoints) not read completely yet"},
        {.slices = true, .denied = true, .problem = "Nodes not read completely yet"},
        {.endpoints = true, .service = true, .problem = "Nodes not read completely yet"},
        {.nodes = true, .denied = true, .problem = "EndpointSlices (or Endpoints) not read completely yet"},
        {.nodes = true, .slices = true, .problem = "the Service not read completely yet"},
        {.nodes = true, .endpoints = true, .problem = "the Service not read completely yet"},
        {.slices = true, .problem = "Nodes and the Service not read completely yet"},
    };
    for (size_t i = 0; i < array_len(cases); i++) {
        struct mapping_text m = {.rules = {.namespace = "ns", .service = "web", .fixed_port = 80},
                                 .caches = text_caches_new()};
        struct desired d;
        m.in = (struct desired_input){.caches = &m.caches, .rules = &m.rules, .service_denied = cases[i].denied};
        m.in.states = server_states_new();
        if (cases[i].nodes)
            text_sync(m.caches.nodes);
        if (cases[i].slices)
            text_sync(m.caches.slices);
        if (cases[i].endpoints)
            text_sync(m.caches.endpoints);
        if (cases[i].service)
            text_sync(m.caches.services);
        /* What came in so far is not all there is. */
        text_put_all(&m.caches, LOCAL "slice a http/80 : 10.0.0.1@n1");
        desired_compute(&m.in, &d);
        ck_assert_int_eq(d.state, DESIRED_NOT_SYNCED);
        ck_assert_uint_eq(d.server_count, 0);
        ck_assert_str_eq(d.problem, cases[i].problem);
        desired_fini(&d);
        text_mapping_close(&m);
    }
}

static void expect_servers(const struct mapping_text *m, enum desired_state state, const char *want)
{
    struct desired d;
    desired_compute(&m->in, &d);
    cleanup(mem_free_ptr) char *have = text_of_servers(&d);
    ck_assert_msg(d.state == state, "state %d, not %d: %s", d.state, state, d.problem != NULL ? d.problem : "");
    ck_assert((state == DESIRED_OK) == (d.problem == NULL));
    ck_assert_str_eq(have, want);
    desired_fini(&d);
}

TEST(endpoints_are_used_while_slices_are_not_synced)
{
    struct mapping_text m;
    text_mapping(&m, NODES "endpoints web http/80 : 10.0.0.1@n1 10.0.0.2@n2=no", "endpoints");
    expect_servers(&m, DESIRED_OK, "n1 10.0.0.1 80");
    text_put(&m.caches, "slice a http/80 : 10.0.0.3@n3");
    expect_servers(&m, DESIRED_OK, "n1 10.0.0.1 80");
    text_mapping_close(&m);
}

TEST(subsets_are_united)
{
    struct mapping_text m;
    text_mapping(&m, NODES "endpoints web http/80 : 10.0.0.1@n1 | http/8080 : 10.0.0.2@n2", "endpoints");
    expect_servers(&m, DESIRED_OK, "n1 10.0.0.1 80; n2 10.0.0.2 8080");
    text_put(&m.caches, "endpoints web http/80 : 10.0.0.1@n1 | https/443 : 10.0.0.2@n2");
    expect_servers(&m, DESIRED_UNDECIDED, "");
    text_mapping_close(&m);
}

TEST(synced_slices_win_even_when_empty)
{
    struct mapping_text m;
    text_mapping(&m, NODES "endpoints web http/80 : 10.0.0.1@n1", "endpoints");
    text_sync(m.caches.slices);
    expect_servers(&m, DESIRED_EMPTY, "");
    text_put(&m.caches, "slice a http/80 : 10.0.0.2@n2");
    expect_servers(&m, DESIRED_OK, "n2 10.0.0.2 80");
    cache_forget(m.caches.slices);
    expect_servers(&m, DESIRED_OK, "n1 10.0.0.1 80");
    text_mapping_close(&m);
}

/* One cache for all nodes, whatever the Service. */
TEST(nodes_in_a_cache_of_their_own)
{
    struct mapping_text m;
    struct object_caches all = text_caches_new(), of_service;
    text_mapping(&m, "service web NodePort Local http/80/30080\nnode n1 10.9.0.1\nslice a http/80 : 10.0.0.1@n1", "");
    of_service = m.caches;
    of_service.nodes = all.nodes;
    m.in.caches = &of_service;
    expect_servers(&m, DESIRED_NOT_SYNCED, "");
    text_sync(all.nodes);
    text_put(&all, "node n1 10.0.0.1");
    expect_servers(&m, DESIRED_OK, "n1 10.0.0.1 30080");
    text_caches_free(&all);
    text_mapping_close(&m);
}

TEST(only_the_service_of_that_name)
{
    struct mapping_text m;
    text_mapping(&m, "service other NodePort Local http/80/30081\n" NODES "slice a http/80 : 10.0.0.1@n1", "");
    expect_servers(&m, DESIRED_OK, "n1 10.0.0.1 80");
    text_put(&m.caches, "service web NodePort Local http/80/30080");
    expect_servers(&m, DESIRED_OK, "n1 10.0.0.1 30080");
    m.in.service_denied = true; /* from now on: the last that was known stays, as long as the cache has it */
    expect_servers(&m, DESIRED_OK, "n1 10.0.0.1 30080");
    cache_forget(m.caches.services);
    expect_servers(&m, DESIRED_OK, "n1 10.0.0.1 80");
    text_mapping_close(&m);
}

/* ---- names, equality, looking up ---- */

TEST(server_names)
{
    static const struct {
        const char *node, *server;
    } cases[] = {
        {"n1", "n1"},
        {"ip-10-0-0-1.eu-central-1.compute.internal", "ip-10-0-0-1.eu-central-1.compute.internal"},
        {"UPPER_case:9", "UPPER_case:9"},
        {"fd00::1", "fd00::1"},
        {"", "_"},
        {"a b\tc\nd", "a_b_c_d"},
        {"/#\"'\\$%{}@,;=*?", "_______________"},
        {"\x01\x7f", "__"},
        {"n\xc3\xa9", "n__"},
    };
    for (size_t i = 0; i < array_len(cases); i++) {
        cleanup(mem_free_ptr) char *name = desired_server_name(cases[i].node);
        ck_assert_str_eq(name, cases[i].server);
    }
}

TEST(equality_and_copies)
{
    static const struct {
        const char *objects, *settings;
    } states[] = {
        {NODES "slice a http/80 : 10.0.0.1@n1", ""},
        {NODES "slice a http/80 : 10.0.0.1@n1 10.0.0.2@n2", ""},
        {NODES "slice a http/80 : 10.0.0.1@n1=leaving 10.0.0.2@n2", ""},
        {NODES "slice a http/80 : 10.0.0.2@n2", ""},
        {NODES "slice a http/80 : 10.0.0.2@n2", "weights=equal"},
        {NODES "slice a http/80 : 10.0.0.2@n2", "weights=endpoints"},
        {NODES "slice a http/81 : 10.0.0.1@n1", ""},
        {"node n1 10.9.0.1\nslice a http/80 : 10.9.0.1@n1", ""},
        {NODES "slice a http/80 : 10.0.0.1@n1=no", ""},
        {NODES "slice a http/80 : 10.0.0.1@n1=no 10.0.0.2@n2=no", ""},
        {NODES "slice a http/80 https/443 : 10.0.0.1@n1", ""},
        {BALANCED "slice a http/80 : 10.0.0.1@n1", ""},
        {BALANCED "slice a http/80 : 10.0.0.1@n1", "check"},
        {"service web NodePort Local http/80/30080 paused\n" NODES "slice a http/80 : 10.0.0.1@n1", ""},
    };
    struct desired d[array_len(states)], copy;
    for (size_t i = 0; i < array_len(states); i++) {
        struct mapping_text m;
        text_mapping(&m, states[i].objects, states[i].settings);
        desired_compute(&m.in, &d[i]);
        text_mapping_close(&m);
    }
    for (size_t i = 0; i < array_len(states); i++) {
        desired_copy(&copy, &d[i]);
        for (size_t j = 0; j < array_len(states); j++)
            ck_assert_msg(desired_eq(&copy, &d[j]) == (i == j), "%zu and %zu", i, j);
        ck_assert_uint_eq(copy.endpoint_count, d[i].endpoint_count);
        ck_assert(str_eq(copy.note, d[i].note));
        ck_assert_uint_eq(copy.skip_count, d[i].skip_count);
        for (size_t k = 0; k < copy.server_count; k++) {
            cleanup(mem_free_ptr) char *is = desired_server_reason(&copy, &copy.servers[k]),
                                       *was = desired_server_reason(&d[i], &d[i].servers[k]);
            ck_assert_str_eq(is, was);
        }
        desired_fini(&copy);
    }
    for (size_t i = 0; i < array_len(states); i++)
        desired_fini(&d[i]);
    d[0] = (struct desired){.state = DESIRED_EMPTY};
    d[1] = (struct desired){.state = DESIRED_NOT_SYNCED};
    ck_assert(!desired_eq(&d[0], &d[1]));
}

/* Only other reasons: nothing for HAProxy to know. */
TEST(other_reasons_are_no_difference)
{
    struct mapping_text m;
    struct desired a, b;
    text_mapping(&m, LOCAL "slice a http/80 : 10.0.0.1@n1 10.0.0.2@n2=no", "mode=all");
    desired_compute(&m.in, &a);
    text_put(&m.caches, "slice a http/80 : 10.0.0.1@n1 10.0.0.8@n1 10.0.0.2@n2=gone");
    m.rules.node_mode = NODE_MODE_ENDPOINTS;
    desired_compute(&m.in, &b);
    cleanup(mem_free_ptr) char *in_a = desired_server_reason(&a, &a.servers[0]),
                               *in_b = desired_server_reason(&b, &b.servers[0]),
                               *out_a = desired_skip_reason(&a, &a.skips[0]),
                               *out_b = desired_skip_reason(&b, &b.skips[0]);
    ck_assert_str_ne(in_a, in_b);
    ck_assert_str_ne(out_a, out_b);
    ck_assert(a.note != NULL && b.note == NULL);
    ck_assert(desired_eq(&a, &b));
    b.due_ms = 7;
    ck_assert(desired_eq(&a, &b));
    desired_fini(&a);
    desired_fini(&b);
    text_mapping_close(&m);
}

static void expect_out(const struct desired *d, const char *server, const char *text)
{
    cleanup(mem_free_ptr) char *reason = desired_skip_reason(d, desired_why_out(d, server));
    ck_assert_str_eq(reason, text);
}

TEST(looking_up)
{
    struct mapping_text m;
    struct desired d;
    text_mapping(&m,
                 NODES "node n4 10.0.0.4 !excluded\nnode a/b 10.0.1.1\nnode a#b 10.0.1.2 !excluded\nnode n5 10.0.0.5\n"
                       "slice a http/80 : 10.0.0.1@n1 10.0.0.2@n2=no 10.0.0.3@n3 10.0.0.4@n4 10.0.0.7@n7 10.9.9.9=no "
                       "10.0.1.1@a/b=no 10.0.1.2@a#b=no",
                 "");
    desired_compute(&m.in, &d);
    ck_assert_str_eq(desired_find(&d, "n3")->address, "10.0.0.3");
    ck_assert_ptr_eq(desired_find(&d, "n1"), &d.servers[0]);
    ck_assert_ptr_null(desired_find(&d, "n2"));
    ck_assert_ptr_null(desired_find(&d, ""));
    ck_assert_ptr_null(desired_why_out(&d, "n1"));
    ck_assert_ptr_null(desired_why_out(&d, "n5")); /* it has no endpoint, and nobody remembers one */
    expect_out(&d, "n2", "it is not ready (on node n2)");
    cleanup(mem_free_ptr) char *subject = desired_skip_subject(&d, desired_why_out(&d, "n4"));
    ck_assert_str_eq(subject, "node n4");
    ck_assert(desired_why_out(&d, "n4")->announced);
    expect_out(&d, "n7", "its node n7 is not known");
    expect_out(&d, "10.9.9.9", "it is not ready");
    ck_assert(desired_why_out(&d, "a_b")->announced); /* of the one name, what was announced was for both */
    static const char *const names[] = {"", "10.9.9.9", "a_b", "n1", "n2", "n3", "n4", "n5", "n7", "n9"};
    struct desired_outs outs;
    desired_outs_init(&outs, &d);
    for (size_t i = 0; i < array_len(names); i++)
        ck_assert_ptr_eq(desired_outs_find(&outs, names[i]), desired_why_out(&d, names[i]));
    for (size_t i = 1; i < outs.count; i++)
        ck_assert_int_le(strcmp(outs.list[i - 1]->server, outs.list[i]->server), 0);
    desired_outs_fini(&outs);
    desired_fini(&d);
    ck_assert_ptr_null(desired_find(&d, "n1"));
    ck_assert_ptr_null(desired_why_out(&d, "n1"));
    text_mapping_close(&m);
}

/* Several places may have one server name: what is worth a warning is reported. */
TEST(of_several_reasons_the_one_to_warn_of)
{
    struct desired_skip skips[] = {{.server = (char[]){"n2"}, .ordinary = true},
                                   {.server = NULL},
                                   {.server = (char[]){"n1"}, .ordinary = true},
                                   {.server = (char[]){"n1"}},
                                   {.server = (char[]){"n1"}}};
    const struct desired d = {.skips = skips, .skip_count = array_len(skips)};
    struct desired_outs outs;
    desired_outs_init(&outs, &d);
    ck_assert_uint_eq(outs.count, 4);
    ck_assert_ptr_eq(desired_why_out(&d, "n1"), &skips[3]);
    ck_assert_ptr_eq(desired_outs_find(&outs, "n1"), &skips[3]);
    ck_assert_ptr_eq(desired_outs_find(&outs, "n2"), &skips[0]);
    ck_assert_ptr_null(desired_outs_find(&outs, "n0"));
    ck_assert_ptr_null(desired_outs_find(&outs, "n3"));
    desired_outs_fini(&outs);
}

/* ---- many ---- */

static void put_ready(struct mapping_text *m, const char *first, unsigned count)
{
    cleanup(buf_fini) struct buf line = {0};
    buf_add(&line, first);
    for (unsigned e = 0; e < count; e++)
        buf_printf(&line, " 10.244.%u.%u@n1", e / 250, e % 250);
    text_put(&m->caches, buf_str(&line));
}

TEST(weights_have_haproxys_limit)
{
    struct mapping_text m;
    text_mapping(&m, LOCAL, "weights=endpoints");
    put_ready(&m, "slice a http/80 :", 255);
    expect_servers(&m, DESIRED_OK, "n1 10.0.0.1 30080 w255");
    put_ready(&m, "slice a http/80 :", 256);
    expect_servers(&m, DESIRED_OK, "n1 10.0.0.1 30080 w256");
    put_ready(&m, "slice a http/80 :", 257);
    expect_servers(&m, DESIRED_OK, "n1 10.0.0.1 30080 w256");
    put_ready(&m, "slice b http/80 : 10.244.0.1@n1", 900);
    expect_servers(&m, DESIRED_OK, "n1 10.0.0.1 30080 w256");
    text_mapping_close(&m);
}

TEST(many_endpoints)
{
    struct mapping_text m;
    struct desired d;
    cleanup(buf_fini) struct buf line = {0};
    text_mapping(&m, "", "port=30080");
    for (unsigned n = 0; n < 2000; n++) {
        buf_clear(&line);
        buf_printf(&line, "node worker-%04u.example.internal 10.1.%u.%u", n, n / 200, n % 200);
        text_put(&m.caches, buf_str(&line));
    }
    for (unsigned s = 0; s < 200; s++) {
        buf_clear(&line);
        buf_printf(&line, "slice web-%03u http/80 : 10.9.%u.1", s, s);
        for (unsigned e = 0; e < 100; e++)
            buf_printf(&line, " 10.244.%u.%u@worker-%04u.example.internal", s, e, (s * 100 + e) % 2000);
        text_put(&m.caches, buf_str(&line));
    }
    desired_compute(&m.in, &d);
    ck_assert_uint_eq(d.endpoint_count, 20200);
    ck_assert_uint_eq(d.server_count, 2200);
    ck_assert_str_eq(d.servers[2199].name, "worker-1999.example.internal");
    cleanup(mem_free_ptr) char *reason = desired_server_reason(&d, &d.servers[2199]);
    ck_assert_str_eq(
        reason, "10 ready endpoints on node worker-1999.example.internal (slices web-019, web-039 and more); the port "
                "of HAPROXY_BACKEND_PORT");
    desired_fini(&d);
    text_mapping_close(&m);
}

TEST(every_endpoint_a_place_of_its_own)
{
    struct mapping_text m;
    struct desired d;
    cleanup(buf_fini) struct buf line = {0};
    text_mapping(&m, "", "");
    buf_add(&line, "slice a http/80 :");
    for (unsigned e = 0; e < 3000; e++)
        buf_printf(&line, " 10.9.%u.%u", e / 250, e % 250);
    text_put(&m.caches, buf_str(&line));
    desired_compute(&m.in, &d);
    ck_assert_uint_eq(d.server_count, 3000);
    desired_fini(&d);
    text_mapping_close(&m);
}

/* src/daemon/inspect/inspect: what the daemon answers to `plan`. The world is engine_world.h's. */
#include "../../engine_world.h"

#include "daemon/inspect/inspect.h"
#include "haproxy/instance_internal.h"
#include "servers/servers_internal.h"
#include "settings/settings.h"

static char be[] = "be", ns[] = "ingress", web[] = "web", https[] = "https", url[] = "http://lb1:5555";
static struct settings_mapping mapping = {.namespace = ns, .service = web, .port = https, .backend = be};
static struct settings_dataplane dataplane = {.url = url};
static struct settings settings;
static struct mapping list[1];
static const struct mappings mappings = {.list = list, .count = 1};
static struct mapping_state states[1];
static struct servers_backend *s;
static struct buf answered;

/* ---- in place of daemon/targets */

size_t targets_count(const struct targets *t)
{
    return 1;
}

const struct target *targets_at(const struct targets *t, size_t i)
{
    static struct target target;
    target = (struct target){.instance = w.target.instance, .servers = w.target.servers};
    return &target;
}

static void setup(void)
{
    world_make_updates();
    set_copy(w.have.of[0], "n1 n2");
    w.file = w.running = w.have;
    instance_start(w.target.instance);
    desired("n1 n2", "the first list");
    pass(0);
    s = &w.target.servers->backends[0];
    settings =
        (struct settings){.mappings = &mapping, .mapping_count = 1, .dataplanes = &dataplane, .dataplane_count = 1};
    list[0] = (struct mapping){.backend = be, .rules = {.namespace = ns, .service = web}};
    states[0] = (struct mapping_state){.mapping = list, .last = s->by_node};
}

static void teardown(void)
{
    buf_fini(&answered);
    world_end();
}

static const char *ask(bool leads, const char *query)
{
    static int targets;
    const struct inspect_of of = {.settings = &settings,
                                  .mappings = &mappings,
                                  .targets = leads ? (const struct targets *)&targets : NULL,
                                  .rules = &w.options.servers.rules};
    buf_fini(&answered);
    inspect_answer(&of, states, query, &answered);
    return buf_str(&answered);
}

#define TEXT "text,100,0,100,0,http://d:1"

static void expect(const char *part)
{
    ck_assert_msg(strstr(buf_str(&answered), part) != NULL, "%s is not in %s", part, buf_str(&answered));
}

FIXTURE(setup, teardown)

TEST(nothing_to_do)
{
    ask(true, TEXT);
    expect("{\"why\":null,\"settings\":\"backends= be ingress/web:https\\nHAProxies= http://lb1:5555\\nsettings (");
    expect("\"status\":0,\"out\":\"daemon at http://d:1: its memory is used\\n\\nbackend be  <-  ");
    expect("in sync: 2 servers\\n\",\"problems\":\"\"}");
    ask(true, "json,100,0,100,0,http://d:1");
    expect("\\\"in_sync\\\": true");
    expect("\\\"url\\\": \\\"http://d:1\\\"");
    ask(true, "text,100,1,100,1,http://d:1");
    expect("\\u001B[");
}

TEST(it_cannot)
{
    ck_assert_str_eq(ask(false, TEXT), "{\"why\":\"it is not the leader\"}");
    states[0].last = NULL;
    ck_assert_str_eq(ask(true, TEXT), "{\"why\":\"it has not read everything yet\"}");
    states[0].last = s->by_node;
    fault((struct fault){.step = 'w'});
    instance_refresh(w.target.instance);
    pass(1000);
    ck_assert_str_eq(ask(true, TEXT), "{\"why\":\"it has not read everything yet\"}");
}

TEST(what_it_would_do)
{
    s->pause.until_ms = clock_mono_ms() + 60000;
    s->last.reverted_how = mem_strdup("n1 was put back");
    desired("n1", "n2 has left");
    states[0].last = s->by_node;
    ask(true, TEXT);
    expect("\"status\":2,");
    expect("not written: ");
    expect("n1 was put back");
}

/* What the daemon has in hand is no matter of who asks. */
TEST(losses_are_not_reported_by_who_asks)
{
    const size_t before = s->loss_limit.count;
    w.options.servers.rules.max_loss_percent = 10;
    w.options.servers.rules.loss_window_ms = 30000;
    s->engine->options.rules.dry_run = true;
    desired("n1", "n2 has left");
    states[0].last = s->by_node;
    ask(true, TEXT);
    expect("removal delayed");
    ck_assert_uint_eq(s->loss_limit.count, before);
}

TEST(what_haproxy_rejected_it_is_asked_about_by_the_command)
{
    s->last.rejected_version = w.version;
    ask(true, TEXT);
    expect("\"status\":0,");
    error_set(&s->report.problem, ERROR_INVALID, "HAProxy rejected the change: line 7");
    ck_assert_str_eq(ask(true, TEXT), "{\"why\":\"HAProxy rejected its change, and is asked again here\"}");
}

/* ---- a command's controller */

/* HAProxy is to validate what would come of the file; and only a preview shows what the API would make of it. */
TEST(a_dry_run_previews_and_keeps_the_file)
{
    w.options.instance.dry = w.options.servers.rules.dry_run = true;
    w.shows_looks = true;
    start_again();
    w.target.instance->large_file_bytes = 1; /* a daemon keeps none such */
    s = &w.target.servers->backends[0];
    buf_fini(&w.trace);
    desired("n1", "n2 has left");
    pass(0);
    ck_assert_msg(strchr(buf_str(&w.trace), '(') != NULL, "%s", buf_str(&w.trace));
    ck_assert_ptr_nonnull(instance_file(w.target.instance));
    assert_running("n1 n2");
    states[0].last = s->by_node;
    ask(true, TEXT);
    expect("1 to park; without a reload");
}

/* ---- whose plan it is */

static void differs(void (*with)(struct settings *of), bool should)
{
    cleanup(buf_fini) struct buf one = {0}, two = {0};
    struct settings other = settings;
    inspect_print_settings(&settings, &one);
    with(&other);
    inspect_print_settings(&other, &two);
    ck_assert(str_eq(buf_str(&one), buf_str(&two)) != should);
}

static void other_backends(struct settings *of)
{
    static struct settings_mapping another = {.namespace = ns, .service = web, .backend = be};
    of->mappings = &another;
}

static void other_dry_run(struct settings *of)
{
    of->dry_run = true;
}

static void other_family(struct settings *of)
{
    of->nodes.family = IP_FAMILY_IPV6;
}

static void other_resync(struct settings *of)
{
    of->resync_period_ms = 77000;
}

static void other_cluster(struct settings *of)
{
    of->cluster_name = be;
}

static void other_haproxies(struct settings *of)
{
    of->dataplane_count = 0;
}

static void other_log(struct settings *of)
{
    of->leader_elect = !of->leader_elect;
    of->listen.port = 7;
}

TEST(settings_that_decide)
{
    differs(other_backends, true);
    differs(other_haproxies, true);
    differs(other_family, true);
    differs(other_dry_run, true);
    differs(other_resync, true);
    differs(other_cluster, true);
    differs(other_log, false);
}

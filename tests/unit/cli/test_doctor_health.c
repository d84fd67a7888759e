/* cli/doctor/doctor_backend: which servers are down, what their checks say, and what usually causes that. */
#include "cli/doctor/doctor_parts.h"

#include "daemon/inspect/inspect_report.h"
#include "doctor_text.h"
#include "haproxy/served.h"

#define SERVERS 8

static struct desired_server wanted[SERVERS];
static struct runtime_server running[SERVERS];
static char names[SERVERS][24];
static struct desired desired;
static struct inspect_mapping mapping = {.backend = "be"};
static struct inspect_backend backend;
static struct served served;
static struct doctored d;

/* So many, all down; what their checks say is added by the tests. */
static void begin_with(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        snprintf(names[i], sizeof(names[i]), "n%zu", i + 1);
        wanted[i] = (struct desired_server){.name = names[i], .state = SERVER_LIVE};
        running[i] = (struct runtime_server){.name = names[i], .address = "10.0.0.1", .port = 30443, .down = true};
    }
    desired = (struct desired){.servers = wanted, .server_count = count};
    backend = (struct inspect_backend){
        .of = &mapping, .desired = &desired, .runtime = {.readable = true, .servers = running, .count = count}};
    d = doctored_new();
}

static void end(void)
{
    served_fini(&served);
    doctored_fini(&d);
}

static const struct {
    const char *check, *detail, *cause;
} rows[] = {
    {"L4TOUT", "", "L4TOUT: the node does not answer: a firewall"},
    {"L4CON", "Connection refused", "L4CON: the node answers, but nothing listens at that port"},
    {"L4CON", "", "externalTrafficPolicy Local"},
    {"L4CON", "No route to host", "a firewall rejects the connection"},
    {"L6RSP", "", "the port speaks no TLS"},
    {"L7STS", "404", "another status than it expects"},
    {"L7TOUT", "", "it may wait for the PROXY protocol"},
    {"L7RSP", "", "only one side uses the PROXY protocol"},
    {"SOCKERR", "", "no socket for its checks"},
    {"NEW", "", "the node's port does not answer HAProxy, or not this kind of check"},
};

TEST_EACH(each_result_has_its_cause, array_len(rows))
{
    begin_with(1);
    served_add_server(&served, "be", "n1", "DOWN", rows[_i].check, rows[_i].detail);
    doctor_health_report(&backend, &served, NULL, d.section);
    expect_mark(&d, "backend.health", CHECK_WARN);
    expect_text(&d, "1 of 1 desired servers are DOWN in HAProxy: n1 (");
    expect_text(&d, rows[_i].check);
    expect_text(&d, rows[_i].detail);
    expect_text(&d, rows[_i].cause);
    expect_text(&d, "nc -zv -w 2 10.0.0.1 30443");
    end();
}

TEST(a_few_names_and_each_cause_once)
{
    begin_with(SERVERS);
    for (size_t i = 0; i < SERVERS; i++)
        served_add_server(&served, i < 7 ? "be" : "other", names[i], "DOWN", i % 2 == 0 ? "L4TOUT" : "L4CON", "");
    doctor_health_report(&backend, &served, "/run/h.sock", d.section);
    expect_text(&d, "8 of 8 desired servers are DOWN in HAProxy: n1 (L4TOUT), n2 (L4CON), n3 (L4TOUT), n4 (L4CON), n5 "
                    "(L4TOUT) and 3 more");
    expect_text(&d, "L4TOUT: the node does not answer");
    expect_text(&d, "; L4CON: the node answers");
    expect_text(&d, "socat stdio /run/h.sock");
    end();
}

TEST(those_that_are_not_searched_for)
{
    begin_with(4);
    wanted[0].state = SERVER_DRAINING;
    running[1].down = false;
    running[2].admin = RUNTIME_MAINT;
    doctor_health_report(&backend, NULL, NULL, d.section);
    expect_text(&d, "1 of 3 desired servers are DOWN in HAProxy: n4\n");
    expect_text(&d, "or only one side uses the PROXY protocol");
    end();
}

TEST(all_are_up)
{
    begin_with(2);
    running[0].down = running[1].down = false;
    doctor_health_report(&backend, &served, NULL, d.section);
    expect_mark(&d, "backend.health", CHECK_OK);
    expect_text(&d, "2 of 2 desired servers are UP in HAProxy");
    end();
}

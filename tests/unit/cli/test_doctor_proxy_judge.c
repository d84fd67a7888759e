/* cli/doctor/doctor_proxy: what HAProxy sends, compared with what the nodes expect. */
#include <errno.h>

#include "cli/doctor/doctor_proxy.h"
#include "daemon/inspect/inspect_report.h"

#include "../settings_text.h"
#include "doctor_text.h"

static const struct {
    const char *setting, *default_server; /* NULL: the backend was not seen */
    enum doctor_sends sends;
} sendings[] = {
    {"false", "", DOCTOR_SENDS_NOTHING},
    {"false", "{\"send-proxy-v2\":\"disabled\"}", DOCTOR_SENDS_NOTHING},
    {"false", "{\"send-proxy-v2\":\"enabled\"}", DOCTOR_SENDS_BY_FILE},
    {"false", "{\"send_proxy_v2_ssl\":\"enabled\"}", DOCTOR_SENDS_BY_FILE},
    {"false", NULL, DOCTOR_SENDS_NOTHING},
    {"true", "", DOCTOR_SENDS_BY_SETTING},
    {"true", "{\"send-proxy-v2\":\"enabled\"}", DOCTOR_SENDS_BY_SETTING},
};

TEST_EACH(what_is_sent, array_len(sendings))
{
    cleanup(mem_free_ptr) char *setting = mem_printf("HAPROXY_SEND_PROXY_V2=%s", sendings[_i].setting);
    cleanup(parsed_fini) struct parsed p = parse(LOGIN, setting);
    const char *line = sendings[_i].default_server;
    bool some = line != NULL && line[0] != '\0';
    struct inspect_backend b = {.seen = line != NULL};
    b.actual.json = mem_printf("{\"name\":\"be\"%s%s}", some ? ",\"default_server\":" : "", some ? line : "");
    ck_assert_int_eq(doctor_proxy_sends(&b, &p.settings), sendings[_i].sends);
    free(b.actual.json);
}

static struct proxy_replies replies(enum proxy_verdict v)
{
    struct proxy_replies r = {.plain = {PROXY_REPLY_CLOSED, PROXY_REPLY_CLOSED},
                              .headed = {PROXY_REPLY_CLOSED, PROXY_REPLY_CLOSED}};
    if (v == PROXY_UNREACHED)
        return (struct proxy_replies){0};
    if (v == PROXY_WANTED || v == PROXY_EITHER)
        r.headed[PROXY_TALK_TLS] = PROXY_REPLY_SPOKE;
    if (v == PROXY_UNWANTED || v == PROXY_EITHER)
        r.plain[PROXY_TALK_TLS] = PROXY_REPLY_SPOKE;
    ck_assert_int_eq(proxy_talk_judge(&r), v);
    return r;
}

/* u: unreached, ?: unknown, +: required, -: refused, *: either; one for each node */
static size_t places_of(const char *nodes, struct doctor_place *ret)
{
    static const char *const names[] = {"n1", "n2", "n3"};
    static const struct {
        char letter;
        enum proxy_verdict verdict;
    } letters[] = {
        {'u', PROXY_UNREACHED}, {'?', PROXY_UNKNOWN}, {'+', PROXY_WANTED}, {'-', PROXY_UNWANTED}, {'*', PROXY_EITHER}};
    size_t count = strlen(nodes);
    for (size_t i = 0; i < count; i++) {
        ret[i] = (struct doctor_place){.name = names[i], .address = i == 2 ? "fd00::3" : "10.0.0.1", .port = 30443};
        for (size_t k = 0; k < array_len(letters); k++)
            if (letters[k].letter == nodes[i])
                ret[i].replies = replies(letters[k].verdict);
        ret[i].os_error = nodes[i] == 'u' ? ECONNREFUSED : 0;
    }
    return count;
}

static const struct {
    const char *nodes;
    enum doctor_sends sends;
    enum check_state mark;
    const char *says;
} rows[] = {
    {"-", DOCTOR_SENDS_NOTHING, CHECK_OK,
     "do not expect it, which fits: n1 at 10.0.0.1:30443, without a PROXY header it answers TLS"},
    {"+", DOCTOR_SENDS_BY_SETTING, CHECK_OK, "expect it, which fits"},
    {"+", DOCTOR_SENDS_NOTHING, CHECK_FAIL, "HAPROXY_SEND_PROXY_V2=true\n"},
    {"+", DOCTOR_SENDS_NOTHING, CHECK_FAIL, "\"use-proxy-protocol\":\"false\""},
    {"-", DOCTOR_SENDS_BY_SETTING, CHECK_FAIL, "HAPROXY_SEND_PROXY_V2=false\n  and remove send-proxy-v2 from"},
    {"-", DOCTOR_SENDS_BY_FILE, CHECK_FAIL, "  fix remove send-proxy-v2 from"},
    {"-", DOCTOR_SENDS_BY_FILE, CHECK_FAIL, "\"use-proxy-protocol\":\"true\""},
    {"*", DOCTOR_SENDS_NOTHING, CHECK_OK, "accept connections with it and without"},
    {"-+", DOCTOR_SENDS_NOTHING, CHECK_FAIL, "some expect the PROXY protocol and some do not"},
    {"*+", DOCTOR_SENDS_NOTHING, CHECK_FAIL, "expect the PROXY protocol, but HAProxy does not"},
    {"-*-", DOCTOR_SENDS_NOTHING, CHECK_OK, "do not expect it"},
    {"u?+", DOCTOR_SENDS_NOTHING, CHECK_FAIL, "n3 at [fd00::3]:30443, "},
    {"u+", DOCTOR_SENDS_BY_FILE, CHECK_OK, "expect it, which fits: n2 at 10.0.0.1:30443, without"},
    {"u+", DOCTOR_SENDS_BY_FILE, CHECK_OK, "warn not reached: n1 at 10.0.0.1:30443 (Connection refused)\n"},
    {"--", DOCTOR_SENDS_NOTHING, CHECK_OK, "(n2: the same)"},
    {"u", DOCTOR_SENDS_NOTHING, CHECK_WARN, "n1 at 10.0.0.1:30443 was not reached from here (Connection refused)"},
    {"uu", DOCTOR_SENDS_BY_FILE, CHECK_WARN, "and others were not reached"},
    {"u", DOCTOR_SENDS_NOTHING, CHECK_WARN, "nc -zv -w 2 10.0.0.1 30443\n"},
    {"?", DOCTOR_SENDS_NOTHING, CHECK_SKIP, "what they expect is unknown"},
    {"?", DOCTOR_SENDS_BY_SETTING, CHECK_WARN, "it is unknown whether they expect what HAProxy sends"},
    {"", DOCTOR_SENDS_BY_SETTING, CHECK_SKIP, "needs a server with an IP address"},
};

TEST_EACH(both_sides, array_len(rows))
{
    struct doctor_place places[DOCTOR_PLACES_MAX];
    cleanup(doctored_fini) struct doctored d = doctored_new();
    size_t count = places_of(rows[_i].nodes, places);
    struct doctor_expects e = doctor_proxy_expects(places, count);
    doctor_proxy_judge(&e, rows[_i].sends, places, count, d.section);
    size_t reached = 0;
    for (const char *at = rows[_i].nodes; *at != '\0'; at++)
        reached += *at != 'u';
    ck_assert_uint_eq(d.section->check_count, 1 + (reached > 0 ? count - reached : 0));
    expect_mark(&d, "proxy.nodes", rows[_i].mark);
    expect_text(&d, rows[_i].says);
}

static const struct {
    const char *mode, *json, *server_json;
    enum proxy_talk language;
    bool warns;
} modes[] = {
    {"tcp", "{}", "{}", PROXY_TALK_TLS, false},
    {"http", "{}", "{}", PROXY_TALK_HTTP, false},
    {"http", "{}", "{}", PROXY_TALKS, false},
    {"http", "{}", "{}", PROXY_TALK_TLS, true},
    {"http", "{\"default_server\":{\"ssl\":\"enabled\"}}", "{}", PROXY_TALK_TLS, false},
    {"http", "{}", "{\"ssl\":\"enabled\"}", PROXY_TALK_TLS, false},
};

TEST_EACH(mode_and_language, array_len(modes))
{
    cleanup(doctored_fini) struct doctored d = doctored_new();
    const struct desired desired = {.check_port = 0};
    const struct inspect_mapping m = {.backend = "be", .desired = &desired};
    char mode[8], json[64], server_json[64];
    snprintf(mode, sizeof(mode), "%s", modes[_i].mode);
    snprintf(json, sizeof(json), "%s", modes[_i].json);
    snprintf(server_json, sizeof(server_json), "%s", modes[_i].server_json);
    struct backend_server server = {.json = server_json};
    const struct inspect_backend b = {.of = &m,
                                      .desired = &desired,
                                      .seen = true,
                                      .actual = {.mode = mode, .json = json, .servers = &server, .server_count = 1}};
    const struct doctor_expects e = {.language = modes[_i].language};
    doctor_proxy_judge_mode(&e, &b, d.section);
    ck_assert_uint_eq(d.section->check_count, modes[_i].warns);
    if (modes[_i].warns)
        expect_text(&d, "backend be\n  mode tcp\n");
}

static const struct {
    const char *json;
    uint16_t health_port, check_port; /* of the Service; named on the server's line */
    enum doctor_sends sends;
    enum proxy_verdict verdict;
    const char *says; /* NULL: nothing */
} checks[] = {
    {"{}", 0, 0, DOCTOR_SENDS_BY_SETTING, PROXY_WANTED, NULL},
    {"{}", 32100, 32100, DOCTOR_SENDS_BY_SETTING, PROXY_WANTED, NULL},
    {"{\"default_server\":{\"check-send-proxy\":\"enabled\"}}", 32100, 32100, DOCTOR_SENDS_BY_SETTING, PROXY_WANTED,
     "to port 32100, which is kube-proxy's own"},
    {"{}", 0, 30443, DOCTOR_SENDS_BY_SETTING, PROXY_WANTED, "because the server line names their port"},
    {"{}", 0, 30443, DOCTOR_SENDS_BY_SETTING, PROXY_EITHER, NULL},
    {"{\"default_server\":{\"check-send-proxy\":\"enabled\"}}", 0, 30443, DOCTOR_SENDS_BY_SETTING, PROXY_WANTED, NULL},
};

TEST_EACH(health_checks, array_len(checks))
{
    cleanup(doctored_fini) struct doctored d = doctored_new();
    const struct desired desired = {.check_port = checks[_i].health_port};
    const struct inspect_mapping m = {.backend = "be", .desired = &desired};
    char json[64];
    snprintf(json, sizeof(json), "%s", checks[_i].json);
    struct backend_server server = {.port = 30443, .check_port = checks[_i].check_port};
    const struct inspect_backend b = {
        .of = &m, .desired = &desired, .seen = true, .actual = {.json = json, .servers = &server, .server_count = 1}};
    const struct doctor_expects e = {.verdict = checks[_i].verdict};
    doctor_proxy_judge_checks(&e, checks[_i].sends, &b, d.section);
    ck_assert_uint_eq(d.section->check_count, checks[_i].says != NULL);
    if (checks[_i].says != NULL)
        expect_text(&d, checks[_i].says);
}

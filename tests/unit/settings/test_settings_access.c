/* How the APIs are reached, who acts, what the process may do, and what goes together. */

#include "settings/settings.h"
#include "../settings_text.h"

#define HTTPS "HAPROXY_DATAPLANE_URL=https://a:1"
#define A64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const char *const taken[] = {
    "HAPROXY_DATAPLANE_CA_FILE=/tls/ca.crt",
    "HAPROXY_DATAPLANE_SERVER_NAME=lb-1.example.com",
    "HAPROXY_DATAPLANE_INSECURE=true",
    "LEADER_ELECT=true",
    "SECCOMP=true",
    "EMIT_EVENTS=true",
    "STATUS_PAGE=false",
};

/* Those that only an election needs. */
static const char *const of_the_lease[] = {
    "LEASE_NAME=a.b-c.0",
    "LEASE_NAME=" A64,
    "LEASE_NAMESPACE=kube-system",
};

static void assert_shown(const struct parsed *p, const char *setting)
{
    cleanup(buf_fini) struct buf out = {0};
    settings_print(&p->settings, &out);
    cleanup(mem_free_ptr) char *line = mem_printf("%s  # from the environment", setting);
    ck_assert_msg(strstr(buf_str(&out), line) != NULL, "%s", buf_str(&out));
}

TEST_EACH(is_taken, array_len(taken))
{
    cleanup(parsed_fini) struct parsed p = parse(LOGIN, HTTPS, taken[_i]);
    assert_silent(&p);
    assert_shown(&p, taken[_i]);
}

TEST_EACH(lease_is_taken, array_len(of_the_lease))
{
    cleanup(parsed_fini) struct parsed p = parse(LOGIN, HTTPS, "LEADER_ELECT=true", of_the_lease[_i]);
    assert_silent(&p);
    assert_shown(&p, of_the_lease[_i]);
}

/* What check-config prints can be taken as settings. */
TEST(default_lease_without_election)
{
    cleanup(parsed_fini) struct parsed p = parse(LOGIN, HTTPS, "LEASE_NAME=haproxy-k8s-sync");
    assert_silent(&p);
}

TEST_EACH(lease_without_election, array_len(of_the_lease))
{
    cleanup(parsed_fini) struct parsed p = parse(LOGIN, HTTPS, of_the_lease[_i]);
    ck_assert_int_eq(p.rc, 0);
    assert_says(&p, "have no effect without LEADER_ELECT=true");
    assert_shown(&p, of_the_lease[_i]);
}

/* What is said of one entry, where all else is right. */
static const struct {
    const char *entry, *says;
} refused[] = {
    {"HAPROXY_DATAPLANE_CA_FILE=-----BEGIN CERTIFICATE-----", "it must be the path of a file, not its content"},
    {"HAPROXY_DATAPLANE_SERVER_NAME=https://a", "the name alone, without a port or a path"},
    {"HAPROXY_DATAPLANE_SERVER_NAME=a b", "expected a host name"},
    {"SPIRE_AGENT_SOCKET=run/agent.sock", "it begins neither with '/' nor with unix:///"},
    {"SPIRE_AGENT_SOCKET=unix://run/agent.sock", "three slashes: unix:///run/..."},
    {"SPIRE_AGENT_SOCKET=/run/spire/", "that is a directory, not a socket"},
    {"SPIRE_AGENT_SOCKET=/" A64 A64, "the path of a unix socket has at most 107 bytes"},
    {"SPIFFE_PEER_ID=spiffe://Example/a", "its trust domain is not"},
    {"SPIFFE_PEER_ID=example.org/a", "it does not begin with spiffe://"},
    {"SPIFFE_PEER_ID=spiffe://example.org/a", "SPIFFE_PEER_ID is set and SPIRE_AGENT_SOCKET is not"},
    {"LEASE_NAME=a/b", "set the namespace in LEASE_NAMESPACE"},
    {"LEASE_NAME=A", "names in Kubernetes have no upper-case letters"},
    {"LEASE_NAME=a..b", "expected a Lease's name"},
    {"LEASE_NAME=" A64 A64 A64 A64, "it has 256 characters"},
    {"LEASE_NAMESPACE=a.b", "expected a namespace's name"},
    {"HAPROXY_DATAPLANE_CERT_FILE=/c", "HAPROXY_DATAPLANE_CERT_FILE needs HAPROXY_DATAPLANE_KEY_FILE beside it"},
    {"HAPROXY_DATAPLANE_KEY_FILE=/k", "HAPROXY_DATAPLANE_KEY_FILE needs HAPROXY_DATAPLANE_CERT_FILE beside it"},
};

TEST_EACH(is_refused, array_len(refused))
{
    cleanup(parsed_fini) struct parsed p = parse(LOGIN, HTTPS, refused[_i].entry);
    ck_assert_int_eq(p.rc, -1);
    assert_says(&p, refused[_i].says);
}

#define AGENT "SPIRE_AGENT_SOCKET=/run/agent.sock"

TEST(spiffe)
{
    cleanup(parsed_fini) struct parsed p =
        parse(LOGIN, HTTPS, "SPIRE_AGENT_SOCKET=unix:///run/agent.sock", "SPIFFE_PEER_ID=spiffe://example.org/a");
    assert_silent(&p);
    ck_assert_str_eq(p.settings.spire_socket, "unix:///run/agent.sock");
    ck_assert_str_eq(p.settings.spiffe_peer_id, "spiffe://example.org/a");
}

/* Both sides are who SPIFFE says: no file, no name, and no HAProxy without TLS. */
static const char *const not_beside_spiffe[] = {"HAPROXY_DATAPLANE_CA_FILE=/c", "HAPROXY_DATAPLANE_CERT_FILE=/c",
                                                "HAPROXY_DATAPLANE_KEY_FILE=/c", "HAPROXY_DATAPLANE_SERVER_NAME=a",
                                                "HAPROXY_DATAPLANE_INSECURE=true"};

TEST_EACH(spiffe_is_refused_beside_others, array_len(not_beside_spiffe))
{
    const char *entry = not_beside_spiffe[_i];
    cleanup(parsed_fini) struct parsed p = parse(LOGIN, HTTPS, AGENT, entry);
    cleanup(mem_free_ptr) char *says = mem_printf("error: %.*s is set beside SPIRE_AGENT_SOCKET: expected one of them",
                                                  (int)strcspn(entry, "="), entry);
    ck_assert_int_eq(p.rc, -1);
    assert_says(&p, says);
}

TEST(spiffe_needs_tls_of_all)
{
    static const char *const urls[] = {"HAPROXY_DATAPLANE_URL=http://a:1",
                                       "HAPROXY_DATAPLANE_URL=https://a:1,http://b:1",
                                       "HAPROXY_DATAPLANE_URL=https://a:1,unix:/b"};
    for (size_t i = 0; i < array_len(urls); i++) {
        cleanup(parsed_fini) struct parsed p = parse(LOGIN, urls[i], AGENT);
        ck_assert_int_eq(p.rc, -1);
        assert_says(&p, "error: SPIRE_AGENT_SOCKET is set, and not every HAProxy has an https URL");
    }
    cleanup(parsed_fini) struct parsed local =
        parse("HAPROXY_CONFIG_FILE=/h", "HAPROXY_MASTER_SOCKET=/m", "CONFIG_SOURCE=file", "CONFIG_FILE=/f", AGENT);
    assert_says(&local, "error: SPIRE_AGENT_SOCKET is set, and not every HAProxy has an https URL");
}

TEST(a_pair_is_taken)
{
    cleanup(parsed_fini) struct parsed p =
        parse(LOGIN, HTTPS, "HAPROXY_DATAPLANE_CERT_FILE=/c", "HAPROXY_DATAPLANE_KEY_FILE=/k");
    assert_silent(&p);
    ck_assert_str_eq(p.settings.dataplane_cert_file, "/c");
    ck_assert_str_eq(p.settings.dataplane_key_file, "/k");
}

TEST(by_default)
{
    cleanup(parsed_fini) struct parsed p = parse(LOGIN, HTTPS);
    assert_silent(&p);
    ck_assert(!p.settings.leader_elect && !p.settings.seccomp);
    ck_assert(!p.settings.dataplane_insecure);
    ck_assert_str_eq(p.settings.lease_name, "haproxy-k8s-sync");
    ck_assert_ptr_null(p.settings.lease_namespace);
    ck_assert_ptr_null(p.settings.dataplane_ca_file);
}

TEST(what_has_no_effect_is_a_warning)
{
    cleanup(parsed_fini) struct parsed p =
        parse(LOGIN, HTTPS, "HAPROXY_DATAPLANE_INSECURE=true", "HAPROXY_DATAPLANE_CA_FILE=/ca");
    ck_assert_int_eq(p.rc, 0);
    assert_says(
        &p,
        "warning: HAPROXY_DATAPLANE_INSECURE=true: nothing is verified, so HAPROXY_DATAPLANE_CA_FILE has no effect");
    cleanup(parsed_fini) struct parsed q =
        parse(LOGIN, "HAPROXY_DATAPLANE_URL=http://a:1,/run/b.sock", "HAPROXY_DATAPLANE_CA_FILE=/ca");
    ck_assert_int_eq(q.rc, 0);
    assert_says(&q, "there is no https URL in HAPROXY_DATAPLANE_URL");
    cleanup(parsed_fini) struct parsed r =
        parse(LOGIN, "HAPROXY_DATAPLANE_URL=http://a:1,https://b:1", "HAPROXY_DATAPLANE_CA_FILE=/ca");
    assert_silent(&r);
}

#include "cli/doctor/doctor_spiffe.h"

#include <stddef.h>

#include "base/rfc3339.h"
#include "net/spiffe.h"
#include "cli/doctor/doctor_report.h"

void doctor_spiffe_report(const struct spiffe *spiffe, struct doctor_section *s)
{
    static const char id[] = "spiffe.identity", label[] = "identity";
    const struct spiffe_state state = spiffe_state(spiffe);
    if (state.problem == NULL) {
        doctor_ok(s, "spiffe.agent", "Workload API", "answers");
    } else {
        struct doctor_check *c = doctor_fail(s, "spiffe.agent", "Workload API", "%s", state.problem);
        doctor_why(c, "without it there is no identity, and nothing is sent to the Data Plane API");
        doctor_fix(c, "see whether the agent runs, and ask it as this user",
                   "spire-agent api fetch x509 -socketPath %s", state.socket);
        doctor_fix(c, "see whether an entry is registered whose selectors match this process",
                   "spire-server entry show");
    }
    if (state.id == NULL) {
        doctor_skip(s, id, label, "needs the Workload API");
        return;
    }
    char end[RFC3339_BYTES];
    rfc3339_format(state.not_after_s * 1000000, 0, end);
    struct doctor_check *c = doctor_add(s, state.expired ? CHECK_FAIL : CHECK_OK, id, label, "%s %s %s", state.id,
                                        state.expired ? "expired at" : "until", end);
    if (state.expired)
        doctor_advice(c, "see the agent's log: it renews SVIDs by itself; or this machine's clock is wrong");
}

void doctor_spiffe_report_peer(const struct spiffe *spiffe, const char *url, struct doctor_section *s)
{
    static const char id[] = "haproxy.identity", label[] = "identity";
    const char *seen = spiffe_peer_seen(spiffe, url);
    if (seen == NULL)
        return;
    if (spiffe_state(spiffe).peer_id != NULL) {
        doctor_ok(s, id, label, "%s, as SPIFFE_PEER_ID has it", seen);
        return;
    }
    struct doctor_check *c = doctor_warn(s, id, label, "%s, which is not checked", seen);
    doctor_why(c, "whatever has an identity of the trust domain can pass for the Data Plane API");
    doctor_fix(c, "accept this one alone", "SPIFFE_PEER_ID=%s", seen);
}

#include "servers/desired/explain.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "servers/desired/desired_internal.h"

void explanation_fini(struct explanation *e)
{
    for (size_t i = 0; i < e->rule_count; i++)
        free(e->rules[i].text);
    mem_free_all(e->rules, e->server, e->verdict);
    *e = (struct explanation){.state = SERVER_OUT};
}

/* The rules in the order in which they decide. */
enum step {
    STEP_KNOWN,
    STEP_ELIGIBLE,
    STEP_ADDRESS,
    STEP_POLICY,
    STEP_ENDPOINTS,
    STEP_PORT,
    STEP_NAME,
    STEP_STATE,
    STEPS
};

static const char *const step_names[STEPS] = {"known",     "eligible", "address", "policy",
                                              "endpoints", "port",     "name",    "state"};

/* Where a place fails; STEPS: nowhere. */
static enum step failing_step(const struct run *r, const struct place *p)
{
    static const enum step steps[] = {
        [CAUSE_NONE] = STEPS,
        [CAUSE_UNKNOWN_NODE] = STEP_KNOWN,
        [CAUSE_EXCLUDED] = STEP_ELIGIBLE,
        [CAUSE_NO_ADDRESS] = STEP_ADDRESS,
        [CAUSE_NOT_IP] = STEP_ADDRESS,
        [CAUSE_FAMILY] = STEP_ADDRESS,
        [CAUSE_NOT_A_NODE] = STEP_POLICY,
        [CAUSE_NO_ENDPOINT] = STEP_ENDPOINTS,
        [CAUSE_NONE_USABLE] = STEP_ENDPOINTS,
        [CAUSE_UNSERVED] = STEP_ENDPOINTS,
        [CAUSE_NOT_READY] = STEP_ENDPOINTS,
        [CAUSE_TERMINATING] = STEP_ENDPOINTS,
        [CAUSE_OTHERS_READY] = STEP_PORT,
        [CAUSE_DRAINED] = STEP_STATE,
        [CAUSE_NO_PORT] = STEP_PORT,
        [CAUSE_OTHER_FAMILY] = STEP_PORT,
        [CAUSE_NOT_AT_NODE] = STEP_PORT,
        [CAUSE_NO_PORT_AT_ALL] = STEP_PORT,
        [CAUSE_NAME_TAKEN] = STEP_NAME,
        [CAUSE_SAME_SERVER] = STEP_NAME,
    };
    enum step step = steps[p->cause];
    /* Undecided for one is undecided for all. */
    return r->problem != NULL && step > STEP_PORT ? STEP_PORT : step;
}

/* ---- what is said of a rule that lets the place pass ---- */

static char *eligible(const struct place *p)
{
    const char *signs = "";
    if (!p->named)
        return mem_strdup("it has no node that could be excluded");
    if (p->node->not_ready && p->node->cordoned)
        signs = "; it is NotReady and cordoned, which does not exclude it: HAProxy's health check decides";
    else if (p->node->not_ready)
        signs = "; it is NotReady, which does not exclude it: HAProxy's health check decides";
    else if (p->node->cordoned)
        signs = "; it is cordoned, which does not exclude it: its pods keep serving";
    return mem_printf("no exclude label, no ToBeDeleted taint, not being deleted%s", signs);
}

static char *address(const struct run *r, const struct place *p)
{
    static const char *const names[] = {
        [NODE_INTERNAL_IP] = "InternalIP", [NODE_EXTERNAL_IP] = "ExternalIP", [NODE_HOSTNAME] = "Hostname"};
    if (!p->named)
        return mem_printf("%s, its own", p->name);
    cleanup(mem_free_ptr) char *wanted = node_rules_text(&r->rules->nodes, r->service, r->node_port);
    const char *type = "address";
    for (size_t i = 0; i < p->node->address_count; i++)
        if (p->node->addresses[i].text == p->address)
            type = names[p->node->addresses[i].type];
    return mem_printf("%s %s (required: %s)", type, p->address, wanted);
}

static char *policy(const struct run *r)
{
    const struct service *s = r->service;
    cleanup(mem_free_ptr) char *unknown = mem_printf("the Service %s", service_lack(r));
    const char *which = s == NULL                ? unknown
                        : s->local               ? "externalTrafficPolicy is Local"
                        : r->node_port || r->all ? "externalTrafficPolicy is Cluster"
                                                 : "the port is not a nodePort of the Service";
    return mem_printf("%s: %s (NODE_MODE is %s)", which,
                      r->all ? "every eligible node serves" : "nodes with usable endpoints serve",
                      r->rules->node_mode == NODE_MODE_ALL ? "all" : "endpoints");
}

static char *endpoints(const struct run *r, const struct place *p)
{
    if (p->by == NULL && r->all)
        return mem_printf("the Service has %u usable, reached from every node",
                          tally_count(r->ready.first != NULL ? &r->ready : &r->leaving));
    const struct tally *t = p->by != NULL ? p->by : p->ready.first != NULL ? &p->ready : &p->leaving;
    const struct desired_why why = run_endpoints(p, t, t == &p->ready ? WHY_READY : WHY_TERMINATING);
    cleanup(mem_free_ptr) char *text = text_endpoints(r->words, p->name, &why);
    return mem_printf("%s%s", text, p->sign == SIGN_ENDING ? ", used because no ready one is usable" : "");
}

static char *passed_text(const struct run *r, const struct place *p, enum step step)
{
    cleanup(mem_free_ptr) char *timeout = NULL;
    switch (step) {
    case STEP_KNOWN:
        return p->named ? mem_printf("Node %s is known", p->name)
                        : mem_printf("endpoint %s names no node and is a server itself", p->name);
    case STEP_ELIGIBLE:
        return eligible(p);
    case STEP_ADDRESS:
        return address(r, p);
    case STEP_POLICY:
        return policy(r);
    case STEP_ENDPOINTS:
        return endpoints(r, p);
    case STEP_PORT:
        return p->port != r->port.number ? mem_printf("%u: the endpoint's own port", p->port)
                                         : mem_printf("%u: %s", p->port, r->port.reason);
    case STEP_NAME:
        return mem_printf("its server in HAProxy is %s", p->server);
    case STEP_STATE:
        if (p->step.state == SERVER_LIVE)
            return mem_strdup("live");
        timeout = text_duration(r->rules->drain_timeout_ms);
        return mem_printf("draining: nothing is ready on it, others are ready; no new connections, and out after %s "
                          "(DRAIN_TIMEOUT) or with its last endpoint",
                          timeout);
    case STEPS:
        break;
    }
    return mem_strdup("");
}

/* ---- the whole ---- */

static char *failed_text(const struct run *r, const struct place *p)
{
    if (r->problem != NULL && failing_step(r, p) == STEP_PORT)
        return mem_strdup(r->problem);
    struct desired said;
    desired_init(&said);
    said.words = r->words;
    const struct desired_skip skip = run_skip(p, &said);
    char *text = desired_skip_text(&said, &skip);
    desired_fini(&said);
    return text;
}

int explain_node(const struct desired_input *in, const char *name, struct explanation *ret)
{
    struct desired_input stateless = *in;
    struct run r;
    cleanup(mem_free_ptr) char *problem = NULL;
    *ret = (struct explanation){.state = SERVER_OUT};
    stateless.states = NULL;
    if (run_open(&r, &stateless, NULL, &problem) != 0)
        return -1;
    run_read(&r, name, false);
    run_judge(&r);
    run_settle(&r);
    r.words = run_say(&r);
    const struct place *p = run_find_place(&r, name, true);
    if (p == NULL)
        p = run_find_place(&r, name, false);
    if (p != NULL && p->cause == CAUSE_SAME_SERVER)
        p = p->winner;
    if (p != NULL) {
        enum step failing = failing_step(&r, p);
        ret->state = failing == STEPS ? p->step.state : SERVER_OUT;
        ret->server = p->server != NULL ? mem_strdup(p->server) : desired_server_name(p->name);
        const struct desired_why why = failing == STEPS ? run_why(&r, p) : (struct desired_why){.kind = WHY_UNSAID};
        ret->verdict = failing == STEPS ? text_server_reason(r.words, p->name, &why) : failed_text(&r, p);
        ret->rules = mem_array(STEPS, sizeof(ret->rules[0]));
        for (enum step s = STEP_KNOWN; s < STEPS && s <= failing; s++) {
            struct explain_rule *rule = &ret->rules[ret->rule_count++];
            *rule = (struct explain_rule){.rule = step_names[s], .passed = s != failing};
            rule->text = s != failing ? passed_text(&r, p, s) : failed_text(&r, p);
        }
    }
    run_close(&r);
    return p != NULL ? 0 : -1;
}

"""What an operator says and sees: names that are nearly a setting."""

from .mutant import Mutant, room

UNKNOWN = "settings/unknown.c"

room("settings", ("test_unknown", "test_settings"), (
    Mutant("a misspelt safety setting is ignored", UNKNOWN, "if (suggestion != NULL && is_sure && suggestion->row->safety)", "if (false)"),
    Mutant("an old name is ignored", UNKNOWN, "removed_report(name, traces, found))", "false)"),
    Mutant("a wild guess stops the start", UNKNOWN, "suggestion != NULL && is_sure && suggestion->row", "suggestion != NULL && suggestion->row"),
    Mutant("any misspelt setting stops the start", UNKNOWN, "&& suggestion->row->safety)", ")"),
    Mutant("a name that adds words is another one", UNKNOWN, '"DRY_RUN",    "LEADER_ELECT"', '"LEADER_ELECT"'),
    Mutant("anything sends the PROXY protocol or not", "settings/values.c", 'return str_eq(s, "true") || str_eq(s, "false") ? 0 : -1;', "return 0;"),
))
METRICS = "report/prometheus.c"

room("settings, a password over http", ("test_dataplanes", "test_url"), (
    Mutant("any URL is this machine's", "settings/findings.c", "&& !url_is_local(url))", "&& false)"),
    Mutant("to this machine, too", "settings/findings.c", "&& !url_is_local(url))", "&& true)"),
    Mutant("with TLS, too", "settings/findings.c", 'if (!str_has_prefix(url, "https://") && ', "if ("),
    Mutant("without a password, too", "settings/dataplanes.c", "if (d->socket == NULL && (secret_is_set(&d->password) || secret_is_set(&d->token)))", "if (d->socket == NULL)"),
    Mutant("a token is none", "settings/dataplanes.c", "(secret_is_set(&d->password) || secret_is_set(&d->token))", "secret_is_set(&d->password)"),
    Mutant("etcd without one, too", "settings/etcd.c", "i < e->endpoints.count && secret_is_set(&e->password)", "i < e->endpoints.count"),
    Mutant("all of IPv6 is this machine", "settings/url.c", "inet_pton(AF_INET6, name, &address) == 1 && IN6_IS_ADDR_LOOPBACK(&address)", "inet_pton(AF_INET6, name, &address) == 1"),
    Mutant("one address is this machine", "settings/url.c", "ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET", "ntohl(v4.s_addr) == INADDR_LOOPBACK"),
))
room("metrics", ("test_prometheus",), (
    Mutant("a peer makes series without an end", METRICS, "if (count >= PEER_VALUES_MAX)", "if (false)"),
    Mutant("what one peer does takes the series of another", METRICS, "count += strncmp(one->labels, buf_str(&others), others.len) == 0;", "count++;"),
    Mutant("series of the configuration are merged", METRICS, "if (s == NULL && x->from_peers)", "if (s == NULL && x->label_count > 0)"),
    Mutant("configured values are cut", METRICS, "x->from_peers && l + 1 == x->label_count ? PEER_VALUE_BYTES", "true ? PEER_VALUE_BYTES"),
    Mutant("what a peer says is as long as it likes", METRICS, "x->from_peers && l + 1 == x->label_count ? PEER_VALUE_BYTES", "false ? PEER_VALUE_BYTES"),
    Mutant("what is not known any more stays on the page", METRICS, "    if (s != NULL)\n        series_free(x, s);\n", "    (void)s;\n"),
))
RUNTIME = "haproxy/runtime.c"
STATUS = "daemon/status/status_haproxy.c"

room("health", ("test_codec_runtime", "test_drift", "test_engine_running_state", "test_runtime", "test_status_haproxy"), (
    Mutant("a server that its check calls down is up", "haproxy/dataplane/codec_runtime.c", 'ret->down = str_eq(operational, "down");', "ret->down = false;"),
    Mutant("who comes back from maintenance stays down", RUNTIME, "        s->down = admin == RUNTIME_MAINT;\n", "        ;\n"),
    Mutant("a drain makes a server up", RUNTIME, "if ((s->admin == RUNTIME_MAINT) != (admin == RUNTIME_MAINT))", "if (true)"),
    Mutant("maintenance is a failing check", RUNTIME, "return s->down && s->admin != RUNTIME_MAINT;", "return s->down;"),
    Mutant("servers that are down count as up", "servers/report.c", "is != NULL && !is->down;", "is != NULL;"),
    Mutant("servers that drain count as up", "servers/report.c", "want->state == SERVER_LIVE && is != NULL", "is != NULL"),
    Mutant("what cannot be read is nought", "servers/report.c", ".away || !s->at->runtime.readable || !s->have_desired", ".away || !s->have_desired"),
    Mutant("what was read long ago is shown", "servers/report.c", "instance_view(s->engine->instance).away || !s->at->runtime", "!s->at->runtime"),
    Mutant("a failed reading leaves the last figure", "haproxy/instance_read.c", "    ENGINES_DO(in, read_failed);\n", ""),
    Mutant("a server that is down is up on the page", STATUS, 'runtime_fails_check(v->running) ? "down"\n', 'false ? "down"\n'),
    Mutant("who is parked counts as down", STATUS, "v->running != NULL && v->running->admin != RUNTIME_MAINT;", "v->running != NULL;"),
    Mutant("no server is counted as down", STATUS, "            down += is_down(&v);\n", "            ;\n"),
    Mutant("no server is counted as UP", STATUS, "up += v.place == PLACE_LIVE &&", "up += false &&"),
    Mutant("what cannot be read is not UP", STATUS, "s->at->runtime.readable ? (int64_t)up : -1", "(int64_t)up"),
    Mutant("DOWN begins anew with each reading", RUNTIME, "was != NULL && was->down_since_s != 0 ? was->down_since_s", "false ? was->down_since_s"),
    Mutant("who is up was DOWN once", RUNTIME, "s->down_since_s = !runtime_fails_check(s)                 ? 0", "s->down_since_s = false ? 0"),
    Mutant("one that does not answer is of now", STATUS, "bool answers = !v.away && !v.silent;", "bool answers = !v.silent;"),
    Mutant("in sync began with each reading", "servers/report.c", "if (r->in_sync != in_sync || r->since_ms == 0)", "if (true)"),
    Mutant("it was never in sync", STATUS, "since_ms = (int64_t)e->backends[i].report.since_ms + h->wall_minus_mono_ms;", "since_ms = 0;"),
    Mutant("readiness says nothing of who is DOWN", "servers/report.c", "    if (down > 0)\n", "    if (false)\n"),
    Mutant("readiness calls those DOWN that are up", "servers/report.c", "is != NULL && runtime_fails_check(is);\n        }\n", "is != NULL;\n        }\n"),
    Mutant("what is read is not shown", "servers/servers.c", "if (again || e->unread)\n            servers_measure_up(s);\n", ""),
))
SINCE_FILE = "daemon/status/status.c"
room("since when", ("test_status_since",), (
    Mutant("what fails begins anew each time", SINCE_FILE, "since_ms != 0 ? since_ms : now_ms", "now_ms"),
    Mutant("a remark is as old as the failure before", SINCE_FILE, "s->list[i].state == c->state && str_eq", "str_eq"),
    Mutant("the newest is the oldest", SINCE_FILE, "s->list[i].since_ms < oldest", "s->list[i].since_ms > oldest"),
    Mutant("remarks are not kept", SINCE_FILE, "c->state != CHECK_FAIL && c->state != CHECK_WARN", "c->state != CHECK_FAIL"),
    Mutant("all is kept", SINCE_FILE, "        if (c->state != CHECK_FAIL && c->state != CHECK_WARN)\n            continue;\n", ""),
))
EXPLAIN = "cli/explain_print.c"
room("what is said", ("test_engine_runtime_update", "test_explain_print", "test_plan_text"), (
    Mutant("to be held is latency", "servers/decide.c", "s->event_us = s->latest_event_us = 0; /* a delay on purpose", "s->event_us = 0; /* a delay on purpose"),
    Mutant("explain promises what is refused", EXPLAIN, "if (b->plan.verdict == PLAN_REFUSE)\n", "if (false)\n"),
    Mutant("explain is content with who is DOWN", EXPLAIN, "is->admin == RUNTIME_READY && runtime_fails_check(is))\n        return mem_strdup(\"nothing",
           "false)\n        return mem_strdup(\"nothing"),
    Mutant("explain is content with what it cannot read", EXPLAIN, "if (!line->maintenance && !b->runtime.readable && b->runtime.why != NULL)", "if (false)"),
    Mutant("plan is content with what it cannot read", "daemon/inspect/plan_text.c", "if (!b->runtime.readable && b->runtime.why != NULL)", "if (false)"),
))

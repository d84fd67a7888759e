"""What `plan` has of a daemon that runs: that answers by what it decides by (daemon/inspect/inspect), and what is decided by it
(daemon/inspect/inspect_report). That both decide alike, the streams notice (tests/sequences/planned.c)."""

from .mutant import Mutant, room

ANSWER = "daemon/inspect/inspect.c"
DECIDE = "daemon/inspect/inspect_report.c"

room("memory", ("test_inspect", "test_inspect_decide"), (
    Mutant("a daemon that does not lead answers", ANSWER, "bool leads = of->targets != NULL, read = true, ", "bool leads = true, read = of->targets != NULL, "),
    Mutant("what Kubernetes has is known before it was read", ANSWER, "read = read && states[i].last != NULL;", "read = read && (states[i].last != NULL || true);"),
    Mutant("a HAProxy that is away is known", ANSWER, "read = read && v.version >= 0 && !v.away && v.last_reload_known;", "read = read && v.version >= 0 && v.last_reload_known;"),
    Mutant("other backends are the same ones", ANSWER, 's->mappings[i].port != NULL ? s->mappings[i].port : ""', '""'),
    Mutant("other HAProxies are the same ones", ANSWER, "i < settings_haproxy_count(s); i++)\n        buf_printf", "i < 0; i++)\n        buf_printf"),
    Mutant("the last setting that decides does not count", ANSWER, "offsetof(struct settings, resync_period_ms)}", "offsetof(struct settings, dry_run)}"),
    Mutant("the cluster's name does not decide", ANSWER, "{offsetof(struct settings, cluster_name), offsetof(struct settings, cluster_name)}", "{offsetof(struct settings, dry_run), offsetof(struct settings, dry_run)}"),
    Mutant("it always answers in text", ANSWER, '.json = str_eq(word, "json")', ".json = false"),
    Mutant("it answers without colours", ANSWER, "how.colour = numbers[1] != 0;", "how.colour = false;"),
    Mutant("who asks reports losses", ANSWER, "b->in.loss_limit = &b->losses;", "b->in.loss_limit = &s->loss_limit;"),
    Mutant("a pause is not reported", ANSWER, "b->in.conflict ? s->pause.until_ms : 0", "0"),
    Mutant("what HAProxy rejected is written", ANSWER, "s->last.rejected_version >= 0 &&", "s->last.rejected_version > 1000000 &&"),
    Mutant("what HAProxy takes by now is rejected still", ANSWER, " && s->report.problem.kind != ERROR_NONE);", ");"),
    Mutant("runtime updates that failed are tried", DECIDE, "bool adds = t->adds && b->in.at.open && ", "bool adds = t->adds && "),
    Mutant("a reload that is due is none", DECIDE, "(b->choice.transaction || b->in.dirty)", "b->choice.transaction"),
    Mutant("a pause is none", DECIDE, "return b->paused_until_ms != 0 && v != PLAN_IN_SYNC;", "return false;"),
    Mutant("a pause is none for commands", DECIDE, "if (backend_decision_suspended(&b->in) || decide_pauses(b, b->first.verdict))", "if (backend_decision_suspended(&b->in))"),
    Mutant("a pause lasts where the file is as desired", DECIDE, "b->paused_until_ms != 0 && v != PLAN_IN_SYNC", "b->paused_until_ms != 0"),
    Mutant("what was written counts as returned", DECIDE, "    input.loss_limit = &losses;\n", ""),
    Mutant("a dry run previews nothing", "haproxy/instance.c", "(in->options.dry || instance_may_ever_write(in)) && instance_wants_preview(in)", "instance_may_ever_write(in) && instance_wants_preview(in)"),
    Mutant("a dry run lets the file go", "haproxy/instance_read.c", "    if (in->options.dry)\n        return;\n", ""),
    Mutant("a memory that is not used is shown", "daemon/inspect/inspect_print.c", "return r->daemon.used && until_ms != 0 ?", "return until_ms != 0 ?"),
))

"""What is said of an API server that is away, and of servers that are down."""

from __future__ import annotations

from .mutant import Mutant, room

OUTAGE = "kube/outage.c"
INFORMER = "kube/informer_log.c"
HEALTH = "cli/doctor/doctor_backend.c"
SERVED = "haproxy/served.c"
STAT = "haproxy/local/cli_stat.c"

room("outage", ("test_outage", "test_informer_log"), (
    Mutant("each right that is missing is an outage", OUTAGE, "(str_eq(reason, \"forbidden\") && outage_is_anonymous(detail))", "(str_eq(reason, \"forbidden\") && detail != NULL)"),
    Mutant("without credentials each watch says it", OUTAGE, " ||\n           (str_eq(reason, \"forbidden\") && outage_is_anonymous(detail))", " || detail == NULL"),
    Mutant("any 403 is an outage", OUTAGE, "r->status == 403 && outage_is_anonymous(buf_str(r->body))", "r->status == 403"),
    Mutant("what JSON escapes is not seen", OUTAGE, " || strstr(said, \"system:anonymous\\\\\\\"\") != NULL", ""),
    Mutant("refused credentials are none", OUTAGE, "    if (r->status == 401)\n        return \"unauthorized\";\n", ""),
    Mutant("it begins anew with each loss", OUTAGE, "    if (o->lost_ms == 0)\n        o->lost_ms = now_ms;\n", "    o->lost_ms = now_ms;\n"),
    Mutant("reasons that take turns pass each time", OUTAGE, "log_limit_pass_message(&o->limit", "log_limit_pass(&o->limit"),
    Mutant("it never ends", OUTAGE, "    o->lost_ms = 0;\n", "    ;\n"),
    Mutant("it ends again and again", OUTAGE, "    o->was_said = false;\n    o->met", "    o->met"),
    Mutant("refusals are shared", OUTAGE, "return strncmp(answer, \": HTTP 4\", 8) == 0 && ", "return answer[0] == '?' && "),
    Mutant("who sends too much is refused", OUTAGE, " && strncmp(answer, \": HTTP 429\", 10) != 0", ""),
    Mutant("what was asked makes another trouble", OUTAGE, "return colon != NULL ? colon : message;", "return colon != NULL ? message : message;"),
    Mutant("what a watch said others say again", OUTAGE, "    (void)log_limit_pass_message(&o->others, now_ms, words, &held_back);\n", ""),
    Mutant("others do not wait for the watches", OUTAGE, "now_ms < o->heard_ms + HOLD_MS || ", ""),
    Mutant("others wait for ever", OUTAGE, "    if (log_limit_pass_message(&o->heard, now_ms, words, &held_back))\n        o->heard_ms", "    o->heard_ms"),
    Mutant("others share a hang", OUTAGE, "if (words == NULL || !str_has_prefix(words, \": HTTP \"))", "if (words == NULL)"),
    Mutant("each watch says the same", INFORMER, "if (kube_outage_is_shared(l->outage, w->detail, now_ms)) {", "if (kube_outage_is_shared(l->outage, w->detail, now_ms) && w == NULL) {"),
    Mutant("a cut is said before the next request", INFORMER, "if (first && (str_eq(w->reason, \"lost\") || str_eq(w->reason, \"closed\"))) {", "if (false) {"),
    Mutant("a cut is never said", INFORMER, "if (first && (str_eq(w->reason, \"lost\")", "if ((str_eq(w->reason, \"lost\")"),
))
room("health", ("test_doctor_health", "test_served"), (
    Mutant("who is up is named", HEALTH, "if (is == NULL || !runtime_fails_check(is))", "if (is == NULL)"),
    Mutant("who drains is desired", HEALTH, "        if (desired->state != SERVER_LIVE)\n            continue;\n", ""),
    Mutant("all are named", HEALTH, "{.between = \", \", .max = NAMES_SHOWN}", "{.between = \", \", .max = 100}"),
    Mutant("a rejection is taken for a closed port", HEALTH, " || strstr(f->detail, causes[cause].detail) == NULL", ""),
    Mutant("another backend's server", SERVED, "str_eq(s->failures.list[i].backend, backend) && ", "backend != NULL && "),
    Mutant("who is up failed", SERVED, "if (status == NULL || !str_has_prefix(status, \"DOWN\"))", "if (status == NULL)"),
    Mutant("a check under way has another name", SERVED, "        check += 2;\n", "        check += 0;\n"),
    Mutant("quotes stay", STAT, "    if (value == NULL || *value != '\"')\n", "    if (true)\n"),
    Mutant("a quote ends at a quote within", STAT, "(*from != '\"' || from[1] == '\"')", "*from != '\"'"),
))

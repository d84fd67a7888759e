"""Hostile tenants, played against the whole daemon (tests/functional/test_tenants.py): what must not happen to the others is noticed there, too."""

from .mutant import Mutant, room

PLAN = "services/plan.c"

room("hostile tenants", ("test_tenants",), (
    Mutant("a host is any tenant's", PLAN, "} else if (!incumbents && !is_of_namespace(r, owner)) {", "} else if (false) {"),
    Mutant("who comes later takes a host", PLAN, "(!incumbents || (before != NULL && is_of_namespace(r, before)))", "!incumbents"),
    Mutant("a certificate is shown for each name that stands in it", "services/print.c", "filtered && !r->options.tcp ? r->options.hostname : NULL;", "NULL;"),
    Mutant("what HAProxy refuses is asked for again and again", "daemon/services/services_source.c", "culprits_form(quarantine_culprits(s->options.quarantine), service) != CULPRITS_LEFT_OUT)\n        return false;", "true)\n        return false;"),
    Mutant("who is left out is not reported", "daemon/services/services_source.c", "    remarks_replace(s->remarks, list, count);\n", "    remarks_replace(s->remarks, list, 0);\n"),
    Mutant("who has an Ingress that is left out gets no report", "daemon/template/template_source.c", "    remarks_take(s->remarks, e->set, watches_objects(e->watches), r);\n", ""),
    Mutant("owners are forgotten over a restart", "daemon/host_memory.c", "return shared != NULL ? shared : state_text_recall(m->in->settings->state_dir, STATE_HOST_OWNERS, m->in->log);", "return mem_strdup(\"\");"),
))

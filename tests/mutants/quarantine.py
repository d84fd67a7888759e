"""Objects that HAProxy refuses a configuration for: the search for them, and what is left out of a document so."""

from .mutant import Mutant, room

SUCCESSION = "configuration/succession.c"
TURNS = "configuration/turns.c"
CULPRITS = "configuration/culprits.c"
PLAN = "services/plan.c"
ENGINE = "configuration/configuration.c"
TARGET = "configuration/target.c"
OBJECTS = "template/objects.c"
FORMS = "daemon/template/set_quarantine.c"
SET = "template/set.c"
PEM = "net/pem.c"

room("quarantine: the search", ("test_culprits",), (
    Mutant("one is blamed that was not seen alone", CULPRITS, "    if (bad == 1)\n", "    if (bad >= 1)\n"),
    Mutant("each one is tried alone", CULPRITS, "size_t stay = (bad + 1) / 2, count", "size_t stay = bad - 1, count"),
    Mutant("each one of one owner is tried alone", CULPRITS, "size_t stay = (bad + 1) / 2, clean", "size_t stay = bad - 1, clean"),
    Mutant("what has changed since is as it was judged", CULPRITS, "    if (!c->known)\n", "    if (false)\n"),
    Mutant("what changes leaves its group as it was judged", CULPRITS, "        c->known = false;\n    culprits_doubt", "        c->known = c->known;\n    culprits_doubt"),
    Mutant("a culprit that changes holds up the others", CULPRITS, "bool suspect = one->state != GOOD && ", "bool suspect = false && "),
    Mutant("what changes is accepted as it was", CULPRITS, "        one->accepted = false;\n        HASH_DEL", "        HASH_DEL"),
    Mutant("the other half is never tried again", CULPRITS, "    if (c->confirmed)\n            culprits_move(c, BAD, REST);\n", ""),
    Mutant("a culprit that changed is not tried again", CULPRITS, "else if (culprits_of(c, LATER) > 0 &&", "else if (false &&"),
    Mutant("what changes all the time has no document written", CULPRITS, "        c->tried_later = c->trial;\n", ""),
    Mutant("what was only checked is known to run", CULPRITS, "(one->state == GOOD && !c->trial)", "(one->state == GOOD)"),
    Mutant("a first document without objects is written", CULPRITS, "c->trial = c->trial || (!v->load && culprits_of(c, GOOD) == 0);", ""),
    Mutant("what runs is taken apart for a check", CULPRITS, "    c->trial = true;\n", ""),
    Mutant("what runs is taken apart for a load", CULPRITS, "if (v->load || culprits_of(c, GOOD) == 0) {", "if (culprits_of(c, GOOD) == 0) {"),
    Mutant("a search that found nothing begins again", CULPRITS, "    if (c->gave_up)\n        say(&c->blameless, v->why);\n", ""),
    Mutant("a search that found nothing is the last one", CULPRITS, "    c->gave_up = false;\n    say(&c->blameless, NULL);\n", ""),
    Mutant("a culprit that is gone stays one", CULPRITS, "        if (one->seen)\n            continue;\n", "        if (one->seen || one->state == OUT)\n            continue;\n"),
    Mutant("an operator may ask in vain", CULPRITS, "    culprits_move(c, OUT, LATER);\n", ""),
    Mutant("no culprit is kept", CULPRITS, "one->state == OUT ? \"out\" : \"in\"", "\"in\""),
    Mutant("what was good is not kept", CULPRITS, "if (one->of != NULL || (one->state != OUT && !one->accepted))", "if (one->of != NULL || one->state != OUT)"),
    Mutant("a bad change takes the service away", CULPRITS, "        if (was_good) { /* as it was", "        if (false) { /* as it was"),
    Mutant("what was before the start is known", CULPRITS, "one->accepted && one->known;", "one->accepted;"),
    Mutant("what was refused is a last good form", CULPRITS, "counts(one) ? GOOD : LATER;", "GOOD;"),
    Mutant("what is refused, too, comes again", CULPRITS, "            culprits_remove(c, one);\n            continue;\n        }\n        one->state = OUT;", "            one->state = GOOD;\n            continue;\n        }\n        one->state = OUT;"),
    Mutant("a change that is accepted may be withdrawn", CULPRITS, "        if (one->of != NULL && one->of->accepted)\n", "        if (false)\n"),
))
room("quarantine: one that changes again and again", ("test_culprits", "test_quarantine"), (
    Mutant("it is tried at once each time", CULPRITS, "return one->state == LATER && due_ms_of(one) > c->now_ms;", "return false;"),
    Mutant("its pause does not grow", CULPRITS, "        pause_ms *= 2;\n", "        pause_ms += 0;\n"),
    Mutant("its pause has no end", CULPRITS, "pause_ms < PAUSE_MAX_MS ? pause_ms : PAUSE_MAX_MS;", "pause_ms;"),
    Mutant("the second refusal is one too many", CULPRITS, "#define REFUSALS_FREE 2", "#define REFUSALS_FREE 1"),
    Mutant("what was refused is never forgotten", CULPRITS, "return r->count > 0 && now_ms - r->last_ms < FORGET_MS;", "return r->count > 0;"),
    Mutant("one that waits is tried with the others", CULPRITS, "one->state == from && !waits(c, one))", "one->state == from)"),
    Mutant("one that waits keeps the search up", CULPRITS, "one->state == state && counts(one) && !waits(c, one);", "one->state == state && counts(one);"),
    Mutant("one that waits has no reason", CULPRITS, "(one->state != OUT && !waits(c, one)))\n        return NULL;", "one->state != OUT)\n        return NULL;"),
    Mutant("one that waits is not counted", CULPRITS, "count += is_refused(c, one);", "count += one->state == OUT;"),
    Mutant("who gives up tries what waits", CULPRITS, "        if (one->state != OUT && !waits(c, one))\n                one->state", "        if (one->state != OUT)\n            one->state"),
    Mutant("an operator waits, too", CULPRITS, "        one->refusals = (struct refusals){0};\n", "        one->refusals.count = 0;\n"),
    Mutant("nobody wakes for it", "daemon/quarantine.c", "        timer_set(&q->wake, due_ms > now_ms ? due_ms - now_ms : 0);\n", "        (void)now_ms;\n"),
))
room("quarantine: many of one owner", ("test_culprits",), (
    Mutant("owners are told apart by halves of their objects", CULPRITS, "amid = by_history ? NULL : culprits_owner_amid(c, bad, &alone);", "amid = NULL;"),
    Mutant("who had no culprits is tried with those who had", CULPRITS, "bool by_history = clean > 0 && clean < bad;", "bool by_history = false && clean > 0;"),
    Mutant("others wait until one owner's culprits are told apart", CULPRITS, "    if (bad <= 1 || culprits_owner_amid(c, bad, &alone) == NULL) {", "    if (false && (bad <= 1 || culprits_owner_amid(c, bad, &alone) == NULL)) {"),
    Mutant("what is new of a suspect is tried with what is new of others", CULPRITS, "(!c->confirmed || o->suspect || o->guilty)", "false"),
    Mutant("who changes all the time is tried before others' culprits each time", CULPRITS, " && (o->late == 0 || o->late == c->step)", ""),
    Mutant("who has many culprits does not wait", CULPRITS, "count % OWNER_REFUSALS != 0 ||", "true ||"),
    Mutant("what was served waits with the culprits of its owner", CULPRITS, "count % OWNER_REFUSALS != 0 || c->trial", "count % OWNER_REFUSALS != 0"),
    Mutant("an operator waits for who had many culprits", CULPRITS, "        o->refusals = (struct refusals){0};\n", "        ;\n"),
    Mutant("whose objects are gone had none", CULPRITS, "(o->objects > 0 || had_culprits(c, o))", "(o->objects > 0)"),
    Mutant("a kind has its owners", CULPRITS, "from != NULL ? from + 1 : key", "from != NULL ? key : key"),
))
room("quarantine: documents that are out of date", ("test_quarantine",), (
    Mutant("what was accepted is settled with the next document", "daemon/quarantine.c", "        q->settled(q->arg);\n", "        ;\n"),
    Mutant("nothing waits for a verdict", "daemon/quarantine.c", "q->next.is != NONE || awaited ? HOLD_MS : 0", "0"),
    Mutant("a verdict is waited for without an end", "daemon/quarantine.c", "q->of_last.is == NONE && clock_mono_ms() - q->given_ms < VERDICT_WITHIN_MS", "q->of_last.is == NONE"),
    Mutant("a search waits for no verdict", "daemon/quarantine.c", "(!q->missed && !q->culprits.searching)", "!q->missed"),
    Mutant("a verdict that was missed is none", "daemon/quarantine.c", "    q->missed = true;\n", "    q->missed = false;\n"),
))
room("quarantine: what an object was", ("test_cache",), (
    Mutant("what was is not kept", "model/cache.c", "    c->keeps_past = true;\n", ""),
))
room("quarantine: what many name", ("test_set_quarantine",), (
    Mutant("what forms have goes with the search", FORMS, ".json = shared_text(one->json)};", ".json = one->json};"),
    Mutant("a form has a part for each mention", FORMS, "        if (f->parts[i].json == one->json)\n            return;\n", "        ;\n"),
))
room("quarantine: what is withheld of Services", ("test_services_plan",), (
    Mutant("what is withheld is served", PLAN, "        r->refused = r->withheld = true;\n", "        r->withheld = true;\n"),
    Mutant("who is left out loses host names that it cannot say", PLAN, "        service_owners_keep(&ret->owners, rules->incumbents, rules->held);\n", "        ;\n"),
    Mutant("what is withheld is any Service's", PLAN, "if (r->refused && !r->withheld)", "if (r->refused)"),
    Mutant("each route gets the reason", PLAN, "if (why != NULL && told != r->service)", "if (why != NULL)"),
    Mutant("a suspect gets no reason, at length", PLAN, "if (why != NULL && told != r->service)", "if (told != r->service)"),
))
room("quarantine: documents that are only checked", ("test_target", "test_configuration"), (
    Mutant("a trial is written", TURNS, "return configuration_writes(c) && !c->document->trial;", "return configuration_writes(c);"),
    Mutant("a trial needs no verdict", TURNS, " && !d->trial;", ";"),
    Mutant("what was checked is not written then", SUCCESSION, " && c->document->trial == d->trial &&", " &&"),
    Mutant("what is valid runs", ENGINE, "(checks && t->sent.progress == PROGRESS_VALID)", "(t->sent.progress == PROGRESS_VALID)"),
    Mutant("what is only checked keeps the next one waiting", TARGET, "restores || (writes && !target_by_runtime(t))", "restores || !target_by_runtime(t)"),
))
room("quarantine: what is withheld of templates", ("test_template_objects",), (
    Mutant("templates see what is withheld", OBJECTS, "const char *json = o->shown != NULL ? o->shown(o->shown_arg, r->watch->name, t) : t->json;", "const char *json = t->json;"),
))
room("quarantine: what a set says of it", ("test_template_set",), (
    Mutant("what an object names may be anything", SET, "            if (template_set_find_watch(s, w->uses[i].resource) == NULL)\n", "            if (false)\n"),
    Mutant("nothing is left out", SET, "    w->quarantine = true;\n", ""),
))
room("quarantine: certificates that are not served", ("test_pem",), (
    Mutant("a chain may be weak", PEM, "(int)SSL_CTX_add1_chain_cert(context, x)", "1"),
    Mutant("a certificate may be weak", PEM, "SSL_CTX_use_certificate(context, x) : (int)", "1 : (int)"),
    Mutant("a key is as long as its modulus", PEM, "at->data_size > longest)", "at->data_size > longest && at == numbers)"),
    Mutant("DH parameters may be any", PEM, "check_cost(dh, EVP_PKEY_KEY_PARAMETERS, DH_MAX_BITS, err) != 0)", "false)"),
))

HOSTS = "daemon/host_memory.c"
room("whose a host name is", ("test_host_memory",), (
    Mutant("a ConfigMap is known before it was read", HOSTS, "m->shared == NULL || m->shared->synced;", "true;"),
    Mutant("the folder has the last word", HOSTS, "return shared != NULL ? shared : state_text_recall(", "free(shared);\n    return state_text_recall("),
    Mutant("who stands by writes", HOSTS, "!m->leads || ", ""),
    Mutant("a dry run leads", HOSTS, "leads && !m->in->settings->dry_run;", "leads;"),
    Mutant("who begins to lead writes with the next change alone", HOSTS, "    if (m->leads && m->shared != NULL)\n        timer_set_sooner(&m->write, 0);\n", ""),
    Mutant("two requests at a time", HOSTS, "m->busy || ", ""),
    Mutant("what is there is written again", HOSTS, " || str_eq(m->now, m->written))", ")"),
    Mutant("who leads no more does not see what came during its last write", HOSTS, "        host_memory_on_shared(m); /* what came meanwhile */\n", ""),
    Mutant("what came during a write is forgotten", HOSTS, "        timer_set_sooner(&m->write, 0); /* perhaps there is more by now */\n", ""),
    Mutant("what could not be written is taken for written", HOSTS, "    host_memory_set_written(m, NULL);\n    timer_set(&m->write, backoff_next_ms(&m->backoff));\n    if (!kube", "    timer_set(&m->write, backoff_next_ms(&m->backoff));\n    if (!kube"),
    Mutant("two writers write by turns", HOSTS, "timer_set_sooner(&m->write, REPAIR_MS);", "timer_set_sooner(&m->write, 0);"),
    Mutant("who leads follows another writer", HOSTS, "(!m->leads && shared", "(shared"),
    Mutant("who stands by does not follow", HOSTS, "(first || (!m->leads && shared != NULL && !str_eq(shared, m->now)))", "first"),
))

"""Kubernetes Events and the history that feeds them: what is recorded, once, and not too often."""

from .mutant import Mutant, room

CORRELATOR = "report/event_correlator.c"
EVENTS = "daemon/events.c"
WRITER = "kube/writer.c"

room("events", ("test_event_correlator", "test_events", "test_events_about", "test_events_trouble", "test_event_writer", "test_event_object"), (
    Mutant("every Event is sent", CORRELATOR, "    if (b->credit_ms < c->refill_ms)\n        return false;\n", ""),
    Mutant("the bucket holds more than a burst", CORRELATOR, "b->credit_ms + more : full;", "b->credit_ms + more : full + c->refill_ms;"),
    Mutant("the bucket fills without an end", CORRELATOR, "more < full - b->credit_ms ?", "true ?"),
    Mutant("the bucket never fills", CORRELATOR, "uint64_t more = now_ms - b->at_ms;", "uint64_t more = 0;"),
    Mutant("warnings wait for what is normal", CORRELATOR, "&c->buckets[warning]", "&c->buckets[0]"),
    Mutant("many different ones are many Events", CORRELATOR, "    if (!c->many && is_one_of_many(&c->groups[reason], hash, now_ms))\n        hash = COMBINED_HASH;\n", ""),
    Mutant("one Event stands for many objects", CORRELATOR, "if (!c->many && is_one", "if (is_one"),
    Mutant("a namespace has the limits of one object", EVENTS, "a->namespace != NULL, e->first_id", "false, e->first_id"),
    Mutant("all namespaces have the same limits", EVENTS, "if (about == NULL && HASH_COUNT(e->objects) == NAMESPACES_MAX)", "if (e->objects != NULL)"),
    Mutant("one that is known becomes one of many", CORRELATOR, "        if (g->hashes[i] == hash)\n            return false;\n", ""),
    Mutant("combining never ends", CORRELATOR, "    if (now_ms - g->last_ms > CORRELATOR_ALIKE_MS)\n        g->count = 0;\n", ""),
    Mutant("the same again is another one", CORRELATOR, "if (r->id != 0 && r->reason == reason &&", "if (false && r->reason == reason &&"),
    Mutant("reasons are mixed up", CORRELATOR, "r->reason == reason && r->hash == hash", "r->hash == hash"),
    Mutant("what the API has forgotten is repeated", CORRELATOR, " && now_ms - r->last_ms <= CORRELATOR_FORGET_MS)", ")"),
    Mutant("the newest gives way", CORRELATOR, "r->last_ms < oldest->last_ms", "r->last_ms > oldest->last_ms"),
    Mutant("what is under way is dropped", EVENTS, 'take_out(e, e->busy ? 1 : 0, "dropped");', 'take_out(e, 0, "dropped");'),
    Mutant("each of the same is a request", EVENTS, "struct item *item = waiting(e, about, c->id);", "struct item *item = NULL;"),
    Mutant("what is under way takes more in", EVENTS, "for (size_t i = e->busy ? 1 : 0; i < e->count; i++)", "for (size_t i = 0; i < e->count; i++)"),
    Mutant("tried for ever", EVENTS, "now_ms - e->queue[i].since_ms >= ITEM_AGE_MAX_MS || ", ""),
    Mutant("an API that contradicts itself is asked at once", EVENTS, "if (item->tries >= ITEM_TRIES_AT_ONCE)", "if (false)"),
    Mutant("Retry-After does not count", EVENTS, "        wait_ms = (uint64_t)retry_after_ms;", "        ;"),
    Mutant("denied is tried at once", EVENTS, "denied_until_ms = clock_mono_ms() + DENIED_PAUSE_MS;", "denied_until_ms = 0;"),
    Mutant("denied in one namespace is denied in all", EVENTS, "if (e->queue[i].about == about)\n            take_out(e, i, \"denied\");", "take_out(e, i, \"denied\");"),
    Mutant("one that is there is made again", EVENTS, "correlator_is_written(&about->correlator, item->id), &err)", "false, &err)"),
    Mutant("one that was forgotten is repeated", EVENTS, "outcome == EVENT_EXISTS);", "true);"),
    Mutant("what is about all is about the first Service", EVENTS, "(entry->backend != NULL && !str_eq(entry->backend, m->list[i].backend))", "!str_eq(entry->backend != NULL ? entry->backend : m->list[0].backend, m->list[i].backend)"),
    Mutant("said once for each backend", EVENTS, "        about->done = true;\n", ""),
    Mutant("nobody finds it", EVENTS, "known != NULL ? known->uid : NULL", "NULL"),
    Mutant("a combined one does not say so", EVENTS, 'c->combined ? COMBINED : ""', '""'),
    Mutant("a lost answer makes it gone", WRITER, "return again ? EVENT_LATER : EVENT_EXISTS;", "return EVENT_LATER;"),
    Mutant("one that is gone is refused", WRITER, "return again ? EVENT_GONE : EVENT_REFUSED;", "return EVENT_REFUSED;"),
    Mutant("a refused token stays", "kube/client.c", "    kube_client_note_answer(c, r, failure);\n", ""),
))
room("journal", ("test_engine_history",), (
    Mutant("a trouble fills the journal", "haproxy/instance_report.c",
           "if (log_limit_pass_message(&in->report.trouble_limit, clock_mono_ms(), in->report.problem.message, &before))", "if (true)"),
    Mutant("in sync without a reason", "servers/report.c", "    if (!n->news)\n        return;\n", ""),
    Mutant("in sync is recorded again and again", "servers/report.c", "    n->news = false;\n", ""),
    Mutant("what was written is recorded twice", "servers/report.c", "    buf_clear(&n->written);\n", ""),
    Mutant("the sentence has no end", "servers/report.c", "if (n->written.len < WRITTEN_MAX_BYTES)", "if (true)"),
    Mutant("the loss limit is recorded at each decision", "servers/report.c", "limited && p->held_back > n->held", "limited"),
    Mutant("no usable endpoint is recorded at each decision", "servers/report.c", "holds && !n->holds", "holds"),
    Mutant("the end of a hold is no news", "servers/report.c", "n->news = n->news || holds || limited;", ";"),
    Mutant("a pause is a brake", "servers/report.c", " && p->verdict != PLAN_NOT_WRITTEN && p->verdict != PLAN_REFUSE;", ";"),
    Mutant("our own writes are drift", "servers/report.c", "    n->settled_version = -1;\n    if (n->event_us", "    if (n->event_us"),
    Mutant("writes to other backends are drift", "servers/report.c", "        r->settled_version = version;\n", "        ;\n"),
    Mutant("another wish is drift", "servers/report.c", " &&\n           n->settled_number == s->number;", ";"),
    Mutant("what another writer repaired is our repair", "haproxy/instance_report.c", "    if (r->drift_answered)\n", ""),
))

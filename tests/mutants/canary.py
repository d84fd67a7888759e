"""What comes of a configuration after it runs (configuration/probation), who gets it first (configuration/turns), and what goes back
(configuration/succession)."""

from .mutant import Mutant, room

RUNS = "configuration/target_runs.c"
SUCCESSION = "configuration/succession.c"
TURNS = "configuration/turns.c"
PROBATION = "configuration/probation.c"
PROMISED = "configuration/promised.c"
STORE = "configuration/store.c"
TARGET = "configuration/target.c"
STAT = "haproxy/local/cli_stat.c"
CODEC = "haproxy/dataplane/codec_served.c"

room("probation", ("test_probation", "test_promised", "test_served"), (
    Mutant("a listener that is missed once is evidence", PROBATION, "#define MISSING_MAX 2", "#define MISSING_MAX 1"),
    Mutant("a listener that is missing is none", PROBATION, "#define MISSING_MAX 2", "#define MISSING_MAX 3"),
    Mutant("HAProxy is dead after two readings", PROBATION, "#define SILENT_MAX 3", "#define SILENT_MAX 2"),
    Mutant("a backend is lost after three readings", PROBATION, "#define NONE_UP_MAX 4", "#define NONE_UP_MAX 3"),
    Mutant("another writer's reload is a dead worker", PROBATION, "#define CHANGES_MAX 2", "#define CHANGES_MAX 1"),
    Mutant("a crash loop is no dead worker", PROBATION, "#define CHANGES_MAX 2", "#define CHANGES_MAX 3"),
    Mutant("our own reload is a dead worker", PROBATION, "reloads != k->reloads ? now_ms + SETTLE_MS : 0", "0"),
    Mutant("what another writer loads is a dead worker", PROBATION, "bool written = k->version >= 0 && ", "bool written = false && k->version >= 0 && "),
    Mutant("our own write explains another process", PROBATION, "    w->worker.version = -1; /* the write's */\n", ""),
    Mutant("one that started anew after a gap is the same", PROBATION, " || gap)) {", ")) {"),
    Mutant("a gap stays one for ever", PROBATION, "    k->gap = false;\n    if (known)", "    if (known)"),
    Mutant("a process that started anew is the same", PROBATION, " || s->uptime_s < k->uptime_s", ""),
    Mutant("the old worker that answers once more is a change", PROBATION, "s->pid == k->before && ", "false && "),
    Mutant("who never answered is dead", PROBATION, "if (!s->answers && w->worker.pid == 0)", "if (false)"),
    Mutant("proxies that are not known are missing", PROBATION, "if (w->state == PROBATION_GOES_ON && s->lists)\n        probation_read_listeners",
           "if (w->state == PROBATION_GOES_ON)\n        probation_read_listeners"),
    Mutant("a listener that was stopped before is missed", PROBATION, "        if (before == NULL || before->open) /* else", "        if (before == NULL || true) /* else"),
    Mutant("a new listener is not expected", PROBATION, "        if (before == NULL || before->open) /* else", "        if (before != NULL && before->open) /* else"),
    Mutant("a listener that does not listen is there", PROBATION, "p != NULL && p->open ? 0", "p != NULL ? 0"),
    Mutant("a backend that had none before is missed", PROBATION, "        if (served_up(&w->baseline, p.backends.list[i]) > 0)\n", ""),
    Mutant("checks that begin with down are evidence at once", PROBATION, "(item->was_up || now_ms - w->since_ms >= for_ms)", "true"),
    Mutant("a backend that never comes up is no evidence", PROBATION, "(item->was_up || now_ms - w->since_ms >= for_ms)", "item->was_up"),
    Mutant("what is on its way to be evidence is good", PROBATION, "w->time_ms && clear)", "w->time_ms && (clear || true))"),
    Mutant("the time is over before it is", PROBATION, "now_ms - w->since_ms >= w->time_ms && clear)", "(now_ms > 0) && clear)"),
    Mutant("what is lost elsewhere, too, is evidence", PROBATION, "elsewhere(arg, item->name) ? &both : &here", "false ? &both : &here"),
    Mutant("a backend is judged again and again", PROBATION, "        item->judged = true;\n", ""),
    Mutant("the next one has no baseline", PROBATION, "    error_clear(&w->evidence);\n    w->silent", "    served_fini(&w->baseline);\n    error_clear(&w->evidence);\n    w->silent"),
    Mutant("what is disabled is promised", PROMISED, "|| promised_is_disabled(s))", ")"),
    Mutant("what a condition hides is promised", PROMISED, "if (depth > 0 || (!front", "if ((!front"),
    Mutant("a server that is disabled serves", PROMISED, 'if (str_eq(cfg_word(words, k), "disabled") ||', "if ("),
    Mutant("a frontend without a bind listens", PROMISED, "if (front && binds)", "if (front && (binds || true))"),
    Mutant("a name is found by its place", "haproxy/served.c", "qsort(l->list, l->count, sizeof(l->list[0]), served_order);", "(void)served_order;"),
    Mutant("backup servers do not count", STAT, "(unsigned)(active + backup)", "(unsigned)active"),
    Mutant("a stopped frontend is open", STAT, 'str_eq(values[STAT_STATUS], "OPEN")', "true"),
    Mutant("an API that cannot read the proxies knows them", CODEC, "ret->lists = ret->lists || list != NULL;", "ret->lists = true;"),
    Mutant("an API that got no answer has no proxies", CODEC, "if (!str_empty(why))", "if (false)"),
))
room("canary", ("test_canary", "test_store", "test_configuration_streams"), (
    Mutant("once it was watched, what it serves before the next write is not read", TARGET, "!w->asked && !watched;", "!w->asked && w->state == PROBATION_NONE;"),
    Mutant("what went back to the file is another writer's drift", RUNS, "    store_taken_back(store, d->id, target_name(t));\n", ""),
    Mutant("a version that went back is gone back to", STORE, " && !store_is_rejected(s, s->entries[i].v.id))", ")"),
    Mutant("all get it at once", TURNS, "    canary_choose(c);\n    return t->watch.canary;", "    canary_choose(c);\n    return true;"),
    Mutant("a canary is never over", SUCCESSION, "    c->canary_passed = true;\n", ""),
    Mutant("a canary is over before all are good", SUCCESSION, "members == 0 || good < members)", "members == 0 || good == 0)"),
    Mutant("what was proven needs a canary", TURNS, "!c->canary_passed &&\n           !store_is_proven(c->options.store, c->document->id);", "!c->canary_passed;"),
    Mutant("after a restart another one is the canary", TURNS, "for (int round = 0; round < 3; round++)", "for (int round = 1; round < 3; round++)"),
    Mutant("one that does not answer is waited for", TURNS, "        w->canary = w->canary && (has_document || begun);\n", "        (void)begun, (void)has_document;\n"),
    Mutant("a new document is good as the one before", SUCCESSION, "        probation_end(&w->probation);\n", ""),
    Mutant("what went back to the file has passed", TARGET, "        t->of->canary_passed = false;", "        ;"),
    Mutant("nothing is proven", SUCCESSION, "    store_prove(c->options.store, c->document->id);\n", ""),
    Mutant("it is proven by one of them", SUCCESSION, "if (!canary_is_good(t) && !t->failed.away && !t->watch.joins)", "if (false)"),
    Mutant("a watch does not go on after a restart", RUNS, "(t->sent.unchanged && !unfinished && !first))", "(t->sent.unchanged && !first))"),
    Mutant("servers count with auto, too", SUCCESSION, "bool counts = c->options.rollback == CONFIGURATION_ROLLBACK_SERVING ||", "bool counts = true ||"),
    Mutant("servers do not count at a canary", SUCCESSION, " || (t->watch.canary && canary_goes_on(c));\n    struct error said;", ";\n    struct error said;"),
    Mutant("report rolls back", SUCCESSION, "c->options.rollback != CONFIGURATION_ROLLBACK_REPORT && ", ""),
    Mutant("a rollback is rolled back", SUCCESSION, "&& c->version == 0 &&", "&&"),
    Mutant("it is reported again and again", SUCCESSION, "    w->reported = true;\n}", "}"),
    Mutant("what one cannot load stays on the others", SUCCESSION, "    if (!w->load_failed)\n        return false;", "    if (true)\n        return false;"),
    Mutant("a canary that fails is not reported", SUCCESSION, "    configuration_tell(c, CONFIGURATION_CANARY_FAILED, t, evidence);\n", ""),
    Mutant("SIGHUP does not release it", SUCCESSION, "    configuration_use(c, d, 0);\n}", "}"),
    Mutant("SIGHUP ends an operator's rollback", SUCCESSION, "c->withdrawn == NULL || store_view(c->options.store).held_why == NULL", "c->withdrawn == NULL"),
    Mutant("report is not read again", SUCCESSION, "            canary_applied(t, true);\n", ";\n"),
    Mutant("what goes back is forgotten by a restart", SUCCESSION, "        store_hold(store, from->id, number, why.message);\n", ""),
    Mutant("where nothing is kept nothing goes back", RUNS, "    t->failed.restores = true;\n    t->sent.progress = PROGRESS_RESTORING;\n    t->failed.why = *why;\n", "    t->sent.progress = PROGRESS_RESTORING;\n    t->failed.why = *why;\n"),
    Mutant("a file goes back without its files", SUCCESSION, "bool files = to == NULL && !from->with_files;", "bool files = to == NULL;"),
    Mutant("the last good one is dropped", STORE, "        oldest -= s->entries[oldest].v.number == s->proven;\n", ""),
    Mutant("it goes back to itself", STORE, "return store_is_proven(s, id) ? 0 : s->proven;", "return s->proven;"),
    Mutant("what an earlier daemon ran is not known to be good", STORE, "s->count > 0 ? s->entries[0].v.number : 0, &number", "0, &number"),
))

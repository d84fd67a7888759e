"""The plan: which lines are ours, what is written to them (servers/change/diff*), and whether it is (servers/change/plan, servers/change/loss_limit)."""

from .mutant import Mutant, Room

DIFF = "servers/change/diff.c"
SERVER = "servers/change/diff_server.c"
ALIENS = "servers/change/diff_unsupported.c"
PLAN = "servers/change/plan.c"
LOSS_LIMIT = "servers/change/loss_limit.c"
NOTICE = "servers/change/loss_notice.c"

LINES = (
    Mutant("backup servers are ours", DIFF, "if (s->backup || keep_glob", "if (keep_glob"),
    Mutant("HAPROXY_KEEP_SERVERS is not asked", DIFF, "if (s->backup || keep_glob(s->name, rules) != NULL)", "if (s->backup)"),
    Mutant("the first of two equal names counts as single", DIFF,
           "l->list[i - 1].doubled = l->list[i].doubled = true;", "l->list[i].doubled = true;"),
    Mutant("the last of equal names decides", DIFF,
           "(x->server > y->server) - (x->server < y->server)", "(x->server < y->server) - (x->server > y->server)"),
    Mutant("a foreign line among equal names does not protect them", DIFF,
           "if (l->list[*i].foreign && !decides->foreign)", "if (false)"),
    Mutant("lines in maintenance count as live", DIFF, "d->live_count += !s->maintenance;", "d->live_count++;"),
    Mutant("a name that a server-template makes is taken", DIFF, "t = backend_find_template(actual, name);", "t = NULL;"),
    Mutant("the name of a backup server is taken", DIFF, "if (line != NULL && line->foreign)", "if (false)"),
    Mutant("what a server-template makes is parked", DIFF,
           "!line->doubled && backend_find_template(m->actual, line->server->name) == NULL;", "!line->doubled;"),
    Mutant("equal names are parked", DIFF, "m->rules->parking != NULL && !line->doubled &&", "m->rules->parking != NULL &&"),
)

PARKING = (
    Mutant("what may wait is removed at once", DIFF, ".lazy = verdict == PARKING_LAZY;", ".lazy = false;"),
    Mutant("more is parked than there is room", DIFF, "if (!spare && m->room == 0)", "if (false)"),
    Mutant("spares take the room of others", DIFF, "m->room -= !spare;", "m->room -= m->room > 0;"),
    Mutant("a spare that is added needs no transaction", DIFF, ".structural = true;", ".structural = false;"),
    Mutant("spares without end", DIFF, "i < m->desired->spare_count && m->parked < PARKING_MAX;", "i < m->desired->spare_count;"),
    Mutant("a lazy removal carries itself", DIFF, "(d->changes[i].structural && !d->changes[i].lazy);", "d->changes[i].structural;"),
    Mutant("lazy removals do not go along with a change of the backend", DIFF,
           "bool carried = d->backend_change || d->create_backend;", "bool carried = d->create_backend;"),
    Mutant("a parked server is a spare no more", SERVER, "c->parks = true;", "c->parks = false;"),
)

WRITES = (
    Mutant("of equal names one is changed without a transaction", DIFF, "line == NULL || line->doubled ||", "line == NULL ||"),
    Mutant("our line stays where the name cannot be ours", DIFF, "        if (ours)\n", "        if (ours && why == NULL)\n"),
    Mutant("servers that drain are added", DIFF, "else if (want->state == SERVER_LIVE)", "else"),
    Mutant("servers that drain keep the backend from being held", DIFF, "m->live += want->state == SERVER_LIVE;", "m->live++;"),
    Mutant("removals come before additions", DIFF, "(int)x->op - (int)y->op", "(int)y->op - (int)x->op"),
    Mutant("an undecided wish is written", DIFF,
           "if (desired->state == DESIRED_NOT_SYNCED || desired->state == DESIRED_UNDECIDED)", "if (desired->state == DESIRED_NOT_SYNCED)"),
    Mutant("a backend that nobody asked for is made", DIFF, "if (!actual->exists && !rules->create_backend)", "if (false)"),
    Mutant("ALLOW_EMPTY=false does not hold", DIFF, "if (m.live == 0 && !rules->allow_empty && !rules->others_up) {", "if (false) {"),
    Mutant("ALLOW_EMPTY=true holds", DIFF, "if (m.live == 0 && !rules->allow_empty && !rules->others_up) {", "if (m.live == 0 && !rules->others_up) {"),
    Mutant("what is held is still among the changes", DIFF, "        drop_changes(ret);\n", ""),
    Mutant("default-server is switched on again and again", DIFF, " && !actual->default_send_proxy_v2) {", ") {"),
    Mutant("an httpchk of ours is not written", DIFF, 'http ? "httpchk" : rules->adv_check', "rules->adv_check"),
    Mutant("announced losses are held back", DIFF,
           "if (c->loss && !c->announced && (is_held", "if (c->loss && (is_held"),
    Mutant("what is left of a braked write goes for lazy removals alone", DIFF, "    drop_idle(d);\n", ""),
)

FIELDS = (
    Mutant("check ports that are not ours are written", SERVER, "return rules->own_check_port ? desired->check_port : 0;", "return desired->check_port;"),
    Mutant("check ports that are not ours are cleared", SERVER, "if (!own_port || s->check_port == port)", "if (s->check_port == port)"),
    Mutant("another port is not seen", SERVER, "if (s->port != want->port) {", "if (s->port == 0) {"),
    Mutant("a weight by hand is set back", SERVER,
           "weight >= 0 ? weight : s->weight >= 0 ? s->weight : SERVER_WEIGHT_DEFAULT;", "weight >= 0 ? weight : SERVER_WEIGHT_DEFAULT;"),
    Mutant("a new server outweighs the adopted ones", SERVER, "    c->server.weight = weight;\n", ""),
    Mutant("a new server gets the weight of one that leaves", SERVER, "        if (desired_find(desired, s->name) == NULL)\n            continue;\n", ""),
    Mutant("a new server gets one of several weights", SERVER, "|| (common >= 0 && s->weight != common))", ")"),
    Mutant("a new server gets no connections as the others do", SERVER, "if (s->weight < 1 || ", "if (s->weight < 0 || "),
    Mutant("a drain goes into the file though HAProxy can be told", SERVER, "else if (!rules->runtime)", "else"),
    Mutant("a server that comes back stays in maintenance", SERVER, 'own_maintenance(s, false, "maintenance off", f);', ";"),
    Mutant("a drain is no loss", SERVER, "c->loss = c->announced = to_be.maintenance && !is->maintenance;", ""),
    Mutant("a line in maintenance is a loss", SERVER, "c->loss = !is->maintenance;", "c->loss = true;"),
    Mutant("what was announced counts for the brake", SERVER, "if (c->loss && !c->announced)", "if (c->loss)"),
    Mutant("no loss counts for the brake", SERVER, "        d->loss_count++;\n", "        ;\n"),
    Mutant("an address that the line lacks is told to HAProxy", SERVER, " || is->port == 0);", ");"),
    Mutant("a check port that goes is told to HAProxy", SERVER,
           "if ((c->fields & SERVER_CHECK_PORT) != 0 && c->server.check_port == 0)", "if (false)"),
    Mutant("a check that is switched on is told to HAProxy", SERVER,
           "SERVER_MAINTENANCE | SERVER_CHECK_PORT;", "SERVER_MAINTENANCE | SERVER_CHECK_PORT | SERVER_CHECK;"),
    Mutant("send-proxy-v2 of a line counts beside default-server", SERVER,
           "!rules->proxy_v2 && !rules->keep_settings && s->send_proxy_v2", "s->send_proxy_v2"),
    Mutant("a line that the API shows, too, is still said to be its own", ALIENS,
           "return backend_find(b, w->name) == NULL;", "return true;"),
)

VERDICTS = (
    Mutant("any line that the API lacks makes a reload", PLAN, "if (!actual->unsupported[i].only_shown)", "if (false)"),
    Mutant("a refusal reloads without a reload that failed", PLAN, "return dirty && file_is_behind", "return file_is_behind"),
    Mutant("a held backend is not reloaded again", PLAN, "return dirty ? PLAN_RELOAD_AGAIN : PLAN_NO_ENDPOINT;", "return PLAN_NO_ENDPOINT;"),
    Mutant("a reload that failed is forgotten once in step", PLAN, "return dirty ? PLAN_RELOAD_AGAIN : PLAN_IN_SYNC;", "return PLAN_IN_SYNC;"),
    Mutant("an empty wish does not suspend the loss limit", PLAN, "    if (desired->state != DESIRED_OK) {\n        loss_limit_suspend", "    if (false) {\n        loss_limit_suspend"),
    Mutant("an undecided wish does not suspend the loss limit", PLAN,
           "        loss_limit_suspend(loss_limit, now_ms);\n        return;\n    }\n    diff_compute(", "        return;\n    }\n    diff_compute("),
    Mutant("a file that is refused is a report of no loss", PLAN, "    if (p->diff.verdict == DIFF_REFUSE)\n        return;\n", ""),
    Mutant("a server that is wanted again has left", NOTICE, "return desired_find(n->desired, server) != NULL ||", "return"),
    Mutant("one that is announced after it left counts on", NOTICE, "if (desired->skips[i].announced && desired->", "if (false && desired->"),
    Mutant("a loss that was not announced makes one uncounted", NOTICE, "if (desired->skips[i].announced && desired->", "if (desired->"),
    Mutant("the next plan is made when the last one goes", PLAN, "until_ms < p->delayed_until_ms", "until_ms > p->delayed_until_ms"),
    Mutant("the brake holds everything", PLAN,
           "if (!diff_withhold_losses(&p->diff, plan_is_delayed, p))", "if (!diff_withhold_losses(&p->diff, plan_is_delayed, p) || true)"),
    Mutant("the loss limit hides a reload that failed", PLAN, "p->verdict = dirty ? PLAN_RELOAD_AGAIN : PLAN_LOSS_LIMIT;", "p->verdict = PLAN_LOSS_LIMIT;"),
    Mutant("the brake lets losses through", PLAN,
           "if (!diff_withhold_losses(&p->diff, plan_is_delayed, p))", "if (false)"),
    Mutant("paused does not pause", PLAN, "if (!desired->paused && !rules->dry_run)", "if (!rules->dry_run)"),
    Mutant("DRY_RUN writes", PLAN, "if (!desired->paused && !rules->dry_run)", "if (!desired->paused)"),
    Mutant("paused still reloads", PLAN,
           "if (p->verdict != PLAN_WRITE && p->verdict != PLAN_RELOAD_AGAIN)", "if (p->verdict != PLAN_WRITE)"),
    Mutant("an undecided wish is refused, not waited for", PLAN,
           "if (desired->state == DESIRED_NOT_SYNCED || desired->state == DESIRED_UNDECIDED) {", "if (desired->state == DESIRED_NOT_SYNCED) {"),
    Mutant("exactly MAX_LOSS_PERCENT is too much", LOSS_LIMIT, "* 100 > (uint64_t)base", "* 100 >= (uint64_t)base"),
    Mutant("the loss limit forgets what left", LOSS_LIMIT, "return !l->held && counts(l, r->now_ms) &&", "return false &&"),
    Mutant("what left counts for ever", LOSS_LIMIT, "return !l->held && counts(l, r->now_ms) &&", "return !l->held &&"),
    Mutant("a held server that is gone by another hand counts on", LOSS_LIMIT, "return !l->held && counts", "return counts"),
    Mutant("a return does not uncount", LOSS_LIMIT, " && !r->returned(r->arg, l->server);", ";"),
    Mutant("a loss that may leave and does not is a new one after its time", LOSS_LIMIT,
           "    if (is_lost(r, l->server))\n        return true;\n", "    if (is_lost(r, l->server) && counts(l, r->now_ms))\n        return true;\n"),
    Mutant("what is held does not count", LOSS_LIMIT, "count += counts(&b->losses[i], now_ms);", "count += counts(&b->losses[i], now_ms) && !b->losses[i].held;"),
    Mutant("what was held and left counts on", LOSS_LIMIT, "count += counts(&b->losses[i], now_ms);", "count += 1;"),
    Mutant("new losses of a report are judged one by one", LOSS_LIMIT, "+ new_count, base =", "+ 1, base ="),
    Mutant("a loss is measured against those that are left", LOSS_LIMIT, "return oldest != NULL ? oldest->live : live;", "return live;"),
    Mutant("the base is that of the newest loss", LOSS_LIMIT, "l->until_ms < oldest->until_ms ||", "l->until_ms > oldest->until_ms ||"),
    Mutant("the base is that of a loss that does not count any more", LOSS_LIMIT, "if (counts(l, now_ms) && older)", "if (older)"),
    Mutant("what may leave is among the live ones", LOSS_LIMIT, "return let_go < r->live ? r->live - let_go : 0;", "return let_go < r->live ? r->live : 0;"),
    Mutant("what is held is not among the live ones", LOSS_LIMIT,
           "let_go += !loss_limit_is_delayed(&b->losses[i], r->now_ms) && is_lost", "let_go += is_lost"),
    Mutant("the loss limit holds for longer than its period", LOSS_LIMIT, "return now_ms < l->until_ms;", "return now_ms <= l->until_ms;"),
    Mutant("who is held is let go when nothing is known for a time", LOSS_LIMIT,
           "keep_if(!b->losses[i].held && counts(&b->losses[i], now_ms), ", "keep_if(true, "),
    Mutant("what left is forgotten when nothing is known for a time", LOSS_LIMIT,
           "keep_if(!b->losses[i].held && counts(&b->losses[i], now_ms), ", "keep_if(false, "),
    Mutant("without a limit losses are remembered", LOSS_LIMIT, "if (r->max_percent >= 100) {", "if (false) {"),
)

ROOMS = (
    Room("difference", ("test_diff", "test_diff_state", "test_diff_route", "test_diff_parking", "test_plan"), LINES + PARKING + WRITES + FIELDS),
    Room("plan", ("test_plan", "test_loss_limit"), VERDICTS),
)

"""Templates in the daemon: what is watched, which objects of which namespace there are, and what a copy of the daemon may do."""

from .mutant import Mutant, room

SINK = "daemon/template/namespace_sink.c"
WATCHES = "daemon/template/watches.c"
DISCOVERY = "kube/discovery.c"
LINES = "base/lines.c"
RENDERS = "daemon/template/renders.c"
DECODE = "kube/decode/decode.c"
SANDBOX = "host/sandbox.c"
EVENTS = "daemon/events.c"
LOSSES = "daemon/template/losses.c"
CACHE = "model/cache.c"

room("templates, one namespace's share of a cache", ("test_namespace_sink",), (
    Mutant("a list sweeps other namespaces", SINK, "    if (!str_has_prefix(name, w->sink->prefix))\n        return;\n", ""),
    Mutant("a list sweeps nothing", SINK, "    cache_each(s->to, sweep_one, &w);\n", ""),
    Mutant("what cannot be read goes", SINK, "        sink_see(s, change->name);\n", "        ;\n"),
    Mutant("an empty list is no news", SINK, "bool changed = sink_sweep(s) || !s->synced;", "bool changed = sink_sweep(s);"),
    Mutant("each list is news", SINK, "    s->synced = true;\n", ""),
    Mutant("a list that begins again has what the other had", SINK, "        sink_forget_seen(s);\n        s->seen = cache_new(&seen_record);", "        if (s->seen == NULL)\n            s->seen = cache_new(&seen_record);"),
))
room("templates, whether two sets watch the same", ("test_watches",), (
    Mutant("another name is the same", WATCHES, "str_eq(a->name, b->name) && ", ""),
    Mutant("another kind is the same", WATCHES, "str_eq(a->kind, b->kind) &&", ""),
    Mutant("some namespaces are all", WATCHES, "(a->namespaces == NULL) == (b->namespaces == NULL) &&", ""),
    Mutant("another selector is the same", WATCHES, "str_eq(a->label_selector, b->label_selector) &&", ""),
    Mutant("other fields are the same", WATCHES, "paths_same(&a->keep, &b->keep) &&", ""),
    Mutant("another index is the same", WATCHES, "x->steps[k].index != y->steps[k].index", "false"),
))
room("templates, what a render waits for", ("test_watches",), (
    Mutant("what may not be read is nothing", WATCHES, "(status->denied == INFORMER_FORBIDDEN && complete)", "status->denied == INFORMER_FORBIDDEN"),
    Mutant("a namespace that may not be read holds up the others", WATCHES, "(status->denied == INFORMER_FORBIDDEN && complete)", "(false && complete)"),
    Mutant("what is not served is waited for", WATCHES, "status->synced || status->denied == INFORMER_NOT_SERVED ||", "status->synced ||"),
    Mutant("what was known last is waited for", WATCHES, "return status->synced ||", "return (status->synced && !status->stale) ||"),
))
room("templates, what is reported of a cache", ("test_cache",), (
    Mutant("what goes is not reported", CACHE, "            c->goes(c->arg, e->object);", "            ;"),
    Mutant("what comes is not reported", CACHE, "        if (c->comes != NULL)\n            c->comes(c->arg, e->object);\n    }\n    entries_add(to, e);", "    }\n    entries_add(to, e);"),
    Mutant("the first list is not reported", CACHE, "    e->version = c->version + 1;\n    if (c->comes != NULL)\n        c->comes(c->arg, e->object);", "    e->version = c->version + 1;"),
))
room("templates, remarks", ("test_remarks",), (
    Mutant("one namespace has all remarks", "daemon/template/remarks.c", "? REMARKS_MAX / tally_count(&namespaces) :", "? REMARKS_MAX :"),
    Mutant("all namespaces are one", "daemon/template/remarks.c", "tally_add(&counts, m.namespace, 1)", "tally_add(&counts, NULL, 1)"),
))
room("templates, budgets", ("test_budget",), (
    Mutant("the oldest are left out", "template/budget.c", "int order = strcmp(x->created, y->created);", "int order = strcmp(y->created, x->created);"),
    Mutant("the budget is for all", "template/budget.c", "    s->count = s->bytes = 0;\n", "    s->bytes = 0;\n"),
    Mutant("all is one namespace", "template/budget.c", "    if (strcspn(before, \"/\") != len || strncmp(before, o->name, len) != 0)\n", "    if (false)\n"),
    Mutant("none is a budget of nothing", "template/budget.c", "if (namespace_bytes == 0 || cache_bytes", "if (cache_bytes"),
))
room("templates, the loss limit", ("test_losses",), (
    Mutant("what is announced is a loss", LOSSES, "if (!fresh && !seen->announced && !e->announced)", "if (!fresh && !e->announced)"),
    Mutant("what is given up is a loss", LOSSES, "if (!fresh && !seen->announced && !e->announced)", "if (!fresh && !seen->announced)"),
    Mutant("what no render has seen is a loss", LOSSES, "if (!fresh && !seen->announced && !e->announced)", "if (!seen->announced && !e->announced)"),
    Mutant("what is withheld is a loss", LOSSES, ".announced = l->announced || withheld,", ".announced = l->announced,"),
    Mutant("an announcement that comes later is not heard", LOSSES, "if (m == NULL || (!seen->ready && !seen->announced))", "if (m == NULL || !seen->ready)"),
    Mutant("what is not ready is there", LOSSES, '.ready = is_condition(one, "ready", true),', ".ready = true,"),
    Mutant("what moves to another slice is lost", LOSSES, "if (m == NULL || m->there == 0 || --m->there > 0)", "if (m == NULL || m->there == 0 || --m->there > 99)"),
    Mutant("those that come make a loss smaller", LOSSES, "- (g->fresh_since + 1 == l->decisions ? g->fresh : 0)", ""),
    Mutant("a Service's endpoints are all endpoints", LOSSES, 'mem_printf("%s/%s", namespace, service)', 'mem_printf("%s", namespace)'),
    Mutant("a class is one of many", LOSSES, ": kind == LOSSES_OF_CLASSES ? o->name", ": kind == LOSSES_OF_CLASSES ? \"\""),
    Mutant("the only object may not go", LOSSES, "f->kind == LOSSES_OF_OBJECTS && live == 1 ? 2 : live", "live"),
    Mutant("a pod of another namespace counts", LOSSES, ".group = kind == LOSSES_OF_PODS      ? namespace", '.group = kind == LOSSES_OF_PODS      ? ""'),
    Mutant("a pod that is not ready is there", LOSSES, "kind != LOSSES_OF_PODS || pods_is_ready(root)", "true"),
    Mutant("what stays is all that the slice had", LOSSES, "if (m != NULL && m->lost > 0 && g->lost[m->lost - 1].past == past)", "if (m != NULL || true)"),
    Mutant("what stays has no end", LOSSES, "if (!loss_limit_delays(&g->limit, m->name, now_ms, &until_ms)) {", "(void)loss_limit_delays(&g->limit, m->name, now_ms, &until_ms);\n        if (false) {"),
    Mutant("nobody comes back for what stays", LOSSES, "due_ms = until_ms;\n        }", ";\n        }"),
    Mutant("what vanishes during a restart is not missed", LOSSES, "            followed_goes(f, &o);\n", ""),
    Mutant("what is delayed goes with a restart", LOSSES, "        cache_each(lost, print_object, to);\n", ""),
    Mutant("what is watched otherwise is missed", LOSSES, "if (strncmp(buf_str(&own), line, own.len - 1) == 0 && line", "if (own.len > 0 || line"),
    Mutant("what is not listed yet is called lost", LOSSES, "l->recalled ? NULL : f->groups", "f->groups"),
    Mutant("what goes is not kept", LOSSES, "            l->changed = true;\n            member_unlose", "            member_unlose"),
    Mutant("100 is a limit", LOSSES, "        if (max_percent < 100)\n", "        if (max_percent > 100)\n"),
))
room("templates, which sets share watches", ("test_watches",), (
    Mutant("other namespaces are no matter", WATCHES, "(follows || namespaces_same(a->namespaces, b->namespaces)) &&", ""),
    Mutant("some of the namespaces are all of them", WATCHES, "    return *a == *b; /* both end with NULL */\n", "    return true;\n"),
    Mutant("watches go with the first that shares them", WATCHES, "    w->references++;\n", ""),
    Mutant("the set of watches goes before them", "template/set.c", "    s->references++;\n", ""),
    Mutant("what watches otherwise shares", WATCHES, "        if (!watch_same(&w->set->watches[i], &set->watches[i], follows))\n", "        if (false && !watch_same(&w->set->watches[i], &set->watches[i], follows))\n"),
))
room("templates, from a kind to a path", ("test_discovery",), (
    Mutant("a subresource is the resource", DISCOVERY, "if (name == NULL || strchr(name, '/') != NULL || !is_it)", "if (name == NULL || !is_it)"),
    Mutant("what cannot be watched is watched", DISCOVERY, 'if (!discovery_has_verb(resource, "list") || !discovery_has_verb(resource, "watch"))', "if (false && discovery_has_verb(resource, \"\"))"),
    Mutant("what is not there is wrong", DISCOVERY, "return error_set(err, ERROR_GONE,", "return error_set(err, ERROR_INVALID,"),
    Mutant("the core group is one of the others", DISCOVERY, "strchr(api_version, '/') != NULL ? \"apis\" : \"api\"", '"apis"'),
))
room("templates, names of objects", ("test_decode_by_namespace",), (
    Mutant("objects of two namespaces are one", DECODE, "    if (d->of->by_namespace && json_get_line", "    if (false && json_get_line"),
    Mutant("all are called by their namespace", DECODE, "    if (d->of->by_namespace && json_get_line", "    if (json_get_line"),
))
room("templates, what they say of objects", ("test_events_about",), (
    Mutant("the same of another object is the same Event", EVENTS, "correlator_take(&about->correlator, reason, event_reason_warns(reason), key != NULL ? key : text,", "correlator_take(&about->correlator, reason, event_reason_warns(reason), text,"),
    Mutant("an object of no namespace has none", EVENTS, 'o->namespace != NULL ? o->namespace : "default"', 'o->namespace != NULL ? o->namespace : ""'),
))
room("templates, what a copy may do", ("test_sandbox",), (
    Mutant("any signal", SANDBOX, "ARG(kill, 1, INT, SIGKILL),", "ARG(kill, 1, 0, 0),"),
    Mutant("a copy in other namespaces", SANDBOX, "CLONE_PARENT | CLONE_PTRACE | NEW_NAMESPACES | CSIGNAL", "CLONE_PARENT | CLONE_PTRACE | CSIGNAL"),
    Mutant("a copy that shares memory", SANDBOX, "ARG(clone, 0, CLONE_VM | CLONE_VFORK | CLONE_THREAD | CLONE_PARENT", "ARG(clone, 0, CLONE_VFORK | CLONE_THREAD | CLONE_PARENT"),
    Mutant("Landlock forbids nothing", SANDBOX, ".handled_access_fs = LANDLOCK_WRITES |", ".handled_access_fs = LANDLOCK_ACCESS_FS_EXECUTE |"),
    Mutant("the folder cannot be written", SANDBOX, "(folder >= 0 && syscall(SYS_landlock_add_rule", "(false && syscall(SYS_landlock_add_rule"),
    Mutant("Landlock stays unused", SANDBOX, "        syscall(SYS_landlock_restrict_self, rules, 0) != 0)", "        false)"),
    Mutant("what is there is emptied", SANDBOX, "(abi >= 3 ? LANDLOCK_ACCESS_FS_TRUNCATE : 0)", "0u"),
    Mutant("copies without templates", SANDBOX, "with_to_fork = copies ? array_len(allowed_with_to_fork) : 0", "with_to_fork = array_len(allowed_with_to_fork)"),
))
room("templates, what a render changed", ("test_lines", "test_renders"), (
    Mutant("a line that stays is both added and removed", LINES, "        k += n >= 0;", "        k += n > 0;"),
    Mutant("what differs ends where the shorter text does", LINES, "last < least - first && before", "last < least && before"),
    Mutant("what failed meanwhile has changed all", RENDERS, "    r->differs = false;\n", "    renders_forget_changes(r);\n"),
    Mutant("a file that goes is not reported", RENDERS, "            renders_add_change(r, &r->last.list[i], \"gone\", &r->last.list[i].lines, &none);", "            ;"),
))

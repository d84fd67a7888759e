"""Configurations by way of etcd: when is what written, what goes, what is taken, what is said."""

from .mutant import Mutant, room

PUBLISHER = "daemon/etcd/publisher.c"
KEPT = "daemon/etcd/publisher_kept.c"
SOURCE = "daemon/etcd/etcd_source.c"
REPORT = "daemon/etcd/etcd_report.c"
LIST = "daemon/etcd/load_balancers.c"
PUBLISHED = "configuration/published.c"
BALANCER = "configuration/load_balancer.c"

room("etcd: publishing", ("test_etcd_streams",), (
    Mutant("the value is not compared", PUBLISHER, "= {p->plain, p->manifest};", "= {p->manifest, p->manifest};"),
    Mutant("the manifest is not compared", PUBLISHER, "= {p->plain, p->manifest};", "= {p->plain, p->plain};"),
    Mutant("parts are not compared", PUBLISHER, "size_t compare_count = 2 + kept_compare(&p->kept, m, compares + 2);",
           "size_t compare_count = 2;"),
    Mutant("a part is put over another one's", PUBLISHER, ".compares = &same, .compare_count = 1,", ".compares = &same, .compare_count = 0,"),
    Mutant("nothing is compared when the old goes", PUBLISHER, ".compares = &unchanged, .compare_count = 1,",
           ".compares = &unchanged, .compare_count = 0,"),
    Mutant("the version has no key of its own", PUBLISHER, ".put_count = array_len(puts)};", ".put_count = 2};"),
    Mutant("a version counts on from the manifest", PUBLISHER, "kept_next_version(&p->kept, p->there.version, p->version)",
           "p->there.version + 1"),
    Mutant("a round that was interrupted is not begun again", PUBLISHER, "timer_set(&p->timer, p->again ? 0 : ms);",
           "timer_set(&p->timer, ms);"),
    Mutant("an error is the end", PUBLISHER, "    publisher_retry(p);\n}\n\nstatic void publisher_done", "}\n\nstatic void publisher_done"),
    Mutant("a conflict is the end", PUBLISHER, "    publisher_retry(p);\n}\n\n/* ---- what goes", "}\n\n/* ---- what goes"),
    Mutant("it is in sync with what is older", PUBLISHER, "p->in_sync = p->publication.document == p->document;", "p->in_sync = true;"),
    Mutant("a commit that another one won counts", PUBLISHER, "    if (!succeeded) {\n        publisher_lost(p);\n        return;\n    }\n    metric_add",
           "    metric_add"),
    Mutant("the manifest is the whole of it", PUBLISHER, "len == p->plain_len && published_is(plain, len, p->plain_hash);", "true;"),
    Mutant("files count for nothing", PUBLISHER, "published_manifest_same(&p->there, &p->publication.manifest) &&", "true &&"),
    Mutant("a part is believed by its name", PUBLISHER, "if (revision == 0 || kept_part_revision(&p->verified, hash) != revision)", "if (revision == 0)"),
    Mutant("a part is what it is", PUBLISHER, "published_is(got->list[0].value, got->list[0].value_len, part.hash))", "true)"),
    Mutant("somebody else's value is written over", PUBLISHER, "if (p->plain.mod_revision != 0 && last == NULL)", "if (false)"),
    Mutant("a manifest that is gone is somebody else's", PUBLISHER, "p->there.version != 0 ? &p->there : kept_newest(&p->kept);",
           "p->there.version != 0 ? &p->there : NULL;"),
    Mutant("another cluster's is written over", PUBLISHER, "!str_eq(last->cluster, cluster))", "false)"),
    Mutant("who does not lead any more goes on", PUBLISHER, "    timer_cancel(&p->timer);\n    publisher_clear(p);\n    p->in_sync = false;", "    p->in_sync = false;"),
    Mutant("a new configuration waits", PUBLISHER, "    p->tries = 0;\n    publisher_is_news(p);", "    p->tries = 0;"),
))
room("etcd: keeping", ("test_publisher_kept", "test_etcd_streams"), (
    Mutant("one version more stays", KEPT, "stay = keep - 1 < k->version_count ? keep - 1 : k->version_count;", "stay = keep < k->version_count ? keep : k->version_count;"),
    Mutant("the oldest stay", KEPT, "return (x < y) - (x > y);", "return (x > y) - (x < y);"),
    Mutant("what is published goes", KEPT, "if (!published_manifest_names(m, k->parts[i].hash) && !kept_is_named", "if (!kept_is_named"),
    Mutant("what older versions name goes", KEPT, " && !kept_is_named(k, stay, k->parts[i].hash))", ")"),
    Mutant("what versions that go name stays", KEPT, "!kept_is_named(k, stay, k->parts[i].hash)", "!kept_is_named(k, k->version_count, k->parts[i].hash)"),
    Mutant("more goes than a transaction takes", KEPT, "i < k->part_count && count < KEPT_DELETES_MAX", "i < k->part_count"),
    Mutant("parts that are not named are compared", KEPT, "        if (published_manifest_names(m, k->parts[i].hash))\n            ret[count++] = (struct etcd_compare)",
           "            ret[count++] = (struct etcd_compare)"),
    Mutant("anything is a part", KEPT, "if (strlen(kept_name(got->list[i].key)) == DIGEST_SHA256_HEX_BYTES - 1)", "if (true)"),
    Mutant("a version is called as it likes", KEPT, "if (!str_eq(kept_name(got->list[i].key), number)) {", "if (false) {"),
    Mutant("what was verified is known for ever", KEPT, "if (kept_part_revision(there, k->parts[i].hash) == k->parts[i].mod_revision)", "if (true)"),
    Mutant("a version that is kept counts for nothing", KEPT, "newest = there > newest ? there : newest;", "newest = there;"),
    Mutant("what was seen last counts for nothing", KEPT, "return (last > newest ? last : newest) + 1;", "return newest + 1;"),
))
room("etcd: taking", ("test_etcd_streams",), (
    Mutant("a part is taken as it is", SOURCE, "else if (!published_is(got->list[0].value, got->list[0].value_len, hash))", "else if (false)"),
    Mutant("somebody else's value is taken", SOURCE, "return !published_is(buf_str(&s->plain), s->plain.len, s->manifest.hash) &&", "return false &&"),
    Mutant("a value without its manifest is taken", SOURCE, "    else if (got->count > 0)\n        source_refuse(", "    else if (false)\n        source_refuse("),
    Mutant("the manifest is another revision's", SOURCE, "{.key = key, .revision = revision};", "{.key = key};"),
    Mutant("a failure is the end", SOURCE, "    timer_set(&s->retry, backoff_limit_ms(RETRY_MIN_MS, RETRY_MAX_MS, s->tries++));", "    s->tries++;"),
    Mutant("what is compacted is the end", SOURCE, "log_int(\"compact_revision\", compact_revision));\n    source_read(s);", "log_int(\"compact_revision\", compact_revision));"),
    Mutant("it is watched from too late on", SOURCE, "etcd_watch_start(s->watch, s->revision + 1);", "etcd_watch_start(s->watch, s->revision + 2);"),
    Mutant("it is never looked at again", SOURCE, "    timer_set(&s->retry, s->options.settings->resync_period_ms);\n    s->callbacks.made", "    s->callbacks.made"),
    Mutant("whatever lies there is still that", SOURCE, "    if (err != NULL ||\n", "    if (err != NULL || true ||\n"),
    Mutant("it is looked at once", SOURCE, "        timer_set(&s->retry, s->options.settings->resync_period_ms);\n    else\n        source_read(s);", "        ;\n    else\n        source_read(s);"),
    Mutant("its version is another one", SOURCE, "s->version = s->manifest.version;", "s->version = s->manifest.version + 1;"),
    Mutant("parts of before are added", SOURCE, "    buf_clear(&s->text);\n", ""),
    Mutant("files of before are added", SOURCE, "    buf_clear(&s->files);\n", ""),
    Mutant("what was wrong stays said", SOURCE, "    error_clear(&s->problem);\n", ""),
))
room("etcd: saying", ("test_etcd_report",), (
    Mutant("the first one counts", REPORT, "if (i == 0 || state > l->state) {", "if (i == 0) {"),
    Mutant("the last one counts", REPORT, "if (i == 0 || state > l->state) {", "if (true) {"),
    Mutant("not all run the same", REPORT, "        else if (!str_eq(l->sha256, runs))\n            l->sha256[0] = '\\0';\n", ""),
    Mutant("what is withdrawn runs", REPORT, " || v->withdrawn != NULL", ""),
    Mutant("one that does not answer runs", REPORT, " || v->withdrawn != NULL || v->away;", " || v->withdrawn != NULL;"),
    Mutant("what fails and is tried again runs", REPORT, ' || v->failure != NULL', ""),
    Mutant("what cannot be taken is no matter", REPORT, "if (problem != NULL) {", "if (false) {"),
    Mutant("a moment behind is written", REPORT, "behind_ms < BEHIND_MS)", "false)"),
    Mutant("it never says that it is behind", REPORT, "behind_ms < BEHIND_MS)", "true)"),
    Mutant("it says it again and again", REPORT, "else if (r->said == NULL || !str_eq(r->said, r->to_say))", "else if (true)"),
    Mutant("the lease is not kept", REPORT, "else if (now - r->kept_ms >= KEEP_ALIVE_MS)", "else if (false)"),
    Mutant("it lies there for ever", REPORT, ", .lease = r->lease};", "};"),
    Mutant("a lease that ended is kept", REPORT, "    if (ttl_s <= 0) {", "    if (ttl_s < 0) {"),
    Mutant("a put without its lease is tried for ever", REPORT, "            r->lease = 0;\n        report_fail", "            ;\n        report_fail"),
    Mutant("a lost answer is none", REPORT, "    report_forget(r); /* it may be", "    /* it may be"),
    Mutant("who leads again has said it", REPORT, "    report_forget(r); /* who leads", "    /* who leads"),
    Mutant("a state is new each time", REPORT, "if (r->since_ms == 0 || l.state != r->state)", "if (true)"),
    Mutant("a state is as old as the first", REPORT, "if (r->since_ms == 0 || l.state != r->state)", "if (r->since_ms == 0)"),
    Mutant("a failure is the end", REPORT, "    report_rest(r, RETRY_MS);", ""),
))
room("etcd: listing", ("test_load_balancers",), (
    Mutant("a name is what is said", LIST, "    free(one.name);\n    one.name = mem_strdup(name);\n", ""),
    Mutant("one that is gone stays", LIST, "        if (events[i].deleted)\n            list_remove(l, events[i].kv->key + strlen(l->prefix));\n        else\n", "        if (!events[i].deleted)\n"),
    Mutant("one that says nonsense stays", LIST, "        list_remove(l, name);\n        return;", "        return;"),
    Mutant("one that is gone meanwhile stays", LIST, "    list_clear(l);\n    for", "    for"),
    Mutant("no order", LIST, "    return strcmp(name, ((const struct load_balancer *)one)->name);", "    return -strcmp(name, ((const struct load_balancer *)one)->name);"),
    Mutant("a failure is the end", LIST, "        timer_set(&l->retry, RETRY_MS);\n", ""),
    Mutant("what is compacted is the end", LIST, "    (void)compact_revision;\n    load_balancers_read(arg);", "    (void)compact_revision, (void)arg;"),
    Mutant("it is watched from too late on", LIST, "got->revision + 1", "got->revision + 2"),
    Mutant("no end", LIST, "if (l->count == LOAD_BALANCERS_MAX) {", "if (false) {"),
    Mutant("an older version is in sync", LIST, " && l->version != version ?", " && false ?"),
    Mutant("any version is behind of none", LIST, " && version != 0 &&", " &&"),
    Mutant("one that failed is behind", LIST, "l->state == LOAD_BALANCER_IN_SYNC && version", "version"),
    Mutant("what is stopped goes on", LIST, "    etcd_watch_stop(l->watch);\n    timer_cancel", "    timer_cancel"),
))
room("etcd: forms", ("test_published", "test_etcd_streams"), (
    Mutant("a sum is anything", PUBLISHED, 'strspn(text, "0123456789abcdef") == len;', "true;"),
    Mutant("a part too few", PUBLISHED, "yyjson_arr_size(list) != parts_of(len) ||", "yyjson_arr_size(list) > parts_of(len) ||"),
    Mutant("a certificate is published", PUBLISHED, "if (f->kind == STORAGE_CERTIFICATE) {", "if (false) {"),
    Mutant("a key in a file is published", PUBLISHED, "if (refuse_key(what, f->bytes, f->len, err) != 0)", "if (false)"),
    Mutant("a key in the configuration is published", PUBLISHED, 'if (refuse_key("the configuration", d->content->text, d->content->len, err) != 0)', "if (false)"),
    Mutant("files that differ are the same", PUBLISHED, "str_eq(a->list[i].hash, b->list[i].hash);", "true;"),
    Mutant("names of files are no matter", PUBLISHED, "str_eq(a->list[i].name, b->list[i].name) &&", "true &&"),
    Mutant("certificates are no matter", PUBLISHED, "same = str_eq(a->certificates[i], b->certificates[i]);", "same = true;"),
    Mutant("the last part is whole", PUBLISHED, "left < PUBLISHED_PART_MAX_BYTES ? left : PUBLISHED_PART_MAX_BYTES}", "PUBLISHED_PART_MAX_BYTES}"),
    Mutant("a file may be another one", PUBLISHED, "!published_is(bytes + at, f->len, f->hash))", "false)"),
    Mutant("bytes may be left", PUBLISHED, "return at == len ? 0 :", "return true ? 0 :"),
    Mutant("a format of the future is known", PUBLISHED, "if (format != FORMAT)", "if (false)"),
    Mutant("a large one is a value", PUBLISHED, "bool fits = text->len <= PUBLISHED_PLAIN_MAX_BYTES;", "bool fits = true;"),
))
room("etcd: load balancers", ("test_load_balancer",), (
    Mutant("a state may be any", BALANCER, "load_balancer_get_state(state, &l->state, err) != 0 ||", ""),
    Mutant("HAProxies without end", BALANCER, "if (yyjson_arr_size(list) > HAPROXIES_MAX)", "if (false)"),
    Mutant("a time may be any", BALANCER, "if (since != NULL && rfc3339_parse(since, &since_us) != 0)", "if (since != NULL && rfc3339_parse(since, &since_us) > 0)"),
    Mutant("a sum may be longer", BALANCER, '"sha256", DIGEST_SHA256_HEX_BYTES - 1,', '"sha256", DIGEST_SHA256_HEX_BYTES + 1,'),
    Mutant("a version may be below 0", BALANCER, '"version", 0, INT64_MAX', '"version", -1, INT64_MAX'),
))

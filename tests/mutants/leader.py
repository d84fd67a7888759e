"""Leader election: the rules, and the Lease that they read and write."""

from .mutant import Mutant, Room

MACHINE = "kube/lease/lease_machine.c"
LEASE = "kube/lease/lease.c"

TWO_AT_ONCE = (
    Mutant("a leader acts as long as its lease lasts, and longer", MACHINE,
           "return l->leading && now_ms < l->renewed_ms + LEASE_RENEW_DEADLINE_MS;", "return l->leading && now_ms < l->renewed_ms + 20000;"),
    Mutant("a leader acts without end", MACHINE, "return l->leading && now_ms < l->renewed_ms + LEASE_RENEW_DEADLINE_MS;", "return l->leading;"),
    Mutant("a renewal counts from its answer", MACHINE, "l->renewed_ms = l->sent_ms;", "l->renewed_ms = now_ms;"),
    Mutant("a renewal counts from the begin of the try", MACHINE, "l->renewed_ms = l->sent_ms;", "l->renewed_ms = l->round_ms;"),
    Mutant("somebody else's lease is not waited for", MACHINE, "now_ms < l->taken_until_ms || l->requests", "l->requests"),
    Mutant("renewals of others are not seen", MACHINE, "changed = first || l->missing || !lease_same_record(&l->lease, r)", "changed = first"),
    Mutant("the duration in the record does not count", MACHINE, "int32_t s = r->duration_s > 0 ? r->duration_s : LEASE_DURATION_S;", "int32_t s = LEASE_DURATION_S;"),
    Mutant("a lease is waited for 9 s", MACHINE, "taken_for(l, duration_ms(r), now_ms);", "taken_for(l, 9000, now_ms);"),
    Mutant("a shorter duration frees sooner", MACHINE, "if (now_ms + ms > l->taken_until_ms)", "if (true)"),
    Mutant("an empty holder is always a release", MACHINE, "if (given_up || (nobody && first))", "if (nobody)"),
    Mutant("a Lease that was deleted is free at once", MACHINE, "if (l->known && !l->missing && !lease_machine_may_act(l, now_ms))", "if (false)"),
    Mutant("another holder does not depose", MACHINE, "    l->held = false;\n    return depose(l);", "    l->held = false;\n    return 0;"),
    Mutant("what another one holds may still be cleaned up", MACHINE, "    l->held = false;\n    return depose(l);", "    return depose(l);"),
    Mutant("a late answer elects", MACHINE, "if (!l->leading && now_ms < l->sent_ms + LEASE_RENEW_DEADLINE_MS)", "if (!l->leading)"),
    Mutant("an answer that names another holder is a success", MACHINE, "    if (!lease_machine_is_held(l))\n        return rest(l, 0, now_ms);", ""),
    Mutant("the deadline deposes nobody", MACHINE, "if (l->leading && !lease_machine_may_act(l, now_ms))", "if (false)"),
    Mutant("one that gave up goes on", MACHINE, "    l->stopping = true;\n    l->leading = false;", "    l->stopping = true;"),
    Mutant("cleaned up for longer than the lease", MACHINE, "now_ms < l->renewed_ms + LEASE_CLEAN_UP_MS", "now_ms < l->renewed_ms + 16000"),
    Mutant("writes go on top of any version", MACHINE, "memcpy(next.version, l->lease.version, sizeof(next.version));", ""),
    Mutant("a clock that stands still renews nothing", MACHINE, "if (wall_us <= before[i] && before[i] - wall_us < 1000000u)", "if (false)"),
    Mutant("what an earlier process wrote is written again", MACHINE, "read ? (uint64_t)read_us : 0", "0"),
)

HAND_OVER = (
    Mutant("a release is not told from an empty holder", MACHINE, "if (given_up || (nobody && first))", "if (nobody && first)"),
    Mutant("a Lease that never had a holder is waited for", MACHINE, "if (given_up || (nobody && first))", "if (given_up)"),
    Mutant("a take-over comes a pause late", MACHINE, "pause = l->taken_until_ms - now_ms;", ";"),
    Mutant("a hint in the middle of a request is lost", MACHINE, "l->again = l->state != LEASE_IDLE && l->state != LEASE_OVER;", ";"),
    Mutant("hints are answered without a pause", MACHINE, "uint64_t soon = l->round_ms + LEASE_SOON_MS;", "uint64_t soon = 0;"),
    Mutant("what is under way is not given up", MACHINE, "return maybe_held ? 0 : LEASE_CANCEL | over(l);", "return LEASE_CANCEL | over(l);"),
    Mutant("somebody else's Lease is given up", MACHINE, "if (!lease_machine_is_held(l) || l->requests >= LEASE_MAX_REQUESTS)\n        return over(l);", ""),
    Mutant("a Lease that is gone is given up", MACHINE, "return l->known && !l->missing && str_eq", "return l->known && str_eq"),
    Mutant("given up for 15 s", MACHINE, "releasing ? 1 : LEASE_DURATION_S", "LEASE_DURATION_S"),
)

TRIES = (
    Mutant("each renewal looks first", MACHINE, "if (l->leading && lease_machine_is_held(l) && !l->stale)", "if (false)"),
    Mutant("a failed write is trusted", MACHINE, "    if (l->state != LEASE_READING)\n        l->stale = true;\n", ""),
    Mutant("a failed renewal waits for the next try", MACHINE, "if (was_update && retry_after_ms < 0)", "if (false)"),
    Mutant("a server that asks for a pause is asked again at once", MACHINE, "if (was_update && retry_after_ms < 0)", "if (was_update)"),
    Mutant("a huge Retry-After is waited for", MACHINE, "if (later > LEASE_MAX_RETRY_AFTER_MS)", "if (false)"),
    Mutant("conflicts go on without a pause", MACHINE, "    if (l->requests >= LEASE_MAX_REQUESTS)\n        return rest(l, 0, now_ms);\n", ""),
    Mutant("reads go on without a pause", MACHINE, "now_ms < l->taken_until_ms || l->requests >= LEASE_MAX_REQUESTS", "now_ms < l->taken_until_ms"),
    Mutant("tries come whenever the timer does", MACHINE, "l->state == LEASE_WAITING && now_ms >= l->due_ms ?", "l->state == LEASE_WAITING ?"),
    Mutant("the deadline has no timer", MACHINE, "return due == 0 || (deadline != 0 && deadline < due) ? deadline : due;", "return due;"),
    Mutant("a late success waits for the next pause", MACHINE, "l->again |= !l->leading;", ""),
    Mutant("an emptied Lease of ours is not taken back", MACHINE, "!(nobody && lease_machine_may_act(l, now_ms))", "true"),
)

RECORD = (
    Mutant("a renewal is a transition", MACHINE, "if (!ours && !creating && next.transitions < INT32_MAX)", "if (!creating && next.transitions < INT32_MAX)"),
    Mutant("a take-over is none", MACHINE, "if (!ours && !creating && next.transitions < INT32_MAX)", "if (false)"),
    Mutant("transitions overflow", MACHINE, "!creating && next.transitions < INT32_MAX", "!creating"),
    Mutant("each renewal is an acquisition", MACHINE, "if (!ours || next.acquire_time[0] == '\\0')", "if (true)"),
    Mutant("a take-over keeps the other's acquireTime", MACHINE, "if (!ours || next.acquire_time[0] == '\\0')", "if (next.acquire_time[0] == '\\0')"),
    Mutant("the label of somebody makes it another record", LEASE, "a->transitions == b->transitions;", "str_eq(a->version, b->version);"),
    Mutant("unknown members of the spec are lost", LEASE, "if (!yyjson_mut_is_obj(spec))", "if (true)"),
    Mutant("numbers of others lose digits", LEASE, "parse(read_json, len, YYJSON_READ_NUMBER_AS_RAW, err)", "parse(read_json, len, 0, err)"),
    Mutant("any JSON is a Lease", LEASE, 'if (!yyjson_equals_str(yyjson_obj_get(root, "kind"), "Lease"))', "if (false)"),
    Mutant("a huge duration wraps", LEASE, "json_get_int(of, key, 0, INT32_MAX, 0, &n, err)", "json_get_int(of, key, 0, INT64_MAX, 0, &n, err)"),
    Mutant("an event with a holder is a hint", LEASE, "(l != NULL && l->holder[0] == '\\0');", "l != NULL;"),
    Mutant("the version that was read is written, not the one that is meant", LEASE, 'lease_put_text(doc, yyjson_mut_obj_get(root, "metadata"), "resourceVersion", l->version);', ""),
)

ROOMS = (
    Room("leader", ("test_lease_machine", "test_lease_machine_random"), TWO_AT_ONCE + HAND_OVER + TRIES),
    Room("lease", ("test_lease_machine", "test_lease"), RECORD),
)

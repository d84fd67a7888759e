"""etcd's client: what is asked where and how often, what its answers mean, and from where a watch goes on."""

from .mutant import Mutant, room

CALL = "etcd/client.c"
TOKEN = "etcd/client.c"
REFUSAL = "etcd/refusal.c"
CODEC = "etcd/codec.c"
LINE = CODEC
MACHINE = "etcd/watch_machine.c"
STREAM = "etcd/watch_stream.c"
WATCH = "etcd/watch.c"

room("etcd calls", ("test_etcd_codec", "test_etcd_client"), (
    Mutant("a write that was sent is sent elsewhere", CALL, "if (call->kind->once && r->progress != HTTP_NOT_SENT)", "if (false)"),
    Mutant("a write that was not sent is given up", CALL, "if (call->kind->once && r->progress != HTTP_NOT_SENT)", "if (call->kind->once)"),
    Mutant("a write that etcd is unsure of is sent elsewhere", CALL, "if (unsure && call->kind->once)", "if (false)"),
    Mutant("a write that something else took for good is sent elsewhere", CALL, "trouble || (unknown && status < 300)", "trouble"),
    Mutant("an endpoint that refuses does not answer", CALL, "    if (!unknown && !not_now && !trouble)\n", "    if (false)\n"),
    Mutant("a write goes by a connection that was kept", CALL, ".new_connection = call->kind->once", ".new_connection = false"),
    Mutant("a silent endpoint takes all the time", CALL, "o.total_timeout_ms = call->kind->once ? left : o.connect_timeout_ms;",
           "o.total_timeout_ms = left;"),
    Mutant("nobody waits for a leader", CALL, "call->passing = call->passing || trouble || not_now;", ""),
    Mutant("a token is fetched for ever", CALL, "        call->renewed_token = true;\n", ""),
    Mutant("what one said for good beats that another was not there", CALL, "if (call->why.kind != ERROR_RETRY)",
           "if (call->why.kind != ERROR_INVALID)"),
    Mutant("the next call begins where this one was lost", "etcd/client.c", "    if (c->current == endpoint)\n        c->current =",
           "    if (false)\n        c->current ="),
    Mutant("a lease that is gone is an error", CALL, "if (r->kind == ETCD_REFUSED_NO_LEASE && call->kind->gone_is_ended)", "if (false)"),
    Mutant("an error in a stream of one line is no answer", CALL, "if (call->kind->stream &&", "if (false &&"),
    Mutant("the leader is not asked for", CALL, "        .header = ETCD_REQUIRE_LEADER,\n", ""),
    Mutant("two tokens are fetched at once", TOKEN, "    if (c->authenticating == NULL)\n", ""),
    Mutant("authentication that came on is not noticed", TOKEN, "        c->auth_off = false;\n", ""),
    Mutant("that there are no users is logged each time", TOKEN, "c->auth_off = c->auth_off_logged = true;", "c->auth_off = true;"),
    Mutant("one code of gRPC is enough", REFUSAL, "    if (!known(message, ret))\n", ""),
    Mutant("unavailable is for good", REFUSAL, "grpc_code >= 13 && grpc_code <= 15", "grpc_code == 13 || grpc_code == 15"),
    Mutant("a page of a proxy that has trouble is for good", REFUSAL, "status >= 500 ? ETCD_REFUSED_UNSURE :", "false ? ETCD_REFUSED_UNSURE :"),
    Mutant("a prefix ends at itself", CODEC, "    end[end_len - 1]++;\n", ""),
    Mutant("a prefix of bytes that cannot grow ends early", CODEC, "        end_len--;\n", "        break;\n"),
    Mutant("a number ends in letters", CODEC, "|| *end != '\\0' ||", "||"),
    Mutant("a number begins with a blank", CODEC, "    if (!digit ||", "    if ("),
    Mutant("a number is larger than it can be", CODEC, " || errno != 0)", ")"),
    Mutant("an answer needs no revision", CODEC, "return *ret > 0 ? 0 :", "return true ? 0 :"),
    Mutant("a key may be empty", CODEC, "else if (rc == 0 && ret->key_len == 0)", "else if (false)"),
    Mutant("a lease without a number is one", CODEC, "if (*ret_id == 0 || *ret_ttl_s <= 0)", "if (*ret_ttl_s <= 0)"),
))
room("etcd watches", ("test_etcd_watch_machine", "test_etcd_watch"), (
    Mutant("a check is asked of others", CALL, "return call->only_one ? 1 : ", "return "),
    Mutant("an event of another kind is a put", LINE, "if (!deleted && type[0] != '\\0' &&", "if (false &&"),
    Mutant("a deletion is a put", LINE, 'bool deleted = strcmp(type, "DELETE") == 0;', 'bool deleted = false && strcmp(type, "") == 0;'),
    Mutant("the last line is lost where it has no end", STREAM, "if (s->status == 200 && s->line.len > 0) {", "if (false) {"),
    Mutant("a line that is too long is only a lost stream", STREAM, "    s->over_cap = true;\n", ""),
    Mutant("two lines are one", STREAM, "(s->line.size > KEEP_BYTES ? buf_fini : buf_clear)(&s->line);", ";"),
    Mutant("pieces of a batch are reported one by one", WATCH, "if (!m->fragment && w->batch.count > 0)", "if (w->batch.count > 0)"),
    Mutant("what came of a stream that ended is reported behind another's", WATCH, "    etcd_watch_message_fini(&w->batch);\n    etcd_watch_stream_fini",
           "    etcd_watch_stream_fini"),
    Mutant("a callback that stops a watch is not heard", WATCH, "bit <= actions && w->turn == turn;", "bit <= actions;"),
    Mutant("a check goes on when its stream is gone", WATCH, "    etcd_call_cancel(w->check);\n", ""),
    Mutant("the same endpoint again", WATCH, "w->endpoint = (w->endpoint + 1) % count;", "w->endpoint = w->endpoint % count;"),
    Mutant("the state is reported again and again", WATCH, "news = w->reported != REPORTED_CONNECTED;", "news = true;"),
    Mutant("progress is not kept", MACHINE, "    case ETCD_WATCH_PROGRESS:\n        heard(m, e->revision);\n", "    case ETCD_WATCH_PROGRESS:\n"),
    Mutant("the last event comes twice", MACHINE, "        m->next = revision + 1;\n    if (m->missing", "        m->next = revision;\n    if (m->missing"),
    Mutant("a revision goes back", MACHINE, "    if (revision >= m->next)\n", ""),
    Mutant("waits do not grow", MACHINE, "    if (m->state == ETCD_WATCH_RUNNING && now >= m->since_ms + ETCD_WATCH_STABLE_MS)\n",
           "    if (m->state == ETCD_WATCH_RUNNING)\n"),
    Mutant("a stream that lasted is waited for as one that did not", MACHINE,
           "    if (m->state == ETCD_WATCH_RUNNING && now >= m->since_ms + ETCD_WATCH_STABLE_MS)\n", "    if (false)\n"),
    Mutant("a member that is behind is not asked", MACHINE, "| (behind ? ETCD_WATCH_CHECK : 0)", ""),
    Mutant("all that there is counts as behind", MACHINE, "bool behind = revision + 1 < m->next;", "bool behind = revision < m->next;"),
    Mutant("a member that is behind is a cluster set back", MACHINE, "    if (e->revision + 1 < m->next)\n", "    if (e->revision < m->next)\n"),
    Mutant("a cluster set back is not noticed", MACHINE, "    if (e->revision + 1 < m->next)\n", "    if (false)\n"),
    Mutant("a change that does not come is not missed", MACHINE, "if (m->missing != 0 && now >= m->missing_ms)", "if (false)"),
    Mutant("a change that came is missed", MACHINE, "    if (m->missing < m->next)\n        m->missing = 0;\n", ""),
    Mutant("a large batch over a slow way is never there", MACHINE, "        m->missing_ms = now + ETCD_WATCH_DEAF_MS;\n        if (m->check_ms", "        if (m->check_ms"),
    Mutant("what comes does not put off a check", MACHINE, "        if (m->check_ms != 0)\n            m->check_ms =", "        if (false)\n            m->check_ms ="),
    Mutant("silence is for ever", MACHINE, "if (now >= m->heard_ms + ETCD_WATCH_SILENCE_MS)", "if (false)"),
    Mutant("checks run side by side", MACHINE, "        m->check_ms = 0;\n        return ETCD_WATCH_CHECK;", "        return ETCD_WATCH_CHECK;"),
    Mutant("one check is all", MACHINE, "        m->check_ms = now + ETCD_WATCH_CHECK_MS;\n        if (e->newest", "        if (e->newest"),
    Mutant("an answer is awaited for ever", MACHINE, "return now >= m->since_ms + ETCD_WATCH_ANSWER_MS ?", "return false ?"),
    Mutant("what is stopped goes on", MACHINE, "        m->state = ETCD_WATCH_STOPPED;\n        return ETCD_WATCH_CANCEL;", "        return ETCD_WATCH_CANCEL;"),
    Mutant("a token is renewed without a wait", MACHINE, "    m->token_renewed = true;\n", ""),
    Mutant("a token that is refused twice is kept", MACHINE, "return lose(m, NULL, now) | ETCD_WATCH_RENEW_TOKEN;", "return lose(m, NULL, now);"),
))
